"""Programs whose kernels are the wrong ones: precision, fusion, layout, shapes, streams."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from loop import DEV, Layer, graphed, registry, resnet, written_out

PROGRAMS, program = registry()


@program("unfused_elementwise", {"slow": (None, ""), "fixed": ("slow", "fuse:elementwise")},
         steps=4, marks="none", torch_marks="none")
def particles(variant, n=32 * 1024 * 1024):
    """Particles in a field: about twenty pointwise operators over arrays of 128 MB, in FP32, with no marks."""
    pos, vel, mass = torch.rand(n, device=DEV), torch.zeros(n, device=DEV), torch.rand(n, device=DEV) + 1

    def push(p, v, m):
        force = -2.0 * p * torch.exp(-p * p) + 0.1 * torch.cos(6.28 * p)
        drag = -0.05 * v * torch.abs(v)
        a = (force + drag) / m
        v = v + 0.01 * a
        return p + 0.01 * v + 0.00005 * a, torch.clamp(v, -10.0, 10.0)

    fn = torch.compile(push) if variant == "fixed" else push

    def step(i, phase):
        with torch.no_grad():
            p, v = fn(pos, vel, mass)
            pos.copy_(p)
            vel.copy_(v)
    return step


@program("unfused_elementwise", {"slow": (None, ""), "fixed": ("slow", "fuse:elementwise")}, steps=4)
def swiglu_unfused(variant, tokens=8192, dim=4096, hidden=8192, layers=4):
    """MLP blocks with RMSNorm and SwiGLU written out: as much time in pointwise kernels as in products."""
    rand = lambda *s: (torch.randn(*s, device=DEV) / 64).to(torch.bfloat16)
    ws = [(torch.ones(dim, device=DEV, dtype=torch.bfloat16), rand(dim, hidden), rand(dim, hidden), rand(hidden, dim))
          for _ in range(layers)]
    x = rand(tokens, dim)

    def norm(x, w):
        f = x.float()
        return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w

    def glu(g, u):
        return g * torch.sigmoid(g) * u

    if variant == "fixed":
        norm, glu = torch.compile(norm), torch.compile(glu)

    def step(i, phase):
        with torch.no_grad():
            h = x
            for w, gate, up, down in ws:
                with phase("norm"):
                    n = norm(h, w)
                with phase("mlp"):
                    h = h + glu(n @ gate, n @ up) @ down
    return step


@program("tensor_cores_idle",
         {"slow": (None, ""), "tf32": ("slow", "tensor-cores, as TF32"), "fixed": ("slow", "tensor-cores")},
         steps=3, window=8)
def fp32_encoder(variant, dim=1024, layers=6, batch=16, length=256):
    """A BERT-like encoder trained in FP32 with TF32 off; the repair is autocast to BF16."""
    torch.backends.cuda.matmul.allow_tf32 = variant == "tf32"
    emb, head = nn.Embedding(20000, dim).to(DEV), nn.Linear(dim, 2).to(DEV)
    body = nn.Sequential(*(Layer(dim, 16) for _ in range(layers))).to(DEV)
    opt = torch.optim.AdamW([*emb.parameters(), *body.parameters(), *head.parameters()], 1e-4, fused=True)
    tokens, y = torch.randint(0, 20000, (batch, length), device=DEV), torch.randint(0, 2, (batch,), device=DEV)

    def step(i, phase):
        with phase("encode"), torch.autocast(DEV, dtype=torch.bfloat16, enabled=variant == "fixed"):
            loss = F.cross_entropy(head(body(emb(tokens)).mean(1)), y)
        with phase("grads"):
            loss.backward()
        with phase("adam"):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return step


@program("unfused_attention", {"slow": (None, ""), "fixed": ("slow", "fuse-attention")}, steps=4, marks="phases")
def attention_out(variant, dim=2048, heads=16, layers=6, batch=4, length=1536):
    """Inference in FP16, heads of 128, no mask: attention written out with an FP32 softmax."""
    attend = F.scaled_dot_product_attention if variant == "fixed" else written_out
    model = nn.Sequential(*(Layer(dim, heads, attend=attend) for _ in range(layers))).to(DEV).half().eval()
    x = torch.randn(batch, length, dim, device=DEV).half()

    def step(i, phase):
        with torch.no_grad(), phase("encode"):
            model(x)
    return step


@program("looped_optimizer",
         {"slow": (None, ""), "foreach": ("slow", "fuse-optimizer, as foreach"), "fixed": ("slow", "fuse-optimizer")}, steps=3)
def sgd_by_hand(variant, depth=90, dim=384, batch=512):
    """Momentum and weight decay written as a loop over 180 parameters; the repair is one fused optimizer."""
    model = nn.Sequential(*(m for _ in range(depth) for m in (nn.Linear(dim, dim), nn.ReLU()))).to(DEV)
    params = list(model.parameters())
    bufs = [torch.zeros_like(p) for p in params]
    opt = None if variant == "slow" else torch.optim.SGD(
        params, 0.01, momentum=0.9, weight_decay=1e-4, foreach=variant == "foreach", fused=variant == "fixed")
    x = torch.randn(batch, dim, device=DEV)

    def by_hand():
        with torch.no_grad():
            for p, b in zip(params, bufs):
                b.mul_(0.9).add_(p.grad).add_(p, alpha=1e-4)
                p.add_(b, alpha=-0.01)

    def step(i, phase):
        with phase("compute_loss"):
            loss = model(x).square().mean()
        with phase("compute_grads"):
            loss.backward()
        with phase("apply_grads"):
            opt.step() if opt else by_hand()
            for p in params:
                p.grad = None
    return step


class WideNorm(nn.LayerNorm):
    """A LayerNorm that computes in FP32, whatever comes in."""

    def forward(self, x):
        return F.layer_norm(x.float(), self.normalized_shape, self.weight.float(), self.bias.float()).to(x.dtype)


@program("dtype_cast_churn", {"slow": (None, ""), "fixed": ("slow", "drop-casts")}, steps=4)
def cast_sandwich(variant, dim=1024, layers=12, batch=32, length=512):
    """A BF16 encoder that goes to FP32 and back around each of its norms, and in its activation too."""
    norm = WideNorm if variant == "slow" else nn.LayerNorm
    model = nn.Sequential(*(Layer(dim, 16, norm) for _ in range(layers))).to(DEV).bfloat16().eval()
    if variant == "slow":
        for layer in model:
            layer.down.register_forward_pre_hook(lambda m, a: (a[0].float().to(a[0].dtype),))
    x = torch.randn(batch, length, dim, device=DEV).bfloat16()

    def step(i, phase):
        with torch.no_grad(), phase("encode"):
            model(x)
    return step


@program("layout_conversion", {"slow": (None, ""), "fixed": ("slow", "channels_last")}, steps=3)
def conv_layout(variant, batch=192, size=160):
    """A ResNet in FP16 with NCHW tensors: cuDNN turns them around before and after its kernels.
    Channels last saves more than the turning: batch norm has better kernels for it."""
    model = resnet().to(DEV)
    x, y = torch.randn(batch, 3, size, size, device=DEV), torch.randint(0, 100, (batch,), device=DEV)
    if variant == "fixed":
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), 0.01, fused=True)

    def step(i, phase):
        with phase("forward"), torch.autocast(DEV, dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        with phase("backward"):
            loss.backward()
        with phase("step"):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return step


@program("misaligned_shapes", {"slow": (None, ""), "fixed": ("slow", "pad the vocabulary to 50304")}, steps=4)
def odd_vocab(variant, tokens=8192, dim=2048):
    """The output layer of a language model with 50257 words, in BF16: no multiple of 8, so slower products."""
    words = 50257 if variant == "slow" else 50304
    head = torch.nn.Parameter((torch.randn(words, dim, device=DEV) / 45).bfloat16())
    body = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)).to(DEV).bfloat16()
    x, y = torch.randn(tokens, dim, device=DEV).bfloat16(), torch.randint(0, 50257, (tokens,), device=DEV)

    def step(i, phase):
        with phase("body"):
            h = body(x)
        with phase("head"):
            loss = F.cross_entropy(h @ head.t(), y)
        with phase("backward"):
            loss.backward()
        head.grad = None
        body.zero_grad(set_to_none=True)
    return step


@program("stream_serialization", {"slow": (None, ""), "fixed": ("slow", "drop-stream-waits")}, steps=4)
def towers(variant, dim=2048, batch=256, depth=6, rounds=4):
    """Two towers of a retrieval model on two streams, made to take turns after each of their parts."""
    streams = torch.cuda.Stream(), torch.cuda.Stream()
    models = [nn.Sequential(*(m for _ in range(depth) for m in (nn.Linear(dim, dim), nn.ReLU()))).to(DEV).bfloat16()
              for _ in streams]
    x = torch.randn(batch, dim, device=DEV).bfloat16()
    parts = []
    with torch.no_grad():
        for m, s in zip(models, streams):
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                parts.append(graphed(lambda: m(x)))
    a, b = streams

    def step(i, phase):
        with phase("towers"):
            for _ in range(rounds):
                with torch.cuda.stream(a):
                    parts[0].replay()
                if variant == "slow":
                    b.wait_stream(a)
                with torch.cuda.stream(b):
                    parts[1].replay()
                if variant == "slow":
                    a.wait_stream(b)
    return step
