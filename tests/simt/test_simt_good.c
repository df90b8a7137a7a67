/* tests/simt/test_simt_good.c - the hand-written kernels give the right numbers and no findings, in several orders of
 * threads and copies, with gcc and, where there is one, clang. Inputs are small integers, so that every sum is exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/simt/simt.h"

static const char *const names[] = {"block_sum",         "cp_async_mma", "tma_wgmma_stage_queue",  "wgmma_mn_major",
                                    "cluster_multicast", "cluster_sum",  "mfma_32x32x8",    "mfma_fnuz_lds",
                                    "wmma_gfx11",        "wmma_gfx12",   "transpose_matrix"};
static emu_module *module;

static emu_module *build(const char *compiler) {
  char *log;
  emu_module *m = emu_compile(&(emu_compile_desc){.path = TSR_SOURCE_DIR "/tests/simt/kernels/good.cpp",
                                                  .kernels = names,
                                                  .n_kernels = sizeof names / sizeof *names,
                                                  .compiler = compiler},
                              &log);
  if (log) fprintf(stderr, "%s\n", log);
  free(log);
  return m;
}

static void *aligned(size_t bytes) {
  void *p = aligned_alloc(128, (bytes + 127) / 128 * 128);
  assert_non_null(p);
  memset(p, 0, (bytes + 127) / 128 * 128);
  return p;
}

/* Small integers of a type's bits; returns their values through `v`. */
static void *random_matrix(int type, int n, double *v, unsigned seed) {
  int size = type == EMU_E4M3_FNUZ ? 1 : 2;
  uint8_t *p = aligned((size_t)(n * size));
  for (int i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    v[i] = (int)(seed >> 24) % 7 - 3;
    uint32_t bits = emu_narrow((float)v[i], type);
    memcpy(p + i * size, &bits, (size_t)size);
  }
  return p;
}

/* A clean run, or the report on stderr. */
static void run_clean(const emu_run_desc *d) {
  static emu_report r;
  memset(&r, 0, sizeof r);
  assert_true(emu_run(module, d, &r));
  if (r.n_findings) emu_report_print(&r, stderr);
  assert_int_equal(r.n_findings, 0);
}

typedef struct problem {
  int m, n, k, type;
  bool b_rows_k; /* B is [K,N] */
  void *a, *b;
  double *va, *vb;
  float *c;
  int sizes[4];
} problem;

static void problem_init(problem *p) {
  p->va = malloc(sizeof(double) * (size_t)(p->m * p->k));
  p->vb = malloc(sizeof(double) * (size_t)(p->n * p->k));
  p->a = random_matrix(p->type, p->m * p->k, p->va, 1);
  p->b = random_matrix(p->type, p->n * p->k, p->vb, 2);
  p->c = aligned(sizeof(float) * (size_t)(p->m * p->n));
  p->sizes[0] = p->k;
}

static void problem_check(problem *p) {
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) {
      double s = 0;
      for (int k = 0; k < p->k; k++) s += p->va[i * p->k + k] * p->vb[p->b_rows_k ? k * p->n + j : j * p->k + k];
      if (p->c[i * p->n + j] != s) fail_msg("C[%d][%d] is %g, not %g", i, j, (double)p->c[i * p->n + j], s);
    }
  memset(p->c, 0, sizeof(float) * (size_t)(p->m * p->n));
}

static void problem_free(problem *p) {
  free(p->a), free(p->b), free(p->c), free(p->va), free(p->vb);
}

/* Kernels that take A, B, C and the sizes as pointers. */
static void run_pointers(const char *kernel, problem p, int threads, int warp, int shared) {
  problem_init(&p);
  int *sizes = p.sizes, size = p.type == EMU_E4M3_FNUZ ? 1 : 2;
  void *args[] = {&p.a, &p.b, &p.c, &sizes};
  emu_range ranges[] = {{p.a, (size_t)(p.m * p.k * size), false},
                        {p.b, (size_t)(p.n * p.k * size), false},
                        {p.c, (size_t)(p.m * p.n) * 4, true},
                        {sizes, sizeof p.sizes, false}};
  for (unsigned seed = 0; seed < 4; seed++) {
    run_clean(&(emu_run_desc){.kernel = kernel,
                              .grid = {1},
                              .block = {threads},
                              .warp = warp,
                              .shared_bytes = shared,
                              .args = args,
                              .n_args = 4,
                              .ranges = ranges,
                              .n_ranges = 4,
                              .seed = seed});
    problem_check(&p);
  }
  problem_free(&p);
}

static void block_sum_is_exact(void **state) {
  float *x = aligned(4096), *y = aligned(16);
  for (int i = 0; i < 1024; i++) x[i] = (float)(i % 13);
  void *args[] = {&x, &y};
  emu_range ranges[] = {{x, 4096, false}, {y, 16, true}};
  run_clean(&(emu_run_desc){.kernel = "block_sum",
                            .grid = {4},
                            .block = {128},
                            .shared_bytes = 64,
                            .args = args,
                            .n_args = 2,
                            .ranges = ranges,
                            .n_ranges = 2});
  for (int b = 0; b < 4; b++) {
    float s = 0;
    for (int i = 0; i < 256; i++) s += x[b * 256 + i];
    assert_true(y[b] == s);
  }
  free(x), free(y);
}

static void cp_async_mma_is_exact(void **state) {
  run_pointers("cp_async_mma", (problem){.m = 64, .n = 64, .k = 96, .type = EMU_BF16, .b_rows_k = true}, 128, 32,
               19456);
}
static void mfma_is_exact(void **state) {
  run_pointers("mfma_32x32x8", (problem){.m = 32, .n = 32, .k = 40, .type = EMU_F16}, 64, 64, 0);
}
static void mfma_fnuz_lds_is_exact(void **state) {
  run_pointers("mfma_fnuz_lds", (problem){.m = 16, .n = 16, .k = 96, .type = EMU_E4M3_FNUZ}, 64, 64, 2048);
}
static void wmma_gfx11_is_exact(void **state) {
  run_pointers("wmma_gfx11", (problem){.m = 16, .n = 16, .k = 48, .type = EMU_BF16}, 32, 32, 0);
}
static void wmma_gfx12_is_exact(void **state) {
  run_pointers("wmma_gfx12", (problem){.m = 16, .n = 16, .k = 48, .type = EMU_BF16}, 32, 32, 0);
}

static emu_tensor_map map_2d(void *p, int size, int rows, int cols, int box_rows, int box_cols, int swizzle) {
  emu_tensor_map m;
  assert_null(emu_tensor_map_make(&m, p, size, 2, (int64_t[]){cols, rows}, (int64_t[]){0, (int64_t)cols * size},
                                  (int[]){box_cols, box_rows}, swizzle));
  return m;
}

static void tma_wgmma_stage_queue_is_exact(void **state) {
  problem p = {.m = 128, .n = 64, .k = 320, .type = EMU_BF16};
  problem_init(&p);
  emu_tensor_map ma = map_2d(p.a, 2, p.m, p.k, 64, 64, 128), mb = map_2d(p.b, 2, p.n, p.k, 64, 64, 128),
                 mc = map_2d(p.c, 4, p.m, p.n, 64, 64, 0);
  int *sizes = p.sizes;
  void *args[] = {&ma, &mb, &mc, &sizes};
  emu_range ranges[] = {{p.a, (size_t)(p.m * p.k * 2), false},
                        {p.b, (size_t)(p.n * p.k * 2), false},
                        {p.c, (size_t)(p.m * p.n) * 4, true},
                        {sizes, sizeof p.sizes, false}};
  for (unsigned seed = 0; seed < 4; seed++) {
    run_clean(&(emu_run_desc){.kernel = "tma_wgmma_stage_queue",
                              .grid = {1, 2},
                              .block = {256},
                              .shared_bytes = 65600,
                              .args = args,
                              .n_args = 4,
                              .ranges = ranges,
                              .n_ranges = 4,
                              .seed = seed});
    problem_check(&p);
  }
  problem_free(&p);
}

static void wgmma_mn_major_is_exact(void **state) {
  problem p = {.m = 64, .n = 64, .k = 128, .type = EMU_F16, .b_rows_k = true};
  problem_init(&p);
  emu_tensor_map ma = map_2d(p.a, 2, p.m, p.k, 64, 64, 128), mb = map_2d(p.b, 2, p.k, p.n, 64, 64, 128);
  int *sizes = p.sizes;
  void *args[] = {&ma, &mb, &p.c, &sizes};
  emu_range ranges[] = {{p.a, (size_t)(p.m * p.k * 2), false},
                        {p.b, (size_t)(p.n * p.k * 2), false},
                        {p.c, (size_t)(p.m * p.n) * 4, true},
                        {sizes, sizeof p.sizes, false}};
  for (unsigned seed = 0; seed < 4; seed++) {
    run_clean(&(emu_run_desc){.kernel = "wgmma_mn_major",
                              .grid = {1},
                              .block = {128},
                              .shared_bytes = 16448,
                              .args = args,
                              .n_args = 4,
                              .ranges = ranges,
                              .n_ranges = 4,
                              .seed = seed});
    problem_check(&p);
  }
  problem_free(&p);
}

static void cluster_multicast_is_exact(void **state) {
  problem p = {.m = 128, .n = 64, .k = 256, .type = EMU_BF16};
  problem_init(&p);
  emu_tensor_map ma = map_2d(p.a, 2, p.m, p.k, 64, 64, 128), mb = map_2d(p.b, 2, p.n, p.k, 32, 64, 128);
  int *sizes = p.sizes;
  void *args[] = {&ma, &mb, &p.c, &sizes};
  emu_range ranges[] = {{p.a, (size_t)(p.m * p.k * 2), false},
                        {p.b, (size_t)(p.n * p.k * 2), false},
                        {p.c, (size_t)(p.m * p.n) * 4, true},
                        {sizes, sizeof p.sizes, false}};
  for (unsigned seed = 0; seed < 4; seed++) {
    run_clean(&(emu_run_desc){.kernel = "cluster_multicast",
                              .grid = {2},
                              .block = {128},
                              .cluster = {2},
                              .shared_bytes = 16448,
                              .args = args,
                              .n_args = 4,
                              .ranges = ranges,
                              .n_ranges = 4,
                              .seed = seed});
    problem_check(&p);
  }
  problem_free(&p);
}

static void cluster_sum_is_exact(void **state) {
  float *x = aligned(1024), *y = aligned(1024), sum = 0;
  for (int i = 0; i < 256; i++) sum += x[i] = (float)(i % 13 - 5);
  void *args[] = {&x, &y};
  emu_range ranges[] = {{x, 1024, false}, {y, 1024, true}};
  for (unsigned seed = 0; seed < 4; seed++) {
    memset(y, 0, 1024);
    run_clean(&(emu_run_desc){.kernel = "cluster_sum",
                              .grid = {4},
                              .block = {64},
                              .cluster = {4},
                              .shared_bytes = 272,
                              .args = args,
                              .n_args = 2,
                              .ranges = ranges,
                              .n_ranges = 2,
                              .seed = seed});
    for (int i = 0; i < 256; i++) assert_true(y[i] == sum);
  }
  free(x), free(y);
}

/* stmatrix puts registers where ldmatrix without .trans would take them from; with .trans each 8x8 block comes back
 * transposed. */
static void transpose_matrix_transposes_blocks(void **state) {
  uint16_t *x = aligned(512), *y = aligned(512);
  for (int i = 0; i < 256; i++) x[i] = (uint16_t)i;
  void *args[] = {&x, &y};
  emu_range ranges[] = {{x, 512, false}, {y, 512, true}};
  run_clean(&(emu_run_desc){.kernel = "transpose_matrix",
                            .grid = {1},
                            .block = {32},
                            .shared_bytes = 512,
                            .args = args,
                            .n_args = 2,
                            .ranges = ranges,
                            .n_ranges = 2});
  for (int l = 0; l < 32; l++)
    for (int m = 0; m < 4; m++)
      for (int e = 0; e < 2; e++) { /* element (2 (l%4) + e, l/4) of block m was in lane 4 row + col / 2 */
        int row = 2 * (l % 4) + e, col = l / 4;
        assert_int_equal(y[8 * l + 2 * m + e], 8 * (4 * row + col / 2) + 2 * m + col % 2);
      }
  free(x), free(y);
}

static void clang_build_is_exact(void **state) {
  if (system("clang++ --version >/dev/null 2>&1")) skip();
  emu_module *gcc = module;
  module = build("clang++");
  assert_non_null(module);
  cp_async_mma_is_exact(state);
  tma_wgmma_stage_queue_is_exact(state);
  mfma_fnuz_lds_is_exact(state);
  emu_module_destroy(module);
  module = gcc;
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  module = build(NULL);
  if (!module) return 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(block_sum_is_exact),
                                     cmocka_unit_test(cp_async_mma_is_exact),
                                     cmocka_unit_test(tma_wgmma_stage_queue_is_exact),
                                     cmocka_unit_test(wgmma_mn_major_is_exact),
                                     cmocka_unit_test(cluster_multicast_is_exact),
                                     cmocka_unit_test(cluster_sum_is_exact),
                                     cmocka_unit_test(mfma_is_exact),
                                     cmocka_unit_test(mfma_fnuz_lds_is_exact),
                                     cmocka_unit_test(wmma_gfx11_is_exact),
                                     cmocka_unit_test(wmma_gfx12_is_exact),
                                     cmocka_unit_test(transpose_matrix_transposes_blocks),
                                     cmocka_unit_test(clang_build_is_exact)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  emu_module_destroy(module);
  return failed != 0;
}
