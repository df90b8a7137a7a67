"""What `import tessera` has; the modules are loaded when they are first used."""
from . import (arrays as arrays, capi as capi, control as control, dist as dist, dlpack as dlpack, dtypes as dtypes, graph as graph,
               kernel as kernel, numerics as numerics, op as op, options as options, profile as profile,
               program as program, runtime as runtime, schedule as schedule, tensors as tensors, trace as trace,
               tune as tune)
from .errors import (ArgumentError as ArgumentError, Error as Error, NotFoundError as NotFoundError,
                     OutOfMemoryError as OutOfMemoryError, TraceError as TraceError,
                     UnavailableError as UnavailableError, UnsupportedError as UnsupportedError)
from .graph import Graph as Graph, spec as spec
from .program import Program as Program
from .runtime import Device as Device, backends as backends, device as device, devices as devices, use as use
from .tensors import Tensor as Tensor, from_dlpack as from_dlpack, tensor as tensor, zeros as zeros

__version__: str
