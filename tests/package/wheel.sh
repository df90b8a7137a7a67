#!/usr/bin/env bash
# What pip builds: the library alone with the Python package, installed into a fresh folder and moved, where the
# machine's python3 imports it and multiplies. Where pip and scikit-build-core are here, the wheel itself too, without
# the network.
set -eu
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
python3 -c 'import ctypes, sys; sys.exit(sys.version_info < (3, 8))' || { echo "python3 is older than 3.8"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export CCACHE_BASEDIR=$SOURCE # as scripts/build has it, which compiled the same: a folder as deep as its own
"$CMAKE" -S "$SOURCE" -B "$BUILD-wheel" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DTSR_WERROR="$WERROR" -DTSR_TESTS=OFF -DSKBUILD=2 \
  -DPython_EXECUTABLE="$(command -v python3)" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
"$CMAKE" --build "$BUILD-wheel" --parallel 2 >"$dir/log" 2>&1 || { tail -30 "$dir/log"; exit 1; }
"$CMAKE" --install "$BUILD-wheel" --prefix "$dir/installed" >/dev/null
try() { # a folder with the package: its files, and a product
  for file in libtessera.so _abi.py op.pyi py.typed tessera/tessera-probe dist/mesh.py; do
    [ -e "$1/tessera/$file" ] || { echo "no tessera/$file"; exit 1; }
  done
  [ -x "$1/tessera/tessera/tessera-probe" ] || { echo "the probe can't be run"; exit 1; }
  [ -z "$(find "$1/tessera" -type l)" ] || { echo "symbolic links"; exit 1; }
  (cd / && PYTHONPATH=$1 python3 - "$1" <<'END'
import sys
import tessera
from tessera import capi, op
assert tessera.__file__.startswith(sys.argv[1]) and capi.library()._name.startswith(sys.argv[1]), tessera.__file__
assert op.matmul([[1.0, 2.0]], [[3.0], [4.0]]).tolist() == [[11.0]]
with open(sys.argv[1] + "/tessera/op.pyi") as stub:
    compile(stub.read(), "op.pyi", "exec")
print(f"tessera {tessera.__version__}: imported and multiplied")
END
  )
}
mkdir "$dir/moved" && mv "$dir/installed/tessera" "$dir/moved/"
try "$dir/moved"
python3 -c 'import pip, scikit_build_core' 2>/dev/null ||
  { echo "skipped: the wheel itself: no pip or no scikit-build-core here"; exit 0; }
python3 -m pip wheel -q --no-build-isolation --no-deps --no-index -C build-dir="$BUILD-wheel-pip" \
  -C cmake.define.CMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -w "$dir/wheels" "$SOURCE"
[[ $(basename "$dir"/wheels/*.whl) = tessera-*-py3-none-*.whl ]] || { ls "$dir/wheels"; exit 1; }
python3 -m zipfile -e "$dir"/wheels/*.whl "$dir/unpacked"
chmod +x "$dir/unpacked/tessera/tessera/tessera-probe" # as pip does by what the wheel says
try "$dir/unpacked"
