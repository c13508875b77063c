"""Times every variant unprofiled, each run in a process of its own, one after the other.

  python3 truth.py --out runs.jsonl --rounds 5 [--only REGEX] [--times N] [--deadline SECONDS]

A round is one new interpreter, which loads PyTorch once without touching the GPU and then forks a
process for each variant: so a run has a CUDA context of its own, the runs of one variant have
different hash seeds and memory layouts, and a run does not pay seven seconds of imports. Rounds
go over all variants in another order each, so that drift of the machine becomes spread, not bias.
After the deadline no run is started.
"""
import argparse
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time

RUN_LIMIT = 90   # seconds: the slowest, cold_start, takes about 10


def in_fork(target, *args, limit=RUN_LIMIT):
    """Runs `target` in a forked process with a session of its own; ends whatever of it is left. Returns whether it ended well."""
    def body():
        os.setsid()
        target(*args)
    child = multiprocessing.get_context("fork").Process(target=body)
    child.start()
    child.join(limit)
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.join()
    return child.exitcode == 0


def touch():
    import torch
    torch.zeros(1, device="cuda")


def preload():
    """What any program with an optimizer imports in its first step: three seconds that a fork need not spend again."""
    import torch._dynamo, torch.profiler, torch.utils.data  # noqa: E401, F401


def warm_up():
    """Preloads in this process, but only once a throw-away fork has shown that its own forks can then still use the GPU."""
    def rehearse():
        preload()
        if not in_fork(touch):
            raise SystemExit(1)
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"   # torch.cuda.is_available() must not start CUDA before the fork
    if in_fork(rehearse):
        preload()
    else:
        print("  no preloading: a fork could not use the GPU after it", flush=True)


def append(path, program, variant, mode, folder, **more):
    import measure
    line = json.dumps({**measure.run(program, variant, mode, folder), **more})
    with open(path, "a") as f:
        f.write(line + "\n")


def chosen(only):
    """(program, variant) for all that `only` matches as program:variant."""
    import measure
    pairs = [(n, v) for n, p in sorted(measure.catalogue().items()) for v in p.variants]
    return [(n, v) for n, v in pairs if re.fullmatch(only, f"{n}:{v}")]


def serve(a):
    """One round, in this process and its forks."""
    started = time.time()
    pairs = chosen(a.only) * a.times
    warm_up()
    random.Random(a.round).shuffle(pairs)
    failed, done = [], 0
    for program, variant in pairs:
        if time.time() > a.until:
            break
        t = time.time()
        ok = in_fork(append, a.out, program, variant, "plain", None)
        done += ok
        if not ok:
            failed.append(f"{program}:{variant}")
        if time.time() - t > 5:
            print(f"  {program}:{variant} took {time.time() - t:.1f} s", flush=True)
    print(f"round {a.round}: {done} of {len(pairs)} runs, {time.time() - started:.0f} s, failed: {' '.join(failed) or 'none'}", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--out", required=True)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--first", type=int, default=0, help="number of the first round: decides the order of its runs")
    a.add_argument("--only", default=".*", help="regular expression over PROGRAM:VARIANT")
    a.add_argument("--times", type=int, default=1, help="runs of each variant in a round")
    a.add_argument("--deadline", type=float, default=1e9, help="seconds after which no run is started")
    a.add_argument("--round", type=int, help=argparse.SUPPRESS)
    a.add_argument("--until", type=float, help=argparse.SUPPRESS)
    a = a.parse_args()
    if a.round is not None:
        return serve(a)
    until = time.time() + a.deadline
    for r in range(a.first, a.first + a.rounds):
        if time.time() > until:
            break
        subprocess.run([sys.executable, __file__, "--out", a.out, "--only", a.only, "--times", str(a.times), "--round", str(r), "--until", str(until)])


if __name__ == "__main__":
    main()
