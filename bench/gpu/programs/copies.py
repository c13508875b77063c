"""Programs held up by transfers between host and device."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from loop import DEV, CopyAhead, registry

PROGRAMS, program = registry()


class UNet(nn.Module):
    """Three levels of convolutions; the conditioning image comes from the host inside `forward`."""

    def __init__(self, width, fetch):
        super().__init__()
        w = width
        conv = lambda i, o, s=1: nn.Sequential(nn.Conv2d(i, o, 3, s, 1), nn.GroupNorm(8, o), nn.SiLU())
        self.cond = nn.Conv2d(3, w, 8, 4, 2)
        self.inp, self.d1, self.d2 = conv(4, w), conv(w, 2 * w, 2), conv(2 * w, 4 * w, 2)
        self.mid = nn.Sequential(conv(4 * w, 4 * w), conv(4 * w, 4 * w))
        self.u2, self.u1, self.out = conv(4 * w, 2 * w), conv(2 * w, w), nn.Conv2d(w, 4, 3, 1, 1)
        self.time, self.fetch = nn.Linear(1, 4 * w), fetch

    def forward(self, x, t, i):
        a = self.inp(x) + self.cond(self.fetch(i))
        b = self.d1(a)
        m = self.mid(self.d2(b) + self.time(t[:, None])[:, :, None, None])
        m = self.u2(F.interpolate(m, scale_factor=2.0)) + b
        return self.out(self.u1(F.interpolate(m, scale_factor=2.0)) + a)


@program("pageable_copy",
         {"slow": (None, ""), "pinned": ("slow", "pin, on the compute stream"), "fixed": ("slow", "pin")}, steps=5)
def unet_pageable(variant, batch=64, width=128):
    """A diffusion U-Net moves its conditioning images to the GPU inside the model, from pageable memory.
    `pinned` pins them but copies in line with the kernels: from there to `fixed` is overlap-copies."""
    host = [torch.randn(batch, 3, 256, 256) for _ in range(3)]
    if variant == "slow":
        fetch = lambda i: host[i % 3].to(DEV)
    elif variant == "pinned":
        host = [h.pin_memory() for h in host]
        fetch = lambda i: host[i % 3].to(DEV, non_blocking=True)
    else:
        fetch = CopyAhead(host).take
    net = UNet(width, fetch).to(DEV).to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(net.parameters(), 1e-4, fused=True)
    clean = torch.randn(batch, 4, 64, 64, device=DEV).to(memory_format=torch.channels_last)

    def step(i, phase):
        with phase("diffusion_loss"), torch.autocast(DEV, dtype=torch.bfloat16):
            noise, t = torch.randn_like(clean), torch.rand(batch, device=DEV)
            mix = clean * (1 - t)[:, None, None, None] + noise * t[:, None, None, None]
            loss = F.mse_loss(net(mix, t, i).float(), noise)
        with phase("grads"):
            loss.backward()
        with phase("update"):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return step


@program("many_small_copies", {"slow": (None, ""), "fixed": ("slow", "one packed pinned copy")}, steps=5)
def dlrm_small_copies(variant, tables=26, batch=2048, bag=16, rows=20000, dim=64):
    """A recommendation model moves the indices and offsets of 26 tables with a copy each; the repair packs them."""
    emb = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for _ in range(tables)).to(DEV)
    bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, dim), nn.ReLU()).to(DEV)
    pairs = (tables + 1) * tables // 2
    top = nn.Sequential(nn.Linear(dim + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)).to(DEV)
    opt = torch.optim.SGD([*emb.parameters(), *bottom.parameters(), *top.parameters()], 0.01, foreach=True)
    rows_i, rows_j = torch.triu_indices(tables + 1, tables + 1, 1).to(DEV)
    index = torch.randint(0, rows, (4, tables, batch * bag))
    offset = (torch.arange(batch) * bag).repeat(4, tables, 1)
    dense, label = torch.rand(4, batch, 13), torch.rand(4, batch).round()
    if variant == "slow":
        split = [[(index[b, t].clone(), offset[b, t].clone()) for t in range(tables)] for b in range(4)]

        def fetch(b):
            return [(i.to(DEV), o.to(DEV)) for i, o in split[b]], dense[b].to(DEV), label[b].to(DEV)
    else:
        packed = torch.cat([index, offset], 2).contiguous().pin_memory()
        values = torch.cat([dense, label[:, :, None]], 2).contiguous().pin_memory()

        def fetch(b):
            p, v = packed[b].to(DEV, non_blocking=True), values[b].to(DEV, non_blocking=True)
            return [(p[t, :batch * bag], p[t, batch * bag:]) for t in range(tables)], v[:, :13], v[:, 13]

    def step(i, phase):
        with phase("to_device"):
            sparse, x, y = fetch(i % 4)
        with phase("embed"):
            cols = [bottom(x)] + [e(a, o) for e, (a, o) in zip(emb, sparse)]
        with phase("interact"):
            z = torch.stack(cols, 1)
            dots = torch.bmm(z, z.transpose(1, 2))[:, rows_i, rows_j]
            loss = F.binary_cross_entropy_with_logits(top(torch.cat([cols[0], dots], 1))[:, 0], y)
        with phase("backward"):
            loss.backward()
        with phase("update"):
            opt.step()
            opt.zero_grad(set_to_none=True)
    return step


@program("excess_transfer", {"slow": (None, ""), "fixed": ("slow", "drop-range:whiten")},
         steps=5, marks="phases", torch_marks="phases", shapes=False)
def roundtrip(variant, batch=4096, dim=2048):
    """Activations go to the host to be normalised with NumPy and come back; the repair does it on the GPU."""
    first, second = nn.Linear(dim, dim).to(DEV), nn.Linear(dim, dim).to(DEV)
    x = torch.randn(batch, dim, device=DEV)

    def whiten(h):
        if variant == "fixed":
            return (h - h.mean(0)) / (h.std(0) + 1e-5)
        a = h.cpu().numpy()
        return torch.from_numpy((a - a.mean(0)) / (a.std(0) + np.float32(1e-5))).to(DEV)

    def step(i, phase):
        with torch.no_grad():
            with phase("project"):
                h = F.relu(first(x))
            with phase("whiten"):
                h = whiten(h)
            with phase("score"):
                second(h).sum(1)
    return step
