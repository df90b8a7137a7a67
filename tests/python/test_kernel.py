"""Kernels in Python: what is traced, what is written, what can't be traced and at which line; graphs of functions."""
import array
import re
import unittest

import tessera
from tessera import graph, numerics, op, schedule


def line_of(test, error):
    """The line number that a TraceError names."""
    found = re.match(r"(.*test_kernel\.py):(\d+): `(.*?)`", str(error))
    test.assertTrue(found, str(error))
    return found.group(3)


class Kernels(unittest.TestCase):
    def test_a_written_parameter_is_the_output_in_place(self):
        @op.kernel
        def add(A, B, C):
            schedule.vectorize(4)
            C[:] = A + B
        a, b, c = (array.array("f", v) for v in ([1, 2, 3], [10, 20, 30], [0, 0, 0]))
        self.assertIsNone(add(a, b, c))
        self.assertEqual(list(c), [11, 22, 33])
        t = tessera.zeros(3)
        add(a, b, t)
        self.assertEqual(t.tolist(), [11, 22, 33])

    def test_a_parameter_may_be_returned(self):
        @op.kernel
        def two(x, y):
            return x, y + 1
        a, b = two([1.0], [2.0])
        self.assertEqual((a.tolist(), b.tolist()), ([1.0], [3.0]))
        self.assertEqual(op.kernel(lambda x: x)([4.0]).tolist(), [4.0])

    def test_an_output_that_is_a_list_is_refused_before_anything_runs(self):
        @op.kernel
        def k(x, y):
            y[:] = x + 1
        with self.assertRaisesRegex(tessera.Error, "can't be written"):
            k([1.0], [0.0])

    def test_an_output_may_be_an_operand_too(self):
        @op.kernel
        def twice(A):
            A[:] = A + A
            A[:] = A * A
        a = array.array("f", [1, 2, 3])
        twice(a)
        self.assertEqual(list(a), [4, 16, 36])

    def test_outputs_of_other_types_and_gaps_are_stored(self):
        @op.kernel
        def halves(A, B):
            B[:] = A / 2
        b = array.array("d", [9] * 6)
        halves(array.array("f", [1, 2, 3]), memoryview(b)[::2])
        self.assertEqual(list(b), [0.5, 9, 1, 9, 1.5, 9])
        with self.assertRaises(tessera.ArgumentError):
            halves(array.array("f", [1.0]), b"12345678")

    def test_results_are_fused_into_one_program(self):
        @op.kernel
        def layer(x, w, b):
            return op.relu(x @ w + b)
        x, w, b = [[1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5]
        self.assertEqual(layer(x, w, b).tolist(), [[1.5, 0.0]])
        self.assertEqual(layer.graph(x, w, b).compile().n_kernels, 1)

    def test_several_results_numbers_and_captured_tensors(self):
        scale = tessera.tensor([2.0, 3.0])

        @op.kernel
        def both(x, k):
            return x * scale, x + k
        a, b = both([1.0, 1.0], 5.0)
        self.assertEqual((a.tolist(), b.tolist()), ([2, 3], [6, 6]))
        self.assertEqual(both([1.0, 1.0], 7.0)[1].tolist(), [8, 8])
        scale[:] = [4.0, 4.0]
        self.assertEqual(both([1.0, 1.0], 5.0)[0].tolist(), [4, 4])  # by reference

    def test_kernels_inside_of_kernels_are_one_graph(self):
        @op.kernel
        def square(x):
            return x * x

        @op.kernel
        def sum_of_squares(x):
            return square(x).sum()
        self.assertEqual(sum_of_squares([1.0, 2.0]).item(), 5.0)
        self.assertEqual(sum_of_squares.graph([1.0, 2.0]).ops(), {"mul": 1, "reduce_sum": 1})

    def test_loops_over_known_numbers_are_unrolled(self):
        @op.kernel
        def power(x, n):
            y = x
            for _ in range(n - 1):
                y = y * x
            return y
        self.assertEqual(power([2.0], 5).tolist(), [32.0])

    def test_a_schedule_holds_for_its_kernel_alone(self):
        @op.kernel
        def product(a, b):
            schedule.tile((16, 32, 8))
            return a @ b
        a = tessera.zeros((64, 64))
        kernel = product.graph(a, a).compile().kernels()[0]
        self.assertEqual(kernel["tile"][:2], [16, 32])
        self.assertEqual(schedule.current(), {})
        self.assertNotEqual(graph.trace(op.matmul, a, a).compile().kernels()[0]["tile"][:2], [16, 32])


class Control(unittest.TestCase):
    """op.if_ and op.while_ traced, and the same without a trace."""

    def both(self, body, *given):
        traced = op.kernel(body)(*given)
        plain = body(*(tessera.tensor(g) for g in given))
        self.assertEqual(traced.tolist(), plain.tolist())
        return traced.tolist()

    def test_a_branch_on_a_value(self):
        def absolute(x, y):
            return op.if_(x.sum() > 0, lambda x: x * 2 + y, lambda x: -x, x)
        self.assertEqual(self.both(absolute, [1.0, 2.0], [10.0, 10.0]), [12, 14])
        self.assertEqual(self.both(absolute, [-1.0, -2.0], [10.0, 10.0]), [1, 2])

    def test_a_loop_until_a_value(self):
        def halve(x, limit):
            return op.while_(lambda x: x.max() > limit, lambda x: x / 2, x)
        self.assertEqual(self.both(halve, [64.0, 3.0], tessera.tensor(5.0)), [4, 0.1875])

        def doubled(x):
            n, x = op.while_(lambda n, x: n < 5, lambda n, x: (n + 1, x + x), 0, x, max_trips=3)
            return x
        self.assertEqual(self.both(doubled, [1.0]), [8])

    def test_what_the_functions_give_must_fit(self):
        with self.assertRaises(tessera.Error):
            op.kernel(lambda x: op.if_(x.sum() > 0, lambda: (x, x), lambda: x))([1.0])
        with self.assertRaises(tessera.Error):
            op.kernel(lambda x: op.while_(lambda x: x.sum() > 0, lambda x: 3, x))([1.0])


class NotTraced(unittest.TestCase):
    def refused(self, body, *given):
        with self.assertRaises(tessera.TraceError) as caught:
            op.kernel(body)(*given)
        return line_of(self, caught.exception)

    def test_branches_numbers_and_memory_name_their_line(self):
        def branch(x):
            if x.sum() > 0:
                return x
            return -x

        def number(x):
            return x * float(x[0])

        def memory(x):
            return op.add(x, x.tolist()[0])

        def part(x):
            x[0:1] = x[1:2]

        def member(x):
            return x if 1.0 in x else -x
        x = [1.0, 2.0]
        self.assertEqual(self.refused(branch, x), "if x.sum() > 0:")
        self.assertEqual(self.refused(number, x), "return x * float(x[0])")
        self.assertEqual(self.refused(memory, x), "return op.add(x, x.tolist()[0])")
        self.assertEqual(self.refused(part, x), "x[0:1] = x[1:2]")
        self.assertEqual(self.refused(member, x), "return x if 1.0 in x else -x")

    def test_the_librarys_errors_name_the_line_too(self):
        @op.kernel
        def wrong(a):
            return a @ a
        with self.assertRaises(tessera.ArgumentError) as caught:
            wrong([[1.0, 2.0]])
        self.assertIn("test_kernel.py:", str(caught.exception))
        self.assertIn("return a @ a", str(caught.exception))

    def test_a_traced_tensor_that_leaves_its_kernel(self):
        kept = []

        @op.kernel
        def leak(x):
            kept.append(x)
            return x + 1
        leak([1.0])
        with self.assertRaises(tessera.TraceError):
            kept[0] + 1
        with self.assertRaises(tessera.TraceError):
            kept[0].numpy() if hasattr(kept[0], "numpy") else None

    def test_a_kernel_that_gives_nothing(self):
        with self.assertRaises(tessera.ArgumentError):
            op.kernel(lambda x: None)([1.0])
        with self.assertRaises(tessera.ArgumentError):
            op.kernel(lambda x: "text")([1.0])


class Graphs(unittest.TestCase):
    def test_a_function_is_traced_printed_and_read_again(self):
        g = graph.trace(lambda x, w: op.relu(x @ w), graph.spec((2, 3)), graph.spec((3, 4)))
        self.assertIn('"tessera.graph.matmul"(%x, %w)', str(g))
        again = graph.parse(str(g))
        self.assertEqual(str(graph.parse(str(g).encode())), str(again))
        for wrong in (b"", "", 3, None, "\ud800"):
            with self.assertRaises(tessera.ArgumentError):
                graph.parse(wrong)
        self.assertEqual(str(again), str(g))
        x, w = [[1.0, 2.0, 3.0]] * 2, [[1.0] * 4] * 3
        self.assertEqual(again(x, w).tolist(), g({"x": x, "w": w}).tolist())
        self.assertEqual(g.ops(), {"matmul": 1, "relu": 1})

    def test_unknown_dimensions_are_specialised(self):
        g = graph.trace(lambda x: op.softmax(x), graph.spec((None, 4)))
        for rows in (1, 3):
            out = g([[0.0] * 4] * rows)
            self.assertEqual(out.tolist(), [[0.25] * 4] * rows)
        with self.assertRaises(tessera.ArgumentError):
            g([[0.0] * 5])

    def test_gradients_tangents_and_the_reference(self):
        g = graph.trace(lambda x: (x * x * x).sum(), graph.spec((3,)))
        value, dx = g.grad()([1.0, 2.0, 3.0])
        self.assertEqual((value.item(), dx.tolist()), (36.0, [3.0, 12.0, 27.0]))
        _, tangent = g.jvp("x")([1.0, 2.0, 3.0], [1.0, 0.0, 0.0])
        self.assertEqual(tangent.item(), 3.0)
        scaled = g.grad_scaled(interval=2, growth=4.0)
        value, dx, skip, scale, count = scaled([1.0, 2.0, 3.0], 8.0, tessera.tensor(1, dtype="i32"))
        self.assertEqual((value.item(), dx.tolist(), skip.item()), (36.0, [3.0, 12.0, 27.0], False))
        self.assertEqual((scale.item(), count.item()), (32.0, 0))
        _, _, skip, scale, count = scaled([float("inf"), 2.0, 3.0], 8.0, tessera.tensor(1, dtype="i32"))
        self.assertEqual((skip.item(), scale.item(), count.item()), (True, 4.0, 0))
        (values, tolerance), = g.reference([1.0, 2.0, 3.0])
        self.assertEqual(values, [36.0])
        self.assertGreater(tolerance[0], 0)

    def test_levels_and_kernels_can_be_looked_at(self):
        g = graph.trace(lambda x: op.softmax(x), graph.spec((8, 16)))
        for level in ("graph", "schedule", "tile", "target"):
            self.assertIn(f"tessera.{level}.", g.dump(level, "cuda:sm_90a"))
        self.assertIn("__global__", g.dump("source", "cuda:sm_90a"))
        self.assertTrue(g.dump("explain"))
        with self.assertRaises(tessera.ArgumentError):
            g.dump("nothing")

    def test_wrong_text_and_wrong_arguments_are_one_line(self):
        for call in (lambda: graph.parse("nonsense"), lambda: graph.trace(lambda x: x, graph.spec((2,)))([1.0]),
                     lambda: graph.trace(lambda x: x, graph.spec((1,)))([1]),
                     lambda: graph.trace(lambda x: x, graph.spec((1,)))({"y": [1.0]}),
                     lambda: op.softmax([1.0], nothing=3), lambda: op.softmax([1.0], axis="a")):
            with self.assertRaises(tessera.ArgumentError) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(AttributeError):
            op.no_such_op


class Models(unittest.TestCase):
    """ONNX, from bytes that are put together here: a field is its number and wire type, then what it holds."""

    @staticmethod
    def field(number, value):
        def varint(n):
            out = bytearray()
            while n > 127:
                out.append(n & 127 | 128)
                n >>= 7
            return bytes(out + bytes([n]))
        if isinstance(value, int):
            return varint(number << 3) + varint(value)
        value = value.encode() if isinstance(value, str) else value
        return varint(number << 3 | 2) + varint(len(value)) + value

    def model(self, kind, dims=(2, 3)):
        f = self.field

        def info(name):
            shape = b"".join(f(1, f(1, d) if isinstance(d, int) else f(2, d)) for d in dims)
            return f(1, name) + f(2, f(1, f(1, 1) + f(2, shape)))
        node = f(1, "x") + f(1, "x") + f(2, "y") + f(4, kind)
        graph_ = f(1, node) + f(2, "g") + f(11, info("x")) + f(12, info("y"))
        return f(1, 8) + f(7, graph_) + f(8, f(1, "") + f(2, 17))

    def test_a_model_runs_from_bytes_and_from_a_file(self):
        x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        g = graph.load(self.model("Add"))
        self.assertEqual(([i.name for i in g.inputs], g({"x": x}).tolist()), (["x"], [[2, 4, 6], [8, 10, 12]]))
        import os
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.onnx")
            with open(path, "wb") as out:
                out.write(self.model("Mul"))
            self.assertEqual(graph.load(path)(x).tolist(), [[1, 4, 9], [16, 25, 36]])
            path = os.path.join(folder, "m.mlir")
            with open(path, "w") as out:
                out.write(str(g))
            self.assertEqual(str(graph.load(path)), str(g))

    def test_open_dimensions_are_given(self):
        g = graph.load(self.model("Add", ("n", 3)), shapes={"x": (1, 3)})
        self.assertEqual(g([[1.0, 2.0, 3.0]]).tolist(), [[2, 4, 6]])
        g = graph.load(self.model("Add", ("n", 3)), shapes={"x": (2, None)})  # None: as the model says
        self.assertEqual(g.inputs[0].shape, (2, 3))
        with self.assertRaisesRegex(tessera.Error, "unknown dimension"):
            graph.load(self.model("Add", ("n", 3)), shapes={"x": (None, 3)})
        with self.assertRaisesRegex(tessera.NotFoundError, 'no input "X"'):
            graph.load(self.model("Add", ("n", 3)), shapes={"X": (1, 3)})
        text = str(g).replace("2x3", "?x3").encode()
        self.assertEqual(graph.load(text, shapes={"x": (5, 3)}).inputs[0].shape, (5, 3))
        with self.assertRaisesRegex(tessera.NotFoundError, 'no input "y"'):
            graph.load(text, shapes={"y": (5, 3)})

    def test_what_is_wrong_is_one_error(self):
        with self.assertRaises(tessera.UnsupportedError) as caught:
            graph.load(self.model("NoSuchOp"))
        self.assertIn("NoSuchOp", str(caught.exception))
        for wrong in (self.model("Add")[:-9], b"nonsense", "/no/such/file.onnx"):
            with self.assertRaises(tessera.Error):
                graph.load(wrong)


class OpLayer(unittest.TestCase):
    def test_every_row_of_the_table_is_a_function_with_its_help(self):
        self.assertGreater(len(op.names()), 140)
        for row in op.table():
            f = getattr(op, row["python"])
            self.assertIn(row["help"][:40], f.__doc__)

    def test_several_results(self):
        self.assertEqual([t.tolist() for t in op.topk([3.0, 1.0, 2.0], k=2)], [[3, 2], [0, 2]])
        self.assertEqual([t.tolist() for t in op.split([1.0, 2.0, 3.0], sizes=[1, 2])], [[1], [2, 3]])
        self.assertEqual([t.shape for t in op.split([[1.0, 2.0]], axis=1, results=2)], [(1, 1), (1, 1)])
        q = tessera.zeros((1, 1, 2, 4))
        out, lse = op.flash_attention(q, q, q, results=2)
        self.assertEqual((out.shape, lse.shape), ((1, 1, 2, 4), (1, 1, 2)))
        self.assertEqual(op.concat([array.array("f", [1]), array.array("f", [2])]).tolist(), [1, 2])

    def test_policies_and_schedules_are_scopes(self):
        with numerics.policy("kahan_sum"):
            self.assertEqual(numerics.current(), "kahan_sum")
            op.matmul([[1.0]], [[1.0]])
        self.assertEqual(numerics.current(), "fast")
        with self.assertRaises(tessera.NotFoundError):
            numerics.policy("sloppy")
        with schedule.scope(m=32):
            schedule.warps(2)
            self.assertEqual(schedule.current(), {"m": 32, "warps": 2})
        self.assertEqual(schedule.current(), {})
        for wrong in (lambda: schedule.tile(()), lambda: schedule.vectorize(0), lambda: schedule.scope(width=3)):
            with self.assertRaises(tessera.ArgumentError):
                wrong()

    def test_other_devices(self):
        with tessera.device("cpu:0") as here:
            self.assertEqual(op.iota(shape=[3]).tolist(), [0, 1, 2])
            self.assertEqual(here.backend, "cpu")
        known = [d["id"] for d in tessera.devices()]
        if "vulkan:0" not in known:
            self.skipTest("no Vulkan device here")
        with tessera.device("vulkan:0"):
            x = op.add([1.0, 2.0], [1.0, 1.0])
            self.assertEqual((x.device.id, x.tolist(), (x * 2).tolist()), ("vulkan:0", [2, 3], [4, 6]))
            out = array.array("f", [0, 0])
            op.kernel(lambda a, c: c.__setitem__(slice(None), a + 1))(x, out)
            self.assertEqual(list(out), [3, 4])
        self.assertEqual(tessera.from_dlpack(x).tolist(), [2, 3])


if __name__ == "__main__":
    unittest.main()
