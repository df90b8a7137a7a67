"""Meshes of ranks and tensors that are shards on them. The ranks are those of this process: each has its own memory, the
library computes every rank's part, and collectives move data between them.

    mesh = dist.Mesh(axes=["dp", "tp"], devices=range(4))
    A = dist.tensor((128, 64), layout=dist.ShardSpec(("row",), ("dp",)), mesh=mesh)
    A[:] = array                # the ranks' parts of it
    C = op.matmul(A, B)         # each rank's block; what is a sum of parts is known as partial"""
from . import collective
from .mesh import Mesh, ShardSpec, mesh
from .sharded import ShardWarning, Sharded, distribute, tensor

__all__ = ["Mesh", "ShardSpec", "ShardWarning", "Sharded", "collective", "distribute", "mesh", "tensor"]
