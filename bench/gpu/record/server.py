"""Runs workloads on request, each in a forked process of its own: PyTorch is loaded once, without touching the GPU.

  python3 server.py SOCKET          under whatever tool is to be measured

A request is one line of JSON, {"case", "variant", "mode", "windows", "steps"}; so is the answer. Modes:

  plain    the program's own clock, unprofiled: windows of steps, as workloads/harness.py has them
  torch    the same inside torch.profiler (CPU and CUDA activities, no schedule, no export)
  marked   cudaProfilerStart, steps with NVTX, cudaProfilerStop, as for nsys --capture-range=cudaProfilerApi
  toggled  plain, then `lacuna record start` on itself, plain, stop, plain: ms of each; LACUNA names the binary
"""
import ctypes
import json
import os
import socket
import subprocess
import sys
import traceback

sys.path.insert(0, os.environ["WORKLOADS"])
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
import torch  # noqa: E402
import torch._dynamo, torch.profiler, torch.utils.data  # noqa: E401, E402, F401

import cases  # noqa: E402
import harness  # noqa: E402


def quiet(_):
    return harness.NULL


def control(verb):
    subprocess.run([os.environ["LACUNA"], "record", verb, "--pid", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)


def run(ask):
    c = cases.CASES[ask["case"]]
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    step = c.build(ask["variant"])
    steps, windows, mode = ask.get("steps") or max(c.steps, c.plain_steps), ask.get("windows", 5), ask["mode"]
    if mode == "marked":
        r = harness.run_nvtx(step, ask.get("steps") or c.steps, c.warmup, False)
        r["step_ms"] = r.pop("step_ms_under_nsys")
        return r
    if mode == "torch":
        from torch.profiler import ProfilerActivity, profile
        for i in range(c.warmup):
            step(i, quiet)
        harness.sync()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            values, _ = harness.timed_windows(step, steps, windows, c.warmup)
        return {"windows_ms": values}
    for i in range(c.warmup):
        step(i, quiet)
    values, at = harness.timed_windows(step, steps, windows, c.warmup)
    r = {"windows_ms": values}
    if mode == "toggled":
        control("start")
        r["recording_ms"], at = harness.timed_windows(step, steps, windows, at)
        control("stop")
        r["stopped_ms"], at = harness.timed_windows(step, steps, windows, at)
    return r


def answer(ask):
    """The answer of a forked process. It ends as C programs end, so that a tool's exit handlers run."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            r = run(ask)
        except Exception:
            r = {"error": traceback.format_exc()[-800:]}
        r["pid"] = os.getpid()
        os.write(write, json.dumps(r).encode())
        os.close(write)
        sys.stdout.flush()
        ctypes.CDLL(None).exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        data = f.read()
    os.waitpid(pid, 0)
    return data or b'{"error": "died"}'


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(1)
    client, _ = listener.accept()
    lines = client.makefile("rwb")
    for line in lines:
        lines.write(answer(json.loads(line)) + b"\n")
        lines.flush()


if __name__ == "__main__":
    main()
