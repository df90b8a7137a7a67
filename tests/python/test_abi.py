"""The ctypes declarations say what a C compiler says of the headers: sizes, offsets, constants, every function."""
import ctypes
import os
import re
import subprocess
import tempfile
import unittest

from tessera import _abi, capi
import tessera

SOURCE = os.environ.get("SOURCE", ".")


class Declarations(unittest.TestCase):
    def test_structs_and_constants_are_the_compilers(self):
        lines = []
        for name in _abi.STRUCTS:
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field, _ in getattr(_abi, name)._fields_:
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
        constants = [n for n in dir(_abi) if n.startswith("TSR_")]
        lines += [f'printf("{n} %lld\\n", (long long)({n}));' for n in constants]
        headers = sorted(h for h in os.listdir(os.path.join(SOURCE, "include/tessera")))
        text = "#include <stddef.h>\n#include <stdio.h>\n" + "".join(f"#include <tessera/{h}>\n" for h in headers)
        text += "int main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n"
        with tempfile.TemporaryDirectory() as folder:
            file, program = os.path.join(folder, "p.c"), os.path.join(folder, "p")
            with open(file, "w") as f:
                f.write(text)
            try:
                subprocess.run([os.environ.get("CC", "cc"), "-I", os.path.join(SOURCE, "include"), file, "-o",
                                program], check=True)
            except FileNotFoundError:
                self.skipTest("no C compiler here")
            told = dict(line.split() for line in subprocess.check_output([program], text=True).splitlines())
        self.assertGreater(len(told), 250)
        for name, value in told.items():
            struct, _, field = name.partition(".")
            if name.startswith("TSR_"):
                mine = getattr(_abi, name)
            else:
                kind = getattr(_abi, struct)
                mine = getattr(kind, field).offset if field else ctypes.sizeof(kind)
            self.assertEqual(mine, int(value), name)

    def test_every_function_of_the_headers_is_declared_and_there(self):
        declared = set()
        folder = os.path.join(SOURCE, "include/tessera")
        for header in os.listdir(folder):
            with open(os.path.join(folder, header)) as f:
                text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
            declared |= set(re.findall(r"TSR_API[^;(]*?(tsr_\w+)\s*\(", text))
        self.assertGreater(len(declared), 100)
        self.assertEqual(declared, set(_abi.FUNCTIONS))
        for name in declared:
            self.assertTrue(getattr(capi, name))

    def test_the_version_is_the_projects(self):
        with open(os.path.join(SOURCE, "CMakeLists.txt")) as f:
            self.assertIn(f"project(tessera VERSION {tessera.__version__} ", f.read())


class Status(unittest.TestCase):
    def test_a_status_becomes_an_exception_with_its_parts(self):
        from tessera import op
        with self.assertRaises(tessera.ArgumentError) as caught:
            op.matmul([[1.0, 2.0]], [[1.0, 2.0]])
        e = caught.exception
        self.assertEqual(e.code, capi.TSR_VERIFY_ERROR)
        self.assertEqual((e.name, e.level, e.op), ("verify error", "graph", "tessera.graph.matmul"))
        self.assertIn("2 columns for 1 rows", e.cause)
        self.assertIn("transpose_b", e.hint)
        self.assertIsInstance(e, ValueError)

    def test_devices_and_names_that_are_not_there(self):
        with self.assertRaises(tessera.Error) as caught:
            tessera.device("nonsense:7")
        for call in (tessera.device, tessera.use):
            with self.assertRaisesRegex(tessera.ArgumentError, "int is no name of a device"):
                call(3)
        self.assertTrue(caught.exception.message)
        with self.assertRaises(AttributeError):
            capi.tsr_no_such_function


if __name__ == "__main__":
    unittest.main()
