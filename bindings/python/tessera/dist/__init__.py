"""Meshes of ranks in this process and tensors that are spread over them: ops and kernels on these are programs on all
ranks, with the collectives that the library finds cheapest between.

    mesh = dist.Mesh(axes=["dp", "tp"], devices=range(4))
    A = dist.tensor((128, 64), layout=dist.ShardSpec(("row",), ("dp",)), mesh=mesh)
    A[:] = array                # the ranks' parts of it
    C = op.matmul(A, B)         # what is a sum of parts is known as partial"""
from . import collective
from .mesh import Mesh, ShardSpec, mesh
from .sharded import ShardWarning, Sharded, distribute, tensor
from .spmd import DistProgram, autoshard

__all__ = ["DistProgram", "Mesh", "ShardSpec", "ShardWarning", "Sharded", "autoshard", "collective", "distribute",
           "mesh", "tensor"]
