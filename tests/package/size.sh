#!/usr/bin/env bash
# size.sh BYTES [CMake options] - builds the library alone with these options and compares its stripped size with the
# limit.
set -eu
limit=$1
shift
dir=$BUILD/size-$(printf '%s' "$*" | cksum | cut -d' ' -f1)
"$CMAKE" -S "$SOURCE" -B "$dir" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$CC" \
  -DCMAKE_C_COMPILER_LAUNCHER="$LAUNCHER" -DTSR_WERROR="$WERROR" -DTSR_TESTS=OFF "$@" >"$dir.log"
"$CMAKE" --build "$dir" --target tessera_shared --parallel 2 >>"$dir.log" || { tail -30 "$dir.log"; exit 1; }
strip -o "$dir/stripped.so" "$(readlink -f "$dir/libtessera.so")"
size=$(stat -c %s "$dir/stripped.so")
echo "$* : $size bytes stripped, limit $limit"
[ "$size" -lt "$limit" ]
