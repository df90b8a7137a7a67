#!/usr/bin/env bash
# How many places know of one op, norm, contraction, dialect or matrix instruction; the bounds are in places.py.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
exec python3 "$(dirname "$0")/places.py" "$SOURCE"
