"""What Python's operators and the usual methods of arrays mean on tensors: ops of Graph IR. Numbers take the tensor's
type; two tensors must have one type, as the library has it."""
from __future__ import annotations

from . import dtypes, errors, trace

# NumPy's name of a function: the op's
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "remainder": "rem",
    "power": "pow", "minimum": "min", "maximum": "max", "negative": "neg", "absolute": "abs", "matmul": "matmul",
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "invert": "not", "logical_not": "not",
    "left_shift": "shift_left", "right_shift": "shift_right", "arctan": "atan", "arcsin": "asin", "arccos": "acos",
    "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "conjugate": "conj",
}
_COMPARE = {"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"}


def _apply(name, *operands, **given):
    from . import op
    return op.apply(name, *operands, **given)


def _takes(x):
    from . import arrays
    return trace.is_number(x) or arrays.is_array(x) or isinstance(x, Operators)


def _binary(name, reflected=False):
    def call(self, other):
        if not _takes(other):
            return NotImplemented
        return _apply(name, other, self) if reflected else _apply(name, self, other)
    return call


def _compare(predicate):
    def call(self, other):
        if not _takes(other):
            return NotImplemented
        return _apply("compare", self, other, predicate=predicate)
    return call


def _reduce(name):
    def call(self, axis=None, keepdims=False):
        axes = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        return _apply(name, self, axes=axes, keepdims=keepdims)
    return call


class Operators:
    """See the module."""
    __slots__ = ()
    __hash__ = object.__hash__

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __mod__, __rmod__ = _binary("rem"), _binary("rem", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __and__, __rand__ = _binary("and_"), _binary("and_", True)
    __or__, __ror__ = _binary("or_"), _binary("or_", True)
    __xor__, __rxor__ = _binary("xor"), _binary("xor", True)
    __lshift__, __rshift__ = _binary("shift_left"), _binary("shift_right")
    __matmul__, __rmatmul__ = _binary("matmul"), _binary("matmul", True)
    __eq__, __ne__ = _compare("eq"), _compare("ne")
    __lt__, __le__, __gt__, __ge__ = _compare("lt"), _compare("le"), _compare("gt"), _compare("ge")
    sum, mean, max, min, prod = map(_reduce, ("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"))

    def __truediv__(self, other):
        return self._divide(self, other)

    def __rtruediv__(self, other):
        return self._divide(other, self)

    def _divide(self, a, b):
        """Of integers the quotient is a float, as in Python; op.div divides them as integers."""
        if not (_takes(a) and _takes(b)):
            return NotImplemented
        whole = self.dtype in dtypes.INTEGERS
        a, b = (x.astype("f32") if whole and isinstance(x, Operators) else x for x in (a, b))
        return _apply("div", a, b)

    def __neg__(self):
        return _apply("neg", self)

    def __pos__(self):
        return self

    def __abs__(self):
        return _apply("abs", self)

    def __invert__(self):
        return _apply("not_", self)

    def __iter__(self):
        if not self.shape or self.shape[0] is None:
            raise trace.cannot("a tensor of unknown length can't be gone through",
                               "op.split, or a length that is known")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, _):
        raise trace.cannot("whether an element is in a tensor", "op.compare and a reduction")

    def __array_ufunc__(self, ufunc, method, *inputs, **given):
        from . import op
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if method == "__call__" and not given:
            if ufunc.__name__ in _COMPARE:
                return _apply("compare", *inputs, predicate=_COMPARE[ufunc.__name__])
            name = name + "_" if name in ("and", "or", "not") else name
            if name in op.names():
                return _apply(name, *inputs)
        raise trace.cannot(f"numpy.{ufunc.__name__} has no op here", "op.names() lists what there is")

    # ---- methods ---------------------------------------------------------------------------------------------------

    @property
    def T(self):
        return _apply("transpose", self)

    def transpose(self, *perm):
        perm = perm[0] if len(perm) == 1 and not isinstance(perm[0], int) else perm
        return _apply("transpose", self, perm=tuple(perm) or None)

    def reshape(self, *shape):
        shape = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return _apply("reshape", self, shape=tuple(shape))

    def astype(self, dtype):
        return _apply("cast", self, dtype=dtypes.of(dtype))

    def __getitem__(self, key):
        """Whole numbers, slices with steps above 0, None and `...`; op.gather takes indices that are tensors."""
        starts, sizes, strides, shape = _slices(self.shape, key)
        x = self
        if starts is not None:
            x = _apply("slice", self, starts=starts, sizes=sizes, strides=strides)
        return x if shape == x.shape else x.reshape(shape)


def _slices(dims, key):
    """(starts, sizes, strides, the result's shape) of a key; starts None where the whole is taken."""
    keys = list(key) if isinstance(key, tuple) else [key]
    named = sum(k is not None and k is not Ellipsis for k in keys)
    if named > len(dims):
        raise errors.argument(f"{named} indices for {len(dims)} dimensions", "slice")
    gap = [slice(None)] * (len(dims) - named)
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    keys = keys + gap if at is None else keys[:at] + gap + keys[at + 1:]
    starts, sizes, strides, shape = [], [], [], []
    for k in keys:
        if k is None:
            shape.append(1)
            continue
        extent = dims[len(starts)]
        first, size, step, kept = _one(k, extent, len(starts))
        starts.append(first)
        sizes.append(size)
        strides.append(step)
        shape += [size] if kept else []
    whole = not any(starts) and sizes == list(dims) and all(s == 1 for s in strides)
    return None if whole else starts, sizes, strides, tuple(shape)


def _one(k, extent, axis):
    if extent is None:
        if k == slice(None):
            return 0, -1, 1, True
        raise errors.argument(f"dimension {axis} is unknown", "slice", "only ':' there")
    if isinstance(k, slice):
        first, end, step = k.indices(extent)
        if step < 1:
            raise errors.argument(f"step {step}", "slice", "steps from 1 on")
        return first, max(0, (end - first + step - 1) // step), step, True
    try:
        i = k.__index__()
    except (AttributeError, TypeError):
        raise errors.argument(f"an index of {type(k).__name__}", "slice", "op.gather takes tensors") from None
    if not -extent <= i < extent:
        raise IndexError(f"index {i} of dimension {axis}, which has {extent}")
    return i % extent, 1, 1, False
