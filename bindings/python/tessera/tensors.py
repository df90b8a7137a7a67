"""Tensors: memory of a device with a type and a shape, or, while a kernel is traced, a value of its graph. A tensor is a
value: what is exported of it without a copy is read-only. Only `A[:] = ...` changes one."""
from __future__ import annotations

import ctypes
import sys

from . import arrays, dtypes, errors, runtime, trace
from .operators import Operators
from .program import Storage


class Tensor(Operators):
    """See the module. `dtype` is the library's name of the type, `shape` a tuple (None: an unknown dimension)."""
    __slots__ = ("dtype", "shape", "storage", "trace", "value", "name", "__weakref__")
    __array_priority__ = 1000

    def __init__(self, dtype, shape, storage=None, trace=None, value=None, name=""):
        self.dtype, self.shape, self.storage = dtype, tuple(shape), storage
        self.trace, self.value, self.name = trace, value, name

    @classmethod
    def number(cls, x, dtype, device):
        """A number as a tensor without dimensions; an integer is one that its type has."""
        least = 2**(dtypes.ROWS[dtype][4] - 1) if dtype[0] == "i" else 0
        if dtype in dtypes.INTEGERS and isinstance(x, int) and not -least <= x < 2**dtypes.ROWS[dtype][4] - least:
            raise errors.argument(f"{x} is no {dtype}", "constant")
        made = cls.of_view(arrays.of_list(x, dtype), device)
        if made.dtype == dtype:
            return made
        from . import op
        return op.cast(made, dtype=dtype)

    @classmethod
    def of_view(cls, view, device):
        return cls(view.dtype, view.shape, storage=Storage.of(device, view))

    # ---- what it is ------------------------------------------------------------------------------------------------

    ndim = property(lambda self: len(self.shape))
    nbytes = property(lambda self: dtypes.nbytes(self.dtype, arrays.count(self.shape)))

    @property
    def size(self):
        return arrays.count(self.shape)

    @property
    def device(self):
        return self.storage.device if self.storage else None

    def __len__(self):
        if not self.shape:
            raise TypeError("a tensor without dimensions has no length")
        return self.shape[0]

    def __repr__(self):
        dims = "x".join("?" if d is None else str(d) for d in self.shape)
        kind = f"{dims}{'x' if dims else ''}{self.dtype}"
        if self.storage is None:
            return f"<tessera tensor {kind}, traced>"
        text = f" {self.tolist()}" if self.size <= 32 and self.dtype != "complex32" else ""
        return f"<tessera tensor {kind} on {self.device.id}{text}>"

    # ---- to the host -----------------------------------------------------------------------------------------------

    def _concrete(self, what):
        if self.storage is None:
            raise trace.cannot(f"{what} isn't known while the kernel is traced",
                               "choose elements by op.where, or compute it outside of the kernel")

    def view(self) -> arrays.View:
        """Its elements in the host's memory: its own where the host sees it, else a copy."""
        self._concrete("a tensor's memory")
        if self.storage.address or not self.nbytes:
            return arrays.View(self.storage.address or 0, self.dtype, self.shape, None, self.storage, False)
        memory = self.storage.read()
        return arrays.View(ctypes.addressof(memory), self.dtype, self.shape, None, memory, True)

    @property
    def __array_interface__(self):
        if self.storage is None or not dtypes.ROWS[self.dtype][2]:
            raise AttributeError("no __array_interface__ of " + (self.dtype if self.storage else "a traced tensor"))
        view = self.view()
        known = _Shown(view).__array_interface__
        return {**known, "data": _flat(view), "offset": 0}  # the reader keeps what "data" is, and not this dict

    def __array__(self, dtype=None, copy=None):
        self._concrete("a tensor's memory")
        import numpy
        if not dtypes.ROWS[self.dtype][2]:
            return self._ml_array(numpy, dtype)
        made = numpy.asarray(_Shown(self.view()))
        if dtype is not None and made.dtype != dtype:
            return made.astype(dtype)
        return made.copy() if copy else made

    def _ml_array(self, numpy, dtype):
        """bf16 and fp8 have no type of NumPy's own: that of the package ml_dtypes, where it is installed. Nor have i4 and
        u4, whose elements are those of i8 and u8."""
        if self.dtype in dtypes.PACKED:
            made = self.astype(dtypes.PACKED[self.dtype]).numpy()
            return made if dtype is None else made.astype(dtype)
        names = {name: ml for ml, name in dtypes.ML_DTYPES.items()}
        try:
            import ml_dtypes
            raw = numpy.asarray(_Shown(self.view(), "|u1" if dtypes.size(self.dtype) == 1 else "<u2"))
            made = raw.view(getattr(ml_dtypes, names[self.dtype]))
        except (ImportError, KeyError):
            if dtype is None:
                raise errors.argument(f"NumPy has no {self.dtype}", "numpy",
                                      'x.astype("f32").numpy(), x.bits(), or install ml_dtypes') from None
            made = self.astype("f32").numpy()
        return made if dtype is None else made.astype(dtype)

    def numpy(self):
        """As an array of NumPy, without a copy where the host sees the memory; read-only then."""
        return self.__array__()

    def bits(self):
        """The elements' bits as unsigned numbers, a list: of types that Python has no numbers of."""
        data = bytes(self._flat())
        if self.dtype in dtypes.PACKED:
            return [data[i // 2] >> 4 * (i % 2) & 15 for i in range(self.size)]
        step = dtypes.size(self.dtype)
        return [int.from_bytes(data[i:i + step], "little") for i in range(0, len(data), step)]

    def _flat(self):
        return _flat(self.view())

    def memoryview(self):
        """The buffer protocol's view: read-only; bytes of types that Python's views have no format for."""
        flat, form = self._flat(), dtypes.ROWS[self.dtype][5]
        if not form or form == "e" or not flat.nbytes:
            return flat
        return flat.cast(form, self.shape)

    if sys.version_info >= (3, 12):
        def __buffer__(self, flags):
            # Of elements and in the tensor's shape, or not at all: NumPy asks here first, and would take bytes.
            view = self.memoryview()
            if not self.nbytes or view.shape != self.shape or view.itemsize != dtypes.size(self.dtype):
                raise BufferError(f"Python's views have no {self.dtype} of shape {self.shape}: memoryview() has bytes")
            return view

    def tolist(self):
        """Nested lists of numbers; a number where it has no dimensions."""
        if self.dtype in dtypes.COMPLEX:
            from . import op
            real, imag = op.real(self).tolist(), op.imag(self).tolist()
            return _zip_complex(real, imag)
        if self.dtype in dtypes.PACKED:
            return self.astype(dtypes.PACKED[self.dtype]).tolist()
        if dtypes.ROWS[self.dtype][5] in (None, "e"):
            return self.astype("f32").tolist()
        if not self.size:
            return [] if self.shape[0] == 0 else _empty(self.shape)
        return self.memoryview().tolist()

    def item(self):
        self._concrete("a tensor's value")
        if self.size != 1:
            raise errors.argument(f"{self.size} elements", "item", "of one element alone")
        return self.reshape(()).tolist() if self.shape else self.tolist()

    def __bool__(self):
        self._concrete("the truth of a tensor")
        return bool(self.item())

    def __float__(self):
        self._concrete("the number")
        return float(self.item())

    def __int__(self):
        self._concrete("the number")
        return int(self.item())

    def __complex__(self):
        self._concrete("the number")
        return complex(self.item())

    def __index__(self):
        self._concrete("the number")
        if self.dtype not in dtypes.INTEGERS:
            raise TypeError(f"a tensor of {self.dtype} is no index")
        return int(self.item())

    # ---- DLPack ----------------------------------------------------------------------------------------------------

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        from . import dlpack
        self._concrete("a tensor's memory")
        if dl_device is not None and tuple(map(int, dl_device)) != (dlpack.CPU, 0):
            raise BufferError(f"DLPack device {tuple(dl_device)}: only the host's memory is given")
        shown = self.view()
        if copy is False and not self.storage.address and self.nbytes:
            raise BufferError(f"memory of {self.device.id} can't be given without a copy")
        copied = self.storage.address is None
        if copy and not copied:
            memory = ctypes.create_string_buffer(ctypes.string_at(shown.address, shown.nbytes), max(shown.nbytes, 1))
            shown = arrays.View(ctypes.addressof(memory), self.dtype, self.shape, None, memory, True)
            copied = True
        versioned = max_version is not None and tuple(max_version)[0] >= 1
        return dlpack.give(shown, versioned, not copied, copied)

    # ---- elsewhere -------------------------------------------------------------------------------------------------

    def to(self, device):
        """The same on another device; itself where it is there already."""
        there = runtime.device(device)
        self._concrete("a tensor's memory")
        if there is self.device:
            return self
        return Tensor.of_view(self.view(), there)

    def copy(self):
        self._concrete("a tensor's memory")
        made = Storage.empty(self.device, self.nbytes)
        held = self.view()
        made.write(held.address)
        return Tensor(self.dtype, self.shape, storage=made)

    def __setitem__(self, key, given):
        """`A[:] = x` takes x, repeated to A's shape and in A's type. Of a kernel's parameter it is an output."""
        if not (key is Ellipsis or isinstance(key, slice) and key == slice(None)):
            raise trace.cannot("only a whole tensor can be written, as A[:] = ...", "op.scatter writes elements")
        from . import op
        x = op.as_tensor(given)
        if self.trace is not None:
            x = self.trace.number(x, self.dtype) if trace.is_number(x) else x
            x = Tensor(x.dtype, x.shape, trace=self.trace, value=self.trace.value(x))
        elif trace.is_number(x):
            x = Tensor.number(x, self.dtype, self.device)
        if x.dtype != self.dtype:
            x = op.cast(x, dtype=self.dtype)
        if x.shape != self.shape:
            x = op.broadcast(x, shape=self.shape)
        if self.trace is None:
            self.storage = x.to(self.device).copy().storage
            return
        self.value = x.value
        self.trace.written.add(id(self))


_NOTHING = ctypes.c_char()


def _flat(view):
    """The bytes as a read-only view, which keeps the memory."""
    memory = (ctypes.c_char * view.nbytes).from_address(view.address or ctypes.addressof(_NOTHING))
    memory.keep = view
    return memoryview(memory).cast("B").toreadonly()


class _Shown:
    """Memory with NumPy's array interface; who reads it keeps this object, and so the memory."""

    def __init__(self, view, typestr=None):
        self.view = view
        self.__array_interface__ = {
            "version": 3, "shape": view.shape, "typestr": typestr or dtypes.ROWS[view.dtype][2],
            "data": (view.address or ctypes.addressof(_NOTHING), not view.writable), "strides": None}


def _zip_complex(real, imag):
    if isinstance(real, list):
        return [_zip_complex(r, i) for r, i in zip(real, imag)]
    return complex(real, imag)


def _empty(shape):
    return [] if not shape[0] else [_empty(shape[1:]) for _ in range(shape[0])]


def tensor(x, dtype=None, device=None) -> Tensor:
    """A tensor of anything that is like an array, a number or nested lists; without a copy where the device is the
    host's CPU, the elements lie row-major and the type stays."""
    if isinstance(x, Tensor):
        made = x
    else:
        wanted = None if dtype is None else dtypes.of(dtype)
        made = Tensor.of_view(arrays.view(x, wanted), runtime.device(device))
    if device is not None:
        made = made.to(device)
    return made if dtype is None or made.dtype == dtypes.of(dtype) else made.astype(dtype)


def from_dlpack(x, device=None) -> Tensor:
    """A tensor of an object that has __dlpack__."""
    from . import dlpack
    return Tensor.of_view(dlpack.view(x), runtime.device(device))


def zeros(shape, dtype="f32", device=None) -> Tensor:
    """A tensor of zeros."""
    shape = (shape,) if isinstance(shape, int) else errors.listed(shape, "zeros", "dimensions")
    shape = tuple(errors.whole(n, "zeros", 0) for n in shape)
    made = Tensor(dtypes.of(dtype), shape)
    made.storage = Storage.empty(runtime.device(device), made.nbytes)
    made.storage.fill_zero()
    return made
