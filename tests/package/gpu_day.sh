#!/usr/bin/env bash
# bench/gpu-day.sh without a GPU: the plan fits 25 minutes and names every shape of the aims, each command runs small on
# the CPU, and a run whose time is up keeps the rows it has and says what was cut (with tools that only pretend).
set -u -o pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
wrong() { echo "WRONG: $*"; bad=1; }
command -v python3 >/dev/null || echo "skipped: no python3, the files' JSON is not checked"
valid() { ! command -v python3 >/dev/null || python3 -m json.tool "$1" >/dev/null || wrong "$1 is no JSON"; }

OUT=$dir/dry.json BUILD=$BUILD bash "$SOURCE/bench/gpu-day.sh" --dry-run >"$dir/said" 2>&1 ||
  { wrong "dry run"; cat "$dir/said"; }
planned=$(sed -n 's/^planned \([0-9]*\) s of.*/\1/p' "$dir/said")
[ "${planned:-9999}" -lt 1500 ] || wrong "planned $planned seconds"
for shape in 4096x4096x4096 8192x8192x8192 16384x16384x16384 \
  {1,16,512,4096}x{4096x4096,14336x4096,4096x14336,8192x8192,28672x8192,8192x28672} 65536x4096 2048x131072; do
  grep -q "bench.* --shape [0-9x,]*\b$shape\b" "$dir/said" || wrong "$shape is not measured"
done
for what in bf16 f16 fp8_e4m3 tf32 i8 'vulkan:0 .*--against cublaslt' 'attention-16k' 'driver compile' \
  'replay cuda:0 100'; do grep -q "$what" "$dir/said" || wrong "$what is not measured"; done
valid "$dir/dry.json"
grep -q '"part": "cubes", "predicted_us": [0-9]' "$dir/dry.json" || wrong "rows have no prediction"

# A tool that has a row at once and never ends by itself.
mkdir -p "$dir/fake/tools" "$dir/fake/bench"
cat >"$dir/fake/tools/tessera" <<'EOF'
#!/usr/bin/env bash
case $1 in
devices) echo '  {"id": "cuda:0", "backend": "cuda", "name": "Some GPU \ 1"}' ;;
tune) echo "  total   12.5 us  bound by memory" ;;
bench) echo '{"op": "matmul", "shape": "4096x4096x4096", "dtype": "bf16", "median_us": 1}'; sleep 1000 ;;
esac
EOF
chmod +x "$dir/fake/tools/tessera"
for seconds in 4 20 100; do # what is predicted beforehand counts too: a busy machine needs more than 4 to come to a row
  out=$(DEADLINE=$seconds OUT=$dir/cut.json BUILD=$dir/fake bash "$SOURCE/bench/gpu-day.sh" cuda:0 cubes llama 2>&1) ||
    wrong "cut run: $out"
  grep -q median_us "$dir/cut.json" && break
done
valid "$dir/cut.json"
grep -q '"part": "cubes", "share_s": 200, "used_s": [0-9]*, "cut": true' "$dir/cut.json" ||
  wrong "the part is not said to be cut"
grep -q '"part": "llama", .*"cut": true' "$dir/cut.json" || wrong "the next part is not said to be cut"
row='"part": "cubes", "predicted_us": 12.5, "command": "tools/tessera bench matmul --device cuda:0 '
row+='--shape 4096x4096x4096 .*"median_us": 1}'
grep -q "$row" "$dir/cut.json" || wrong "the rows are lost"
printf '#!/bin/sh\ncase $1 in devices) echo "[]";; esac\n' >"$dir/fake/tools/tessera"
BUILD=$dir/fake bash "$SOURCE/bench/gpu-day.sh" cuda:0 cubes >/dev/null 2>&1
[ $? = 3 ] || wrong "a missing device is not said"
[ $bad = 0 ] && echo "planned $planned s; cut runs keep their rows"
exit $bad
