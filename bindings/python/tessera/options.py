"""What programs are compiled with: numerics, schedule and cache of the scope at hand, as the library's options."""
from __future__ import annotations

import ctypes
import threading

from . import capi

_local = threading.local()


class Scope:
    """The settings of a thread; `schedule` is replaced, never changed, so that it can be part of a key."""

    def __init__(self):
        self.policy = self.precision = self.fallback = self.tune = 0
        self.cache = self.disable = None
        self.schedule = ()  # (field, value) pairs in order

    def key(self):
        return (self.policy, self.precision, self.fallback, self.tune, self.cache, self.disable, self.schedule)


def scope() -> Scope:
    if not hasattr(_local, "scope"):
        _local.scope = Scope()
    return _local.scope


class Setting:
    """A change of the scope, made at once; as a context manager it is taken back at the end of the block."""

    def __init__(self, **values):
        self.before = {name: getattr(scope(), name) for name in values}
        for name, value in values.items():
            setattr(scope(), name, value)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for name, value in self.before.items():
            setattr(scope(), name, value)


def schedule_struct(pairs, keep):
    made = capi.tsr_schedule()
    for name, value in pairs:
        if isinstance(value, str):
            value = capi.utf8(value)
            keep.append(value)
        setattr(made, name, value)
    return made


def build(key):
    """(tsr_compile_options, what it points to) for a scope's key."""
    policy, precision, fallback, tune, cache, disable, schedule = key
    keep = []
    made = capi.tsr_compile_options(policy=policy, precision=precision, fallback=fallback, tune=tune)
    if cache:
        made.cache = capi.utf8(cache)
    if disable:
        made.disable = capi.utf8(disable)
    if schedule:
        rows = (capi.tsr_schedule * 1)(schedule_struct(schedule, keep))
        keep.append(rows)
        made.schedules, made.n_schedules = ctypes.cast(rows, ctypes.POINTER(capi.tsr_schedule)), 1
    return made, keep
