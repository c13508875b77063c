"""Turns what truth.py and capture.py brought home into small files.

  python3 results.py truth RUNS.jsonl... [--captures DIR...] [--corpus DIR] --out results/truth-h200.json
  python3 results.py unpack DIR... --truth results/truth-h200.json --only REGEX --out FOLDER

`truth` writes one line a variant (medians of every run, their spread, the machine of each) and,
beside it, a table as Markdown. `unpack` lays captures out as the corpus does, with a truth.json
for each program: FOLDER/PROGRAM/VARIANT/{torch.json.gz,nsys.sqlite.zst,key_averages.json.gz}.
"""
import argparse
import gzip
import json
import os
import re
import shutil
import statistics
import subprocess
import time

MACHINES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def lines(paths):
    for path in paths:
        with open(path) as f:
            yield from map(json.loads, f)


def gather(runs, captures):
    """{program: {variant: {"plain": runs, "torch": run, "nvtx": run}}}, and the letter of each GPU."""
    found, letters = {}, {}
    for r in sorted([*runs, *captures], key=lambda r: r["time"]):
        letters.setdefault(r["gpu"]["uuid"], MACHINES[len(letters)])
        entry = found.setdefault(r["program"], {}).setdefault(r["variant"], {"plain": []})
        if r["mode"] == "plain":
            entry["plain"].append(r)
        else:
            entry[r["mode"]] = r
    return found, letters


def summary(entry, letters):
    """One variant: all that its runs say."""
    runs = entry["plain"]
    first = (runs or [entry.get("torch") or entry["nvtx"]])[0]
    out = {"base": first["base"], "change": first["change"]}
    if runs:
        values = [r["step_ms"] for r in runs]
        mid = min(runs, key=lambda r: abs(r["step_ms"] - statistics.median(values)))
        within = [100 * (max(r["windows_ms"]) / min(r["windows_ms"]) - 1) for r in runs]
        out.update(step_ms=round(statistics.median(values), 4), runs_ms=[round(v, 4) for v in values],
                   machines="".join(letters[r["gpu"]["uuid"]] for r in runs),
                   spread_pct=round(100 * (max(values) - min(values)) / statistics.median(values), 1),
                   windows_spread_pct=round(statistics.median(within), 1), windows_ms=mid["windows_ms"],
                   steps_per_window=mid["steps_per_window"], cold_ms=mid["cold_ms"], peak_memory_bytes=mid["peak_memory_bytes"],
                   sm_mhz=[r["gpu"]["sm_mhz"] for r in runs], power_capped=sum(bool(r["gpu"]["slowed_by"] & 4) for r in runs))
    for mode, tool in (("nvtx", "nsys"), ("torch", "torch")):
        if mode in entry:
            r = entry[mode]
            out.update({f"step_ms_under_{tool}": round(r[f"step_ms_under_{tool}"], 4), "steps_captured": r["steps_captured"],
                        f"{tool}_machine": letters[r["gpu"]["uuid"]]})
    return out


def share(entry, base, letters):
    """What a variant's step is of its base's: by machine, so that a slow host does not pass for a slow change."""
    def by_machine(runs):
        out = {}
        for r in runs:
            out.setdefault(letters[r["gpu"]["uuid"]], []).append(r["step_ms"])
        return {m: statistics.median(v) for m, v in out.items()}
    own, its = by_machine(entry["plain"]), by_machine(base["plain"])
    return {m: round(own[m] / its[m], 4) for m in sorted(own) if m in its}


def table(programs, corpus):
    """All variants, the corpus' truth beside ours, and what each change did to its base here and there."""
    rows = ["| program | variant | change to its base | runs | ms a step | least | most | corpus | of its base | by machine | corpus | nsys | torch |",
            "|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    ratio = lambda a, b: f"{a / b:.3f}" if a and b else ""
    for name, p in programs.items():
        known = {}
        if corpus and os.path.exists(f"{corpus}/{name}/truth.json"):
            with open(f"{corpus}/{name}/truth.json") as f:
                known = json.load(f)
        then = lambda v: (known.get(v) or {}).get("step_ms")
        for variant, v in p["variants"].items():
            if "step_ms" not in v:
                continue
            shares = v.get("of_base_by_machine", {})
            rows.append("| " + " | ".join([
                name, variant, (f"{v['base']}: {v['change'] or 'its own repair'}".replace("|", "\\|") if v["base"] else ""), str(len(v["runs_ms"])),
                f"{v['step_ms']:.3f}", f"{min(v['runs_ms']):.3f}", f"{max(v['runs_ms']):.3f}",
                f"{then(variant):.3f}" if then(variant) else "", f"{v['of_base']:.3f}" if shares else "",
                " ".join(f"{m} {x:.3f}" for m, x in shares.items()), ratio(then(variant), then(v["base"])), *(f"{v[k]:.3f}" if k in v else "" for k in ("step_ms_under_nsys", "step_ms_under_torch"))]) + " |")
    return "\n".join(rows) + "\n"


def truth(a):
    captures = list(lines([f"{d}/runs.jsonl" for d in a.captures]))
    runs = list(lines(a.runs))
    found, letters = gather(runs, captures)
    any_run = runs[0]
    programs = {}
    for name, variants in sorted(found.items()):
        rule = next(r["rule"] for e in variants.values() for r in [*e["plain"], *(e[m] for m in ("torch", "nvtx") if m in e)])
        order = sorted(variants, key=lambda v: (v not in ("slow", "fixed"), v != "slow", v))
        programs[name] = {"rule": rule, "variants": {v: summary(variants[v], letters) for v in order}}
        for v, out in programs[name]["variants"].items():
            shares = share(variants[v], variants[out["base"]], letters) if out["base"] in variants else {}
            if shares:
                out.update(of_base=round(statistics.median(shares.values()), 4), of_base_by_machine=shares)
    head = {"gpu": any_run["gpu"]["name"], "driver": any_run["gpu"]["driver"], "torch": any_run["torch"], "cuda": any_run["cuda"],
            "cores": 16, "memory_mhz": any_run["gpu"]["memory_mhz"],
            "dates": sorted({time.strftime("%Y-%m-%d", time.gmtime(r["time"])) for r in runs}),
            "machines": len(letters)}
    body = ",\n".join(f'  "{n}": {{"rule": "{p["rule"]}", "variants": {{\n' + ",\n".join(
        f'   "{v}": {json.dumps(s)}' for v, s in p["variants"].items()) + "}}" for n, p in programs.items())
    with open(a.out, "w") as f:
        f.write(json.dumps(head, indent=1)[:-2] + ',\n "programs": {\n' + body + "\n }\n}\n")
    with open(os.path.splitext(a.out)[0] + ".md", "w") as f:
        f.write(table(programs, a.corpus))


def unpack(a):
    with open(a.truth) as f:
        programs = json.load(f)["programs"]
    for source in a.dirs:
        for folder in sorted(os.listdir(source)):
            name, _, variant = folder.partition(".")
            if not os.path.isdir(f"{source}/{folder}") or not re.fullmatch(a.only, f"{name}:{variant}"):
                continue
            there, here = f"{source}/{folder}", f"{a.out}/{name}/{variant}"
            os.makedirs(here, exist_ok=True)
            if os.path.exists(f"{there}/torch.json.gz"):
                shutil.copy(f"{there}/torch.json.gz", here)
            if os.path.exists(f"{there}/key_averages.json"):
                with open(f"{there}/key_averages.json", "rb") as f, gzip.GzipFile(f"{here}/key_averages.json.gz", "wb", mtime=0) as g:
                    g.write(f.read())
            if os.path.exists(f"{there}/nsys.sqlite"):
                subprocess.run(["zstd", "-q", "-f", "-19", f"{there}/nsys.sqlite", "-o", f"{here}/nsys.sqlite.zst"], check=True)
    for name in sorted(os.listdir(a.out)):
        if name in programs:
            p = programs[name]
            with open(f"{a.out}/{name}/truth.json", "w") as f:
                json.dump({"case": name, "rule": p["rule"], **p["variants"]}, f, indent=1)


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    sub = a.add_subparsers(dest="what", required=True)
    t = sub.add_parser("truth")
    t.add_argument("runs", nargs="+")
    t.add_argument("--captures", nargs="*", default=[])
    t.add_argument("--corpus", help="the corpus' system folder, to compare with")
    t.add_argument("--out", required=True)
    u = sub.add_parser("unpack")
    u.add_argument("dirs", nargs="+")
    u.add_argument("--truth", required=True)
    u.add_argument("--only", default=".*")
    u.add_argument("--out", required=True)
    a = a.parse_args()
    truth(a) if a.what == "truth" else unpack(a)


if __name__ == "__main__":
    main()
