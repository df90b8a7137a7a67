#!/usr/bin/env bash
# Builds the library, the commands and the CPU's tests for 64-bit Arm, without the libraries that only the host has, and
# runs the CPU kernels' tests under qemu. The other tests are the same C for every processor.
set -eu
command -v aarch64-linux-gnu-gcc >/dev/null || { echo "no aarch64-linux-gnu-gcc"; exit 77; }
dir=$BUILD/aarch64
"$CMAKE" -S "$SOURCE" -B "$dir" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_TOOLCHAIN_FILE="$SOURCE/cmake/aarch64-linux-gnu.cmake" \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DTSR_WERROR="$WERROR" >"$dir.log"
# cmocka is the host's.
tests=$(grep -L 'include <cmocka' "$SOURCE"/tests/unit/test_cpu_*.c | xargs basename -s .c -a)
# shellcheck disable=SC2086
"$CMAKE" --build "$dir" --parallel 2 >>"$dir.log" --target tessera_static tessera_shared tessera tessera-probe \
  example_charlm test_conformance $tests || { grep -A5 'error' "$dir.log"; exit 1; }
command -v qemu-aarch64 >/dev/null || { echo "skipped: it builds, but there is no qemu-aarch64 to run it"; exit 77; }
# The portable kernels are the host's C, which runs natively: here NEON's alone.
"$(dirname "$CMAKE")/ctest" --test-dir "$dir" -R '^(unit\.test_cpu|conformance\.cpu_neon)' -E '^unit\.test_cpu_gemm$' \
  --output-on-failure
qemu-aarch64 -L /usr/aarch64-linux-gnu "$(find "$dir" -name test_cpu_gemm -type f)" neon
