#!/usr/bin/env python3
"""Who may see whom: one row a room of core/ with the rooms that it may name besides itself, checked on quoted includes
and on the calls between objects (nm). No circle of more than two files. Then include/, the backends and the registry;
who names a GPU dialect or a kernel family; that each function of a header is used by another file; that no text written
for people is compared.
usage: rooms.py SOURCE BUILD"""
import os
import re
import subprocess
import sys

SOURCE, BUILD = sys.argv[1:3]
with open(os.path.join(SOURCE, "core/device/caps.h"), encoding="utf-8") as caps:
    GPU_DIALECTS = [d for d in re.findall(r"^  DIALECT_([A-Z]+),", caps.read(), re.M) if d != "CPU"]
GPU_BACKENDS = [d.lower() for d in GPU_DIALECTS if d not in ("SPIRV", "HOST")]  # over backends/simt, if they like
IR = ["base", "device", "ir"]
LEVELS = IR + ["ir/graph", "ir/schedule", "ir/tile", "ir/target"]
EMIT = ["emit", "emit/cpu", "emit/spirv", "emit/text"]
SIMT = ["passes/simt", "passes/simt/matrix", "passes/simt/whole"]
BELOW = IR + ["ir/tile", "ir/target", "passes"]  # what the lowerings to a target see
PASSES = ["passes", "passes/graph", "passes/schedule", "passes/tile", "passes/cpu", "passes/target"] + SIMT
ROWS = {
    "base": [],
    "device": ["base"],
    "coll": ["base", "device"],
    "dist": IR + ["ir/graph", "coll"],
    "ir": ["base", "device"],
    "ir/graph": IR + ["ir/graph/ops"],
    "ir/graph/ops": IR + ["ir/graph"],
    "ir/schedule": IR + ["ir/graph"],
    "ir/tile": IR,
    "ir/target": IR + ["ir/tile"],
    "emit": IR + ["ir/tile", "ir/target"] + EMIT,
    "emit/cpu": IR + ["ir/tile", "ir/target", "emit"],
    "emit/spirv": IR + ["ir/tile", "ir/target", "emit"],
    "emit/text": IR + ["ir/tile", "ir/target", "emit"],
    "passes": LEVELS + EMIT + PASSES,
    "passes/graph": IR + ["ir/graph", "passes"],
    "passes/schedule": LEVELS + ["passes", "passes/graph"],
    "passes/tile": LEVELS + ["passes", "passes/graph", "passes/schedule"],
    "passes/simt": BELOW + ["passes/target"] + SIMT,
    "passes/simt/matrix": BELOW + ["passes/target"] + SIMT,
    "passes/simt/whole": BELOW + ["passes/target"] + SIMT,
    "passes/cpu": BELOW + ["passes/target", "emit/cpu"],
    "passes/target": BELOW,
    "tune": LEVELS + EMIT + PASSES,
    "profile": LEVELS + EMIT + PASSES + ["tune"],
    "import": IR + ["ir/graph"],
    "import/onnx": IR + ["ir/graph", "import"],
    "runtime": LEVELS + EMIT + PASSES + ["tune", "profile", "import", "import/onnx", "coll", "dist"],
    "llm": ["base", "import", "runtime"],
}
TABLES = "ir/tables"  # the one file of ir/ that names the levels, as the registry is the one that names backends


def room_of(path):
    return os.path.dirname(path)


def stem(path):
    return os.path.splitext(path)[0]


def calls():
    top = os.path.join(BUILD, "core/CMakeFiles/tsr_core.dir")
    defined, wanted, sources = {}, {}, []
    for folder, _, files in os.walk(top):
        for f in files:
            source = os.path.relpath(os.path.join(folder, f), top)[:-2]
            # Those whose source is gone were left by an earlier build.
            if f.endswith(".c.o") and os.path.exists(os.path.join(SOURCE, "core", source)):
                sources.append(source)
    # One process for all objects: a few hundred take longer than all the rest here.
    for line in subprocess.check_output(["nm", "-A"] + [s + ".o" for s in sources], text=True, cwd=top).splitlines():
        path, symbol = line.split(":", 1)
        *_, kind, name = symbol.split()
        if kind in "TDBR":
            defined[name] = path[:-2]
        elif kind == "U":
            wanted.setdefault(path[:-2], set()).add(name)
    for source, names in wanted.items():
        for name in sorted(names):
            if defined.get(name, source) != source:
                yield source, defined[name], name


def quoted(folder):
    for where, _, files in os.walk(os.path.join(SOURCE, folder)):
        for f in sorted(files):
            if f.endswith((".c", ".h")):
                path = os.path.join(where, f)
                with open(path, encoding="utf-8") as text:
                    for m in re.finditer(r'^\s*#\s*include\s*"([^"]+)"', text.read(), re.M):
                        yield os.path.relpath(path, SOURCE), m.group(1)


def includes():
    for path, name in quoted("core"):
        if name.startswith("core/"):
            yield path[len("core/"):], name[len("core/"):], "include"


def circles(edges):
    """Strongly connected components of more than two files; a source and its header are one (Tarjan, no recursion)."""
    graph = {}
    for a, b in edges:
        if stem(a) != stem(b) and stem(a) != TABLES:
            graph.setdefault(stem(a), set()).add(stem(b))
            graph.setdefault(stem(b), set())
    index, low, on, stack, found = {}, {}, set(), [], []

    def enter(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        return v, iter(sorted(graph[v]))

    for root in sorted(graph):
        work = [] if root in index else [enter(root)]
        while work:
            v, rest = work[-1]
            for w in rest:
                if w not in index:
                    work.append(enter(w))
                    break
                if w in on:
                    low[v] = min(low[v], index[w])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[v])
                if low[v] == index[v]:
                    at = stack.index(v)
                    found.append(sorted(stack[at:]))
                    on.difference_update(stack[at:])
                    del stack[at:]
    return [c for c in found if len(c) > 2]


bad = []
edges, kinds, against = [], [], {}
for kind, pairs in (("includes", includes()), ("calls", calls())):
    for a, b, what in pairs:
        edges.append((a, b))
        kinds.append(kind)
        seen, room = room_of(b), room_of(a)
        if room not in ROWS:
            bad.append(f"core/{a} is in no room of the table")
        elif seen != room and seen not in ROWS[room] and stem(a) != TABLES:
            against.setdefault((a, b), []).append((kind, what))
for (a, b), found in sorted(against.items()):
    words = " ".join(sorted({what for kind, what in found if kind == "calls"})[:4])
    bad.append(f"core/{a} {found[0][0]} core/{b}, which {room_of(a)} may not see" + (f": {words}" if words else ""))
bad += [f"a circle of {len(c)} files: {' '.join(c)}" for c in circles(edges)]
triangle = [("a.c", "b.h"), ("b.c", "c.h"), ("c.c", "a.h"), ("c.c", "d.h"), ("d.c", "c.h")]
if circles(triangle) != [["a", "b", "c", "d"]] or circles(triangle[1:2] + triangle[3:]):
    bad.append("circles() finds no circle of four files, or one of two")
n_calls = sum(kind_of == "calls" for kind_of in kinds)
if n_calls < 2000:
    bad.append(f"{n_calls} calls between the objects of {BUILD}: it isn't built, or its objects have no symbols")

for path, name in quoted("include"):
    if "/" in name and not name.startswith("tessera/"):
        bad.append(f"{path} includes {name}: public headers see public headers")
for path, name in quoted("backends"):
    own = "/".join(path.split("/")[:2]) + "/"
    allowed = (own, "tessera/", "core/base/", "core/device/", "core/ir/", "core/emit/")
    if path.split("/")[1] in GPU_BACKENDS:
        allowed += ("backends/simt/",)
    if path.split("/")[1] in ("cpu", "null"):
        allowed += ("backends/host/",)
    if path.split("/")[1] == "coll":  # transports
        allowed += ("core/coll/",)
    if "/" in name and not name.startswith(allowed):
        bad.append(f"{path} includes {name}, which {own} may not")
for path, name in quoted("core"):
    if name.startswith("backends/") and path != "core/runtime/registry.c":
        bad.append(f"{path} names a backend's folder; only core/runtime/registry.c may")
# A fact of a GPU dialect is a field of its row (core/device/dialect.c); these alone name one.
DIALECT_FILES = {
    "core/device/caps.h", "core/device/dialect.c", "core/device/arch.c", "core/emit/emit.c",
    "core/emit/spirv/caps.c", "backends/vulkan/vulkan.c", "backends/vulkan/caps.c",
} | {f"backends/{name}/{name}.c" for name in GPU_BACKENDS}
# A fact of a kernel family is a column of its row (core/ir/kernel_family.h); these alone name one.
FAMILY_FILES = {
    "core/ir/kernel_family.h": "the rows",
    "core/passes/graph/fuse.c": "which kinds of graph ops lead a kernel of which",
    "core/runtime/tune_explain.c": "attention's estimate is asked for by its name",
    "core/runtime/device_profile.c": "its peak is a line of the report",
}
with open(os.path.join(SOURCE, "core/ir/kernel_family.h"), encoding="utf-8") as text:
    FAMILIES = re.findall(r"^  X\(([A-Z_]+), ", text.read(), re.M)
if "ATTENTION_BACKWARD" not in FAMILIES:
    bad.append(f"core/ir/kernel_family.h has the rows {FAMILIES}, fewer than there are")
if not {"SPIRV", "CUDA", "HIP", "HOST"} <= set(GPU_DIALECTS):
    bad.append(f"core/device/caps.h has the dialects {GPU_DIALECTS}, fewer than there are")
NAMED = [  # (names, files, what to do)
    (r"\bDIALECT_(?:" + "|".join(GPU_DIALECTS) + r")\b", DIALECT_FILES,
     "ask its row for the trait (CONTRIBUTING, Adding a GPU dialect)"),
    (r"\bFAMILY_(?:" + "|".join(FAMILIES) + r")\b", FAMILY_FILES,
     "ask its row (CONTRIBUTING, A kernel family)"),
]
named = set()
for folder in ("core", "backends", "tools"):
    for where, _, files in os.walk(os.path.join(SOURCE, folder)):
        for f in sorted(files):
            path = os.path.relpath(os.path.join(where, f), SOURCE)
            if not f.endswith((".c", ".h")):
                continue
            with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
                code = text.read()
            for pattern, allowed, advice in NAMED:
                found = sorted(set(re.findall(pattern, code)))
                named.update([path] if found else [])
                if path not in allowed:
                    bad += [f"{path} names {name}: {advice}" for name in found]
bad += [f"{path} names no family any more: take it off the list" for path in FAMILY_FILES
        if path not in named and path != "core/ir/kernel_family.h"]
# A header declares what another file uses; else it is dead, or static.
KEPT = {"coll_run_ranks"}  # for an application's thread that drives several ranks
DECLARED = re.compile(
    r"^(?!static|typedef|extern)[A-Za-z][\w \*]*?\b([a-z]\w*)\([^;{}]*\)[^;{}()]*(?:\([^;{}]*\))?;", re.M)
NAMES = {}
for folder in ("core", "backends", "tools", "tests", "bench"):
    for where, _, files in os.walk(os.path.join(SOURCE, folder)):
        for f in files:
            path = os.path.join(where, f)
            if f.endswith((".c", ".h", ".cpp")):
                with open(path, encoding="utf-8", errors="replace") as text:
                    for name in set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S))):
                        NAMES.setdefault(name, set()).add(os.path.relpath(path, SOURCE))
n_declared = 0
for where, _, files in os.walk(os.path.join(SOURCE, "core")):
    for f in (f for f in files if f.endswith(".h")):
        path = os.path.relpath(os.path.join(where, f), SOURCE)
        with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
            code = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
        for name in DECLARED.findall(code):
            n_declared += 1
            if len(NAMES[name] - {path}) < 2 and name not in KEPT and len(re.findall(rf"\b{name}\b", code)) == 1:
                bad.append(f"{path} declares {name}, which no other file than its own uses: make it static, or drop it")
if n_declared < 800:
    bad.append(f"{n_declared} functions are found in the headers: this test no longer reads them")
# No branch on prose: what is written for people is compared or searched nowhere but where it is put in order for them.
PROSE = re.compile(r"\b(?:why|reasons?|causes?|messages?|hints?|original|tsr_status_(?:cause|message|hint))\b")
SEARCHES = re.compile(
    r"\b(?:str(?:n|case|ncase)?cmp|strstr|strc?spn|strr?chr|strpbrk|mem(?:cmp|mem))\s*"
    r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)|(?:\b(?:why|reason|cause|message|hint)\[\w+\]\s*==)")
READS_PROSE = {  # to group rows that are shown, and nothing else
    "core/import/onnx/convert.c": "what can't be converted for the same reason is one row with a count",
    "core/tune/space.c": "reasons that differ in their numbers alone are one row",
    "core/profile/profile.c": "a kernel that asked for another schedule has a row of its own",
    "tools/tessera/bench_measure.c": "a peer's name isn't printed twice",
}
found_prose = set()
for folder in ("core", "backends", "tools"):
    for where, _, files in os.walk(os.path.join(SOURCE, folder)):
        for f in sorted(files):
            path = os.path.relpath(os.path.join(where, f), SOURCE)
            if not f.endswith((".c", ".h")):
                continue
            with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
                for number, line in enumerate(text, 1):
                    for m in SEARCHES.finditer(line):
                        if m.group(1) is None or PROSE.search(re.sub(r'"(?:[^"\\]|\\.)*"', '""', m.group(1))):
                            found_prose.add(path)
                            if path not in READS_PROSE:
                                bad.append(f"{path}:{number} branches on prose: {m.group(0)}")
bad += [f"{path} reads no prose any more: take it off the list" for path in READS_PROSE if path not in found_prose]
# No range test over the order of an enum's names: what a range means is a column of a table, or a switch.
ORDERED = {"tsr_level": "Graph, Schedule, Tile, Target: one follows from the other"}
NO_CODE = re.compile(r'/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.S)
ENUM = re.compile(r"\benum (\w+) \{([^}]*)\}")
BOUND = re.compile(r"(?<![-<>])[<>]=?\s*([A-Z]\w+)\b|\b([A-Z]\w+)\s*[<>]=?(?![<>])")


def enumerators(code):
    """Names of enums that have a name themselves, but for constants and the count at an enum's end."""
    for name, body in ENUM.findall(code):
        rows = [r.strip() for r in body.split(",") if r.strip()]
        for row in rows if len(rows) > 1 and name not in ORDERED else []:
            if not re.search(r"(?:^|_)N(?:_|$)|_COUNT\b|=\s*[^0\s]", row):
                yield row.split("=")[0].strip()


def range_tests(code, names):
    for number, line in enumerate(code.splitlines(), 1):
        found = [a or b for a, b in BOUND.findall(line) if (a or b) in names]
        if found and not re.match(r"\s*(?:for \(|#)", line):
            yield number, found[0]


CODE = {}
for folder in ("core", "backends", "tools", "include"):
    for where, _, files in os.walk(os.path.join(SOURCE, folder)):
        for f in (f for f in files if f.endswith((".c", ".h"))):
            path = os.path.join(where, f)
            with open(path, encoding="utf-8") as text:
                code = NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text.read())
            CODE[os.path.relpath(path, SOURCE)] = code
SHARED = {n for path, code in CODE.items() if path.endswith(".h") for n in enumerators(code)}
# Names that a macro makes of a table's rows: all that begin as they do, but the count at the end, and other macros.
MADE = {m for code in CODE.values() for m in re.findall(r"#define \w+\([^)]*\) +([A-Z]+_)##\w+,", code)}
SHARED |= {n for code in CODE.values() for n in re.findall(r"\b(?:%s)[A-Z0-9_]+\b" % "|".join(sorted(MADE)), code)
           if not re.search(r"_N$|_NONE$", n)}
SHARED -= {n for code in CODE.values() for n in re.findall(r"#define (\w+)", code)}
if not {"SC_EXP", "FAMILY_MATMUL", "G_ADD"} <= SHARED:
    bad.append(f"names made by macros are not found: {sorted(MADE)}")
for path, code in sorted(CODE.items()):
    for number, name in range_tests(code, SHARED | set(enumerators(code))):
        bad.append(f"{path}:{number} tests a range up to or from {name}: ask a column of its table")
if len(SHARED) < 300:
    bad.append(f"{len(SHARED)} names of enums are found in the headers: this test no longer reads them")
planted = "typedef enum kind { KIND_A, KIND_B, KIND_N } kind;\nif (k >= KIND_B) x->KIND_A;\nif (k < KIND_N) return;\n"
if list(range_tests(planted, set(enumerators(planted)))) != [(2, "KIND_B")]:
    bad.append("range_tests() misses a planted range, or finds one that is none")
if list(range_tests("if (code >= SC_EXP && code <= SC_SILU)\n", SHARED)) != [(1, "SC_EXP")]:
    bad.append("range_tests() misses a range of scalar functions")
print("\n".join(bad) if bad else f"{len(edges)} includes and calls keep to the rules")
sys.exit(bool(bad))
