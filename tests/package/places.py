#!/usr/bin/env python3
"""How many places know of one op, norm, contraction, dialect or matrix instruction: regions of files in core/,
backends/, include/ and tools/ where its name stands (lines less than GAP apart are one region). Each has a bound, which
may only shrink: what is above it fails. `wanted` is where it shall end; CONTRIBUTING.md ("Adding things") names the
places.
usage: places.py SOURCE [--list NAME]"""
import os
import re
import sys

SOURCE = sys.argv[1]
LIST = sys.argv[3] if len(sys.argv) > 3 else None
GAP = 12
ROWS = [  # what, the name's pattern, bound, wanted
    ("an elementwise op: silu", r"silu", 5, 5),
    ("a norm: layernorm", r"layernorm", 5, 5),
    ("a contraction: matmul of Graph IR",
     r"\bG_MATMUL\b|NAME\(MATMUL|graph\.matmul|graph_matmul|\bmatmul_(dtype|attrs)\b|(infer|eval|adjoint)_matmul",
     8, 8),
    ("a GPU dialect: hip", r"\bDIALECT_HIP\b|X\(HIP, ", 8, 8),
    ("a matrix instruction: wgmma of Target IR", r"\bTG_WGMMA\b|\bOP\(WGMMA\)", 3, 3),
    ("a kind of matrix instructions: wmma of AMD",
     r"\b(MATRIX|TG|TEXT)_WMMA\b|\bsimt_path_wmma\b|\bwmma_fits\b|\"wmma\"|\b(X|OP)\(WMMA\b", 11, 3),
]
FOLDERS = ("core", "backends", "include", "tools")
CLIENTS = ("core/llm", "core/import/onnx")  # build graphs by the names of ops, as applications do


def places(pattern):
    name, found = re.compile(pattern, re.I), []
    for folder in FOLDERS:
        for where, _, files in os.walk(os.path.join(SOURCE, folder)):
            for f in sorted(files):
                if where.endswith(CLIENTS) or not f.endswith((".c", ".h", ".cc", ".py", ".cmake", ".txt")):
                    continue
                path, last = os.path.join(where, f), None
                with open(path, encoding="utf-8") as text:
                    for at, line in enumerate(text, 1):
                        if not name.search(line):
                            continue
                        if last is None or at - last >= GAP:
                            found.append(f"{os.path.relpath(path, SOURCE)}:{at}")
                        last = at
    return sorted(found)


bad = False
for what, pattern, bound, wanted in ROWS:
    found = places(pattern)
    bad |= len(found) > bound
    print(f"{what}: {len(found)} places, bound {bound}, wanted {wanted}")
    if len(found) < bound and bound > wanted:
        print(f"  there are fewer now: lower the bound to {max(len(found), wanted)}")
    if len(found) > bound or (LIST and LIST in what):
        print("".join(f"  {p}\n" for p in found), end="")
sys.exit(bad)
