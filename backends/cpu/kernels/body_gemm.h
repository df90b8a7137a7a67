/* All gemm kinds that need nothing but vectors, and their table: the whole of gemm_<isa>.c. Included after vec_<isa>.h,
 * with GEMM_F32_MR, GEMM_F32_NV, GEMM_F64_MR and GEMM_F64_NV set. */
#include "body_gemm_pack.h"

#include "body_gemm_float.h"

#include "body_gemm_int.h"

#include "body_gemm_wide.h"

#include "body_gemm_skinny.h"

#define GEMM_STR2(x) #x
#define GEMM_STR(x) GEMM_STR2(x)
#define GEMM_NAME(kind) kind " " GEMM_STR(CPUK_SUFFIX)
#define GEMM_PLAIN(label, p, MR, NR, type, acc, types, inplace, skinny_fn) \
  {                                                                        \
    .name = GEMM_NAME(label), .pack_type = type, .acc_type = acc, .pack_types = types, .a_inplace = inplace, .mr = MR, .nr = NR, \
    .kr = 1, .b_chunk = GEMM_CHUNK(1), .a_panel_bytes = p##_a_panel_bytes, .b_panel_bytes = p##_b_panel_bytes, .pack_a = p##_pack_a, \
    .pack_b = p##_pack_b, .block = p##_block, .skinny = skinny_fn          \
  }
#define GEMM_INT(id, types)                                                                                   \
  {                                                                                                           \
    .name = GEMM_NAME(#id), .pack_type = CPUK_I8, .acc_type = CPUK_I32, .pack_types = types, .a_inplace = -1, \
    .mr = GEMM_F32_MR, .nr = INT_NR, .kr = 2, .b_chunk = GEMM_CHUNK(2), .a_panel_bytes = int_a_panel_bytes, .b_panel_bytes = int_b_panel_bytes, \
    .pack_a = int_pack_a, .pack_b = int_pack_b, .block = int_block, .skinny = CPUK_FN(skinny_##id)            \
  }
const cpuk_gemm CPUK_FN(gemm_f32) = GEMM_PLAIN("f32", f32, GEMM_F32_MR, F32_NR, CPUK_F32, CPUK_F32, FLOAT_TYPES,
                                               CPUK_F32, CPUK_FN(skinny_f32));
const cpuk_gemm CPUK_FN(gemm_bf16) = GEMM_PLAIN("bf16 as f32", f32, GEMM_F32_MR, F32_NR, CPUK_F32, CPUK_F32,
                                                FLOAT_TYPES, -1, CPUK_FN(skinny_bf16));
const cpuk_gemm CPUK_FN(gemm_f16) = GEMM_PLAIN("f16 as f32", f32, GEMM_F32_MR, F32_NR, CPUK_F32, CPUK_F32, FLOAT_TYPES,
                                               -1, CPUK_FN(skinny_f16));
const cpuk_gemm CPUK_FN(gemm_f64) = GEMM_PLAIN("f64", f64, GEMM_F64_MR, F64_NR, CPUK_F64, CPUK_F64,
                                               FLOAT_TYPES | 1u << CPUK_F64 | 1u << CPUK_I32, CPUK_F64,
                                               CPUK_FN(skinny_f64));
const cpuk_gemm CPUK_FN(gemm_f32_kahan) =
    GEMM_PLAIN("f32 in f64", f64, GEMM_F64_MR, F64_NR, CPUK_F64, CPUK_F64, FLOAT_TYPES, -1, NULL);
const cpuk_gemm CPUK_FN(gemm_f64_kahan) = {
    .name = GEMM_NAME("f64 dot2"), .pack_type = CPUK_F64, .acc_type = CPUK_F64, .pack_types = FLOAT_TYPES | 1u << CPUK_F64,
    .a_inplace = CPUK_F64, .mr = GEMM_F64_MR, .nr = F64_NR, .kr = 1, .b_chunk = GEMM_CHUNK(1), .a_panel_bytes = f64_a_panel_bytes,
    .b_panel_bytes = f64_b_panel_bytes, .pack_a = f64_pack_a, .pack_b = f64_pack_b, .block = dot2_block,
};
#define INT_TYPES16 (1u << CPUK_I8 | 1u << CPUK_U8 | 1u << CPUK_I16)
#define INT_TYPES32 (INT_TYPES16 | 1u << CPUK_I32)
const cpuk_gemm CPUK_FN(gemm_s16) = {
    .name = GEMM_NAME("s16"), .pack_type = CPUK_I16, .acc_type = CPUK_I32, .pack_types = INT_TYPES16, .a_inplace = -1, .mr = GEMM_F32_MR,
    .nr = INT_NR, .kr = 2, .b_chunk = GEMM_CHUNK(2), .a_panel_bytes = int_a_panel_bytes, .b_panel_bytes = int_b_panel_bytes, .pack_a = int_pack_a,
    .pack_b = int_pack_b, .block = int_block,
};
const cpuk_gemm CPUK_FN(gemm_s32) = GEMM_PLAIN("s32", s32, WIDE_MR, S32_NR, CPUK_I32, CPUK_I32, INT_TYPES32, CPUK_I32,
                                               NULL);
const cpuk_gemm CPUK_FN(gemm_s64) = GEMM_PLAIN("s64", s64, WIDE_MR, S64_NR, CPUK_I64, CPUK_I64,
                                               INT_TYPES32 | 1u << CPUK_I64, CPUK_I64, NULL);
const cpuk_gemm CPUK_FN(gemm_s8s8) = GEMM_INT(s8s8, 1u << CPUK_I8);
const cpuk_gemm CPUK_FN(gemm_u8s8) = GEMM_INT(u8s8, 1u << CPUK_I8 | 1u << CPUK_U8);
