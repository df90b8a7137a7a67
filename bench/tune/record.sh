#!/usr/bin/env bash
# Measures the spaces of bench/tune anew, each exhaustively, on this machine: for a quiet one, since a busy moment makes
# a lucky point. About ten minutes on two cores. Files are replaced one by one as they are ready; test_tune_recorded
# replays the strategies on them.
#   bench/tune/record.sh [NAME...]     all, or those whose name contains one of NAME
set -eu
cd "$(dirname "$0")/../.."
tessera=$(realpath "${TESSERA:-build/release/tools/tessera}")
export VK_DRIVER_FILES=${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/lvp_icd.json}
TSR_CACHE_DIR=$(mktemp -d)
export TSR_CACHE_DIR
trap 'rm -rf "$TSR_CACHE_DIR"' EXIT
begun=$SECONDS

# name, device, op, shape, type, knobs that move (all: "")
spaces='
cpu-matmul-256-f32            cpu:0    matmul    256x256x256  f32  m,n,k,raster
cpu-matmul-384-f32            cpu:0    matmul    384x384x384  f32  m,n,k,raster
cpu-matmul-128x512x512-f32    cpu:0    matmul    128x512x512  f32  m,n,k,split_k
cpu-matmul-64x64x4096-f32     cpu:0    matmul    64x64x4096   f32  m,n,k,split_k
cpu-matmul-300x200x500-f32    cpu:0    matmul    300x200x500  f32  m,n,k,raster
cpu-matmul-256x256x512-bf16   cpu:0    matmul    256x256x512  bf16 m,n,k,raster
cpu-softmax-2048x1024-f32     cpu:0    softmax   2048x1024    f32  all
cpu-layernorm-512x768-f32     cpu:0    layernorm 512x768      f32  all
cpu-gelu-512x3072-f32         cpu:0    gelu      512x3072     f32  all
lavapipe-matmul-64-f32        vulkan:0 matmul    64x64x64     f32  m,n,k,use_shared,warps
lavapipe-matmul-16x128x256-f32 vulkan:0 matmul   16x128x256   f32  m,n,k,use_shared,warps
lavapipe-matmul-192-f32       vulkan:0 matmul    192x192x192  f32  m,n,use_shared,warps
lavapipe-softmax-256x512-f32  vulkan:0 softmax   256x512      f32  all
lavapipe-gelu-256x1024-f32    vulkan:0 gelu      256x1024     f32  all
'
wanted() {
  local name=$1 w
  shift
  [ $# = 0 ] && return 0
  for w in "$@"; do [[ $name == *$w* ]] && return 0; done
  return 1
}
while read -r name device op shape type knobs; do
  [ -n "$name" ] && wanted "$name" "$@" || continue
  from=$SECONDS
  limit=()
  [ "$knobs" = all ] || limit=(--knobs "$knobs")
  (cd "$TSR_CACHE_DIR" && "$tessera" tune "$op" --shape "$shape" --dtype "$type" --device "$device" "${limit[@]}" \
    --record "$name.json" > /dev/null)
  mv "$TSR_CACHE_DIR/$name.json" bench/tune/
  printf '%-34s %4d s, %5d s in all\n' "$name" $((SECONDS - from)) $((SECONDS - begun))
done <<< "$spaces"
if [ $# = 0 ]; then # all of them: what an earlier set had besides goes
  for file in bench/tune/*.json; do
    grep -q "^$(basename "$file" .json) " <<< "$spaces" || rm "$file"
  done
fi
