"""Tensors: memory in and out without a copy, every type, operators, what NumPy sees."""
import array
import ctypes
import gc
import struct
import sys
import unittest

import tessera
from tessera import dtypes, op

try:
    import numpy
except ImportError:
    numpy = None
needs_numpy = unittest.skipIf(numpy is None, "no numpy here")


def _write(x, y):
    y[:] = op.reshape(x, shape=())


class OwnDlpack:
    """An exporter of DLPack that is none of ours' consumers: it counts its deleter's calls."""
    deleted = 0

    def __init__(self, values, shape, strides, code=2, bits=32):
        from tessera import dlpack
        self.memory = values
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides)
        self.managed = dlpack._Managed()
        self.managed.tensor = dlpack._DLTensor(
            data=ctypes.addressof(values), device_type=1, ndim=len(shape), code=code, bits=bits, lanes=1,
            shape=self.shape, strides=self.strides)

        @dlpack._DELETER
        def delete(_):
            OwnDlpack.deleted += 1
        self.managed.deleter = self.delete = delete

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self):
        from tessera import dlpack
        return dlpack._new(ctypes.addressof(self.managed), b"dltensor", None)


class Memory(unittest.TestCase):
    def test_a_buffer_is_taken_as_it_is(self):
        data = array.array("f", range(6))
        t = tessera.tensor(data)
        self.assertEqual(t.storage.address, data.buffer_info()[0])
        self.assertEqual((t.dtype, t.shape, t.tolist()), ("f32", (6,), [0, 1, 2, 3, 4, 5]))

    def test_read_only_and_shaped_buffers(self):
        self.assertEqual(tessera.tensor(b"\x01\x02").tolist(), [1, 2])
        shaped = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
        self.assertEqual(tessera.tensor(shaped).tolist(), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(tessera.tensor(memoryview(array.array("i", range(6)))[::2]).tolist(), [0, 2, 4])

    def test_the_memory_view_is_the_tensors_own_and_read_only(self):
        t = tessera.tensor([[1, 2, 3], [4, 5, 6]], dtype="i32")
        shown = t.memoryview()
        self.assertEqual((shown.tolist(), shown.readonly), ([[1, 2, 3], [4, 5, 6]], True))
        del t
        gc.collect()
        self.assertEqual(shown[1, 2], 6)
        if sys.version_info >= (3, 12):
            self.assertEqual(memoryview(op.add([1.0], [2.0]))[0], 3.0)

    def test_own_dlpack_goes_round_without_a_copy(self):
        t = op.add([1.5, 2.0], [1.0, 1.0])
        for version in (None, (1, 0)):
            class Capsule:
                def __dlpack__(self, max_version=None):
                    return t.__dlpack__(max_version=version)
            again = tessera.from_dlpack(Capsule())
            self.assertEqual((again.tolist(), again.storage.address), ([2.5, 3.0], t.storage.address))

    def test_memory_that_the_interface_alone_keeps(self):
        class Scalar:  # as NumPy's are: each time anew, of an array that goes with the dict
            def __init__(self, value):
                self.value = value

            @property
            def __array_interface__(self):
                made = (ctypes.c_float * 1)(self.value)
                data = ctypes.addressof(made), False
                return {"shape": (), "typestr": "<f4", "version": 3, "data": data, "of": made}
        held = [tessera.tensor(Scalar(i)) for i in range(200)]
        self.assertEqual([float(t.tolist()) for t in held], list(range(200)))
        with self.assertRaisesRegex(tessera.Error, "can't be written"):
            op.kernel(_write)([1.0], Scalar(0))

    def test_capsules_that_nobody_takes_let_go(self):
        from tessera import dlpack
        t = op.add([1.0], [1.0])
        before = len(dlpack._given)
        capsule = t.__dlpack__()
        self.assertEqual(len(dlpack._given), before + 1)
        del capsule
        gc.collect()
        self.assertEqual(len(dlpack._given), before)

    def test_a_foreign_exporter_with_strides_and_its_deleter(self):
        OwnDlpack.deleted = 0
        t = tessera.from_dlpack(OwnDlpack((ctypes.c_float * 6)(*range(6)), (3, 2), (1, 3)))
        self.assertEqual(t.tolist(), [[0, 3], [1, 4], [2, 5]])
        del t
        gc.collect()
        self.assertEqual(OwnDlpack.deleted, 1)

    def test_bf16_and_fp8_by_dlpack_without_ml_dtypes(self):
        bits = (ctypes.c_uint16 * 2)(0x3FC0, 0xC000)  # 1.5, -2
        t = tessera.from_dlpack(OwnDlpack(bits, (2,), (1,), 4, 16))
        self.assertEqual((t.dtype, t.tolist()), ("bf16", [1.5, -2.0]))

    def test_dlpack_devices_and_copies(self):
        t = op.add([1.0], [1.0])
        self.assertEqual(t.__dlpack_device__(), (1, 0))
        with self.assertRaises(BufferError):
            t.__dlpack__(dl_device=(2, 0))

        class Copied:
            def __dlpack__(self, max_version=None):
                return t.__dlpack__(max_version=(1, 0), copy=True)
        self.assertNotEqual(tessera.from_dlpack(Copied()).storage.address, t.storage.address)

    def test_what_is_no_array_is_refused_in_one_line(self):
        for wrong in (object(), [[1, 2], [3]], [1, [2]], ["a"], "text", {1: 2}):
            with self.assertRaises(tessera.ArgumentError) as caught:
                tessera.tensor(wrong)
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaises(tessera.ArgumentError):
            tessera.tensor([1.0], dtype="f33")

    def test_memory_is_released(self):
        import resource
        big = array.array("f", bytes(4 << 20))
        op.add(big, big)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(100):
            op.add(big, big)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 100 << 10)


class Types(unittest.TestCase):
    def test_every_type_is_made_cast_and_read(self):
        for name in dtypes.ROWS:
            if name in ("tf32", "complex32"):
                continue
            t = tessera.tensor([0, 1, 3], dtype=name)
            want = [False, True, True] if name == "bool" else [0, 1, 3]
            self.assertEqual((t.dtype, t.tolist()), (name, want), name)
            self.assertEqual(t.nbytes, dtypes.nbytes(name, 3))

    def test_packed_integers(self):
        for n in (0, 1, 2, 5, 8):
            values = [i % 16 - 8 for i in range(n)]
            x = tessera.tensor(values, dtype="i4")
            self.assertEqual((x.nbytes, x.size, x.tolist()), ((n + 1) // 2, n, values))
            self.assertEqual(x.bits(), [v & 15 for v in values])
            self.assertEqual((-x).tolist(), [v if v == -8 else -v for v in values])
            self.assertEqual(op.as_bytes(x).size, x.nbytes)
        self.assertEqual(tessera.tensor([[9, 15], [0, 1]], dtype="u4").astype("f32").tolist(), [[9, 15], [0, 1]])
        with self.assertRaisesRegex(Exception, "share bytes"):
            tessera.tensor([1, 2], dtype="u4").__dlpack__()

    @needs_numpy
    def test_packed_integers_are_bytes_of_numpy(self):
        x = tessera.tensor([[-8, 7, 1]], dtype="i4")
        self.assertEqual(x.numpy().dtype, "int8")
        self.assertEqual(x.numpy().tolist(), [[-8, 7, 1]])
        self.assertEqual(tessera.tensor(numpy.arange(5), dtype="u4").numpy().dtype, "uint8")

    def test_bits_of_narrow_floats(self):
        self.assertEqual(tessera.tensor([1.0, -2.0], dtype="bf16").bits(), [0x3F80, 0xC000])
        self.assertEqual(tessera.tensor([1.0, 448.0], dtype="fp8_e4m3").bits(), [0x38, 0x7E])
        self.assertEqual(tessera.tensor([1.0], dtype="fp8_e5m2").bits(), [0x3C])
        self.assertEqual(tessera.tensor([1.0], dtype="f16").bits(), list(struct.unpack("<H", struct.pack("<e", 1.0))))

    def test_names_of_others_are_taken(self):
        for given, name in (("float32", "f32"), (float, "f64"), ("fp16", "f16"), ("bfloat16", "bf16"), (bool, "bool"),
                            ("fp8_e4m3", "fp8_e4m3"), (int, "i64")):
            self.assertEqual(dtypes.of(given), name)

    def test_complex_numbers(self):
        t = op.fft(tessera.tensor([1 + 2j, 0j, 0j, 0j]))
        self.assertEqual(t.tolist(), [1 + 2j] * 4)
        self.assertEqual(op.fft([1.0, 0.0]).tolist(), [1 + 0j, 1 + 0j])
        self.assertEqual(op.fft(tessera.tensor([1.0, 0.0], dtype="f64")).dtype, "complex128")


class Operators(unittest.TestCase):
    def test_arithmetic_with_numbers_and_arrays(self):
        x = tessera.tensor([1.0, 2.0, 4.0])
        self.assertEqual(((x + 1) * 2 - x / 2).tolist(), [3.5, 5.0, 8.0])
        self.assertEqual((1 - x).tolist(), [0.0, -1.0, -3.0])
        self.assertEqual((2 / x).tolist(), [2.0, 1.0, 0.5])
        self.assertEqual((x ** 2).tolist(), [1.0, 4.0, 16.0])
        self.assertEqual((-x).tolist(), [-1.0, -2.0, -4.0])
        self.assertEqual((x + array.array("f", [1, 1, 1])).tolist(), [2, 3, 5])

    def test_integers_divide_to_floats_and_take_float_numbers(self):
        n = tessera.tensor([1, 2, 3])
        self.assertEqual((n / 2).tolist(), [0.5, 1.0, 1.5])
        self.assertEqual((n % 2).tolist(), [1, 0, 1])

    def test_comparisons_reductions_shapes(self):
        x = tessera.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        self.assertEqual((x > 2).tolist(), [[False, False, True], [True, True, True]])
        self.assertEqual((x == 2.0).tolist()[0], [False, True, False])
        self.assertEqual(x.sum().item(), 21.0)
        self.assertEqual(x.mean(axis=1).tolist(), [2.0, 5.0])
        self.assertEqual(x.T.shape, (3, 2))
        self.assertEqual(x.reshape(3, 2).tolist(), [[1, 2], [3, 4], [5, 6]])
        self.assertEqual((x @ x.T).tolist(), [[14, 32], [32, 77]])
        self.assertEqual([row.tolist() for row in x], [[1, 2, 3], [4, 5, 6]])

    def test_indices(self):
        x = tessera.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        self.assertEqual(x[1].tolist(), [4, 5, 6])
        self.assertEqual(x[:, -1].tolist(), [3, 6])
        self.assertEqual(x[..., ::2].tolist(), [[1, 3], [4, 6]])
        self.assertEqual(x[None, 0:1, 1:].tolist(), [[[2, 3]]])
        self.assertEqual(x[0:0].tolist(), [])
        for wrong in (2, (0, 0, 0), slice(None, None, -1), 1.5):
            with self.assertRaises((IndexError, tessera.ArgumentError)):
                x[wrong]

    def test_a_whole_tensor_is_written(self):
        x = tessera.zeros((2, 3))
        x[:] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        x[...] = x + 1
        self.assertEqual(x.tolist(), [[2, 3, 4], [5, 6, 7]])
        x[:] = 7
        self.assertEqual(x.sum().item(), 42.0)
        with self.assertRaises(tessera.TraceError):
            x[0] = 1.0


@needs_numpy
class Numpy(unittest.TestCase):
    def test_arrays_go_in_without_a_copy_and_out_as_views(self):
        a = numpy.arange(6, dtype="f").reshape(2, 3)
        t = tessera.tensor(a)
        self.assertEqual(t.storage.address, a.__array_interface__["data"][0])
        for out in (numpy.asarray(t), numpy.from_dlpack(t), t.numpy()):
            self.assertEqual(out.__array_interface__["data"][0], t.storage.address)
            self.assertFalse(out.flags.writeable)
            numpy.testing.assert_array_equal(out, a)

    def test_an_array_keeps_the_copy_that_it_shows(self):
        import gc
        for row in tessera.devices():
            if row["backend"] == "null":
                continue  # which computes nothing
            with tessera.device(row["id"]):
                a = numpy.asarray(tessera.tensor(numpy.arange(1000, dtype="f")) + 1.0)
            gc.collect()
            junk = [numpy.full(1000, 7, "f") for _ in range(200)]
            self.assertEqual(len(junk), 200)
            numpy.testing.assert_array_equal(a, numpy.arange(1, 1001, dtype="f"))
            self.assertFalse(a.flags.writeable)

    def test_numbers_beside_integers_are_of_their_type(self):
        for dtype, bits, signed in (("i8", 8, True), ("u8", 8, False), ("i16", 16, True), ("u32", 32, False),
                                    ("i64", 64, True), ("u64", 64, False), ("i4", 4, True), ("u4", 4, False)):
            x = tessera.tensor([1]).astype(dtype)
            most = 2**(bits - signed) - 1
            least = -most - 1 if signed else 0
            for n in (most, least, 0):
                self.assertEqual((x * 0 + n).tolist(), [n])
            for n in (most + 1, least - 1, 2**70):
                for call in (lambda: x + n, lambda: x < n, lambda: x.__setitem__(slice(None), n)):
                    with self.assertRaisesRegex(tessera.ArgumentError, f"{n} is no {dtype}|more than 64 bits"):
                        call()

    def test_numbers_of_more_than_64_bits_are_refused(self):
        from tessera import op
        for call in (lambda: op.softmax([[1.0]], axis=2**70), lambda: op.topk([1.0, 2.0], k=2**64 + 1),
                     lambda: tessera.graph.spec((2**64 + 1,)) and tessera.graph.trace(
                         lambda x: x + 1.0, tessera.graph.spec((2**64 + 1,)))):
            with self.assertRaisesRegex(tessera.ArgumentError, "more than 64 bits"):
                call()

    def test_strides_orders_and_types(self):
        a = numpy.arange(24, dtype="i4").reshape(2, 3, 4)
        for shown in (a.T, a[:, ::2], a[::-1], a.transpose(1, 0, 2)[:, :, 1:3], a.astype(">i4"), a[:, :0]):
            numpy.testing.assert_array_equal(tessera.tensor(shown).numpy(), shown)
        for kind in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u1", "?", "c8", "c16"):
            x = numpy.array([[0, 1], [1, 0]], dtype=kind)
            numpy.testing.assert_array_equal(tessera.tensor(x).numpy(), x)
        with self.assertRaises(tessera.ArgumentError):
            tessera.tensor(numpy.array(["a"]))

    def test_views_live_longer_than_the_tensor(self):
        shown = numpy.asarray(op.add(numpy.ones(1000, "f"), 1.0))
        packed = numpy.from_dlpack(op.add(numpy.ones(1000, "f"), 2.0))
        gc.collect()
        for _ in range(10):
            op.add(numpy.zeros(1000, "f"), 0.0)
        self.assertEqual((shown.sum(), packed.sum()), (2000, 3000))

    def test_functions_and_scalars_of_numpy(self):
        x = tessera.tensor(numpy.array([0.5, 1.0], "f"))
        numpy.testing.assert_allclose(numpy.exp(x).numpy(), numpy.exp([0.5, 1.0]), rtol=1e-6)
        numpy.testing.assert_allclose((numpy.ones(2, "f") + x).numpy(), [1.5, 2.0])
        self.assertEqual((x > numpy.float32(0.7)).tolist(), [False, True])
        with self.assertRaises(tessera.TraceError):
            numpy.heaviside(x, x)

    def test_bf16_has_no_array_but_floats_of_it_do(self):
        x = tessera.tensor([1.5, 2.0], dtype="bf16")
        try:
            import ml_dtypes  # noqa: F401
        except ImportError:
            with self.assertRaises(tessera.ArgumentError):
                x.numpy()
        numpy.testing.assert_array_equal(numpy.asarray(x, dtype="f4"), [1.5, 2.0])

    def test_asarray_takes_elements_and_never_bytes(self):
        for dtype in ("f16", "f32", "f64", "i8", "i32", "i64", "u8", "bool"):
            for value in ([[1, 0], [1, 1]], [], 1):
                x = tessera.tensor(value, dtype=dtype)
                y = numpy.asarray(x)
                self.assertEqual((y.dtype.name, y.shape), (x.numpy().dtype.name, x.shape), (dtype, value))
                numpy.testing.assert_array_equal(y, value)


if __name__ == "__main__":
    unittest.main()
