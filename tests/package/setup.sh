#!/usr/bin/env bash
# scripts/setup on machines that this one is not: Debian 12 and Ubuntu with their archives in reach, out of reach, and without root. apt-get, dpkg-query and
# id are stand-ins which read what the archive has (`available`: the package as apt takes it, version) and keep what is there (`installed`).
set -eu
command -v dpkg >/dev/null || { echo "no dpkg here to compare versions with"; exit 77; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
export TMPDIR=$root

mkdir "$root/bin"
for tool in bash env dirname sed awk grep sort uniq tr mktemp rm head tail cat dpkg; do ln -s "$(command -v $tool)" "$root/bin/$tool"; done
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
    -o | --format) shift ;;
    -t) default=$2; shift ;;
    -s) simulate=yes ;;
    -y | --no-install-recommends) ;;
    update | install | indextargets) command=$1 ;;
    *) names+=("$1") ;;
  esac
  shift
done
case $command in
  indextargets) cat "$T/archives"; exit ;;
  update) [ -s "$T/available" ] && exit; echo "E: Failed to fetch"; exit 100 ;;
esac
for name in "${names[@]}"; do
  version=$(awk -v n="$name" '$1 == n { print $2 }' "$T/available")
  [ -n "$version" ] || { echo "E: Unable to locate package $name"; exit 100; }
  grep -qxF "${name%%/*} $version" "$T/installed" || new+=("${name%%/*} $version")
done
if [ $simulate = yes ]; then
  for name in "${new[@]}"; do echo "Inst $name"; done
else
  echo "${default:-own}: ${names[*]}" >>"$T/steps"
  for name in "${new[@]}"; do echo "$name" >>"$T/installed"; done
fi
END
chmod +x "$root"/bin/{dpkg-query,id,apt-get}

fail() { echo "$name: $*"; cat "$T/out"; exit 1; }
machine() {  # name ID CODENAME uid: a new one, with nothing on it
  name=$1
  export T=$root/$1 TSR_SETUP_ETC=$root/$1/etc
  mkdir -p "$T/etc/apt/sources.list.d" "$T/etc/apt/preferences.d"
  printf 'ID=%s\nVERSION_CODENAME=%s\n' "$2" "$3" >"$T/etc/os-release"
  echo "$4" >"$T/uid"
  : >"$T/installed" && : >"$T/available" && : >"$T/steps"
  echo "http://mirror.test/$2/ $3 " >"$T/archives"
}
setup() {  # expected status, options
  local expected=$1 status=0
  shift
  PATH=$root/bin bash "$SOURCE/scripts/setup" "$@" >"$T/out" 2>&1 || status=$?
  [ $status = "$expected" ] || fail "exit status $status instead of $expected"
}
says() { grep -qE -- "$1" "$T/out" || fail "does not say: $1"; }
offer() { for package in "${@:2}"; do echo "$package $1" >>"$T/available"; done; }
base=(gcc cmake libc6-dev ninja-build pkg-config libsqlite3-dev libcmocka-dev python3 g++)
vulkan=(libvulkan1 libvulkan-dev libvulkan-volk-dev vulkan-validationlayers)
shaders=(libshaderc1 libshaderc-dev glslc glslang-dev spirv-headers spirv-tools)

machine ubuntu_old_packages_taken_once ubuntu noble 0
offer 3.28 "${base[@]}"
offer 1.3.275 vulkan-tools "${vulkan[@]}"
offer 24.2 mesa-vulkan-drivers
offer 2023.8 "${shaders[@]}"
touch "$root/bin/make" && chmod +x "$root/bin/make"
setup 0
says '^setup: to install, where apt has it \(ubuntu noble\):$'
says '^setup: older than wanted: mesa-vulkan-drivers 24\.2 vulkan-tools 1\.3\.275 .*Vulkan backend'
[ "$(wc -l <"$T/installed")" = 21 ] || fail "not everything was installed: $(cat "$T/installed")"
[ -z "$(ls "$TSR_SETUP_ETC/apt/sources.list.d")" ] || fail "Debian's suites were added to Ubuntu"
: >"$T/steps"
setup 0
[ ! -s "$T/steps" ] || fail "the second run installed: $(cat "$T/steps")"
says 'nothing newer'

machine ubuntu_one_package_unknown ubuntu noble 0
offer 3.28 "${base[@]}"
setup 0
says "apt can't install libvulkan1: E: Unable to locate package libvulkan1"
says '^setup: missing: .*libvulkan1 .*Vulkan backend'
grep -qx 'gcc 3.28' "$T/installed" || fail "what can be had was not installed"

machine ubuntu_out_of_reach ubuntu noble 0
setup 1
says 'apt-get update failed, see .*: E: Failed to fetch'
says "missing: gcc cmake libc6-dev; without that the library can't be built"
[ ! -s "$T/installed" ] || fail "installed: $(cat "$T/installed")"

machine debian_12 debian bookworm 0
offer 3.25 "${base[@]}"
offer 26.1 mesa-vulkan-drivers/trixie-backports
offer 1.4 vulkan-tools/trixie "${vulkan[@]/%//forky}"
offer 2026 "${shaders[@]/%//forky}"
setup 0
says 'adding to apt, pinned low: trixie trixie-backports forky'
grep -qx 'URIs: http://mirror.test/debian/' "$TSR_SETUP_ETC/apt/sources.list.d/tessera.sources" || fail "not the machine's own mirror"
[ "$(grep -c '^Pin-Priority: [45][05]$' "$TSR_SETUP_ETC/apt/preferences.d/tessera")" = 3 ] || fail "not pinned low: $(cat "$TSR_SETUP_ETC/apt/preferences.d/tessera")"
[ "$(cut -d: -f1 "$T/steps" | tr '\n' ' ')" = 'own trixie own ' ] || fail "steps: $(cat "$T/steps")"
says '^setup: installing gcc cmake'
setup 0
says '^setup: everything is there already, nothing to install$'

machine debian_13_without_root debian trixie 1000
touch "$root"/bin/{cc,c++,ninja,python3}
printf '#!/usr/bin/env bash\necho cmake version 3.31.6\n' >"$root/bin/cmake"
chmod +x "$root"/bin/{cc,c++,ninja,python3,cmake}
echo 'libc6-dev 2.41' >"$T/installed"
setup 0
says 'not root, so nothing is installed'
says 'missing: libsqlite3-dev; without that tuning results are not kept'
[ ! -s "$T/steps" ] || fail "installed: $(cat "$T/steps")"

machine dry_run_changes_nothing debian bookworm 0
offer 3.25 "${base[@]}"
setup 0 --peers --dry-run
says 'suites that would be added to apt, pinned low: trixie trixie-backports forky'
says 'clang-19/trixie  \[checks\]'
[ ! -s "$T/steps" ] && [ -z "$(ls "$TSR_SETUP_ETC/apt/sources.list.d")" ] || fail "something was changed"
setup 2 --nonsense
echo "scripts/setup: 6 machines"
