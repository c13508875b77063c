# want: line=8 kind=training steps=15 phases=data,forward,backward,optimizer
import torch

model, optimizer = torch.Module(), torch.Optimizer()


def run(loader):
    for n, batch in enumerate(loader):
        if n % 4 == 3:
            continue  # a bad batch
        loss = model(batch)
        if n == 14:
            break
        loss.backward()
        optimizer.step()


run(range(100))
