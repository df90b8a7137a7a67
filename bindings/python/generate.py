#!/usr/bin/env python3
"""Makes the parts of the Python package that follow from the library: `_abi.py`, the C interface as ctypes
declarations, from the public headers; and, where a library is named that loads here, `op.pyi`, the type stub of the op
layer, from its op table.
usage: generate.py HEADERS OUT [LIBRARY]"""
import os
import re
import sys

PRIMITIVES = {
    "int": "c_int", "bool": "c_bool", "size_t": "c_size_t", "double": "c_double", "float": "c_float",
    "int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "uint8_t": "c_uint8",
    "char": "c_char", "tsr_status": "c_void_p",
}
FIRST = ("base.h", "probe.h", "device.h", "graph.h", "program.h", "tessera.h")  # the others include these
POINTER_FIELD = re.compile(r"([\w \*]+?)\(\s*\*\s*(\w+)\)\s*\((.*)\)$", re.S)


class Headers:
    """What the headers declare, in order."""

    def __init__(self, folder):
        names = [n for n in os.listdir(folder) if n.endswith(".h")]
        self.constants, self.aliases, self.structs, self.functions, self.opaque = {}, dict(PRIMITIVES), {}, {}, set()
        self.enums = {}
        with open(os.path.join(folder, "..", "..", "CMakeLists.txt"), encoding="utf-8") as text:
            self.version = re.search(r"project\(tessera VERSION ([\d.]+)", text.read()).group(1)
        for name in sorted(names, key=lambda n: (FIRST.index(n) if n in FIRST else len(FIRST), n)):
            with open(os.path.join(folder, name), encoding="utf-8") as text:
                self.read(text.read())

    def read(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        for name, value in re.findall(r"^#define (TSR_\w+) +(.+)$", text, re.M):
            if re.fullmatch(r"[-()\w<|, ]+", value) and re.search(r"\d|TSR_", value):
                self.constants[name] = re.sub(r"\b(\d+)[uUlL]+\b", r"\1", value)
        text = re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)
        text = re.sub(r'extern "C" \{', "", text)
        for part in self.declarations(text):
            self.declare(" ".join(part.split()))

    @staticmethod
    def declarations(text):
        depth, begin = 0, 0
        for i, c in enumerate(text):
            depth += (c in "{(") - (c in "})")
            if c == ";" and depth <= 0:
                yield text[begin:i]
                begin, depth = i + 1, 0

    def declare(self, part):
        enum = re.search(r"\benum \w*\s*\{(.*)\}\s*(\w*)$", part)
        struct = re.match(r"typedef struct \w+\s*\{(.*)\}\s*(\w+)$", part)
        callback = re.match(r"typedef (.*)$", part)
        function = re.match(r"(?:\} ?)*TSR_API (?:TSR_MUST_USE )?(.*?)(\w+) ?\((.*)\)$", part)
        if enum:
            self.enum(enum.group(1), enum.group(2))
        elif struct:
            self.structs[struct.group(2)] = [f for one in struct.group(1).split(";") for f in self.fields(one.strip())]
        elif re.match(r"typedef struct (\w+) ?\*(\w+)$", part):
            pass  # tsr_status
        elif re.match(r"typedef struct (\w+) (\w+)$", part):
            self.opaque.add(part.split()[-1])
        elif callback and POINTER_FIELD.match(callback.group(1)):
            kind, name, arguments = POINTER_FIELD.match(callback.group(1)).groups()
            self.aliases[name] = self.callback(kind, arguments)
        elif callback:
            words = callback.group(1).split()
            self.aliases[words[-1]] = self.type(" ".join(words[:-1]), 0)
        elif function:
            self.functions[function.group(2)] = (function.group(1).strip(), self.arguments(function.group(3)))
        elif part.strip(" }"):
            raise SystemExit(f"generate.py: what is this declaration? {part[:100]}")

    def enum(self, body, name):
        value = -1
        for item in filter(None, (x.strip() for x in body.split(","))):
            key, _, given = (x.strip() for x in item.partition("="))
            value = int(given, 0) if given else value + 1
            self.constants[key] = str(value)
            if name:
                self.enums.setdefault(name, []).append(key)
        if name:
            self.aliases[name] = "c_int"

    def fields(self, text):
        if not text:
            return
        pointer = POINTER_FIELD.match(text)
        if pointer:
            yield pointer.group(2), self.callback(pointer.group(1), pointer.group(3))
            return
        kind, _, rest = re.match(r"((?:const |struct )*\w+)(\s*)(.*)$", text).groups()
        for name in rest.split(","):
            yield self.declarator(kind, name.strip())

    def declarator(self, kind, name):
        stars = name.count("*")
        name = re.sub(r"\*|\bconst\b", "", name).strip()
        array = re.match(r"(\w+)\[(\w*)\]$", name)
        if not array:
            return name, self.type(kind, stars)
        if not array.group(2):
            return array.group(1), self.type(kind, stars + 1)
        return array.group(1), f"{self.type(kind, stars)} * {array.group(2)}"

    def type(self, kind, stars):
        const = "const" in kind.split()
        base = re.sub(r"\b(const|struct)\b", "", kind).strip()
        stars += base.count("*")
        base = base.replace("*", "").strip()
        if base == "void" or base in self.opaque:
            base, stars = ("None", 0) if base == "void" and not stars else ("c_void_p", stars - 1)
        elif base == "char" and stars:  # text that comes in; memory that is written to stays a pointer
            base, stars = ("c_char_p", stars - 1) if const or stars > 1 else ("c_char", stars)
        elif base not in self.structs:
            base = self.aliases[base]
        return "POINTER(" * stars + base + ")" * stars

    def arguments(self, text):
        given = [a.strip() for a in text.split(",")] if text.strip() not in ("", "void") else []
        result = []
        for one in given:
            m = re.match(r"(.*?[\s\*])(\w+)(\[\w*\])?$", one)
            kind = (m.group(1) + ("*" if m.group(3) else "")) if m else one
            result.append(self.type(re.sub(r"\*\s*const\b", "*", kind), 0))
        return result

    def callback(self, kind, arguments):
        return f"CFUNCTYPE({', '.join([self.type(kind, 0), *self.arguments(arguments)])})"


def abi(headers):
    out = ['"""Made by generate.py from include/tessera."""',
           "from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float, c_int,"
           " c_int32,\n                    c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)", "", f"VERSION = {headers.version!r}"]
    out += [f"{name} = {value}" for name, value in headers.constants.items()]
    for name in headers.structs:
        out.append(f"class {name}(Structure): pass")
    for name, fields in headers.structs.items():
        out.append(f"{name}._fields_ = [")
        out += [f'    ("{field}", {kind}),' for field, kind in fields]
        out.append("]")
    for name, kind in headers.aliases.items():
        if kind.startswith("CFUNCTYPE"):
            out.append(f"{name} = {kind}")
    out.append("# name: (gives a status, result, arguments)\nFUNCTIONS = {")
    for name, (kind, arguments) in headers.functions.items():
        status = kind == "tsr_status" and name != "tsr_status_free"
        result = "c_void_p" if status else headers.type(kind, 0)
        out.append(f'    "{name}": ({status}, {result}, [{", ".join(arguments)}]),')
    out.append("}")
    out.append(f"STRUCTS = {sorted(headers.structs)!r}")
    out.append(f"ENUMS = {headers.enums!r}")
    return "\n".join(out) + "\n"


def stub(table):
    """The op layer's type stub: a function per row of the table, with its help."""
    kinds = {"bool": "bool", "integer": "int", "float": "float", "string": "str", "list": "Sequence[float]"}
    out = ['"""Made by generate.py from the op table (tessera ops)."""',
           "from typing import Any, Callable, Optional, Sequence, Tuple, TypeVar", "",
           "from .tensors import Tensor", "", '_F = TypeVar("_F", bound=Callable[..., Any])',
           "def kernel(function: _F) -> _F: ...",
           "def autotune(cache: Optional[str] = ..., **options: Any) -> Callable[[_F], _F]: ...",
           "def if_(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any: ...",
           "def while_(condition: Callable[..., Any], body: Callable[..., Any], *carried: Any, max_trips: int = ...)"
           " -> Any: ...",
           "def names() -> Sequence[str]: ...", "def table() -> Sequence[dict[str, Any]]: ...",
           "def apply(name: str, *operands: Any, results: Optional[int] = ..., **attributes: Any) -> Any: ...",
           "def as_tensor(x: Any) -> Any: ...", ""]
    for row in table:
        given = ["*operands: Any"]
        for a in row["attributes"]:
            kind = kinds.get(a["kind"], "Any")
            given.append(f"{a['name']}: {kind}" if a["required"] else f"{a['name']}: Optional[{kind}] = ...")
        result = "Tensor" if row["results"] == 1 else "Any" if row["results"] is None else "Tuple[Tensor, ...]"
        name = row["python"]
        out.append(f"def {name}({', '.join(given)}, results: int = ...) -> {result}:")
        text = f"{row['operands']}\n\n{row['help']}".replace("\\", "\\\\").replace('"""', "'''")
        out.append(f'    """{text}"""\n    ...')
    return "\n".join(out) + "\n"


def main():
    folder, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "_abi.py"), "w", encoding="utf-8") as f:
        f.write(abi(Headers(folder)))
    if len(sys.argv) > 3:
        os.environ["TESSERA_LIBRARY"] = sys.argv[3]
        sys.path.insert(0, os.path.dirname(os.path.abspath(out)))
        from tessera import op
        with open(os.path.join(out, "op.pyi"), "w", encoding="utf-8") as f:
            f.write(stub(op.table()))


if __name__ == "__main__":
    main()
