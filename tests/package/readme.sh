#!/usr/bin/env bash
# What the README shows is what is there: its C code is part of examples/embed.c, its IR text runs and gives the
# example's result.
set -eu
cd "$SOURCE"
block() { awk -v lang="$1" '$0 == "```" lang { on = 1; next } $0 == "```" { on = 0 } on' README.md; }
code=$(block c)
[[ $(<examples/embed.c) == *"$code"* ]] || { echo "the README's C code isn't in examples/embed.c"; exit 1; }
shown=$(awk '$0 == "```c" { on = 1; next } $0 == "```" { on = 0 } on' docs/custom-ops.md)
[[ $(<examples/custom_op.c) == *"$shown"* ]] ||
  { echo "the C code of docs/custom-ops.md isn't in examples/custom_op.c"; exit 1; }
guide=$(awk '$0 == "```c" { on++; next } $0 == "```" { if (on) exit } on' docs/programming-guide.md)
[[ $(<examples/guide.c) == *"$guide"* ]] ||
  { echo "the program of docs/programming-guide.md isn't examples/guide.c"; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
block mlir >"$dir/relu.mlir"
"$TESSERA" run "$dir/relu.mlir" --device cpu:0 --output 0="$dir/y.npy"
"$TESSERA" dump "$dir/relu.mlir" --level tile --device cpu:0 | grep -q 'tessera.tile.' ||
  { echo "no Tile IR in the dump"; exit 1; }
echo "the README's code and IR text are good"
