"""The process's context and its devices, which are opened when they are first used; handles that are destroyed with
their Python object."""
from __future__ import annotations

import atexit
import collections
import contextlib
import ctypes
import os
import threading

from . import capi, errors

_lock = threading.RLock()
_context = None
_devices: dict = {}
_local = threading.local()
_default = None
_ending: list = []  # not empty once the interpreter ends: objects then go in any order, and the system frees the memory
atexit.register(_ending.append, True)


class Handle:
    """A handle of the library; `parents` are kept as long as it lives."""
    destroy = ""
    handle = None

    def __init__(self, handle, *parents):
        self.handle, self.parents = handle, parents

    def close(self):
        handle, self.handle = self.handle, None
        if handle and handle.value:
            getattr(capi, self.destroy)(ctypes.byref(handle))

    def __del__(self):
        if not _ending:
            self.close()


class DeviceHandle(Handle):
    """A handle of a device, which one thread uses at a time: one that goes while another thread works there is
    destroyed behind that."""

    def __init__(self, handle, device, *parents):
        super().__init__(handle, device, *parents)
        self.device = device

    def __del__(self):
        handle, self.handle = self.handle, None
        if handle and handle.value and not _ending:
            self.device.discard(self.destroy, handle)


class Context(Handle):
    destroy = "tsr_context_destroy"


class _Hold:
    """A device's lock; whoever takes it destroys what was left to be destroyed."""
    __slots__ = ("device",)

    def __init__(self, device):
        self.device = device

    def __enter__(self):
        self.device.lock.acquire()
        if self.device.discarded:
            self.device._destroy_discarded()

    def __exit__(self, *_):
        self.device.lock.release()


class Device(Handle):
    """A device by its id: "cpu:0", "vulkan:1", "cuda:sm_90a" (compiles and dumps only)."""
    destroy = "tsr_device_close"

    def __init__(self, handle, owner):
        super().__init__(handle, owner)
        self.lock = threading.Lock()
        self.hold = _Hold(self)
        self.discarded = collections.deque()
        self._event = None
        self.programs = {}  # of single ops, by what was asked for
        self.info = capi.tsr_device_get_info(handle).contents
        self.id = self.info.id.decode()
        self.backend, self.name = self.info.backend.decode(), self.info.name.decode()

    def held(self):
        """`with device.held():` has the device for this thread alone."""
        return self.hold

    def wait(self):
        """Until all that was started on the device's own stream is done; the caller holds the device."""
        if self._event is None:
            self._event = ctypes.c_void_p()
            capi.tsr_event_create(self.handle, ctypes.byref(self._event))
        capi.tsr_event_record(self._event, None)
        capi.tsr_event_sync(self._event)

    def discard(self, destroy, handle, then=None):
        """Destroys a handle once no other thread works on the device, and then calls `then`."""
        self.discarded.append((destroy, handle, then))
        if self.lock.acquire(blocking=False):
            try:
                self._destroy_discarded()
            finally:
                self.lock.release()

    def _destroy_discarded(self):
        while self.discarded:
            try:
                destroy, handle, then = self.discarded.popleft()
            except IndexError:
                return
            getattr(capi, destroy)(ctypes.byref(handle))
            if then:
                then()

    def close(self):
        if self.handle:
            if self._event:
                capi.tsr_event_destroy(ctypes.byref(self._event))
            self._destroy_discarded()
        super().close()

    def __repr__(self):
        return f"<tessera device {self.id}: {self.name}>"

    @property
    def on_host(self):
        return self.backend == "cpu"

    def __enter__(self):
        _scopes().append(self)
        return self

    def __exit__(self, *_):
        _scopes().pop()


def context():
    """The context that this package works in."""
    global _context
    with _lock:
        if _context is None:
            handle = ctypes.c_void_p()
            desc = capi.tsr_context_desc(abi_version=capi.TSR_ABI_VERSION)
            capi.tsr_context_create(ctypes.byref(desc), ctypes.byref(handle))
            _context = Context(handle)
            _context.pid = os.getpid()
    if _context.pid != os.getpid():
        raise errors.Error("the library was loaded before fork: its threads are not in this process (start processes "
                           "with multiprocessing's 'spawn', or fork before the first tensor)", capi.TSR_UNAVAILABLE,
                           "unavailable")
    return _context


def device(which=None) -> Device:
    """Opens a device (None: the innermost `with device(...)` of this thread, then use(...), TSR_BACKEND, cpu:0)."""
    if isinstance(which, Device):
        return which
    if which is None and _scopes():
        return _scopes()[-1]
    if which is not None and not isinstance(which, str):
        raise errors.argument(f"{type(which).__name__} is no name of a device", "device", 'a text such as "cpu:0"')
    key = which or _default or ""
    with _lock:
        owner = context()
        if key not in _devices:
            handle = ctypes.c_void_p()
            capi.tsr_device_open(owner.handle, capi.utf8(key), ctypes.byref(handle))
            _devices[key] = Device(handle, owner)
        return _devices[key]


def use(which) -> Device:
    """Makes a device the default of all threads."""
    global _default
    opened = device(which)
    _default = opened.id
    return opened


def _scopes():
    if not hasattr(_local, "devices"):
        _local.devices = []
    return _local.devices


def devices() -> list:
    """Every device of the machine: dicts of what the library tells of each."""
    rows, n = ctypes.POINTER(capi.tsr_device_info)(), ctypes.c_int()
    capi.tsr_devices(context().handle, ctypes.byref(rows), ctypes.byref(n))
    names = ("id", "backend", "name", "driver", "arch")
    numbers = ("software", "n_cores", "subgroup", "memory_bytes", "max_buffer_bytes")
    return [{**{k: getattr(rows[i], k).decode() for k in names}, **{k: getattr(rows[i], k) for k in numbers}}
            for i in range(n.value)]


def backends() -> list:
    """One dict per backend: name, available, why, built."""
    rows, n = ctypes.POINTER(capi.tsr_backend_info)(), ctypes.c_int()
    capi.tsr_backends(context().handle, ctypes.byref(rows), ctypes.byref(n))
    return [{"name": rows[i].name.decode(), "available": rows[i].available, "why": rows[i].why.decode(),
             "built": rows[i].built}
            for i in range(n.value)]


@contextlib.contextmanager
def text_of():
    """A place for a text that the library gives: `with text_of() as t: f(..., t.out)`, then t.value."""
    class Place:
        value = ""
    place = Place()
    place.text = ctypes.c_char_p()
    place.out = ctypes.byref(place.text)
    yield place
    place.value = capi.take_text(context().handle, place.text)
