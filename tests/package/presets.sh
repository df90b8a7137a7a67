#!/usr/bin/env bash
# README's line by hand and scripts/build get along in either order: with make where Ninja isn't there, and in a folder
# that the other one configured.
set -eu
command -v make >/dev/null && command -v ninja >/dev/null || { echo "no make or no ninja here"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/tree"
cp -s /usr/bin/* /usr/local/bin/* "$dir/bin/" 2>/dev/null || :
rm -f "$dir"/bin/ninja*
for part in "$SOURCE"/*; do
  [ "$(basename "$part")" = build ] || cp -r "$part" "$dir/tree/"
done
cd "$dir/tree"
unset CMAKE_GENERATOR
by_hand() { "$CMAKE" --preset release -DTSR_TESTS=OFF && "$CMAKE" --build build/release --target tsr_null; }
by_script() { TARGETS=tsr_null scripts/build release -DTSR_TESTS=OFF; }
generator() { sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' build/release/CMakeCache.txt; }
must() { "$@" >"$dir/log" 2>&1 || { echo "$order: $* failed"; tail -5 "$dir/log"; exit 1; }; }

order='without ninja, by hand, then with ninja by scripts/build'
PATH=$dir/bin must by_hand
[ "$(generator)" = 'Unix Makefiles' ] || { echo "$order: configured for $(generator)"; exit 1; }
must by_script
rm -rf build
order='scripts/build, then by hand'
must by_script
[ "$(generator)" = Ninja ] || { echo "$order: configured for $(generator)"; exit 1; }
must by_hand
echo "presets: both orders"
