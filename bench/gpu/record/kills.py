"""How much of the end is missing in the traces of killed programs: LACUNA=BIN python3 kills.py survive.jsonl DIR (the unpacked survive.tar.gz)."""
import json
import os
import re
import subprocess
import sys

lacuna = os.environ["LACUNA"]


def last_start(path, table):
    """Start of the last row of a trace table, in ns since the trace's epoch; and how many rows there are."""
    lines = subprocess.run([lacuna, "stats", path, "-r", table, "--format", "csv", "-q"], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    return max(int(x.split(",")[0]) for x in lines if x), len(lines)


rows = []
for line in open(sys.argv[1]):
    r = json.loads(line)
    if not r["case"].startswith("kill"):
        continue
    path = f"{sys.argv[2]}/{r['case']}.lacuna"
    text = subprocess.run([lacuna, "export", path, "--to", "text"], capture_output=True, text=True).stdout
    epoch = int(re.search(r"^epoch unix=(\d+)", text, re.M).group(1))
    kernel, n = last_start(path, "cuda_gpu_trace")
    call, _ = last_start(path, "cuda_api_trace")
    rows.append(((r["killed_real_ns"] - epoch - kernel) / 1e6, (r["killed_real_ns"] - epoch - call) / 1e6, n, r["after_s"]))
for kernel, call, n, after in sorted(rows):
    print(f"killed after {after:.2f} s: the last of {n} GPU operations began {kernel:.0f} ms before, the last call {call:.0f} ms")
