"""What recording costs: the same program unrecorded and under each tool, in turn; by the program's own clock.

  LACUNA=BIN WORKLOADS=DIR python3 overhead.py --out FILE.json [--processes 5] [--rounds 8] [--deadline SECONDS] [--tools none,lacuna,armed,nsys,torch] [--programs CASE:VARIANT:STEPS,…]

A process of each tool is built, warmed up and held; all then run windows of STEPS steps, one process at a time, each round in another order.
A window is divided by the unrecorded of its round, so that what the machine does in the meantime falls on both. That makes a ratio a process (the median of its rounds),
and the whole is done again with new processes, on other cores: within one such generation all have their main thread on one core, and autograd's on another, since
pairs of unrecorded processes otherwise differ by 0.76 to 1.25. The recorders of the others sleep (SIGSTOP) while one is timed.

`armed` is `lacuna record --armed`: rounds armed and idle, then recorded ("armed.recording"), then stopped ("armed.stopped"). `--variants 'NAME=FLAGS;…'` are more recorded
ones with other flags. `none2` is a second unrecorded process: what two that do the same differ by.
"""
import argparse
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time

from servers import Server, nsys

PROGRAMS = "tiny_kernels:slow:30,host_sync:slow:10,llm_decode:slow:40,llm_decode:fixed:150,healthy_gpt:fixed:3,fp32_matmul:slow:5"

TORCH_EVERY = 3  # rounds


class Tool:
    def __init__(self, name, before, log):
        self.name, self.server = name, Server(name, before, log)
        self.recorder = self.server.process.pid if name not in ("none", "torch", "nsys") else None
        self.base = name.startswith("none")

    def rest(self, on):
        if self.recorder:
            os.kill(self.recorder, signal.SIGSTOP if on else signal.SIGCONT)

    def window(self, round):
        if self.name == "torch" and round % TORCH_EVERY:
            return None  # it takes a second to end
        self.rest(False)
        self.server.tell("profiled" if self.name == "torch" else "window")
        got = self.server.hear()
        self.rest(True)
        if "ms" not in got:
            raise SystemExit(f"{self.name}: {got}")
        return got["ms"]

    def do(self, command):
        self.rest(False)
        self.server.tell(command)
        got = self.server.hear()
        if "error" in got:
            raise SystemExit(f"{self.name}: {command}: {got}")


def tools(a):
    lacuna, work = os.environ["LACUNA"], tempfile.mkdtemp(prefix="overhead-")

    def recorded(name, flags=()):
        return [lacuna, "record", "--no-report", *flags, "-o", f"{work}/{name}.lacuna", "--"]
    before = {
        "none": [], "none2": [], "torch": [], "lacuna": recorded("lacuna"), "armed": recorded("armed", ["--armed"]),
        "nsys": [nsys(), "profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--trace-fork-before-exec=true", "-o", work + "/nsys", "--"],
    }
    names = a.tools.split(",")
    for variant in filter(None, a.variants.split(";")):
        name, flags = variant.split("=", 1)
        before[name] = recorded(name, flags.split())
        names.append(name)
    logs = os.path.dirname(os.path.abspath(a.out))
    return [Tool(name, before[name], f"{logs}/{name}.log") for name in names]


def rounds(all, n, seed, suffix=""):
    """ms of every tool's windows, one each a round: {name: [ms]}."""
    got, order = {}, random.Random(seed)
    for r in range(n):
        for t in order.sample(all, len(all)):
            got.setdefault(t.name + (suffix if t.name == "armed" else ""), []).append(t.window(r))
    return got


def generation(all, program, n, seed):
    """One process of each tool: {name: [ms a step of a window], …}, and windows of the unrecorded beside them."""
    case, variant, steps = program.split(":")
    cores = sorted(os.sched_getaffinity(0))
    cores = random.Random(seed).sample(cores[::2] if len(cores) >= 4 else cores, 2)  # neighbours may be one core
    for t in all:
        t.rest(False)
        t.server.tell(json.dumps({"case": case, "variant": variant, "mode": "held", "steps": int(steps), "cores": cores}))
    for t in all:
        got = t.server.hear()
        if got:
            raise SystemExit(f"{program} {t.name}: {got}")
        t.rest(True)
    parts = [rounds(all, n, seed)]
    armed = [t for t in all if t.name == "armed"]
    for command, suffix in (("start", ".recording"), ("stop", ".stopped")) if armed else ():
        armed[0].do(command)
        parts.append(rounds([t for t in all if t.base] + armed, n, seed, suffix))
    for t in all:
        t.do("end")
    return parts


def unrecorded(part):
    """The mean of the unrecorded windows of each round."""
    return [statistics.mean(ms) for ms in zip(*(part[name] for name in ("none", "none2") if name in part))]


def ratios(generations):
    """A ratio to the unrecorded for each process: {name: [ratio]}."""
    got = {}
    for parts in generations:
        for part in parts:
            for name, ms in part.items():
                got.setdefault(name, []).append(statistics.median(m / b for m, b in zip(ms, unrecorded(part)) if m))
    return got


def measure(a):
    end, all, runs = time.time() + a.deadline, tools(a), {}
    for t in all:
        t.server.connect()
    for g in range(a.processes):
        for program in a.programs.split(","):
            if time.time() > end:
                print("out of time before", program, g, file=sys.stderr)
                continue
            runs.setdefault(program, []).append(generation(all, program, a.rounds, f"{g}{program}"))
            with open(a.out, "w") as f:
                json.dump(runs, f)
    for t in all:
        t.rest(False)
        t.server.process.terminate() if t.name == "nsys" else t.server.end()


def say(runs):
    for program, generations in runs.items():
        base = statistics.median(ms for parts in generations for ms in unrecorded(parts[0]))
        for name, r in ratios(generations).items():
            print(f"{program:26s} {name:16s} {statistics.median(r):6.3f}x of {base:.3f} ms  n={len(r)}  {' '.join(f'{x:.3f}' for x in r)}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--read", action="store_true", help="only print what --out holds")
    p.add_argument("--processes", type=int, default=5)
    p.add_argument("--rounds", type=int, default=8)
    p.add_argument("--deadline", type=float, default=1e9)
    p.add_argument("--tools", default="none,lacuna,armed,nsys,torch")
    p.add_argument("--variants", default="")
    p.add_argument("--programs", default=PROGRAMS)
    a = p.parse_args()
    if not a.read:
        measure(a)
    with open(a.out) as f:
        say(json.load(f))


if __name__ == "__main__":
    main()
