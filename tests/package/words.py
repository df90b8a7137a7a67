#!/usr/bin/env python3
"""The words that stay out: earlier names of things that have the field's own (reduction kernels, lane_n,
transpose_operand, requested_path, gemv, multi-pass, ping_pong, creates_cycle, stage queue), in code, comments, help and
guides; short names that a header makes global. And lines within 120 columns but for rows of tables: what begins as an
initializer's, a table macro's (not a statement by a macro) or a string's line does, or is one entry; in pages rows,
blocks of code and links.
usage: words.py SOURCE"""
import os
import re
import sys

SOURCE = sys.argv[1]
FOLDERS = (
    "core", "backends", "tools", "include", "tests", "docs", "bench", "examples", "cmake", "scripts", "shaders", "bindings",
    ".ci", "CMakeLists.txt", "CHANGELOG.md", "CONTRIBUTING.md", "README.md",
)
WORDS = [  # pattern, what is said instead
    (r"\brow kernels?\b|\b\w*row_kernels\b", "reduction kernel"),
    (r"\bcolumns in lanes\b", "n-major lane layout (lane_n)"),
    (r"\bwish(?:es|ed)?\b|\b\w*_wish\b", "requested path"),
    (r"\bby[ _]turns\b", "ping_pong, or alternately"),
    (r"\bdetours?\b", "creates_cycle, or the thing itself"),
    (r"\bgo(?:es|ing)? by in (?:chunks|pieces)\b", "multi-pass"),
    (r"\bturned (?:in|round|over|operand|tile)\b|\b(?:is|are|be|been) turned\b(?! (?:on|off|into))", "transposed"),
    (r"\bpacks? cache\b|\bpacks\.h\b", "packed-panel cache"),
    (r"\b(?:get|give)s? back (?:a |the )?pack", "acquire / release"),
    (r"\b(?:cp\.async|TMA|async|stage|tile) ring\b|\bring of (?:stages|tiles|buffers|cp\.async)\b|\bsimt_ring\b",
     "stage queue"),
    (r"matrix_path=stream\b|TSR_MATRIX=(?:stream|columns)\b", "gemv, lane_n"),
    (r"\bturn_operand\b|\bin the turn at\b", "transpose_operand"),
    (r"\b(?:stages?|tiles?|buffers?|panels?) (?:is|are|was|were) given back\b", "released"),
    (r"\b(?:scratch|argument|binding|block|occupancy|workspace) slots?\b|\bslots? of (?:scratch|arguments)\b",
     "scratch interval, binding, resident block"),
]
ANY = re.compile("|".join(f"(?:{word})" for word, _ in WORDS), re.I)
OLD_NAMES = {"CHANGELOG.md", "docs/performance-log.md", "tests/package/words.py"}  # say what a name was before
# A row: of C an entry in braces or of a table macro, a designated one, a table on one line; a line of a string.
C_ROW = re.compile(r'\s*(?:[{}."\[]|R"|static const \w.*= *\{|static const struct \{)')
MACRO = re.compile(r"\s*[A-Z_0-9]+\(")
TEXT_ROW = re.compile(r"""\s*["'({\[]""")
ENDS = (".c", ".h", ".md", ".sh", ".py", ".cmake", ".cpp", ".inc", ".comp")
GENERATED = {"docs/ir.md"}
# Lines that are wider all the same; the bound may only shrink, to none.
MOST_WIDE = 0
bad, wide, lines, files = [], [], 0, 0


def paths():
    for top in FOLDERS:
        whole = os.path.join(SOURCE, top)
        if os.path.isfile(whole):
            yield top
        for where, below, found in os.walk(whole):
            below[:] = [b for b in below if b not in ("corpus", "golden")]
            for f in sorted(found):
                yield os.path.relpath(os.path.join(where, f), SOURCE)


def is_macro_row(lines):
    """Is the first of the lines an entry of a table macro? Not a statement or a head of a function."""
    depth, text = 0, re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', "", "".join(lines))
    if not MACRO.match(text):
        return False
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == ")" and depth == 0:
            return not re.match(r"\s*(?:[;{]|[a-z_]\w* *\()", text[i + 1:])
    return True


# Names that a header gives to all who include it say of what they are.
SHORT = re.compile(r"^(?:typedef .*\b|\} ?)(kern|node|mem|form|space|side|ring|slot|block|tile|plan);", re.M)
for path in paths():
    end = os.path.splitext(path)[1]
    script = path.startswith(("scripts/", ".ci/"))
    if end not in ENDS and not script and not path.endswith("CMakeLists.txt"):
        continue
    files += 1
    code = False
    with open(os.path.join(SOURCE, path), encoding="utf-8") as text:
        text = list(text)
        for number, line in enumerate(text, 1):
            if end == ".h" and path.startswith(("core/", "backends/")) and SHORT.match(line):
                bad.append(f"{path}:{number}: a header's name without a prefix: {line.strip()}")
            line = line.rstrip("\n")
            lines += 1
            if path not in OLD_NAMES and ANY.search(line):
                for word, instead in WORDS:
                    for m in re.finditer(word, line, re.I):
                        bad.append(f'{path}:{number}: "{m.group(0)}": {instead}')
            if line.lstrip().startswith("```"):
                code = not code
            if len(line) <= 120 or path in GENERATED:
                continue
            if end == ".md" and (code or line.startswith("|") or "http" in line):
                continue
            in_c = end in (".c", ".h", ".cpp", ".inc", ".comp")
            if in_c and is_macro_row(text[number - 1:number + 9]):
                continue
            if end != ".md" and (C_ROW if in_c else TEXT_ROW).match(line):
                continue
            wide.append(f"{path}:{number}: {len(line)} columns")

for planted, is_row in (
    (['  X(ADD, "add;(", 2,\n', "    a + b) \\\n"], True), (['  WM(TSR_F16, ")"),\n', "\n"], True),
    (['  CHECK(a == b, "(",\n', "        c);\n"], False), (["KERNEL(64) sum(const float *x) {\n"], False),
    (["  DONE(x) {\n"], False),
):
    if is_macro_row(planted) != is_row:
        bad.append(f"is_macro_row() is wrong of {planted}")

# A rebase has doubled entries more than once.
with open(os.path.join(SOURCE, "CHANGELOG.md"), encoding="utf-8") as text:
    begin = [entry[:60] for entry in re.split(r"(?m)^(?=- )", text.read()) if entry.startswith("- ")]
bad += [f"CHANGELOG.md: an entry stands twice: {e!r}" for e in sorted({e for e in begin if begin.count(e) > 1})]
if len(wide) > MOST_WIDE:
    bad += wide
said = f"{files} files, {lines} lines: no earlier name; beside tables {len(wide)} lines above 120 columns"
print("\n".join(bad) if bad else f"{said}, at most {MOST_WIDE}")
sys.exit(bool(bad))
