"""A mesh: ranks on named axes; and which dimension of a tensor is cut along which axis."""
from __future__ import annotations

from .. import errors


def factorise(n, parts):
    """n as a product of so many factors, as equal as they can be, the larger ones first: 72 by 3 is 6, 4, 3."""
    def search(rest, left, most):
        if left == 1:
            return [(rest,)] if rest <= most else []
        return [(f, *tail) for f in range(min(rest, most), 0, -1) if not rest % f
                for tail in search(rest // f, left - 1, f)]
    return min(search(n, parts, n), key=lambda f: (f[0] - f[-1], f[0]))


class Mesh:
    """Ranks on axes: Mesh(axes=["tp", "dp"], devices=range(8)). `shape` gives the extents, else they are as equal as
    the number of ranks allows, larger ones first. `devices` names a rank each: numbers (all on the default device) or
    device ids."""

    def __init__(self, axes, devices, shape=None):
        self.axes = tuple(axes)
        self.devices = list(range(devices)) if isinstance(devices, int) else list(devices)
        if not self.axes or len(set(self.axes)) != len(self.axes):
            raise errors.argument(f"axes {list(axes)}", "dist.Mesh", "at least one, each named once")
        if not self.devices:
            raise errors.argument("no devices", "dist.Mesh")
        extents = factorise(len(self.devices), len(self.axes)) if shape is None else tuple(shape)
        n = 1
        for e in extents:
            n *= e
        if len(extents) != len(self.axes) or n != len(self.devices):
            raise errors.argument(f"shape {extents} for {len(self.axes)} axes and {len(self.devices)} devices",
                                  "dist.Mesh")
        self.shape = dict(zip(self.axes, extents))

    @property
    def size(self):
        return len(self.devices)

    def __len__(self):
        return self.size

    def coordinates(self, rank) -> dict:
        """The place of a rank on each axis; the last axis is the innermost."""
        place = {}
        for axis in reversed(self.axes):
            rank, place[axis] = divmod(rank, self.shape[axis])
        return place

    def groups(self, axis) -> list:
        """Lists of the ranks that differ along this axis alone, in its order."""
        if axis not in self.shape:
            raise errors.argument(f"no axis {axis!r}", "dist.Mesh", ", ".join(self.axes))
        groups: dict = {}
        for rank in range(self.size):
            place = self.coordinates(rank)
            groups.setdefault(tuple(v for a, v in place.items() if a != axis), []).append(rank)
        return list(groups.values())

    def device_of(self, rank):
        from .. import runtime
        named = self.devices[rank]
        return runtime.device(named if isinstance(named, str) else None)

    def __repr__(self):
        return f"Mesh({' x '.join(f'{a}={n}' for a, n in self.shape.items())}, {self.size} ranks)"

    def topology(self) -> str:
        """A line per rank: its place and device."""
        lines = [repr(self)]
        for rank in range(self.size):
            place = " ".join(f"{a}={self.coordinates(rank)[a]}" for a in self.axes)
            lines.append(f"  rank {rank}: {place}  device {self.devices[rank]}")
        return "\n".join(lines)


def mesh(axes, devices, shape=None) -> Mesh:
    """Mesh(axes, devices, shape); axes may also be a dict of extents: mesh({"dp": 2, "tp": 4}, range(8))."""
    if isinstance(axes, dict):
        return Mesh(list(axes), devices, list(axes.values()))
    return Mesh(axes, devices, shape)


class ShardSpec:
    """Dimension partition[i] is cut along mesh axis mesh_axes[i]. A dimension is "row" (the last but one; of vectors
    the only one), "col" (the last), "batch" (the first) or its number; what isn't named is replicated."""

    def __init__(self, partition=(), mesh_axes=()):
        self.partition, self.mesh_axes = tuple(partition), tuple(mesh_axes)
        if len(self.partition) != len(self.mesh_axes) or len(set(self.mesh_axes)) != len(self.mesh_axes):
            raise errors.argument(f"partition {self.partition} along axes {self.mesh_axes}", "dist.ShardSpec",
                                  "as many axes as dimensions, each axis once")

    def __repr__(self):
        return f"ShardSpec({self.partition}, {self.mesh_axes})"

    def axes_of(self, rank, mesh) -> tuple:
        """For a tensor of this rank: the mesh axes that cut each dimension."""
        cuts: list = [[] for _ in range(rank)]
        for name, axis in zip(self.partition, self.mesh_axes):
            if axis not in mesh.shape:
                raise errors.argument(f"no axis {axis!r} in {mesh}", "dist.ShardSpec")
            if name is None:
                continue
            at = {"row": max(rank - 2, 0), "col": rank - 1, "batch": 0}.get(name, name)
            if not isinstance(at, int) or not -rank <= at < rank:
                raise errors.argument(f"no dimension {name!r} of {rank}", "dist.ShardSpec", 'row, col, batch, a number')
            cuts[at % rank].append(axis)
        return tuple(map(tuple, cuts))
