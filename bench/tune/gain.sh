#!/usr/bin/env bash
# What tuning gains: the shapes of suite gemm with a searched schedule, with the untuned one and with the tile of the
# default table (fitted to problem and device), timed in turns, and the geometric means of the ratios. For a quiet
# machine. The first run searches (minutes a shape on a slow device), later ones only measure: the cache is kept in
# build/.
#   bench/tune/gain.sh [DEVICE...]     cpu:0 and vulkan:0 when none is given
# SUITE (gemm), MOST_MS (200: shapes that take longer untuned are left out, and said), MILLISECONDS_EACH (400), ROUNDS
# (3) from the environment.
set -eu
cd "$(dirname "$0")/../.."
tessera=$(realpath "${TESSERA:-build/release/tools/tessera}")
export VK_DRIVER_FILES=${VK_DRIVER_FILES:-/usr/share/vulkan/icd.d/lvp_icd.json}
export TSR_CACHE_DIR=${TSR_CACHE_DIR:-build/tune-gain}
suite=${SUITE:-gemm} most=${MOST_MS:-200} ms=${MILLISECONDS_EACH:-400} rounds=${ROUNDS:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
field() { sed -n "s/.*\"$1\": \"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p"; }
# device op shape dtype mode: the JSON line, with the others' medians and the gains
measure() {
  local line
  line=$("$tessera" bench "$2" --shape "$3" --dtype "$4" --device "$1" --milliseconds "$ms" --tune "$5" --json)
  [[ $line == *'"ok": true'* ]] || { echo "$1 $2 $3 $4: WRONG" >&2; exit 1; }
  echo "$line"
}
[ $# -gt 0 ] || set -- cpu:0 vulkan:0
for device in "$@"; do
  "$tessera" bench --suite "$suite" --device "$device" --milliseconds 1 --tune off --json > "$dir/cases"
  : > "$dir/ratios"
  while read -r line; do
    op=$(field op <<< "$line") shape=$(field shape <<< "$line") dtype=$(field dtype <<< "$line")
    us=$(field median_us <<< "$line")
    if awk -v u="$us" -v m="$most" 'BEGIN { exit !(u > 1000 * m) }'; then
      printf '%-9s %-8s %-16s %-5s left out: %.0f ms untuned\n' "$device" "$op" "$shape" "$dtype" \
        "$(awk -v u="$us" 'BEGIN { print u / 1000 }')"
      continue
    fi
    measure "$device" "$op" "$shape" "$dtype" full > /dev/null # searches if need be, which leaves the machine warm
    : > "$dir/rounds"
    for ((i = 0; i < rounds; i++)); do measure "$device" "$op" "$shape" "$dtype" cached >> "$dir/rounds"; done
    # The round with the median gain stands for the shape.
    row=$(while read -r one; do
      echo "$(for f in gain default_median_us median_us tile table_median_us table_gain table_tile; do
        field $f <<< "$one"
      done | tr '\n' ' ')"
    done < "$dir/rounds" |
      sort -n | sed -n "$((rounds / 2 + 1))p")
    read -r gain default tuned tile table table_gain table_tile <<< "$row"
    printf '%-9s %-8s %-16s %-5s tuned %-12s %10.1f us  untuned %10.1f us  table %-12s %10.1f us  %.3f %.3f\n' \
      "$device" "$op" "$shape" "$dtype" "$tile" "$tuned" "$default" "$table_tile" "$table" "$gain" "$table_gain" |
      tee -a "$dir/ratios"
  done < "$dir/cases"
  awk -v device="$device" \
    '{ for (i = 0; i < 2; i++) { r = $(NF - 1 + i) + 0; sum[i] += log(r); if (!n || r < worst[i]) worst[i] = r } n++ }
    END {
      for (i = 0; n && i < 2; i++)
        printf "%-9s over %s: geometric mean %.3f over %d shapes, least %.3f\n", device,
          i ? "the default table" : "untuned", exp(sum[i] / n), n, worst[i]
    }' "$dir/ratios"
done
