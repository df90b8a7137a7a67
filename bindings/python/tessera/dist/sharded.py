"""Tensors that are shards on a mesh. Each has, per dimension, the mesh axes that cut it, and the axes along which the
ranks hold parts of a sum (partial). A tensor without contents takes no memory until it is computed with: its elements
are zeros then."""
from __future__ import annotations

import functools
import warnings

from .. import arrays, dtypes, errors, op, trace
from ..operators import Operators
from ..tensors import Tensor, tensor as whole_tensor, zeros


class ShardWarning(UserWarning):
    """A collective that the layout of its operand has no use for."""


def distribute(x, layout, mesh, dtype=None):
    """An array in parts on the ranks of a mesh."""
    x = whole_tensor(x, dtype)
    made = tensor(x.shape, layout, mesh, x.dtype)
    made[:] = x
    return made


def tensor(shape, layout=None, mesh=None, dtype="f32"):
    """A tensor of zeros with this layout; without a mesh one of this process alone. It takes no memory until it is
    computed with or written."""
    from .mesh import ShardSpec
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    mesh = mesh or _local_mesh()
    return Sharded(shape, dtypes.of(dtype), mesh, (layout or ShardSpec()).axes_of(len(shape), mesh))


@functools.lru_cache(maxsize=None)
def _local_mesh():
    """That of tensors without one: this process alone."""
    from .mesh import Mesh
    return Mesh(["local"], range(1))


def _block(extent, parts, at):
    """(first, number) of part `at`: all have ceil(extent / parts) but the last ones."""
    step = -(-extent // parts)
    first = min(at * step, extent)
    return first, min(step, extent - first)


class Sharded(Operators):
    """See the module. `cuts`: the mesh axes that cut each dimension, outermost first; `partial`: axes of sums."""
    __slots__ = ("shape", "dtype", "mesh", "cuts", "partial", "_shards")

    def __init__(self, shape, dtype, mesh, cuts, partial=(), shards=None):
        self.shape, self.dtype, self.mesh = tuple(shape), dtype, mesh
        self.cuts, self.partial, self._shards = tuple(cuts), frozenset(partial), shards

    ndim = property(lambda self: len(self.shape))
    is_virtual = property(lambda self: self._shards is None)
    nbytes = property(lambda self: arrays.count(self.shape) * dtypes.size(self.dtype))

    def __repr__(self):
        cuts = ", ".join(f"{d}{'/' + '*'.join(c) if c else ''}" for d, c in zip(self.shape, self.cuts))
        part = f", partial over {', '.join(sorted(self.partial))}" if self.partial else ""
        return f"<sharded {self.dtype} [{cuts}]{part} on {self.mesh}>"

    # ---- the ranks' parts ------------------------------------------------------------------------------------------

    def block(self, rank):
        """[(first, number)] of a rank's part, per dimension."""
        place, found = self.mesh.coordinates(rank), []
        for extent, axes in zip(self.shape, self.cuts):
            first, n = 0, extent
            for axis in axes:
                inner, n = _block(n, self.mesh.shape[axis], place[axis])
                first += inner
            found.append((first, n))
        return found

    def local_shape(self, rank):
        return tuple(n for _, n in self.block(rank))

    def shard(self, rank) -> Tensor:
        """A rank's part."""
        return self.shards[rank]

    @property
    def shards(self) -> list:
        if self._shards is None:
            self._shards = [zeros(self.local_shape(r), self.dtype, self.mesh.device_of(r))
                            for r in range(self.mesh.size)]
        return self._shards

    def __setitem__(self, key, given):
        if not (key is Ellipsis or isinstance(key, slice) and key == slice(None)):
            raise errors.argument("a part of a sharded tensor can't be written", "dist", "A[:] = the whole")
        if trace.is_number(given):
            given = op.broadcast(Tensor.number(given, self.dtype, self.mesh.device_of(0)), shape=self.shape)
        x = given.gather() if isinstance(given, Sharded) else whole_tensor(given, self.dtype)
        if x.shape != self.shape:
            raise errors.argument(f"shape {x.shape} for {self.shape}", "dist")
        made = {}
        self._shards, self.partial = [], frozenset()
        for rank in range(self.mesh.size):
            block, there = tuple(self.block(rank)), self.mesh.device_of(rank)
            if (block, there) not in made:
                part = x[tuple(slice(a, a + n) for a, n in block)]
                made[block, there] = (part.copy() if part is x else part).to(there)
            self._shards.append(made[block, there])

    def gather(self) -> Tensor:
        """The whole, sums of parts added up."""
        from .collective import all_reduce
        x = self
        for axis in sorted(self.partial):
            x = all_reduce(x, axis)
        return x._joined(range(self.mesh.size))

    def _joined(self, ranks):
        """The tensor that the parts of these ranks make up."""
        parts = {}
        for rank in ranks:
            parts.setdefault(tuple(self.block(rank)), self.shards[rank])
        first = next(iter(parts.values())).device
        level = {key: t.to(first) for key, t in parts.items() if all(n for _, n in key) or len(parts) == 1}
        for axis in reversed(range(self.ndim)):
            rows = {}
            for key in sorted(level):
                rows.setdefault(key[:axis], []).append(level[key])
            level = {key: ts[0] if len(ts) == 1 else op.concat(*ts, axis=axis) for key, ts in rows.items()}
        return level[()]

    def numpy(self):
        return self.gather().numpy()

    def __array__(self, dtype=None, copy=None):
        return self.gather().__array__(dtype, copy)

    def tolist(self):
        return self.gather().tolist()

    # ---- other layouts ---------------------------------------------------------------------------------------------

    def with_cuts(self, cuts):
        """The same tensor, cut otherwise: sums are added up first."""
        from .collective import all_reduce
        x = self
        for axis in sorted(self.partial):
            x = all_reduce(x, axis)
        if x.cuts == tuple(cuts):
            return x
        made = Sharded(x.shape, x.dtype, x.mesh, cuts)
        made[:] = x._joined(range(x.mesh.size))
        return made

    def redistribute(self, layout):
        """The same tensor with another ShardSpec."""
        return self.with_cuts(layout.axes_of(self.ndim, self.mesh))

    # ---- operations ------------------------------------------------------------------------------------------------

    def apply_op(self, name, operands, given):
        """What op.NAME means on shards: products and elementwise ops rank by rank, all others on the whole."""
        mesh = self.mesh
        for o in operands:
            if isinstance(o, Sharded) and o.mesh is not mesh:
                raise errors.argument("operands of different meshes", name)
        if name == "matmul" and all(isinstance(o, Sharded) and o.ndim == 2 for o in operands) \
                and not given.get("transpose_a") and not given.get("transpose_b"):
            return _matmul(*operands, given)
        sharded = [o for o in operands if isinstance(o, Sharded)]
        alike = all(isinstance(o, Sharded) and o.shape == self.shape or trace.is_number(o) for o in operands)
        if name in ELEMENTWISE and alike:
            cuts = sharded[0].cuts
            return _each(mesh, lambda *xs: op.apply(name, *xs, **given), [
                o.with_cuts(cuts) if isinstance(o, Sharded) else o for o in operands], self.shape, cuts, ())
        outs = op.apply(name, *(o.gather() if isinstance(o, Sharded) else o for o in operands), **given)
        spread = [_replicated(t, mesh) for t in (outs if isinstance(outs, tuple) else [outs])]
        return tuple(spread) if isinstance(outs, tuple) else spread[0]

    def map_kernel(self, kernel, given):
        """A kernel on every rank's parts. What it gives is laid out as this tensor; what it writes as it was."""
        cuts = [o.with_cuts(o.cuts) if isinstance(o, Sharded) else o for o in given]
        results = []
        for rank in range(self.mesh.size):
            local = [o.shards[rank] if isinstance(o, Sharded) else o for o in cuts]
            local = [t.copy() if isinstance(t, Tensor) and t.storage else t for t in local]
            results.append(kernel(*local))
            for o, t in zip(given, local):
                if isinstance(o, Sharded):
                    o.shards[rank] = t
        if results[0] is None:
            return None
        if not isinstance(results[0], Tensor) or results[0].shape != self.local_shape(0):
            raise errors.argument("the kernel gives something of another shape", "dist", "compute it by ops")
        return Sharded(self.shape, results[0].dtype, self.mesh, self.cuts, (), results)


# Ops that compute each element from those at its place: rank by rank without communication.
ELEMENTWISE = frozenset(
    "add sub mul div rem pow min max and_ or_ xor not_ neg abs exp log sqrt rsqrt tanh erf sin cos floor round sigmoid "
    "relu gelu silu compare select where ceil trunc sign isnan isinf cast clip expm1 log1p tan softplus mish elu selu "
    "leaky_relu hardsigmoid hardswish".split())


def _each(mesh, function, operands, shape, cuts, partial):
    """function of the operands' parts on each rank; ranks that hold the same parts share the result."""
    made, shards = {}, []
    for rank in range(mesh.size):
        local = [o.shards[rank] if isinstance(o, Sharded) else o for o in operands]
        key = tuple(id(t) for t in local)
        if key not in made:
            made[key] = (function(*local), local)
        shards.append(made[key][0])
    return Sharded(shape, shards[0].dtype, mesh, cuts, partial, shards)


def _replicated(t, mesh):
    made = Sharded(t.shape, t.dtype, mesh, ((),) * len(t.shape))
    made[:] = t
    return made


def _matmul(a, b, given):
    """[m, k] by [k, n]: the rows' axes of a and the columns' of b cut the result; where both are cut along k by the
    same axes each rank has a part of the sum. An axis that would cut two dimensions of the result is gathered of b."""
    if a.shape[1] != b.shape[0]:
        return op.matmul(zeros(a.shape, a.dtype), zeros(b.shape, b.dtype), **given)  # the library's message
    rows, k = a.cuts
    if b.cuts[0] != k:
        k = k if not b.cuts[0] else b.cuts[0] if not k else ()
    k = tuple(axis for axis in k if axis not in rows)
    columns = tuple(axis for axis in b.cuts[1] if axis not in rows + k)
    a, b = a.with_cuts((rows, k)), b.with_cuts((k, columns))
    return _each(a.mesh, lambda x, y: op.matmul(x, y, **given), [a, b], (a.shape[0], b.shape[1]), (rows, columns), k)


def warn(text):
    warnings.warn(text, ShardWarning, stacklevel=4)
