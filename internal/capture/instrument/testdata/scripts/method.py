#!/usr/bin/env python3
# want: line=19 kind=training steps=9 phases=data,forward,backward,optimizer
"""A class with a train method,
and a docstring of two lines: for batch in loader:
"""
import torch


class Worker:
    def __init__(self):
        self.model = torch.Module()
        self.optimizer = torch.Optimizer()

    def loss(self, batch):
        return self.model(batch)

    def train(self):
        """Trains. while True: for x in y: pass"""
        for batch in self.batches():
            loss = self.loss(batch)
            self.backward(loss)
            self.optimizer.step()

    def backward(self, loss):
        loss.backward()

    def batches(self):
        yield from range(9)


Worker().train()
