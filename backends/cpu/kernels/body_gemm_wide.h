/* The integer kinds that no dot product instruction multiplies exactly: operands converted to 32 or 64 bits while they
 * are packed, sums that wrap. Included after vec_<isa>.h and body_gemm_int.h. */

/* At most six rows of two vectors: products that no common program multiplies aren't worth the code of the float kinds'
 * twelve rows. */
#define WIDE_MR (GEMM_F32_MR < 6 ? GEMM_F32_MR : 6)
#define S32_NR (GEMM_F32_NV * VF)
static size_t s32_a_panel_bytes(size_t k) { return WIDE_MR * gemm_row_bytes(k * 4); }
static size_t s32_b_panel_bytes(size_t k) { return (k * S32_NR * 4 + 63) / 64 * 64; }
static void s32_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_I32, 1); }
static void s32_pack_b(const cpuk_pack_args *p) { pack_b_plain(p, CPUK_I32, S32_NR, s32_b_panel_bytes(p->rows)); }
VINL vi s32_bcast(const char *p) {
  int32_t x;
  memcpy(&x, p, sizeof x);
  return vi_set1(x);
}
VINL vi s32_madd(vi acc, vi a, vi b) { return (vi)((vu)acc + (vu)a * (vu)b); } /* unsigned: sums wrap */
#define G_FN(name) s32_##name
#define G_ELT int32_t
#define G_PACKED int32_t
#define G_ACC int32_t
#define G_VEC vi
#define G_LANES VF
#define G_MR WIDE_MR
#define G_NV GEMM_F32_NV
#define G_BCAST(p) s32_bcast(p)
#define G_LOADB(p) vi_load(p)
#define G_MADD(acc, a, b) s32_madd(acc, a, b)
#define G_LOADC(p) vi_load(p)
#define G_LOADC_N(p, n) vi_load_n(p, n)
#define G_STOREC(p, v) vi_store(p, v)
#define G_STOREC_N(p, v, n) vi_store_n(p, v, n)
#define G_ZERO vi_set1(0)
#include "body_gemm_tile.h"

#define S64_NR (GEMM_F64_NV * VD)
typedef uint64_t vul __attribute__((vector_size(VF * 4)));
typedef int64_t vl_u __attribute__((vector_size(VF * 4), aligned(8), may_alias));
static size_t s64_a_panel_bytes(size_t k) { return WIDE_MR * gemm_row_bytes(k * 8); }
static size_t s64_b_panel_bytes(size_t k) { return (k * S64_NR * 8 + 63) / 64 * 64; }
static void s64_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_I64, 1); }
static void s64_pack_b(const cpuk_pack_args *p) { pack_b_plain(p, CPUK_I64, S64_NR, s64_b_panel_bytes(p->rows)); }
VINL vl s64_bcast(const char *p) {
  int64_t x;
  memcpy(&x, p, sizeof x);
  return x + (vl){0};
}
VINL vl s64_madd(vl acc, vl a, vl b) { return (vl)((vul)acc + (vul)a * (vul)b); }
VINL vl s64_load(const int64_t *p) { return *(const vl_u *)p; }
VINL void s64_store(int64_t *p, vl v) { *(vl_u *)p = v; }
VINL vl s64_load_n(const int64_t *p, size_t n) {
  int64_t t[VD] = {0};
  memcpy(t, p, n * sizeof *t);
  return s64_load(t);
}
VINL void s64_store_n(int64_t *p, vl v, size_t n) {
  int64_t t[VD];
  s64_store(t, v);
  memcpy(p, t, n * sizeof *t);
}
#define G_FN(name) s64_##name
#define G_ELT int64_t
#define G_PACKED int64_t
#define G_ACC int64_t
#define G_VEC vl
#define G_LANES VD
#define G_MR WIDE_MR
#define G_NV GEMM_F64_NV
#define G_BCAST(p) s64_bcast(p)
#define G_LOADB(p) s64_load(p)
#define G_MADD(acc, a, b) s64_madd(acc, a, b)
#define G_LOADC(p) s64_load(p)
#define G_LOADC_N(p, n) s64_load_n(p, n)
#define G_STOREC(p, v) s64_store(p, v)
#define G_STOREC_N(p, v, n) s64_store_n(p, v, n)
#define G_ZERO ((vl){0})
#include "body_gemm_tile.h"
