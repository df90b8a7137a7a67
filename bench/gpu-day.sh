#!/usr/bin/env bash
# bench/gpu-day.sh [DEVICE] - everything that needs an NVIDIA or AMD GPU, in one go and under 25 minutes of device time: builds (offline),
# checks on the device, measures, and writes bench/results/DEVICE-DATE/: one .jsonl file a section, commands.txt, clocks.csv, and
# predicted.txt with the cost model's figures made beforehand, without the device. DEVICE is cuda:0 (default), hip:0, ...
# A section that runs out of its time is cut, and says so in commands.txt; exit 1 if any check failed.
set -u -o pipefail
cd "$(dirname "$0")/.."
device=${1:-cuda:0}
backend=${device%%:*}
case $backend in cuda) peer=cublaslt arch=${ARCH:-sm_90a} ;; hip) peer=hipblaslt arch=${ARCH:-gfx942} ;; *) echo "usage: bench/gpu-day.sh cuda:N|hip:N"; exit 2 ;; esac
scripts/build release >/dev/null || exit 1
tessera=$PWD/build/release/tools/tessera
out=bench/results/$(tr -c 'a-z0-9\n' - <<<"$device")-$(date +%Y%m%d-%H%M)
mkdir -p "$out"
export TSR_CACHE_DIR=$out/cache
bad=0

section() { # file, seconds, command...
  local file=$1 limit=$2 rc
  shift 2
  echo "$*" >>"$out/commands.txt"
  timeout "$limit" "$@" >>"$out/$file" 2>>"$out/stderr.txt"
  rc=$?
  [ $rc = 124 ] && echo "# cut after $limit s" >>"$out/commands.txt"
  [ $rc = 0 ] || [ $rc = 124 ] || { echo "# exit $rc" | tee -a "$out/commands.txt"; bad=1; }
}
mm() { section "$1" 40 "$tessera" bench matmul --device "$2" --shape "$3" --dtype "$4" --against "$peer" --json; } # file, device, shape, type

cubes="4096x4096x4096 8192x8192x8192 16384x16384x16384"
llama8="1x4096x4096 16x4096x4096 512x4096x4096 4096x4096x4096 16x14336x4096 512x14336x4096 4096x14336x4096 512x4096x14336"
llama70="1x8192x8192 16x8192x8192 512x8192x8192 4096x8192x8192 512x28672x8192 4096x28672x8192 512x8192x28672"

# What is expected, before the device is touched.
for shape in $cubes $llama8 $llama70; do
  for dtype in bf16 f16; do
    printf '%s %s: ' "$shape" "$dtype"
    "$tessera" tune matmul --shape "$shape" --dtype "$dtype" --device "$backend:$arch" --explain 2>&1 | grep -m1 total || echo "no estimate"
  done
done >"$out/predicted.txt"

echo "clocks and power: clocks.csv"
if [ "$backend" = cuda ] && command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=timestamp,name,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv -lms 500 >"$out/clocks.csv" 2>/dev/null &
  watch=$!
  trap 'kill $watch 2>/dev/null' EXIT
fi

section devices.json 30 "$tessera" devices --json
# 1. right before fast: the conformance suite and the example on this device
TSR_TEST_DEVICE=$device section check.txt 180 ctest --test-dir build/release -L 'conformance|examples' --output-on-failure
section check.txt 60 "$tessera" bench --suite quick --device "$device" --json
# 2. matmuls against the vendor's library
for shape in $cubes; do for dtype in bf16 f16; do mm matmul.jsonl "$device" "$shape" "$dtype"; done; done
for shape in $cubes; do mm matmul.jsonl "$device" "$shape" tf32; mm matmul.jsonl "$device" "$shape" i8; mm matmul.jsonl "$device" "$shape" fp8_e4m3; done
for shape in $llama8 $llama70; do mm llama.jsonl "$device" "$shape" bf16; done
# 3. memory-bound: from 1 GB
for op in add silu softmax layernorm rmsnorm reduce_sum; do
  section rows.jsonl 20 "$tessera" bench "$op" --device "$device" --shape 65536x4096 --dtype f32 --json
  section rows.jsonl 20 "$tessera" bench "$op" --device "$device" --shape 131072x4096 --dtype bf16 --json
done
# 4. the hand-written attention, and where its time goes
section attention.json 60 "$tessera" profile tests/tile/flash_attention.mlir --device "$device" --steps 200 --json
# 5. the same matmuls through Vulkan in the same run
for shape in 4096x4096x4096 8192x8192x8192; do for dtype in f16 bf16; do mm vulkan.jsonl vulkan:0 "$shape" "$dtype"; done; done
# 6. compile time of one matmul with a cold cache, and a tuned run
for i in 1 2 3; do
  rm -rf "$TSR_CACHE_DIR"
  start=$(date +%s%N)
  section compile.txt 20 "$tessera" bench matmul --device "$device" --shape 4096x4096x4096 --dtype bf16 --milliseconds 1 --json
  echo "whole command, cold cache: $((($(date +%s%N) - start) / 1000000)) ms" >>"$out/compile.txt"
done
section tuned.jsonl 120 "$tessera" bench matmul --device "$device" --shape 4096x4096x4096 --dtype bf16 --tune full --against "$peer" --json
# 7. replay: a graph of 100 small kernels
{
  echo '"builtin.module"() ({ "tessera.graph.func"() ({ ^bb0(%A: tensor<32x256xf32>):'
  previous=A
  for i in $(seq 100); do
    echo "  %s$i = \"tessera.graph.softmax\"(%$previous) {axis = 1} : (tensor<32x256xf32>) -> tensor<32x256xf32>"
    previous=s$i
  done
  echo "  \"tessera.graph.return\"(%$previous) : (tensor<32x256xf32>) -> () }) {sym_name = \"main\"} : () -> () }) : () -> ()"
} >"$out/replay.mlir"
section replay.json 30 env TSR_DISABLE=fusion "$tessera" profile "$out/replay.mlir" --device "$device" --steps 200 --json

echo "results in $out"
exit $bad
