"""Truth and captures of rank_programs.py: every run is one process a rank, one GPU a rank.

  python3 ranks.py all --out DIR [--world 2] [--rounds 5] [--lib DIR] [--deadline SECONDS]
  python3 ranks.py results DIR/runs.jsonl --out results/truth-ranks.json
  python3 ranks.py unpack CAPTURES --truth results/truth-ranks.json --out FOLDER

DIR gets runs.jsonl (a line a rank and run) and captures.txz.*: PROGRAM.VARIANT.rankN/{torch.json.gz,nsys.sqlite}.
FOLDER gets PROGRAM/VARIANT/{torch.rankN.json.gz,nsys.rankN.sqlite.zst} and PROGRAM/truth.json.
A step takes as long as the slowest rank says. The sum of a gradient over ranks is checked once a process.
"""
import argparse
import glob
import json
import multiprocessing
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")   # NVLink multicast: not on a host whose GPUs others share
HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 60   # seconds for the processes of one run


def rank_run(name, variant, mode, run, rank, world, store, folder, result):
    """One rank of one run, in this process."""
    import torch
    import torch.distributed as dist

    import measure
    import rank_programs
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=world, device_id=torch.device("cuda", rank))
    sum_of_ones = torch.ones(1, device="cuda")
    dist.all_reduce(sum_of_ones)
    assert sum_of_ones.item() == world
    torch.manual_seed(0)
    p = rank_programs.PROGRAMS[name]
    step = p.build(variant)
    if mode == "plain":
        values = measure.plain(p, variant, step)
    elif mode == "nvtx":
        values = measure.under_nsys(p, variant, step)
    else:
        values = measure.under_torch(p, variant, step, folder)
    base, change = p.variants[variant]
    line = {"program": name, "variant": variant, "mode": mode, "run": run, "rank": rank, "world": world, **values, "rule": p.rule,
            "base": base, "change": change, "cores": os.cpu_count(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())), "time": int(time.time()), "gpu": measure.card()}
    with open(result, "a") as f:
        f.write(json.dumps(line) + "\n")
    dist.barrier()
    dist.destroy_process_group()


def in_forks(world, name, variant, mode, run, work, folders=None):
    """The ranks of one run, each a fork with a session of its own. Returns whether all ended well."""
    def body(rank):
        os.setsid()
        rank_run(name, variant, mode, run, rank, world, store, folders[rank] if folders else None, f"{work}/runs.jsonl")
    store = tempfile.mktemp(dir=work, prefix="store")
    children = [multiprocessing.get_context("fork").Process(target=body, args=(r,)) for r in range(world)]
    for c in children:
        c.start()
    end = time.time() + LIMIT
    for c in children:
        c.join(max(0.1, end - time.time()))
        try:
            os.killpg(c.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        c.join()
    return all(c.exitcode == 0 for c in children)


def nsys_captures(pairs, world, work, until):
    """nsys around each rank; all processes load first, then the ranks of one variant at a time get their GPUs."""
    from capture import find_nsys
    nsys, importer = find_nsys()
    jobs, failed = [], []
    for name, variant in pairs:
        ranks = []
        for r in range(world):
            folder = f"{work}/{name}.{variant}.rank{r}"
            os.makedirs(folder, exist_ok=True)
            os.mkfifo(f"{folder}/gate")
            cmd = [nsys, "profile", "-t", "cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--resolve-symbols=false",
                   "--capture-range=cudaProfilerApi", "--capture-range-end=stop", "-o", f"{folder}/nsys", "--force-overwrite=true",
                   sys.executable, __file__, "rank", name, variant, "--rank", str(r), "--world", str(world), "--out", work]
            with open(f"{folder}/nsys.log", "w") as log:
                ranks.append((folder, subprocess.Popen(cmd, stdout=log, stderr=log, start_new_session=True)))
        jobs.append((name, variant, ranks))
    for name, variant, ranks in jobs:
        end = min(until, time.time() + LIMIT)
        while not all(os.path.exists(f"{f}/gate.ready") for f, _ in ranks) and time.time() < end:
            time.sleep(0.05)
        for folder, process in ranks:
            if time.time() < end and os.path.exists(f"{folder}/gate.ready"):
                with open(f"{folder}/gate", "w") as f:
                    f.write("go\n")
        for folder, process in ranks:
            try:
                process.wait(max(0.1, end - time.time()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                failed.append(f"{name}:{variant} {folder}")
    return failed, nsys, importer


def all_of_it(a):
    import rank_programs
    from capture import export
    from truth import warm_up
    start, failed = time.time(), []
    say = lambda text: print(f"[{time.time() - start:.0f} s] {text}", flush=True)
    os.makedirs(a.out, exist_ok=True)
    work = tempfile.mkdtemp()
    pairs = [(n, v) for n, p in rank_programs.PROGRAMS.items() for v in p.variants]
    warm_up()
    say("loaded")
    for name, variant in pairs:
        folders = [f"{work}/{name}.{variant}.rank{r}" for r in range(a.world)]
        for folder in folders:
            os.makedirs(folder, exist_ok=True)
        if not in_forks(a.world, name, variant, "torch", 0, work, folders=folders):
            failed.append(f"torch {name}:{variant}")
    say("torch done")
    for run in range(a.rounds):
        for name, variant in pairs[run % len(pairs):] + pairs[:run % len(pairs)]:
            if time.time() > start + a.deadline - 100:
                failed.append(f"no time: run {run} {name}:{variant}")
            elif not in_forks(a.world, name, variant, "plain", run, work):
                failed.append(f"plain {run} {name}:{variant}")
    say("truth done")
    bad, nsys, importer = nsys_captures(pairs, a.world, work, start + a.deadline)
    say("nsys done")
    export(work, nsys, importer, os.path.abspath(a.lib) if a.lib else "")
    topology = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True).stdout
    subprocess.run(f"cp {work}/runs.jsonl {a.out}/; rm -f {work}/store*; tar -C {work} --exclude=runs.jsonl -cf - . | xz -T0 -3 | split -b 15m - {a.out}/captures.txz.", shell=True)
    say(f"packed; failed: {' '.join(failed + bad) or 'none'}\n{topology}")


def one_rank(a):
    """Under nsys: loads, says that it is ready, waits, runs."""
    import torch._dynamo  # noqa: F401  the first optimizer would import it, with the GPU waiting
    folder = f"{a.out}/{a.name}.{a.variant}.rank{a.rank}"
    open(f"{folder}/gate.ready", "w").close()
    open(f"{folder}/gate").read()
    rank_run(a.name, a.variant, "nvtx", 0, a.rank, a.world, f"{a.out}/store.{a.name}.{a.variant}", None, f"{a.out}/runs.jsonl")


def folded(path):
    """Runs with the slowest rank's step, and all ranks' beside it."""
    by = {}
    with open(path) as f:
        for r in map(json.loads, f):
            by.setdefault((r["program"], r["variant"], r["mode"], r["run"]), []).append(r)
    for ranks in by.values():
        ranks.sort(key=lambda r: r["rank"])
        key = next(k for k in ("step_ms", "step_ms_under_nsys", "step_ms_under_torch") if k in ranks[0])
        slowest = max(ranks, key=lambda r: r[key])
        yield {**slowest, "gpu": ranks[0]["gpu"], "ranks_ms": [round(r[key], 4) for r in ranks]}


def write_results(a):
    from results import share, summary
    rows = sorted(folded(a.runs), key=lambda r: (r["program"], r["variant"], r["time"]))
    letters, found = {rows[0]["gpu"]["uuid"]: "A"}, {}
    for r in rows:
        letters.setdefault(r["gpu"]["uuid"], "B")
        entry = found.setdefault(r["program"], {}).setdefault(r["variant"], {"plain": []})
        if r["mode"] == "plain":
            entry["plain"].append(r)
        else:
            entry[r["mode"]] = r
    programs = {}
    for name, variants in found.items():
        out = {}
        for v in sorted(variants, key=lambda v: v != "slow"):
            s = summary(variants[v], letters)
            s["ranks_ms"] = [round(statistics.median(x), 4) for x in zip(*(r["ranks_ms"] for r in variants[v]["plain"]))]
            if s["base"] in variants:
                s["of_base"] = round(statistics.median(share(variants[v], variants[s["base"]], letters).values()), 4)
            out[v] = s
        programs[name] = {"rule": next(iter(variants.values()))["plain"][0]["rule"], "variants": out}
    r = rows[0]
    head = {"gpu": r["gpu"]["name"], "world": r["world"], "driver": r["gpu"]["driver"], "torch": r["torch"], "cuda": r["cuda"], "nccl": r["nccl"],
            "cores": r["cores"], "memory_mhz": r["gpu"]["memory_mhz"], "dates": sorted({time.strftime("%Y-%m-%d", time.gmtime(x["time"])) for x in rows}), "machines": len(letters)}
    body = ",\n".join(f'  "{n}": {{"rule": "{p["rule"]}", "variants": {{\n' + ",\n".join(
        f'   "{v}": {json.dumps(s)}' for v, s in p["variants"].items()) + "}}" for n, p in programs.items())
    with open(a.out, "w") as f:
        f.write(json.dumps(head, indent=1)[:-2] + ',\n "programs": {\n' + body + "\n }\n}\n")


def unpack(a):
    for source in sorted(glob.glob(f"{a.captures}/*.rank*")):
        name, variant, rank = os.path.basename(source).split(".")
        here = f"{a.out}/{name}/{variant}"
        os.makedirs(here, exist_ok=True)
        shutil.copy(f"{source}/torch.json.gz", f"{here}/torch.{rank}.json.gz")
        subprocess.run(["zstd", "-q", "-f", "-19", f"{source}/nsys.sqlite", "-o", f"{here}/nsys.{rank}.sqlite.zst"], check=True)
    with open(a.truth) as f:
        for name, p in json.load(f)["programs"].items():
            with open(f"{a.out}/{name}/truth.json", "w") as g:
                json.dump({"case": name, "rule": p["rule"], **p["variants"]}, g, indent=1)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sub = a.add_subparsers(dest="what", required=True)
    t = sub.add_parser("all")
    t.add_argument("--rounds", type=int, default=5)
    t.add_argument("--lib", default="")
    t.add_argument("--deadline", type=float, default=1e9)
    t.set_defaults(run=all_of_it)
    k = sub.add_parser("rank")
    k.add_argument("name")
    k.add_argument("variant")
    k.add_argument("--rank", type=int, required=True)
    k.set_defaults(run=one_rank)
    for s in (t, k):
        s.add_argument("--out", required=True)
        s.add_argument("--world", type=int, default=2)
    w = sub.add_parser("results")
    w.add_argument("runs")
    w.add_argument("--out", required=True)
    w.set_defaults(run=write_results)
    u = sub.add_parser("unpack")
    u.add_argument("captures")
    u.add_argument("--truth", required=True)
    u.add_argument("--out", required=True)
    u.set_defaults(run=unpack)
    a = a.parse_args()
    a.run(a)


if __name__ == "__main__":
    main()
