"""A mesh: ranks on named axes; and which dimension of a tensor is cut along which axis."""
from __future__ import annotations

import contextlib
import ctypes

from .. import capi, errors, runtime
from ..runtime import Handle, text_of


class MeshHandle(Handle):
    """A handle that needs its mesh when it is destroyed. Python may find both unused at once, and then begins with
    either: the mesh waits for those that it counts."""

    def __init__(self, handle, mesh):
        super().__init__(handle, mesh)
        self.mesh = mesh
        mesh.users += 1

    def __del__(self):
        handle, self.handle = self.handle, None
        if handle and handle.value and not runtime._ending:
            self.mesh.devices[0].discard(self.destroy, handle, self.mesh.release)


class Mesh(Handle):
    """Ranks on axes: Mesh(axes=["tp", "dp"], devices=range(8)); along the axis named first ranks are neighbours.
    `shape` gives the extents, else they are as equal as the number of ranks allows, larger ones first. `devices` names
    a rank each: numbers (all on the default device) or device ids."""
    destroy = "tsr_mesh_destroy"

    def __init__(self, axes, devices, shape=None):
        self.axes = errors.listed(axes, "dist.Mesh", "axes")
        if isinstance(devices, int):
            devices = range(errors.whole(devices, "dist.Mesh", 1, 2**20))
        given = errors.listed(devices, "dist.Mesh", "devices")
        if not given:
            raise errors.argument("no devices", "dist.Mesh")
        self.devices = [runtime.device(d if isinstance(d, str) else None) for d in given]
        names = (ctypes.c_char_p * max(len(self.axes), 1))(*map(capi.utf8, self.axes))
        handles = (ctypes.c_void_p * len(given))(*(d.handle.value for d in self.devices))
        desc = capi.tsr_mesh_desc(axes=names, n_axes=len(self.axes), ranks=len(given), devices=handles,
                                  n_devices=len(given))
        if shape is not None:
            shape = errors.listed(shape, "dist.Mesh", "extents")
            if len(shape) != len(self.axes):
                raise errors.argument(f"shape {shape} for {len(self.axes)} axes", "dist.Mesh")
            sizes = (ctypes.c_int64 * len(self.axes))(*(errors.whole(n, "dist.Mesh") for n in shape))
            desc.sizes = sizes
        handle = ctypes.c_void_p()
        capi.tsr_mesh_create(runtime.context().handle, ctypes.byref(desc), ctypes.byref(handle))
        super().__init__(handle, self.devices)
        self.users, self.unused = 0, False
        self.size = capi.tsr_mesh_ranks(handle)
        self.shape = {a: capi.tsr_mesh_size(handle, capi.utf8(a)) for a in self.axes}
        self.programs = {}  # of single ops, by what was asked for

    def __del__(self):
        self.unused = True
        if not self.handle or not self.users:
            super().__del__()

    def release(self):
        """One of its handles is destroyed."""
        self.users -= 1
        if self.unused and not self.users:
            super().__del__()

    def __len__(self):
        return self.size

    def coordinates(self, rank) -> dict:
        """The place of a rank on each axis."""
        rank = errors.whole(rank, "dist.Mesh", 0, self.size - 1)
        return {a: capi.tsr_mesh_coordinate(self.handle, rank, capi.utf8(a)) for a in self.axes}

    def groups(self, axis) -> list:
        """Lists of the ranks that differ along this axis alone, in its order."""
        self.extent(axis)
        groups: dict = {}
        for rank in range(self.size):
            groups.setdefault(tuple(v for a, v in self.coordinates(rank).items() if a != axis), []).append(rank)
        return list(groups.values())

    def extent(self, axis):
        """The number of ranks along an axis."""
        if not isinstance(axis, str) or axis not in self.shape:
            raise errors.argument(f"no axis {axis!r}", "dist.Mesh", ", ".join(self.axes))
        return self.shape[axis]

    @contextlib.contextmanager
    def held(self):
        """All of its devices for this thread alone."""
        with contextlib.ExitStack() as stack:
            for device in sorted(set(self.devices), key=lambda d: d.id):
                stack.enter_context(device.held())
            yield

    def __repr__(self):
        return f"Mesh({' x '.join(f'{a}={n}' for a, n in self.shape.items())}, {self.size} ranks)"

    def topology(self) -> str:
        """A line per rank: its place and device."""
        with text_of() as t:
            capi.tsr_mesh_print(self.handle, t.out)
        return t.value


def mesh(axes, devices, shape=None) -> Mesh:
    """Mesh(axes, devices, shape); axes may also be a dict of extents: mesh({"dp": 2, "tp": 4}, range(8))."""
    if isinstance(axes, dict):
        return Mesh(list(axes), devices, list(axes.values()))
    return Mesh(axes, devices, shape)


class ShardSpec:
    """Part partition[i] is cut along mesh axis mesh_axes[i]. A part is "row" (the last dimension but one; of vectors
    the only one), "col" (the last), "batch", "head", "channel", "seq", or a dimension's number; what isn't named is
    repeated. A part that is named several times is cut by all of these axes."""

    def __init__(self, partition=(), mesh_axes=()):
        self.partition = tuple(map(str, errors.listed(partition, "dist.ShardSpec", "parts")))
        self.mesh_axes = errors.listed(mesh_axes, "dist.ShardSpec", "mesh axes")
        if len(self.partition) != len(self.mesh_axes):
            raise errors.argument(f"partition {self.partition} along axes {self.mesh_axes}", "dist.ShardSpec",
                                  "as many axes as parts")

    def __repr__(self):
        return f"ShardSpec({self.partition}, {self.mesh_axes})"

    def raw(self):
        """The library's struct, which keeps what it points to."""
        def texts(names):
            return (ctypes.c_char_p * max(len(names), 1))(*map(capi.utf8, names))
        return capi.tsr_shardspec(partition=texts(self.partition), mesh_axes=texts(self.mesh_axes),
                                  n=len(self.partition))


def spec_of(cuts):
    """The ShardSpec of cuts, the mesh axes of each dimension."""
    pairs = [(i, axis) for i, axes in enumerate(cuts) for axis in axes]
    return ShardSpec([i for i, _ in pairs], [a for _, a in pairs])
