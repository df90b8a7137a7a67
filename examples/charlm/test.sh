#!/usr/bin/env bash
# examples/charlm/test.sh CHARLM TESSERA [DEVICE] - a small model, trained for some steps: the loss falls, in modes that
# agree; a deterministic run twice, and one that is killed and goes on, give the same bits; what can't be is one line.
# Exit status 77: the text isn't there.
set -u
charlm=$1 tessera=$2 device=${3:-cpu:0} wrong=0
[ -d /usr/share/common-licenses ] || { echo "no /usr/share/common-licenses"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
echo "no checkpoint" >other
export TSR_CACHE_DIR=$dir/cache
bad() { echo "$*"; wrong=1; }
model=("$charlm" --device "$device" --seed 3 --layers 1 --width 32 --heads 2 --length 32 --batch 4 --warmup 10
  --rate 0.01)
small() { "${model[@]}" "$@"; }
# The loss of a row of a CSV file; within: two numbers are no farther apart than the third.
loss_of() { awk -F, -v row="$2" 'NR == row + 1 {print $2}' "$1"; }
within() { awk -v a="$1" -v b="$2" -v most="$3" 'BEGIN {d = a - b; exit !(d < 0 ? -d <= most : d <= most)}'; }

# ---- it learns, in every mode the same within what the mode's roundings make of 40 steps -----------------------------
for mode in safe standard aggressive deterministic; do
  small --mode "$mode" --steps 40 --csv "$mode.csv" --html "$mode.html" >"$mode.out" 2>&1 ||
    bad "$mode: $(tail -1 "$mode.out")"
  [ "$(wc -l <"$mode.csv")" = 41 ] || bad "$mode: not 40 rows"
  first=$(loss_of "$mode.csv" 1) last=$(loss_of "$mode.csv" 40)
  awk -v a="$first" -v b="$last" 'BEGIN {exit !(a > 5 && a < 6.5 && b < 0.7 * a)}' || bad "$mode: loss $first -> $last"
  [ "$(tail -1 "$mode.out")" = "loss $(printf %.4f "$first") -> $(printf %.4f "$last") in 40 steps" ] ||
    bad "$mode: $(tail -1 "$mode.out")"
  grep -q '<polyline' "$mode.html" && ! grep -q 'http' "$mode.html" || bad "$mode: no curve of its own"
done
# Of f32 the order of sums differs alone; bf16 has 8 bits and fp8 4, of products that f32 sums.
within "$(loss_of safe.csv 40)" "$(loss_of deterministic.csv 40)" 0.01 || bad "safe and deterministic are apart"
within "$(loss_of safe.csv 40)" "$(loss_of standard.csv 40)" 0.02 || bad "safe and standard are apart"
within "$(loss_of safe.csv 40)" "$(loss_of aggressive.csv 40)" 0.2 || bad "safe and aggressive are apart"

# ---- a scale that overflows is halved, and the step changes nothing else ---------------------------------------------
small --mode standard --steps 12 --batch 1 --length 2 --scale 3e38 --csv scale.csv >out 2>&1 || bad "$(tail -1 out)"
awk -F, 'NR == 2 {exit !($3 == "inf" && $5 == 1.5e38)}' scale.csv || bad "no overflow: $(sed -n 2p scale.csv)"
# How often it does depends on the machine's texts: each time it is halved, else it stays.
awk -F, -v was=3e38 'NR > 1 {
    want = $3 == "inf" ? was / 2 : was
    wrong += $5 < 0.999 * want || $5 > 1.001 * want
    was = $5; n += $3 == "inf"; last = $3
  } END {exit wrong || n > 4 || last == "inf"}' scale.csv || bad "the scale: $(cut -d, -f3,5 scale.csv | paste -sd' ')"

# f16 ends at 65504: a first scale that is too large for its gradients comes down step by step, the steps lost on the
# way change no parameter, and the loss falls as without it. Ten good steps double the scale again.
f16=(--mode standard --half f16 --scale 16777216 --growth 10)
small "${f16[@]}" --steps 40 --csv half.csv >out 2>&1 || bad "$(tail -1 out)"
within "$(loss_of safe.csv 40)" "$(loss_of half.csv 40)" 0.35 || bad "f16 ends at $(loss_of half.csv 40)"
awk -F, -v was=16777216 'NR > 1 {halved += $5 == was / 2; doubled += $5 == 2 * was; was = $5}
  END {exit !(halved > 0 && doubled > 0)}' half.csv || bad "the scale: $(cut -d, -f5 half.csv | paste -sd' ')"
# A run that is stopped where it has been halved goes on with the same bits: the checkpoint has scale and count. Under
# the policy deterministic, so that nothing else differs.
fixed16() { TSR_POLICY=deterministic TSR_TUNE=off "${model[@]}" "${f16[@]}" "$@"; }
fixed16 --steps 14 --checkpoint once --csv once.csv >out 2>&1 || bad "$(tail -1 out)"
fixed16 --steps 7 --checkpoint parts >out 2>&1 && fixed16 --steps 14 --checkpoint parts --csv parts.csv >out 2>&1 ||
  bad "$(tail -1 out)"
cmp once parts && cmp once.csv parts.csv || bad "a scaled run that goes on differs"

# ---- deterministic: twice, and killed on the way ---------------------------------------------------------------------
run=("${model[@]}" --mode deterministic --steps 80 --every 1)
fixed() { "${run[@]}" "$@"; }
fixed --checkpoint whole --csv whole.csv >out 2>&1 || bad "$(tail -1 out)"
fixed --checkpoint twice --csv twice.csv >out 2>&1 || bad "$(tail -1 out)"
cmp whole twice && cmp whole.csv twice.csv || bad "two deterministic runs differ"
# Within a budget kernels run again: more of them, the same bits.
fixed --memory 850 --checkpoint within --csv within.csv >within.out 2>&1 || bad "$(tail -1 within.out)"
cmp whole within && cmp whole.csv within.csv || bad "a run within a budget of memory differs"
kernels() { sed -n 's/.* parameters, \([0-9]*\) kernels a step .*/\1/p' "$1"; }
[ "$(kernels within.out)" -gt "$(kernels out)" ] || bad "no kernel runs again: $(kernels within.out) of $(kernels out)"
cut=
for _ in 1 2 3 4 5; do # a process that is done before it is killed shows nothing: again
  rm -f killed
  "${run[@]}" --checkpoint killed >out 2>&1 & # no function: the process itself is killed
  pid=$!
  until [ -s killed ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null || { cut=1; break; }
done
[ "$cut" ] || bad "it was done before it was killed, five times"
[ -s killed ] || bad "no checkpoint before it was killed"
fixed --checkpoint killed --csv killed.csv >out 2>&1 || bad "$(tail -1 out)"
grep -q 'goes on after step' out || bad "it began anew"
cmp whole killed && cmp whole.csv killed.csv || bad "what goes on differs from what wasn't stopped"

# ---- a mesh, its ranks threads, then processes: deterministic the same bits, else within what roundings make ---------
parts() { small --layers 2 --batch 8 --steps 12 "$@"; }
parts --mode deterministic --microbatches 4 --csv one.csv >out 2>&1 || bad "$(tail -1 out)"
for mesh in tp=2,dp=2 dp=2,pp=2; do
  parts --mode deterministic --microbatches 4 --mesh $mesh --csv mesh.csv >out 2>&1 || bad "$mesh: $(tail -1 out)"
  cmp one.csv mesh.csv || bad "$mesh differs from one device"
done
# The schedules of a pipeline: the same sums in the same order.
deep() { small --layers 4 --batch 8 --steps 6 --mode deterministic --microbatches 4 "$@"; }
deep --csv deep.csv >out 2>&1 || bad "$(tail -1 out)"
for schedule in 1f1b interleaved zero_bubble; do
  deep --mesh dp=1,pp=2 --schedule $schedule --csv mesh.csv >out 2>&1 || bad "$schedule: $(tail -1 out)"
  grep -q "^$schedule, stage 0 of 2" out || bad "$schedule: $(head -1 out)"
  cmp deep.csv mesh.csv || bad "$schedule differs from one device"
done
# Ranks of other schedules and one device go on from what interleaved stages wrote.
deep --mesh dp=2,pp=2 --schedule interleaved --steps 2 --checkpoint chunks >out 2>&1 || bad "$(tail -1 out)"
deep --mesh pp=4 --schedule zero_bubble --microbatches 4 --steps 4 --checkpoint chunks >out 2>&1 || bad "$(tail -1 out)"
deep --checkpoint chunks --csv mesh.csv >out 2>&1 || bad "$(tail -1 out)"
grep -q 'goes on after step 4' out && cmp deep.csv mesh.csv || bad "stages of several schedules differ from one device"
parts --mode standard --microbatches 4 --csv fast.csv >out 2>&1 || bad "$(tail -1 out)"
parts --mode standard --microbatches 4 --mesh tp=2,dp=2 --csv mesh.csv >out 2>&1 || bad "$(tail -1 out)"
within "$(loss_of fast.csv 12)" "$(loss_of mesh.csv 12)" 0.02 || bad "standard: a mesh and one device are apart"
parts --mode standard --mesh pp=2 --microbatches 1 >out 2>&1 || bad "$(tail -1 out)"
grep -q 'warning: fewer microbatches (1) than stages (2)' out || bad "no warning of few microbatches"
processes() { # how many, then the options
  local n=$1
  shift
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 120 mpirun --oversubscribe -n "$n" \
    "${model[@]}" --layers 2 --batch 8 --mode deterministic --microbatches 4 --transport mpi "$@"
}
if command -v mpirun >/dev/null && processes 1 --mesh dp=1 --steps 1 >out 2>&1; then
  # 8 processes begin, ranks of another mesh and then one device go on from what they wrote.
  processes 8 --mesh tp=2,dp=2,pp=2 --steps 6 --checkpoint pieces >out 2>&1 || bad "8 processes: $(tail -1 out)"
  parts --mode deterministic --microbatches 4 --mesh dp=3 --steps 9 --checkpoint pieces >out 2>&1 ||
    bad "$(tail -1 out)"
  parts --mode deterministic --microbatches 4 --checkpoint pieces --csv mesh.csv >out 2>&1 || bad "$(tail -1 out)"
  grep -q 'goes on after step 9' out || bad "one device began anew"
  cmp one.csv mesh.csv || bad "8 processes, 3 ranks and one device differ from one device"
  processes 2 --mesh pp=2 --schedule gpipe --steps 12 --csv mesh.csv >out 2>&1 || bad "gpipe: $(tail -1 out)"
  cmp one.csv mesh.csv || bad "gpipe between processes differs from one device"
  processes 4 --layers 4 --mesh dp=2,pp=2 --schedule interleaved --steps 6 --csv mesh.csv >out 2>&1 ||
    bad "interleaved: $(tail -1 out)"
  cmp deep.csv mesh.csv || bad "interleaved between processes differs from one device"
  # What a rank sends in a step and holds at most, as it was counted, is what the planner says of the step's programs.
  mkdir plan
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout -k 5 120 mpirun --oversubscribe -n 4 \
    "${model[@]}" --layers 2 --width 64 --batch 8 --mesh dp=4 --transport mpi --steps 2 --plan plan >out 2>&1 ||
    bad "--plan: $(tail -1 out)"
  for part in gradients squares update; do
    "$tessera" plan plan/$part.mlir --mesh dp=4 --json >$part.json 2>&1 || bad "plan of $part: $(tail -1 $part.json)"
  done
  figure() { sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p" "$1.json"; }
  sent=$(($(figure gradients sent_bytes) + $(figure squares sent_bytes) + $(figure update sent_bytes)))
  held=$(($(figure update inputs) + $(figure update outputs) + $(figure gradients between) +
    $(figure squares between) + $(figure update between)))
  read -r is_sent is_held <<<"$(sed -n 's/^a rank sent \([0-9]*\) bytes a step and held \([0-9]*\) .*/\1 \2/p' out)"
  echo "4 ranks: planned and counted, bytes sent $sent $is_sent, held $held $is_held"
  within "$sent" "${is_sent:-0}" "$((sent / 20))" || bad "a rank sent ${is_sent:-nothing}, $sent were planned"
  within "$held" "${is_held:-0}" "$((held / 20))" || bad "a rank held ${is_held:-nothing}, $held were planned"
else
  echo "no processes: mpirun or the module for MPI isn't there"
fi

# ---- what can't be ---------------------------------------------------------------------------------------------------
says() { # what it says, then the command
  local want=$1
  shift
  "$@" >out 2>&1
  [ $? = 1 ] && grep -qF -- "charlm: $want" out || bad "wanted '$want', got '$(tail -1 out)'"
}
says "--mode fast: safe, standard, aggressive or deterministic" small --mode fast
says "--steps 0: a number from 1" small --steps 0
says "no option --step" small --step 3
says "--csv needs a value" small --csv
says "--half f8: bf16 or f16" small --half f8
says "--growth 0: a number from 1" small --growth 0
says "33 columns for 2 heads" small --width 33
says "--mesh ep=2: the axes are tp, dp and pp" small --mesh ep=2
says "--mesh pp=2,tp=2: pp, the outermost, comes last" small --mesh pp=2,tp=2
says "--mesh tp: axes with their sizes" small --mesh tp
says "--mesh tp=0: the size of tp is a number from 1" small --mesh tp=0
says "1 layers for 2 stages" small --mesh pp=2
says "4 sequences for 3 microbatches" small --microbatches 3
says "--transport is for a --mesh" small --transport mpi
says "--schedule is for a --mesh with pp" small --schedule gpipe
says "--chunks is for --schedule interleaved" small --layers 4 --mesh pp=2 --chunks 2
says "2 layers for 2 stages with their chunks" small --layers 2 --mesh pp=2 --schedule interleaved
says "--memory is for one device" small --memory 900 --mesh dp=2
says "there is no /nowhere" small --text /nowhere
says "whole is of a run with other options" small --steps 130 --checkpoint whole
head -c 1000 whole >part
says "part is no whole checkpoint" fixed --checkpoint part
says "other is no checkpoint" fixed --checkpoint other
exit $wrong
