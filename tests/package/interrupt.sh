#!/usr/bin/env bash
# Ctrl-C (SIGINT) or a service manager's SIGTERM while tuning: the command ends by itself with what it found so far, and
# what was measured is in the cache for the next run.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TSR_THREADS=1
interrupted_by() {
  "$TESSERA" tune matmul --shape 256x256x256 --device cpu:0 --samples 100000 --json > "$dir/out" 2> "$dir/err" &
  pid=$!
  trials() { "$TESSERA" cache list 2> /dev/null | awk '/ entries, / { n = $3 } END { print n + 0 }'; }
  for _ in $(seq 600); do
    [ "$(trials)" -ge 3 ] && break
    if ! kill -0 "$pid" 2> /dev/null; then
      cat "$dir/err"
      echo "it ended before the signal"
      exit 1
    fi
    sleep 0.1
  done
  kill "-$1" "$pid"
  status=0
  wait "$pid" || status=$?
  [ "$status" = 0 ] || { echo "exit status $status"; cat "$dir/err"; exit 1; }
  grep -q '"interrupted": true' "$dir/out" || { echo "not told as interrupted: $(cat "$dir/out")"; exit 1; }
  best=$(sed 's/.*"best_us": \([0-9.]*\).*/\1/' "$dir/out")
  awk "BEGIN { exit !($best > 0) }" || { echo "no best so far"; exit 1; }
  predicted=$(sed 's/.*"predicted_us": \([0-9.]*\).*/\1/' "$dir/out")
  awk "BEGIN { exit !($predicted > 0) }" || { echo "no prediction of it"; exit 1; }
  measured=$(sed 's/.*"measurements": \([0-9]*\).*/\1/' "$dir/out")
  kept=$(trials)
  [ "$kept" = "$measured" ] || { echo "$measured measured, $kept kept"; exit 1; }
  "$TESSERA" cache verify > /dev/null
  # The next search starts from them: as many samples as were kept need no measurement.
  again=$("$TESSERA" tune matmul --shape 256x256x256 --device cpu:0 --samples "$kept" --json)
  [[ $again == *'"stored": true'* ]] || { echo "not stored: $again"; exit 1; }
  more=$(sed 's/.*"measurements": \([0-9]*\).*/\1/' <<< "$again")
  [ "$more" -le 4 ] || { echo "$more measured again; the play-off takes at most 4"; exit 1; }
  echo "SIG$1: interrupted after $measured of them, best $best us; all kept"
}
for signal in INT TERM; do
  export TSR_CACHE_DIR=$dir/$signal
  mkdir "$TSR_CACHE_DIR"
  interrupted_by "$signal"
done
