# want: line=9 kind=training steps=13 phases=forward,backward,optimizer
import torch
model, optimizer = torch.Module(), torch.Optimizer()


class Trainer:
    def run(self):
        self.n = 0
        while True:
            self.n += 1
            loss = model(self.n) + \
                model(2)
            loss.backward()
            optimizer.step()
            if self.n >= 13:
                break


Trainer().run()
