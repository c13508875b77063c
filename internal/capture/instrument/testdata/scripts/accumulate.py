# want: line=11 kind=training steps=7 phases=data,forward,backward,optimizer
import torch

model = torch.Module()
optimizer = torch.Optimizer()
micro_batches = 4
num_steps = 7

print("training")

for step in range(num_steps):
    for micro in range(micro_batches):
        loss = model(micro)
        loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
