/* core/passes/simt/simd.h - subgroups that are SIMD registers of a CPU. */
#ifndef CORE_PASSES_SIMT_SIMD_H
#define CORE_PASSES_SIMT_SIMD_H
#include "core/passes/simt/state.h"

enum { SIMT_LANE_N_WORD = 4 };    /* bytes that a lane reads at once on the path lane_n */
bool simt_is_simd(const simt *c); /* a subgroup is a SIMD register of a CPU */
ir_value *simt_simd_load(simt *c, const simt_mem *m, ir_value *index, const ir_type *type,
                         int n); /* NULL: an ordinary load will do */

#endif
