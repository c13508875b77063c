"""Runs one variant of one program in this process, and says how long its steps take.

  python3 measure.py PROGRAM VARIANT --mode plain               # truth: no profiler anywhere
  python3 measure.py PROGRAM VARIANT --mode torch --dir D       # D/torch.json.gz and D/key_averages.json
  python3 measure.py PROGRAM VARIANT --mode nvtx                # marks, and cudaProfilerStart/Stop, for nsys
  python3 measure.py list

Truth is wall time per step over windows of steps with one synchronisation at each end, as a
training loop would see it: never a synchronisation inside a window. The keys of the results are
those of the corpus' truth.json.
"""
import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import programs  # noqa: E402

NULL = contextlib.nullcontext()


def quiet(name):
    return NULL


@contextlib.contextmanager
def nvtx(name):
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def catalogue():
    """The programs of this folder, and the corpus' where WORKLOADS has them."""
    found = dict(programs.PROGRAMS)
    try:
        import variants
        found.update(variants.programs())
    except ModuleNotFoundError as missing:
        if missing.name != "cases":
            raise
    return found


def clock(step, first, count, mark):
    """Mean ms of `count` steps between two synchronisations."""
    torch.cuda.synchronize()
    t = time.perf_counter()
    for i in range(first, first + count):
        step(i, mark)
    torch.cuda.synchronize()
    return (time.perf_counter() - t) * 1e3 / count


def plain(p, variant, step):
    warmup = p.warmup_of.get(variant, p.warmup)
    count, windows = p.window_of.get(variant, (p.window, p.windows))
    cold = [clock(step, i, 1, quiet) for i in range(warmup)]
    torch.cuda.reset_peak_memory_stats()
    before = steal()
    values = [clock(step, warmup + k * count, count, quiet) for k in range(windows)]
    return {"step_ms": statistics.median(values), "windows_ms": [round(v, 4) for v in values], "steps_per_window": count,
            "cold_ms": [round(v, 3) for v in cold], "peak_memory_bytes": torch.cuda.max_memory_allocated(),
            "steal_ticks": steal() - before}


def steal():
    """Clock ticks that the hypervisor gave to others, over all CPUs."""
    with open("/proc/stat") as f:
        return int(f.readline().split()[8])


def under_nsys(p, variant, step):
    mark = quiet if p.marks == "none" else nvtx
    warmup, runtime = p.warmup_of.get(variant, p.warmup), torch.cuda.cudart()

    def run(i, m):
        with nvtx(f"step_{i}") if p.marks == "steps" else NULL:
            step(i, m)
    for i in range(warmup):
        run(i, mark) if p.whole else step(i, quiet)
    torch.cuda.synchronize()
    if not p.whole:
        runtime.cudaProfilerStart()
    ms = clock(run, warmup, p.steps, mark)
    if not p.whole:
        runtime.cudaProfilerStop()
    return {"step_ms_under_nsys": ms, "steps_captured": p.steps}


def under_torch(p, variant, step, folder):
    from torch.profiler import ProfilerActivity, profile, record_function, schedule
    mark = quiet if p.torch_marks == "none" else record_function
    warmup = p.warmup_of.get(variant, p.warmup)
    settings = dict(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=p.shapes, profile_memory=p.memory)
    for i in range(warmup):
        step(i, quiet)
    torch.cuda.synchronize()
    if p.torch_marks != "steps" or p.whole:
        with profile(**settings) as prof:
            ms = clock(step, warmup, p.steps, mark)
    else:
        with profile(**settings, schedule=schedule(wait=0, warmup=2, active=p.steps, repeat=1)) as prof:
            for k in range(p.steps + 2):
                if k == 2:
                    torch.cuda.synchronize()
                    t = time.perf_counter()
                step(warmup + k, mark)
                if k == p.steps + 1:
                    torch.cuda.synchronize()
                    ms = (time.perf_counter() - t) * 1e3 / p.steps
                prof.step()
    prof.export_chrome_trace(os.path.join(folder, "torch.json.gz"))
    rows = [{"name": e.key, "calls": e.count, "self_cpu_us": e.self_cpu_time_total, "cpu_us": e.cpu_time_total,
             "self_device_us": e.self_device_time_total, "device_us": e.device_time_total, "device_type": str(e.device_type),
             "cpu_mem": e.cpu_memory_usage, "device_mem": e.device_memory_usage} for e in prof.key_averages()]
    with open(os.path.join(folder, "key_averages.json"), "w") as f:
        json.dump(rows, f, indent=0)
    return {"step_ms_under_torch": ms, "steps_captured": p.steps}


def card():
    """The GPU and its state at this moment."""
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    text = lambda v: v.decode() if isinstance(v, bytes) else v
    return {"name": text(n.nvmlDeviceGetName(h)), "uuid": text(n.nvmlDeviceGetUUID(h)), "driver": text(n.nvmlSystemGetDriverVersion()),
            "sm_mhz": n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM), "memory_mhz": n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_MEM),
            "power_w": round(n.nvmlDeviceGetPowerUsage(h) / 1e3, 1), "temp_c": n.nvmlDeviceGetTemperature(h, 0),
            "slowed_by": n.nvmlDeviceGetCurrentClocksThrottleReasons(h)}


def run(name, variant, mode, folder=None):
    p = catalogue()[name]
    if p.fresh_cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    step = p.build(variant)
    if mode == "plain":
        result = plain(p, variant, step)
    elif mode == "nvtx":
        result = under_nsys(p, variant, step)
    else:
        result = under_torch(p, variant, step, folder)
    base, change = p.variants[variant]
    return {"program": name, "variant": variant, "mode": mode, **result, "rule": p.rule, "base": base, "change": change,
            "cores": os.cpu_count(), "torch": torch.__version__, "cuda": torch.version.cuda, "time": int(time.time()), "gpu": card()}


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program")
    a.add_argument("variant", nargs="?", default="slow")
    a.add_argument("--mode", choices=["plain", "torch", "nvtx"], default="plain")
    a.add_argument("--dir", default=".")
    a.add_argument("--result", help="append the result to this file")
    a.add_argument("--gate", help="say `ready` by making GATE.ready, then wait for a writer on the FIFO GATE before using the GPU")
    a = a.parse_args()
    if a.program == "list":
        for name, p in sorted(catalogue().items()):
            print(f"{name}\t{p.rule}\t{' '.join(p.variants)}\t{p.doc}")
        return
    if a.gate:
        import torch._dynamo  # noqa: F401  the first optimizer would import it, with the GPU waiting
        open(a.gate + ".ready", "w").close()
        open(a.gate).read()
    line = json.dumps(run(a.program, a.variant, a.mode, a.dir))
    print("RESULT " + line, flush=True)
    if a.result:
        with open(a.result, "a") as f:
            f.write(line + "\n")


if __name__ == "__main__":
    main()
