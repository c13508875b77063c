"""Measures of a program without a profiler, as lacuna.metrics/1: one file, nothing to install.

    from lacuna_metrics import Recorder

    with Recorder() as m:                  # writes $LACUNA_METRICS, which `lacuna bench` sets, or path=...
        for batch in loader:
            with m.step():                 # GPU time by CUDA events when torch uses a GPU, else wall time
                train(batch)
        m.add("loss", 0.31, unit="", better="lower")

or, with the loading of the batch inside the step:

        for batch in m.steps(loader):
            train(batch)

What is written: `step` (ms, a value a step), `host_step` (ms of the host between the same two places, with a
GPU), `peak_memory` (bytes that torch's allocator held at most after the warm-up), `total` (ms of the whole block)
and what was added; GPU, driver, CUDA, versions of torch and of the libraries that are named. Without
$LACUNA_METRICS and path nothing is written, so the lines may stay in the program. Of several ranks
only rank 0 writes. If the block ends with an exception, nothing is written.

No step waits for the GPU: events are read when the block ends.
"""
import contextlib
import json
import os
import re
import socket
import sys
import tempfile
import time

__all__ = ["Recorder", "write", "machine", "SCHEMA", "VARIABLE"]

SCHEMA = "lacuna.metrics/1"
VARIABLE = "LACUNA_METRICS"


def _torch():
    """torch, if the program uses it with a GPU. It is never imported for this."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def _rank():
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0


class Recorder:
    """Takes the time of steps. `warmup` first steps are left out; `libraries` are modules whose versions matter."""

    def __init__(self, path=None, program=None, warmup=0, labels=None, libraries=(), cuda=None):
        self.path = path or os.environ.get(VARIABLE)
        self.program, self.warmup, self.labels, self.libraries = program, warmup, dict(labels or {}), tuple(libraries)
        self.cuda = cuda            # None: when torch has a GPU at the first step
        self.measures = {}
        self._done = 0              # steps that ended, warm-up counted
        self._host, self._events = [], []
        self._torch = None

    def __enter__(self):
        self._began, self._started = time.perf_counter(), time.time()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.close()
        return False

    def _begin(self):
        if self._done == 0:
            self._torch = _torch() if self.cuda in (None, True) else None
            if self.cuda and self._torch is None:
                raise RuntimeError("lacuna_metrics: cuda=True, but torch has no GPU")
        if self._done == self.warmup and self._torch:
            self._torch.cuda.reset_peak_memory_stats()
        return time.perf_counter(), self._event()

    def _event(self):
        if self._torch is None:
            return None
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _end(self, began):
        at, event = began
        last = self._event()
        self._done += 1
        if self._done > self.warmup:
            self._host.append((time.perf_counter() - at) * 1e3)
            if event is not None:
                self._events.append((event, last))

    @contextlib.contextmanager
    def step(self):
        """One step. A step that raises is not counted."""
        began = self._begin()
        yield
        self._end(began)

    def steps(self, iterable):
        """Hands on what it iterates over; a step is from one item's asking to the next one's, loading included."""
        items = iter(iterable)
        while True:
            began = self._begin()
            try:
                item = next(items)
            except StopIteration:
                return
            yield item
            self._end(began)

    def add(self, name, value, unit="", better="lower"):
        """Adds one value of a measure of the program's own: seen again, another sample of it."""
        value = float(value)
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"lacuna_metrics: {name} is {value}")
        known = self.measures.setdefault(name, {"unit": unit, "better": better, "values": []})
        if (known["unit"], known["better"]) != (unit, better):
            raise ValueError(f"lacuna_metrics: {name} was in {known['unit']!r}, {known['better']} better; now {unit!r}, {better}")
        known["values"].append(value)

    def run(self):
        """The run so far, as it is written. Waits for the GPU."""
        measures = dict(self.measures)
        ms = lambda values: {"unit": "ms", "better": "lower", "values": [round(v, 6) for v in values]}
        if self._events:
            self._torch.cuda.synchronize()
            measures["step"] = ms(a.elapsed_time(b) for a, b in self._events)
            measures["host_step"] = ms(self._host)
            measures["peak_memory"] = {"unit": "bytes", "better": "lower", "values": [self._torch.cuda.max_memory_allocated()]}
        elif self._host:
            measures["step"] = ms(self._host)
        measures["total"] = ms([(time.perf_counter() - self._began) * 1e3])
        started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started))
        return {"started": started, "labels": self.labels, "machine": machine(self.libraries), "measures": measures}

    def close(self):
        """Writes the file, if there is one to write."""
        if self.path and _rank() == 0:
            write(self.path, [self.run()], self.program)


def machine(libraries=()):
    """What must be equal for two runs to be comparable, as far as it is known here."""
    out = {"host": socket.gethostname()}
    versions = {}
    torch = sys.modules.get("torch")
    if torch is not None:
        versions["torch"] = torch.__version__
        if torch.cuda.is_available():
            out["gpu"] = torch.cuda.get_device_name()
            out["gpus"] = int(os.environ.get("WORLD_SIZE") or 1)
            out["cuda"] = str(torch.version.cuda or torch.version.hip)
    driver = _driver()
    if driver:
        out["driver"] = driver
    for name in libraries:
        module = sys.modules.get(name)
        if module is not None and hasattr(module, "__version__"):
            versions[name] = str(module.__version__)
    if versions:
        out["libraries"] = versions
    return out


def _driver():
    try:
        with open("/proc/driver/nvidia/version") as f:
            found = re.search(r"Kernel Module.*?\s(\d+\.\d+(\.\d+)?)\s", f.read())
    except OSError:
        return ""
    return found.group(1) if found else ""


def write(path, runs, program=None):
    """Writes runs to a file, whole or not at all."""
    out = {"schema": SCHEMA, "runs": [r for r in runs if r["measures"]]}
    if program:
        out["program"] = program
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".lacuna-")
    try:
        with os.fdopen(handle, "w") as f:
            json.dump(out, f, indent=1, sort_keys=True)
            f.write("\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
