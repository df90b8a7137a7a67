#!/usr/bin/env bash
# Built where neither Vulkan's headers nor SQLite nor zlib are: the command says so where it matters, and does the rest.
# One small tree of its own, without tests, CUDA and HIP; the compiler's cache has most of it where there is one, and
# where there is none it isn't optimized.
set -eu
dir=$BUILD-without # as deep as $BUILD, so that paths are the same
export CCACHE_BASEDIR=$SOURCE
flags=(-DCMAKE_BUILD_TYPE=Release)
case $LAUNCHER in *ccache*) ;; *) flags=(-DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS=-O0) ;; esac
"$CMAKE" -S "$SOURCE" -B "$dir" -G "$GENERATOR" "${flags[@]}" -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DTSR_WERROR="$WERROR" -DTSR_TESTS=OFF \
  -DTSR_CUDA=OFF -DTSR_HIP=OFF -DTSR_VULKAN=ON -DVOLK_INCLUDE= -DCMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON >"$dir.log" 2>&1 || { tail -30 "$dir.log"; exit 1; }
"$CMAKE" --build "$dir" --target tessera --parallel 2 >>"$dir.log" 2>&1 || { tail -30 "$dir.log"; exit 1; }
tessera=$(find "$dir/tools" -name tessera -type f -perm -u+x | head -1)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset TSR_CACHE_DIR TSR_BACKEND TSR_TUNE
n=0
# expect STATUS "WORDS" ARGUMENTS..: what is printed has the words, in one line
expect() {
  local want=$1 words=$2 said rc=0
  shift 2
  said=$("$tessera" "$@" 2>&1 </dev/null) || rc=$?
  n=$((n + 1))
  [ $rc = "$want" ] && grep -qE -- "$words" <<<"$said" && return 0
  printf 'tessera %s: exit status %s, expected %s and "%s", got:\n%s\n' "$*" $rc "$want" "$words" "$said"
  exit 1
}
expect 0 '^vulkan +(unavailable: )?not built: no headers when it was configured' devices
expect 0 '"vulkan".*not built: no headers when it was configured' devices --json
expect 0 '^cpu:0 ' devices
expect 0 '^cuda +(unavailable: )?not built: TSR_CUDA was off' devices
expect 0 'nothing was stored: .*built without SQLite' tune matmul --shape 16x16x16 --device cpu:0 --samples 2
expect 0 '^0 entries: nothing is stored, .*built without SQLite' cache list
expect 0 "0 entries: nothing is stored, .*built without SQLite" cache list --json
expect 2 'built without SQLite' cache export
expect 3 'vulkan:?0?: not built: no headers when it was configured' bench add --shape 4x4 --device vulkan:0
expect 0 ' ok' bench add --shape 4x4 --device cpu:0 --milliseconds 1
expect 0 'tensor a: 2x3 f32' inspect "$SOURCE/tests/fuzz/corpus/npz/stored.npz"
expect 2 'entry "a.npy" is compressed, and this library was built without zlib' inspect \
  "$SOURCE/tests/fuzz/corpus/npz/deflated.npz"
left=$(find . -mindepth 1)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; }
echo "$n commands of a build without Vulkan, SQLite and zlib say what they lack"
