"""Control flow on values: op.if_ and op.while_ of Python functions. While a kernel is traced they become the graph's own
`if` and `while`; tensors of outside that the functions use are handed in. Elsewhere Python takes the branch and goes
round the loop."""
from __future__ import annotations

import ctypes

from . import capi, errors, op, trace
from .tensors import Tensor

MOST_TRIPS = 2 ** 31 - 1


class _Region(trace.Trace):
    """A graph that becomes part of another: traced tensors of those around it are inputs."""

    def __init__(self, name, around):
        super().__init__(name)
        self.around = around
        self.schedule = around.schedule

    def value(self, tensor):
        if tensor.trace is None or tensor.trace is self:
            return super().value(tensor)
        key = (id(tensor.trace), tensor.trace.value(tensor))
        if key not in self.captured:
            self.captured[key] = (self._input(f"around_{len(self.captured)}", tensor.dtype, tensor.shape), tensor)
            self.inputs.append(tensor)
        return self.captured[key][0]


def _outputs(function, result):
    outs = list(result) if isinstance(result, (tuple, list)) else [result]
    for o in outs:
        if not isinstance(o, Tensor):
            raise trace.cannot(f"{getattr(function, '__name__', 'the function')} gave {type(o).__name__}",
                               "tensors, or a tuple of them")
    return outs


def _trace(function, operands, extra, here):
    """The graph of a function of the operands, which also has `extra` as inputs."""
    made = _Region(getattr(function, "__name__", "region").strip("<>"), here)
    params = [made.input(f"x{i}", o.dtype, o.shape) for i, o in enumerate(operands)]
    for t in params + extra:
        made.value(t)
    with made:
        outs = _outputs(function, function(*params))
    for o in outs:
        made.output(o)
    return made, len(outs)


def _regions(functions, operands, here):
    """(the graphs, the operands with what the functions use besides, how many results each gives)."""
    extra: list = []
    for _ in range(2):  # the first time finds out what they use, the second all have the same inputs
        graphs = [_trace(f, operands, extra, here) for f in functions]
        seen = {id(t) for t in extra}
        for made, _n in graphs:
            extra += [t for _, t in made.captured.values() if id(t) not in seen]
            seen = {id(t) for t in extra}
    return [g for g, _ in graphs], operands + extra, [n for _, n in graphs]


def _values(here, operands):
    return (ctypes.c_uint32 * max(len(operands), 1))(*(here.value(o) for o in operands))


def _tensors(here, operands):
    numbers = [here.number(o, "f32" if isinstance(o, float) else "i64") if trace.is_number(o) else op.as_tensor(o)
               for o in operands]
    return [Tensor(o.dtype, o.shape, trace=here, value=here.value(o)) for o in numbers]


def _given(here, out):
    made = [here._wrap(v) for v in out]
    return made[0] if len(made) == 1 else tuple(made)


def if_(condition, then, otherwise, *operands):
    """then(*operands) where the condition, one bool, is true, else otherwise(*operands): results of the same types."""
    here = trace.current()
    if here is None:
        return then(*operands) if condition else otherwise(*operands)
    chosen, = _tensors(here, [condition])
    graphs, all_operands, counts = _regions([then, otherwise], _tensors(here, operands), here)
    if counts[0] != counts[1]:
        raise trace.cannot(f"{counts[0]} results where it is true, {counts[1]} where not")
    out = (ctypes.c_uint32 * counts[0])()
    capi.tsr_graph_if(here.handle, here.value(chosen), graphs[0].handle, graphs[1].handle,
                      _values(here, all_operands), len(all_operands), out)
    return _given(here, out)


def while_(condition, body, *carried, max_trips=MOST_TRIPS):
    """As long as condition(*carried), one bool, is true, and at most max_trips times, body(*carried) takes the place of
    carried: what these are in the end. Types stay."""
    here = trace.current()
    if here is None:
        trips = 0
        while trips < max_trips and condition(*carried):
            result = body(*carried)
            carried, trips = tuple(result) if isinstance(result, (tuple, list)) else (result,), trips + 1
        carried = tuple(op.as_tensor(c) for c in carried)
        return carried[0] if len(carried) == 1 else carried
    if not carried:
        raise errors.argument("nothing is carried", "while_", "at least one tensor")
    given = _tensors(here, carried)
    graphs, all_operands, counts = _regions([condition, body], given, here)
    if counts[1] != len(given):
        raise trace.cannot(f"the body gives {counts[1]} results for {len(given)} that are carried")
    out = (ctypes.c_uint32 * len(given))()
    capi.tsr_graph_while(here.handle, graphs[0].handle, graphs[1].handle, _values(here, all_operands),
                         len(all_operands), len(given), max_trips, out)
    return _given(here, out)
