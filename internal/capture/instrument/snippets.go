package instrument

import "strings"

// steps is what both kinds of instrumentation have in common: a loop's passes as steps, with the fetching of the next
// item as a phase of its own. BEGIN and END are what the kind does around a step.
const steps = `def lacuna_steps(iterable):
    """Yields from iterable; each pass through the loop's body is a step, however it ends."""
    source = iter(iterable)
    while True:
        with lacuna_phase("data"):
            try:
                item = next(source)
            except StopIteration:
                return
        _lacuna_begin()
        try:
            yield item
        finally:
            _lacuna_end()


def lacuna_while(condition):
    """The passes of a while loop as those of a for loop."""
    while condition():
        _lacuna_begin()
        try:
            yield
        finally:
            _lacuna_end()
`

const torchHelper = `# --- lacuna: record a few warm steps with torch.profiler; remove this block and lacuna_ below to undo --------
_lacuna_profiler = None
_lacuna_left = 16  # steps that the schedule below takes: 1 waits, 5 warm up, 10 are recorded


def _lacuna_ready(profiler):
    import os
    name = "lacuna-trace-%s-%d.json.gz" % (os.environ.get("RANK", "0"), os.getpid())
    profiler.export_chrome_trace(name)
    print("lacuna: wrote %s; lacuna report %s" % (name, name), flush=True)


def _lacuna_begin():
    global _lacuna_profiler
    if _lacuna_profiler is None and _lacuna_left > 0:
        import atexit
        from torch.profiler import ProfilerActivity, profile, schedule
        _lacuna_profiler = profile(
            activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA],
            schedule=schedule(wait=1, warmup=5, active=10, repeat=1),
            on_trace_ready=_lacuna_ready, record_shapes=True)
        _lacuna_profiler.start()
        atexit.register(_lacuna_stop)


def _lacuna_end():
    global _lacuna_left
    if _lacuna_profiler is not None:
        _lacuna_profiler.step()
        _lacuna_left -= 1
        if _lacuna_left == 0:
            _lacuna_stop()


def _lacuna_stop():
    global _lacuna_profiler, _lacuna_left
    profiler, left = _lacuna_profiler, _lacuna_left
    _lacuna_profiler, _lacuna_left = None, 0
    if profiler is not None:
        profiler.stop()  # in the middle of recording, this writes what there is
        if left > 10:
            print("lacuna: no trace: the loop ended after %d steps; make wait and warmup smaller" % (16 - left), flush=True)


def lacuna_phase(name):
    from torch.profiler import record_function
    return record_function(name)


`

const nvtxHelper = `# --- lacuna: NVTX ranges for steps and their phases; remove this block and lacuna_ below to undo -------------
import contextlib as _lacuna_contextlib

_lacuna_step = 0


def _lacuna_begin():
    import torch
    torch.cuda.nvtx.range_push("step_%d" % _lacuna_step)


def _lacuna_end():
    global _lacuna_step
    import torch
    torch.cuda.nvtx.range_pop()
    _lacuna_step += 1


@_lacuna_contextlib.contextmanager
def lacuna_phase(name):
    import torch
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


`

const helperEnd = "# --- end of lacuna's block " +
	"-----------------------------------------------------------------------------------\n"

// helperText is the functions that an instrumented script gets.
func helperText(kind string) string {
	if kind == NVTX {
		return nvtxHelper + steps + helperEnd
	}
	return torchHelper + steps + helperEnd
}

// Generic is what to paste into a script by hand.
func Generic(kind string) string {
	how := `# Paste the block above after the imports of the script. Then let the loop run through it:
#
#     for batch in lacuna_steps(loader):          # was: for batch in loader:
#     for _ in lacuna_while(lambda: step < n):    # was: while step < n:
#
# and name the parts of a step, as far as wanted:
#
#     with lacuna_phase("forward"):
#         loss = model(batch)
#     with lacuna_phase("backward"):
#         loss.backward()
#     with lacuna_phase("optimizer"):
#         optimizer.step()
#
`
	then := `# Run it as always. The trace is written after 16 steps, or at the end: lacuna report lacuna-trace-*.json.gz
`
	if kind == NVTX {
		then = `# Run it under lacuna record -- python SCRIPT.py, or under nsys: lacuna record --with nsys -- python SCRIPT.py
`
	}
	return helperText(kind) + strings.TrimSuffix(how, "#\n") + "#\n" + then
}
