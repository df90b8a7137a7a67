/* Vectors for AArch64's Advanced SIMD: 16 bytes. */
#ifndef BACKENDS_CPU_KERNELS_VEC_NEON_H
#define BACKENDS_CPU_KERNELS_VEC_NEON_H

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#define VF 4
typedef float neon_vf __attribute__((vector_size(16)));
typedef double neon_vd __attribute__((vector_size(16)));
typedef int32_t neon_vi __attribute__((vector_size(16)));
typedef uint16_t neon_vh __attribute__((vector_size(8)));
#define NEON_INL static inline __attribute__((always_inline))

#define v_fma v_fma
NEON_INL neon_vf v_fma(neon_vf a, neon_vf b, neon_vf c) {
  return (neon_vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
NEON_INL neon_vf v_fnma(neon_vf a, neon_vf b, neon_vf c) {
  return (neon_vf)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
NEON_INL neon_vd vd_fma(neon_vd a, neon_vd b, neon_vd c) {
  return (neon_vd)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#define v_max_raw v_max_raw
NEON_INL neon_vf v_max_raw(neon_vf a, neon_vf b) { return (neon_vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
NEON_INL neon_vf v_min_raw(neon_vf a, neon_vf b) { return (neon_vf)vminq_f32((float32x4_t)a, (float32x4_t)b); }
#define v_max v_max /* fmax and fmin propagate NaN */
NEON_INL neon_vf v_max(neon_vf a, neon_vf b) { return v_max_raw(a, b); }
NEON_INL neon_vf v_min(neon_vf a, neon_vf b) { return v_min_raw(a, b); }
#define v_sqrt v_sqrt
NEON_INL neon_vf v_sqrt(neon_vf a) { return (neon_vf)vsqrtq_f32((float32x4_t)a); }
#define v_rint v_rint
NEON_INL neon_vf v_rint(neon_vf a) { return (neon_vf)vrndnq_f32((float32x4_t)a); }
#define v_floor v_floor
NEON_INL neon_vf v_floor(neon_vf a) { return (neon_vf)vrndmq_f32((float32x4_t)a); }
#define v_to_int v_to_int
NEON_INL neon_vi v_to_int(neon_vf a) { return (neon_vi)vcvtnq_s32_f32((float32x4_t)a); }
#define v_sel v_sel
NEON_INL neon_vf v_sel(neon_vi m, neon_vf a, neon_vf b) {
  return (neon_vf)vbslq_f32((uint32x4_t)m, (float32x4_t)a, (float32x4_t)b);
}
#define vm_any vm_any
NEON_INL int vm_any(neon_vi m) { return vmaxvq_u32((uint32x4_t)m) != 0; }
#define v_from_f16 v_from_f16
NEON_INL neon_vf v_from_f16(neon_vh h) { return (neon_vf)vcvt_f32_f16((float16x4_t)h); }
NEON_INL neon_vh v_to_f16(neon_vf a) { return (neon_vh)vcvt_f16_f32((float32x4_t)a); }

#include "vec.h"

#endif
