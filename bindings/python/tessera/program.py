"""Compiled programs and the memory that they work on."""
from __future__ import annotations

import ctypes
import threading

from . import arrays, capi, dtypes, errors, options, runtime
from .runtime import DeviceHandle, text_of

LEVELS = ("graph", "schedule", "tile", "target", "source", "binary")
_local = threading.local()


def recorders():
    """The profiles that this thread's runs go to, the innermost last."""
    if not hasattr(_local, "recorders"):
        _local.recorders = []
    return _local.recorders


class Storage(DeviceHandle):
    """A buffer; `address` is its memory where the host sees it. Of imported memory `keep` is the owner."""
    destroy = "tsr_buffer_destroy"

    def __init__(self, handle, device, nbytes, address, keep=None):
        super().__init__(handle, device)
        self.nbytes, self.address, self.keep = nbytes, address, keep

    @classmethod
    def empty(cls, device, nbytes):
        with device.held():
            return cls.empty_held(device, nbytes)

    @classmethod
    def empty_held(cls, device, nbytes):
        """empty(), for a caller who holds the device."""
        handle = ctypes.c_void_p()
        capi.tsr_buffer_create(device.handle, nbytes, capi.TSR_MEMORY_DEVICE, ctypes.byref(handle))
        return cls(handle, device, nbytes, capi.tsr_buffer_map(handle) if device.on_host else None)

    @classmethod
    def of(cls, device, view):
        """A view's elements, without a copy where the device is the host and they lie row-major."""
        dense = view.dense()
        if not device.on_host or not dense.nbytes:
            made = cls.empty(device, dense.nbytes)
            made.write(dense.address)
            return made
        handle = ctypes.c_void_p()
        with device.held():
            capi.tsr_buffer_import(device.handle, dense.address, dense.nbytes, ctypes.byref(handle))
        return cls(handle, device, dense.nbytes, dense.address, dense)

    def write(self, address):
        if self.nbytes:
            with self.device.held():
                capi.tsr_buffer_write(self.handle, 0, address, self.nbytes)

    def read(self):
        """The bytes as a ctypes array of the host's."""
        memory = (ctypes.c_char * max(self.nbytes, 1))()
        if self.nbytes:
            with self.device.held():
                capi.tsr_buffer_read(self.handle, 0, memory, self.nbytes)
        return memory

    def fill_zero(self):
        if self.address:
            ctypes.memset(self.address, 0, self.nbytes)
        elif self.nbytes:
            self.write((ctypes.c_char * self.nbytes)())


class Info:
    """A tensor of a graph's or program's interface."""
    __slots__ = ("name", "dtype", "shape")

    def __init__(self, raw):
        from .trace import shape_of
        self.name = (raw.name or b"").decode()
        self.dtype, self.shape = dtypes.NAMES[raw.dtype], shape_of(raw.shape)

    def __repr__(self):
        dims = "x".join("?" if d is None else str(d) for d in self.shape)
        return f"{self.name or '_'}: {dims}{'x' if dims else ''}{self.dtype}"


class Program(DeviceHandle):
    """A graph compiled for a device. One run at a time; others wait."""
    destroy = "tsr_program_destroy"

    def __init__(self, handle, device):
        super().__init__(handle, device)
        self.inputs = [Info(capi.tsr_program_input(handle, i)) for i in range(capi.tsr_program_n_inputs(handle))]
        self.outputs = [Info(capi.tsr_program_output(handle, i)) for i in range(capi.tsr_program_n_outputs(handle))]
        self.output_bytes = [dtypes.nbytes(o.dtype, arrays.count(o.shape)) for o in self.outputs]

    @classmethod
    def compile(cls, device, graph_handle, key):
        made, keep = options.build(key)
        handle = ctypes.c_void_p()
        with device.held():
            capi.tsr_program_compile(device.handle, graph_handle, ctypes.byref(made), ctypes.byref(handle))
        del keep
        return cls(handle, device)

    @classmethod
    def parse(cls, device, text, file, key):
        """From IR text of any level."""
        data = capi.text_bytes(text)
        made, keep = options.build(key)
        handle = ctypes.c_void_p()
        with device.held():
            capi.tsr_program_parse(device.handle, data, len(data), capi.utf8(file), ctypes.byref(made),
                                   ctypes.byref(handle))
        del keep
        return cls(handle, device)

    def run(self, given, outputs=None):
        """Runs on Storage objects, one per input; gives one per output: new ones, or those of `outputs`."""
        device, recorder = self.device, recorders()
        ins = self._bindings(given, self.inputs)
        with device.held():
            outs = outputs or [Storage.empty_held(device, n) for n in self.output_bytes]
            results = self._bindings(outs, self.outputs)
            if not recorder:
                capi.tsr_program_run(self.handle, None, ins, results)
                if not device.on_host:
                    device.wait()
        if recorder:
            recorder[-1].step(self, ins, results)
        return outs

    def _bindings(self, storages, infos):
        if len(storages) != len(infos):
            raise errors.argument(f"{len(storages)} tensors for {len(infos)}", "program", ", ".join(map(repr, infos)))
        made = (capi.tsr_binding * max(len(storages), 1))()
        for row, storage in zip(made, storages):
            row.buffer = storage.handle
        return made

    def dump(self, level="target"):
        """The program as text at "graph", "schedule", "tile", "target" or "source"; bytes for "binary"."""
        if level not in LEVELS:
            raise errors.argument(f"no level {level!r}", "program.dump", ", ".join(LEVELS))
        place, n = ctypes.c_char_p(), ctypes.c_size_t()
        capi.tsr_program_dump(self.handle, LEVELS.index(level), ctypes.byref(place), ctypes.byref(n))
        if level != "binary":
            return capi.take_text(runtime.context().handle, place)
        data = ctypes.string_at(place, n.value)
        capi.tsr_text_free(runtime.context().handle, ctypes.byref(place))
        return data

    def explain(self) -> str:
        """What fired, what was refused and why, the tiles chosen, time and memory of each pass."""
        with text_of() as t:
            capi.tsr_program_explain(self.handle, t.out)
        return t.value

    def kernels(self) -> list:
        """A dict per launch."""
        rows = []
        for i in range(capi.tsr_program_n_kernels(self.handle)):
            raw = capi.tsr_program_kernel(self.handle, i)
            row = {name: getattr(raw, name) for name, _ in raw._fields_}
            rows.append({k: v.decode() if isinstance(v, bytes) else list(v) if isinstance(v, ctypes.Array) else v
                         for k, v in row.items()})
        return rows

    @property
    def n_kernels(self):
        return capi.tsr_program_n_kernels(self.handle)
