# want: line=19 kind=training steps=12 phases=data,forward,backward,optimizer
from __future__ import annotations

import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0"
import torch


def tqdm(x, **kwargs):
    return x


model, opt = torch.Module(), torch.Optimizer()
train_loader = range(12)

def main() -> None:
    text = "a loop: for batch in loader:"
    for i, (batch) in enumerate(
        tqdm(train_loader, desc="for i in x: # not code", disable=True)  # progress, for all: of it
    ):
        with torch.cuda.amp.autocast():
            out = model(batch,
                        labels=[1, 2])
        out.backward()
        opt.step(); opt.zero_grad()
        if i == 3: continue


main()
