"""What the programs share: their registry, and the building blocks that appear in several of them.

A program is `build(variant) -> step`; `step(i, phase)` runs the i-th step and marks its
phases (`with phase("forward"): ...`). One variant is the base; every other one *is* a change
to it, written as `lacuna whatif` would be told it, so that its measured time is the truth for
that prediction.
"""
import math
import os
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = os.environ.get("BENCH_DEVICE", "cuda")


@dataclass
class Program:
    name: str
    build: object
    rule: str                      # the finding a right diagnosis of the base ranks first or second
    doc: str
    variants: dict                 # variant -> (base variant, change); the base itself has (None, "")
    steps: int = 6                 # steps in a capture
    warmup: int = 5
    window: int = 20               # steps in one window of an unprofiled run
    windows: int = 3
    marks: str = "steps"           # nsys: "steps" marks steps and phases, "phases" only phases, "none" nothing
    torch_marks: str = "steps"     # the same for torch.profiler; "steps" is what prof.step() writes
    shapes: bool = True
    memory: bool = False
    whole: bool = False            # nsys: capture from the start of the process, warm-up included
    fresh_cache: bool = False      # compile anew in every process
    window_of: dict = field(default_factory=dict)   # variant -> (steps, windows), where a step is slow
    warmup_of: dict = field(default_factory=dict)   # variant -> warm-up steps
    nsys: dict = field(default_factory=dict)        # variant -> more options for nsys


def registry():
    """A dict of programs, and the decorator that fills it."""
    programs = {}

    def program(rule, variants, **settings):
        def add(build):
            doc = " ".join(build.__doc__.split())
            programs[build.__name__] = Program(build.__name__, build, rule, doc, variants, **settings)
            return build
        return add
    return programs, program


def graphed(work, before=lambda: None, warm=3):
    """`work` as one CUDA graph; `before` runs outside of it, as zero_grad does, before each warm-up and the capture."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm):
            before()
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    before()
    with torch.cuda.graph(graph):
        work()
    return graph


class CopyAhead:
    """Pinned batches copied on a stream of their own, one step before they are needed."""

    def __init__(self, host):
        self.host, self.stream = [h if h.is_pinned() else h.pin_memory() for h in host], torch.cuda.Stream()
        self.start(0)

    def start(self, i):
        with torch.cuda.stream(self.stream):
            self.next = self.host[i % len(self.host)].to(DEV, non_blocking=True)

    def take(self, i):
        torch.cuda.current_stream().wait_stream(self.stream)
        now = self.next
        now.record_stream(torch.cuda.current_stream())
        self.start(i + 1)
        return now


class Layer(nn.Module):
    """Transformer encoder layer without a causal mask; `attend` and `norm` can be replaced."""

    def __init__(self, dim, heads, norm=None, attend=F.scaled_dot_product_attention):
        super().__init__()
        self.heads, self.attend = heads, attend
        norm = norm or nn.LayerNorm
        self.n1, self.n2 = norm(dim), norm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(b, s, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def written_out(q, k, v):
    """Attention as a textbook writes it, with the softmax in FP32."""
    w = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]))
    return w.softmax(-1, dtype=torch.float32).to(v.dtype) @ v


class Residual(nn.Module):
    """Two 3x3 convolutions with batch norm around a shortcut."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(),
            nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout))
        self.short = nn.Conv2d(cin, cout, 1, stride, bias=False) if stride != 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x))


def resnet(widths=(64, 128, 256, 512), depth=2, classes=100):
    """A ResNet of basic blocks."""
    layers, cin = [nn.Conv2d(3, widths[0], 7, 2, 3, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()], widths[0]
    for w in widths:
        for k in range(depth):
            layers.append(Residual(cin, w, 2 if k == 0 else 1))
            cin = w
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, classes))
