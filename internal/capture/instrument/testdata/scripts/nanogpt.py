# want: line=38 kind=training steps=9 phases=forward,backward,optimizer
"""
A loop that accumulates gradients, evaluates now and then, and ends in its middle.
"""
import os
import time
from contextlib import nullcontext

import torch


class Scaler:
    def scale(self, loss):
        return loss

    def step(self, optimizer):
        optimizer.step()

    def update(self):
        pass


iter_num, max_iters, eval_interval = 0, 8, 4
model, optimizer, scaler, ctx = torch.Module(), torch.Optimizer(), Scaler(), nullcontext()

def get_batch(split):
    return 1, 2

def estimate_loss():
    for split in ['train', 'val']:
        for k in range(2):
            X, Y = get_batch(split)
            with ctx:
                loss = model(X, Y)

X, Y = get_batch('train')
t0 = time.time()
while True:
    if iter_num % eval_interval == 0:
        estimate_loss()
    for micro_step in range(3):
        with ctx:
            loss = model(X, Y)
        X, Y = get_batch('train')
        scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if iter_num > max_iters:
        break
