#!/usr/bin/env bash
# The files and functions that docs/architecture.md and CONTRIBUTING.md name are there; the rules are in walks.py.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
exec python3 "$(dirname "$0")/walks.py" "$SOURCE"
