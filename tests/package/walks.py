#!/usr/bin/env python3
"""What docs/architecture.md and CONTRIBUTING.md name in `code` is there: each file and folder; each function() in the
file that it is said to stand in, or in one that the same step names; each other name somewhere in the sources. <name>
stands for any. And of each walk of docs/architecture.md (a section with numbered steps): a room, which is the folder of
a .c file, is met in one step or in several that follow one another, and not again; and one comes to each .c file: one
that the page named before, or in the same walk, uses something that it defines, or it has functions of the public
interface.
usage: walks.py SOURCE"""
import glob
import os
import re
import sys

SOURCE = sys.argv[1]
PAGES = ("docs/architecture.md", "CONTRIBUTING.md")
TOPS = ("core", "backends", "include", "tools", "tests", "bench", "scripts", "cmake", "examples", "docs")
# Fewer are found: this test no longer reads the pages.
LEAST = {"paths": 150, "functions": 55, "names": 45, "walks": 4, "uses": 60}
EXAMPLES = {"subject_condition_result"}  # how a name is made
bad, count = [], dict.fromkeys(LEAST, 0)


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8", errors="replace") as f:
        return f.read()


files, words = {}, set()
for top in TOPS:
    for where, below, found in os.walk(os.path.join(SOURCE, top)):
        below[:] = [b for b in below if b != "corpus"]
        for f in found:
            path = os.path.relpath(os.path.join(where, f), SOURCE)
            files.setdefault(f, []).append(path)
            if f.endswith((".c", ".h", ".py", ".sh", ".cmake", ".txt", ".json")) and path not in PAGES:
                words.update(re.findall(r"\w+", text_of(path)))
for path in ("CMakeLists.txt", "CMakePresets.json"):
    words.update(re.findall(r"\w+", text_of(path)))


def matches(path):
    """The files of a path, of one below core/ or include/, or of a bare name."""
    pattern = re.sub(r"<\w+>", "*", path)
    for at in ("", "core", "include"):
        found = glob.glob(os.path.join(SOURCE, at, pattern))
        if found:
            return [os.path.relpath(f, SOURCE) for f in found]
    if "/" in path:
        return []
    name = re.compile(pattern.replace(".", r"\.").replace("*", r".*"))
    return [p for f, at in files.items() if name.fullmatch(f) for p in at]


def defines(path, name):
    """A definition or declaration at the margin, or a macro."""
    pattern = re.sub(r"<\w+>", r"\\w+", name)
    return re.search(rf"^(?:[a-z][^\n=;]*?\b|#define )\*?{pattern}\(", text_of(path), re.M)


def is_path(code):
    return re.fullmatch(r"[\w.<>*-]+(?:/[\w.<>*-]+)*(?:\.(?:c|h|cpp|sh|py|txt|mlir|cmake|md|json|dict)|/)", code)


def check(page, line, block):
    codes = re.findall(r"`([^`]+)`", block)
    paths = [p for c in codes if is_path(c) and not c.startswith("build") for p in ([c] if matches(c) else [])]
    here = [f for p in paths for f in matches(p) if os.path.isfile(os.path.join(SOURCE, f))]
    for c in codes:
        if is_path(c) and not c.startswith("build"):
            count["paths"] += 1
            if not matches(c):
                bad.append(f"{page}:{line}: there is no {c}")
        elif re.fullmatch(r"[a-z_][\w<>]*\(\)", c):
            count["functions"] += 1
            at = re.search(re.escape(f"`{c}`") + r"\s+in\s+`([^`]+)`", block)
            if not any(defines(f, c[:-2]) for f in (matches(at.group(1)) if at else here)):
                bad.append(f"{page}:{line}: {at.group(1) if at else 'no file of this step'} doesn't have {c}")
        elif re.fullmatch(r"[A-Za-z_][\w<>]*", c) and ("_" in c or "<" in c):
            count["names"] += 1
            pattern = re.compile(re.sub(r"<\w+>", r"\\w+", c) + (r"\w*" if c.endswith("_") else ""))
            if c not in words | EXAMPLES and not any(pattern.fullmatch(w) for w in words):
                bad.append(f"{page}:{line}: nothing is called {c}")


def blocks(page):
    """(line, text) of each paragraph, step, list item and table row; code blocks are run by docs.sh."""
    out, first, code = [], 0, False
    for number, line in enumerate(text_of(page).splitlines(), 1):
        if line.startswith("```"):
            code, out, first = not code, out, 0
            continue
        if code or not line.strip():
            first = 0
            continue
        if not first or re.match(r"\||#|\d+\. |[-*] ", line):
            out.append([number, line])
            first = number
        else:
            out[-1][1] += " " + line.strip()
    return out


def defined_by(path):
    """Functions and tables that a .c file has for others."""
    code = text_of(path)
    return set(re.findall(r"^(?!static)[a-z][^\n=;()]*?\b(\w+)\((?![^\n]*;$)", code, re.M)) | set(
        re.findall(r"^(?!static)const [^\n=;()]*?\b(\w+)(?:\[\w*\])? = ", code, re.M))


def uses(code, name):
    """Its name, or that of a row from which a table makes it: family_##lowering, text_##name##_base."""
    if re.search(rf"\b{name}\b", code):
        return True
    for before, behind in re.findall(r"\b(\w+_)##\w+##(_\w+)", code):
        row = name[len(before):len(name) - len(behind)]
        if name.startswith(before) and name.endswith(behind) and row and re.search(rf"\b{row}\b", code):
            return True
    pasted = re.findall(r"\b(\w+_)##", code)
    return any(name.startswith(p) and re.search(rf"\b{name[len(p):]}\b", code, re.I) for p in pasted)


def named_in(block):
    return [p for c in re.findall(r"`((?:core|backends)/[\w/.]+\.[ch])`", block) for p in matches(c)]


def come_to(title, steps, known):
    """known: the files that the page has named so far."""
    code = {p: re.sub(r"/\*.*?\*/", "", text_of(p), flags=re.S) for p in known}
    for i, step in enumerate(steps):
        for path in named_in(step):
            if path.endswith(".c"):
                others = "".join(text for p, text in code.items() if p != path)
                count["uses"] += 1
                if not any(name.startswith("tsr_") or uses(others, name) for name in defined_by(path)):
                    bad.append(f'"{title}", step {i + 1}: no file named so far uses {path}')


def walk(title, steps, known):
    if len(steps) > 1:
        come_to(title, steps, known)
    met = {}
    for i, step in enumerate(steps):
        for c in re.findall(r"`((?:core|backends)/[\w/]+\.c)`", step):
            met.setdefault(os.path.dirname(c), set()).add(i)
    for room, at in sorted(met.items()):
        if max(at) - min(at) + 1 != len(at):
            bad.append(f'"{title}" comes to {room}/ in the steps {", ".join(str(i + 1) for i in sorted(at))}')
    count["walks"] += len(steps) > 1 and len(met) > 1


for page in PAGES:
    title, steps, known = "", [], []
    for line, block in blocks(page) + [[0, "# "]]:
        if block.startswith("#"):
            if page == PAGES[0]:
                walk(title, steps, known)
            title, steps = block.lstrip("# "), []
        elif re.match(r"\d+\. ", block):
            steps.append(block)
        known += [p for p in named_in(block) if p not in known]
        if line:
            check(page, line, block)
bad += [f"{count[what]} {what} are found, fewer than {n}" for what, n in LEAST.items() if count[what] < n]
print("\n".join(bad) if bad else ", ".join(f"{n} {what}" for what, n in count.items()) + ": all there")
sys.exit(bool(bad))
