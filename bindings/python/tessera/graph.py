"""Graphs: traced from Python functions, or read from IR text; compiled, differentiated, printed, tuned, profiled."""
from __future__ import annotations

import ctypes

from . import arrays, capi, dtypes, errors, options, runtime
from . import trace as trace_module
from .program import Info, Program
from .runtime import Handle, text_of
from .tensors import Tensor, tensor


class Spec:
    """The type of an input: spec((None, 64), "f32"); None is a dimension that is known later."""
    __slots__ = ("shape", "dtype")

    def __init__(self, shape, dtype="f32"):
        self.shape = (shape,) if isinstance(shape, int) else tuple(shape)
        self.dtype = dtypes.of(dtype)

    def __repr__(self):
        return f"spec({self.shape}, {self.dtype!r})"


spec = Spec


class Graph(Handle):
    """A graph with its inputs and outputs. Called with arrays it runs, compiled once for each list of shapes."""
    destroy = "tsr_graph_destroy"

    def __init__(self, handle, captured=(), schedule=(), keep=None):
        super().__init__(handle, runtime.context(), keep)
        self.captured, self.schedule = list(captured), schedule
        self.inputs = [Info(capi.tsr_graph_input_info(handle, i)) for i in range(capi.tsr_graph_n_inputs(handle))]
        self.outputs = [Info(capi.tsr_graph_output_info(handle, i)) for i in range(capi.tsr_graph_n_outputs(handle))]
        self._programs = {}

    @property
    def n_given(self):
        """Inputs that a call gives: all but captured tensors, which come last."""
        return len(self.inputs) - len(self.captured)

    def __str__(self):
        with text_of() as t:
            capi.tsr_graph_print(self.handle, t.out)
        return t.value

    def __repr__(self):
        return f"<tessera graph ({', '.join(map(repr, self.inputs))}) -> ({', '.join(map(repr, self.outputs))})>"

    def _repr_html_(self):
        from . import display
        return display.graph(self)

    # ---- compiling and running -------------------------------------------------------------------------------------

    def key(self):
        """The options of the scope at hand, with the graph's own schedule."""
        here = list(options.scope().key())
        here[-1] = self.schedule or here[-1]
        return tuple(here)

    def compile(self, device=None) -> Program:
        """For the shapes that the graph has, which must all be known."""
        return Program.compile(runtime.device(device), self.handle, self.key())

    def specialize(self, *shapes) -> Graph:
        """The same with these shapes, one per input."""
        if len(shapes) != len(self.inputs):
            raise errors.argument(f"{len(shapes)} shapes for {len(self.inputs)} inputs", "specialize")
        made = (capi.tsr_shape * max(len(shapes), 1))(*map(trace_module.shape_struct, shapes))
        handle = ctypes.c_void_p()
        capi.tsr_graph_specialize(self.handle, made, len(shapes), ctypes.byref(handle))
        return Graph(handle, self.captured, self.schedule)

    def program_for(self, given, device) -> Program:
        shapes = tuple(t.shape for t in given)
        key = (device.id, shapes, self.key())
        if key not in self._programs:
            known = all(None not in i.shape for i in self.inputs)
            graph = self if known else self.specialize(*shapes)
            self._programs[key] = graph.compile(device)
        return self._programs[key]

    def bind(self, given, device=None):
        """(tensors in the order of the inputs, their device) of what a call gives: in order, or one dict by name."""
        if len(given) == 1 and isinstance(given[0], dict):
            names = [i.name for i in self.inputs[:self.n_given]]
            wrong = set(given[0]) ^ set(names)
            if wrong:
                raise errors.argument(f"inputs {', '.join(sorted(wrong))}", "graph", "it has " + ", ".join(names))
            given = [given[0][name] for name in names]
        if len(given) != self.n_given:
            raise errors.argument(f"{len(given)} arguments", "graph", "inputs: " + ", ".join(map(repr, self.inputs)))
        first = next((t.device for t in given if isinstance(t, Tensor)), None)
        there = runtime.device(device) if device or first is None else first
        made = []
        for info, x in zip(self.inputs, list(given) + self.captured):
            t = tensor(x, device=there)
            if t.dtype != info.dtype:
                raise errors.ArgumentError(f"[python] {info.name or 'input'}: {t.dtype}, the graph has {info.dtype}",
                                           capi.TSR_SHAPE_MISMATCH, "shape mismatch", "python", info.name)
            if len(t.shape) != len(info.shape) or any(b not in (None, a) for a, b in zip(t.shape, info.shape)):
                raise errors.ArgumentError(f"[python] {info.name or 'input'}: shape {t.shape}, the graph has "
                                           f"{info.shape}", capi.TSR_SHAPE_MISMATCH, "shape mismatch", "python",
                                           info.name)
            made.append(t)
        return made, there

    def run(self, *given, device=None) -> list:
        """The outputs, a list of tensors."""
        tensors, there = self.bind(given, device)
        program = self.program_for(tensors, there)
        outs = program.run([t.storage for t in tensors])
        return [Tensor(o.dtype, o.shape, storage=s) for o, s in zip(program.outputs, outs)]

    def __call__(self, *given, device=None):
        outs = self.run(*given, device=device)
        return outs[0] if len(outs) == 1 else tuple(outs)

    # ---- derivatives, reference ------------------------------------------------------------------------------------

    def _values(self, wrt):
        names = [i.name for i in self.inputs]
        given = range(self.n_given) if wrt is None else [wrt] if isinstance(wrt, (int, str)) else wrt
        try:
            places = [names.index(w) if isinstance(w, str) else range(len(names))[w] for w in given]
        except (TypeError, ValueError, IndexError):
            raise errors.argument(f"no input {wrt!r}", "grad", ", ".join(names)) from None
        return (ctypes.c_uint32 * max(len(places), 1))(*(p + 1 for p in places)), len(places)

    def grad(self, wrt=None) -> Graph:
        """Reverse mode: a graph whose outputs are this one's and then the gradients of its first output, one number,
        with respect to the inputs named (None: all that are given)."""
        values, n = self._values(wrt)
        handle = ctypes.c_void_p()
        capi.tsr_graph_grad(self.handle, values, n, ctypes.byref(handle))
        return Graph(handle, self.captured, self.schedule)

    def grad_scaled(self, wrt=None, **how) -> Graph:
        """`grad` of the loss times a scale that follows overflow: takes the scale and a count of good steps besides, and
        gives the outputs, the gradients without the scale, whether to leave the step out, and the two as they are next.
        `how` are the attributes of the op loss_scale."""
        if self.captured:
            raise errors.argument("tensors from outside are captured", "grad_scaled", "give them as inputs")
        values, n = self._values(wrt)
        attrs, kept = trace_module.attributes(list(how.items()))
        handle = ctypes.c_void_p()
        capi.tsr_graph_grad_scaled(self.handle, values, n, attrs, len(kept), ctypes.byref(handle))
        return Graph(handle, (), self.schedule)

    def jvp(self, wrt=None) -> Graph:
        """Forward mode: takes a tangent for each input named besides; gives the outputs and their tangents."""
        if self.captured:
            raise errors.argument("tensors from outside are captured", "jvp", "give them as inputs")
        values, n = self._values(wrt)
        handle = ctypes.c_void_p()
        capi.tsr_graph_jvp(self.handle, values, n, ctypes.byref(handle))
        return Graph(handle, (), self.schedule)

    def reference(self, *given):
        """The outputs by the f64 evaluator, lists of numbers row-major, and the largest error of each element that a
        correct implementation with f32 accumulation may show: a list of (values, tolerances)."""
        tensors, _ = self.bind(given, "cpu:0")
        known = self if all(None not in i.shape for i in self.inputs) else self.specialize(*(t.shape for t in tensors))
        ins = (ctypes.c_void_p * max(len(tensors), 1))(*(t.storage.address or 0 for t in tensors))
        sizes = [arrays.count(o.shape) * (2 if o.dtype in dtypes.COMPLEX else 1) for o in known.outputs]
        values = [(ctypes.c_double * max(n, 1))() for n in sizes]
        errs = [(ctypes.c_double * max(n, 1))() for n in sizes]
        rows = ctypes.POINTER(ctypes.c_double) * max(len(sizes), 1)
        cast = [[ctypes.cast(a, ctypes.POINTER(ctypes.c_double)) for a in group] for group in (values, errs)]
        capi.tsr_graph_reference(known.handle, ins, rows(*cast[0]), rows(*cast[1]))
        return [(list(v)[:n], list(e)[:n]) for v, e, n in zip(values, errs, sizes)]

    # ---- looking at it ---------------------------------------------------------------------------------------------

    def dump(self, level="target", device=None):
        """The program for a device, compiled from this graph, at a level of the IR; "explain" is its trace."""
        program = self.compile(device)
        return program.explain() if level == "explain" else program.dump(level)

    def ops(self) -> dict:
        """How many of each operation it has."""
        import re
        counts: dict = {}
        for name in re.findall(r'"tessera\.graph\.(\w+)"', str(self)):
            if name not in ("func", "return"):
                counts[name] = counts.get(name, 0) + 1
        return counts


def parse(text, file=None) -> Graph:
    """A graph from IR text of the Graph level, as str or bytes."""
    data = capi.text_bytes(text)
    handle = ctypes.c_void_p()
    capi.tsr_graph_parse(runtime.context().handle, data, len(data), capi.utf8(file), ctypes.byref(handle))
    return Graph(handle)


def load(model, shapes=None, values=None) -> Graph:
    """A graph from a model: the path of a file or its bytes, ONNX or IR text by content. `shapes` gives inputs whose
    dimensions the model leaves open theirs, by name (NotFoundError: there is no such input); `values` the elements of
    inputs that its program depends on (a shape that is an input). UnsupportedError names everything that can't be
    converted."""
    desc, keep = capi.tsr_import_desc(), []
    if isinstance(model, (bytes, bytearray, memoryview)):
        keep.append(bytes(model))
        desc.data = ctypes.cast(ctypes.c_char_p(keep[0]), ctypes.c_void_p)
        desc.bytes = len(keep[0])
    else:
        desc.path = capi.path_bytes(model, "load")
    for given in (shapes or {}, values or {}):
        if not isinstance(given, dict) or not all(isinstance(name, str) for name in given):
            raise errors.argument(f"{given!r:.80} is no dict by the inputs' names", "load")
    names = sorted(set(shapes or {}) | set(values or {}))
    rows = (capi.tsr_import_input * max(len(names), 1))()
    for row, name in zip(rows, names):
        row.name = capi.utf8(name)
        row.shape.rank = -1
        if name in (values or {}):
            held = arrays.view(values[name]).dense()
            keep.append(held)
            row.dtype, row.data = dtypes.CODES[held.dtype], held.address
            row.shape = trace_module.shape_struct(held.shape)
        if name in (shapes or {}):
            row.shape = trace_module.shape_struct(shapes[name])
    desc.inputs, desc.n_inputs = rows, len(names)
    handle = ctypes.c_void_p()
    capi.tsr_graph_import(runtime.context().handle, ctypes.byref(desc), ctypes.byref(handle))
    return Graph(handle)


def trace_function(function, given, upfront):
    """(trace, the tensors that the function gives: returned ones and then parameters that it wrote, how many are
    returned or None for a single one, the parameters). `upfront`: every parameter is an input, read or not."""
    made = trace_module.Trace(getattr(function, "__name__", "main").strip("<>"))
    names = parameter_names(function, len(given))
    params = [made.input(n, g.dtype, g.shape) if isinstance(g, (Spec, Tensor)) else g for n, g in zip(names, given)]
    if upfront:
        for p in params:
            if isinstance(p, Tensor):
                made.value(p)
    with made:
        result = function(*params)
    written = [p for p in params if isinstance(p, Tensor) and id(p) in made.written]
    returned = [] if result is None else list(result) if isinstance(result, (tuple, list)) else [result]
    single = result is not None and not isinstance(result, (tuple, list))
    if not returned and not written:
        raise errors.argument("the function gives nothing", made_name(function),
                              "return a tensor, or write one: C[:] = ...")
    return made, returned + written, None if single else len(returned), params


def made_name(function):
    """A function's name for messages."""
    return getattr(function, "__name__", "function")


def parameter_names(function, n):
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    names = list(code.co_varnames[:code.co_argcount]) if code else []
    names = names[1:] if names[:1] == ["self"] else names
    return (names + [f"arg{i}" for i in range(len(names), n)])[:n]


def trace(function, *specs) -> Graph:
    """The graph of a Python function for inputs of these types: spec(shape, dtype), or arrays for theirs. What the
    function returns are the outputs; tensors of elsewhere that it uses are bound by reference."""
    given = [s if isinstance(s, Spec) or trace_module.is_number(s) else spec_of_array(s) for s in specs]
    made, outs, _, _ = trace_function(function, given, True)
    return close(made, outs)


def spec_of_array(x):
    """The type of an array."""
    t = tensor(x)
    return Spec(t.shape, t.dtype)


def close(made, outs) -> Graph:
    """The trace as a graph with these outputs; captured tensors become its last inputs."""
    for o in outs:
        if not isinstance(o, Tensor):
            raise errors.argument(f"the function returned {type(o).__name__}", "trace", "tensors, or a tuple of them")
        made.output(o)
    return Graph(made.handle, [t for _, t in made.captured.values()], made.schedule, keep=made)


def profile(what, *given, steps=10, device=None):
    """Profiles a graph or a function: what runs in it is timed kernel by kernel, `steps` times. Prints the rows and
    gives the profile."""
    from . import profile as module
    return module.of(what, given, steps, device)


def autotune(what, *given, device=None, cache=None, **search):
    """Searches the schedule of every kernel of a graph, a kernel or a function on these arrays or specs, checks the
    winners against the reference and keeps them in the cache of that name. Gives the report."""
    from . import tune
    return tune.autotune(what, given, device, cache, search)
