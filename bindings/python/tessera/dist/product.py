"""A product whose operands are cut along the contraction: each rank has a part of its sum. It is computed when something
asks for it, together with the collective that adds it up, as that is to leave it."""
from __future__ import annotations

from .. import errors, op, trace
from . import spmd
from .mesh import spec_of
from .sharded import Sharded, make


def is_sum_of_parts(operands, given):
    """Are they two matrices cut along the contraction by the same axes, which cut nothing else of the result?"""
    if len(operands) != 2 or not all(isinstance(o, Sharded) and o.ndim == 2 and not o.partial for o in operands):
        return False
    a, b = operands
    if given.get("transpose_a") or given.get("transpose_b") or a.shape[1] != b.shape[0] or a.mesh is not b.mesh:
        return False
    return bool(a.cuts[1]) and a.cuts[1] == b.cuts[0] and not set(a.cuts[0] + a.cuts[1]) & set(b.cuts[1])


class Product(Sharded):
    """See the module."""
    __slots__ = ("operands", "given", "partial")

    def __init__(self, a, b, given):
        with trace.Trace("type") as t:
            out = op.apply("matmul", t.input("a", a.dtype, a.shape), t.input("b", b.dtype, b.shape), **given)
        described = make(out.shape, out.dtype, a.mesh, spec_of((a.cuts[0], b.cuts[1])))
        super().__init__(out.shape, out.dtype, described.held)
        self.operands, self.given, self.partial = (a, b), given, frozenset(a.cuts[1])

    is_virtual = False

    def _computed(self, layout):
        """The whole sum, laid out as asked for, or as the library finds best."""
        key = ("product", tuple(sorted((k, str(v)) for k, v in self.given.items())))
        return spmd.run(lambda a, b: op.matmul(a, b, **self.given), self.operands, [layout], key)[0]

    def summed(self):
        return self._computed(None)

    def added_up(self, axis):
        """The sum over an axis, which every rank of it has."""
        rest = tuple(x for x in self.operands[0].cuts[1] if x != axis)
        if not rest:
            return self._computed(spec_of(self.cuts))
        a, b = self.operands
        return Product(a.redistribute(spec_of((a.cuts[0], rest))), b.redistribute(spec_of((rest, b.cuts[1]))),
                       self.given)

    def scattered(self, axis, dim):
        """The sum over an axis, of which each rank has its piece along a dimension."""
        if len(self.partial) > 1:
            raise errors.argument(f"parts of a sum along {', '.join(sorted(self.partial))}", "reduce_scatter",
                                  "all_reduce along the others first")
        cuts = [list(axes) for axes in self.cuts]
        cuts[dim].append(axis)
        return self._computed(spec_of(cuts))

    def redistribute(self, layout):
        return self._computed(layout)

    def padded(self, rank):
        return self.shard(rank)

    def shard(self, rank):
        """A rank's part of the sum: the product of its parts."""
        return op.matmul(*(o.shard(rank) for o in self.operands), **self.given)

    def __setitem__(self, key, given):
        raise errors.argument("a sum of parts can't be written", "dist", "make a tensor of its own")
