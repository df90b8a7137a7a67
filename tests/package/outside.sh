#!/usr/bin/env bash
# outside.sh cmake|pkg_config|pkg_config_static - installs into a fresh prefix, moves it, and builds and runs
# tests/package/outside against it the way an application would.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$CMAKE" --install "$BUILD" --prefix "$dir/installed" >/dev/null
mv "$dir/installed" "$dir/prefix"
libdir=$(dirname "$(find "$dir/prefix" -name libtessera.a)")
source=$SOURCE/tests/package/outside

case $1 in
  cmake)
    "$CMAKE" -S "$source" -B "$dir/build" -G "$GENERATOR" -DCMAKE_PREFIX_PATH="$dir/prefix" -DCMAKE_C_COMPILER="$CC" \
      >"$dir/log" || { cat "$dir/log"; exit 1; }
    "$CMAKE" --build "$dir/build" >"$dir/log" || { cat "$dir/log"; exit 1; }
    "$dir/build/outside_shared"
    "$dir/build/outside_static"
    ;;
  pkg_config | pkg_config_static)
    command -v pkg-config >/dev/null || { echo "no pkg-config"; exit 77; }
    export PKG_CONFIG_PATH=$libdir/pkgconfig
    read -r -a cflags <<<"$(pkg-config --cflags tessera)"
    if [ "$1" = pkg_config ]; then
      read -r -a libs <<<"$(pkg-config --libs tessera)"
    else
      rm "$libdir"/libtessera.so*
      read -r -a libs <<<"$(pkg-config --static --libs tessera)"
    fi
    "$CC" -std=c11 -Wall -Wextra -Werror "$source/main.c" "${cflags[@]}" "${libs[@]}" -o "$dir/outside"
    LD_LIBRARY_PATH=$libdir "$dir/outside"
    ;;
  *) exit 2 ;;
esac
