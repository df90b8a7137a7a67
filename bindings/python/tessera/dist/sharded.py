"""Tensors that are spread over a mesh. Each has, per dimension, the mesh axes that cut it; a product may be a sum of
parts besides (product.py). A tensor without contents takes no memory until it is computed with: its elements are zeros
then."""
from __future__ import annotations

import ctypes
import functools
import warnings

from .. import arrays, capi, dtypes, errors, op, trace
from ..operators import Operators
from ..program import Storage
from ..runtime import text_of
from ..tensors import Tensor, tensor as whole_tensor
from . import spmd
from .mesh import Mesh, MeshHandle, ShardSpec


class ShardWarning(UserWarning):
    """A collective that the layout of its operand has no use for."""


class Description(MeshHandle):
    """The library's tensor of a mesh."""
    destroy = "tsr_dist_tensor_destroy"

    def cuts(self):
        """The mesh axes of each dimension."""
        with text_of() as t:
            capi.tsr_dist_tensor_print(self.handle, t.out)
        return tuple(() if c == "*" else tuple(c.split("+")) for c in t.value.split(",") if c)


class _Borrowed(Storage):
    """A part's buffer, which belongs to the tensor that is its `keep`."""

    def __del__(self):
        pass


def distribute(x, layout, mesh, dtype=None):
    """An array in parts on the ranks of a mesh."""
    x = whole_tensor(x, dtype)
    made = tensor(x.shape, layout, mesh, x.dtype)
    made[:] = x
    return made


def tensor(shape, layout=None, mesh=None, dtype="f32"):
    """A tensor of zeros with this layout; without a mesh one of this process alone. It takes no memory until it is
    computed with or written."""
    shape = (shape,) if isinstance(shape, int) else errors.listed(shape, "dist.tensor", "dimensions")
    return make(shape, dtypes.of(dtype), mesh or _local_mesh(), layout or ShardSpec())


def make(shape, dtype, mesh, layout):
    if not isinstance(mesh, Mesh):
        raise errors.argument(f"{type(mesh).__name__} is no mesh", "dist.tensor", "a dist.Mesh")
    if not isinstance(layout, ShardSpec):
        raise errors.argument(f"{type(layout).__name__} is no layout", "dist.tensor", "a dist.ShardSpec")
    handle = ctypes.c_void_p()
    capi.tsr_dist_tensor_create(mesh.handle, dtypes.CODES[dtype], trace.shape_struct(shape),
                                ctypes.byref(layout.raw()), capi.TSR_UNEVEN_PAD, ctypes.byref(handle))
    return Sharded(shape, dtype, Description(handle, mesh))


@functools.lru_cache(maxsize=None)
def _local_mesh():
    """That of tensors without one: this process alone."""
    return Mesh(["local"], range(1))


class Sharded(Operators):
    """See the module. `cuts`: the mesh axes that cut each dimension, outermost first; `partial`: those along which the
    ranks have parts of a sum."""
    __slots__ = ("shape", "dtype", "mesh", "cuts", "held", "__weakref__")
    partial = frozenset()

    def __init__(self, shape, dtype, held):
        self.shape, self.dtype, self.held, self.mesh = tuple(shape), dtype, held, held.mesh
        self.cuts = held.cuts()

    ndim = property(lambda self: len(self.shape))
    nbytes = property(lambda self: arrays.count(self.shape) * dtypes.size(self.dtype))
    is_virtual = property(lambda self: capi.tsr_dist_tensor_allocated(self.held.handle) == 0 and self.nbytes > 0)

    def __repr__(self):
        cuts = ", ".join(f"{d}{'/' + '*'.join(c) if c else ''}" for d, c in zip(self.shape, self.cuts))
        part = f", partial over {', '.join(sorted(self.partial))}" if self.partial else ""
        return f"<sharded {self.dtype} [{cuts}]{part} on {self.mesh}>"

    # ---- the ranks' parts ------------------------------------------------------------------------------------------

    def _part(self, rank):
        rank = errors.whole(rank, "dist", 0, self.mesh.size - 1)
        starts, sizes = (ctypes.c_int64 * capi.TSR_MAX_RANK)(), (ctypes.c_int64 * capi.TSR_MAX_RANK)()
        local = capi.tsr_shape()
        capi.tsr_dist_tensor_part(self.held.handle, rank, starts, sizes, ctypes.byref(local))
        return list(zip(starts[:self.ndim], sizes[:self.ndim])), trace.shape_of(local)

    def block(self, rank):
        """[(first, number)] of a rank's part, per dimension."""
        return self._part(rank)[0]

    def local_shape(self, rank):
        """The shape of a rank's part."""
        return tuple(n for _, n in self.block(rank))

    def padded(self, rank) -> Tensor:
        """A rank's part with the padding that makes all parts alike."""
        handle, shape = ctypes.c_void_p(), self._part(rank)[1]
        device = self.mesh.devices[rank]
        with device.held():
            capi.tsr_dist_tensor_local(self.held.handle, rank, ctypes.byref(handle))
            address = capi.tsr_buffer_map(handle) if device.on_host else None
        nbytes = arrays.count(shape) * dtypes.size(self.dtype)
        return Tensor(self.dtype, shape, storage=_Borrowed(handle, device, nbytes, address, self.held))

    def shard(self, rank) -> Tensor:
        """A rank's part, a copy of its memory."""
        whole = self.padded(rank)
        part = whole[tuple(slice(0, n) for _, n in self.block(rank))]
        return part.copy() if part is whole else part

    def __setitem__(self, key, given):
        if not (key is Ellipsis or isinstance(key, slice) and key == slice(None)):
            raise errors.argument("a part of a sharded tensor can't be written", "dist", "A[:] = the whole")
        if trace.is_number(given):
            given = op.broadcast(Tensor.number(given, self.dtype, self.mesh.devices[0]), shape=self.shape)
        x = given.gather() if isinstance(given, Sharded) else whole_tensor(given, self.dtype)
        if x.shape != self.shape:
            raise errors.argument(f"shape {x.shape} for {self.shape}", "dist")
        held = x.view()
        with self.mesh.held():
            capi.tsr_dist_tensor_scatter(self.held.handle, held.address or None)

    def gather(self) -> Tensor:
        """The whole, sums of parts added up."""
        x = self.summed()
        memory = (ctypes.c_char * max(x.nbytes, 1))()
        with x.mesh.held():
            capi.tsr_dist_tensor_gather(x.held.handle, memory)
        view = arrays.View(ctypes.addressof(memory), x.dtype, x.shape, None, memory, True)
        return Tensor.of_view(view, x.mesh.devices[0])

    def numpy(self):
        return self.gather().numpy()

    def __array__(self, dtype=None, copy=None):
        return self.gather().__array__(dtype, copy)

    def tolist(self):
        return self.gather().tolist()

    def redistribute(self, layout):
        """The same tensor with another ShardSpec."""
        whole = make(self.shape, self.dtype, self.mesh, layout)
        if self.cuts == whole.cuts:
            return self
        return spmd.run(lambda t: op.reshape(t, shape=self.shape), [self], [layout])[0]

    def summed(self):
        """The same with sums of parts added up."""
        return self

    # ---- operations ------------------------------------------------------------------------------------------------

    def apply_op(self, name, operands, given):
        """op.NAME on tensors of a mesh: one program on all ranks."""
        from . import product
        if name == "matmul" and product.is_sum_of_parts(operands, given):
            return product.Product(*operands, given)
        key = ("op", name, tuple(sorted((k, str(v)) for k, v in given.items())))
        outs = spmd.run(lambda *xs: op.apply(name, *xs, **given), operands, (), key)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def map_kernel(self, kernel, given):
        """A kernel on tensors of a mesh: one program on all ranks. Parameters that it writes keep their layout."""
        call = spmd.KernelCall(kernel, given)
        outs = spmd.run(*call.asked(), call.state)
        return call.finish(outs)


def warn(text):
    warnings.warn(text, ShardWarning, stacklevel=4)
