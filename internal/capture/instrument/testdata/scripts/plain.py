# want: line=11 kind=training steps=20 phases=data,forward,backward,optimizer
"""A loop as most tutorials have it."""
import torch
from torch import Module

model = Module()
optimizer = torch.Optimizer()
loader = [1] * 20


for batch in loader:
    optimizer.zero_grad()
    loss = model(batch)
    loss.backward()
    optimizer.step()
