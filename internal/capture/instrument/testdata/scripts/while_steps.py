# want: line=7 kind=training steps=17 phases=forward,backward,optimizer
import torch

model, optimizer = torch.Module(), torch.Optimizer()
step = 0
max_steps = 17
while step < max_steps:
    loss = model(step)
    loss.backward()
    optimizer.step()
    step += 1
else:
    torch.log("else")
