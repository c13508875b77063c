"""The loops whose noise is measured, and the changes that are planted in them.

  python3 loop.py KIND [--steps N] [--change CHANGE]     # measures to $LACUNA_METRICS, and a line a step on stdout

KIND is gpu (large matrix products: the GPU is the limit), host (hundreds of tiny kernels: their launches are),
mixed (a transformer's layers at a size where both count). CHANGE is extra_kernel, heavier (the same matrix products
of random numbers instead of zeros, which draw so much more power that the clocks fall) or batch (72 rows for 64).
"""
import argparse
import os
import sys

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "python"))
from lacuna_metrics import Recorder  # noqa: E402

BF16 = dict(device="cuda", dtype=torch.bfloat16)


def gpu(change):
    a, b = torch.randn(4096, 4096, **BF16), torch.randn(4096, 4096, **BF16)
    side = torch.randn(1 << 26, **BF16)

    def step():
        c = a
        for _ in range(8):
            c = F.gelu(c @ b) * 0.01
        if change == "extra_kernel":
            torch.add(side, 1.0, out=side)
            torch.mul(side, 0.999, out=side)
        return c
    return step


def host(change):
    x = torch.randn(1024, device="cuda")

    def step():
        y = x
        for _ in range(300 + 15 * (change == "extra_kernel")):
            y = y + 1.0
        return y
    return step


def mixed(change):
    rows, dim, layers = 72 if change == "batch" else 64, 1024, 12
    x = torch.randn(rows, 64, dim, **BF16)
    w = [[torch.randn(dim, n * dim, **BF16) * 0.02, torch.randn(n * dim, dim, **BF16) * 0.02] for n in [4] * layers]

    def step():
        y = x
        for up, down in w:
            y = y + F.gelu(F.layer_norm(y, (dim,)) @ up) @ down
        return y
    return step


def heavy(change):
    make = torch.randn if change == "heavier" else torch.zeros
    a, b = make(8192, 8192, **BF16), make(8192, 8192, **BF16)
    out = torch.empty(8192, 8192, **BF16)
    return lambda: torch.mm(a, b, out=out)


KINDS = {"gpu": gpu, "host": host, "mixed": mixed, "heavy": heavy}


def run(kind, change="", steps=200, warmup=30, path=None, say=False):
    """Steps of one kind in this process; the run as lacuna.metrics/1 has it."""
    torch.manual_seed(0)
    step = KINDS[kind](change)
    with torch.no_grad(), Recorder(path=path, program=f"{kind} {change}".strip(), warmup=warmup, labels={"kind": kind, "change": change or "none"}) as m:
        for i in range(warmup + steps):
            with m.step():
                step()
            if i % 16 == 15:
                torch.cuda.synchronize()   # as a loop that reads its loss does; between steps, not in them
            if say:
                print(f"step {i}", flush=True)
        state = card()
        return m.run(), state


def card():
    """The GPU's state, asked while the last steps still run."""
    try:
        import pynvml as n
        n.nvmlInit()
        h = n.nvmlDeviceGetHandleByIndex(0)
        return {"sm_mhz": n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM), "power_w": round(n.nvmlDeviceGetPowerUsage(h) / 1e3, 1),
                "temperature_c": n.nvmlDeviceGetTemperature(h, 0), "reasons": n.nvmlDeviceGetCurrentClocksThrottleReasons(h)}
    except ImportError:
        return {}


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("kind", choices=sorted(KINDS))
    a.add_argument("--change", default="", choices=["", "extra_kernel", "heavier", "batch"])
    a.add_argument("--steps", type=int, default=200)
    a = a.parse_args()
    run(a.kind, a.change, a.steps, say=True)
