"""Data types by their names in the library ("f32", "bf16", "fp8_e4m3", ...), and what they are called by NumPy's array
interface, DLPack and the buffer protocol."""
from . import capi, errors

# name: (constant, bytes, array interface, DLPack code, DLPack bits, buffer format)
ROWS = {
    "f64": ("TSR_F64", 8, "<f8", 2, 64, "d"), "f32": ("TSR_F32", 4, "<f4", 2, 32, "f"),
    "tf32": ("TSR_TF32", 4, "<f4", 2, 32, "f"), "f16": ("TSR_F16", 2, "<f2", 2, 16, "e"),
    "bf16": ("TSR_BF16", 2, None, 4, 16, None), "fp8_e4m3": ("TSR_F8E4M3", 1, None, 10, 8, None),
    "fp8_e5m2": ("TSR_F8E5M2", 1, None, 12, 8, None), "i64": ("TSR_I64", 8, "<i8", 0, 64, "q"),
    "i32": ("TSR_I32", 4, "<i4", 0, 32, "i"), "i16": ("TSR_I16", 2, "<i2", 0, 16, "h"),
    "i8": ("TSR_I8", 1, "|i1", 0, 8, "b"), "u8": ("TSR_U8", 1, "|u1", 1, 8, "B"),
    "u16": ("TSR_U16", 2, "<u2", 1, 16, "H"), "u32": ("TSR_U32", 4, "<u4", 1, 32, "I"),
    "u64": ("TSR_U64", 8, "<u8", 1, 64, "Q"),
    "i4": ("TSR_I4", 0, None, 0, 4, None), "u4": ("TSR_U4", 0, None, 1, 4, None),
    "bool": ("TSR_BOOL", 1, "|b1", 6, 8, "?"), "complex32": ("TSR_COMPLEX32", 4, None, 5, 32, None),
    "complex64": ("TSR_COMPLEX64", 8, "<c8", 5, 64, None), "complex128": ("TSR_COMPLEX128", 16, "<c16", 5, 128, None),
}
CODES = {name: getattr(capi, row[0]) for name, row in ROWS.items()}
NAMES = {code: name for name, code in CODES.items()}
BY_TYPESTR = {row[2]: name for name, row in ROWS.items() if row[2] and name != "tf32"}
BY_DLPACK = {(row[3], row[4]): name for name, row in ROWS.items() if name != "tf32" and row[1]}
BY_FORMAT = {row[5]: name for name, row in ROWS.items() if row[5] and name != "tf32"}
BY_FORMAT.update({"l": "i64" if __import__("struct").calcsize("l") == 8 else "i32", "c": "u8",
                  "L": "u64" if __import__("struct").calcsize("L") == 8 else "u32"})
ML_DTYPES = {"bfloat16": "bf16", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2"}
FLOATS = ("f64", "f32", "tf32", "f16", "bf16", "fp8_e4m3", "fp8_e5m2")
PACKED = {"i4": "i8", "u4": "u8"}  # two elements to a byte, and the type of one byte that holds them
INTEGERS = ("i64", "i32", "i16", "i8", "i4", "u64", "u32", "u16", "u8", "u4")
COMPLEX = ("complex32", "complex64", "complex128")
_OTHER = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
          "int16": "i16", "int8": "i8", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
          "bool_": "bool", "double": "f64", "float8_e4m3fn": "fp8_e4m3", "float8_e5m2": "fp8_e5m2", "float": "f64", "int": "i64"}


def of(given):
    """The name for a name of the library, of NumPy or MLIR, a Python type, or a NumPy dtype."""
    if isinstance(given, str) and given in ROWS:
        return given
    name = given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", "")
    name = _OTHER.get(name, name)
    code = capi.tsr_dtype_parse(capi.utf8(name))
    if not code:
        raise errors.argument(f"unknown data type {given!r}", "dtype", "one of " + ", ".join(ROWS))
    return NAMES[code]


def size(name):
    """Bytes of an element; 0 of packed types."""
    return ROWS[name][1]


def nbytes(name, n):
    """Bytes of n elements."""
    return n * size(name) if size(name) else n // 2 + n % 2
