"""What recording costs: each program unprofiled and under each tool in turn, a process each time; medians of rounds.

  LACUNA=BIN WORKLOADS=DIR python3 overhead.py --out FILE.json [--rounds 5] [--deadline SECONDS] [--tools none,lacuna,armed,nsys,torch] [--programs CASE:VARIANT[:STEPS],…]

A round goes over all programs and, for each, over all tools in another order, so that the machine's drift falls on all alike. The
time is the program's own clock: the median of its windows. `armed` is a process with `lacuna record --armed`: its first windows are armed
and idle, then it is recorded, then stopped.
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time

from servers import Server, nsys

PROGRAMS = "tiny_kernels:slow,host_sync:slow,llm_decode:slow,llm_decode:fixed,healthy_gpt:fixed:5,fp32_matmul:slow:5"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--windows", type=int, default=5)
    p.add_argument("--deadline", type=float, default=1e9)
    p.add_argument("--tools", default="none,lacuna,armed,nsys,torch")
    p.add_argument("--variants", default="")
    p.add_argument("--programs", default=PROGRAMS)
    a = p.parse_args()
    end = time.time() + a.deadline
    lacuna, work = os.environ["LACUNA"], tempfile.mkdtemp(prefix="overhead-")
    before = {
        "none": [],
        "torch": [],
        "lacuna": [lacuna, "record", "--no-report", "-o", work + "/whole.lacuna", "--"],
        "armed": [lacuna, "record", "--armed", "--no-report", "-o", work + "/armed.lacuna", "--"],
        "nsys": [nsys(), "profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--trace-fork-before-exec=true", "-o", work + "/nsys", "--"],
    }
    for variant in filter(None, a.variants.split(";")):
        name, flags = variant.split("=", 1)
        before[name] = [lacuna, "record", "--no-report", *flags.split(), "-o", f"{work}/{name}.lacuna", "--"]
        a.tools += "," + name
    servers = {t: Server(t, before[t], f"{os.path.dirname(os.path.abspath(a.out))}/{t}.log") for t in a.tools.split(",")}
    for s in servers.values():
        s.connect()
    runs = {}
    for r in range(a.rounds):
        for program in a.programs.split(","):
            case, variant, *steps = program.split(":")
            order = list(servers)
            random.Random(f"{r}{program}").shuffle(order)
            for tool in order:
                if time.time() > end:
                    break
                mode = {"torch": "torch", "armed": "toggled"}.get(tool, "plain")
                got = servers[tool].ask(case=case, variant=variant, mode=mode, windows=a.windows, **({"steps": int(steps[0])} if steps else {}))
                if "error" in got:
                    print(f"{program} {tool}: {got['error']}", file=sys.stderr)
                    continue
                mine = runs.setdefault(program, {})
                mine.setdefault(tool, []).append(statistics.median(got["windows_ms"]))
                for more in ("recording_ms", "stopped_ms"):
                    if more in got:
                        mine.setdefault(f"{tool}.{more[:-3]}", []).append(statistics.median(got[more]))
        with open(a.out, "w") as f:
            json.dump(runs, f, indent=1)
    for s in servers.values():
        s.process.terminate() if s.name == "nsys" else s.end()
    for program, tools in runs.items():
        base = statistics.median(tools.get("none", [float("nan")]))
        for tool, ms in tools.items():
            m = statistics.median(ms)
            print(f"{program:28s} {tool:18s} {m:9.3f} ms  {m / base:6.3f}x  n={len(ms)}  min {min(ms):.3f} max {max(ms):.3f}")


if __name__ == "__main__":
    main()
