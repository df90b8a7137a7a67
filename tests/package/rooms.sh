#!/usr/bin/env bash
# Who may see whom in core/, by includes and by calls; the table is in rooms.py.
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
command -v nm >/dev/null || { echo "no nm here"; exit 77; }
exec python3 "$(dirname "$0")/rooms.py" "$SOURCE" "$BUILD"
