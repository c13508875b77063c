"""Captures variants with torch.profiler and Nsight Systems, and packs them for the way home.

  python3 capture.py --out DIR [--only REGEX] [--tools torch,nsys] [--lib DIR] [--deadline SECONDS]

Never two programs on the GPU at once: the processes under nsys are started a few at a time, load
PyTorch, and then get the GPU one after the other. nsys is the one on the PATH, else the one inside
Nsight Compute; that one's importer needs libdw.so.1, libelf.so.1, liblzma.so.5 and libbz2.so.1.0
(--lib). Traces hold cuda and nvtx only: osrt or sampling would embed every loaded library.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

from truth import append, chosen, in_fork, warm_up

HERE = os.path.dirname(os.path.abspath(__file__))
AT_ONCE = 8      # processes that load PyTorch at the same time
LIMIT = 60       # seconds for one capture


def find_nsys():
    """(nsys, importer or None, its folder)."""
    host = (sorted(glob.glob("/opt/nvidia/nsight-compute/*/host")) or [""])[-1]
    nsys = shutil.which("nsys") or f"{host}/target-linux-x64/nsys"
    importer = sorted(glob.glob(f"{host}/linux-desktop-*/QdstrmImporter"))
    return nsys, importer[-1] if importer else None


def nsys_command(nsys, p, variant, folder, gate):
    trace = "cuda" if p.marks == "none" else "cuda,nvtx"
    whole = [] if p.whole else ["--capture-range=cudaProfilerApi", "--capture-range-end=stop"]
    return [nsys, "profile", "-t", trace, "--sample=none", "--cpuctxsw=none", "--resolve-symbols=false", *whole,
            *p.nsys.get(variant, []), "-o", f"{folder}/nsys", "--force-overwrite=true",
            sys.executable, f"{HERE}/measure.py", p.name, variant, "--mode", "nvtx", "--result", f"{folder}/../runs.jsonl", "--gate", gate]


def nsys_captures(pairs, work, until):
    """Starts AT_ONCE processes, lets all of them load, and then opens one gate after the other."""
    import measure
    nsys, importer = find_nsys()
    known, failed = measure.catalogue(), []
    for k in range(0, len(pairs), AT_ONCE):
        if time.time() > until:
            failed += [f"{n}:{v}" for n, v in pairs[k:]]
            break
        running = []
        for name, variant in pairs[k:k + AT_ONCE]:
            folder = f"{work}/{name}.{variant}"
            os.makedirs(folder, exist_ok=True)
            gate = f"{folder}/gate"
            os.mkfifo(gate)
            with open(f"{folder}/nsys.log", "w") as log:
                cmd = nsys_command(nsys, known[name], variant, folder, gate)
                running.append((f"{name}:{variant}", gate, folder, subprocess.Popen(cmd, stdout=log, stderr=log, start_new_session=True)))
        for label, gate, folder, process in running:
            end = time.time() + LIMIT
            while not os.path.exists(gate + ".ready") and process.poll() is None and time.time() < end:
                time.sleep(0.05)
        for label, gate, folder, process in running:
            if os.path.exists(gate + ".ready"):
                with open(gate, "w") as f:
                    f.write("go\n")
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
            if not glob.glob(f"{folder}/nsys.qdstrm") + glob.glob(f"{folder}/nsys.nsys-rep"):
                failed.append(label)
    return failed, nsys, importer


def export(work, nsys, importer, lib):
    """Turns what nsys left into SQLite, several files at a time: the GPU is idle by now."""
    jobs = []
    for folder in sorted(glob.glob(f"{work}/*/")):
        script = f"cd {folder} && "
        if os.path.exists(f"{folder}/nsys.qdstrm") and importer:
            path = f"{lib}:{os.path.dirname(importer)}"
            script += f"LD_LIBRARY_PATH={path} timeout 120 {importer} --input-file nsys.qdstrm --output-file nsys.nsys-rep >import.log 2>&1 && "
        script += f"timeout 60 {nsys} export -t sqlite -o nsys.sqlite --force-overwrite=true nsys.nsys-rep >>import.log 2>&1; rm -f nsys.qdstrm nsys.nsys-rep gate*"
        while sum(j.poll() is None for j in jobs) >= 12:
            time.sleep(0.1)
        jobs.append(subprocess.Popen(script, shell=True))
    for j in jobs:
        j.wait()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--out", required=True)
    a.add_argument("--only", default=".*", help="regular expression over PROGRAM:VARIANT")
    a.add_argument("--tools", default="torch,nsys")
    a.add_argument("--lib", default="")
    a.add_argument("--deadline", type=float, default=1e9)
    a = a.parse_args()
    pairs, work, start, failed = chosen(a.only), tempfile.mkdtemp(), time.time(), []
    say = lambda text: print(f"[{time.time() - start:.0f} s] {text}", flush=True)
    if "torch" in a.tools:
        warm_up()
        for name, variant in pairs:
            folder = f"{work}/{name}.{variant}"
            os.makedirs(folder, exist_ok=True)
            if time.time() > start + a.deadline or not in_fork(append, f"{work}/runs.jsonl", name, variant, "torch", folder, limit=LIMIT):
                failed.append(f"torch {name}:{variant}")
        say("torch done")
    if "nsys" in a.tools:
        bad, nsys, importer = nsys_captures(pairs, work, start + a.deadline)
        failed += [f"nsys {b}" for b in bad]
        say("nsys done")
        export(work, nsys, importer, os.path.abspath(a.lib) if a.lib else "")
        say("exported")
    os.makedirs(a.out, exist_ok=True)
    subprocess.run(f"tar -C {work} -cf - . | xz -T0 -3 | split -b 15m - {a.out}/captures.txz.", shell=True, check=True)
    say(f"packed {sum(os.path.getsize(f) for f in glob.glob(a.out + '/captures.txz.*')) >> 20} MB; failed: {' '.join(failed) or 'none'}")
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
