"""Collectives between the ranks of a mesh axis, as the library's ops of the same names. Of a sum of parts (partial)
all_reduce and reduce_scatter give the tensor itself; of blocks that are whole they add up what the ranks of the axis
hold, block by block, and say so."""
from __future__ import annotations

import ctypes

from .. import capi, errors, trace


def _raw(x, name, axis, attributes):
    """The Description that a collective of the ranks' own blocks gives: each rank's program is the op alone."""
    for what, value in attributes:
        if not isinstance(value, (int, str)):
            raise errors.argument(f"{what} {value!r:.80}", "collective")
    from . import spmd
    key = ("collective", name, axis, x.dtype, x._part(0)[1], attributes)
    program = x.mesh.programs.get(key)
    if program is None:
        made = trace.Trace(name)
        block = made.input("x", x.dtype, x._part(0)[1])
        out, = made.op(name, [block], [("axes", axis), ("ranks", x.mesh.extent(axis)), *attributes])
        program = x.mesh.programs[key] = spmd.compile_trace(x.mesh, made, [], [out], [None])
    own = program.input(0)
    _copy(x.held, own)
    return program.run([own])[0]


def _copy(source, target):
    """Every rank's part of one tensor into another's, whose parts have the same shapes."""
    mesh = source.mesh
    with mesh.held():
        for rank in range(mesh.size):
            parts = [ctypes.c_void_p(), ctypes.c_void_p()]
            for held, part in zip((source, target), parts):
                capi.tsr_dist_tensor_local(held.handle, rank, ctypes.byref(part))
            n = capi.tsr_buffer_bytes(parts[0])
            if n != capi.tsr_buffer_bytes(parts[1]):
                raise errors.argument("parts of other sizes: the extents aren't cut evenly", "collective",
                                      "extents that the axis divides")
            memory = (ctypes.c_char * max(n, 1))()
            capi.tsr_buffer_read(parts[0], 0, memory, n)
            capi.tsr_buffer_write(parts[1], 0, memory, n)


def _as(x, raw, shape, cuts):
    """The blocks of a rank's program as a tensor of this shape and these cuts."""
    from .mesh import spec_of
    from .sharded import make
    made = make(shape, x.dtype, x.mesh, spec_of(cuts))
    _copy(raw, made.held)
    return made


def _warn_whole(name, x, axis, reduction):
    from .sharded import warn
    x.mesh.extent(axis)
    if axis not in x.partial and reduction == "sum":
        warn(f"{name}(axis={axis!r}): the operand is no sum of parts along it ({x!r}); "
             "the ranks' blocks are added up as they are")


def _without(cuts, axis):
    return tuple(tuple(a for a in axes if a != axis) for axes in cuts)


def _shape_of_blocks(x, axis):
    """The tensor's extents where the blocks along an axis are taken for one."""
    n = x.mesh.extent(axis)
    for d, axes in zip(x.shape, x.cuts):
        if axis in axes and d % n:
            raise errors.argument(f"blocks of an extent of {d} along {axis!r}, which has {n} ranks", "collective",
                                  "extents that the axis divides")
    return tuple(d // n if axis in axes else d for d, axes in zip(x.shape, x.cuts))


def all_reduce(x, axis, reduction="sum"):
    """Every rank has the sum (min, max, prod) of the axis's ranks."""
    x.mesh.extent(axis)
    if axis in x.partial and reduction == "sum":
        return x.added_up(axis)
    _warn_whole("all_reduce", x, axis, reduction)
    x = x.summed()
    shape = _shape_of_blocks(x, axis)
    raw = _raw(x, "all_reduce", axis, (("reduction", reduction),))
    return _as(x, raw, shape, _without(x.cuts, axis))


def reduce_scatter(x, axis, dim=0, reduction="sum"):
    """The sum of the axis's ranks, of which each keeps its part along a dimension."""
    x.mesh.extent(axis)
    dim = errors.whole(dim, "collective", -x.ndim, x.ndim - 1)
    if axis in x.partial and reduction == "sum":
        return x.scattered(axis, dim)
    _warn_whole("reduce_scatter", x, axis, reduction)
    x = x.summed()
    shape = _shape_of_blocks(x, axis)
    raw = _raw(x, "reduce_scatter", axis, (("dim", dim), ("reduction", reduction)))
    cuts = [list(axes) for axes in _without(x.cuts, axis)]
    cuts[dim].append(axis)
    return _as(x, raw, shape, tuple(map(tuple, cuts)))


def all_gather(x, axis):
    """Every rank has what the axis's ranks held: the dimension that it cuts is whole again."""
    from .mesh import spec_of
    x.mesh.extent(axis)
    return x.redistribute(spec_of(_without(x.cuts, axis)))


def all_to_all(x, axis, dim):
    """The dimension that the axis cuts becomes whole, and `dim` is cut by it instead."""
    from .mesh import spec_of
    x.mesh.extent(axis)
    dim = errors.whole(dim, "collective", -x.ndim, x.ndim - 1)
    cuts = [list(axes) for axes in _without(x.cuts, axis)]
    cuts[dim].append(axis)
    return x.redistribute(spec_of(cuts))


def broadcast(x, axis, root=0):
    """Every rank has the block of the axis's rank `root`."""
    root = errors.whole(root, "collective", 0, x.mesh.extent(axis) - 1)
    x = x.summed()
    shape = _shape_of_blocks(x, axis)
    raw = _raw(x, "broadcast_from", axis, (("root", root),))
    return _as(x, raw, shape, _without(x.cuts, axis))
