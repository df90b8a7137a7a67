"""Numerics: how sums are ordered and in what precision programs compute. Each call holds from then on for this thread;
as `with policy("deterministic"):` until the end of the block."""
from __future__ import annotations

import ctypes

from . import capi, errors, options

POLICIES = ("fast", "deterministic", "kahan_sum")


def policy(name):
    """"fast": benchmarking, inference; "deterministic": the same bits for every run and thread count; "kahan_sum":
    compensated sums."""
    code = ctypes.c_int()
    capi.tsr_policy_parse(capi.utf8(name), ctypes.byref(code))
    return options.Setting(policy=code.value)


def current() -> str:
    """The name of this thread's policy."""
    return capi.tsr_policy_name(options.scope().policy or capi.TSR_POLICY_FAST).decode()


def describe(name) -> str:
    """What a policy is for, in one line."""
    code = ctypes.c_int()
    capi.tsr_policy_parse(capi.utf8(name), ctypes.byref(code))
    return capi.tsr_policy_help(code.value).decode()


def precision(mode):
    """The precision mode: "standard", and those of docs/precision.md that the library has."""
    code = ctypes.c_int()
    capi.tsr_precision_parse(capi.utf8(mode), ctypes.byref(code))
    return options.Setting(precision=code.value)


def fallback(what):
    """Where a device lacks a capability: "error", "warn" or "allow"."""
    if what not in ("error", "warn", "allow"):
        raise errors.argument(f"no fall-back policy {what!r}", "numerics.fallback", "error, warn, allow")
    return options.Setting(fallback=getattr(capi, "TSR_FALLBACK_" + what.upper()))
