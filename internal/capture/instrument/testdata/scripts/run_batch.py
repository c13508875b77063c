# want: line=19 kind=training steps=8 phases=data
"""Trainer of PyTorch's distributed tutorial, with names that say little: a batch's call is the whole step."""
import torch


class Trainer:
    def __init__(self, m, o, data):
        self.m, self.o, self.data = m, o, data

    def _run_batch(self, x):
        self.o.zero_grad()
        loss = self.m(x)
        loss.backward()
        self.o.step()

    def _run_epoch(self, epoch):
        if epoch:
            print("epoch", epoch)
        for x in self.data:
            self._run_batch(x)

    def train(self, epochs):
        for epoch in range(epochs):
            self._run_epoch(epoch)


if __name__ == "__main__":
    Trainer(torch.Module(), torch.Optimizer(), range(4)).train(2)
