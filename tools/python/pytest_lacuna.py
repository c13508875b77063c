"""A pytest plugin that takes the time of a workload and writes lacuna.metrics/1.

    def test_forward(lacuna_step):
        model, x = build()
        lacuna_step(lambda: model(x))                      # 5 warm-up calls, then 30 that count

    @pytest.mark.lacuna(repeats=100, warmup=10)
    def test_decode(lacuna_step):
        lacuna_step(decode, prompt, name="decode")         # a name where a test takes several

Load it with `-p pytest_lacuna` (this file and lacuna_metrics.py on PYTHONPATH) or install the folder with pip.
`--lacuna FILE`, or $LACUNA_METRICS as `lacuna bench` sets it, says where the measures go; without either the workload
still runs, so that the test stays a test. A session of pytest is one run: repeat the session for more samples
between runs, `lacuna bench -- pytest tests/perf`. Measures are NODEID:step, :host_step, :peak_memory, with the
name before the colon where one is given. A test that fails leaves no measures.
"""
import os

import pytest

import lacuna_metrics

REPEATS, WARMUP = 30, 5
_RUN = pytest.StashKey()      # of the session: measures by name
_TEST = pytest.StashKey()     # of a test: what it measured, until it is known to pass


def pytest_addoption(parser):
    group = parser.getgroup("lacuna")
    group.addoption("--lacuna", metavar="FILE", help="write what lacuna_step measures to FILE (default: $LACUNA_METRICS)")
    group.addoption("--lacuna-repeats", metavar="N", type=int, help=f"calls that count (default {REPEATS})")
    group.addoption("--lacuna-warmup", metavar="N", type=int, help=f"calls before them (default {WARMUP})")


def pytest_configure(config):
    config.addinivalue_line("markers", "lacuna(repeats, warmup): how often lacuna_step calls the workload")
    config.stash[_RUN] = {}


@pytest.fixture
def lacuna_step(request):
    """Calls a workload again and again and keeps how long each call takes; returns what the last call returned."""
    mark = request.node.get_closest_marker("lacuna")
    marked = dict(mark.kwargs) if mark else {}
    if mark and (mark.args or set(marked) - {"repeats", "warmup"}):
        raise pytest.UsageError(f"{request.node.nodeid}: the marker is lacuna(repeats=N, warmup=N)")
    kept = request.node.stash.setdefault(_TEST, {})

    def number(name, here, default):
        option = request.config.getoption("--lacuna-" + name)
        return next(n for n in (option, here, marked.get(name), default) if n is not None)

    def call(workload, *args, name=None, repeats=None, warmup=None, **kwargs):
        repeats, warmup = number("repeats", repeats, REPEATS), number("warmup", warmup, WARMUP)
        if repeats < 1 or warmup < 0:
            raise pytest.UsageError(f"{request.node.nodeid}: repeats is {repeats}, want 1 or more; warmup is {warmup}, want 0 or more")
        prefix = request.node.nodeid + (f":{name}" if name else "")
        if any(m.startswith(prefix + ":") for m in kept):
            raise pytest.UsageError(f"{prefix}: measured before in this test; give each lacuna_step a name")
        recorder = lacuna_metrics.Recorder(path=os.devnull, warmup=warmup)
        recorder.__enter__()
        result = None
        for _ in range(warmup + repeats):
            with recorder.step():
                result = workload(*args, **kwargs)
        for measure, found in recorder.run()["measures"].items():
            if measure != "total":
                kept[f"{prefix}:{measure}"] = found
        return result
    return call


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" and report.passed:
        item.config.stash[_RUN].update(item.stash.get(_TEST, {}))


def pytest_sessionfinish(session):
    path = session.config.getoption("--lacuna") or os.environ.get(lacuna_metrics.VARIABLE)
    measures = session.config.stash[_RUN]
    if path and measures and not hasattr(session.config, "workerinput"):
        lacuna_metrics.write(path, [{"machine": lacuna_metrics.machine(), "measures": measures}], program="pytest")


def pytest_terminal_summary(terminalreporter, config):
    measures = config.stash[_RUN]
    if not measures:
        return
    terminalreporter.section("lacuna")
    for name in sorted(measures):
        values = sorted(measures[name]["values"])
        middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2
        unit = measures[name]["unit"]
        terminalreporter.write_line(f"{name}: median {middle:.6g} {unit} of {len(values)}, {values[0]:.6g} to {values[-1]:.6g}")
