#!/usr/bin/env bash
# The Vulkan backend builds with headers as old as Ubuntu 24.04's: this machine's, from which the newer extensions that the backend uses are cut
# out, are what it is compiled with here.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
core=$(printf '#include <vulkan/vulkan_core.h>\n' | $CC -E -x c - | sed -n 's/^# 1 "\(.*vulkan_core\.h\)".*/\1/p' | head -1)
[ -n "$core" ] || { echo "no Vulkan headers here"; exit 77; }
mkdir "$dir/vulkan"
# A section ends where the comment of the next extension begins.
sed -E -e '/^#define (VK_NV_cooperative_matrix2|VK_KHR_shader_bfloat16|VK_EXT_shader_float8) 1/,/^\/\/ VK_/d' \
  -e '/^    VK_(STRUCTURE_TYPE_.*(COOPERATIVE_MATRIX_2_|FLEXIBLE_DIMENSIONS_|SHADER_BFLOAT16_|SHADER_FLOAT8_)|COMPONENT_TYPE_(BFLOAT16|FLOAT8|FLOAT_E)).* = /d' "$core" >"$dir/vulkan/vulkan_core.h"
if grep -q 'typedef struct VkPhysicalDeviceShaderFloat8FeaturesEXT\|VK_COMPONENT_TYPE_BFLOAT16_KHR = ' "$dir/vulkan/vulkan_core.h"; then
  echo "the newer extensions were not cut out of $core"
  exit 1
fi
cp "$(dirname "$core")"/{vulkan.h,vk_platform.h} "$dir/vulkan/"
n=0
for file in "$SOURCE"/backends/vulkan/*.c; do
  [ "$(basename "$file")" != volk.c ] || continue
  $CC -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -fsyntax-only -DTSR_BUILD -I"$dir" -I"$SOURCE" -I"$SOURCE/include" "$file"
  n=$((n + 1))
done
echo "$n files of backends/vulkan compile with the older headers"
