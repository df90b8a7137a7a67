#!/usr/bin/env python3
"""See order.sh: reads ctest --show-only=json-v1 on standard input."""
import json
import sys

FIRST = "package.aarch64"  # everything by a cross-compiler, then under qemu
# Some of those that take longest where nothing is sanitized: a name that is gone or lost its cost would end the run
# on one core.
LONG = [
    "package.additions", "package.gpu_day", "conformance.test_compile_gates", "conformance.vulkan_row_range",
    "simt.test_simt_matmul", "simt.test_simt_plans", "simt.test_simt_tile", "simt.test_simt_mutants",
    "simt.indexed_sm_80", "simt.conformance_gfx942", "unit.test_cpu_gemm", "unit.test_tune_space",
    "unit.test_runtime_growth", "fuzz.test_ir_spirv", "fuzz.test_ir_text", "fuzz.test_ir_cpu",
    "cli.test_tune_faults", "cli.test_output", "cli.test_writes", "cli.test_bench_rows",
]
IDLE = ("RUN_SERIAL", "RESOURCE_LOCK", "PROCESSORS", "RESOURCE_GROUPS")


def faults(tests):
    """What is wrong with an order: {name: properties} as ctest prints them."""
    cost = {name: float(p.get("COST", 0)) for name, p in tests.items()}
    bad = [f"{name}: {key} leaves a core idle" for name, p in tests.items() for key in IDLE if p.get(key)]
    bad += [f"{name} is slow and has no COST" for name, p in tests.items()
            if "slow" in p.get("LABELS", []) and cost[name] <= 0]
    bad += [f"{name} takes long and has no COST" for name in LONG if name in tests and cost[name] <= 0]
    if FIRST in tests:
        bad += [f"{name} starts before {FIRST}" for name in tests if name != FIRST and cost[name] >= cost[FIRST]]
    return bad


def check_itself():
    fine = {FIRST: {"COST": 9.0}, LONG[0]: {"COST": 2.0, "LABELS": ["slow"]}, "unit.x": {}}
    wrong = [dict(fine, **{"unit.x": {"COST": 9.0}}), dict(fine, **{"unit.x": {"LABELS": ["slow"]}}),
             dict(fine, **{LONG[0]: {}}), dict(fine, **{"unit.x": {"RUN_SERIAL": True}})]
    return [] if not faults(fine) and all(len(faults(w)) == 1 for w in wrong) else ["faults() sees no fault"]


listed = json.load(sys.stdin)["tests"]
tests = {t["name"]: {p["name"]: p["value"] for p in t.get("properties", [])} for t in listed}
bad = check_itself() + faults(tests)
if sum(name in tests for name in LONG) < 10:
    bad.append("most of the long tests have other names now: correct the list")
print("\n".join(bad) if bad else f"{sum('COST' in p for p in tests.values())} of {len(tests)} tests have a cost")
sys.exit(bool(bad))
