#!/usr/bin/env bash
# Long tests start first and no test holds a second core idle. ctest starts by the property COST, largest first: the one
# cold build of everything for another processor before all others, each test of the label `slow` with a cost of its
# own, and none that runs alone, waits for another that locks the same thing, or takes more processors than one.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
set -e
"${CTEST:-ctest}" --test-dir "$BUILD" --show-only=json-v1 | python3 "$(dirname "$0")/order.py"
