#!/usr/bin/env bash
# The Python package over the built library: the tests of tests/python with the machine's python3, and with its numpy
# where it has one. python.sh NAME runs tests/python/test_NAME.py; "examples" runs those of examples/python.
set -u
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
python3() { command "$python" "$@"; }
python=python3 # the system's where it alone has numpy
python3 -c 'import numpy' 2>/dev/null || ! /usr/bin/python3 -c 'import numpy' 2>/dev/null || python=/usr/bin/python3
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' || { echo "python3 is older than 3.8"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp -r "$SOURCE/bindings/python/tessera" "$SOURCE/tests/python" "$dir/"
python3 "$SOURCE/bindings/python/generate.py" "$SOURCE/include/tessera" "$dir/tessera" "$LIBRARY" || exit 1
export PYTHONPATH=$dir TESSERA_LIBRARY=$LIBRARY TSR_CACHE_DIR=$dir/cache PYTHONDONTWRITEBYTECODE=
if [ "$1" = examples ]; then
  for example in "$SOURCE"/examples/python/*.py; do
    python3 "$example" || { echo "$example failed"; exit 1; }
  done
  exit 0
fi
python3 -c 'import numpy' 2>/dev/null || echo "skipped: what needs numpy, which isn't here"
(cd "$dir/python" && python3 -m unittest "test_$1" >"$dir/out" 2>&1)
rc=$?
[ $rc = 0 ] || cat "$dir/out"
tail -n 4 "$dir/out" | sed -n 's/^OK (skipped=\([0-9]*\)).*/\1 skipped of them/p; s/^Ran /Ran /p'
exit $rc
