#!/usr/bin/env bash
# scripts/setup on machines that this one is not: Debian 12 and Ubuntu with their archives in reach, out of reach, and
# without root. apt-get, dpkg-query and id are stand-ins which read what the archive has (`available`: the package as
# apt takes it, version) and what else apt would do for a package (`harms`: the package as apt takes it, a line of apt's
# plan), and keep what is there (`installed`).
set -eu
command -v dpkg >/dev/null || { echo "no dpkg here to compare versions with"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export TMPDIR=$root

mkdir "$root/bin"
for tool in bash env dirname sed awk grep sort uniq tr mktemp rm head tail cat dpkg cp chmod mkdir basename; do ln -s \
  "$(command -v $tool)" "$root/bin/$tool"; done
cat >"$root/bin/dpkg-query" <<'END'
#!/usr/bin/env bash
for package; do :; done
awk -v p="$package" '$1 == p { print "installed " $2 }' "$T/installed"
END
cat >"$root/bin/id" <<'END'
#!/usr/bin/env bash
cat "$T/uid"
END
cat >"$root/bin/apt-get" <<'END'
#!/usr/bin/env bash
command='' simulate=no default='' names=() new=()
while [ $# -gt 0 ]; do
  case $1 in
    -o) [[ $2 != Dir::Etc::SourceParts=* ]] || cat "${2#*=}"/* >"$T/private"; shift ;;
    --format) shift ;;
    -t) default=$2; shift ;;
    -s) simulate=yes ;;
    -y | --no-install-recommends | --no-remove) ;;
    update | install | indextargets) command=$1 ;;
    *) names+=("$1") ;;
  esac
  shift
done
case $command in
  indextargets) cat "$T/archives"; exit ;;
  update) echo update >>"$T/updates"; [ -s "$T/available" ] && exit; echo "E: Failed to fetch"; exit 100 ;;
esac
for name in "${names[@]}"; do
  version=$(awk -v n="$name" '$1 == n { print $2 }' "$T/available")
  [ -n "$version" ] || { echo "E: Unable to locate package ${name%%/*}"; unknown=yes; continue; }
  grep -qxF "${name%%/*} $version" "$T/installed" && continue
  had=$(awk -v n="${name%%/*}" '$1 == n { print $2 }' "$T/installed")
  new+=("Inst ${name%%/*} ${had:+[$had] }($version $(cat "$T/label") [amd64])")
  while read -r of line; do [ "$of" = "$name" ] && new+=("$line"); done <"$T/harms"
done
[ -z "$unknown" ] || exit 100
if [ $simulate = yes ]; then printf '%s\n' "${new[@]}"; exit; fi
echo "${default:-own}: ${names[*]}" >>"$T/steps"
for line in "${new[@]}"; do
  read -r what name rest <<<"$line"
  grep -v "^$name " "$T/installed" >"$T/rest"
  cat "$T/rest" >"$T/installed"
  rest=${rest#\[*\] }
  [ "$what" = Remv ] || echo "$name $(awk '{ print substr($1, 2) }' <<<"$rest")" >>"$T/installed"
done
END
chmod +x "$root"/bin/{dpkg-query,id,apt-get}

fail() { echo "$name: $*"; cat "$T/out"; exit 1; }
machine() {  # name ID CODENAME uid: a new one, with nothing on it
  name=$1
  export T=$root/$1 TSR_SETUP_ETC=$root/$1/etc
  mkdir -p "$T/etc/apt/sources.list.d" "$T/etc/apt/preferences.d"
  printf 'ID=%s\nVERSION_CODENAME=%s\n' "$2" "$3" >"$T/etc/os-release"
  echo "$4" >"$T/uid"
  export TSR_SETUP_BUILD=$T/build
  for file in installed available steps harms updates private; do : >"$T/$file"; done
  echo "$2:$3" >"$T/label"
  echo "http://mirror.test/$2/ $3 " >"$T/archives"
}
setup() {  # expected status, options
  local expected=$1 status=0
  shift
  PATH=$root/bin bash "$SOURCE/scripts/setup" "$@" >"$T/out" 2>&1 || status=$?
  [ $status = "$expected" ] || fail "exit status $status instead of $expected"
}
says() { grep -qE -- "$1" "$T/out" || fail "does not say: $1"; }
silent_about() { ! grep -qE -- "$1" "$T/out" || fail "says: $1"; }
offer() { for package in "${@:2}"; do echo "$package $1" >>"$T/available"; done; }
only_added() { # against the list of before
  local lost
  lost=$(grep -vxFf "$T/installed" "$1" || :)
  [ -z "$lost" ] || fail "changed or removed: $lost"
}
etc_as_it_was() { [ "$(cd "$TSR_SETUP_ETC" && echo apt/*.d/*)" = 'apt/*.d/*' ] || fail "apt's set-up was changed"; }
all=(gcc cmake libc6-dev ninja-build libsqlite3-dev zlib1g-dev)
tests=(pkg-config libcmocka-dev python3 python3-numpy g++ libopenmpi-dev openmpi-bin)
vulkan=(libvulkan1 libvulkan-dev libvulkan-volk-dev)
peers=(libopenblas0-pthread libblis4-openmp libfftw3-single3 libfftw3-double3)

machine ubuntu_takes_its_own ubuntu noble 0
offer 3.28 "${all[@]}" "${tests[@]}"
offer 1.3.275 vulkan-validationlayers "${vulkan[@]}"
offer 24.2 mesa-vulkan-drivers
offer 2023.8 glslc spirv-tools
touch "$root/bin/make" && chmod +x "$root/bin/make"
setup 0
says '^setup: to install, where apt has it \(ubuntu noble\):$'
[ "$(wc -l <"$T/installed")" = "$(wc -l <"$T/available")" ] || fail "not everything was installed: $(cat "$T/installed")"
etc_as_it_was
: >"$T/steps"
setup 0
says '^setup: everything is there already, nothing to install$'
setup 0 --newest
says '^setup: older than wanted: mesa-vulkan-drivers 24\.2 libvulkan1 1\.3\.275 .*Vulkan backend'
[ ! -s "$T/steps" ] || fail "the second run installed: $(cat "$T/steps")"
etc_as_it_was

machine ubuntu_one_package_unknown ubuntu noble 0
offer 3.28 "${all[@]}" "${tests[@]}"
setup 0
says "^setup: no libvulkan1 in this release"
says '^setup: missing: .*libvulkan1 .*Vulkan backend'
grep -qx 'gcc 3.28' "$T/installed" || fail "what can be had was not installed"
updates=$(wc -l <"$T/updates")
setup 0 --once
[ "$(wc -l <"$T/updates")" = "$updates" ] || fail "what can't be had was tried again"
says '^setup: missing: .*libvulkan1 .*Vulkan backend'

machine ubuntu_out_of_reach ubuntu noble 0
setup 1
says 'apt-get update failed, see .*: E: Failed to fetch'
says "missing: gcc cmake libc6-dev ninja-build|missing: gcc cmake libc6-dev; without that the library can't be built"
[ ! -s "$T/installed" ] || fail "installed: $(cat "$T/installed")"

# A machine with a debugger: what would upgrade its libc or take the debugger away is left out, and said; so is what
# comes from a later release, and what is too old to be of use.
machine debian_12_is_left_as_it_is debian bookworm 0
echo 'Debian:12.11/oldstable, Debian-Security:12/oldstable-security' >"$T/label"
printf '%s\n' 'libc6 2.36-9' 'gdb 13.1-3' 'linux-perf 6.1' >"$T/installed"
cp "$T/installed" "$T/before"
offer 3.25 "${all[@]}" "${tests[@]}"
offer 1.3.239 vulkan-validationlayers "${vulkan[@]}"
offer 22.3 mesa-vulkan-drivers
offer 2023.2 glslc spirv-tools
offer 0.9 "${peers[@]}" libggml0
offer 2.6.3 libdnnl-dev
cat >"$T/harms" <<'END'
libsqlite3-dev Inst libc6 [2.36-9] (2.41-12 Debian:12.11/oldstable [amd64])
vulkan-validationlayers Remv gdb [13.1-3]
vulkan-validationlayers Remv linux-perf [6.1]
libggml0 Inst libggml-base (0.9 Debian:14/testing [amd64])
END
setup 0 --bench
only_added "$T/before"
etc_as_it_was
says '^setup: not installed: libsqlite3-dev: apt would change libc6 2\.36-9 to 2\.41-12$'
says '^setup: not installed: libggml0: apt would take libggml-base 0\.9 from another release$'
says '^setup: not installed: libdnnl-dev: libdnnl-dev 2\.6\.3 is older than 3\.0$'
says '^setup: no libggml0-backend-vulkan in this release'
says 'sudo scripts/setup --newest'
says '^setup: the rest, .*: sudo scripts/setup --peers$'
for package in gcc cmake mesa-vulkan-drivers libopenblas0-pthread; do grep -q "^$package " "$T/installed" ||
  fail "no $package: $(cat "$T/installed")"; done
for package in libcmocka-dev clang-19 libdnnl-dev libggml0 gcc-aarch64-linux-gnu; do ! grep -q "^$package " \
  "$T/installed" || fail "$package was installed"; done
setup 0
only_added "$T/before"
says '^setup: not installed: vulkan-validationlayers: apt would remove gdb 13\.1-3, remove linux-perf 6\.1$'
grep -qx 'libcmocka-dev 3.25' "$T/installed" || fail "no libcmocka-dev"
setup 0 --peers
only_added "$T/before"
etc_as_it_was

machine debian_12_newest debian bookworm 0
printf '%s\n' 'libc6 2.36-9' 'gdb 13.1-3' >"$T/installed"
offer 3.25 "${all[@]}" "${tests[@]}"
offer 26.1 mesa-vulkan-drivers/trixie-backports
offer 1.4 "${vulkan[@]/%//forky}" vulkan-validationlayers/forky
offer 2026 libshaderc1/forky glslc/forky spirv-tools/forky spirv-tools-dev/forky
cat >"$T/harms" <<'END'
mesa-vulkan-drivers/trixie-backports Inst libc6 [2.36-9] (2.41-12 Debian:13.1/stable [amd64])
mesa-vulkan-drivers/trixie-backports Remv gdb [13.1-3]
END
cp "$T/installed" "$T/before"
setup 0 --newest --dry-run
says '^setup:   this will change libc6 2\.36-9 to 2\.41-12$'
says '^setup:   this will remove gdb 13\.1-3$'
cmp -s "$T/installed" "$T/before" || fail "a dry run changed something"
setup 0 --newest
[ "$(grep -nE 'this will remove gdb|installing' "$T/out" | head -1 | grep -c gdb)" = 1 ] ||
  fail "what is removed is not said first"
[ "$(grep -c 'this will remove gdb' "$T/out")" = 1 ] || fail "said twice"
grep -qx 'URIs: http://mirror.test/debian/' "$T/private" &&
  grep -qx 'Suites: trixie trixie-backports forky' "$T/private" ||
  fail "not the machine's own mirror: $(cat "$T/private")"
etc_as_it_was
[ "$(cut -d: -f1 "$T/steps" | tr '\n' ' ')" = 'own trixie own ' ] || fail "steps: $(cat "$T/steps")"
says '^setup: installing gcc cmake'
offer 1 clang-19/trixie llvm-19/trixie libclang-rt-19-dev/trixie mlir-19-tools/trixie gcc-aarch64-linux-gnu \
  libc6-dev-arm64-cross qemu-user clang-21/trixie-backports ccache
offer 1.20 libonnx-testdata/forky
offer 3.7 "${peers[@]/%//trixie}" libdnnl-dev/trixie libggml0/trixie-backports libggml0-backend-vulkan/trixie-backports
setup 0 --newest
setup 0 --newest
says '^setup: everything is there already, nothing to install$'

machine debian_13_without_root debian trixie 1000
touch "$root"/bin/{cc,c++,ninja,python3}
printf '#!/usr/bin/env bash\necho cmake version 3.31.6\n' >"$root/bin/cmake"
chmod +x "$root"/bin/{cc,c++,ninja,python3,cmake}
echo 'libc6-dev 2.41' >"$T/installed"
setup 0
says 'not root, so nothing is installed'
says 'missing: libsqlite3-dev; without that tuning results are not kept'
says 'missing: zlib1g-dev; without that compressed .npz files can.t be read'
[ ! -s "$T/steps" ] || fail "installed: $(cat "$T/steps")"

machine dry_run_changes_nothing debian bookworm 0
offer 3.25 "${all[@]}"
setup 0 --peers --dry-run
says 'clang-19  \[checks\]'
silent_about trixie
says '^setup: nothing was changed'
[ ! -s "$T/steps" ] && [ ! -s "$T/updates" ] || fail "something was changed"
etc_as_it_was
setup 2 --nonsense
echo "scripts/setup: 7 machines"
