"""Code of the guides runs as written, given the tensors, functions and meshes that it leaves open: that of docs/ and
README.md, and of other guides where they are (TSR_GUIDES is their folder, else one with texts in ../shared beside the
source)."""
import glob
import os
import re
import unittest
import warnings

import tessera
from tessera import dist, graph, numerics, op, schedule

SOURCE = os.path.abspath(os.environ.get("SOURCE", "."))
GUIDES = os.environ.get("TSR_GUIDES") or os.path.join(SOURCE, "..", "shared", "*")


def blocks(text, language):
    return re.findall(rf"^ ?```{language} *\n(.*?)^ ?```", text, re.S | re.M)


def guides():
    texts = []
    for path in sorted(glob.glob(os.path.join(GUIDES, "*.txt"))):
        with open(path, encoding="utf-8") as f:
            texts.append(f.read())
    return "\n".join(texts)


def random(*shape, dtype="f32"):
    """A tensor of numbers between -1 and 1, the same ones each time."""
    key = tessera.tensor([7, len(shape)], dtype="i32")
    x = op.rng_uniform(key, shape=shape) * 2.0 - 1.0
    return x if dtype == "f32" else x.astype(dtype)


def check(test, function, tensors, result):
    """The result is what the f64 reference gives for the function."""
    (want, tolerance), = graph.trace(function, *tensors).reference(*tensors)
    have = [x for x in result.reshape(-1).astype("f32").tolist()]
    test.assertEqual(len(have), len(want))
    for a, b, t in zip(have, want, tolerance):
        test.assertLessEqual(abs(a - b), 4 * t + 1e-6)


@unittest.skipUnless(glob.glob(os.path.join(GUIDES, "*.txt")), "the guides' folder is not here")
class Guides(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = guides()
        cls.python = blocks(cls.text, "python")

    def run_block(self, mark, **given):
        """The block of code that has this text, run as it is; its names afterwards."""
        found = [b for b in self.python if mark in b]
        self.assertEqual(len(found), 1, mark)
        names = {"op": op, "graph": graph, "dist": dist, "schedule": schedule, "numerics": numerics, **given}
        exec(compile(found[0], mark, "exec"), names)
        self.ran.add(found[0])
        return names
    ran = set()

    def test_tile_shape(self):
        a, b = random(96, 80), random(80, 112)
        names = self.run_block("tile_shape=", A=a, B=b)
        check(self, lambda x, y: x @ y, [a, b], names["Y"])

    def test_mesh_and_a_tensor_that_no_machine_holds(self):
        W = self.run_block('axes=["tp","pp","dp"]')["W"]
        self.assertTrue(W.is_virtual)
        self.assertEqual((W.nbytes, W.mesh.size), (4 * 10 ** 12, 72))
        blocks_ = {tuple(W.block(r)) for r in range(72)}
        self.assertEqual(len(blocks_), W.mesh.shape["tp"] * W.mesh.shape["pp"])
        self.assertEqual(sum(rows * columns for (_, rows), (_, columns) in blocks_), 10 ** 12)

    def test_profile_of_a_step(self):
        calls = []

        def step_fn():
            calls.append(1)
            op.matmul(random(64, 64), random(64, 64))
        import contextlib
        import io
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.run_block("graph.profile(step_fn)", step_fn=step_fn)
        self.assertEqual(len(calls), 10)
        self.assertRegex(out.getvalue(), r"MatMul\[\d+x\d+x\d+\] +latency=[\d.]+.s +occupancy=")

    def test_autotune(self):
        names = self.run_block("@op.autotune(")
        tuned = names["matmul_autotuned"]
        tuned.search["samples"] = 4
        a, b = random(40, 24), random(24, 56)
        check(self, lambda x, y: x @ y, [a, b], tuned(a, b))
        self.assertEqual(len(tuned.reports), 1)
        self.assertEqual(tuned.reports[0][0]["shape"], "40x56x24")
        before = tessera.tune.counters()["measurements"]
        tuned(a, b)
        again = self.run_block("@op.autotune(")["matmul_autotuned"]
        again(a, b)
        self.assertEqual(tessera.tune.counters()["measurements"], before, "the cache answers the second time")

    def test_mixed_precision(self):
        names = self.run_block('dtype="fp8_e4m3"', B=8, D=16, H=4)
        self.assertEqual((names["A"].dtype, names["B"].dtype, names["C"].shape), ("fp8_e4m3", "bf16", (8, 4)))
        a, b = random(8, 16, dtype="fp8_e4m3"), random(16, 4, dtype="bf16")
        names["A"][:], names["B"][:] = a, b
        product = op.matmul(names["A"], names["B"], accum_dtype="fp32")
        check(self, lambda x, y: op.matmul(x, y, accum_dtype="fp32"), [a, b], product.gather())

    def test_policies(self):
        found = self.run_block("from tessera import numerics")["numerics"]
        calls = re.findall(r'^\|(numerics\.policy\("(\w+)"\)) *\|', self.text, re.M)
        self.assertEqual(len(calls), 3)
        a, b = random(32, 64), random(64, 32)
        for call, name in calls:
            with eval(call):
                self.assertEqual(found.current(), name)
                check(self, lambda x, y: x @ y, [a, b], op.matmul(a, b))

    def test_vectorised_addition(self):
        vec_add = self.run_block("def vec_add")["vec_add"]
        a, b, c = random(1003), random(1003), tessera.zeros(1003)
        vec_add(a, b, c)
        check(self, lambda x, y: x + y, [a, b], c)

    def test_staged_product(self):
        matmul = self.run_block("return A @ B + C")["matmul"]
        a, b, c = random(130, 70), random(70, 150), random(130, 150)
        check(self, lambda x, y, z: x @ y + z, [a, b, c], matmul(a, b, c))
        schedules = matmul.graph(a, b, c).dump("schedule", "cuda:sm_90a")
        for primitive in ("tile", "use_shared_memory", "async_copy"):
            self.assertIn(f"tessera.schedule.{primitive}", schedules)

    def test_product_on_a_mesh_and_its_reduce_scatter(self):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            names = self.run_block("dist.collective.reduce_scatter", B=16, D=12, H=24)
            self.assertTrue([w for w in told if issubclass(w.category, dist.ShardWarning)])
        mesh = names["mesh"]
        self.assertEqual(mesh.size, 8)
        a, b = random(16, 12), random(12, 24)
        names["A"][:], names["B"][:] = a, b
        partial = op.matmul(names["A"], names["B"])
        check(self, lambda x, y: x @ y, [a, b], partial.gather())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = dist.collective.reduce_scatter(partial, axis="tp").gather()
        n = 24 // mesh.shape["tp"]

        def blocks_added(x, y):  # the ranks of tp hold blocks of columns, which are added up as they are
            c, total = x @ y, None
            for i in range(0, 24, n):
                total = c[:, i:i + n] if total is None else total + c[:, i:i + n]
            return total
        check(self, blocks_added, [a, b], got)

    def test_schedule_of_attention(self):
        q = random(1, 2, 256, 64)
        try:
            self.run_block("schedule.pipeline_stages(3)")
            self.assertEqual(schedule.current()["pipeline_stages"], 3)
            check(self, op.flash_attention, [q, q, q], op.flash_attention(q, q, q))
        finally:
            schedule.reset()

    def test_texts_of_ir_are_read(self):
        found = blocks(self.text, "mlir") or []
        inline = re.findall(r'^%\w+ = "tessera\.[\w.]+".*?\{.*?\}', self.text, re.S | re.M)
        self.assertEqual(len(inline), 2)
        self.assertTrue(all(any(t in b for b in found) for t in inline))
        from tessera.program import Program
        from tessera import options, runtime
        for text in inline:  # a line alone is no program: that is all that is wrong with it
            with self.assertRaisesRegex(tessera.ArgumentError, "nothing that can be run"):
                Program.parse(runtime.device("cuda:sm_90a"), text, None, options.scope().key())
            with self.assertRaisesRegex(tessera.ArgumentError, "no operation|no such|unknown|expected"):
                Program.parse(runtime.device("cuda:sm_90a"), text.replace("tessera.", "tessera.no_"), None,
                              options.scope().key())

    def test_z_every_block_was_run(self):
        self.assertEqual(len(self.python), 10)
        self.assertEqual([b for b in self.python if b not in self.ran], [])


class OwnPages(unittest.TestCase):
    def test_the_code_of_readme_and_docs_runs(self):
        n = 0
        for path in [os.path.join(SOURCE, "README.md"), *sorted(glob.glob(os.path.join(SOURCE, "docs", "*.md")))]:
            with open(path, encoding="utf-8") as f:
                names = {}
                for block in blocks(f.read(), "python"):
                    if "numpy" in block and not has_numpy():
                        continue
                    with warnings.catch_warnings():
                        warnings.simplefilter("error")
                        exec(compile(block, os.path.basename(path), "exec"), names)
                    n += 1
        if not has_numpy():
            self.skipTest("no numpy here, which some of it uses")
        self.assertGreater(n, 5)


def has_numpy():
    import importlib.util
    return importlib.util.find_spec("numpy") is not None


if __name__ == "__main__":
    unittest.main()
