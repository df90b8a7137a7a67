"""Collectives between the ranks of a mesh axis. Of a sum of parts (partial) all_reduce and reduce_scatter give the
tensor itself; of blocks that are whole they add up what the ranks of the axis hold, block by block, and say so."""
from __future__ import annotations

from .. import errors, op

_REDUCE = {"sum": "add", "min": "min", "max": "max", "prod": "mul"}


def _warn_whole(name, x, axis):
    from .sharded import warn
    if axis not in x.partial:
        warn(f"{name}(axis={axis!r}): the operand is no sum of parts along it ({x!r}); "
             "the ranks' blocks are added up as they are")


def _tree(parts, name):
    """The parts combined in a fixed tree, so that the bits depend on nothing else."""
    while len(parts) > 1:
        pairs = [op.apply(name, parts[i], parts[i + 1].to(parts[i].device)) for i in range(0, len(parts) - 1, 2)]
        parts = pairs + parts[len(pairs) * 2:]
    return parts[0]


def _reduced(x, axis, reduction):
    """Per rank: its axis group's blocks combined."""
    if reduction not in _REDUCE:
        raise errors.argument(f"no reduction {reduction!r}", "collective", ", ".join(_REDUCE))
    made = [None] * x.mesh.size
    for ranks in x.mesh.groups(axis):
        shapes = {x.shards[r].shape for r in ranks}
        if len(shapes) > 1:
            raise errors.argument(f"blocks of {sorted(shapes)} along {axis!r}", "collective",
                                  "extents that the axis divides")
        total = _tree([x.shards[r] for r in ranks], _REDUCE[reduction])
        for r in ranks:
            made[r] = total.to(x.mesh.device_of(r))
    return made


def _without(cuts, axis):
    return tuple(tuple(a for a in axes if a != axis) for axes in cuts)


def _shape_of_blocks(x, axis):
    """The tensor's extents where the blocks along an axis are taken for one."""
    n = x.mesh.shape[axis]
    return [d // n if axis in axes else d for d, axes in zip(x.shape, x.cuts)]


def all_reduce(x, axis, reduction="sum"):
    """Every rank has the sum (min, max, prod) of the axis's ranks."""
    from .sharded import Sharded
    if reduction == "sum":
        _warn_whole("all_reduce", x, axis)
    made = _reduced(x, axis, reduction)
    return Sharded(_shape_of_blocks(x, axis), x.dtype, x.mesh, _without(x.cuts, axis), x.partial - {axis}, made)


def reduce_scatter(x, axis, dim=0, reduction="sum"):
    """The sum of the axis's ranks, of which each keeps its part along a dimension."""
    from .sharded import Sharded
    if reduction == "sum":
        _warn_whole("reduce_scatter", x, axis)
    made = _reduced(x, axis, reduction)
    cuts = [list(axes) for axes in _without(x.cuts, axis)]
    dim %= len(cuts)
    cuts[dim].append(axis)
    result = Sharded(_shape_of_blocks(x, axis), x.dtype, x.mesh, map(tuple, cuts), x.partial - {axis}, [])
    for rank, t in enumerate(made):
        at, n = x.mesh.coordinates(rank)[axis], result.local_shape(rank)[dim]
        step = -(-t.shape[dim] // x.mesh.shape[axis])
        first = min(at * step, t.shape[dim])
        result._shards.append(t[(slice(None),) * dim + (slice(first, first + n),)])
    return result


def all_gather(x, axis):
    """Every rank has what the axis's ranks held: the dimension that it cuts is whole again."""
    if not any(axis in axes for axes in x.cuts):
        x.mesh.groups(axis)
        return x
    return x.with_cuts(_without(x.cuts, axis))


def all_to_all(x, axis, dim):
    """The dimension that the axis cuts becomes whole, and `dim` is cut by it instead."""
    cuts = [list(axes) for axes in _without(x.cuts, axis)]
    x.mesh.groups(axis)
    cuts[dim % len(cuts)].append(axis)
    return x.with_cuts(tuple(map(tuple, cuts)))


def broadcast(x, axis, root=0):
    """Every rank has the block of the axis's rank `root`."""
    from .sharded import Sharded
    made = [None] * x.mesh.size
    for ranks in x.mesh.groups(axis):
        if not 0 <= root < len(ranks):
            raise errors.argument(f"root {root} of {len(ranks)} ranks", "collective.broadcast")
        for r in ranks:
            made[r] = x.shards[ranks[root]].to(x.mesh.device_of(r))
    return Sharded(_shape_of_blocks(x, axis), x.dtype, x.mesh, _without(x.cuts, axis), x.partial - {axis}, made)
