# want: line=6 kind=training steps=5 phases=data,forward,backward,optimizer
import torch

model, optimizer = torch.Module(), torch.Optimizer()

for a in 1, 2, 3, 4, 5:
	if a:
		loss = model(a)
		loss.backward()
	optimizer.step()