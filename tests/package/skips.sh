#!/usr/bin/env bash
# scripts/skips says of each test that ctest skipped, whole or in part, why; and nothing of the others.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
add() { # name, what it prints, exit status
  printf '%b\n' "$2" >"$1.txt"
  printf 'add_test(%s sh -c "cat %s/%s.txt; exit %s")\nset_tests_properties(%s PROPERTIES SKIP_RETURN_CODE 77)\n' \
    "$1" "$dir" "$1" "$3" "$1" >>CTestTestfile.cmake
}
add whole 'device none\nno such device here' 77
add mute '' 77
add cases \
  '[==========] Running 2 test(s).\n[  SKIPPED ] 1 test(s), listed below:\n[  SKIPPED ] of_two\n[==========] 2 run.' 0
add counted 'unsupported: 12 cases\n388 passed, 0 failed, 12 skipped' 0
add tool 'skipped: mlir-opt is not installed' 0
add clean '400 passed, 0 failed, 0 skipped\nnothing was skipped at all' 0
add wrong '3 skipped\nthen it failed' 1
"${CTEST:-ctest}" -j2 >out 2>&1 || :
"$SOURCE/scripts/skips" "$dir" out | sort >got
sort >want <<'END'
skipped whole: no such device here
skipped mute: no reason given
skipped in part cases: 1 test(s) skipped
skipped in part counted: 388 passed, 0 failed, 12 skipped
skipped in part tool: skipped: mlir-opt is not installed
END
diff want got || { echo "(< wanted, > said)"; exit 1; }
echo "scripts/skips: 7 kinds of test"
