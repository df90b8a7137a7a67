#!/usr/bin/env bash
# No range test over an enum's order (enum_order.py), and the rule finds one that is written.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
set -e
rule=$(dirname "$0")/enum_order.py
cd "$SOURCE"
python3 "$rule" core backends include tools bench
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/a.c" <<'END'
typedef enum code { ADD, MUL, LAST_PLAIN, SPLIT, N_CODES } code;
int known(unsigned c) { return c < N_CODES; }
int walk(int sum) { for (int c = 0; c < SPLIT; c++) sum += c; return sum; }
int there(int n_operands) { return n_operands > MUL; }
END
python3 "$rule" "$dir"
for test in 'c < SPLIT' 'c > ADD && c <= LAST_PLAIN' 'SPLIT <= c'; do
  printf 'enum { ADD, MUL, LAST_PLAIN, SPLIT, N_CODES };\nint plain(int c) { return %s; }\n' "$test" > "$dir/a.c"
  if python3 "$rule" "$dir" > "$dir/out"; then echo "not found: $test"; exit 1; fi
done
echo "the rule finds what it should"
