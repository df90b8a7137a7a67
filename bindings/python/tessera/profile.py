"""Profiles: what the kernels of programs did, as rows, JSON, a trace for ui.perfetto.dev, and the audit of
docs/checklist.md. `with profile.session() as s:` records whatever this thread runs inside."""
from __future__ import annotations

import ctypes
import threading

from . import capi, errors, options, runtime
from .program import recorders
from .runtime import Handle, text_of


class Profile(Handle):
    """What was recorded. Printed it is the rows; `json()` has all fields."""
    destroy = "tsr_profile_destroy"

    def __init__(self, handle=None):
        if handle is None:
            handle = ctypes.c_void_p()
            capi.tsr_profile_create(runtime.context().handle, ctypes.byref(handle))
        super().__init__(handle, runtime.context())
        self._lock = threading.Lock()
        self._programs = []  # recorded ones must live as long

    def step(self, program, ins, outs):
        """Runs a program once, timed."""
        with self._lock, program.device.held():
            self._programs.append(program)
            capi.tsr_profile_step(self.handle, program.handle, None, ins, outs)

    def __enter__(self):
        recorders().append(self)
        return self

    def __exit__(self, *_):
        recorders().remove(self)

    def text(self, wide=False) -> str:
        """The rows; wide adds bandwidth, tiles, bytes, the bound and the next knob."""
        with self._lock, text_of() as t:
            capi.tsr_profile_text(self.handle, wide, t.out)
        return t.value

    def json(self) -> dict:
        """docs/profile.md has the fields."""
        import json
        with self._lock, text_of() as t:
            capi.tsr_profile_json(self.handle, t.out)
        return json.loads(t.value)

    @property
    def rows(self) -> list:
        return self.json()["rows"]

    def trace(self, path=None) -> str:
        """JSON in the Trace Event Format, also written to a file."""
        with self._lock, text_of() as t:
            capi.tsr_profile_trace(self.handle, t.out)
        if path is not None:
            with open(capi.path_bytes(path, "profile.trace"), "w", encoding="utf-8") as f:
                f.write(t.value)
        return t.value

    def check(self, needs_reproducible=False) -> str:
        """The checklist's audit as lines of text."""
        failed = ctypes.c_int()
        with self._lock, text_of() as t:
            capi.tsr_profile_check(self.handle, needs_reproducible, False, t.out, ctypes.byref(failed))
        return t.value

    def __str__(self):
        return self.text().rstrip("\n")

    def _repr_html_(self):
        from . import display
        return display.profile(self)


def session() -> Profile:
    """A profile as context manager: what this thread runs inside of it is timed kernel by kernel."""
    return Profile()


def steps(function, n) -> Profile:
    """Calls a function n times; all that it runs belongs to one step, however many programs that are."""
    n = errors.whole(n, "profile", 1, 2**31 - 1)
    made = Profile()
    failures: list = []

    def one(_user, _profile, _step):
        if not failures:
            try:
                with made:
                    function()
            except BaseException as why:  # it goes on to the caller, behind the library
                failures.append(why)
        return None
    callback = capi.tsr_step_fn(one)
    capi.tsr_profile_steps(made.handle, n, callback, None)
    if failures:
        raise failures[0]
    return made


def of(what, given=(), n_steps=10, device=None) -> Profile:
    """graph.profile: of a graph on random inputs, or of a function (with what it is called with)."""
    from . import graph as graphs
    n_steps = errors.whole(n_steps, "profile", 1, 2**31 - 1)
    if isinstance(what, graphs.Graph) and not given:
        made, keep = options.build(what.key())
        there, handle = runtime.device(device), ctypes.c_void_p()
        with there.held():
            capi.tsr_graph_profile(there.handle, what.handle, ctypes.byref(made), n_steps, ctypes.byref(handle))
        del keep
        profile = Profile(handle)
    else:
        profile = steps((lambda: what(*given)) if given else what, n_steps)
    print(profile)
    return profile
