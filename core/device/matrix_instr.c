/* core/device/matrix_instr.c - see device/matrix_instr.h. Sources: PTX ISA ("Matrix Fragments for mma.m16n8k16" and its
 * neighbours, "Register Fragments for wgmma.mma_async.m64nNk16"); AMD's matrix instruction calculator and ISA manuals
 * for the lane maps, LLVM's BuiltinsAMDGPU.def for the builtins.
 *
 * Rates, dense, sums in f32: the vendors' data sheets by cores and clock, which test_arch compares. A100, RTX 3090
 * (GA102 white paper: sums in f32 run at half the rate of the A40's, which has the same cores), L40S, H100 (SXM), RTX
 * 5090 (Blackwell white paper). sm_90a's mma.sync has the tensor core's rate here, of which it reaches a part. sm_100's
 * is that of mma.sync as core/device/arch.c has it, in the proportions of sm_80. fp8 products of sm_90a's and sm_100's
 * mma.sync are made of f16's. AMD: the CDNA 2, 3 and 4 white papers' operations per clock and CU; of gfx950 the shapes
 * that gfx942 has too run at half the rate of the deeper ones. RDNA: GPUOpen's articles on WMMA of RDNA 3 and 4. */
#include "core/device/matrix_instr.h"

#include <string.h>

/* Of a, b and c. */
static const lane_map of_mma[] = {{{1, LANE_WORD}, {8, 4}, 0, false}, {{1, LANE_WORD}, {8, 4}, 0, false}, {{1, 2}, {8, 4}, 0, false}};
static const lane_map of_wgmma[] = {{{1, LANE_WORD}, {8, 4}, 4, false}, {{0, 0}, {0, 0}, 0, false}, {{1, 2}, {8, 4}, 4, false}};
static const lane_map of_mfma16[] = {{{1, LANE_REST}, {16, 4}, 0, true}, {{1, LANE_REST}, {16, 4}, 0, true}, {{4, 1}, {4, 16}, 0, false}};
static const lane_map of_mfma16_f64[] = {{{1, LANE_REST}, {16, 4}, 0, true}, {{1, LANE_REST}, {16, 4}, 0, true}, {{1, 1}, {4, 16}, 0, false}};
static const lane_map of_mfma32[] = {{{1, LANE_REST}, {32, 2}, 0, true}, {{1, LANE_REST}, {32, 2}, 0, true}, {{4, 1}, {2, 32}, 0, false}};
/* gfx11: lanes 16 to 31 repeat the operands of 0 to 15. gfx12, 16-bit types: two runs of four along k. */
static const lane_map of_wmma11[] = {{{1, LANE_REST}, {16, 1}, 0, true}, {{1, LANE_REST}, {16, 1}, 0, true}, {{1, 1}, {2, 16}, 0, false}};
static const lane_map of_wmma12[] = {{{1, 4}, {16, 2}, 0, true}, {{1, 4}, {16, 2}, 0, true}, {{8, 1}, {2, 16}, 0, false}};
static const lane_map of_wmma12_8[] = {{{1, LANE_REST}, {16, 2}, 0, true}, {{1, LANE_REST}, {16, 2}, 0, true}, {{8, 1}, {2, 16}, 0, false}};

#define V(t, n) t " __attribute__((ext_vector_type(" #n ")))"
#define F4 V("float", 4)
#define F8 V("float", 8)
#define F16X V("float", 16)
/* sm_80, sm_86, sm_89, sm_90a, sm_100, sm_120; then those from sm_89 on; gfx90a, gfx942, gfx950. */
#define SM80_16 {2048, 512, 1024, 4096, 2048, 512}
#define SM80_TF32 {1024, 256, 512, 2048, 1024, 256}
#define SM80_I8 {4096, 2048, 2048, 8192, 4096, 2048}
#define SM89_F8 {2048, 4096, 2048, 1024}
#define CDNA_16 {1024, 2048, 2048}
#define CDNA_F32 {256, 256, 256}
#define CDNA_F64 {256, 256, 128}
#define CDNA3_8 {4096, 4096}
#define ONE(rate) {rate}
#define SM80 "sm_80 sm_86 sm_89 sm_90a sm_100 sm_120 "
#define SM89 "sm_89 sm_90a sm_100 sm_120 "
#define CDNA "gfx90a gfx942 gfx950 "
#define CDNA3 "gfx942 gfx950 "
#define WG(n0, n1, n2, k, a, c, rate) \
  {MATRIX_WGMMA, 64, {n0, n1, n2}, k, a, a, c, 32, "sm_90a ", NULL, of_wgmma, NULL, NULL, NULL, {rate}}
#define MM(k, a, b, c, archs, offered, ...) \
  {MATRIX_MMA, 16, {8}, k, a, b, c, 32, archs, offered, of_mma, NULL, NULL, NULL, __VA_ARGS__}
#define MF(s, k, a, b, c, archs, offered, map, name, op, acc, ...) \
  {MATRIX_MFMA, s, {s}, k, a, b, c, 64, archs, offered, map, name, op, acc, __VA_ARGS__, ", 0, 0, 0"}
#define WM(a, c, archs, map, name, op, acc, rate) \
  {MATRIX_WMMA, 16, {16}, 16, a, a, c, 32, archs, NULL, map, name, op, acc, {rate}, NULL, (a) == TSR_I8}

/* In the order in which architectures list them; of shapes that suit a product alike the first counts. */
static const matrix_instr rows[] = {
    /* fp8 has two sets of sums (wgmma_holds) */
    WG(256, 128, 64, 16, TSR_BF16, TSR_F32, 4096),
    WG(256, 128, 64, 16, TSR_F16, TSR_F32, 4096),
    WG(256, 128, 64, 8, TSR_TF32, TSR_F32, 2048),
    WG(192, 128, 64, 32, TSR_F8E4M3, TSR_F32, 8192),
    WG(192, 128, 64, 32, TSR_F8E5M2, TSR_F32, 8192),
    WG(256, 128, 64, 32, TSR_I8, TSR_I32, 8192),
    MM(16, TSR_BF16, TSR_BF16, TSR_F32, SM80, NULL, SM80_16),
    MM(16, TSR_F16, TSR_F16, TSR_F32, SM80, NULL, SM80_16),
    MM(8, TSR_TF32, TSR_TF32, TSR_F32, SM80, NULL, SM80_TF32),
    MM(32, TSR_I8, TSR_I8, TSR_I32, SM80, NULL, SM80_I8),
    MM(32, TSR_U8, TSR_U8, TSR_I32, SM80, NULL, SM80_I8),
    MM(32, TSR_F8E4M3, TSR_F8E4M3, TSR_F32, SM89, NULL, SM89_F8),
    MM(32, TSR_F8E5M2, TSR_F8E5M2, TSR_F32, SM89, NULL, SM89_F8),
    MM(32, TSR_F8E4M3, TSR_F8E5M2, TSR_F32, SM89, "", SM89_F8),
    MM(32, TSR_F8E5M2, TSR_F8E4M3, TSR_F32, SM89, "", SM89_F8),
    MF(16, 16, TSR_BF16, TSR_BF16, TSR_F32, CDNA, "gfx90a gfx942 ", of_mfma16, "f32_16x16x16bf16_1k", V("short", 4), F4, CDNA_16),
    MF(16, 32, TSR_BF16, TSR_BF16, TSR_F32, "gfx950 ", NULL, of_mfma16, "f32_16x16x32_bf16", V("__bf16", 8), F4, ONE(4096)),
    MF(16, 16, TSR_F16, TSR_F16, TSR_F32, CDNA, "gfx90a gfx942 ", of_mfma16, "f32_16x16x16f16", V("_Float16", 4), F4, CDNA_16),
    MF(16, 32, TSR_F16, TSR_F16, TSR_F32, "gfx950 ", NULL, of_mfma16, "f32_16x16x32_f16", V("_Float16", 8), F4, ONE(4096)),
    MF(32, 8, TSR_BF16, TSR_BF16, TSR_F32, CDNA, "gfx90a gfx942 ", of_mfma32, "f32_32x32x8bf16_1k", V("short", 4), F16X, CDNA_16),
    MF(32, 16, TSR_BF16, TSR_BF16, TSR_F32, "gfx950 ", NULL, of_mfma32, "f32_32x32x16_bf16", V("__bf16", 8), F16X, ONE(4096)),
    MF(32, 8, TSR_F16, TSR_F16, TSR_F32, CDNA, "gfx90a gfx942 ", of_mfma32, "f32_32x32x8f16", V("_Float16", 4), F16X, CDNA_16),
    MF(32, 16, TSR_F16, TSR_F16, TSR_F32, "gfx950 ", NULL, of_mfma32, "f32_32x32x16_f16", V("_Float16", 8), F16X, ONE(4096)),
    MF(16, 4, TSR_F32, TSR_F32, TSR_F32, CDNA, NULL, of_mfma16, "f32_16x16x4f32", "float", F4, CDNA_F32),
    MF(32, 2, TSR_F32, TSR_F32, TSR_F32, CDNA, "", of_mfma32, "f32_32x32x2f32", "float", F16X, CDNA_F32),
    MF(16, 4, TSR_F64, TSR_F64, TSR_F64, CDNA, NULL, of_mfma16_f64, "f64_16x16x4f64", "double", V("double", 4), CDNA_F64),
    MF(16, 8, TSR_TF32, TSR_TF32, TSR_F32, "gfx942 ", NULL, of_mfma16, "f32_16x16x8_xf32", V("float", 2), F4, ONE(1024)),
    MF(16, 16, TSR_I8, TSR_I8, TSR_I32, "gfx90a ", NULL, of_mfma16, "i32_16x16x16i8", "int", V("int", 4), ONE(1024)),
    MF(16, 32, TSR_I8, TSR_I8, TSR_I32, CDNA3, NULL, of_mfma16, "i32_16x16x32_i8", "long", V("int", 4), CDNA3_8),
    MF(32, 16, TSR_I8, TSR_I8, TSR_I32, CDNA3, "", of_mfma32, "i32_32x32x16_i8", "long", V("int", 16), CDNA3_8),
    MF(16, 32, TSR_F8E4M3, TSR_F8E4M3, TSR_F32, CDNA3, NULL, of_mfma16, "f32_16x16x32_fp8_fp8", "long", F4, CDNA3_8),
    MF(16, 32, TSR_F8E5M2, TSR_F8E5M2, TSR_F32, CDNA3, NULL, of_mfma16, "f32_16x16x32_bf8_bf8", "long", F4, CDNA3_8),
    MF(16, 32, TSR_F8E4M3, TSR_F8E5M2, TSR_F32, CDNA3, "", of_mfma16, "f32_16x16x32_fp8_bf8", "long", F4, CDNA3_8),
    MF(16, 32, TSR_F8E5M2, TSR_F8E4M3, TSR_F32, CDNA3, "", of_mfma16, "f32_16x16x32_bf8_fp8", "long", F4, CDNA3_8),
    MF(32, 16, TSR_F8E4M3, TSR_F8E4M3, TSR_F32, CDNA3, "", of_mfma32, "f32_32x32x16_fp8_fp8", "long", F16X, CDNA3_8),
    /* at twice the rate of those above; the map of f8f6f4 is right for products without scales, where any order of k
     * will do */
    MF(16, 64, TSR_I8, TSR_I8, TSR_I32, "gfx950 ", NULL, of_mfma16, "i32_16x16x64_i8", V("int", 4), V("int", 4), ONE(8192)),
    MF(16, 128, TSR_F8E4M3, TSR_F8E4M3, TSR_F32, "gfx950 ", NULL, of_mfma16, "scale_f32_16x16x128_f8f6f4", V("int", 8), F4, ONE(8192)),
    MF(16, 128, TSR_F8E5M2, TSR_F8E5M2, TSR_F32, "gfx950 ", NULL, of_mfma16, "scale_f32_16x16x128_f8f6f4", V("int", 8), F4, ONE(8192)),
    MF(16, 128, TSR_F8E4M3, TSR_F8E5M2, TSR_F32, "gfx950 ", "", of_mfma16, "scale_f32_16x16x128_f8f6f4", V("int", 8), F4, ONE(8192)),
    MF(16, 128, TSR_F8E5M2, TSR_F8E4M3, TSR_F32, "gfx950 ", "", of_mfma16, "scale_f32_16x16x128_f8f6f4", V("int", 8), F4, ONE(8192)),
    WM(TSR_BF16, TSR_F32, "gfx11 ", of_wmma11, "f32_16x16x16_bf16_w32", V("short", 16), F8, 512),
    WM(TSR_F16, TSR_F32, "gfx11 ", of_wmma11, "f32_16x16x16_f16_w32", V("_Float16", 16), F8, 512),
    WM(TSR_I8, TSR_I32, "gfx11 ", of_wmma11, "i32_16x16x16_iu8_w32", V("int", 4), V("int", 8), 512),
    WM(TSR_BF16, TSR_F32, "gfx12 ", of_wmma12, "f32_16x16x16_bf16_w32_gfx12", V("short", 8), F8, 1024),
    WM(TSR_F16, TSR_F32, "gfx12 ", of_wmma12, "f32_16x16x16_f16_w32_gfx12", V("_Float16", 8), F8, 1024),
    WM(TSR_I8, TSR_I32, "gfx12 ", of_wmma12_8, "i32_16x16x16_iu8_w32_gfx12", V("int", 2), V("int", 8), 2048),
    WM(TSR_F8E4M3, TSR_F32, "gfx12 ", of_wmma12_8, "f32_16x16x16_fp8_fp8_w32_gfx12", V("int", 2), F8, 2048),
    WM(TSR_F8E5M2, TSR_F32, "gfx12 ", of_wmma12_8, "f32_16x16x16_bf8_bf8_w32_gfx12", V("int", 2), F8, 2048),
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const matrix_instr *matrix_instr_rows(int *n) {
  *n = N_ROWS;
  return rows;
}

const matrix_kind_row *matrix_kind_get(matrix_kind kind) {
#define ROW(KIND, ...) [MATRIX_##KIND] = {__VA_ARGS__},
  static const matrix_kind_row kinds[N_MATRIX_KINDS] = {MATRIX_KINDS(ROW)};
#undef ROW
  return &kinds[kind];
}

matrix_kind matrix_kind_named(const char *name) {
  matrix_kind kind = 0;
  while (kind < N_MATRIX_KINDS && strcmp(name, matrix_kind_get(kind)->name)) kind++;
  return kind;
}

/* Is the name, or its beginning, in a list of prefixes that each end with a blank? */
static bool listed(const char *archs, const char *arch) {
  for (const char *p = archs, *end; (end = strchr(p, ' ')); p = end + 1)
    if (!strncmp(arch, p, (size_t)(end - p))) return true;
  return false;
}

static bool matrix_instr_on(const matrix_instr *x, const char *arch) { return listed(x->archs, arch); }

/* Operations per core and clock on an architecture; 0: it doesn't have it. */
static int matrix_instr_rate(const matrix_instr *x, const char *arch) {
  int i = 0;
  for (const char *p = x->archs, *end; (end = strchr(p, ' ')); p = end + 1, i++)
    if (!strncmp(arch, p, (size_t)(end - p))) return x->rates[i];
  return 0;
}

const lane_map *matrix_instr_maps(matrix_kind kind, int m, tsr_dtype in, const char *arch) {
  for (const matrix_instr *x = rows; x < rows + N_ROWS; x++)
    if (x->kind == kind && x->m == m && tsr_dtype_size(x->a) == tsr_dtype_size(in) &&
        (!arch || matrix_instr_on(x, arch)))
      return x->map;
  return NULL;
}

bool matrix_instr_has(matrix_kind kind, const char *arch) {
  for (const matrix_instr *x = rows; x < rows + N_ROWS; x++)
    if (x->kind == kind && matrix_instr_on(x, arch)) return true;
  return false;
}

const matrix_instr *matrix_instr_find(matrix_kind kind, int m, int n, int k, tsr_dtype a, tsr_dtype b,
                                      const char *arch) {
  for (const matrix_instr *x = rows; x < rows + N_ROWS; x++)
    if (x->kind == kind && x->m == m && (x->n[0] == n || matrix_kind_get(kind)->any_columns) && x->k == k &&
        x->a == a && x->b == b && (!arch || matrix_instr_on(x, arch)))
      return x;
  return NULL;
}

static bool is_f8(tsr_dtype t) { return t == TSR_F8E4M3 || t == TSR_F8E5M2; }

/* A shape of two fp8 types is as good as one of the same for both, which drivers and tables list. */
static bool enabled(const tsr_caps *c, const matrix_instr *x) {
  for (int i = 0; i < c->n_matrix; i++) {
    const tsr_matrix_shape *s = &c->matrix[i];
    bool types = (s->a == x->a && s->b == x->b) || (x->a != x->b && is_f8(s->a) && is_f8(s->b));
    if (s->enabled && s->scope == SCOPE_SUBGROUP && s->m == x->m && s->n == x->n[0] && s->k == x->k && s->c == x->c &&
        types)
      return true;
  }
  return false;
}

const matrix_instr *matrix_instr_for(const tsr_caps *c, matrix_kind kind, int m, int n, int64_t k, tsr_dtype a,
                                     tsr_dtype b, tsr_dtype acc) {
  const matrix_instr *best = NULL;
  for (const matrix_instr *x = rows; x < rows + N_ROWS; x++) {
    if (x->kind != kind || x->m != m || x->n[0] != n || x->a != a || x->b != b || x->c != acc) continue;
    if (k % x->k || (best && x->k < best->k) || !matrix_instr_on(x, c->arch) || !enabled(c, x)) continue;
    best = x;
  }
  return best;
}

/* ---- lane maps ------------------------------------------------------------------------------------------------- */

typedef struct digits { int vec[2], lanes[2], inner[2], warps[2]; } digits;

static digits digits_of(const matrix_instr *x, matrix_operand of) {
  const lane_map *l = &x->map[of];
  int extent[2] = {of == MATRIX_B ? x->n[0] : x->m, of == MATRIX_C ? x->n[0] : x->k};
  digits d = {.warps = {l->warps ? l->warps : 1, 1}};
  for (int i = 0; i < 2; i++) {
    d.lanes[i] = l->lanes[i] ? l->lanes[i] : 1;
    d.vec[i] = l->vec[i] == LANE_WORD   ? 4 / (int)tsr_dtype_size(of == MATRIX_B ? x->b : x->a)
               : l->vec[i] == LANE_REST ? extent[i] / (d.warps[i] * d.lanes[i])
                                        : l->vec[i];
    d.inner[i] = d.vec[i] ? extent[i] / (d.warps[i] * d.lanes[i] * d.vec[i]) : 0;
  }
  return d;
}

int matrix_instr_values(const matrix_instr *x, matrix_operand of) {
  digits d = digits_of(x, of);
  return d.vec[0] * d.vec[1] * d.inner[0] * d.inner[1];
}

static int take(int *from, int n) {
  int digit = *from % n;
  *from /= n;
  return digit;
}

void matrix_instr_place(const matrix_instr *x, matrix_operand of, int lane, int e, int at[2]) {
  digits d = digits_of(x, of);
  int first = x->map[of].lane_0_first ? 0 : 1, l[2], v[2], i[2], rest = lane % x->wave;
  l[first] = take(&rest, d.lanes[first]);
  l[!first] = take(&rest, d.lanes[!first]);
  v[1] = take(&e, d.vec[1]);
  v[0] = take(&e, d.vec[0]);
  i[0] = take(&e, d.inner[0]);
  i[1] = take(&e, d.inner[1]);
  for (int k = 0; k < 2; k++) {
    int warp = k ? 0 : lane / x->wave;
    at[k] = ((warp * d.inner[k] + i[k]) * d.lanes[k] + l[k]) * d.vec[k] + v[k];
  }
}

void matrix_instr_list(tsr_caps *c) {
  for (matrix_kind kind = 0; kind < N_MATRIX_KINDS; kind++)
    for (int i = 0; i < MATRIX_MAX_COLUMNS; i++)
      for (const matrix_instr *x = rows; x < rows + N_ROWS; x++) {
        if (x->kind != kind || !x->n[i] || !matrix_instr_on(x, c->arch)) continue;
        if ((x->offered && !listed(x->offered, c->arch)) || c->n_matrix == TSR_MAX_MATRIX) continue;
        c->matrix[c->n_matrix++] = (tsr_matrix_shape){.m = x->m,
                                                      .n = x->n[i],
                                                      .k = x->k,
                                                      .a = x->a,
                                                      .b = x->b,
                                                      .c = x->c,
                                                      .scope = matrix_kind_get(kind)->scope,
                                                      .enabled = true,
                                                      .rate = matrix_instr_rate(x, c->arch)};
      }
}

/* ---- the check --------------------------------------------------------------------------------------------------- */

enum { MOST = 256 };

static const char *check_map(const matrix_instr *x, matrix_operand of) {
  static const char *const names[] = {"the map of a", "the map of b", "the map of c"};
  unsigned char seen[MOST * MOST] = {0};
  int extent[2] = {of == MATRIX_B ? x->n[0] : x->m, of == MATRIX_C ? x->n[0] : x->k}, at[2];
  if (of == MATRIX_B && !x->map[of].lanes[0]) return NULL; /* in shared memory */
  int values = matrix_instr_values(x, of), lanes = x->wave * (x->map[of].warps ? x->map[of].warps : 1);
  if (values < 1 || extent[0] > MOST || extent[1] > MOST || lanes * values % (extent[0] * extent[1])) return names[of];
  for (int l = 0; l < lanes; l++)
    for (int e = 0; e < values; e++) {
      matrix_instr_place(x, of, l, e, at);
      if (at[0] >= extent[0] || at[1] >= extent[1]) return names[of];
      seen[at[0] * extent[1] + at[1]]++;
    }
  for (int i = 0; i < extent[0] * extent[1]; i++)
    if (seen[i] != lanes * values / (extent[0] * extent[1])) return names[of];
  return NULL;
}

/* Bytes of "double", or of "short __attribute__((ext_vector_type(4)))". */
static int bytes_of(const char *type) {
  static const struct { const char *name; int bytes; } all[] = {{"_Float16", 2}, {"__bf16", 2}, {"short", 2}, {"int", 4},
                                                                {"float", 4},    {"long", 8},   {"double", 8}};
  const char *count = strstr(type, "type(");
  int n = 0, bytes = 0;
  for (const char *p = count ? count + 5 : "1"; *p >= '0' && *p <= '9'; p++) n = 10 * n + *p - '0';
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strncmp(type, all[i].name, strlen(all[i].name))) bytes = all[i].bytes;
  return n * bytes;
}

const char *matrix_instr_check(const matrix_instr *r, int n) {
  for (const matrix_instr *x = r; x < r + n; x++) {
    for (int of = MATRIX_A; of <= MATRIX_C; of++) {
      const char *why = check_map(x, of);
      if (why) return why;
    }
    if (!strchr(x->archs, ' ')) return "the list of architectures doesn't end with a blank";
    int n_archs = 0, n_rates = 0;
    for (const char *p = x->archs; (p = strchr(p, ' ')); p++) n_archs++;
    for (int i = 0; i < MATRIX_MAX_ARCHS; i++) n_rates += x->rates[i] > 0 && i == n_rates;
    if (n_archs != n_rates) return "a rate for each architecture";
    if (x->m < 1 || x->k < 1 || tsr_dtype_size(x->a) != tsr_dtype_size(x->b)) return "the shape, or types of two sizes";
    if (!x->builtin) continue;
    if (bytes_of(x->operand) != matrix_instr_values(x, MATRIX_A) * (int)tsr_dtype_size(x->a) ||
        bytes_of(x->operand) != matrix_instr_values(x, MATRIX_B) * (int)tsr_dtype_size(x->b))
      return "the builtin's operand and the lane map differ in size";
    if (bytes_of(x->acc) != matrix_instr_values(x, MATRIX_C) * (int)tsr_dtype_size(x->c))
      return "the builtin's sums and the lane map differ in size";
    for (const matrix_instr *y = r; y < x; y++)
      if (y->kind == x->kind && y->m == x->m && y->k == x->k && y->a == x->a && y->b == x->b &&
          !strcmp(y->archs, x->archs))
        return "two rows of one instruction";
  }
  return NULL;
}

double matrix_rate_by_width(tsr_dtype in) {
  size_t bytes = tsr_dtype_size(in);
  return bytes == 1 ? 2 : bytes == 4 ? 0.5 : 1;
}

/* ---- facts of fp8 and wgmma -------------------------------------------------------------------------------------- */

bool f8_is_promoted(const tsr_caps *caps, tsr_dtype in) { return caps->f8_sum_bits > 0 && is_f8(in); }

int wgmma_groups(int64_t m) { return m == 256 ? 2 : (int)(m / 64); }

/* Registers of a consumer: 232 of two, 160 of three (simt/whole/wgmma.c, registers()). Both sets of sums leave room for
 * addresses and the epilogue's values. */
bool wgmma_holds(const tsr_caps *caps, tsr_dtype in, int64_t m, int64_t n) {
  int64_t groups = wgmma_groups(m), columns = m / 64 / groups * n;
  return columns <= (!f8_is_promoted(caps, in) ? 256 : groups == 3 ? 96 : 192);
}
