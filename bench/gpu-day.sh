#!/usr/bin/env bash
# bench/gpu-day.sh [--dry-run] [DEVICE [PART...]] - everything that needs an NVIDIA or AMD GPU, under 25 minutes of device time: builds
# (offline), checks on the device, measures, and writes bench/results/DEVICE-DATE/: one .jsonl file a section, commands.txt,
# clocks.csv, and predicted.txt with the cost model's figures made beforehand, without the device. DEVICE is cuda:0 (default), hip:0, ...
# PART: predict, check, matmul, llama, rows, rest; all by default. Where a command may run for ten minutes only, run them in turn:
# OUT=DIR collects them in one folder. A section that runs out of its time is cut, and says so in commands.txt; exit 1 if any check failed.
# --dry-run needs no GPU: prints every command and runs it small on cpu:0, so that tools, suites, types and options are known to exist.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
dry=
[ "${1:-}" = --dry-run ] && { dry=yes; shift; }
device=${1:-cuda:0}
[ $# -gt 0 ] && shift
parts=" ${*:-predict check matmul llama rows rest} "
backend=${device%%:*}
case $backend in cuda) peer=cublaslt arch=${ARCH:-sm_90a} ;; hip) peer=hipblaslt arch=${ARCH:-gfx942} ;; *) echo "usage: bench/gpu-day.sh [--dry-run] cuda:N|hip:N [PART...]"; exit 2 ;; esac
for part in $parts; do case $part in predict | check | matmul | llama | rows | rest) ;; *) echo "no part $part"; exit 2 ;; esac; done
if [ -z "$dry" ] || [ ! -x build/release/tools/tessera ]; then
  log=$(mktemp)
  scripts/build release >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
  rm -f "$log"
fi
tessera=$PWD/build/release/tools/tessera
out=${OUT:-bench/results/$(tr -c 'a-z0-9\n' - <<<"$device")-$(date +%Y%m%d-%H%M)}
[ -n "$dry" ] && out=$(mktemp -d)
mkdir -p "$out"
export TSR_CACHE_DIR=$out/cache
bad=0

# The same command, small and on cpu:0: only what it is made of is tried. 
rehearse() {
  local small=() previous='' word
  for word in "$@"; do
    case $previous in
    --device) word=cpu:0 ;;
    --shape) case $word in *x*x*) word=64x64x64 ;; *) word=16x64 ;; esac ;;
    --steps) word=2 ;;
    esac
    small+=("$word")
    previous=$word
  done
  case " $* " in
  *" bench "*) small+=(--milliseconds 1) ;;
  *" ctest "*) small+=(-N) ;;
  esac
  timeout 60 "${small[@]}" >"$out/rehearsal" 2>&1
  local rc=$?
  if [ $rc != 0 ] || { [[ " $* " == *" ctest "* ]] && grep -q 'Total Tests: 0' "$out/rehearsal"; }; then
    echo "DOES NOT RUN (exit $rc): ${small[*]}"
    tail -3 "$out/rehearsal"
    bad=1
  fi
}

section() { # file, seconds, command...
  local file=$1 limit=$2 rc
  shift 2
  if [ -n "$dry" ]; then
    echo "[$limit s] $* >> $file"
    rehearse "$@"
    return
  fi
  echo "$*" >>"$out/commands.txt"
  timeout "$limit" "$@" >>"$out/$file" 2>>"$out/stderr.txt"
  rc=$?
  [ $rc = 124 ] && echo "# cut after $limit s" >>"$out/commands.txt"
  [ $rc = 0 ] || [ $rc = 124 ] || { echo "# exit $rc" | tee -a "$out/commands.txt"; bad=1; }
}
has() { [[ $parts == *" $1 "* ]]; }
mm() { section "$1" 40 "$tessera" bench matmul --device "$2" --shape "$3" --dtype "$4" --against "$peer" --json; } # file, device, shape, type

cubes="4096x4096x4096 8192x8192x8192 16384x16384x16384"
llama8="1x4096x4096 16x4096x4096 512x4096x4096 4096x4096x4096 16x14336x4096 512x14336x4096 4096x14336x4096 512x4096x14336"
llama70="1x8192x8192 16x8192x8192 512x8192x8192 4096x8192x8192 512x28672x8192 4096x28672x8192 512x8192x28672"

# What is expected, before the device is touched: the sum over the kernels that an op becomes.
predict_one() { # op, shape, type
  "$tessera" tune "$1" --shape "$2" --dtype "$3" --device "$backend:$arch" --explain 2>&1 |
    awk -v op="$1" -v shape="$2" -v type="$3" '
      $1 == "total" { us += $2; bound = $NF }
      END {
        split(shape, d, "x")
        if (us && op == "matmul") printf "%s %s %s: total %.1f us, %.0f Tflop/s, the last kernel bound by %s\n", op, shape, type, us, 2 * d[1] * d[2] * d[3] / us / 1e6, bound
        else if (us) printf "%s %s %s: total %.1f us, bound by %s\n", op, shape, type, us, bound
        else print op, shape, type ": no estimate (m <= 4 streams b: its bytes over the rate of memory)"
      }'
}
predict() {
  local shape dtype op
  {
    for shape in $cubes; do for dtype in bf16 f16 tf32 i8 fp8_e4m3; do predict_one matmul "$shape" "$dtype"; done; done
    for shape in $llama8 $llama70; do predict_one matmul "$shape" bf16; done
    for op in add silu softmax layernorm rmsnorm reduce_sum; do predict_one "$op" 65536x4096 f32; done
  } >"$out/predicted.txt"
  [ -z "$dry" ] || { echo "predicted.txt: $(grep -c total "$out/predicted.txt") estimates"; grep -q total "$out/predicted.txt" || bad=1; }
}
has predict && predict

if [ -z "$dry" ] && [ "$backend" = cuda ] && command -v nvidia-smi >/dev/null; then
  echo "clocks and power: clocks.csv"
  nvidia-smi --query-gpu=timestamp,name,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv -lms 500 >>"$out/clocks.csv" 2>/dev/null &
  watch=$!
  trap 'kill $watch 2>/dev/null' EXIT
fi

if has check; then # right before fast: the conformance suite and the examples on this device
  section devices.json 30 "$tessera" devices --json
  section check.txt 240 env TSR_TEST_DEVICE="$device" ctest --test-dir build/release -L 'conformance|examples' --output-on-failure
  section check.txt 60 "$tessera" bench --suite quick --device "$device" --json
fi
if has matmul; then # against the vendor's library
  for shape in $cubes; do for dtype in bf16 f16 tf32 i8 fp8_e4m3; do mm matmul.jsonl "$device" "$shape" "$dtype"; done; done
fi
if has llama; then
  for shape in $llama8 $llama70; do for dtype in bf16 f16; do mm llama.jsonl "$device" "$shape" "$dtype"; done; done
fi
if has rows; then # bound by memory: from 1 GB
  for op in add silu softmax layernorm rmsnorm reduce_sum; do
    section rows.jsonl 20 "$tessera" bench "$op" --device "$device" --shape 65536x4096 --dtype f32 --json
    section rows.jsonl 20 "$tessera" bench "$op" --device "$device" --shape 131072x4096 --dtype bf16 --json
  done
  for op in softmax layernorm rmsnorm; do section rows.jsonl 20 "$tessera" bench "$op" --device "$device" --shape 2048x131072 --dtype f32 --json; done # rows in chunks
fi
# Replay: a graph of 100 small kernels.
replay_graph() {
  echo '"builtin.module"() ({ "tessera.graph.func"() ({ ^bb0(%A: tensor<32x256xf32>):'
  local previous=A i
  for i in $(seq 100); do
    echo "  %s$i = \"tessera.graph.softmax\"(%$previous) {axis = 1} : (tensor<32x256xf32>) -> tensor<32x256xf32>"
    previous=s$i
  done
  echo "  \"tessera.graph.return\"(%$previous) : (tensor<32x256xf32>) -> () }) {sym_name = \"main\"} : () -> () }) : () -> ()"
}
if has rest; then
  # the hand-written attention, as it stands and at 16 heads of width 128; where its time goes
  positions=16384
  [ -z "$dry" ] || positions=256
  sed -e "s/4x200x64xf16/16x${positions}x128xbf16/g; s/shared<64x64xf16/shared<128x128xbf16/; s/shared<32x64xf16/shared<128x128xbf16/; s/value = 64}/value = 128}/; s/value = 32}/value = 128}/" \
    -e "s/value = 200}/value = $positions}/; s/value = 0.125}/value = 0.0883883476}/; s/\[0, 64, 64\]/[0, 128, 128]/; s/\[0, 32, 64\]/[0, 128, 128]/; s/frag<64x1x/frag<128x1x/g" \
    -e "s/frag<64x64x/frag<128x128x/g; s/frag<64x32x/frag<128x128x/g; s/-> f16/-> bf16/; s/grid = \[4, 4, 1\]/grid = [$((positions / 128)), 16, 1]/" tests/tile/flash_attention.mlir >"$out/attention-16k.mlir"
  section attention.json 60 "$tessera" profile "$out/attention-16k.mlir" --device "$device" --steps 50 --json
  section attention.json 60 "$tessera" profile tests/tile/flash_attention.mlir --device "$device" --steps 200 --json
  # the same matmuls through Vulkan in the same run
  for shape in 4096x4096x4096 8192x8192x8192; do for dtype in f16 bf16; do mm vulkan.jsonl vulkan:0 "$shape" "$dtype"; done; done
  # compile time of one matmul with a cold cache, and a tuned run
  for _ in 1 2 3; do
    rm -rf "$TSR_CACHE_DIR"
    start=$(date +%s%N)
    section compile.txt 20 "$tessera" bench matmul --device "$device" --shape 4096x4096x4096 --dtype bf16 --milliseconds 1 --json
    [ -n "$dry" ] || echo "whole command, cold cache: $((($(date +%s%N) - start) / 1000000)) ms" >>"$out/compile.txt"
  done
  section tuned.jsonl 120 "$tessera" bench matmul --device "$device" --shape 4096x4096x4096 --dtype bf16 --tune full --against "$peer" --json
  replay_graph >"$out/replay.mlir"
  section replay.json 30 env TSR_DISABLE=fusion "$tessera" profile "$out/replay.mlir" --device "$device" --steps 200 --json
fi

if [ -n "$dry" ]; then
  rm -rf "$out"
  [ $bad = 0 ] && echo "dry run: every command exists and takes its options"
else
  echo "results in $out"
fi
exit $bad
