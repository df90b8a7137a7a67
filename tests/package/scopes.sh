#!/usr/bin/env bash
# The three scopes of performance work are groups of tests: `ctest -L kernel`, `-L distributed`, `-L system` each select
# what belongs there and something of the others not; a pattern that no test has any more is a mistake. `slow` likewise.
set -eu
wrong=0
list() { ${CTEST:-ctest} --test-dir "$BUILD" -N -L "$1" | sed -n 's/^ *Test *#[0-9]*: //p'; }
all=$(${CTEST:-ctest} --test-dir "$BUILD" -N | sed -n 's/^ *Test *#[0-9]*: //p')
has() { # scope, at least so many, tests of it, the first test that is not
  local names name
  names=$(list "$1")
  [ "$(wc -l <<<"$names")" -ge "$2" ] || { echo "$1 has only: $names"; wrong=1; }
  for name in $3; do
    grep -qx "$name" <<<"$names" || ! grep -qx "$name" <<<"$all" || { echo "$1 lacks $name"; wrong=1; }
  done
  ! grep -qx "$4" <<<"$names" || { echo "$1 has $4"; wrong=1; }
  echo "$1: $(wc -l <<<"$names") tests"
}
has kernel 10 \
  "unit.test_cpu_gemm unit.test_tile_work unit.test_tile_to_simt conformance.test_reach simt.test_simt_tile" \
  unit.test_tune_search
has distributed 2 "unit.test_runtime_agree unit.test_runtime_devices simt.test_simt_driver" unit.test_cpu_gemm
has system 8 \
  "unit.test_tune_search unit.test_tune_cache unit.test_tune_occupancy unit.test_runtime_tune cli.test_tune_faults" \
  unit.test_cpu_gemm
has slow 10 \
  "unit.test_tune_search unit.test_cpu_gemm package.aarch64 conformance.test_conformance simt.conformance_sm_80" \
  unit.test_graph_eval
quick=$(${CTEST:-ctest} --test-dir "$BUILD" -N -L unit -LE slow | sed -n 's/^ *Test *#[0-9]*: //p' | wc -l)
[ "$quick" -ge 25 ] || { echo "only $quick unit tests are not slow"; wrong=1; }
exit $wrong
