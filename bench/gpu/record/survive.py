"""What is in the trace after a program ended, forked or was killed in a way that loses other tools' profiles.

  LACUNA=BIN python3 survive.py --out DIR [--only NAME,…] [--kills 20]

One line of JSON a case in DIR/survive.jsonl; the traces are DIR/survive.tar.gz.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
lacuna = os.environ["LACUNA"]


def table(path, name, columns):
    """Sums of a table of the trace, by lacuna itself."""
    r = subprocess.run([lacuna, "stats", path, "-r", name, "--format", "json", "-q"], capture_output=True, text=True)
    if r.returncode != 0:
        return {"error": r.stderr.strip()[-300:]}
    return json.loads(r.stdout)


def info(path):
    r = subprocess.run([lacuna, "info", path, "--format", "json", "-q"], capture_output=True, text=True)
    return json.loads(r.stdout) if r.returncode == 0 else {"error": r.stderr.strip()[-300:]}


def record(work, name, flags, command, during=None, limit=120):
    out = f"{work}/{name}.lacuna"
    t = time.time()
    p = subprocess.Popen([lacuna, "record", "--no-report", *flags, "-o", out, "--", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if during:
        during(p)
    try:
        stdout, stderr = p.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        p.kill()
        stdout, stderr = p.communicate()
        stderr += "\nHANGS"
    said = {}
    for line in stdout.splitlines():
        if line.startswith("SAID "):
            said.update(json.loads(line[5:]))
    return {"case": name, "status": p.returncode, "seconds": round(time.time() - t, 1), "said": said, "stderr": stderr.strip()[-700:], "info": info(out) if os.path.exists(out) else None}


def program(*args):
    return [sys.executable, os.path.join(here, "programs.py"), *map(str, args)]


def torchrun(*args):
    return [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", *program(*args)[1:]]


def kills(work, n, lanes=5):
    """SIGKILL at random moments: what the trace's last kernel is, against the last step that the program knew finished."""
    out, lock, r = [], threading.Lock(), random.Random(14)
    delays = [r.uniform(0.2, 3.0) for _ in range(n)]

    def one(i):
        path, spools = f"{work}/kill{i}.json", f"{work}/kill{i}.spools"
        os.mkdir(spools)
        trace = f"{work}/kill{i}.lacuna"
        p = subprocess.Popen([lacuna, "record", "--no-report", "--spool-dir", spools, "-o", trace, "--", *program("endless", path)],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(path) and p.poll() is None:
            time.sleep(0.02)
        time.sleep(delays[i])
        target = subprocess.run(["pgrep", "-P", str(p.pid)], capture_output=True, text=True).stdout.split()
        killed = time.time_ns()
        for pid in target:
            os.kill(int(pid), signal.SIGKILL)
        _, stderr = p.communicate(timeout=60)
        done = json.load(open(path))
        got = info(trace) if os.path.exists(trace) else {}
        with lock:
            out.append({"case": f"kill{i}", "after_s": round(delays[i], 2), "status": p.returncode, "killed_real_ns": killed, "finished": done, "info": got, "trace": trace, "stderr": stderr.strip()[-300:]})
    for at in range(0, n, lanes):
        batch = [threading.Thread(target=one, args=(i,)) for i in range(at, min(at + lanes, n))]
        [t.start() for t in batch]
        [t.join() for t in batch]
    return out


def serve_armed(p):
    """start and stop, twice, while the server loop runs."""
    time.sleep(14)
    for _ in range(2):
        for verb in ("start", "stop"):
            r = subprocess.run([lacuna, "record", verb, "--all"], capture_output=True, text=True)
            print(verb, r.returncode, r.stdout.strip()[-200:], r.stderr.strip()[-300:], file=sys.stderr)
            time.sleep(1)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--out", required=True)
    a.add_argument("--only", default="os_exit,sigterm,forks,threads,graphs,graphs_whole,profiler_inside,profiler_inside_yield,server,server_armed,kills")
    a.add_argument("--kills", type=int, default=20)
    a = a.parse_args()
    work = tempfile.mkdtemp(prefix="survive-")
    cases = {
        "os_exit": lambda: [record(work, "os_exit", [], program("os_exit", 200))],
        "sigterm": lambda: [record(work, "sigterm", [], program("sigterm", 200))],
        "forks": lambda: [record(work, "forks", [], program("forks", 100))],
        "threads": lambda: [record(work, "threads", [], program("threads", 1000))],
        "graphs": lambda: [record(work, "graphs", [], program("graphs", 300))],
        "graphs_whole": lambda: [record(work, "graphs_whole", ["--cuda-graph", "whole"], program("graphs", 300))],
        "profiler_inside": lambda: [record(work, "profiler_inside", [], program("profiler_inside", work + "/p1.json"))],
        "profiler_inside_yield": lambda: [record(work, "profiler_inside_yield", ["--yield"], program("profiler_inside", work + "/p2.json"))],
        "server": lambda: [record(work, "server", [], program("server", 3))],
        "server_armed": lambda: [record(work, "server_armed", ["--armed"], program("server", 12), serve_armed)],
        "ranks": lambda: [record(work, "ranks", [], torchrun("ranks", 60)), record(work, "ranks_steps", ["--steps", "20:40"], torchrun("ranks", 60))],
        "kills": lambda: kills(work, a.kills),
    }
    with open(a.out + "/survive.jsonl", "w") as f:
        for name in a.only.split(","):
            for row in cases[name]():
                f.write(json.dumps(row) + "\n")
                f.flush()
                print(row["case"], row.get("status"), row.get("said"), row.get("stderr", "")[-200:].replace("\n", " | "))
    subprocess.run(f"cd {work} && tar -czf {a.out}/survive.tar.gz *.lacuna", shell=True)


if __name__ == "__main__":
    main()
