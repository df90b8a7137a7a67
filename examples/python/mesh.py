"""A layer cut over a mesh of eight in-process ranks, two batches by four parts of the weights: its values are those of
one rank."""
import array

from tessera import dist, op


def numbers(seed, *shape):
    return op.rng_normal(array.array("i", [seed, 1]), shape=shape)


mesh = dist.mesh({"tp": 4, "dp": 2}, devices=range(8))
print(mesh.topology())
x, w1, w2 = numbers(1, 16, 12), numbers(2, 12, 20), numbers(3, 20, 12)
X = dist.distribute(x, dist.ShardSpec(("row",), ("dp",)), mesh)
W1 = dist.distribute(w1, dist.ShardSpec(("col",), ("tp",)), mesh)
W2 = dist.distribute(w2, dist.ShardSpec(("row",), ("tp",)), mesh)
hidden = op.relu(X @ W1)          # columns stay where they are
part = hidden @ W2                # a sum of parts along tp
print(hidden, part, sep="\n")
out = dist.collective.all_reduce(part, "tp")
print(out)
want = op.relu(x @ w1) @ w2
assert op.abs(out.gather() - want).max().item() < 1e-4


@op.kernel
def layers(x, w1, w2):
    return op.relu(x @ w1) @ w2


assert op.abs(layers(X, W1, W2).gather() - want).max().item() < 1e-4
print(layers.program(X, W1, W2).explain())

huge = dist.tensor((1_000_000, 1_000_000), layout=dist.ShardSpec(("row", "col"), ("tp", "dp")), mesh=mesh)
assert huge.is_virtual
print(f"{huge.nbytes / 1e12:.0f} TB in parts of {huge.local_shape(0)}, none of it in memory")
