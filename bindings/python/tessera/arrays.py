"""Arrays of others, without a copy where their memory can be used as it is: NumPy's array interface, DLPack, the buffer
protocol; numbers and nested lists are copied."""
from __future__ import annotations

import array
import ctypes

from . import dtypes, errors


class View:
    """Memory of an array: address, type, shape; strides in bytes, None where it is row-major without gaps; `keep` owns
    it."""
    __slots__ = ("address", "dtype", "shape", "strides", "keep", "writable")

    def __init__(self, address, dtype, shape, strides, keep, writable):
        self.address, self.dtype, self.shape, self.keep = address, dtype, tuple(shape), keep
        self.strides = None if strides is None or _is_dense(self.shape, strides, dtypes.size(dtype)) else strides
        self.writable = writable

    @property
    def nbytes(self):
        return dtypes.nbytes(self.dtype, count(self.shape))

    def dense(self):
        """The same, row-major and aligned: a copy where it isn't."""
        if self.strides is None and not (self.address or 0) % (dtypes.size(self.dtype) or 1):
            return self
        memory = (ctypes.c_char * max(self.nbytes, 1))()
        base = ctypes.addressof(memory)
        for to, at, n in _runs(self):
            ctypes.memmove(base + to, at, n)
        return View(base, self.dtype, self.shape, None, memory, True)

    def store(self, address):
        """Takes row-major elements from address into this memory, gaps and all."""
        for at, to, n in _runs(self):
            ctypes.memmove(to, address + at, n)


def count(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def _is_dense(shape, strides, size):
    for extent, stride in zip(reversed(shape), reversed(tuple(strides))):
        if extent == 0:
            return True
        if extent != 1 and stride != size:
            return False
        size *= extent
    return True


def _runs(view):
    """(offset in row-major order, address, bytes) of each run of neighbours."""
    size, shape = dtypes.size(view.dtype), view.shape
    if not count(shape):
        return
    if view.strides is None:
        yield 0, view.address, view.nbytes
        return
    inner, rank = size, len(shape)
    while rank and (shape[rank - 1] == 1 or view.strides[rank - 1] == inner):
        rank -= 1
        inner *= shape[rank]
    at = [0] * rank
    to = 0
    while True:
        yield to, view.address + sum(i * s for i, s in zip(at, view.strides)), inner
        to += inner
        for axis in reversed(range(rank)):
            at[axis] += 1
            if at[axis] < shape[axis]:
                break
            at[axis] = 0
        else:
            return


def is_array(x):
    """Is it an array of others, or a Tensor?"""
    return hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__") or isinstance(
        x, (bytes, bytearray, memoryview, array.array, ctypes.Array))


def view(x, dtype=None) -> View:
    """The memory of anything that is like an array."""
    interface = _interface(x)
    if interface:
        return interface
    if hasattr(x, "__dlpack__"):
        from . import dlpack
        return dlpack.view(x)
    if isinstance(x, (int, float, complex, list, tuple)):
        return of_list(x, dtype)
    return of_buffer(x)


def _interface(x):
    try:
        known = x.__array_interface__
    except (AttributeError, TypeError):
        return None
    given = getattr(getattr(x, "dtype", None), "name", "")
    name = dtypes.ML_DTYPES.get(given) or dtypes.BY_TYPESTR.get(known["typestr"].replace("=", "<"))
    if name is None and known["typestr"][1:] in ("f8", "f4", "f2", "i8", "i4", "i2") and hasattr(x, "astype"):
        return view(x.astype("<" + known["typestr"][1:]))  # of the other byte order
    if name is None:
        raise errors.argument(f"an array of {given or known['typestr']}", "tensor", "one of " + ", ".join(dtypes.ROWS))
    data = known.get("data")
    if data is None:
        return of_buffer(x)
    if not isinstance(data, tuple):
        inner = of_buffer(data)
        data = (inner.address, not inner.writable)
    # A NumPy scalar's memory is that of an array which its interface alone keeps, and nothing is written back from it.
    writable = not data[1] and hasattr(x, "__setitem__")
    return View(data[0], name, known["shape"], known.get("strides"), (x, known), writable)


class _PyBuffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("format", ctypes.c_char_p), ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
                ("strides", ctypes.POINTER(ctypes.c_ssize_t)), ("suboffsets", ctypes.c_void_p),
                ("internal", ctypes.c_void_p)]


def of_buffer(x) -> View:
    try:
        shown = memoryview(x)
    except TypeError:
        raise errors.argument(f"{type(x).__name__} is no array", "tensor",
                              "a NumPy array, DLPack, the buffer protocol, a number or nested lists") from None
    name = dtypes.BY_FORMAT.get(shown.format.lstrip("@=<"))
    if name is None or shown.format[0] in ">!":
        raise errors.argument(f"a buffer of format {shown.format!r}", "tensor")
    raw = _PyBuffer()
    full = 0x11C if shown.readonly else 0x11D  # PyBUF_FULL_RO, PyBUF_FULL
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(shown), ctypes.byref(raw), full)
    address = raw.buf
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(raw))  # `shown` holds the memory
    return View(address, name, shown.shape, shown.strides, shown, not shown.readonly)


def of_list(x, dtype=None) -> View:
    """Numbers and nested lists: f32 where there is a float, i64, bool, complex64; or dtype, of those that Python's
    array module has."""
    shape, flat = [], x
    while isinstance(flat, (list, tuple)):
        shape.append(len(flat))
        if not flat:
            break
        flat = flat[0]
    values: list = []
    _flatten(x, shape, 0, values)
    kinds = {type(v) for v in values}
    for kind in kinds - {bool, int, float, complex}:
        raise errors.argument(f"{kind.__name__} in a list of numbers", "tensor")
    name = ("complex64" if complex in kinds else "f32" if float in kinds or not kinds else
            "i64" if int in kinds else "bool")
    whole = dtype in dtypes.INTEGERS and dtype not in dtypes.PACKED
    if whole and name == "i64" or dtype in ("f64",) and name in ("i64", "f32", "bool"):
        name = dtype
    if name == "complex64":
        values = [part for v in values for part in (complex(v).real, complex(v).imag)]
    form = {"complex64": "f", "bool": "B"}.get(name) or dtypes.ROWS[name][5] or "f"
    try:
        memory = array.array(form, values)
    except (OverflowError, TypeError) as why:
        raise errors.argument(f"{why}", "tensor") from None
    return View(memory.buffer_info()[0], name, shape, None, memory, True)


def _flatten(x, shape, depth, values):
    if not isinstance(x, (list, tuple)):
        if depth != len(shape):
            raise errors.argument("lists of unlike depths", "tensor")
        values.append(x)
        return
    if depth == len(shape) or len(x) != shape[depth]:
        raise errors.argument("lists of unlike lengths", "tensor")
    for one in x:
        _flatten(one, shape, depth + 1, values)
