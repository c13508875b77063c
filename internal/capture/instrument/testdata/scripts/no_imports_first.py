# -*- coding: utf-8 -*-
# want: line=9 kind=training steps=3 phases=data,forward,backward,optimizer
X = "für"
import torch
model = torch.Module()
optimizer = torch.Optimizer()


for batch in [b for b in range(3) if b >= 0]:
    loss = model(batch)
    (loss
     .backward())
    optimizer.step()
