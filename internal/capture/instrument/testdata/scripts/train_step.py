# want: line=16 kind=training steps=8 phases=data
import torch

model, optimizer = torch.Module(), torch.Optimizer()


def train_step(batch):
    loss = model(batch)
    loss.backward()
    optimizer.step()
    return loss


def main():
    it = iter(range(8))
    for i in range(8): loss = train_step(next(it))
    return loss


if __name__ == "__main__":
    main()
