"""Three quarters of its time are in heavy, one quarter in light, both called by Model.forward."""

import time


def spin(seconds):
    end = time.thread_time() + seconds
    x = 0
    while time.thread_time() < end:
        for i in range(1000):
            x += i * i
    return x


def heavy():
    return spin(0.03)


def light():
    return spin(0.01)


class Model:
    def forward(self):
        heavy()
        light()


model = Model()
for _ in range(40):
    model.forward()
