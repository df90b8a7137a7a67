#!/usr/bin/env bash
# The key of every tuned schedule and compiled binary holds a hash of the sources that make code: a change of any of
# them, in a sub-folder too, makes another hash; the same sources make the same one; a file that makes no code doesn't
# count.
set -eu
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/core"
cp -r "$SOURCE/core/." "$copy/core"
cp -r "$SOURCE/backends" "$copy/backends"

hash() {
  "$CMAKE" -DSOURCE="$copy" -DOUT="$copy/hash.h" -P "$SOURCE/cmake/generator_hash.cmake"
  sed -n 's/.*"\(.*\)"/\1/p' "$copy/hash.h"
}

was=$(hash)
[ ${#was} = 16 ] || { echo "no hash: '$was'"; exit 1; }
[ "$(hash)" = "$was" ] || { echo "the same sources make another hash"; exit 1; }
checked=0
changes() {  # file: a line more in it makes another hash
  echo "/* touched */" >>"$1"
  local now
  now=$(hash)
  [ "$now" != "$was" ] || { echo "a change of ${1#"$copy"/} doesn't change the hash"; exit 1; }
  was=$now
  checked=$((checked + 1))
}

# The first source of every folder that makes code, whatever the depth, and those that decide alone.
while read -r folder; do
  file=$(find "$folder" -maxdepth 1 -name '*.[ch]' | sort | head -1)
  [ -z "$file" ] || changes "$file"
done < <(cd "$copy" && find core/ir core/passes core/emit core/device backends -type d 2>/dev/null | sort |
  sed "s|^|$copy/|")
for file in base/dtype.c base/dtype.h base/int_math.h runtime/compile.c; do
  [ ! -f "$copy/core/$file" ] || changes "$copy/core/$file"
done
mkdir -p "$copy/core/passes/new/room"
echo "int x;" >"$copy/core/passes/new/room/pass.c"
changes "$copy/core/passes/new/room/pass.c"
echo "/* touched */" >>"$copy/core/profile/page.c"
[ "$(hash)" = "$was" ] || { echo "a change of core/profile, which makes no code, changes the hash"; exit 1; }
echo "$checked changed files, $checked other hashes"
