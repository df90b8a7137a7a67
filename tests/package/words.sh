#!/usr/bin/env bash
# Earlier names of things stay out, and lines are within 120 columns but for tables; the rules are in words.py.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
exec python3 "$(dirname "$0")/words.py" "$SOURCE"
