# want: line=8 kind=training steps=8 phases=data,forward,backward,optimizer status=3
import sys
import torch

model, optimizer = torch.Module(), torch.Optimizer()

try:
    for batch in range(100):
        loss = model(batch)
        if batch == 7:
            raise RuntimeError("out of memory")
        loss.backward()
        optimizer.step()
except RuntimeError:
    sys.exit(3)
