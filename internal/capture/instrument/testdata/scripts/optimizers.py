# want: line=13 kind=training steps=11 phases=data,forward,backward,optimizer
import torch

netG = netD = torch.Module()
optimizers = [torch.Optimizer(), torch.Optimizer()]


def evaluate():
    for x in range(3):
        netG(x)


for step in range(10 + 1):
    for micro in range(2):
        fake = netG(micro)
        netD(fake).backward()
    for opt in optimizers:
        opt.step()
    if step % 5 == 0:
        evaluate()
