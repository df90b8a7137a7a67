#!/usr/bin/env bash
# The Vulkan backend and its tests build with headers as old as Debian 12's: this machine's, from which the newer
# extensions that they use are cut out, are what they are compiled with here.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
core=$(printf '#include <vulkan/vulkan_core.h>\n' | $CC -E -x c - | sed -n 's/^# 1 "\(.*vulkan_core\.h\)".*/\1/p' |
  head -1)
[ -n "$core" ] || { echo "no Vulkan headers here"; exit 77; }
mkdir "$dir/vulkan"
# A section begins with the comment "// VK_...", in old headers with the define of its name; one goes that declares what
# vk_newer.h has of its own, or that is built upon it.
newer='VkComponentTypeKHR|VkScopeKHR|VkLayerSetting|VkCooperativeMatrix|VkPhysicalDeviceCooperativeMatrix'
newer+='|VkPhysicalDeviceShader(Bfloat16|Float8|CoreBuiltins)|Maintenance5FeaturesKHR'
newer+='|PipelineBinar|PipelineCreateFlags2CreateInfoKHR'
numbers='COOPERATIVE_MATRIX_|SHADER_CORE_BUILTINS_|FLEXIBLE_DIMENSIONS_|SHADER_BFLOAT16_|SHADER_FLOAT8_|LAYER_SETTINGS_'
numbers+='|PIPELINE_BINARY_|MAINTENANCE_5_|CREATE_FLAGS_2_|RELEASE_CAPTURED_|TYPE_PIPELINE_CREATE_INFO_KHR'
awk -v newer="$newer" \
  '/^\/\/ VK_/ || (/^#define VK_([A-Z0-9]+_[a-z0-9_]+|VERSION_[0-9_]+) 1$/ && lines != 1) {
     if (!cut) printf "%s", part
     part = ""; cut = 0; lines = 0
   }
   { part = part $0 "\n"; lines++ } $0 ~ newer { cut = 1 }
   END { printf "%s", part }' "$core" |
  sed -E "/^    VK_STRUCTURE_TYPE_.*($numbers).* = /d" >"$dir/vulkan/vulkan_core.h"
for name in $(sed -n 's/^#ifndef \(VK_[A-Za-z0-9_]*\).*/\1/p' "$SOURCE/backends/vulkan/vk_newer.h") \
  VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT VkScopeKHR; do
  if grep -q "\b$name\b" "$dir/vulkan/vulkan_core.h"; then
    echo "$name was not cut out of $core"
    exit 1
  fi
done
cp "$(dirname "$core")"/{vulkan.h,vk_platform.h} "$dir/vulkan/"
n=0
for file in "$SOURCE"/backends/vulkan/*.c $(grep -lE '<(volk|vulkan/vulkan)\.h>' "$SOURCE"/tests/*/*.c \
  "$SOURCE"/examples/*.c); do
  [ "$(basename "$file")" != volk.c ] || continue
  $CC -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Werror -fsyntax-only \
    -DTSR_BUILD -DTSR_SOURCE_DIR='""' -I"$dir" -I"$SOURCE" -I"$SOURCE/include" -I"$BUILD/generated" "$file"
  n=$((n + 1))
done
echo "$n files that use Vulkan compile with the older headers"
