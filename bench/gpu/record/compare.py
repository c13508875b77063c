"""Holds recorded traces against Nsight Systems' exports of the same programs: counts, names, durations, findings.

  LACUNA=BIN python3 compare.py SPOOLS EXPORTS [--json OUT]

SPOOLS has CASE.VARIANT.spool (captures.py), EXPORTS has CASE/VARIANT/nsys.sqlite.zst (the corpus' system folder, or the like). Both
are read by lacuna; what is compared are its tables. A line a program: kernels, graphs run as a whole, copies, memsets and NVTX ranges in both, names
whose counts differ, and how the sum of kernel durations and the median duration of each kernel (weighted by its share) differ.
"""
import argparse
import glob
import json
import os
import subprocess
import sys

TABLES = ("cuda_gpu_kern_sum:mangled", "cuda_gpu_mem_time_sum", "nvtx_sum")


def tables(path):
    """Rows by table; a capture without copies has no table of them."""
    out = {}
    for name in TABLES:
        r = subprocess.run([os.environ["LACUNA"], "stats", path, "-r", name, "--format", "json", "-q"], capture_output=True, text=True)
        if r.returncode and "has no" not in r.stderr:
            raise SystemExit(f"{path}: {r.stderr.strip()}")
        out[name] = json.loads(r.stdout)["tables"][0]["rows"] if r.stdout else []
    return out


def graph_runs(path):
    """Runs of CUDA graphs that were recorded as a whole."""
    r = subprocess.run([os.environ["LACUNA"], "info", path, "--format", "json", "-q"], capture_output=True, text=True, check=True)
    return sum(t["count"] for t in json.loads(r.stdout)["tables"] if t["name"] == "GraphRuns")


def by_name(rows, name):
    return {r[name]: r for r in rows}


def counts(rows, name):
    return {r[name]: r["instances" if "instances" in r else "count"] for r in rows}


def differing(a, b):
    return {k: (a.get(k, 0), b.get(k, 0)) for k in sorted(set(a) | set(b)) if a.get(k, 0) != b.get(k, 0)}


def percent(x):
    return "none" if x is None else f"{x:+.2f} %"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("spools")
    p.add_argument("exports")
    p.add_argument("--json")
    a = p.parse_args()
    out = []
    for path in sorted(glob.glob(a.spools + "/*.spool")):
        case, variant, _ = os.path.basename(path).split(".")
        other = f"{a.exports}/{case}/{variant}/nsys.sqlite.zst"
        if not os.path.exists(other):
            continue
        ours, theirs = tables(path), tables(other)
        row = {"case": case, "variant": variant, "graphs": [graph_runs(path), graph_runs(other)]}
        for what, table, name in (("kernels", "cuda_gpu_kern_sum:mangled", "name"), ("memory", "cuda_gpu_mem_time_sum", "operation"), ("ranges", "nvtx_sum", "range")):
            x, y = counts(ours.get(table, []), name), counts(theirs.get(table, []), name)
            row[what] = [sum(x.values()), sum(y.values())]
            row[what + "_differ"] = differing(x, y)
        x, y = by_name(ours["cuda_gpu_kern_sum:mangled"], "name"), by_name(theirs["cuda_gpu_kern_sum:mangled"], "name")
        total = lambda rows: sum(r["total_time_ns"] for r in rows.values())
        row["sum_pct"] = round(100 * (total(x) / total(y) - 1), 2) if y else None
        both = [k for k in x if k in y]
        weight = sum(y[k]["total_time_ns"] for k in both)
        row["median_pct"] = round(100 * sum((x[k]["med_ns"] / y[k]["med_ns"] - 1) * y[k]["total_time_ns"] for k in both) / weight, 2) if weight else None
        out.append(row)
        same = row["graphs"][0] == row["graphs"][1] and not (row["kernels_differ"] or row["memory_differ"] or row["ranges_differ"])
        print(f"{case + '/' + variant:28s} kernels {row['kernels'][0]:6d} {row['kernels'][1]:6d}  graphs {row['graphs'][0]:2d} {row['graphs'][1]:2d}  copies and sets {row['memory'][0]:5d} {row['memory'][1]:5d}  ranges {row['ranges'][0]:4d} {row['ranges'][1]:4d}  "
              f"kernel time {percent(row['sum_pct'])}  medians {percent(row['median_pct'])}  {'equal' if same else 'DIFFER'}")
        for what in ("kernels", "memory", "ranges"):
            for k, v in list(row[what + "_differ"].items())[:4]:
                print(f"    {what}: {v[0]} {v[1]} {k[:110]}")
    if a.json:
        with open(a.json, "w") as f:
            json.dump(out, f, indent=1)


if __name__ == "__main__":
    sys.exit(main())
