"""Programs with nothing worth fixing, and changes to them that buy nothing."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from loop import DEV, CopyAhead, Layer, graphed, registry

PROGRAMS, program = registry()


@program("at_limit", {"fixed": (None, ""), "graph": ("fixed", "cuda-graph")}, steps=3, window=8)
def vit_healthy(variant, dim=1024, layers=12, batch=128, tokens=196):
    """A vision transformer in BF16 with fused attention and optimizer. A graph buys nothing."""
    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.head = nn.Conv2d(3, dim, 16, 16), nn.Linear(dim, 1000)
            self.pos = nn.Parameter(torch.zeros(tokens, dim))
            self.body = nn.Sequential(*(Layer(dim, 16) for _ in range(layers)))

        def forward(self, x):
            return self.head(self.body(self.patch(x).flatten(2).transpose(1, 2) + self.pos).mean(1))
    model = Vit().to(DEV).bfloat16()
    opt = torch.optim.AdamW(model.parameters(), 1e-4, fused=True, capturable=variant == "graph")
    side = int(tokens ** 0.5) * 16
    x = torch.randn(batch, 3, side, side, device=DEV).bfloat16()
    y = torch.randint(0, 1000, (batch,), device=DEV)

    def work():
        F.cross_entropy(model(x), y).backward()
        opt.step()

    zero = lambda: opt.zero_grad(set_to_none=True)
    if variant == "graph":
        graph = graphed(work, zero)
        return lambda i, phase: graph.replay()

    def step(i, phase):
        with phase("fwd_bwd"):
            F.cross_entropy(model(x), y).backward()
        with phase("adamw"):
            opt.step()
            zero()
    return step


@program("at_limit", {"fixed": (None, ""), "graph": ("fixed", "cuda-graph")}, steps=4, window=10,
         marks="none", torch_marks="none")
def matmul_limit(variant, n=8192):
    """Four large BF16 products, one after the other, and nothing else: no marks, nothing to gain."""
    x = torch.randn(n, n, device=DEV).bfloat16()
    w = (torch.randn(n, n, device=DEV) / n ** 0.5).bfloat16()

    def work():
        h = x
        for _ in range(4):
            h = h @ w

    if variant == "graph":
        with torch.no_grad():
            graph = graphed(work)
        return lambda i, phase: graph.replay()

    def step(i, phase):
        with torch.no_grad():
            work()
    return step


@program("at_limit", {"fixed": (None, ""), "prefetched": ("fixed", "prefetch:next_batch@2"),
                      "overlapped": ("fixed", "overlap-copies")}, steps=4, window=10)
def hidden_loader(variant, dim=1536, layers=8, batch=32, length=512):
    """The host makes each batch in line and copies it on the compute stream, but runs ahead of a busy GPU:
    neither a background loader nor a copy stream buys anything worth having."""
    emb, head = nn.Embedding(16000, dim).to(DEV).bfloat16(), nn.Linear(dim, 256).to(DEV).bfloat16()
    body = nn.Sequential(*(Layer(dim, 12) for _ in range(layers))).to(DEV).bfloat16()
    opt = torch.optim.AdamW([*emb.parameters(), *body.parameters(), *head.parameters()], 1e-4, fused=True)
    y = torch.randint(0, 256, (batch,), device=DEV)
    text = list(range(40 * batch * length))

    def make(i):
        """Tokenises in Python: about 2.5 ms."""
        start = (i * 7919) % len(text) // 40
        return torch.tensor([(t * 31 + i) % 16000 for t in text[start:start + batch * length]]).view(batch, length)

    class Batches(torch.utils.data.IterableDataset):
        def __iter__(self):
            i = 0
            while True:
                yield make(i)
                i += 1

    ring = [torch.empty(batch, length, dtype=torch.long).pin_memory() for _ in range(4)]
    loader = None
    if variant == "prefetched":
        loader = iter(torch.utils.data.DataLoader(Batches(), batch_size=None, num_workers=2, persistent_workers=True))
    ahead = CopyAhead([make(k) for k in range(4)]) if variant == "overlapped" else None

    def step(i, phase):
        with phase("next_batch"):
            host = ring[i % 4]
            host.copy_(make(i) if loader is None else next(loader))
        with phase("to_gpu"):
            tokens = host.to(DEV, non_blocking=True) if ahead is None else ahead.take(i)
        with phase("train"):
            F.cross_entropy(head(body(emb(tokens)).mean(1)), y).backward()
        with phase("apply"):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return step
