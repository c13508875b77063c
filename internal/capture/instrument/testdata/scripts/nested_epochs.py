# want: line=14 kind=training steps=18 phases=data,forward,backward,optimizer
import torch


class Scheduler:
    def step(self):
        pass


def train(model, optimizer, scheduler, loader):
    # three epochs of six batches: the profiler goes on from one to the next
    for epoch in range(3):
        model.training = True
        for batch in loader:
            loss = model(batch)
            loss.backward()
            optimizer.step()
        scheduler.step()
        evaluate(model, loader)


def evaluate(model, loader):
    with torch.no_grad():
        for batch in loader:
            model(batch)


train(torch.Module(), torch.Optimizer(), Scheduler(), list(range(6)))
