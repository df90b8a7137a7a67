"""The operations of Graph IR, one function per row of the library's op table: op.matmul(a, b, transpose_b=True). Arrays
of NumPy and others are taken as they are. An op runs at once; inside a kernel (op.kernel) or a traced function it
becomes part of the graph. `op.names()` lists them, help(op.matmul) has what the table says."""
from __future__ import annotations

import threading

from . import arrays, capi, dtypes, errors, options, runtime, trace
from .program import Program
from .tensors import Tensor

_lock = threading.Lock()
_rows = {}
_functions = {}
_KEYWORDS = {"and": "and_", "or": "or_", "not": "not_"}
_NOT_CALLED = ("func", "return", "constant", "custom", "if", "while", "yield")  # control.py has if and while
_ELSEWHERE = {"kernel": "kernel", "autotune": "kernel", "Kernel": "kernel", "if_": "control", "while_": "control"}
_MOST_PROGRAMS = 256


def table() -> list:
    """The rows of Graph IR's op table: name, python (the function's name), operands, attributes, types, help, results
    (None: by the `results` of the call)."""
    with _lock:
        if not _rows:
            import json
            with runtime.text_of() as t:
                capi.tsr_ops_json(runtime.context().handle, t.out)
            for row in json.loads(t.value):
                name = row["name"].rpartition(".")[2]
                if row["level"] == "graph" and name not in _NOT_CALLED:
                    row["python"] = _KEYWORDS.get(name, name)
                    _rows[row["python"]] = row
    return list(_rows.values())


def names() -> list:
    """Every op that can be called here."""
    return [row["python"] for row in table()]


def _attribute(row, kind, name, value):
    """A value as the table's kind of attribute."""
    try:
        if kind == "bool":
            return bool(value)
        if kind == "integer":
            return value.__index__()
        if kind == "float":
            return float(value)
        if kind == "list":
            given = (value,) if trace.is_number(value) else tuple(value)
            return tuple(v if isinstance(v, float) else v.__index__() for v in given)
        if "dtype" in name:
            return dtypes.of(value)
        if kind == "string":
            return str(value)
    except (TypeError, ValueError, AttributeError):
        raise errors.argument(f"{name}={value!r} is no {kind}", row["python"]) from None
    raise errors.argument(f"attribute {name} of kind {kind} has no form in Python", row["python"])


def _attributes(row, given):
    known = {a["name"]: a["kind"] for a in row["attributes"]}
    for name in given:
        if name not in known:
            raise errors.argument(f"no attribute {name!r}", row["python"], ", ".join(known) or "it has none")
    return tuple((name, _attribute(row, known[name], name, value)) for name, value in given.items()
                 if value is not None)


def _results(row, n_operands, given, asked):
    if row["results"] is not None:
        return row["results"]
    if asked is not None:
        return int(asked)
    sizes = dict(given).get("sizes")
    if row["python"] == "clip_by_global_norm":
        return n_operands + 1
    return len(sizes) if row["python"] == "split" and sizes else 1


def _type_of_numbers(operands):
    """What numbers among the operands become: the type of the first tensor; a float beside integers f32."""
    first = next((o for o in operands if isinstance(o, Tensor)), None)
    dtype = first.dtype if first is not None else None
    plain = [o for o in operands if trace.is_number(o)]
    if dtype == "bool" and any(not isinstance(o, bool) for o in plain):
        dtype = None
    if dtype in dtypes.INTEGERS and any(isinstance(o, float) for o in plain):
        dtype = "f32"
    if dtype is None and plain:
        kinds = {type(o) for o in plain}
        dtype = "complex64" if complex in kinds else "f32" if float in kinds else "i64" if int in kinds else "bool"
    return dtype


def as_tensor(x):
    """A tensor of whatever is like one; numbers stay as they are."""
    if isinstance(x, Tensor) or trace.is_number(x):
        return x
    from .tensors import tensor
    return tensor(x)


def _complex(x):
    if not isinstance(x, Tensor) or x.dtype in dtypes.COMPLEX:
        return x
    return x.astype("complex128" if x.dtype == "f64" else "complex64")


def apply(name, *operands, results=None, **given):
    """The op of that name on the operands."""
    row = _rows.get(name) or (table() and _rows.get(name))
    if row is None:
        raise errors.NotFoundError(f"[python] {name}: no such operation (op.names() lists them)", capi.TSR_NOT_FOUND,
                                   "not found", "python", name, "no such operation", "op.names() lists them")
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)) and any(map(arrays.is_array, operands[0])):
        operands = tuple(operands[0])  # op.concat([a, b])
    for o in operands:
        if hasattr(o, "apply_op"):  # of a mesh
            return o.apply_op(name, operands, given)
    operands = [as_tensor(o) for o in operands if o is not None]
    if row["types"] == "complex":  # what is only of complex numbers takes real ones as such
        window = name.endswith("istft")  # whose second operand is real
        operands = [o if window and i else _complex(o) for i, o in enumerate(operands)]
    given = _attributes(row, given)
    n = _results(row, len(operands), given, results)
    numbers = _type_of_numbers(operands)
    here = trace.current()
    short = row["name"].rpartition(".")[2]
    outs = _traced(here, short, operands, given, n, numbers) if here else _run(short, operands, given, n, numbers)
    return outs[0] if n == 1 else tuple(outs)


def _traced(here, name, operands, given, n, numbers):
    values = [here.number(o, numbers) if trace.is_number(o) else o for o in operands]
    try:
        return here.op(name, values, given, n)
    except errors.Error as why:
        at, text = trace.where()
        if at and at not in why.message:
            why.message += f" [{at}: {text}]"
        raise


def _run(name, operands, given, n, numbers):
    concrete = [o for o in operands if isinstance(o, Tensor)]
    for o in concrete:
        if o.trace is not None:
            raise trace.cannot("a traced tensor is used after its kernel's end", "return it from the kernel")
    device = concrete[0].device if concrete else runtime.device()
    operands = [Tensor.number(o, numbers, device) if trace.is_number(o) else o.to(device) for o in operands]
    key = (name, tuple((o.dtype, o.shape) for o in operands), given, n, options.scope().key())
    program = device.programs.get(key)
    if program is None:
        program = _compile(device, name, operands, given, n)
        if len(device.programs) >= _MOST_PROGRAMS:
            device.programs.pop(next(iter(device.programs)), None)
        device.programs[key] = program
    outs = program.run([o.storage for o in operands])
    return [Tensor(o.dtype, o.shape, storage=s) for o, s in zip(program.outputs, outs)]


def _compile(device, name, operands, given, n):
    made = trace.Trace(name)
    inputs = [made.input("", o.dtype, o.shape) for o in operands]
    for t in inputs:
        made.value(t)
    for out in made.op(name, inputs, given, n):
        made.output(out)
    return Program.compile(device, made.handle, options.scope().key())


def _function(name):
    row = _rows.get(name) or (table() and _rows.get(name))
    if row is None:
        raise AttributeError(f"tessera.op has no {name}; op.names() lists the operations")

    def call(*operands, **given):
        return apply(name, *operands, **given)
    call.__name__ = call.__qualname__ = name
    lines = [f"{name}({row['operands']})", "", row["help"], "", f"Types: {row['types']}."]
    for a in row["attributes"]:
        default = "required" if a["required"] else f"default {a['default']}" if a["default"] else "optional"
        lines.append(f"  {a['name']}: {a['kind']}, {default}: {a['help']}")
    call.__doc__ = "\n".join(lines)
    return call


def __getattr__(name):
    if name in _ELSEWHERE:
        from importlib import import_module
        return getattr(import_module("." + _ELSEWHERE[name], __package__), name)
    if name.startswith("__"):
        raise AttributeError(name)
    if name not in _functions:
        _functions[name] = _function(name)
    return _functions[name]


def __dir__():
    return sorted([*_ELSEWHERE, "names", "table", "apply"] + names())
