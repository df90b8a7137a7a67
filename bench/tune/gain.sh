#!/usr/bin/env bash
# What tuning gains: the shapes of suite gemm with the default schedule and with a searched one, measured in turns, and the geometric mean of the
# ratios. For a quiet machine. The first run searches (minutes a shape on a slow device), later ones only measure: the cache is kept in build/.
#   bench/tune/gain.sh [DEVICE...]     cpu:0 and vulkan:0 when none is given
# SUITE (gemm), MOST_MS (200: shapes that take longer untuned are left out, and said), MILLISECONDS_EACH (400), ROUNDS (3) from the environment.
set -eu
cd "$(dirname "$0")/../.."
tessera=$(realpath "${TESSERA:-build/release/tools/tessera}")
export VK_DRIVER_FILES=${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/lvp_icd.json}
export TSR_CACHE_DIR=${TSR_CACHE_DIR:-build/tune-gain}
suite=${SUITE:-gemm} most=${MOST_MS:-200} ms=${MILLISECONDS_EACH:-400} rounds=${ROUNDS:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
field() { sed -n "s/.*\"$1\": \"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p"; }
median() { # device op shape dtype mode: microseconds
  local line
  line=$("$tessera" bench "$2" --shape "$3" --dtype "$4" --device "$1" --milliseconds "$ms" --tune "$5" --json)
  case $line in *'"ok": true'*) field median_us <<< "$line" ;; *) echo "$1 $2 $3 $4: WRONG" >&2; exit 1 ;; esac
}
least() { awk -v a="$1" -v b="$2" 'BEGIN { print a == "" || b + 0 < a + 0 ? b : a }'; }
[ $# -gt 0 ] || set -- cpu:0 vulkan:0
for device in "$@"; do
  "$tessera" bench --suite "$suite" --device "$device" --milliseconds 1 --tune off --json > "$dir/cases"
  : > "$dir/ratios"
  while read -r line; do
    op=$(field op <<< "$line") shape=$(field shape <<< "$line") dtype=$(field dtype <<< "$line") us=$(field median_us <<< "$line")
    if awk -v u="$us" -v m="$most" 'BEGIN { exit !(u > 1000 * m) }'; then
      printf '%-9s %-8s %-16s %-5s left out: %.0f ms untuned\n' "$device" "$op" "$shape" "$dtype" "$(awk -v u="$us" 'BEGIN { print u / 1000 }')"
      continue
    fi
    median "$device" "$op" "$shape" "$dtype" full > /dev/null
    off='' tuned=''
    for ((i = 0; i < rounds; i++)); do # in turns: a slow minute falls on both
      off=$(least "$off" "$(median "$device" "$op" "$shape" "$dtype" off)")
      tuned=$(least "$tuned" "$(median "$device" "$op" "$shape" "$dtype" cached)")
    done
    awk -v d="$device" -v o="$op" -v s="$shape" -v t="$dtype" -v a="$off" -v b="$tuned" \
      'BEGIN { printf "%-9s %-8s %-16s %-5s default %10.1f us  tuned %10.1f us  %5.2fx\n", d, o, s, t, a, b, a / b }' | tee -a "$dir/ratios"
  done < "$dir/cases"
  awk -v device="$device" '{ r = $NF + 0; sum += log(r); if (!n++ || r < worst) worst = r }
    END { if (n) printf "%-9s geometric mean %.3f over %d shapes, least %.2f\n", device, exp(sum / n), n, worst }' "$dir/ratios"
done
