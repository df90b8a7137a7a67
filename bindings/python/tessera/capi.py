"""The C interface as it is: each function, type and constant of the public headers under its own name, as ctypes
declares them. A function that returns a status raises tessera.Error instead and returns None. Calls release Python's
lock while they run."""
import ctypes
import os

from . import errors
from ._abi import *  # noqa: F401,F403
from . import _abi

_library = None
_codes: dict = {}


def library():
    """The loaded library: TESSERA_LIBRARY, else libtessera.so beside this file, else the system's."""
    global _library
    if _library is None:
        beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtessera.so")
        path = os.environ.get("TESSERA_LIBRARY") or (beside if os.path.exists(beside) else "libtessera.so.0")
        _library = ctypes.CDLL(path)
        _library.tsr_abi_version.restype = ctypes.c_uint32
        have = _library.tsr_abi_version()
        if have >> 16 != _abi.TSR_ABI_MAJOR:
            raise errors.Error(f"{path}: interface version {have >> 16}.{have & 65535}, this package has "
                               f"{_abi.TSR_ABI_MAJOR}.{_abi.TSR_ABI_MINOR}", _abi.TSR_ABI_MISMATCH, "abi mismatch")
    return _library


def _names_of_codes():
    if not _codes:
        _codes.update((getattr(_abi, n), n) for n in _abi.ENUMS["tsr_code"])
    return _codes


def error_of(status):
    """The exception that a status stands for; frees the status."""
    def part(name):
        return getattr(__import__("sys").modules[__name__], "tsr_status_" + name)(status)
    code = part("code")
    text = [part(n).decode("utf-8", "replace") for n in ("message", "level", "op", "cause", "hint")]
    bind("tsr_status_free")(status)
    constant = _names_of_codes().get(code, "TSR_INTERNAL")
    name = bind("tsr_code_name")(code).decode()
    return errors.class_of(constant)(text[0], code, name, *text[1:])


def _check(status, _function, _arguments):
    if status:
        raise error_of(status)


def bind(name):
    """The function of that name with its declaration, made when it is first asked for."""
    gives_status, result, arguments = _abi.FUNCTIONS[name]
    function = getattr(library(), name)
    function.argtypes, function.restype = arguments, result
    if gives_status:
        function.errcheck = _check
    globals()[name] = function
    return function


def __getattr__(name):
    if name in _abi.FUNCTIONS:
        return bind(name)
    raise AttributeError(f"tessera.capi has no {name}")


def __dir__():
    return sorted(set(globals()) | set(_abi.FUNCTIONS))


def take_text(context, text):
    """A string that the library returned, as str; frees it."""
    try:
        return ctypes.string_at(text).decode("utf-8", "replace") if text else ""
    finally:
        bind("tsr_text_free")(context, ctypes.byref(text))


def utf8(text):
    """A name for the library, where a zero byte would end it."""
    if text is None:
        return None
    try:
        made = str(text).encode("utf-8")
    except UnicodeEncodeError as why:
        raise errors.argument(f"{text!r:.80} is no text: {why.reason}") from None
    if b"\0" in made:
        raise errors.argument(f"{text!r:.80} has a zero byte")
    return made


def path_bytes(path, op):
    """A file's name for the library."""
    try:
        made = os.fsencode(path)
    except TypeError:
        raise errors.argument(f"{type(path).__name__} is no file's name", op) from None
    except UnicodeEncodeError as why:
        raise errors.argument(f"{path!r:.80} is no file's name: {why.reason}", op) from None
    if b"\0" in made:
        raise errors.argument(f"{path!r:.80} has a zero byte", op)
    return made


def text_bytes(text):
    """IR text, as str or bytes, for the library."""
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    if not isinstance(text, str):
        raise errors.argument(f"{type(text).__name__} is no text", "parse", "IR text as str or bytes")
    return text.encode("utf-8", "replace")
