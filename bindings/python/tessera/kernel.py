"""Kernels written in Python: a function of tensors that is traced to one graph for each list of types, compiled, and
run on the arrays that a call gives. Parameters that it writes (`C[:] = A + B`) are outputs, in place."""
from __future__ import annotations

import functools
import threading

from . import arrays, errors, options, runtime, trace
from . import graph as graphs
from .program import Storage
from .tensors import Tensor, tensor


class _Traced:
    """A kernel for one list of types."""

    def __init__(self, function, given):
        made, outs, self.n_returned, params = graphs.trace_function(function, given, False)
        places = {id(p): i for i, p in enumerate(params) if isinstance(p, Tensor)}
        self.written = [places[id(p)] for p in params if id(p) in made.written]
        for o in outs:
            if not isinstance(o, Tensor):
                raise errors.argument(f"the kernel returned {type(o).__name__}", graphs.made_name(function),
                                      "tensors, or a tuple of them")
            made.output(o)
        self.sources = [places.get(id(t), t) for t in made.inputs]  # the place of a parameter, or a captured tensor
        self.graph = graphs.Graph(made.handle, (), made.schedule, keep=made)


class Kernel:
    """See the module. `kernel.graph(...)` gives what a call with such arguments is traced to."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function
        self._traced, self._lock = {}, threading.Lock()

    def __repr__(self):
        return f"<tessera kernel {graphs.made_name(self.function)}>"

    def __get__(self, owner, kind=None):
        return self if owner is None else functools.partial(self, owner)

    def _prepare(self, given, device):
        tensors = [x if not _is_tensor(x) else tensor(x, device=None if isinstance(x, Tensor) else device)
                   for x in given]
        key = tuple((t.dtype, t.shape) if isinstance(t, Tensor) else ("number", type(t), t) for t in tensors)
        with self._lock:
            found = self._traced.get(key)
        if found is None:
            found = _Traced(self.function, tensors)
            with self._lock:
                found = self._traced.setdefault(key, found)
        return tensors, found

    def __call__(self, *given):
        for x in given:
            if hasattr(x, "map_kernel"):  # of a mesh
                return x.map_kernel(self, given)
        if trace.current():
            return self.function(*given)
        first = next((x.device for x in given if isinstance(x, Tensor)), None) or runtime.device()
        tensors, found = self._prepare(given, first)
        ins = [tensors[s] if isinstance(s, int) else s for s in found.sources]
        ins = [t.to(first) for t in ins]
        return self._finish(found, given, ins, first)

    def _finish(self, found, given, ins, device):
        graph = found.graph
        program = self._program(graph, ins, device)
        n = len(graph.outputs) - len(found.written)
        outs = [Storage.empty(device, size) for size in program.output_bytes[:n]]
        places = [_in_place(device, given[at], o, ins) for at, o in zip(found.written, graph.outputs[n:])]
        outs += [p or Storage.empty(device, size) for p, size in zip(places, program.output_bytes[n:])]
        program.run([t.storage for t in ins], outs)
        for at, place, info, storage in zip(found.written, places, graph.outputs[n:], outs[n:]):
            if place is None:
                _store(given[at], Tensor(info.dtype, info.shape, storage=storage))
        made = tuple(Tensor(o.dtype, o.shape, storage=s) for o, s in zip(graph.outputs, outs[:n]))
        return made[0] if found.n_returned is None else made if made else None

    def _program(self, graph, ins, device):
        return graph.program_for(ins, device)

    def program(self, *given):
        """The program on all ranks that a call with these arguments, of a mesh, runs."""
        from .dist import spmd
        return spmd.program_of(self, given)

    def graph(self, *given):
        """The graph that a call with these arguments (arrays, specs, numbers) becomes."""
        specs = [g if isinstance(g, graphs.Spec) or trace.is_number(g) else graphs.spec_of_array(g) for g in given]
        return graphs.trace(self.function, *specs)


class Tuned(Kernel):
    """A kernel whose schedules are searched on the first call with a list of types, and then taken from the cache."""

    def __init__(self, function, cache, search):
        super().__init__(function)
        self.cache, self.search, self.reports = cache, search, []

    def _program(self, graph, ins, device):
        with options.Setting(cache=self.cache or options.scope().cache):
            key = (device.id, graph.key())
            if key not in graph.__dict__.setdefault("tuned", set()):
                from . import tune
                self.reports.append(tune.search(graph, device, self.search))
                graph.tuned.add(key)
            return graph.program_for(ins, device)


def _is_tensor(x):
    return isinstance(x, Tensor) or not trace.is_number(x) and (arrays.is_array(x) or isinstance(x, (list, tuple)))


def _in_place(device, x, info, ins):
    """The storage of an array that an output can be written to as it is; None where it can't, but by _store."""
    if isinstance(x, Tensor):
        return None
    view = arrays.view(x)
    if isinstance(x, (list, tuple)) or not view.writable:
        raise errors.argument("an output that can't be written", "kernel", "a tensor, or an array that is writable")
    dense = device.on_host and view.strides is None and view.dtype == info.dtype and view.shape == info.shape
    if not dense or not view.nbytes or view.dense() is not view:
        return None
    for t in ins:
        at, end = t.storage.address or 0, (t.storage.address or 0) + t.storage.nbytes
        if at < view.address + view.nbytes and view.address < end:
            return None
    return Storage.of(device, view)


def _store(x, made):
    """Puts a result into what the caller gave."""
    if isinstance(x, Tensor):
        x.storage = made.to(x.device).storage
        return
    held = made.view()
    arrays.view(x).store(held.address)


def kernel(function):
    """Decorator: see the module."""
    return Kernel(function)


def autotune(cache=None, **search):
    """Decorator: as kernel; the first call with a list of types searches the schedules (samples=, strategy=, knobs=,
    seed=, again=), and the tuning cache of that name keeps them."""
    def decorate(function):
        return Tuned(getattr(function, "function", function), cache, search)
    if callable(cache):
        function, cache = cache, None
        return decorate(function)
    return decorate
