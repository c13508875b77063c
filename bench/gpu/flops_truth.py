#!/usr/bin/env python3
"""What torch.utils.flop_counter says of typical operators, beside what torch.profiler records of them.

    python3 bench/gpu/flops_truth.py bench/gpu/results/flops-h200.json

Runs each operator once on the GPU if there is one, else on the CPU, forward and backward where it has one, under
FlopCounterMode and under torch.profiler(record_shapes=True). The JSON has one entry a case: the FLOPs by operator as
flop_counter dispatched them, and the profiler's operators with shapes, types, strides and concrete values in the JSON
text that its traces hold. internal/timeline/flops reads it in TestFlopCounter: shapes to FLOPs must give what flop_counter gave.
"""
import json
import os
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
HALF = torch.bfloat16


def tensor(*shape, dtype=torch.float32, grad=True):
    return torch.randn(*shape, device=DEVICE, dtype=dtype, requires_grad=grad)


def cases():
    """Yields a name and a function that runs the operators; what it returns is differentiated if it needs a gradient."""
    yield "mm", lambda: tensor(512, 256) @ tensor(256, 384)
    yield "mm_bf16", lambda: tensor(512, 256, dtype=HALF) @ tensor(256, 384, dtype=HALF)
    yield "addmm", lambda: torch.addmm(tensor(384), tensor(512, 256), tensor(256, 384))
    yield "bmm", lambda: torch.bmm(tensor(8, 64, 32), tensor(8, 32, 48))
    yield "baddbmm", lambda: torch.baddbmm(tensor(8, 64, 48), tensor(8, 64, 32), tensor(8, 32, 48))
    yield "linear_3d", lambda: F.linear(tensor(4, 128, 256), tensor(512, 256), tensor(512))
    yield "matmul_broadcast", lambda: torch.matmul(tensor(2, 8, 64, 32), tensor(32, 48))
    yield "conv1d", lambda: F.conv1d(tensor(4, 16, 100), tensor(32, 16, 5), tensor(32), stride=2, padding=2)
    yield "conv2d", lambda: F.conv2d(tensor(4, 16, 56, 56), tensor(32, 16, 3, 3), stride=2, padding=1)
    yield "conv2d_dilated", lambda: F.conv2d(tensor(4, 16, 56, 56), tensor(32, 16, 3, 3), padding=2, dilation=2)
    yield "conv2d_grouped", lambda: F.conv2d(tensor(4, 16, 56, 56), tensor(32, 4, 3, 3), padding=1, groups=4)
    yield "conv2d_depthwise", lambda: F.conv2d(tensor(4, 32, 56, 56), tensor(32, 1, 3, 3), padding=1, groups=32)
    yield "conv3d", lambda: F.conv3d(tensor(2, 4, 8, 28, 28), tensor(8, 4, 3, 3, 3), padding=1)
    yield "conv_transpose2d", lambda: F.conv_transpose2d(tensor(4, 16, 14, 14), tensor(16, 8, 4, 4), stride=2, padding=1)
    yield "conv2d_first", lambda: F.conv2d(tensor(4, 3, 64, 64, grad=False), tensor(16, 3, 7, 7), stride=2, padding=3)
    for causal in (False, True):
        for dtype in (torch.float32, HALF):
            yield f"sdpa_{'causal_' if causal else ''}{str(dtype)[6:]}", lambda causal=causal, dtype=dtype: F.scaled_dot_product_attention(
                tensor(2, 8, 256, 64, dtype=dtype), tensor(2, 8, 256, 64, dtype=dtype), tensor(2, 8, 256, 64, dtype=dtype), is_causal=causal)
    yield "sdpa_cross", lambda: F.scaled_dot_product_attention(tensor(2, 8, 128, 64, dtype=HALF), tensor(2, 8, 512, 64, dtype=HALF), tensor(2, 8, 512, 64, dtype=HALF))
    yield "layer_norm", lambda: F.layer_norm(tensor(8, 128, 256), (256,), tensor(256), tensor(256))
    yield "softmax", lambda: F.softmax(tensor(8, 128, 256), -1)
    yield "cross_entropy", lambda: F.cross_entropy(tensor(64, 1000), torch.randint(1000, (64,), device=DEVICE))
    yield "embedding", lambda: F.embedding(torch.randint(1000, (8, 64), device=DEVICE), tensor(1000, 256))
    yield "gelu", lambda: F.gelu(tensor(8, 128, 256))


def run(work):
    out = work()
    if out.requires_grad:
        out.float().sum().backward()
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def counted(work):
    with FlopCounterMode(display=False) as counter:
        run(work)
    by_op = counter.get_flop_counts().get("Global", {})
    return {str(op): int(n) for op, n in by_op.items()}, int(counter.get_total_flops())


def profiled(work):
    """The operators of a run, as its exported trace has them."""
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if DEVICE == "cuda" else [])
    with torch.profiler.profile(activities=activities, record_shapes=True) as prof:
        run(work)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        prof.export_chrome_trace(path)
        with open(path) as f:
            events = json.load(f)["traceEvents"]
    ops = []
    for e in sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: (e["ts"], -e["dur"])):
        a = e.get("args", {})
        ops.append({
            "name": e["name"], "tid": str(e["tid"]), "start_us": e["ts"], "dur_us": e["dur"],
            "shapes": json.dumps(a.get("Input Dims", [])), "types": json.dumps(a.get("Input type", [])),
            "strides": json.dumps(a.get("Input Strides", [])), "values": json.dumps(a.get("Concrete Inputs", [])),
        })
    return ops


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.manual_seed(0)
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if DEVICE == "cuda" else "cpu", "cases": []}
    for name, work in cases():
        try:
            run(work)  # libraries load and choose algorithms
            by_op, total = counted(work)
            result["cases"].append({"name": name, "flops": by_op, "total": total, "ops": profiled(work)})
        except RuntimeError as err:  # an operator that this device lacks
            print(f"{name}: {err}", file=sys.stderr)
    os.makedirs(os.path.dirname(os.path.abspath(sys.argv[1])), exist_ok=True)
    with open(sys.argv[1], "w") as f:
        json.dump(result, f, indent=1)
    print(f"{len(result['cases'])} cases on {result['device']}, torch {result['torch']}: {sys.argv[1]}")


if __name__ == "__main__":
    main()
