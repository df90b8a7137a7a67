"""Programs on all ranks of a mesh: a graph with shards on its inputs, for which the library works out what each rank
computes and which collectives lie between; or a graph with collectives and no shards, which is each rank's own."""
from __future__ import annotations

import ctypes

from .. import capi, errors, options, trace
from ..runtime import text_of
from .mesh import MeshHandle, ShardSpec, spec_of


class DistProgram(MeshHandle):
    """A graph compiled for a mesh. `print(program)` is a rank's program, `explain()` says why each collective is
    there, `profile()` what the last run's took."""
    destroy = "tsr_dist_program_destroy"

    def __init__(self, mesh, graph_handle, key):
        made, keep = options.build(key)
        asked, handle = capi.tsr_dist_options(compile=made), ctypes.c_void_p()
        with mesh.held():
            capi.tsr_dist_program_compile(mesh.handle, graph_handle, ctypes.byref(asked), ctypes.byref(handle))
        del keep
        super().__init__(handle, mesh)
        self.types = ((), ())

    def _text(self, function):
        with text_of() as t:
            function(self.handle, t.out)
        return t.value

    def __str__(self):
        return self._text(capi.tsr_dist_program_print)

    def explain(self) -> str:
        return self._text(capi.tsr_dist_program_explain)

    def profile(self) -> str:
        return self._text(capi.tsr_dist_program_profile)

    def collectives(self) -> list:
        """A dict per collective: op, axes, algorithm, bytes, planned_us, us, overlapped_us of the last run."""
        rows = []
        for i in range(capi.tsr_dist_program_n_collectives(self.handle)):
            raw = capi.tsr_dist_program_collective(self.handle, i)
            row = {name: getattr(raw, name) for name, _ in raw._fields_}
            rows.append({k: v.decode() if isinstance(v, bytes) else v for k, v in row.items()})
        return rows

    def input(self, i):
        return self._tensor(capi.tsr_dist_program_input, i)

    def __call__(self, *given):
        """Spreads arrays as the inputs lie, runs, and gives a list of Sharded, one per output."""
        from ..tensors import tensor
        from .sharded import Sharded
        if len(given) != len(self.types[0]):
            raise errors.argument(f"{len(given)} arguments for {len(self.types[0])}", "dist")
        ins = []
        for i, (x, (dtype, shape)) in enumerate(zip(given, self.types[0])):
            ins.append(Sharded(shape, dtype, self.input(i)))
            ins[-1][:] = tensor(x, dtype)
        return [Sharded(shape, dtype, held) for (dtype, shape), held in
                zip(self.types[1], self.run([x.held for x in ins]))]

    def _tensor(self, function, i):
        from .sharded import Description
        handle = ctypes.c_void_p()
        function(self.handle, i, ctypes.byref(handle))
        return Description(handle, self.mesh)

    def run(self, inputs):
        """Runs on the Descriptions of tensors; gives one per output."""
        n = capi.tsr_dist_program_n_outputs(self.handle)
        outs = [self._tensor(capi.tsr_dist_program_output, i) for i in range(n)]
        ins = (ctypes.c_void_p * max(len(inputs), 1))(*(x.handle.value for x in inputs))
        made = (ctypes.c_void_p * max(n, 1))(*(x.handle.value for x in outs))
        with self.mesh.held():
            capi.tsr_dist_program_run(self.handle, ins, made)
        return outs


def shard(graph_handle, value, mesh, spec):
    """Says how a value of a graph lies on the mesh."""
    capi.tsr_graph_shard(graph_handle, value, mesh.handle, ctypes.byref(spec.raw()))


def compile_trace(mesh, made, params, outs, layouts):
    """The program of a trace: params are (traced tensor, Sharded), outs traced tensors; layouts[i], where there is one,
    is how output i is to lie."""
    for traced, given in params:
        shard(made.handle, made.value(traced), mesh, spec_of(given.cuts))
    for out, spec in zip(outs, layouts):
        if spec is not None:
            shard(made.handle, made.value(out), mesh, spec)
        made.output(out)
    key = list(options.scope().key())
    key[-1] = made.schedule or key[-1]
    return DistProgram(mesh, made.handle, tuple(key))


class Compiled:
    """A program on a mesh with what a call needs: which operands it reads, in order; the types of its outputs; what the
    tracing found out."""
    __slots__ = ("program", "order", "types", "state")

    def __init__(self, function, operands, mesh, layouts, state):
        sharded = [o for o in operands if not trace.is_number(o)]
        made = trace.Trace("mesh")
        traced = [o if trace.is_number(o) else made.input(f"x{i}", o.dtype, o.shape) for i, o in enumerate(operands)]
        with made:
            outs = function(*traced)
        outs = list(outs) if isinstance(outs, (tuple, list)) else [outs]
        asked = layouts() if callable(layouts) else list(layouts)
        if made.captured:
            raise errors.argument("tensors of elsewhere in a kernel on a mesh", "dist", "give them as arguments")
        places = {id(t): i for i, t in enumerate(t for t in traced if not trace.is_number(t))}
        self.order = [places[id(t)] for t in made.inputs]
        for out in outs:
            made.value(out)
        params = [(t, sharded[i]) for t, i in zip(made.inputs, self.order)]
        self.program = compile_trace(mesh, made, params, outs, asked + [None] * (len(outs) - len(asked)))
        self.types = [(o.dtype, o.shape) for o in outs]
        self.state = dict(state)


def prepare(function, operands, layouts=(), key=None, state=None):
    """(the program, its operands) of a function of tensors on the mesh of those that are sharded; others are repeated
    on all ranks. `layouts`: how outputs are to lie, None where that is left to the library."""
    from .sharded import Sharded, distribute
    mesh = next(o.mesh for o in operands if isinstance(o, Sharded))
    if any(isinstance(o, Sharded) and o.mesh is not mesh for o in operands):
        raise errors.argument("operands of different meshes", "dist")
    operands = [o.summed() if isinstance(o, Sharded) else o if trace.is_number(o) else
                distribute(o, ShardSpec(), mesh) for o in operands]
    types = tuple((type(o), o) if trace.is_number(o) else (o.dtype, o.shape, o.cuts) for o in operands)
    key = (key, options.scope().key(), types, None if callable(layouts) else repr(layouts)) if key else None
    found = mesh.programs.get(key)
    if found is None:
        state = {} if state is None else state
        found = Compiled(function, operands, mesh, layouts, state)
        found.state.update(state)
        if key:
            mesh.programs[key] = found
    return found, [o for o in operands if isinstance(o, Sharded)]


def run(function, operands, layouts=(), key=None, state=None):
    """A function of tensors as one program on all ranks: a list of Sharded, one per output."""
    from .sharded import Sharded
    found, operands = prepare(function, operands, layouts, key, state)
    if state is not None:
        state.update(found.state)
    outs = found.program.run([operands[i].held for i in found.order])
    return [Sharded(shape, dtype, held) for (dtype, shape), held in zip(found.types, outs)]


class KernelCall:
    """A call of a kernel with tensors of a mesh. `state` is what tracing tells: the places of parameters that are
    written, how many results are returned, whether it is a single one."""

    def __init__(self, kernel, given):
        self.kernel, self.given, self.state = kernel, given, {}

    def _body(self, *params):
        result = self.kernel.function(*params)
        returned = [] if result is None else list(result) if isinstance(result, (tuple, list)) else [result]
        places = [i for i, p in enumerate(params) if id(p) in trace.current().written]
        self.state.update(places=places, n=len(returned),
                          single=result is not None and not isinstance(result, (tuple, list)))
        if not returned and not places:
            raise errors.argument("the kernel gives nothing", "dist", "return a tensor, or write one: C[:] = ...")
        return returned + [params[i] for i in places]

    def _layouts(self):
        return [None] * self.state["n"] + [spec_of(self.given[i].cuts) for i in self.state["places"]]

    def asked(self):
        """The arguments of run and prepare but the last."""
        return self._body, self.given, self._layouts, ("kernel", self.kernel)

    def finish(self, outs):
        n = self.state["n"]
        for place, made in zip(self.state["places"], outs[n:]):
            self.given[place].held = made.held
        return outs[0] if self.state["single"] else tuple(outs[:n]) or None


def program_of(kernel, given) -> DistProgram:
    """The program that a kernel on tensors of a mesh runs."""
    call = KernelCall(kernel, given)
    return prepare(*call.asked(), call.state)[0].program


def autoshard(function, mesh, *specs):
    """(program, why): a function for inputs of these types (spec, arrays), of which the library searches how each is to
    lie on the mesh, by the modelled time of the whole program. program(*arrays) runs it."""
    from .. import graph as graphs
    found = graphs.trace(function, *specs)
    if found.captured:
        raise errors.argument("tensors of elsewhere in a function on a mesh", "dist", "give them as arguments")
    with text_of() as t:
        capi.tsr_graph_autoshard(found.handle, mesh.handle, None, t.out)
    program = DistProgram(mesh, found.handle, found.key())
    program.types = tuple([(i.dtype, i.shape) for i in infos] for infos in (found.inputs, found.outputs))
    return program, t.value
