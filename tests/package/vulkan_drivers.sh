#!/usr/bin/env bash
# The live Vulkan drivers, each through the random programs of test_conformance under the validation layers: a table of
# what passed, was refused (with a reason) and failed, which is left in BUILD/vulkan-drivers.txt too. Fails where a
# program fails, a validation message comes, or less passes than the driver's floor. Drivers besides the machine's own:
# scripts/drivers; what is not there is said. TSR_TEST_CASES (24), TSR_TEST_DRIVERS (build/drivers).
set -u
cd "$SOURCE" || exit 1
drivers=${TSR_TEST_DRIVERS:-$SOURCE/build/drivers} test=$BUILD/tests/test_conformance table=$BUILD/vulkan-drivers.txt
[ -x "$test" ] && "$TESSERA" devices 2>/dev/null | grep -q '^vulkan:0 ' || { echo "no Vulkan driver here"; exit 77; }
work=$(mktemp -d) bad=0 absent=""
trap 'rm -rf "$work"' EXIT
export TSR_TEST_DEVICE=vulkan:0 TSR_TEST_CASES=${TSR_TEST_CASES:-24} TSR_VK_VALIDATION=1
floor=api=1,bda,push_descriptor,bindings=4
floor+=,range=134217728,f64,f16,int16,int8,storage16,storage8,int64,timeline,sync2,memory_model
floor+=,maintenance4,shuffle,shared_layout,subgroup_size,full_subgroups,subgroup_types,scalar_layout,denorm
floor+=,rte,nan,coopmat,coopmat2,statistics,clock,shared=16384,invocations=128

# least: per cent of the programs that pass
run() {  # name, least, environment...
  local name=$1 least=$2 log=$work/log passed failed refused messages why=""
  shift 2
  env TSR_CACHE_DIR="$work/$name" "$@" "$test" >"$log" 2>&1
  read -r passed failed refused < <(
    sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped.*/\1 \2 \3/p' "$log")
  messages=$(grep -c 'Vulkan validation' "$log")
  if [ -z "${passed:-}" ]; then
    printf '%-22s %s\n' "$name" "did not run: $(tail -1 "$log")" >>"$table"
    bad=1
    return
  fi
  [ "$refused" = 0 ] || why=$(sed -n 's/^unsupported: [0-9]* cases, e.g. //p' "$log" | tail -1)
  printf '%-22s %6d %7d %6d %8d  %s\n' "$name" "$passed" "$refused" "$failed" "$messages" "$why" >>"$table"
  [ "$failed" = 0 ] && [ "$messages" = 0 ] && [ $((100 * passed)) -ge $((least * (passed + refused))) ] && return
  bad=1
  grep -E 'FAIL|Vulkan validation' "$log" | cut -c1-300 | head -10
}

extracted() {  # name of its file, name, least, environment...
  local file=$drivers/$1.json name=$2
  [ -e "$file" ] || { absent+=" $name"; return; }
  shift 1
  run "$@" VK_DRIVER_FILES="$file"
}

printf '%-22s %6s %7s %6s %8s\n' driver passed refused failed messages >"$table"
widths="128 256 512"
if ! grep -q avx512f /proc/cpuinfo 2>/dev/null; then
  widths="128 256" # LLVM's code for wider vectors than the processor's overruns the driver's stack
  printf '%-22s %s\n' lavapipe-512-bit "left out: the processor has no vectors of 512 bits" >>"$table"
fi
for width in $widths; do run "lavapipe-$width-bit" 95 LP_NATIVE_VECTOR_WIDTH=$width; done
run lavapipe-as-the-floor 60 TSR_VK_HIDE="$floor"
lib=$(find "$drivers/lavapipe-22.3" -name 'libLLVM-15*' -printf '%h' -quit 2>/dev/null)
extracted lavapipe-22.3 lavapipe-22.3 95 LD_LIBRARY_PATH="$lib"
extracted swiftshader SwiftShader 60
cat "$table"

# The mock driver answers every call and computes nothing: the listing survives it.
if [ -e "$drivers/mock.json" ]; then
  said=$(TSR_CACHE_DIR=$work/mock VK_DRIVER_FILES=$drivers/mock.json "$TESSERA" devices 2>&1) || bad=1
  echo "mock driver: exit status 0: $(grep -i 'vulkan' <<<"$said" | head -1)"
  grep -q 'crashed' <<<"$said" && { echo "it crashes: $said"; bad=1; }
else
  absent+=" mock"
fi
[ -z "$absent" ] || echo "skipped:$absent (scripts/drivers extracts them)"
exit $bad
