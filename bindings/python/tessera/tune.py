"""The search of schedules. It runs on a thread of its own, so that an interrupt (Ctrl-C) ends it behind the candidate at
hand: what was measured is kept, and KeyboardInterrupt goes on to the caller."""
from __future__ import annotations

import ctypes
import threading

from . import capi, errors, options, runtime
from .runtime import Handle

STRATEGIES = ("hybrid", "grid", "random", "model-only")
_PLAIN = ("best_us", "default_us", "predicted_us", "roofline_us", "measurements", "samples", "rejected", "stored",
          "cancelled")
_PROBLEM = ("kernel", "op", "shape", "dtype")


class Report(Handle):
    """A row per kernel that has something to tune: a dict with kernel, op, shape, dtype, tile, source, best_us,
    default_us, measurements, curve_us, not_stored, ..."""
    destroy = "tsr_tune_report_destroy"

    def __init__(self, handle):
        super().__init__(handle, runtime.context())
        self.rows = [_row(capi.tsr_tune_report_get(handle, i)) for i in range(capi.tsr_tune_report_count(handle))]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)

    def __getitem__(self, i):
        return self.rows[i]

    def __str__(self):
        lines = [f"{r['kernel']}  {r['op']} {r['shape']} {r['dtype']}  tile={r['tile']}  best={r['best_us']:.1f}us  "
                 f"default={r['default_us']:.1f}us  measurements={r['measurements']}  source={r['source']}"
                 for r in self.rows]
        return "\n".join(lines) or "nothing to tune"

    def _repr_html_(self):
        from . import display
        return display.report(self)


def _row(raw):
    row = {name: getattr(raw.problem, name).decode() for name in _PROBLEM}
    row.update({name: getattr(raw, name) for name in _PLAIN})
    row["tile"], row["source"], row["not_stored"] = (raw.tile.decode(), raw.source.decode(), raw.not_stored.decode())
    row["curve_us"] = [raw.curve_us[i] for i in range(raw.n_curve)]
    row["schedule"] = {n: getattr(raw.schedule, n) for n, _ in raw.schedule._fields_ if getattr(raw.schedule, n)}
    return row


_KINDS = {"samples_fixed": bool, "again": bool, "stop_fraction": float}


def _of_kind(name, value, kind):
    """An option as the library's struct takes it."""
    if kind is int:
        return errors.whole(value, "autotune " + name, 0)
    if kind is str and value is None:
        return None
    if not isinstance(value, (int, float) if kind is float else kind):
        raise errors.argument(f"{name}={value!r:.80} is no {kind.__name__}", "autotune")
    return value


class _Search:
    """One call of tsr_graph_tune with its options, which must stay where they are."""

    def __init__(self, graph, device, given):
        self.graph, self.device, self.stop, self.failure = graph, device, False, None
        self.progress = given.pop("progress", None)
        known = {name for name, _ in capi.tsr_tune_options._fields_} - {"hooks", "mesh"}
        for name in given:
            if name not in known:
                raise errors.argument(f"no option {name!r}", "autotune", ", ".join(sorted(known | {"progress"})))
        self.text = {n: capi.utf8(_of_kind(n, given.pop(n), str)) for n in ("strategy", "knobs") if n in given}
        given = {name: _of_kind(name, value, _KINDS.get(name, int)) for name, value in given.items()}
        self.hooks = capi.tsr_tune_hooks()
        self._callback = dict(capi.tsr_tune_hooks._fields_)["progress"](self._progress)
        self.hooks.progress = self._callback
        self.options = capi.tsr_tune_options(**self.text, **given, hooks=ctypes.pointer(self.hooks))
        self.compile, self.keep = options.build(graph.key())
        self.handle = ctypes.c_void_p()

    def _progress(self, _user, now):
        try:
            if self.progress and not self.stop:
                p = now.contents
                self.progress({"kernel": p.problem.contents.kernel.decode(), "done": p.done, "budget": p.budget,
                               "last_us": p.last_us, "best_us": p.best_us})
        except BaseException as why:  # it goes on to the caller, behind the library
            self.failure, self.stop = why, True
        return not self.stop

    def _work(self):
        try:
            with self.device.held():
                capi.tsr_graph_tune(self.device.handle, self.graph.handle, ctypes.byref(self.compile),
                                    ctypes.byref(self.options), ctypes.byref(self.handle))
        except BaseException as why:
            self.failure = self.failure or why

    def run(self):
        worker = threading.Thread(target=self._work, name="tessera tune")
        worker.start()
        interrupted = None
        while worker.is_alive():
            try:
                worker.join(0.1)
            except KeyboardInterrupt as why:
                interrupted, self.stop = why, True
        if self.failure or interrupted:
            if self.handle.value:
                capi.tsr_tune_report_destroy(ctypes.byref(self.handle))
            raise self.failure or interrupted
        return Report(self.handle)


def search(graph, device, given) -> Report:
    """Every kernel of the graph, whose dimensions must be known."""
    return _Search(graph, runtime.device(device), dict(given)).run()


def autotune(what, given, device, cache, found) -> Report:
    """graph.autotune: of a graph, a kernel or a function for these arguments."""
    from . import graph as graphs
    if not isinstance(what, graphs.Graph):
        what = what.graph(*given) if hasattr(what, "graph") else graphs.trace(what, *given)
    elif given:
        what = what.specialize(*(g.shape for g in given))
    with options.Setting(cache=cache or options.scope().cache):
        return search(what, device, found)


def counters() -> dict:
    """Of this process: candidates timed, look-ups in the cache, hits, stored schedules that failed."""
    raw = capi.tsr_context_tune_counters(runtime.context().handle)
    return {name: getattr(raw, name) for name, _ in raw._fields_}
