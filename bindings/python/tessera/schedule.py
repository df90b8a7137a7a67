"""Schedule primitives. Inside a kernel they say how it is lowered; outside they hold for everything that this thread
compiles from then on, until reset() or the end of a `with scope():`. Values that a device can't have are legalised, and
the library says so."""
from __future__ import annotations

import ctypes

from . import capi, errors, options, trace

_FIELDS = dict(capi.tsr_schedule._fields_)
_KNOBS = tuple(name for name in _FIELDS if name != "kernel")
_MOST = 2**31 - 1


def _set(**values):
    target = trace.current() or options.scope()
    kept = dict(target.schedule)
    kept.update(values)
    target.schedule = tuple(sorted(kept.items()))


def _switch(on):
    return 1 if on else -1


def tile(shape, autotune=False):
    """The block tile (m, n, k); fewer numbers leave the others open. With autotune the tuner may replace it."""
    given = (shape,) if isinstance(shape, int) else errors.listed(shape, "schedule.tile", "extents")
    if not 1 <= len(given) <= 3:
        raise errors.argument(f"tile {given}", "schedule.tile", "1 to 3 numbers, (BM, BN, BK)")
    given = [_positive("tile", x) for x in given]
    _set(**dict(zip("mnk", given)), **({"autotune": True} if autotune else {}))


def vectorize(elements):
    """Elements per thread and access: 1, 2, 4, ..."""
    _set(vectorize=_positive("vectorize", elements))


def use_shared_memory(on=True, padding=None):
    """Whether tiles are staged through shared memory, and the elements added to each row of them."""
    _set(use_shared=_switch(on))
    if padding is not None:
        elements = errors.whole(padding, "schedule.use_shared_memory", 0, _MOST)
        _set(padding=elements if elements else -1)


def async_copy(on=True):
    """Loads overlap with computation; emulated where the device has no asynchronous copies."""
    _set(async_copy=_switch(on))


def pipeline_stages(stages):
    """Buffers of the k loop; 1 is no overlap."""
    _set(pipeline_stages=_positive("pipeline_stages", stages))


def split_k(parts):
    """Parts of a contraction that different blocks compute."""
    _set(split_k=_positive("split_k", parts))


def stream_k(blocks):
    """Blocks among which the steps of a contraction are shared out."""
    _set(stream_k=_positive("stream_k", blocks))


def warps(number):
    """Subgroups per block."""
    _set(warps=_positive("warps", number))


def raster(rows):
    """Block rows that are walked together."""
    _set(raster=_positive("raster", rows))


def cluster(blocks):
    """Blocks that hold one row together: 1, 2, 4 or 8."""
    _set(cluster=_positive("cluster", blocks))


def matrix_path(name):
    """The matrix path, by its name: "coopmat", "lane_n", "wgmma", "scalar", ..."""
    _set(matrix_path=_of_field("matrix_path", name, "schedule.matrix_path"))


def autotune(on=True):
    """The tuner may replace the tile."""
    _set(autotune=bool(on))


def pipelined():
    """Shared memory, asynchronous copies, three stages."""
    use_shared_memory(True)
    async_copy(True)
    pipeline_stages(3)


def _positive(name, value):
    return errors.whole(value, "schedule." + name, 1, _MOST)


def _of_field(name, value, op):
    """A value of the library's struct, as its field takes it: ctypes would take another, or only its low bits."""
    kind = _FIELDS[name]
    if kind is ctypes.c_char_p:
        if not isinstance(value, str):
            raise errors.argument(f"{name}={value!r:.80} is no text", op)
        capi.utf8(value)
        return value
    return bool(value) if kind is ctypes.c_bool else errors.whole(value, op + " " + name, -_MOST - 1, _MOST)


def current() -> dict:
    """What is set here, by the names of the library's knobs."""
    return dict((trace.current() or options.scope()).schedule)


def reset():
    """Takes back what this thread has set outside of kernels."""
    options.scope().schedule = ()


def scope(**knobs):
    """`with scope(m=64, n=64, k=32):` what is set inside holds until the end of the block."""
    for name in knobs:
        if name not in _KNOBS:
            raise errors.argument(f"no knob {name!r}", "schedule.scope", ", ".join(_KNOBS))
    kept = dict(options.scope().schedule)
    kept.update((name, _of_field(name, value, "schedule.scope")) for name, value in knobs.items())
    return options.Setting(schedule=tuple(sorted(kept.items())))
