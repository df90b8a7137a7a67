/* core/passes/simt/matrix/fnuz.h - fp8 in gfx942's encoding. */
#ifndef CORE_PASSES_SIMT_MATRIX_FNUZ_H
#define CORE_PASSES_SIMT_MATRIX_FNUZ_H
#include "core/device/caps.h"
#include "core/passes/target/build.h"

/* gfx942: are elements of this type read as FNUZ, and four of them (an i32 word) from OCP bits to those: a product of
 * two is to be scaled by 4. */
bool simt_is_fnuz(const tsr_caps *caps, tsr_dtype d);
ir_value *simt_fnuz_word(tgb *t, ir_value *x, tsr_dtype d);

#endif
