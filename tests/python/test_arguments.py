"""Arguments that are none: each is a tessera.Error that says which, and never another exception or a crash."""
import os
import unittest

import tessera
from tessera import dist, graph, numerics, op, profile, schedule

MODEL = os.path.join(os.environ.get("SOURCE", "."), "examples", "mlp.onnx")
NO_NUMBERS = ("x", "a\0b", b"x", None, 1.5, float("nan"), [], {}, object(), 2**70, -1)
NO_TEXTS = ("a\0b", "\0", "\ud800")


def calls():
    """(what is called, values that it doesn't take)."""
    mesh = dist.Mesh(["dp"], ["cpu:0"] * 2)
    t = tessera.tensor([[1.0, 2.0], [3.0, 4.0]])
    x = dist.tensor((4, 4), dist.ShardSpec(("row",), ("dp",)), mesh)
    for name in ("vectorize", "pipeline_stages", "split_k", "stream_k", "warps", "raster", "cluster"):
        yield getattr(schedule, name), (*NO_NUMBERS, 0)
    yield schedule.tile, ("x", b"", None, 1.5, [], {}, object(), 2**70, -1, 0, (1, 2, 3, 4), [1, "y"], (-1,), (2.5,))
    yield lambda v: schedule.use_shared_memory(padding=v), ("x", 1.5, [], object(), 2**70, -1)
    yield schedule.matrix_path, (None, 1, object(), *NO_TEXTS)
    yield lambda v: schedule.scope(m=v), ("x", None, 1.5, object(), 2**70)
    yield lambda v: schedule.scope(matrix_path=v), (None, 1, object(), *NO_TEXTS)
    yield lambda v: dist.tensor(v, mesh=mesh), ("x", None, 1.5, {1.5: 2}, object(), 2**70, (1, "y"), (1,) * 9)
    yield lambda v: dist.tensor((4, 4), v, mesh), ("x", 1, ("row",), object(), mesh)
    yield lambda v: dist.tensor((4, 4), mesh=v), ("x", 1, object(), ("dp",))
    yield lambda v: dist.tensor((4, 4), mesh=mesh, dtype=v), (None, 1, "f31", object(), *NO_TEXTS)
    yield lambda v: dist.Mesh(v, ["cpu:0"] * 2), (None, 1, 1.5, object(), ["a\0b"], ["\ud800"])
    yield lambda v: dist.Mesh(["dp"], v), (None, 0, -1, 2**70, 1.5, object(), [], ["cpu\0:0"])
    yield lambda v: dist.Mesh(["dp"], ["cpu:0"] * 2, v), (1, 1.5, object(), ["x"], [2.0], [2**70], [1, 2])
    yield lambda v: dist.ShardSpec(v, ("dp",)), (None, 1, object())
    for method in (x.block, x.local_shape, x.shard, x.padded, mesh.coordinates):
        yield method, (*NO_NUMBERS, 2)
    yield x.redistribute, (None, "x", 1, mesh)
    yield mesh.extent, (None, [], {}, "tp")
    yield lambda v: dist.collective.all_to_all(x, "dp", v), ("x", None, 1.5, 2, 2**70)
    yield lambda v: dist.collective.broadcast(x, "dp", v), ("x", None, 1.5, -1, 2)
    yield lambda v: dist.collective.all_reduce(x, v), (None, [], "tp")
    yield graph.load, (None, 1, 1.5, [], object(), *NO_TEXTS)
    yield lambda v: graph.load(MODEL, shapes=v), ("x", 1, [1], {1: (2, 8)}, {"x": 1}, {"x": ("y",)}, {"a\0b": (1,)})
    yield lambda v: graph.load(MODEL, values=v), ("x", 1, [1], {1: 2})
    yield lambda v: op.split(t, sizes=v), ("x", 1.5, object(), [2**70], [1, "y"])
    yield lambda v: op.einsum(t, equation=v), (None, 1, *NO_TEXTS)
    yield tessera.zeros, ("x", None, 1.5, -1, 2**70, (1, "y"), object())
    yield tessera.from_dlpack, (None, 1, "x", [1], object())
    yield tessera.device, (1, object(), *NO_TEXTS)
    yield numerics.policy, (None, 1, "sloppy", *NO_TEXTS)
    yield lambda v: profile.steps(lambda: None, v), NO_NUMBERS
    yield lambda v: profile.session().trace(v), (1, 1.5, object(), *NO_TEXTS)
    traced = graph.trace(lambda a: op.neg(a), t)
    for option in ("samples", "seed"):
        yield lambda v, option=option: graph.autotune(traced, **{option: v}), NO_NUMBERS
    yield lambda v: graph.autotune(traced, samples=1, strategy=v), (1, [], object(), *NO_TEXTS)
    yield traced.grad, (1.5, object(), [None], [1.5], ["x"])
    yield traced.specialize, (None, 1, 1.5, ("x",), (1,) * 9)


class Arguments(unittest.TestCase):
    def test_the_model_is_there(self):
        self.assertEqual(graph.load(MODEL, shapes={"x": (2, 8)}).inputs[0].shape, (2, 8))

    def tearDown(self):
        schedule.reset()

    def test_what_is_no_argument_is_an_error_of_ours(self):
        for place, (call, values) in enumerate(calls()):
            for value in values:
                with self.subTest(call=place, value=repr(value)[:40]):
                    with self.assertRaises(tessera.Error) as caught:
                        call(value)
                    self.assertRegex(str(caught.exception), r"^\[[a-z]+\] .*[a-z]")
                    self.assertNotIn("\n", str(caught.exception))

    def test_numbers_that_are_not_pythons_own_are_numbers(self):
        class Three:
            def __index__(self):
                return 3
        schedule.warps(Three())
        schedule.tile((Three(), 4))
        self.assertEqual(schedule.current(), {"m": 3, "n": 4, "warps": 3})
        self.assertEqual(tessera.zeros((Three(),)).shape, (3,))


if __name__ == "__main__":
    unittest.main()
