/* The parameters of body_gemm_tile.h for vpdpbusd; set G_FN, and G_COMP where the panel carries a compensation. */
#define G_ELT int32_t
#define G_PACKED int8_t
#define G_ACC int32_t
#define G_VEC vi
#define G_LANES VF
#define G_MR 12
#define G_NV 2
#define G_BCAST(p) vnni_bcast(p)
#define G_LOADB(p) vi_load(p)
#define G_MADD(acc, a, b) (vi) _mm512_dpbusd_epi32((__m512i)(acc), (__m512i)(a), (__m512i)(b))
#define G_LOADC(p) vi_load(p)
#define G_LOADC_N(p, n) vnni_load_n(p, n)
#define G_STOREC(p, v) vi_store(p, v)
#define G_STOREC_N(p, v, n) vnni_store_n(p, v, n)
#define G_ZERO vi_set1(0)
#include "body_gemm_tile.h"
