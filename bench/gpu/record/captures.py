"""Records every workload as `nsys --capture-range=cudaProfilerApi` would: one spool a variant.

  LACUNA=BIN WORKLOADS=DIR python3 captures.py --out DIR [--only CASE:VARIANT,…] [--deadline SECONDS]

Writes DIR/captures.tar.gz.* (CASE.VARIANT.spool, and results.json: steps and ms a step by the program's own clock). `compare.py` holds
them against Nsight Systems' exports.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from servers import Server

sys.path.insert(0, os.environ["WORKLOADS"])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True)
    p.add_argument("--only")
    p.add_argument("--deadline", type=float, default=1e9)
    p.add_argument("--flags", default="", help="more flags for lacuna record")
    a = p.parse_args()
    end = time.time() + a.deadline
    listed = subprocess.run([sys.executable, os.environ["WORKLOADS"] + "/run.py", "list"], capture_output=True, text=True, check=True).stdout
    wanted = a.only.split(",") if a.only else [f"{line.split(chr(9))[0]}:{v}" for line in listed.splitlines() for v in line.split("\t")[1].split()]
    work = tempfile.mkdtemp(prefix="captures-")
    spools = work + "/spools"
    os.mkdir(spools)
    s = Server("lacuna", [os.environ["LACUNA"], "record", "--window", "profiler", "--no-report", "--spool-dir", spools, "-o", work + "/all.lacuna", *a.flags.split(), "--"],
               a.out + "/record.log")
    s.connect()
    results, packed = {}, work + "/out"
    os.mkdir(packed)
    for program in wanted:
        if time.time() > end:
            print("out of time before", program)
            break
        case, variant = program.split(":")
        got = s.ask(case=case, variant=variant, mode="marked")
        results[program] = got
        found = glob.glob(f"{spools}/**/{got.get('pid')}-*.spool", recursive=True)
        if "error" in got or len(found) != 1:
            print(program, got.get("error", ""), len(found), "spools")
            continue
        shutil.copy(found[0], f"{packed}/{case}.{variant}.spool")
    s.end()
    with open(packed + "/results.json", "w") as f:
        json.dump(results, f, indent=1)
    subprocess.run(f"tar -C {packed} -czf - . | split -b 15m - {a.out}/captures.tar.gz.", shell=True, check=True)


if __name__ == "__main__":
    main()
