#!/usr/bin/env bash
# Who may include whom (CONTRIBUTING.md): one row a folder, with the folders whose headers it may name. Its own is always allowed.
set -u
cd "$SOURCE" || exit 1
bad=0

check() {  # folder, extended regular expression of allowed prefixes of a quoted include
  local folder=$1 allowed="^($1/|$2)" file include
  [ -d "$folder" ] || return 0
  while IFS=: read -r file _ include; do
    [[ $include != */* || $include =~ $allowed ]] || { echo "$file includes \"$include\", which $folder may not"; bad=1; }
  done < <(grep -rnoP --include='*.[ch]' '^\s*#\s*include\s*"\K[^"]+' "$folder")
}

below='tessera/|core/base/'
check include 'tessera/'
check core/base "$below"
check core/ir "$below"
device='core/caps\.h|core/backend\.h' # what a device can do and takes; both stand on core/base alone
check core/passes "$below|core/ir/|core/emit/|$device" # the forms that passes lower to; emit knows no passes
check core/emit "$below|core/ir/|$device"
above="$below|core/ir/|core/passes/|core/emit/|$device"
check core/tune "$above"
check core/coll "$above"
check core/profile "$above"
check core/runtime "core/|tessera/|backends/[a-z]+/[a-z_]+\.h"
for backend in backends/*/; do
  name=$(basename "$backend")
  case $name in cuda | hip) simt='|backends/simt/' ;; *) simt= ;; esac
  check "backends/$name" "$below|core/ir/|core/emit/|$device$simt"
done

# Only the registry names the backends.
while IFS=: read -r file _; do
  [ "$file" = core/runtime/registry.c ] || { echo "$file names a backend's folder; only core/runtime/registry.c may"; bad=1; }
done < <(grep -rn --include='*.[ch]' '#\s*include\s*"backends/' core include)
[ $bad = 0 ] && echo "every include keeps to the rules"
exit $bad
