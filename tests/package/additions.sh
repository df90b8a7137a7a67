#!/usr/bin/env bash
# The worked examples of CONTRIBUTING.md's "Adding things" as real additions to a copy of the tree, which is built once
# with all of them (add_dialect.sh, add_instruction.sh, add_op.sh: what is built, what is changed, what is checked). The
# copy lies as the tree does, so that the compiler's cache has what no addition touches.
set -eu
here=$SOURCE/tests/package
copy=$(mktemp -d) log=$copy/log
trap 'rm -rf "$copy"' EXIT
(cd "$SOURCE" && tar c --exclude=./build --exclude=./.git .) | tar x -C "$copy"

before() {  # file, the start of the line before which it goes, what is added
  AT="$2" awk 'index($0, ENVIRON["AT"]) == 1 { found = 1 } END { exit !found }' "$copy/$1" ||
    { echo "$1 has no line '$2'"; exit 1; }
  AT="$2" NEW="$3" awk 'index($0, ENVIRON["AT"]) == 1 && !done { print ENVIRON["NEW"]; done = 1 } { print }' \
    "$copy/$1" >"$copy/added"
  mv "$copy/added" "$copy/$1"
}
targets=(tessera)
for part in dialect instruction op; do
  # shellcheck source=/dev/null
  . "$here/add_$part.sh"
  change_$part
done

launcher=()
[ -z "${LAUNCHER:-}" ] || launcher=("-DCMAKE_C_COMPILER_LAUNCHER=$LAUNCHER")
export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
build=$copy/build/release
"$CMAKE" -S "$copy" -B "$build" -G "$GENERATOR" -DCMAKE_BUILD_TYPE=Release -DTSR_WERROR=ON "${launcher[@]}" \
  >"$log" || { tail -20 "$log"; exit 1; }
"$CMAKE" --build "$build" --parallel "$(nproc)" --target "${targets[@]}" >"$log" 2>&1 ||
  { grep -E -A5 'error|FAILED' "$log" | head -30; exit 1; }
built() { find "$build" -name "$1" -type f -perm -u+x; }
tessera=$(built tessera)

skipped=0
cd "$copy"
for part in dialect instruction op; do
  set +e
  (set -e; check_$part)
  rc=$?
  set -e
  [ $rc = 0 ] || [ $rc = 77 ] || { echo "add_$part.sh: the addition is not what it should be"; exit 1; }
  [ $rc = 0 ] || skipped=77
done
exit $skipped
