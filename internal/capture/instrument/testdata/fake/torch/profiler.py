"""The states of torch.profiler.profile as PyTorch 2 has them: a schedule names an action for each step."""
from enum import Enum


class ProfilerActivity(Enum):
    CPU = 0
    CUDA = 1


NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    def action(step):
        if step < skip_first:
            return NONE
        step -= skip_first
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return NONE
        at = step % cycle
        if at < wait:
            return NONE
        if at < wait + warmup:
            return WARMUP
        return RECORD if at < cycle - 1 else RECORD_AND_SAVE

    return action


class profile:
    def __init__(self, *, activities, schedule, on_trace_ready, record_shapes=False):
        self.schedule, self.ready = schedule, on_trace_ready
        self.number, self.recorded, self.running = 0, 0, False

    def start(self):
        from . import log
        log("start")
        self.running = True
        self.action = self.schedule(0)

    def step(self):
        from . import log
        assert self.running, "step of a profiler that is stopped"
        log("step")
        if self.action in (RECORD, RECORD_AND_SAVE):
            self.recorded += 1
        if self.action == RECORD_AND_SAVE:
            self.ready(self)
        self.number += 1
        self.action = self.schedule(self.number)

    def stop(self):
        from . import log
        assert self.running, "stopped twice"
        log("stop")
        self.running = False
        if self.action in (RECORD, RECORD_AND_SAVE):
            self.ready(self)

    def export_chrome_trace(self, path):
        from . import log
        log("export %d" % self.recorded)


class record_function:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        from . import log
        log("push " + self.name)

    def __exit__(self, *exc):
        from . import log
        log("pop")
