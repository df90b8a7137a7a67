"""DLPack in both directions, with capsules of version 1 and of the versions before. Tensors of a device that the host
doesn't see are copied to the host first; those of the CPU are handed over as they are."""
from __future__ import annotations

import ctypes

from . import arrays, dtypes, errors

CPU = 1
READ_ONLY, IS_COPIED = 1, 2


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                ("deleter", _DELETER), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_NAMES = {_Managed: b"dltensor", _Versioned: b"dltensor_versioned"}
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_SetName", _api))
_given: dict = {}  # address of what was handed out: what keeps it alive


@_DELETER
def _delete(address):
    _given.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _capsule_ends(capsule):
    """A capsule that nobody took: what it holds goes. The object is being freed, so it stays a bare address."""
    for name in _NAMES.values():
        if _is_valid(capsule, name):
            _given.pop(_pointer(capsule, name), None)


def give(view, versioned, read_only, copied):
    """A capsule of a row-major view."""
    kind = _Versioned if versioned else _Managed
    rank = len(view.shape)
    shape = (ctypes.c_int64 * max(rank, 1))(*view.shape)
    strides = (ctypes.c_int64 * max(rank, 1))()
    step = 1
    for i in reversed(range(rank)):
        strides[i] = step
        step *= view.shape[i]
    managed = kind(deleter=_delete)
    row = dtypes.ROWS[view.dtype]
    if view.dtype in dtypes.PACKED:
        raise errors.argument(f"{view.dtype}, whose elements share bytes", "__dlpack__",
                              f'x.astype("{dtypes.PACKED[view.dtype]}"), or op.as_bytes(x)')
    managed.tensor = _DLTensor(data=view.address, device_type=CPU, ndim=rank, code=row[3], bits=row[4], lanes=1,
                               shape=shape, strides=strides)
    if versioned:
        managed.major, managed.minor = 1, 1
        managed.flags = (READ_ONLY if read_only else 0) | (IS_COPIED if copied else 0)
    address = ctypes.addressof(managed)
    managed.context = address
    _given[address] = (managed, shape, strides, view)
    return _new(address, _NAMES[kind], ctypes.cast(_capsule_ends, ctypes.c_void_p))


class _Taken:
    """Memory that another library handed over, until its deleter is called."""

    def __init__(self, managed, owner):
        self.managed, self.owner = managed, owner

    def __del__(self):
        if self.managed.deleter:
            self.managed.deleter(ctypes.addressof(self.managed))


def view(x) -> arrays.View:
    """The memory of an object that has __dlpack__, which must be the host's."""
    kind = getattr(x, "__dlpack_device__", lambda: (CPU, 0))()
    if int(kind[0]) not in (CPU, 3):  # CUDA's pinned memory is the host's too
        raise errors.argument(f"memory of DLPack's device type {int(kind[0])}", "from_dlpack",
                              "copy it to the host first")
    if not hasattr(x, "__dlpack__"):
        raise errors.argument(f"{type(x).__name__} has no __dlpack__", "from_dlpack")
    try:
        capsule = x.__dlpack__(max_version=(1, 1))
    except TypeError:
        capsule = x.__dlpack__()
    for kind, name in _NAMES.items():
        if _is_valid(id(capsule), name):
            break
    else:
        raise errors.argument("__dlpack__ gave no capsule that wasn't used before", "from_dlpack")
    managed = kind.from_address(_pointer(id(capsule), name))
    if kind is _Versioned and managed.major != 1:
        raise errors.argument(f"DLPack version {managed.major}", "from_dlpack", "version 1 or before")
    t = managed.tensor
    name_of = dtypes.BY_DLPACK.get((t.code, t.bits))
    if name_of is None or t.lanes != 1:
        raise errors.argument(f"DLPack type code {t.code} of {t.bits} bits, {t.lanes} lanes", "from_dlpack")
    _rename(capsule, b"used_" + name)
    shape = tuple(t.shape[i] for i in range(t.ndim))
    strides = tuple(t.strides[i] * dtypes.size(name_of) for i in range(t.ndim)) if t.strides else None
    writable = kind is _Versioned and not managed.flags & READ_ONLY
    return arrays.View((t.data or 0) + t.byte_offset, name_of, shape, strides, _Taken(managed, x), writable)
