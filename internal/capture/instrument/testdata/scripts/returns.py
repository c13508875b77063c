# want: line=7 kind=training steps=6 phases=data,backward,forward,optimizer
import torch

model, optimizer = torch.Module(), torch.Optimizer()

def fit(loader):
    for batch in loader:
        model(batch).backward()
        loss = model(batch)
        optimizer.step()
        if batch == 5:
            return loss


fit(iter(range(50)))
