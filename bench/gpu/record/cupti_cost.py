"""What each part of CUPTI costs, switched in one process in turn: ratios of each stretch to the one beside it with nothing on.

  WORKLOADS=DIR python3 cupti_cost.py tiny_kernels:slow,llm_decode:slow [--seconds 25] [--sets 'kernel;kernel,calls;…']

The program without anything has CUPTI attached all the same. A line a set: median ratio, and records of the driver, the runtime, kernels, and
callbacks a step: a set that records nothing costs nothing.
"""
import argparse
import ctypes
import os
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.environ["WORKLOADS"])
import torch  # noqa: E402

import cases  # noqa: E402
import harness  # noqa: E402

SETS = "none;kernel;kernel,calls;kernel,calls,copy,memory,overhead;kernel,runtime,driver;kernel,runtime,driver,quiet;sync;event"
here = os.path.dirname(os.path.abspath(__file__))


def quiet(_):
    return harness.NULL


def measure(program, sets, seconds, so):
    os.environ["CUDA_INJECTION64_PATH"] = so
    case, variant = program.split(":")
    c = cases.CASES[case]
    torch.manual_seed(0)
    step, lib, at = c.build(variant), ctypes.CDLL(so), 0

    def run(n):
        nonlocal at
        torch.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(n):
            step(at, quiet)
            at += 1
        torch.cuda.synchronize()
        return (time.perf_counter() - t) / n
    run(c.warmup)
    n = max(3, int(0.12 / run(1)))
    times, counts, end, order = {s: [] for s in sets}, {s: [0] * 4 for s in sets}, time.time() + seconds, random.Random(0)
    while time.time() < end:
        for s in order.sample(sets, len(sets)):
            before = [lib.cost_count(k) for k in (4, 5, 10, -1)]
            if s != "none":
                lib.cost_set(s.encode())
            run(1)
            times[s].append(run(n))
            lib.cost_flush()
            counts[s] = [a + lib.cost_count(k) - b for a, k, b in zip(counts[s], (4, 5, 10, -1), before)]
            if s != "none":
                lib.cost_clear()
    for s in sets:
        ratios = [a / b for a, b in zip(times[s], times["none"])]
        print(f"{program:24s} {s:36s} {statistics.median(times[s]) * 1e3:8.3f} ms  {statistics.median(ratios):.3f}x  n={len(ratios)}  a step: {[round(x / len(ratios) / (n + 1)) for x in counts[s]]}", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("programs")
    p.add_argument("--seconds", type=float, default=25)
    p.add_argument("--sets", default=SETS)
    a = p.parse_args()
    so = "/tmp/cupti_cost.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", here + "/cupti_cost.c", "-o", so, "-ldl", "-lpthread"], check=True)
    for program in a.programs.split(","):
        if os.fork() == 0:
            measure(program, a.sets.split(";"), a.seconds, so)
            sys.stdout.flush()
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main()
