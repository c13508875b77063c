"""What a recording says of the step without it, against the step without it: on one machine, a process of each in turn.

  LACUNA=BIN WORKLOADS=DIR python3 unprofiled.py --out DIR [--rounds 2] [--deadline SECONDS] [--programs CASE:VARIANT:STEPS,…]
  LACUNA=BIN python3 unprofiled.py --read DIR

Writes DIR/unprofiled.tar.gz: spools, and results.json: ms a step of the unrecorded processes. --read says, for each recording, what its report
estimates, its range, and the error against the median of the unrecorded ones.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAMS = ("tiny_kernels:slow:30,host_sync:slow:10,host_sync:fixed:15,llm_decode:slow:40,llm_decode:fixed:100,looped_optimizer:slow:6,looped_optimizer:fixed:10,alloc_churn:slow:15,"
            "alloc_churn:fixed:20,forward_heavy:slow:6,forward_heavy:fixed:15,recompute:slow:10,periodic_stall:fixed:20,copy_not_overlapped:slow:15,fp32_matmul:fixed:30,data_loading:slow:3")


def measure(a):
    from servers import Server
    work = tempfile.mkdtemp(prefix="unprofiled-")
    spools, end = work + "/spools", time.time() + a.deadline
    os.makedirs(work + "/out")
    plain = Server("none", [], a.out + "/none.log")
    recorded = Server("lacuna", [os.environ["LACUNA"], "record", "--window", "profiler", "--no-report", "--spool-dir", spools, "-o", work + "/all.lacuna", "--"], a.out + "/record.log")
    plain.connect()
    recorded.connect()
    ms = {}
    for r in range(a.rounds):
        for program in a.programs.split(","):
            if time.time() > end:
                break
            case, variant, steps = program.split(":")
            if not plain.ask(case=case, variant=variant, mode="held", steps=int(steps)):
                ms.setdefault(f"{case}.{variant}", []).append(statistics.median(plain.ask_line("window")["ms"] for _ in range(3)))
                plain.ask_line("end")
            got = recorded.ask(case=case, variant=variant, mode="marked")
            for found in glob.glob(f"{spools}/**/{got.get('pid')}-*.spool", recursive=True):
                shutil.copy(found, f"{work}/out/{case}.{variant}.{r}.spool")
    plain.end()
    recorded.end()
    with open(work + "/out/results.json", "w") as f:
        json.dump(ms, f, indent=1)
    subprocess.run(["tar", "-C", work + "/out", "-czf", a.out + "/unprofiled.tar.gz", "."], check=True)


def read(folder):
    with open(folder + "/results.json") as f:
        ms = json.load(f)
    errors, inside = [], 0
    for path in sorted(glob.glob(folder + "/*.spool")):
        case, variant, r, _ = os.path.basename(path).split(".")
        out = subprocess.run([os.environ["LACUNA"], "report", path, "--format", "json", "-q"], capture_output=True, text=True, check=True)
        p, truth = json.loads(out.stdout)["profiler"], statistics.median(ms[f"{case}.{variant}"])
        errors.append(p["unprofiled_step_ms"] / truth - 1)
        within = p["low_ms"] <= truth <= p["high_ms"]
        inside += within
        print(f"{case + '/' + variant:26s} {r}  unrecorded {truth:8.3f}  recorded {p['measured_step_ms']:8.3f}  said {p['unprofiled_step_ms']:8.3f} ({p['low_ms']:.3f} to {p['high_ms']:.3f})  {100 * errors[-1]:+.1f} %{'' if within else '  outside'}")
    print(f"mean error {100 * statistics.mean(map(abs, errors)):.1f} %, median {100 * statistics.median(map(abs, errors)):.1f} %, in range {inside} of {len(errors)}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out")
    p.add_argument("--read")
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--deadline", type=float, default=1e9)
    p.add_argument("--programs", default=PROGRAMS)
    a = p.parse_args()
    return read(a.read) if a.read else measure(a)


if __name__ == "__main__":
    sys.exit(main())
