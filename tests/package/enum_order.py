#!/usr/bin/env python3
"""No range test over an enum's order: which ops, types or limits have a property is data of their rows, not their
place in a list. Refused is a comparison (<, <=, >, >=) with an enumerator that has no number of its own, but for the
head of a loop, which walks the list; the last of an enum or its count (N_X), which asks whether a number is in the list
at all; and n_x against a place, which asks whether there is an operand. ALLOWED has those whose order is their meaning.
usage: enum_order.py FOLDER..."""
import os
import re
import sys

ALLOWED = {"TSR_LEVEL_SCHEDULE", "TSR_LEVEL_TARGET"}  # levels of IR: each is lowered to the next
ENUM = re.compile(r"\benum\b\s*\w*\s*\{([^}]*)\}")
LOOP = re.compile(r"\b(for|while) \(")
COUNT = re.compile(r"\bn_\w+( - [\w>.-]+)* *$")
AFTER = re.compile(r"(?<![<>-])(?:<=?|>=?) *([A-Z]\w+)\b(?! *\()")
BEFORE = re.compile(r"\b([A-Z]\w+) *(?:<=?|>=?)(?![<>])")


def blank(text):
    """Without comments and strings, line by line as before."""
    keep = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', keep, text, flags=re.S)


def sources(folders):
    for folder in folders:
        for where, _, files in os.walk(folder):
            for f in sorted(files):
                if f.endswith((".c", ".h")):
                    path = os.path.join(where, f)
                    with open(path, encoding="utf-8") as text:
                        yield path, blank(text.read())


def listed(text):
    """Enumerators that have their place alone for a number, without the count or last of each enum."""
    text = re.sub(r"(?m)^\s*#.*$", "", text)
    for body in ENUM.findall(text):
        body = re.sub(r"\b[A-Z_]+\(\w+\)", ",", body)  # a list by a macro
        items = [x.strip() for x in body.split(",") if x.strip()]
        yield from (x for x in items[:-1] if re.fullmatch(r"[A-Z]\w+", x) and not re.search(r"(^|_)N_", x))


files = list(sources(sys.argv[1:]))
of_headers = {name for path, text in files if path.endswith(".h") for name in listed(text)} - ALLOWED
found, n = [], len(of_headers)
for path, text in files:
    constants = set(re.findall(r"\b([A-Z]\w+) = ", text))
    own = set(listed(text)) if path.endswith(".c") else set()
    ordered, n = (of_headers | own) - constants, n + len(own)
    for at, line in enumerate(text.split("\n"), 1):
        if LOOP.search(line):
            continue
        hits = [m.group(1) for m in AFTER.finditer(line) if not COUNT.search(line[: m.start()])]
        hits += [m.group(1) for m in BEFORE.finditer(line)]
        found += [f"{path}:{at}: range test over the order of {h}" for h in hits if h in ordered]
print("\n".join(found) if found else f"{len(files)} files, {n} enumerators: no range test over their order")
sys.exit(bool(found) or not n)
