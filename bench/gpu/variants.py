"""The corpus' own programs, and variants of them that are exactly what a what-if change does.

The corpus' programs live outside this repository: WORKLOADS names the folder of their cases.py.
Where their `fixed` does more, or something else, than the change that is predicted for it, a
variant here does just that change.
"""
import os
import sys

import torch
import torch.nn.functional as F

from loop import Program, graphed

WORKLOADS = os.environ.get("WORKLOADS", "workloads")
sys.path.insert(0, os.path.abspath(WORKLOADS))
import cases  # noqa: E402

# What `fixed` is to `slow`, as `lacuna whatif` is told it; "" where no change says it.
REPAIRS = {
    "data_loading": "prefetch:data_load@12", "host_sync": "", "tiny_kernels": "cuda-graph", "llm_decode": "cuda-graph",
    "pageable_copies": "pin", "copy_not_overlapped": "overlap-copies", "alloc_churn": "drop-allocs",
    "unfused_elementwise": "fuse:elementwise", "fp32_matmul": "tensor-cores", "dtype_churn": "",
    "periodic_stall": "drop-range:checkpoint", "looped_optimizer": "fuse-optimizer",
    "stream_serialization": "drop-stream-waits", "unfused_attention": "fuse-attention",
}
EXTRA = {}


def extra(case, name, base, change, **settings):
    """Registers a variant of a corpus case; `settings` override the program's."""
    def add(build):
        EXTRA.setdefault(case, {})[name] = (build, base, change, settings)
        return build
    return add


def autocast_step(model, opt, x, hook, after):
    """host_sync's and forward_heavy's step with another hook, and `after` told of the loss."""
    def step(i, phase):
        with phase("forward"), torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x, hook).flatten(0, 1), x.flatten())
        with phase("backward"):
            loss.backward()
        with phase("optimizer"):
            opt.step()
            opt.zero_grad(set_to_none=True)
        after(loss, phase)
    return step


def graph_step(model, opt, x, amp=None, hook=None):
    """A whole training step as one graph."""
    def work():
        with torch.autocast("cuda", dtype=amp or torch.bfloat16, enabled=bool(amp)):
            loss = F.cross_entropy(model(x, hook).flatten(0, 1), x.flatten())
        loss.backward()
        opt.step()
    graph = graphed(work, lambda: opt.zero_grad(set_to_none=True))

    def step(i, phase):
        with phase("replay"):
            graph.replay()
    return step


def gpt(batch, seq, capturable=False, dtype=torch.float32, vocab=8000, **size):
    """A model of the corpus with its optimizer and its batch."""
    model = cases.Gpt(vocab=vocab, seq=seq, **size).to(cases.DEV).to(dtype)
    opt = torch.optim.AdamW(model.parameters(), 1e-4, fused=True, capturable=capturable)
    return model, opt, torch.randint(0, vocab, (batch, seq), device=cases.DEV)


HOST_SYNC = dict(batch=8, seq=256, layers=12, dim=768, heads=12)


@extra("host_sync", "drop_syncs", "slow", "drop-syncs")
def _(variant):
    stats = []
    keep = lambda h: stats.append((h.float().abs().mean(), h.float().std()))

    def after(loss, phase):
        with phase("log"):
            stats.clear()
    return autocast_step(*gpt(**HOST_SYNC), keep, after)


@extra("host_sync", "drop_syncs_graph", "slow", "drop-syncs + cuda-graph")
def _(variant):
    return graph_step(*gpt(**HOST_SYNC, capturable=True), torch.bfloat16, lambda h: (h.float().abs().mean(), h.float().std()))


@extra("host_sync", "graph", "fixed", "cuda-graph")
def _(variant):
    return graph_step(*gpt(**HOST_SYNC, capturable=True), torch.bfloat16)


@extra("forward_heavy", "drop_syncs", "slow", "drop-syncs")
def _(variant):
    kept = []
    return autocast_step(*gpt(8, 512, layers=8, dim=1024, heads=16), lambda h: kept.append(h.detach().float()),
                         lambda loss, phase: kept.clear())


@extra("alloc_churn", "graph", "fixed", "cuda-graph")
def _(variant):
    return graph_step(*gpt(8, 512, True, layers=6, dim=768, heads=12), torch.bfloat16)


@extra("periodic_stall", "graph", "fixed", "cuda-graph")
def _(variant):
    return graph_step(*gpt(8, 256, True, layers=6, dim=768, heads=12), torch.bfloat16)


@extra("healthy_gpt", "graph", "fixed", "cuda-graph")
def _(variant):
    return graph_step(*gpt(16, 1024, True, torch.bfloat16, 32000, layers=8, dim=2048, heads=16))


@extra("recompute", "graph", "fixed", "cuda-graph")
def _(variant):
    return graph_step(*gpt(8, 1024, True, torch.bfloat16, layers=6, dim=1024, heads=16))


@extra("looped_optimizer", "foreach", "slow", "fuse-optimizer, as foreach")
def _(variant):
    model = cases.mlp(512, 160, 512)
    opt = torch.optim.Adam(model.parameters(), 1e-4, foreach=True)
    x, y = torch.randn(1024, 512, device=cases.DEV), torch.randint(0, 512, (1024,), device=cases.DEV)
    return lambda i, phase: cases.train_step(model, opt, (x, y), phase)


@extra("looped_optimizer", "graph", "fixed", "cuda-graph")
def _(variant):
    model = cases.mlp(512, 160, 512)
    opt = torch.optim.Adam(model.parameters(), 1e-4, fused=True, capturable=True)
    x, y = torch.randn(1024, 512, device=cases.DEV), torch.randint(0, 512, (1024,), device=cases.DEV)

    def work():
        F.cross_entropy(model(x), y).backward()
        opt.step()
    graph = graphed(work, lambda: opt.zero_grad(set_to_none=True))
    return lambda i, phase: graph.replay()


@extra("fp32_matmul", "tf32", "slow", "tensor-cores, as TF32")
def _(variant):
    torch.backends.cuda.matmul.allow_tf32 = True
    return cases.fp32_matmul("slow")


@extra("dtype_churn", "no_casts", "slow", "drop-casts")
def _(variant):
    ws = [(torch.randn(4096, 4096, device=cases.DEV) / 64).half() for _ in range(12)]
    x = torch.randn(2048, 4096, device=cases.DEV).half()

    def step(i, phase):
        with torch.no_grad(), phase("forward"):
            h = x
            for w in ws:
                h = F.relu(h @ w)
    return step


@extra("pageable_copies", "pin_inline", "slow", "pin, on the compute stream")
def _(variant):
    model, n = cases.mlp(2048, 6), 16384
    opt = torch.optim.SGD(model.parameters(), 0.01, foreach=True)
    host = [torch.randn(n, 2048).pin_memory() for _ in range(3)]
    ys = [torch.randint(0, 1000, (n,), device=cases.DEV) for _ in range(3)]

    def step(i, phase):
        with phase("data_transfer"):
            x = host[i % 3].to(cases.DEV, non_blocking=True)
        cases.train_step(model, opt, (x, ys[i % 3]), phase, amp=torch.bfloat16)
    return step


def loaded(workers):
    """data_loading's repair with another number of workers."""
    def build(variant):
        fixed, make = torch.utils.data.DataLoader, lambda *a, **k: fixed(*a, **{**k, "num_workers": workers})
        torch.utils.data.DataLoader = make
        try:
            return cases.data_loading("fixed")
        finally:
            torch.utils.data.DataLoader = fixed
    return build


for n, steps in ((1, 10), (2, 16), (4, 24), (8, 40)):
    extra("data_loading", f"prefetch_{n}", "slow", f"prefetch:data_load@{n}", warmup=4 * n + 6, window=(steps, 3))(loaded(n))
# The corpus' `fixed` was captured while it ate prefetched batches: this one is captured after they are gone.
extra("data_loading", "steady", "slow", "prefetch:data_load@12", warmup=60, window=(60, 3))(loaded(12))


def programs():
    """The corpus' programs with the variants above."""
    out = {}
    for name, c in cases.CASES.items():
        extras = EXTRA.get(name, {})
        variants = {v: (None, "") if v == "slow" or c.variants == ("fixed",) else ("slow", REPAIRS.get(name, "")) for v in c.variants}
        variants.update({v: (base, change) for v, (_, base, change, _) in extras.items()})

        def build(variant, c=c, extras=extras):
            return extras[variant][0](variant) if variant in extras else c.build(variant)
        p = Program(name, build, c.rule, c.doc, variants, steps=c.steps, warmup=c.warmup, window=max(c.steps, c.plain_steps),
                    memory=c.memory, whole=name == "cold_start", fresh_cache=name == "cold_start")
        for v, (_, _, _, s) in extras.items():
            if "window" in s:
                p.window_of[v] = s["window"]
            if "warmup" in s:
                p.warmup_of[v] = s["warmup"]
        out[name] = p
    out["data_loading"].window_of["slow"] = (16, 3)
    return out
