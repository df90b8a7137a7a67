/* tests/simt/test_simt_coverage.c - what of all that can be emitted as CUDA or HIP the other tests have run in the
 * emulator: the list is here, in one place, and a row that no launch matched fails. Matrix instructions come from the
 * architectures' own tables. The launches are recorded by record.c; ctest runs this last. Default plans (streams,
 * split-k, stream-k) are asserted where they run: test_simt_plans.c. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/emit/text/mma.h"
#include "tests/simt/target_run.h"

#define ALL "sm_80 sm_90a gfx90a gfx942 gfx1100"
#define SOME ""
typedef struct row {
  const char *archs, *what;
} row; /* SOME: on any; a pattern of what record.h says, | between alternatives */

static const row rows[] = {
    /* matrix paths and what they vary */
    {"sm_80 sm_90a sm_120", "path: mma"}, {"gfx90a gfx942 gfx950", "path: mfma"}, {"gfx1100 gfx1201", "path: wmma"}, {ALL, "path: fma"}, {"sm_90a", "path: wgmma"},
    {"sm_90a", "path: wgmma * cluster 1, *"}, {"sm_90a", "path: wgmma * cluster 2, *"}, {"sm_90a", "path: wgmma * 1+1 warpgroups*"}, {"sm_90a", "path: wgmma * 2+1 warpgroups*"},
    {"sm_90a", "path: wgmma *TMA epilogue"}, {"sm_90a", "path: wgmma * [2345] stages, *"}, {"sm_90a", "path: wgmma * 8 stages, *"},
    {"gfx90a gfx942", "path: direct mfma *, 2 stages, 4-byte loads"}, {"gfx942", "path: direct mfma *, 4 stages, 4-byte loads"}, {"gfx950", "path: direct mfma *, 2 stages, 16-byte loads"},
    {"gfx950", "path: direct mfma *, 4 stages, 16-byte loads"}, {"gfx942", "path: pingpong mfma 16x16x16, *"}, {"gfx942", "path: pingpong mfma 16x16x32, *"},
    {"gfx950", "path: pingpong mfma 16x16x32, *"}, {"gfx950", "path: pingpong mfma 16x16x64, *"}, {"gfx950", "path: pingpong mfma 16x16x128, *"},
    /* families */
    {ALL, "add*"}, {ALL, "cast*"}, {ALL, "compare*"}, {ALL, "softmax*"}, {ALL, "layernorm*"}, {ALL, "rmsnorm*"}, {ALL, "reduce_sum*"}, {ALL, "reduce_max*"}, {ALL, "reduce_mean*"},
    {ALL, "reduce_prod*"}, {ALL, "matmul_0"}, {ALL, "matmul_0_parts"}, {ALL, "attention"}, {ALL, "conv2d"}, {ALL, "fft4096"}, {ALL, "embedding_mean"}, {ALL, "column_stats"},
    {ALL, "transpose*"}, {ALL, "concat*"}, {ALL, "pad*"}, {ALL, "gather_[0-9]"}, {ALL, "gather_elements_*"}, {ALL, "gather_nd_*"}, {ALL, "embedding_[0-9]"}, {ALL, "scatter_[0-9]"}, {ALL, "scatter_add_*"}, {ALL, "scatter_nd_*"}, {"sm_90a", "matmul_0_transpose_a"}, {"sm_90a", "matmul_0_transpose_b"},
    /* primitives of every device */
    {ALL, "ld_global<*"}, {ALL, "st_global"}, {ALL, "ld_shared<*"}, {ALL, "st_shared"}, {ALL, "barrier"}, {ALL, "warp_barrier"}, {ALL, "shuffle<0>"}, {ALL, "warp_reduce<op_sum>"},
    {ALL, "warp_reduce<op_max>"}, {SOME, "warp_reduce<op_min>"}, {SOME, "warp_reduce<op_prod>"}, {ALL, "fexp"}, {ALL, "ffma"}, {ALL, "frsqrt"}, {ALL, "fmax_nan"}, {SOME, "fmin_nan"},
    {SOME, "flog"}, {SOME, "fsqrt"}, {SOME, "ftanh"}, {SOME, "ferf"}, {SOME, "fsin"}, {SOME, "fcos"}, {SOME, "ffloor"}, {SOME, "frint"}, {SOME, "fpow"}, {SOME, "ffmod"}, {SOME, "fabs_"}, {SOME, "gelu"},
    {SOME, "silu"}, {SOME, "sigmoid"}, {SOME, "idiv<*"}, {SOME, "irem<*"}, {SOME, "ipow<*"}, {SOME, "imin<*"}, {SOME, "imax<*"}, {SOME, "to_int<*"}, {SOME, "narrow<*"}, {SOME, "tf32_round"},
    {SOME, "f16"}, {SOME, "bf16"}, {SOME, "f8e4m3"}, {SOME, "f8e5m2"}, {SOME, "double"},
    /* element types in memory */
    {SOME, "ld_global<*double*"}, {SOME, "ld_global<*float*"}, {SOME, "ld_global<*f16*"}, {SOME, "ld_global<*bf16*"}, {SOME, "ld_global<*f8e4m3*"}, {SOME, "ld_global<*f8e5m2*"},
    {SOME, "ld_global<*long long*"}, {SOME, "ld_global<*int*"}, {SOME, "ld_global<*signed char*"}, {SOME, "ld_global<*unsigned char*"},
    /* NVIDIA's */
    {"sm_80 sm_90a", "cp_async<16>"}, {"sm_80 sm_90a", "cp_async<4>|cp_async<8>"}, {"sm_80 sm_90a", "cp_wait<[1-9]>"}, {"sm_80 sm_90a", "cp_wait<0>"}, {"sm_80", "ldmatrix<4, false>"},
    {"sm_80", "ldmatrix<4, true>"}, {"sm_80", "ldmatrix<2, *"}, {"sm_90a", "stmatrix<false>"}, {"sm_90a", "tma_load"}, {"sm_90a", "tma_load_multicast"}, {"sm_90a", "tma_store"},
    {"sm_90a", "tma_wait_read<0>"}, {"sm_90a", "tma_wait_read<1>"}, {"sm_90a", "mbar_init"}, {"sm_90a", "mbar_expect"}, {"sm_90a", "mbar_arrive"}, {"sm_90a", "mbar_arrive_cluster"},
    {"sm_90a", "mbar_wait"}, {"sm_90a", "fence_async_proxy"}, {"sm_90a", "fence_mbarrier_init"}, {"sm_90a", "wgmma_rs<*"}, {"sm_90a", "wgmma<*, false, false>"}, {"sm_90a", "wgmma<*, false, true>"},
    {"sm_90a", "wgmma<*, true, false>"}, {"sm_90a", "wgmma<*, true, true>"}, {"sm_90a", "wgmma_pin"}, {"sm_90a", "wgmma_wait<1>"}, {"sm_90a", "wgmma_wait<0>"}, {"sm_90a", "setmaxnreg_inc<*"},
    {"sm_90a", "setmaxnreg_dec<*"}, {"sm_90a", "cluster_sync"}, {"sm_90a", "cluster_arrive"}, {"sm_90a", "cluster_wait"}, {"sm_90a", "cluster_rank"}, {"sm_90a", "cluster_store"},
    {"sm_90a", "named_barrier_sync<*"}, {"sm_90a", "named_barrier_arrive<*"},
    /* AMD's */
    {"gfx90a gfx942", "lds_load<4>"}, {"gfx950", "lds_load<16>"}, {"gfx942 gfx950", "waitcnt<0, -1>"}, {"gfx942 gfx950", "waitcnt<-1, 0>"}, {"gfx942", "waitcnt<[1-9]*, -1>"}, {"gfx942 gfx950", "setprio<1>"},
    {"gfx942 gfx950", "sched_barrier<0>"}, {"gfx942 gfx950", "settle"}, {"gfx942 gfx950", "named_barrier_sync<*"}};

static char *record;

/* Does a recorded line of an architecture (NULL: of any) match? */
static bool recorded(const char *arch, const char *pattern) {
  for (const char *line = record; *line;) {
    const char *tab = strchr(line, '\t'), *end = strchr(line, '\n');
    if (!tab || !end) break;
    char what[256];
    snprintf(what, sizeof what, "%.*s", (int)(end - tab - 1), tab + 1);
    bool mine = !arch || (strlen(arch) == (size_t)(tab - line) && !strncmp(arch, line, (size_t)(tab - line)));
    if (mine && !fnmatch(pattern, what, 0)) return true;
    line = end + 1;
  }
  return false;
}

static int missing(const char *arch, const char *pattern) {
  char all[512];
  snprintf(all, sizeof all, "%s", pattern);
  for (char *p = strtok(all, "|"); p; p = strtok(NULL, "|"))
    if (recorded(arch, p)) return 0;
  fprintf(stderr, "never run%s%s: %s\n", arch ? " on " : "", arch ? arch : "", pattern);
  return 1;
}

static void every_row_was_run(void **state) {
  int n = 0;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char archs[128];
    snprintf(archs, sizeof archs, "%s", rows[i].archs);
    char *rest = NULL, *arch = strtok_r(archs, " ", &rest);
    if (!arch) n += missing(NULL, rows[i].what);
    for (; arch; arch = strtok_r(NULL, " ", &rest)) n += missing(arch, rows[i].what);
  }
  assert_int_equal(n, 0);
}

/* Every shape that an architecture's table offers to the lowerings; MFMA of 32 x 32 is for the tuner's arithmetic
 * alone: none takes it. */
static void every_matrix_instruction_was_run(void **state) {
  static const char *const archs[] = {"sm_80", "sm_90a", "sm_120", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
  int n = 0;
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    tsr_caps caps;
    assert_null(emu_arch_caps(archs[i], &caps));
    for (int k = 0; k < caps.n_matrix; k++) {
      const tsr_matrix_shape *s = &caps.matrix[k];
      char pattern[128];
      const char *a = text_mma_type(s->a, caps.fnuz), *b = text_mma_type(s->b, caps.fnuz),
                 *name = caps.dialect == DIALECT_CUDA ? "mma"
                         : caps.subgroup == 64        ? "mfma"
                                                      : "wmma";
      if (s->m == 32) continue;
      if (s->scope == SCOPE_WARPGROUP) snprintf(pattern, sizeof pattern, "wgmma<%d, %d, %s, %s, *", s->n, s->k, a, b);
      else snprintf(pattern, sizeof pattern, "%s<%d, %d, %d, %s, %s>", name, s->m, s->n, s->k, a, b);
      if (!strcmp(archs[i], "sm_90a") && s->scope != SCOPE_WARPGROUP) continue; /* sm_80's */
      if (!strcmp(archs[i], "sm_120") && (tsr_dtype_size(s->a) != 1 || s->a == TSR_I8 || s->a == TSR_U8)) continue;
      n += missing(archs[i], pattern);
    }
  }
  assert_int_equal(n, 0);
}

int main(void) {
  const char *file = getenv("TSR_SIMT_RECORD");
  FILE *f = file ? fopen(file, "r") : NULL;
  if (!f) {
    printf("skipped: nothing was recorded (%s)\n", file ? file : "TSR_SIMT_RECORD");
    return 77;
  }
  record = calloc(1, 1 << 22);
  if (!record) return 1;
  record[fread(record, 1, (1 << 22) - 1, f)] = 0;
  fclose(f);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_was_run),
                                     cmocka_unit_test(every_matrix_instruction_was_run)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  free(record);
  return failed != 0;
}
