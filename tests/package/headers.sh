#!/usr/bin/env bash
# Each public header compiles alone, as strict C11 and as C++17, without a warning.
set -u
cxx=$(command -v c++ || command -v g++ || command -v clang++ || true)
bad=0 n=0
for header in "$SOURCE"/include/tessera/*.h; do
  n=$((n + 1))
  include="#include \"tessera/$(basename "$header")\""
  flags=(-I"$SOURCE/include" -Wall -Wextra -Werror -pedantic -fsyntax-only)
  echo "$include" | "$CC" -std=c11 "${flags[@]}" -x c - || { echo "$header: not C11 on its own"; bad=1; }
  [ -z "$cxx" ] || echo "$include" | "$cxx" -std=c++17 "${flags[@]}" -x c++ - ||
    { echo "$header: not C++17 on its own"; bad=1; }
done
echo "$n headers as C11$([ -n "$cxx" ] && echo ' and C++17')"
[ -n "$cxx" ] || { echo "no C++ compiler: C++17 is not tested"; [ $bad = 1 ] || exit 77; }
exit $bad
