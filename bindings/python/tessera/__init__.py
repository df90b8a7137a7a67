"""libtessera in Python: tensor programs on Vulkan, CUDA, HIP or the CPU.

    import numpy as np
    from tessera import op

    @op.kernel
    def layer(x, w, b):
        return op.relu(x @ w + b)

    y = layer(x, w, b)          # arrays of NumPy, or of anything with DLPack or the buffer protocol
    np.from_dlpack(y)

`op` has every operation, `graph` traced graphs, `schedule` and `numerics` how they are compiled, `profile` and
`graph.autotune` what they cost, `dist` meshes of ranks; `capi` is the C interface as it is. docs/python.md."""
from .errors import (ArgumentError, Error, NotFoundError, OutOfMemoryError, TraceError, UnavailableError,
                     UnsupportedError)

_MODULES = ("arrays", "capi", "control", "dist", "dlpack", "dtypes", "graph", "kernel", "numerics", "op", "options",
            "profile", "program", "runtime", "schedule", "tensors", "trace", "tune")
_NAMES = {"Tensor": "tensors", "tensor": "tensors", "from_dlpack": "tensors", "zeros": "tensors", "device": "runtime",
          "devices": "runtime", "backends": "runtime", "use": "runtime", "Device": "runtime", "Graph": "graph",
          "spec": "graph", "Program": "program"}
__all__ = ["ArgumentError", "Error", "NotFoundError", "OutOfMemoryError", "TraceError", "UnavailableError",
           "UnsupportedError", "op", "graph", "dist", "profile", "schedule", "numerics", "capi", *_NAMES]


def __getattr__(name):
    from importlib import import_module
    if name in _NAMES:
        module = import_module("." + _NAMES[name], __name__)
        found = getattr(module, name)
        globals()[name] = found
        return found
    if name == "__version__":
        return import_module("._abi", __name__).VERSION
    if name in _MODULES:
        return import_module("." + name, __name__)
    raise AttributeError(f"module 'tessera' has no attribute {name!r}")


def __dir__():
    return sorted(set(globals()) | set(_MODULES) | set(_NAMES))
