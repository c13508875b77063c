# want: line=18 kind=training steps=10 phases=data,forward,backward,optimizer
import torch


class Accelerator:
    def prepare(self, *x):
        return x

    def backward(self, loss):
        loss.backward()


accelerator = Accelerator()
model, optimizer, train_dataloader = accelerator.prepare(torch.Module(), torch.Optimizer(), list(range(10)))

for epoch in range(1):
    model.training = True
    for step, batch in enumerate(train_dataloader):
        outputs = model(batch)
        loss = outputs
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
