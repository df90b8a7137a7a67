"""Meshes of in-process ranks: places, blocks, what ops and collectives do to layouts, values against the whole."""
import unittest
import warnings

import tessera
from tessera import dist, op


def numbers(*shape):
    key = tessera.tensor([3, 4], dtype="i32")
    return op.floor(op.rng_uniform(key, shape=shape) * 16.0) - 8.0  # whole numbers: sums are exact


class Meshes(unittest.TestCase):
    def test_extents_are_as_equal_as_they_can_be(self):
        for n, axes, want in ((72, 3, (6, 4, 3)), (8, 2, (4, 2)), (16, 2, (4, 4)), (7, 2, (7, 1)), (1, 2, (1, 1))):
            self.assertEqual(tuple(dist.Mesh("abc"[:axes], range(n)).shape.values()), want)

    def test_places_groups_and_text(self):
        m = dist.mesh({"dp": 2, "tp": 3}, range(6))
        self.assertEqual(m.coordinates(4), {"dp": 0, "tp": 2})
        self.assertEqual(m.groups("tp"), [[0, 2, 4], [1, 3, 5]])
        self.assertEqual(m.groups("dp"), [[0, 1], [2, 3], [4, 5]])
        self.assertIn("rank 5: dp 1 tp 2", m.topology())

    def test_wrong_meshes_and_layouts(self):
        m = dist.mesh({"dp": 2, "tp": 3}, range(6))
        for wrong in (lambda: dist.Mesh([], range(2)), lambda: dist.Mesh(["a", "a"], range(4)),
                      lambda: dist.Mesh(["a"], range(4), shape=(3,)), lambda: m.groups("x"),
                      lambda: dist.ShardSpec(("row",), ()), lambda: dist.Mesh(["a"], []),
                      lambda: dist.tensor((2, 2), dist.ShardSpec(("row",), ("x",)), m),
                      lambda: dist.tensor((2, 2), dist.ShardSpec((5,), ("tp",)), m)):
            with self.assertRaises(tessera.ArgumentError):
                wrong()


class Lives(unittest.TestCase):
    def test_a_mesh_goes_with_its_programs_and_tensors_in_any_order(self):
        import gc
        import weakref
        gone = []
        for seed in range(6):
            mesh = dist.mesh({"dp": 2, "tp": 2}, range(4))
            x = dist.distribute(numbers(4, 4), dist.ShardSpec(("row",), ("dp",)), mesh)
            y = op.relu(x @ x)
            kept = [mesh, x, y] if seed % 2 else [y, x, mesh]
            kept.append(kept)
            mesh.me = kept
            gone.append(weakref.ref(mesh))
            del mesh, x, y, kept
        gc.collect()
        op.add([1.0], 1.0)
        self.assertEqual([r() for r in gone], [None] * 6)


class Tensors(unittest.TestCase):
    mesh = dist.mesh({"dp": 2, "tp": 3}, range(6))

    def cut(self, x, *names):
        return dist.distribute(x, dist.ShardSpec([n for n, _ in names], [a for _, a in names]), self.mesh)

    def test_blocks_cover_uneven_extents_once(self):
        t = dist.tensor((7, 5), dist.ShardSpec(("row", "col"), ("dp", "tp")), self.mesh)
        self.assertTrue(t.is_virtual)
        self.assertEqual([t.local_shape(r) for r in range(6)], [(4, 2), (3, 2), (4, 2), (3, 2), (4, 1), (3, 1)])
        x = numbers(7, 5)
        t[:] = x
        self.assertEqual(t.gather().tolist(), x.tolist())
        self.assertEqual(t.shard(5).tolist(), x[4:, 4:].tolist())

    def test_two_axes_on_one_dimension_and_more_ranks_than_rows(self):
        x = numbers(5, 2)
        t = self.cut(x, ("row", "dp"), ("row", "tp"))
        self.assertEqual([t.local_shape(r)[0] for r in range(6)], [1, 1, 1, 1, 1, 0])
        self.assertEqual(t.gather().tolist(), x.tolist())

    def test_products_of_every_pair_of_layouts(self):
        a, b = numbers(6, 12), numbers(12, 9)
        want = (a @ b).tolist()
        layouts = [(), (("row", "dp"),), (("col", "tp"),), (("row", "dp"), ("col", "tp")), (("row", "tp"),),
                   (("col", "dp"),), (("row", "tp"), ("col", "dp"))]
        for first in layouts:
            for second in layouts:
                c = op.matmul(self.cut(a, *first), self.cut(b, *second))
                self.assertEqual(c.gather().tolist(), want, (first, second))

    def test_a_sum_of_parts_is_known_and_finished_by_collectives(self):
        a, b = numbers(6, 12), numbers(12, 9)
        want = (a @ b).tolist()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            c = self.cut(a, ("col", "tp")) @ self.cut(b, ("row", "tp"))
            self.assertEqual(c.partial, {"tp"})
            self.assertNotEqual(c.shard(0).tolist(), want)
            whole = dist.collective.all_reduce(c, "tp")
            self.assertEqual((whole.partial, whole.shard(4).tolist()), (frozenset(), want))
            parts = dist.collective.reduce_scatter(c, "tp")
            self.assertEqual((parts.cuts, parts.local_shape(0)), ((("tp",), ()), (2, 9)))
            self.assertEqual(dist.collective.all_gather(parts, "tp").shard(5).tolist(), want)
            self.assertEqual(op.relu(c).tolist(), [[max(v, 0) for v in row] for row in want])

    def test_a_kernel_is_one_program_on_all_ranks(self):
        x, w1, w2 = numbers(8, 12), numbers(12, 6), numbers(6, 4)

        @op.kernel
        def layers(x, w1, w2, k):
            return op.relu(x @ w1) @ w2 * k
        X, A, B = self.cut(x, ("row", "dp")), self.cut(w1, ("col", "tp")), self.cut(w2, ("row", "tp"))
        y = layers(X, A, B, 0.5)
        self.assertEqual(y.partial, frozenset())
        self.assertEqual(y.tolist(), (op.relu(x @ w1) @ w2 * 0.5).tolist())
        program = layers.program(X, A, B, 0.5)
        self.assertTrue({c["axes"] for c in program.collectives()} <= {"tp"} and program.collectives())
        self.assertIn("tessera.graph.", str(program))
        self.assertIn("tp", program.explain())
        with self.assertRaises(tessera.ArgumentError):
            op.kernel(lambda x: x @ tessera.zeros((12, 2)))(X)

    def test_layouts_are_searched(self):
        x, w1, w2 = numbers(8, 12), numbers(12, 6), numbers(6, 4)
        program, why = dist.autoshard(lambda x, v, w: op.relu(x @ v) @ w, self.mesh, x, w1, w2)
        self.assertTrue(why)
        y, = program(x, w1, w2)
        self.assertEqual(y.tolist(), (op.relu(x @ w1) @ w2).tolist())
        with self.assertRaises(tessera.ArgumentError):
            program(x)

    def test_elementwise_ops_and_kernels_stay_on_their_ranks(self):
        x = numbers(6, 6)
        t = self.cut(x, ("row", "dp"), ("col", "tp"))
        y = op.abs(t) * 2 + t
        self.assertEqual((y.cuts, y.tolist()), (t.cuts, (op.abs(x) * 2 + x).tolist()))

        @op.kernel
        def add(A, B, C):
            C[:] = A + B
        out = dist.tensor((6, 6), dist.ShardSpec(("row", "col"), ("dp", "tp")), self.mesh)
        add(t, t, out)
        self.assertEqual(out.tolist(), (x + x).tolist())

    def test_all_to_all_broadcast_and_other_ops(self):
        x = numbers(6, 6)
        t = self.cut(x, ("row", "tp"))
        moved = dist.collective.all_to_all(t, "tp", dim=1)
        self.assertEqual((moved.cuts, moved.tolist()), (((), ("tp",)), x.tolist()))
        first = dist.collective.broadcast(t, "tp", root=1)
        self.assertEqual(first.tolist(), x[2:4].tolist())
        self.assertEqual(op.reduce_sum(t).tolist(), x.sum().item())
        self.assertEqual(t.redistribute(dist.ShardSpec(("col",), ("dp",))).tolist(), x.tolist())

    def test_a_sum_over_whole_blocks_is_warned_of(self):
        t = self.cut(numbers(6, 6), ("col", "tp"))
        with self.assertWarns(dist.ShardWarning):
            dist.collective.all_reduce(t, "tp")
        with self.assertRaises(tessera.ArgumentError):
            dist.collective.all_reduce(t, "tp", reduction="average")
        with self.assertRaises(tessera.ArgumentError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dist.collective.all_reduce(self.cut(numbers(6, 7), ("col", "tp")), "tp")


if __name__ == "__main__":
    unittest.main()
