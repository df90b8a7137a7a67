#!/usr/bin/env bash
# bench/gpu-day.sh [--dry-run] [DEVICE [PART...]] - everything that needs an NVIDIA or AMD GPU within one deadline:
# builds (offline), checks on the device, measures, and writes bench/results/GPU/DATE.json: a row for each measurement
# with its command, the cost model's figure made beforehand (predicted_us) and what part was cut for want of time.
# DEVICE is cuda:0 (default), hip:0, ... PART, in order of importance: build, cubes, llama, attention, rows, compile,
# replay, check, vulkan, tuned; all by default. Each has its share of the DEADLINE (1440 seconds, environment); what one
# leaves over goes to those after it, and the last are cut first. Where a command may run for ten minutes only: run
# parts in turn with OUT=FILE.json of their own. Exit 1 if a check or a command failed. --dry-run needs no GPU: prints
# the plan and runs every command small on cpu:0, so that tools, suites, types and options are known to exist.
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 1
dry=
[ "${1:-}" = --dry-run ] && { dry=yes; shift; }
device=${1:-cuda:0}
called="bench/gpu-day.sh${*:+ $*}"
[ $# -gt 0 ] && shift
all="build cubes llama attention rows compile replay check vulkan tuned"
declare -A share=([build]=150 [cubes]=200 [llama]=330 [attention]=40 [rows]=100 [compile]=40 [replay]=20 [check]=240 \
  [vulkan]=100 [tuned]=140)
parts=" ${*:-$all} "
deadline=${DEADLINE:-1440}
backend=${device%%:*}
case $backend in
cuda) peer=cublaslt arch=${ARCH:-sm_90a} ;;
hip) peer=hipblaslt arch=${ARCH:-gfx942} ;;
*) echo "usage: bench/gpu-day.sh [--dry-run] cuda:N|hip:N [PART...]"; exit 2 ;;
esac
for part in $parts; do [ -n "${share[$part]:-}" ] || { echo "no part $part; there are $all"; exit 2; }; done
build=${BUILD:-$PWD/build/release}
tessera=$build/tools/tessera driver=$build/bench/gpu_driver
work=$(mktemp -d)
export TSR_CACHE_DIR=$work/cache
bad=0 watch='' out='' began=$SECONDS
declare -A predicted=()

# ---- the shapes: m x n x k -------------------------------------------------------------------------------------------
comma() { tr ' ' ',' <<<"$*"; }
layers() { # the matrices of a network (n x k), in rows for 1, 16, 512 and 4096 positions
  local m nk
  for m in 1 16 512 4096; do for nk in "$@"; do printf '%sx%s ' "$m" "$nk"; done; done
}
cubes="4096x4096x4096 8192x8192x8192 16384x16384x16384"
llama8=$(layers 4096x4096 1024x4096 14336x4096 4096x14336)
llama70=$(layers 8192x8192 1024x8192 28672x8192 8192x28672)
row_ops="add silu softmax layernorm rmsnorm reduce_sum reduce_max"
row_shapes="65536x4096 131072x4096" long_rows=2048x131072

# ---- what is expected, before the device is touched: the sum over the kernels that an op becomes ---------------------
predict() { # ops, shapes, types
  local op shape type
  for op in $1; do for shape in $2; do for type in $3; do
    predicted[$op $shape $type]=$("$tessera" tune "$op" --shape "$shape" --dtype "$type" --device "$backend:$arch" \
      --explain 2>/dev/null | awk '$1 == "total" { us += $2 } END { if (us) print us; else print "null" }')
  done; done; done
}

# ---- the result file: rows as they come, put together anew after each part -------------------------------------------
quote() { tr -s '\000-\037' ' ' <<<"$*" | sed -e 's/[\\"]/\\&/g' -e "s#$build/##g; s#$work/##g" -e 's/^/"/; s/ *$/"/'; }
joined() { sed '$!s/$/,/; s/^/  /' "$1" 2>/dev/null; }
write_results() {
  [ -n "$dry$out" ] || return 0 # no device was reached
  {
    printf '{"schema": 1, "device": "%s", "gpu": %s, "date": "%s", "commit": "%s", "command": %s,\n' "$device" \
      "$(quote "$gpu")" "$(date -u +%FT%TZ)" "$(git rev-parse --short HEAD 2>/dev/null)" "$(quote "$called")"
    printf ' "deadline_s": %d, "used_s": %d, "predicted_for": "%s", "failed": %s,\n' "$deadline" $((SECONDS - began)) \
      "$backend:$arch" "$([ $bad = 0 ] && echo false || echo true)"
    printf ' "parts": [\n%s\n ],\n "rows": [\n%s\n ],\n "clocks": [\n%s\n ]}\n' "$(joined "$work/parts")" \
      "$(joined "$work/rows")" "$(joined "$work/clocks")"
  } >"$work/whole.json"
  [ -n "$dry" ] || { mkdir -p "$(dirname "$out")" && mv "$work/whole.json" "$out"; }
}
finish() {
  [ -n "$watch" ] && kill "$watch" 2>/dev/null
  write_results
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
# A line of a tool's becomes a row: its part, its command, what was predicted (nothing knows a Vulkan driver's
# matrices). $3: a figure for lines that name no operation.
add_rows() { # part, command, predicted or ""
  local line key us
  while IFS= read -r line; do
    [[ $line == "{"*"}" ]] || continue
    us=${3:-null}
    [[ $line =~ \"op\":\ \"([^\"]*)\",\ \"shape\":\ \"([^\"]*)\",\ \"dtype\":\ \"([^\"]*)\" ]] && [ "$1" != vulkan ] &&
      key="${BASH_REMATCH[*]:1:3}" && us=${predicted[$key]:-$us}
    printf '{"part": "%s", "predicted_us": %s, "command": %s, %s\n' "$1" "$us" "$(quote "$2")" "${line#\{}" \
      >>"$work/rows"
  done
}

# ---- running: a command gets what is left of its part ----------------------------------------------------------------
# The same command, small and on cpu:0: only what it is made of is tried, and that once.
rehearse() {
  local small=() previous='' word rc
  for word in "$@"; do
    case $previous in
    --device | replay) word=cpu:0 ;;
    --shape) case ${word%%,*} in *x*x*) word=64x64x64 ;; *) word=16x64 ;; esac ;;
    --steps) word=2 ;;
    --milliseconds) word=1 ;;
    esac
    small+=("$word")
    previous=$word
  done
  case " $* " in *" ctest "*) small+=(-N) ;; esac
  [[ $tried == *"|${small[*]}|"* ]] && return
  tried+="|${small[*]}|"
  timeout 1000 "${small[@]}" >"$work/said" 2>&1
  rc=$?
  [ $rc = 3 ] && [[ " $* " == *" compile "* ]] && rc=0 # no run-time compiler on this machine
  if [ $rc != 0 ] || grep -q '^Total Tests: 0' "$work/said"; then
    echo "DOES NOT RUN (exit $rc): ${small[*]}"
    tail -3 "$work/said"
    bad=1
  fi
  add_rows "$part" "$*" "${expected:-}" <"$work/said"
}
cut='' part_end=0 tried=''
run() { # command...: its lines become rows, and what it says on standard error one more
  [ -n "$dry" ] && { echo "  ${*//$PWD\//}"; rehearse "$@"; return; }
  local left=$((part_end - SECONDS)) rc
  [ $left -le 0 ] && { cut=yes; return; }
  timeout -k 5 "$left" "$@" >"$work/said" 2>"$work/stderr"
  rc=$?
  add_rows "$part" "$*" "${expected:-}" <"$work/said"
  if [ $rc = 124 ] || [ $rc = 137 ]; then cut=yes rc=0
  elif [ $rc != 0 ]; then bad=1; fi
  [ $rc = 0 ] && [ ! -s "$work/stderr" ] ||
    printf '{"part": "%s", "command": %s, "exit": %d, "said": %s}\n' "$part" "$(quote "$*")" $rc \
    "$(quote "$(tail -c 1000 "$work/stderr")")" >>"$work/rows"
}
report() { # command...: its whole output is one JSON object
  : >"$work/said"
  run "$@"
  [ "$(head -c 1 "$work/said")" = "{" ] && [ -z "$cut" ] &&
    printf '{"part": "%s", "predicted_us": %s, "command": %s, "report": %s}\n' "$part" "${expected:-null}" \
    "$(quote "$*")" "$(tr -d '\n' <"$work/said")" >>"$work/rows"
}
summary() { # command...: a row with what a test run says of itself
  : >"$work/said"
  run "$@"
  [ -n "$dry" ] || printf '{"part": "%s", "command": %s, "said": %s}\n' "$part" "$(quote "$*")" \
    "$(quote "$(grep -E '% tests passed|Failed|Skipped|Timeout' "$work/said" | tail -c 1500)")" >>"$work/rows"
}
bench() { run "$tessera" bench "$@" --json; }

# ---- the parts -------------------------------------------------------------------------------------------------------
part_build() {
  [ -n "$dry" ] && return
  run env TARGETS="tessera gpu_driver test_conformance test_reach example_embed example_cuda_embed" \
    scripts/build release
}
part_cubes() { # the smallest first: where time runs out, the largest are missing
  local shape
  for shape in $cubes; do bench matmul --device "$device" --shape "$shape" --dtype bf16,f16,fp8_e4m3,tf32,i8 \
    --against "$peer" --milliseconds 500; done
}
part_llama() { # also M <= 16, bound by memory
  bench matmul --device "$device" --shape "$(comma $llama8)" --dtype bf16,f16 --against "$peer" --milliseconds 300
  bench matmul --device "$device" --shape "$(comma $llama70)" --dtype bf16,f16 --against "$peer" --milliseconds 300
}
part_rows() { # from 1 GB
  bench $row_ops --device "$device" --shape "$(comma $row_shapes)" --dtype f32,bf16 --milliseconds 300
  bench softmax layernorm rmsnorm --device "$device" --shape "$long_rows" --dtype f32 --milliseconds 300
}
part_attention() { # the hand-written program at 16 heads of width 128, causal; and as it stands
  local positions=16384
  [ -n "$dry" ] && positions=256
  sed -e "s/4x200x64xf16/16x${positions}x128xbf16/g; s/shared<64x64xf16/shared<128x128xbf16/" \
    -e "s/shared<32x64xf16/shared<128x128xbf16/; s/value = 64}/value = 128}/; s/value = 32}/value = 128}/" \
    -e "s/value = 200}/value = $positions}/; s/value = 0.125}/value = 0.0883883476}/" \
    -e "s/\[0, 64, 64\]/[0, 128, 128]/; s/\[0, 32, 64\]/[0, 128, 128]/; s/frag<64x1x/frag<128x1x/g" \
    -e "s/frag<64x64x/frag<128x128x/g; s/frag<64x32x/frag<128x128x/g; s/-> f16/-> bf16/" \
    -e "s/grid = \[4, 4, 1\]/grid = [$((positions / 128)), 16, 1]/" \
    tests/tile/flash_attention.mlir >"$work/attention-16k.mlir"
  expected=${predicted[attention]:-null} report "$tessera" profile "$work/attention-16k.mlir" --device "$device" \
    --steps 500 --json
  report "$tessera" profile tests/tile/flash_attention.mlir --device "$device" --steps 500 --json
}
part_compile() { # the compiler alone, for one matmul; and from a graph to a first result with nothing cached
  local type file
  for type in bf16 f16 f8E4M3FN i8; do
    [ -n "$dry" ] && [ $type != bf16 ] && continue
    file=$work/matmul-$type.cu
    printf '"tessera.graph.func"() ({\n^bb0(%%A: tensor<4096x4096x%s>, %%B: tensor<4096x4096x%s>):\n' \
      "$type" "$type" >"$work/matmul.mlir"
    printf '%%0 = "tessera.graph.matmul"(%%A, %%B) {transpose_b = true}\n"tessera.graph.return"(%%0)\n' \
      >>"$work/matmul.mlir"
    printf '}) {sym_name = "main"}\n' >>"$work/matmul.mlir"
    "$tessera" dump "$work/matmul.mlir" --level source --device "$backend:$arch" >"$file" 2>>"$work/stderr" || bad=1
    expected=250000 run "$driver" compile "$backend" "$arch" "$file"
  done
}
part_replay() {
  expected=$(awk -v us="${predicted[softmax 32x256 f32]:-0}" 'BEGIN { print (us > 0 ? 100 * us : "null") }') \
    run "$driver" replay "$device" 100
}
part_check() { # every row above was checked against the reference too
  summary env TSR_TEST_DEVICE="$device" TSR_TEST_CASES=150 ctest --test-dir "$build" \
    -R '^(conformance\.test_(conformance|reach)|example\.(embed|cuda_embed))$' --output-on-failure
  bench --suite quick --device "$device" --milliseconds 100
}
part_vulkan() { # the same matmuls through Vulkan on the same GPU
  bench matmul --device "${VULKAN:-vulkan:0}" --shape 4096x4096x4096,8192x8192x8192 --dtype f16,bf16 \
    --against "$peer" --milliseconds 500
}
part_tuned() {
  bench matmul --device "$device" --shape 4096x4096x4096 --dtype bf16 --tune full --against "$peer" --milliseconds 500
}
# ---- one after the other ---------------------------------------------------------------------------------------------
prepare() { # what can be known once there is a tool
  [ -x "$tessera" ] || { echo "$tessera is not built"; exit 1; }
  gpu=$("$tessera" devices --json 2>/dev/null | sed -n "s/.*\"id\": \"$device\".*\"name\": \"\([^\"]*\)\".*/\1/p")
  [ -n "$gpu$dry" ] || { echo "no device $device; there are:"; "$tessera" devices; exit 3; }
  [ -n "$dry" ] || out=${OUT:-bench/results/$(tr -cs 'A-Za-z0-9\n' - <<<"$gpu" |
    tr '[:upper:]' '[:lower:]')/$(date -u +%Y-%m-%d-%H%M).json}
  predict matmul "$cubes" "bf16 f16 fp8_e4m3 tf32 i8"
  predict matmul "$llama8 $llama70${dry:+64x64x64}" "bf16 f16"
  predict "$row_ops" "$row_shapes" "f32 bf16"
  predict "softmax layernorm rmsnorm" "$long_rows" f32
  predict softmax 32x256 f32
  # Causal: half of the whole.
  predicted[attention]=$("$tessera" tune attention --explain --shape 16x16384x16384x128 --device "$backend:$arch" \
    2>/dev/null | awk '$1 == "total" { us = $2 / 2 } END { print us ? us : "null" }')
  if [ -z "$dry" ] && [ "$backend" = cuda ] && command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=timestamp,clocks.sm,clocks.mem,power.draw,temperature.gpu --format=csv,noheader,nounits \
      -lms 5000 2>/dev/null |
      sed -uE -e 's/(.*), (.*), (.*), (.*), (.*)/"\1", "core_mhz": \2, "memory_mhz": \3, "watts": \4, "celsius": \5/' \
        -e 's/.*/{"at": &}/' >>"$work/clocks" &
    watch=$!
  fi
}
touch "$work/rows" "$work/parts"
planned=0 gpu=''
for part in $all; do [[ $parts == *" $part "* ]] && planned=$((planned + share[$part])); done
echo "planned $planned s of $deadline s"
[ $planned -le "$deadline" ] || [ -z "$dry" ] || bad=1
behind=$began
for part in $all; do
  [[ $parts == *" $part "* ]] || continue
  [ $part = build ] || [ ${#predicted[@]} -gt 0 ] || prepare
  from=$SECONDS cut=
  behind=$((behind + share[$part]))
  # its share, and what those before it left over
  part_end=$((from + share[$part] > behind ? from + share[$part] : behind))
  [ $part_end -gt $((began + deadline)) ] && part_end=$((began + deadline))
  echo "[$part, ${share[$part]} s]"
  "part_$part"
  printf '{"part": "%s", "share_s": %d, "used_s": %d, "cut": %s}\n' "$part" "${share[$part]}" $((SECONDS - from)) \
    "$([ -n "$cut" ] && echo true || echo false)" >>"$work/parts"
  [ -n "$cut" ] && echo "  cut after $((SECONDS - from)) s"
  write_results
done

if [ -n "$dry" ]; then
  n=$(printf '%s\n' "${predicted[@]}" | grep -c '^[0-9]')
  echo "$n of ${#predicted[@]} figures predicted"
  [ "$n" = ${#predicted[@]} ] || bad=1
  [ -n "${OUT:-}" ] && cp "$work/whole.json" "$OUT"
  [ $bad = 0 ] && echo "dry run: every command exists and takes its options"
else
  echo "results in $out"
fi
exit $bad
