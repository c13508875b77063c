"""Programs held up by the host: loading, launching, waiting, allocating, stalling."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from loop import DEV, Layer, graphed, registry, resnet

PROGRAMS, program = registry()


class Crops(torch.utils.data.IterableDataset):
    """Endless augmented batches: NumPy crops, flips, colour jitter and normalisation, image by image."""

    def __init__(self, batch, size, seed=0):
        rng = np.random.default_rng(seed)
        self.images = rng.integers(0, 256, (256, size + 32, size + 32, 3), dtype=np.uint8)
        self.batch, self.size = batch, size

    def make(self, rng):
        out = np.empty((self.batch, 3, self.size, self.size), np.float32)
        for k in range(self.batch):
            top, left = rng.integers(0, 32, 2)
            im = self.images[rng.integers(256)][top:top + self.size, left:left + self.size].astype(np.float32)
            if rng.random() < 0.5:
                im = im[:, ::-1]
            im = im * rng.uniform(0.8, 1.2, 3).astype(np.float32) + rng.uniform(-8, 8)
            im = (np.clip(im, 0, 255) / 255 - 0.45) / 0.225
            out[k] = im.transpose(2, 0, 1)
        return torch.from_numpy(out), torch.from_numpy(rng.integers(0, 100, self.batch))

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        rng = np.random.default_rng(info.id if info else 0)
        while True:
            yield self.make(rng)


@program("input_pipeline",
         {"slow": (None, ""), "fixed": ("slow", "prefetch:load@8"), "workers2": ("slow", "prefetch:load@2")},
         steps=5, window=24, window_of={"slow": (12, 3)}, warmup_of={"workers2": 12}, marks="phases")
def cnn_augment(variant, batch=160, size=128):
    """A ResNet waits for batches that NumPy augments on the training thread; eight workers make them
    faster than the GPU needs them, two do not."""
    model = resnet().to(DEV).to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)
    source = Crops(batch, size)
    if variant == "slow":
        batches = iter(source)
    else:
        batches = iter(torch.utils.data.DataLoader(
            source, batch_size=None, num_workers=8 if variant == "fixed" else 2, pin_memory=True, persistent_workers=True))

    def step(i, phase):
        with phase("load"):
            x, y = next(batches)
        with phase("h2d"):
            x = x.to(DEV, memory_format=torch.channels_last, non_blocking=True)
            y = y.to(DEV, non_blocking=True)
        with phase("fwd"), torch.autocast(DEV, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        with phase("bwd"):
            loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


@program("launch_bound", {"slow": (None, ""), "fixed": ("slow", "cuda-graph")},
         steps=4, marks="none", torch_marks="none", nsys={"fixed": ["--cuda-graph-trace=node"]})
def gru_unmarked(variant, length=48, batch=64):
    """A GRU unrolled in Python: hundreds of tiny kernels a step, and no range names anything."""
    cell, head = nn.GRUCell(128, 256).to(DEV), nn.Linear(256, 64).to(DEV)
    params = list(cell.parameters()) + list(head.parameters())
    opt = torch.optim.Adam(params, 1e-3, capturable=(variant == "fixed"))
    xs = torch.randn(length, batch, 128, device=DEV)
    y = torch.randint(0, 64, (batch,), device=DEV)

    def work():
        h = torch.zeros(batch, 256, device=DEV)
        for t in range(length):
            h = cell(xs[t], h)
        F.cross_entropy(head(h), y).backward()
        opt.step()

    zero = lambda: opt.zero_grad(set_to_none=True)
    if variant == "fixed":
        graph = graphed(work, zero)
        return lambda i, phase: graph.replay()

    def step(i, phase):
        work()
        zero()
    return step


@program("host_sync", {"slow": (None, ""), "fixed": ("slow", "drop-syncs")}, steps=5, marks="phases")
def gan_item(variant, batch=256, width=64):
    """A DCGAN whose two optimizers alternate; six .item() calls a step log losses and scores."""
    def up(cin, cout, k, s, p):
        return [nn.ConvTranspose2d(cin, cout, k, s, p, bias=False), nn.BatchNorm2d(cout), nn.ReLU(True)]

    def down(cin, cout):
        return [nn.Conv2d(cin, cout, 4, 2, 1, bias=False), nn.BatchNorm2d(cout), nn.LeakyReLU(0.2, True)]
    w = width
    gen = nn.Sequential(*up(100, 8 * w, 4, 1, 0), *up(8 * w, 4 * w, 4, 2, 1), *up(4 * w, 2 * w, 4, 2, 1),
                        *up(2 * w, w, 4, 2, 1), nn.ConvTranspose2d(w, 3, 4, 2, 1, bias=False), nn.Tanh()).to(DEV)
    disc = nn.Sequential(nn.Conv2d(3, w, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True), *down(w, 2 * w),
                         *down(2 * w, 4 * w), *down(4 * w, 8 * w), nn.Conv2d(8 * w, 1, 4, 1, 0, bias=False), nn.Flatten(0)).to(DEV)
    opt_g, opt_d = (torch.optim.Adam(m.parameters(), 2e-4, betas=(0.5, 0.999), fused=True) for m in (gen, disc))
    real = torch.rand(batch, 3, 64, 64, device=DEV) * 2 - 1
    one, nil = torch.ones(batch, device=DEV), torch.zeros(batch, device=DEV)
    loss_fn, log = F.binary_cross_entropy_with_logits, []
    read = (lambda t: log.append(t.item())) if variant == "slow" else (lambda t: log.append(t.detach()))

    def step(i, phase):
        log.clear()
        with phase("disc"):
            opt_d.zero_grad(set_to_none=True)
            score = disc(real)
            loss = loss_fn(score, one)
            loss.backward()
            read(loss)
            read(score.mean())
            fake = gen(torch.randn(batch, 100, 1, 1, device=DEV))
            score = disc(fake.detach())
            loss = loss_fn(score, nil)
            loss.backward()
            read(loss)
            read(score.mean())
            opt_d.step()
        with phase("gen"):
            opt_g.zero_grad(set_to_none=True)
            score = disc(fake)
            loss = loss_fn(score, one)
            loss.backward()
            read(loss)
            read(score.mean())
            opt_g.step()
    return step


SIZES = ((32, 128), (16, 256), (8, 512), (64, 64))   # batch and length of the requests, in turn


@program("allocator_churn", {"slow": (None, ""), "fixed": ("slow", "drop-allocs")},
         steps=8, warmup=8, window=40, marks="phases", torch_marks="phases", shapes=False,
         nsys={v: ["--cuda-memory-usage=true"] for v in ("slow", "fixed")})
def server_churn(variant, dim=1024, layers=8):
    """An inference server that calls empty_cache() after every request, so that each one allocates anew.
    It also reads its answer back, as it must."""
    model = nn.Sequential(nn.Embedding(32000, dim), *(Layer(dim, 16) for _ in range(layers)),
                          nn.Linear(dim, 4096)).to(DEV).half().eval()
    requests = [torch.randint(0, 32000, s) for s in SIZES]

    def step(i, phase):
        with phase("request"), torch.no_grad():
            tokens = requests[i % 4].to(DEV)
            answer = model(tokens)[:, -1].float().softmax(-1).cpu()
            del tokens
            if variant == "slow":
                torch.cuda.empty_cache()
        return answer
    return step


@program("launch_bound",
         {"slow": (None, ""), "nosync": ("slow", "drop-syncs"), "fixed": ("slow", "drop-syncs + cuda-graph")},
         steps=6, window=24, marks="phases", torch_marks="none")
def decode_eos(variant, dim=768, layers=16, length=256, batch=4):
    """Greedy decoding that asks the GPU after each token whether all sequences ended. Launches are the
    limit: to drop the question alone buys next to nothing."""
    heads = 12
    rand = lambda *s: (torch.randn(*s, device=DEV) / 28).to(torch.bfloat16)
    ws = [[rand(dim, 3 * dim), rand(dim, dim), rand(dim, 4 * dim), rand(4 * dim, dim)] for _ in range(layers)]
    kv = [(rand(batch, heads, length, dim // heads), rand(batch, heads, length, dim // heads)) for _ in range(layers)]
    table, state, done = rand(16000, dim), torch.zeros(batch, dtype=torch.long, device=DEV), []

    def token():
        x = table[state][:, None]
        for (qkv, out, up, down), (k, v) in zip(ws, kv):
            q, nk, nv = (F.layer_norm(x, (dim,)) @ qkv).view(batch, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
            k[:, :, -1:], v[:, :, -1:] = nk, nv
            x = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, 1, dim) @ out
            x = x + F.gelu(F.layer_norm(x, (dim,)) @ up) @ down
        state.copy_((x[:, 0] @ table.t()).argmax(-1))
        return (state == 2).all()

    if variant == "fixed":
        with torch.no_grad():
            graph = graphed(token)

        def step(i, phase):
            with phase("generate"):
                graph.replay()
        return step

    def step(i, phase):
        done.clear()
        with phase("generate"), torch.no_grad():
            ended = token()
            done.append(ended.item() if variant == "slow" else ended)
    return step


@program("periodic_stall", {"slow": (None, ""), "fixed": ("slow", "drop-range:validate")},
         steps=24, warmup=10, window=30)
def validate_stall(variant, batch=64):
    """Every tenth step validates: eight batches, each of which is read back and scored with NumPy."""
    model = resnet((32, 64, 128), 1).to(DEV)
    opt = torch.optim.SGD(model.parameters(), 0.01, fused=True)
    x, y = torch.randn(batch, 3, 96, 96, device=DEV), torch.randint(0, 100, (batch,), device=DEV)
    held = torch.randn(256, 3, 96, 96, device=DEV)
    scores = []

    def validate():
        with torch.no_grad():
            for _ in range(8):
                p = model(held).softmax(-1).cpu().numpy()
                scores.append(float(np.sort(p, axis=1)[:, -5:].sum()))

    def step(i, phase):
        scores.clear()
        with phase("train"):
            F.cross_entropy(model(x), y).backward()
            opt.step()
            opt.zero_grad(set_to_none=True)
        if variant == "slow" and i % 10 == 9:
            with phase("validate"):
                validate()
    return step


@program("recompilation", {"slow": (None, ""), "fixed": ("slow", "one padded length")},
         steps=4, warmup=1, window=4, windows=1, torch_marks="phases", fresh_cache=True)
def shape_drift(variant, dim=1024):
    """A compiled model meets a new length each step and is compiled again for it; the repair pads to one length."""
    model = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim), nn.Linear(dim, dim)).to(DEV)
    run = torch.compile(model, dynamic=False)
    x = torch.randn(8, 640, dim, device=DEV)

    def step(i, phase):
        n = 512 + 8 * i if variant == "slow" else 640
        with phase("encode"), torch.no_grad():
            run(x[:, :n])
    return step
