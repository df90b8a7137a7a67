/* The bf16 and integer gemm kinds on Intel AMX: 16 x 64-byte tiles, C in tiles 0-3 (a 32 x 32 block), A in 4-5, B in
 * 6-7.
 *
 * A is packed row-major, its rows padded to whole 64-byte steps of k and to whole tiles of 16 rows; B's panels of 32
 * columns are in groups of 4 bytes along k, as for AVX-512, so a tile of B is 16 group rows 128 bytes apart. Every tile
 * is full-size (one configuration per thread, never changed); the edges of C go through a small buffer. tdpbf16ps
 * flushes denormals and rounds to nearest even, whatever the mode: where operands could make denormals, the same sums
 * are made with FMAs (small_rows). With CPUK_AMX_EMULATE the tile instructions are plain C (amx_emulated.h): tests then
 * link this file and select.c in place of the library's and prove everything but the instructions themselves on any
 * AVX-512 machine. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#ifdef CPUK_AMX_EMULATE
#include "amx_emulated.h"
#endif

#include "body_gemm_pack.h"

#include "body_gemm_groups.h"

enum { NR = 32, MR = 32, TILE = 16, STEP = 64 }; /* STEP: bytes of A's row in one tile */

#include "body_gemm_small.h"

/* Intel SDM, LDTILECFG: byte 0 palette, 16.. bytes per row of each tile, 48.. rows of each tile. */
typedef struct amx_config {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} amx_config;
_Static_assert(sizeof(amx_config) == 64, "LDTILECFG reads 64 bytes");

/* All that was stored so far is in memory. The intrinsics of gcc (12 to 14 seen) don't say which memory they read:
 * without this it drops stores to locals before them, the configuration's among them. */
#define AMX_WRITTEN(p) __asm__ volatile("" : : "r"(p) : "memory")

#ifdef CPUK_AMX_EMULATE
void cpuk_amx_thread_begin(void) {}
void cpuk_amx_thread_end(void) {}
#else
void cpuk_amx_thread_begin(void) {
  amx_config c = {.palette = 1};
  for (int i = 0; i < 8; i++) c.row_bytes[i] = STEP, c.rows[i] = TILE;
  AMX_WRITTEN(&c);
  _tile_loadconfig(&c);
}
void cpuk_amx_thread_end(void) { _tile_release(); }
#endif

static size_t steps_of(size_t k_bytes) { return (k_bytes + STEP - 1) / STEP; }
static size_t bf16_a_panel_bytes(size_t k) { return MR * gemm_row_bytes(steps_of(k * 2) * STEP) + PANEL_END; }
static size_t bf16_b_panel_bytes(size_t k) { return steps_of(k * 2) * TILE * NR * 4 + PANEL_END; }
static size_t bytes_a_panel_bytes(size_t k) { return MR * gemm_row_bytes(steps_of(k) * STEP); }
static size_t bytes_b_panel_bytes(size_t k) { return steps_of(k) * TILE * NR * 4; }

/* Rows up to a whole tile are read, so they must hold something. */
static void amx_clear_rows(const cpuk_pack_args *p, size_t row_bytes) {
  size_t rows = (p->rows + TILE - 1) / TILE * TILE;
  memset((char *)p->dst + p->rows * row_bytes, 0, (rows - p->rows) * row_bytes);
}
/* Panel by panel: each ends, as B's do, with a line that says whether it has small numbers. */
static void bf16_pack_a(const cpuk_pack_args *p) {
  const size_t panel = bf16_a_panel_bytes(p->cols), row = (panel - PANEL_END) / MR;
  for (size_t i = 0; i < p->rows; i += MR) {
    cpuk_pack_args part = *p;
    part.src = (const char *)p->src + (ptrdiff_t)(i * cpuk_dtype_bytes(p->type)) * p->rs;
    part.dst = (char *)p->dst + i / MR * panel;
    part.rows = p->rows - i < MR ? p->rows - i : MR;
    pack_a_rows(&part, CPUK_BF16, STEP / 2);
    amx_clear_rows(&part, row);
    vi least = least_start();
    for (size_t r = 0; r < part.rows; r++) least = least_in(least, (const char *)part.dst + r * row, p->cols);
    panel_end_set((char *)part.dst + panel, least_is_small(least));
  }
}
static void bytes_pack_a(const cpuk_pack_args *p) {
  pack_a_rows(&(cpuk_pack_args){p->dst, p->src, CPUK_U8, p->rs, p->cs, p->rows, p->cols}, CPUK_U8, STEP);
  amx_clear_rows(p, bytes_a_panel_bytes(p->cols) / MR);
}
static void bf16_pack_b(const cpuk_pack_args *p) {
  pack_b_small(p, NR, steps_of(p->rows * 2) * (STEP / 2), bf16_b_panel_bytes(p->rows));
}
static void bytes_pack_b(const cpuk_pack_args *p) {
  pack_b_groups(p, 1, NR, steps_of(p->rows) * STEP, bytes_b_panel_bytes(p->rows));
}

/* A 16 x 16 corner of C at the edge: copied through t, which is [16][16] of 4 bytes. */
static void edge_in(int32_t *t, const int32_t *c, ptrdiff_t ldc, size_t rows, size_t cols) {
  memset(t, 0, TILE * STEP);
  for (size_t i = 0; i < rows; i++) memcpy(t + i * TILE, c + (ptrdiff_t)i * ldc, cols * 4);
}
static void edge_out(int32_t *c, ptrdiff_t ldc, const int32_t *t, size_t rows, size_t cols) {
  for (size_t i = 0; i < rows; i++) memcpy(c + (ptrdiff_t)i * ldc, t + i * TILE, cols * 4);
}

/* How much of the quarter (r, s) of a 32 x 32 block lies inside C. */
static size_t inside(size_t total, size_t first) {
  return total <= first ? 0 : total - first < TILE ? total - first : TILE;
}

/* The four quarters are unrolled by hand: a tile's number is part of the instruction. */
#define AMX_C_IN(tile, r, s)                                                                        \
  do {                                                                                              \
    size_t h = inside(rows, (r) * TILE), w = inside(cols, (s) * TILE);                              \
    const int32_t *q = c + (ptrdiff_t)(r) * TILE * ldc + (s) * TILE;                                \
    if (!accumulate || h == 0 || w == 0) {                                                          \
      _tile_zero(tile);                                                                             \
    } else if (h == TILE && w == TILE) {                                                            \
      _tile_loadd(tile, q, (size_t)ldc * 4);                                                        \
    } else {                                                                                        \
      edge_in(edge, q, ldc, h, w);                                                                  \
      AMX_WRITTEN(edge);                                                                            \
      _tile_loadd(tile, edge, STEP);                                                                \
    }                                                                                               \
  } while (0)
#define AMX_C_OUT(tile, r, s)                                                                       \
  do {                                                                                              \
    size_t h = inside(rows, (r) * TILE), w = inside(cols, (s) * TILE);                              \
    int32_t *q = c + (ptrdiff_t)(r) * TILE * ldc + (s) * TILE;                                      \
    if (h == TILE && w == TILE) {                                                                   \
      _tile_stored(tile, q, (size_t)ldc * 4);                                                       \
    } else if (h != 0 && w != 0) {                                                                  \
      _tile_stored(tile, edge, STEP);                                                               \
      edge_out(q, ldc, edge, h, w);                                                                 \
    }                                                                                               \
  } while (0)

/* What tdpbf16ps does, and denormals stay: over each step of k the even products and the odd ones are summed apart, and
 * then both are added to C (Intel SDM). */
VINL void small_rows(const int mr, float *c, ptrdiff_t ldc, bool accumulate, const char *a, size_t lda, const char *b,
                     size_t steps, size_t cols) {
  enum { NV = NR / VF, ROWS = 4 };
  const size_t part[NV] = {cols < VF ? cols : VF, cols <= VF ? 0 : cols - VF};
  vf sum[ROWS][NV], even[ROWS][NV], odd[ROWS][NV];
  CPUK_UNROLL
  for (int i = 0; i < mr; i++)
    CPUK_UNROLL
    for (int v = 0; v < NV; v++) sum[i][v] = accumulate ? v_load_n(c + i * ldc + v * VF, part[v]) : v_set1(0);
  for (size_t s = 0; s < steps; s++) {
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int v = 0; v < NV; v++) even[i][v] = odd[i][v] = v_set1(0);
    for (int q = 0; q < STEP; q += 4, b += NR * 4)
      CPUK_UNROLL
      for (int i = 0; i < mr; i++) {
        int32_t pair;
        memcpy(&pair, a + (size_t)i * lda + s * STEP + (size_t)q, sizeof pair);
        CPUK_UNROLL
        for (int v = 0; v < NV; v++) {
          const vi bv = vi_load((const int32_t *)(const void *)b + v * VF), av = vi_set1(pair);
          even[i][v] = v_fma(bf16_even(av), bf16_even(bv), even[i][v]);
          odd[i][v] = v_fma(bf16_odd(av), bf16_odd(bv), odd[i][v]);
        }
      }
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int v = 0; v < NV; v++) sum[i][v] += even[i][v] + odd[i][v];
  }
  CPUK_UNROLL
  for (int i = 0; i < mr; i++)
    CPUK_UNROLL
    for (int v = 0; v < NV; v++) v_store_n(c + i * ldc + v * VF, sum[i][v], part[v]);
}
static void small_block(float *c, ptrdiff_t ldc, bool accumulate, const char *a, size_t lda, const char *b,
                        size_t steps, size_t rows, size_t cols) {
  size_t i = 0;
  for (; i + 4 <= rows; i += 4)
    small_rows(4, c + (ptrdiff_t)i * ldc, ldc, accumulate, a + i * lda, lda, b, steps, cols);
  for (; i < rows; i++) small_rows(1, c + (ptrdiff_t)i * ldc, ldc, accumulate, a + i * lda, lda, b, steps, cols);
}

/* One block of up to 32 x 32 of C over `steps` steps of k: four products for four tile loads. */
#define AMX_BLOCK(name, DP)                                                                                         \
  static void name##_tile(int32_t *c, ptrdiff_t ldc, bool accumulate, const char *a, size_t lda, const char *b,     \
                          size_t steps,                                                                             \
                          size_t rows, size_t cols) {                                                               \
    _Alignas(64) int32_t edge[TILE * TILE];                                                                         \
    AMX_C_IN(0, 0, 0);                                                                                              \
    AMX_C_IN(1, 0, 1);                                                                                              \
    if (rows > TILE) {                                                                                              \
      AMX_C_IN(2, 1, 0);                                                                                            \
      AMX_C_IN(3, 1, 1);                                                                                            \
      for (size_t q = 0; q < steps; q++, a += STEP, b += TILE * NR * 4) {                                           \
        _tile_loadd(6, b, NR * 4);                                                                                  \
        _tile_loadd(4, a, lda);                                                                                     \
        DP(0, 4, 6);                                                                                                \
        _tile_loadd(7, b + STEP, NR * 4);                                                                           \
        DP(1, 4, 7);                                                                                                \
        _tile_loadd(5, a + TILE * lda, lda);                                                                        \
        DP(2, 5, 6);                                                                                                \
        DP(3, 5, 7);                                                                                                \
      }                                                                                                             \
      AMX_C_OUT(2, 1, 0);                                                                                           \
      AMX_C_OUT(3, 1, 1);                                                                                           \
    } else {                                                                                                        \
      for (size_t q = 0; q < steps; q++, a += STEP, b += TILE * NR * 4) {                                           \
        _tile_loadd(4, a, lda);                                                                                     \
        _tile_loadd(6, b, NR * 4);                                                                                  \
        DP(0, 4, 6);                                                                                                \
        _tile_loadd(7, b + STEP, NR * 4);                                                                           \
        DP(1, 4, 7);                                                                                                \
      }                                                                                                             \
    }                                                                                                               \
    AMX_C_OUT(0, 0, 0);                                                                                             \
    AMX_C_OUT(1, 0, 1);                                                                                             \
  }                                                                                                                 \
  static void name##_panels(const cpuk_block_args *p, size_t j0, size_t w, const char *b) {                         \
    const size_t steps = steps_of(p->k * AMX_ELEMENT), lda = gemm_row_bytes(steps * STEP);                          \
    const size_t a_panel = AMX_KIND(a_panel_bytes)(p->k), b_panel = AMX_KIND(b_panel_bytes)(p->k);                  \
    const bool look = p->accumulate && (p->small_sums == NULL || *p->small_sums);                                   \
    AMX_WRITTEN(b);                                                                                                 \
    for (size_t j = 0; j < w; j += NR, b += b_panel) {                                                              \
      const bool exact = AMX_FLUSHES && small_is_needed_for(p, look, b + b_panel, j0 + j);                          \
      const char *a = p->a;                                                                                         \
      for (size_t i = 0; i < p->m; i += MR, a += a_panel) {                                                         \
        int32_t *c = (int32_t *)p->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)(j0 + j);                                 \
        const size_t rows = p->m - i < MR ? p->m - i : MR, cols = w - j < NR ? w - j : NR;                          \
        if (!AMX_FLUSHES || (!exact && !panel_end_small(a + a_panel))) {                                            \
          name##_tile(c, p->ldc, p->accumulate, a, lda, b, steps, rows, cols);                                      \
          continue;                                                                                                 \
        }                                                                                                           \
        small_block((float *)(void *)c, p->ldc, p->accumulate, a, lda, b, steps, rows, cols);                       \
        if (p->small_sums != NULL) *p->small_sums = true;                                                           \
      }                                                                                                             \
    }                                                                                                               \
  }                                                                                                                 \
  static void name##_block(const cpuk_block_args *p) {                                                              \
    cpuk_pack_args chunk;                                                                                           \
    if (p->b_plain == NULL) {                                                                                       \
      name##_panels(p, 0, p->n, p->b);                                                                              \
      return;                                                                                                       \
    }                                                                                                               \
    for (size_t j = 0, w; j < p->n; j += w) {                                                                       \
      w = p->n - j < GEMM_CHUNK(4) * NR ? p->n - j : GEMM_CHUNK(4) * NR;                                            \
      AMX_KIND(pack_b)(gemm_chunk(p, j, w, &chunk));                                                                \
      name##_panels(p, j, w, p->b_plain->dst);                                                                      \
    }                                                                                                               \
  }
#define AMX_ELEMENT 2
#define AMX_KIND(what) bf16_##what
#define AMX_FLUSHES 1
AMX_BLOCK(bf16, _tile_dpbf16ps)
#undef AMX_ELEMENT
#undef AMX_KIND
#undef AMX_FLUSHES
#define AMX_ELEMENT 1
#define AMX_KIND(what) bytes_##what
#define AMX_FLUSHES 0
AMX_BLOCK(s8s8, _tile_dpbssd)
AMX_BLOCK(u8s8, _tile_dpbusd)
#undef AMX_ELEMENT
#undef AMX_KIND
#undef AMX_FLUSHES

const cpuk_gemm cpuk_gemm_bf16_amx = {
    .name = "bf16 amx", .pack_type = CPUK_BF16, .acc_type = CPUK_F32,
    .pack_types = 1u << CPUK_BF16 | 1u << CPUK_F8E4M3 | 1u << CPUK_F8E5M2, .a_inplace = -1, .mr = MR, .nr = NR, .kr = 32, .b_chunk = GEMM_CHUNK(2),
    .a_panel_bytes = bf16_a_panel_bytes, .b_panel_bytes = bf16_b_panel_bytes, .pack_a = bf16_pack_a, .pack_b = bf16_pack_b,
    .block = bf16_block, .skinny = cpuk_skinny_bf16_avx512,
};
#define AMX_BYTES_GEMM(label, types, id)                                             \
  {                                                                                  \
    .name = label, .pack_type = CPUK_I8, .acc_type = CPUK_I32, .pack_types = types, .a_inplace = -1, .mr = MR, .nr = NR, \
    .kr = 64, .b_chunk = GEMM_CHUNK(4), .a_panel_bytes = bytes_a_panel_bytes, .b_panel_bytes = bytes_b_panel_bytes, .pack_a = bytes_pack_a, \
    .pack_b = bytes_pack_b, .block = id##_block, .skinny = cpuk_skinny_##id##_avx512 \
  }
const cpuk_gemm cpuk_gemm_s8s8_amx = AMX_BYTES_GEMM("s8s8 amx", 1u << CPUK_I8, s8s8);
const cpuk_gemm cpuk_gemm_u8s8_amx = AMX_BYTES_GEMM("u8s8 amx", 1u << CPUK_I8 | 1u << CPUK_U8, u8s8);
#endif
