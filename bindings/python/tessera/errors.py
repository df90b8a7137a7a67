"""Exceptions: a status of the library with its parts, and what could not be traced."""
from __future__ import annotations

import operator


class Error(Exception):
    """A failed call. `code` is a TSR_ constant of tessera.capi, `name` its text; `level`, `op`, `cause` and `hint` are
    the parts of the message, "" where not known."""

    def __init__(self, message, code=0, name="", level="", op="", cause="", hint=""):
        super().__init__(message)
        self.message, self.code, self.name = message, code, name
        self.level, self.op, self.cause, self.hint = level, op, cause or message, hint

    def __reduce__(self):
        return type(self), (self.message, self.code, self.name, self.level, self.op, self.cause, self.hint)

    def __str__(self):
        return self.message


class ArgumentError(Error, ValueError):
    """An argument, a shape or a text is wrong."""


class UnsupportedError(Error, NotImplementedError):
    """The device or backend lacks a capability, which the message names."""


class UnavailableError(Error, RuntimeError):
    """No such device or driver here."""


class NotFoundError(Error, LookupError):
    """No such name."""


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory."""


class TraceError(Error, TypeError):
    """An expression of a kernel that can't be traced: the message names the file and the line."""


_CLASSES = {
    "TSR_INVALID_ARGUMENT": ArgumentError, "TSR_SHAPE_MISMATCH": ArgumentError, "TSR_PARSE_ERROR": ArgumentError,
    "TSR_VERIFY_ERROR": ArgumentError, "TSR_UNSUPPORTED": UnsupportedError, "TSR_UNAVAILABLE": UnavailableError,
    "TSR_NOT_FOUND": NotFoundError, "TSR_OUT_OF_MEMORY": OutOfMemoryError,
}


def class_of(constant):
    return _CLASSES.get(constant, Error)


def argument(cause, op="", hint=""):
    """An ArgumentError of this package's own, in the library's form."""
    from . import capi
    text = f"[python] {op}: {cause}" if op else f"[python] {cause}"
    return ArgumentError(f"{text} ({hint})" if hint else text, capi.TSR_INVALID_ARGUMENT, "invalid argument", "python",
                         op, cause, hint)


def whole(value, op, least=-2**63, most=2**63 - 1):
    """An integer within bounds: ctypes would take the low bits of a larger number."""
    try:
        value = operator.index(value)
    except Error:  # of what is traced
        raise
    except TypeError:
        raise argument(f"{value!r:.80} is no whole number", op) from None
    if not least <= value <= most:
        if most - least >= 2**64 - 1:
            raise argument(f"{value} has more than 64 bits", op)
        raise argument(f"{value} is not {least} to {most}", op)
    return value


def listed(values, op, what):
    """What is given one by one, as a tuple."""
    try:
        return tuple(values)
    except Error:
        raise
    except TypeError:
        raise argument(f"{type(values).__name__} is no list of {what}", op) from None
