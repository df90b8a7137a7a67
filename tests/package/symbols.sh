#!/usr/bin/env bash
# The shared library exports the whole public interface and nothing else, has a versioned soname, and needs no vendor's
# library.
set -eu
foreign=$(nm -D --defined-only "$LIBRARY" | awk '{ print $3 }' | grep -v '^tsr_' || true)
[ -z "$foreign" ] || { echo "exported without the tsr_ prefix:"; echo "$foreign"; exit 1; }
missing=$(comm -23 <(grep -ohE '\btsr_[a-z0-9_]+\(' "$SOURCE"/include/tessera/*.h | tr -d '(' |
  sort -u) <(nm -D --defined-only "$LIBRARY" | awk '{ print $3 }' | sort -u))
[ -z "$missing" ] || { echo "declared but not there:"; echo "$missing"; exit 1; }
dynamic=$(readelf -d "$LIBRARY")
grep -q 'SONAME.*libtessera\.so\.[0-9]' <<<"$dynamic" || { echo "no versioned soname"; exit 1; }
needed=$(sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' <<<"$dynamic")
foreign=$(grep -Ev '^(libc|libm|libdl|libpthread|libsqlite3|libz|ld-linux.*)\.so' <<<"$needed" || true)
[ -z "$foreign" ] || { echo "linked against $foreign"; exit 1; }
echo "$(nm -D --defined-only "$LIBRARY" | wc -l) symbols, needs" $needed
