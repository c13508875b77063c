"""Measured noise and planted changes on one GPU, for docs/gate.md.

  python3 gate.py repeats --out repeats.jsonl --rounds 12 --limit 85     # A/A: rounds of gpu, host, mixed
  python3 gate.py series --out series.jsonl --points 30 --limit 130      # three series with a change at point 15
  python3 gate.py pack repeats.jsonl series.jsonl --out results          # repeats-GPU.json and CSVs

A run is a process with its own CUDA context, forked from one that has loaded PyTorch and not touched the GPU.
Never two at once. What does not fit into --limit seconds is not run.
"""
import argparse
import json
import os
import statistics
import time

SERIES = {  # name: loop, change from the middle on, steps of a point
    "h200_extra_kernel": ("gpu", "extra_kernel", 100),
    "h200_heavier_load": ("heavy", "heavier", 300),
    "h200_batch_72": ("mixed", "batch", 100),
}


def forked(work, out):
    """What work() returns, as a line of `out`, from a process of its own."""
    pid = os.fork()
    if pid == 0:
        try:
            line = json.dumps(work())
            with open(out, "a") as f:
                f.write(line + "\n")
        except BaseException as error:
            print("failed:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0


def once(name, kind, change, steps, index, began):
    import loop
    run, state = loop.run(kind, change, steps)
    values = {m: [round(v, 4) for v in found["values"]] for m, found in run["measures"].items()}
    return {"name": name, "kind": kind, "change": change, "index": index, "at": round(time.time() - began, 1), "time": int(time.time()),
            "machine": run["machine"], "state": state, "values": values}


def measure(a):
    import loop  # noqa: F401  loads torch here, before the forks
    began, planned = time.time(), []
    if a.what == "repeats":
        planned = [("repeats", kind, "", steps, i) for i in range(a.rounds) for kind, steps in (("gpu", 250), ("host", 250), ("mixed", 250))]
    else:
        for i in range(a.points):
            planned += [(name, kind, change if 2 * i >= a.points else "", steps, i) for name, (kind, change, steps) in SERIES.items()]
    for name, kind, change, steps, i in planned:
        if time.time() - began > a.limit:
            print(f"{a.what}: the time is spent at {i}", flush=True)
            break
        forked(lambda: once(name, kind, change, steps, i, began), a.out)
    print(f"{a.what}: {time.time() - began:.0f} s", flush=True)


def pack(a):
    rows = [json.loads(line) for path in a.files for line in open(path)]
    os.makedirs(a.out, exist_ok=True)
    repeats = [r for r in rows if r["name"] == "repeats"]
    head = {"machine": rows[0]["machine"], "what": "A/A: the same loop in separate processes, in rounds; ms of each step after 30 of warm-up"}
    runs = [{"kind": r["kind"], "index": r["index"], "at_s": r["at"], "state": r["state"], "step_ms": r["values"]["step"], "host_step_ms": r["values"]["host_step"]} for r in repeats]
    with open(os.path.join(a.out, "repeats-h200.json"), "w") as f:
        f.write("{" + json.dumps(head)[1:-1] + ",\n\"runs\": [\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in runs) + "\n]}\n")
    index = ["file\tpoints\tunit\tbetter\tlabels\twhat\tmean_sm_mhz_before\tmean_sm_mhz_after"]
    for name, (kind, change, _) in SERIES.items():
        points = [r for r in rows if r["name"] == name]
        at = next((i for i, r in enumerate(points) if r["change"]), len(points))
        with open(os.path.join(a.out, name + ".csv"), "w") as f:
            f.write("index,time,value\n")
            for i, r in enumerate(points):
                f.write(f"{i},{r['time']},{statistics.median(r['values']['step']):.5f}\n")
        clock = lambda part: f"{statistics.mean(r['state'].get('sm_mhz', 0) for r in part):.0f}" if part else ""
        index.append("\t".join([name + ".csv", str(len(points)), "ms", "lower", str(at), f"median step of {kind}, a process a point; from point {at} on {change}", clock(points[:at]), clock(points[at:])]))
    with open(os.path.join(a.out, "INDEX.tsv"), "w") as f:
        f.write("\n".join(index) + "\n")


if __name__ == "__main__":
    a = argparse.ArgumentParser()
    sub = a.add_subparsers(dest="what", required=True)
    for name in ("repeats", "series"):
        p = sub.add_parser(name)
        p.add_argument("--out", required=True)
        p.add_argument("--rounds", type=int, default=12)
        p.add_argument("--points", type=int, default=30)
        p.add_argument("--limit", type=float, default=100)
    p = sub.add_parser("pack")
    p.add_argument("files", nargs="+")
    p.add_argument("--out", required=True)
    a = a.parse_args()
    pack(a) if a.what == "pack" else measure(a)
