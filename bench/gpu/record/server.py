"""Runs workloads on request, each in a forked process of its own: PyTorch is loaded once, without touching the GPU.

  python3 server.py SOCKET          under whatever tool is to be measured

A request is one line of JSON, {"case", "variant", "mode", "steps", "cores"}; so is the answer. Modes:

  marked   cudaProfilerStart, steps with NVTX, cudaProfilerStop, as for nsys --capture-range=cudaProfilerApi
  held     the program is built and warmed up, the answer is {}, and it waits. Then a line is a command:
           "window": `steps` steps, {"ms"}: of one step, by the program's own clock; "profiled": the same inside torch.profiler (CPU and CUDA
           activities); "start", "stop": `lacuna record start|stop` on itself, LACUNA names the binary; "end"
"""
import ctypes
import json
import os
import socket
import subprocess
import sys
import traceback

sys.path.insert(0, os.environ["WORKLOADS"])
os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
import torch  # noqa: E402
import torch._dynamo, torch.profiler, torch.utils.data  # noqa: E401, E402, F401

import cases  # noqa: E402
import harness  # noqa: E402


def quiet(_):
    return harness.NULL


def control(verb):
    subprocess.run([os.environ["LACUNA"], "record", verb, "--pid", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)


def run(ask, lines):
    c = cases.CASES[ask["case"]]
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    step = c.build(ask["variant"])
    if ask["mode"] == "marked":
        r = harness.run_nvtx(step, ask.get("steps") or c.steps, c.warmup, False)
        r["step_ms"] = r.pop("step_ms_under_nsys")
        return r
    for i in range(c.warmup):
        step(i, quiet)
    if "cores" in ask:
        pin(*ask["cores"])
    hold(Held(step, ask["steps"], c.warmup), lines)
    return {}


def pin(main, backward):
    """This thread and autograd's to a core each, the same in every process that is compared; those of CUDA and tools go where they like."""
    os.sched_setaffinity(0, {main})
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as f:
            if f.read().startswith("pt_autograd"):
                os.sched_setaffinity(int(task), {backward})


class Held:
    """A program between windows. Two steps before each are not timed: the process has slept since the last."""

    def __init__(self, step, steps, at):
        self.step, self.steps, self.at = step, steps, at

    def window(self):
        for _ in range(2):
            self.step(self.at, quiet)
            self.at += 1
        values, self.at = harness.timed_windows(self.step, self.steps, 1, self.at)
        return {"ms": values[0]}

    def profiled(self):
        from torch.profiler import ProfilerActivity, profile
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, range(os.cpu_count()))  # for the threads that the profiler makes
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            os.sched_setaffinity(0, mine)
            return self.window()


def hold(held, lines):
    do = {"window": held.window, "profiled": held.profiled, "start": lambda: control("start"), "stop": lambda: control("stop")}
    got = {}
    while True:
        lines.write(json.dumps(got).encode() + b"\n")
        lines.flush()
        command = lines.readline().decode().strip()
        if command not in do:
            return
        got = do[command]() or {}


def answer(ask, lines):
    """The answer of a forked process. It ends as C programs end, so that a tool's exit handlers run."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            r = run(ask, lines)
        except Exception:
            r = {"error": traceback.format_exc()[-800:]}
        r["pid"] = os.getpid()
        os.write(write, json.dumps(r).encode())
        os.close(write)
        sys.stdout.flush()
        ctypes.CDLL(None).exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as f:
        data = f.read()
    os.waitpid(pid, 0)
    return data or b'{"error": "died"}'


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen(1)
    client, _ = listener.accept()
    lines = client.makefile("rwb")
    for line in lines:
        lines.write(answer(json.loads(line), lines) + b"\n")
        lines.flush()


if __name__ == "__main__":
    main()
