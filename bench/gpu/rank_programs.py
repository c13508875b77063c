"""Training loops of several ranks, each written with its own gradient exchange, and their repairs.

`build(variant) -> step` as in loop.py, in a process that has joined its group; what differs between
ranks asks for the rank.
"""
import torch
import torch.distributed as dist
import torch.nn as nn

from loop import registry

PROGRAMS, program = registry()
DEV = "cuda"


def tower(width, depth, bias=False, dtype=torch.bfloat16):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width, bias=bias), nn.GELU())]
    return nn.Sequential(*layers).to(DEV, dtype)


def batches(rows, width, dtype=torch.bfloat16):
    return [torch.randn(rows, width, device=DEV, dtype=dtype) for _ in range(4)]


def each_when_ready(model):
    """All-reduces of each gradient as soon as it is made, beside the backward pass; returns what waits for all of them."""
    pending = []
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: pending.append(dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, async_op=True)))

    def wait():
        for work in pending:
            work.wait()
        pending.clear()
    return wait


def trainer(model, data, exchange):
    opt = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=True)

    def step(i, phase):
        with phase("model"):
            out = model(data[i % len(data)])
            loss = out.float().square().mean()
        with phase("gradients"):
            loss.backward()
        with phase("exchange"):
            exchange()
        with phase("apply"):
            opt.step()
            opt.zero_grad(set_to_none=False)
    return step


@program("comm_exposed", {"slow": (None, ""), "fixed": ("slow", "overlap-comm")}, steps=4, window=20)
def exchange_last(variant):
    """24 layers of 33 MB gradients, all-reduced after the backward pass; fixed: each when it is ready, beside it."""
    model = tower(4096, 24)
    if variant == "fixed":
        return trainer(model, batches(2048, 4096), each_when_ready(model))

    def exchange():
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
    return trainer(model, batches(2048, 4096), exchange)


@program("comm_straggler", {"slow": (None, ""), "fixed": ("slow", "balance-ranks")}, steps=4, window=20)
def long_batches(variant):
    """Rank 1 gets three times the rows of rank 0, and rank 0 waits in the exchange; fixed: the same rows shared evenly."""
    model = tower(4096, 12)
    rows = 4096 if variant == "fixed" else (2048, 6144)[dist.get_rank()]
    return trainer(model, batches(rows, 4096), each_when_ready(model))


@program("comm_many_small", {"slow": (None, ""), "fixed": ("slow", "one bucket")}, steps=4, window=20)
def by_parameter(variant):
    """160 gradients of 1 KB or 512 KB, each all-reduced alone; fixed: they are views of one buffer, reduced once."""
    model = tower(512, 80, bias=True)
    params = list(model.parameters())
    flat = torch.zeros(sum(p.numel() for p in params), device=DEV, dtype=torch.bfloat16)
    at = 0
    for p in params:
        p.grad = flat[at:at + p.numel()].view_as(p)
        at += p.numel()

    def exchange():
        for g in [flat] if variant == "fixed" else [p.grad for p in params]:
            dist.all_reduce(g, op=dist.ReduceOp.AVG)
    return trainer(model, batches(8192, 512), exchange)


@program("at_limit", {"fixed": (None, "")}, steps=3, window=10)
def ddp_healthy(variant):
    """PyTorch's own DistributedDataParallel on a model whose products take far longer than its gradients' way."""
    model = nn.parallel.DistributedDataParallel(tower(4096, 12), gradient_as_bucket_view=True)
    return trainer(model, batches(16384, 4096), lambda: None)
