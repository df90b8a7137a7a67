"""A graph while it is built: from the body of a kernel or of a traced function, or for one op. A traced tensor is a
value of it."""
from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading

from . import capi, dtypes, errors, runtime
from .runtime import Handle

_local = threading.local()
_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _stack():
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


def current():
    """The trace that this thread is in, or None."""
    return _stack()[-1] if _stack() else None


def where():
    """(file:line, the line's text) of the code that called into this package."""
    frame = sys._getframe(1)
    while frame and os.path.dirname(os.path.abspath(frame.f_code.co_filename)).startswith(_FOLDER):
        frame = frame.f_back
    if not frame:
        return "", ""
    import linecache
    name, line = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{line}", linecache.getline(name, line).strip()


def cannot(cause, hint=""):
    """A TraceError at the line of the caller's code."""
    at, text = where()
    shown = f"{at}: `{text}` can't be traced" if text else f"{at}: can't be traced"
    return errors.TraceError(f"{shown}: {cause}" + (f" ({hint})" if hint else ""), capi.TSR_INVALID_ARGUMENT,
                             "invalid argument", "python", "trace", cause, hint)


def whole(value):
    """An integer of 64 bits."""
    return errors.whole(value, "tensor")


def shape_struct(shape):
    shape = errors.listed(shape, "tensor", "dimensions")
    made = capi.tsr_shape(rank=len(shape))
    if len(shape) > capi.TSR_MAX_RANK:
        raise errors.argument(f"rank {len(shape)}; at most {capi.TSR_MAX_RANK}", "tensor")
    for i, d in enumerate(shape):
        made.dims[i] = capi.TSR_ANY_DIM if d is None else whole(d)
    return made


def shape_of(made):
    return tuple(None if made.dims[i] == capi.TSR_ANY_DIM else made.dims[i] for i in range(made.rank))


def attributes(given):
    """An array of tsr_attr for (name, value) pairs, and what it points to."""
    made, keep = (capi.tsr_attr * max(len(given), 1))(), []
    for row, (name, value) in zip(made, given):
        row.name = capi.utf8(name)
        if isinstance(value, bool):
            row.kind, row.i = capi.TSR_ATTR_BOOL, value
        elif isinstance(value, int):
            row.kind, row.i = capi.TSR_ATTR_INT, whole(value)
        elif isinstance(value, float):
            row.kind, row.f = capi.TSR_ATTR_FLOAT, value
        elif isinstance(value, str):
            row.kind, row.s = capi.TSR_ATTR_STRING, capi.utf8(value)
        elif any(isinstance(v, float) for v in value):
            row.kind, row.n_floats = capi.TSR_ATTR_FLOATS, len(value)
            row.floats = (ctypes.c_double * max(len(value), 1))(*value)
        else:
            row.kind, row.n_ints = capi.TSR_ATTR_INTS, len(value)
            row.ints = (ctypes.c_int64 * max(len(value), 1))(*map(whole, value))
        keep.append(row)
    return made, keep


class Trace(Handle):
    """A graph of the library that can be extended. `inputs` are the tensors that it reads, in the order of the
    graph's: traced ones, and those from outside, which `captured` has too, by their memory. `written` holds the ids of
    parameters that got a value, `schedule` what schedule primitives said."""
    destroy = "tsr_graph_destroy"

    def __init__(self, name="main"):
        handle = ctypes.c_void_p()
        capi.tsr_graph_create(runtime.context().handle, capi.utf8(name), ctypes.byref(handle))
        super().__init__(handle, runtime.context())
        self.inputs, self.captured, self.written, self.schedule = [], {}, set(), ()

    def __enter__(self):
        _stack().append(self)
        return self

    def __exit__(self, *_):
        _stack().pop()

    def _input(self, name, dtype, shape):
        value = ctypes.c_uint32()
        capi.tsr_graph_input(self.handle, capi.utf8(name), dtypes.CODES[dtype], shape_struct(shape),
                             ctypes.byref(value))
        return value.value

    def input(self, name, dtype, shape):
        """A traced tensor that is given when the graph runs; it becomes an input when it is first read."""
        from .tensors import Tensor
        return Tensor(dtype, shape, trace=self, name=name)

    def value(self, tensor):
        """The graph's value of a tensor: traced, or from outside."""
        if tensor.trace is self:
            if tensor.value is None:
                tensor.value = self._input(tensor.name, tensor.dtype, tensor.shape)
                self.inputs.append(tensor)
            return tensor.value
        if tensor.trace is not None:
            raise cannot("a traced tensor of another kernel", "return it from there")
        key = (id(tensor.storage), tensor.dtype, tensor.shape)
        held = self.captured.get(key)
        if held is None:
            name = f"captured_{len(self.captured)}"
            held = self.captured[key] = (self._input(name, tensor.dtype, tensor.shape), tensor)
            self.inputs.append(tensor)
        return held[0]

    def constant(self, dtype, shape, data):
        """A tensor of row-major bytes that the graph keeps."""
        value = ctypes.c_uint32()
        capi.tsr_graph_constant(self.handle, dtypes.CODES[dtype], shape_struct(shape), data, ctypes.byref(value))
        return self._wrap(value.value)

    def number(self, x, dtype):
        """A number as a tensor without dimensions."""
        if dtype in dtypes.COMPLEX:
            pair = (complex(x).real, complex(x).imag)
            wide = self.constant("complex128", (), struct.pack("<dd", *pair))
            return wide if dtype == "complex128" else self.op("cast", [wide], [("dtype", dtype)])[0]
        form = dtypes.ROWS[dtype][5]
        if form:
            try:
                return self.constant(dtype, (), struct.pack("<" + form, x))
            except (struct.error, OverflowError) as why:
                raise errors.argument(f"{x} is no {dtype}: {why}", "constant") from None
        return self.op("cast", [self.constant("f64", (), struct.pack("<d", x))], [("dtype", dtype)])[0]

    def op(self, name, operands, given, results=1):
        values = [self.value(t) for t in operands]
        made, keep = attributes(given)
        out = (ctypes.c_uint32 * results)()
        capi.tsr_graph_op_results(self.handle, capi.utf8(name), (ctypes.c_uint32 * max(len(values), 1))(*values),
                                  len(values), made, len(given), out, results)
        del keep
        return [self._wrap(v) for v in out]

    def _wrap(self, value):
        from .tensors import Tensor
        code, shape = ctypes.c_int(), capi.tsr_shape()
        capi.tsr_graph_type(self.handle, value, ctypes.byref(code), ctypes.byref(shape))
        return Tensor(dtypes.NAMES[code.value], shape_of(shape), trace=self, value=value)

    def output(self, tensor):
        capi.tsr_graph_output(self.handle, self.value(tensor))

    def bytes_of(self, view):
        dense = view.dense()
        return self.constant(dense.dtype, dense.shape, ctypes.string_at(dense.address, dense.nbytes))


def is_number(x):
    return isinstance(x, (bool, int, float, complex))

