/* core/emit/spirv/caps.h - recorded capabilities of Vulkan devices that are not here, as JSON:
 *   {"device": "...",
 *    "sources": [{"what": "vulkan, cores", "from": "where these are from", "date": "2026-11-25"}, ...],
 *    "vulkan": "1.3", "subgroup": 32, "subgroup_min": 32, "subgroup_max": 32,
 *    "threads": 1024, "shared_bytes": 49152, "shared_banks": 32, "cores": 128, "vector_bytes": 16,
 *    "features": ["f16", ...], "nv2": ["workgroup", ...], "nv2_max_dim": 1024, "nv2_shared_bytes": 16384,
 *    "matrix": [{"m": 16, "n": 16, "k": 16, "ab": "f16", "c": "f32", "scope": "subgroup"}, ...]}
 * Rows of scope "workgroup" carry "threads"; their m, n and k are granularities. cores 0, or none: unknown. date: when
 * the figures were written down. tests/vulkan has the files, each of whose figures has a source. */
#ifndef CORE_EMIT_SPIRV_CAPS_H
#define CORE_EMIT_SPIRV_CAPS_H
#include "core/base/status.h"
#include "core/device/caps.h"

/* TSR_PARSE_ERROR says what is wrong and where. `file` is for messages. */
TSR_MUST_USE tsr_status spirv_caps_parse(const tsr_allocator *al, const char *text, size_t n, const char *file,
                                         tsr_caps *out);
/* TSR_NOT_FOUND if the file can't be read. */
TSR_MUST_USE tsr_status spirv_caps_read(const tsr_allocator *al, const char *path, tsr_caps *out);

#endif
