/* The AMX kernels' indexing, proven with emulated tile instructions: gemm_amx.c is compiled here with amx_emulated.h.
 * Needs AVX-512. */
#define CPUK_AMX_EMULATE
#if defined(__AVX512BW__)
#include "backends/cpu/kernels/gemm_amx.c"
#endif

#include "tests/support/cpu_gemm_test.h"

#if defined(__AVX512BW__)
static int multiply(void) {
  static const size_t shapes[][3] = {{1, 1, 1},     {16, 16, 32},  {16, 32, 64},    {32, 32, 64},
                                     {33, 31, 65},  {17, 33, 31},  {5, 70, 129},    {64, 64, 128},
                                     {47, 95, 257}, {96, 160, 96}, {100, 129, 320}, {3, 5, 0}};
  const struct {
    const cpuk_gemm *g;
    cpuk_gemm_kind kind;
    cpuk_dtype a, b;
  } kinds[] = {{&cpuk_gemm_bf16_amx, CPUK_GEMM_BF16, CPUK_BF16, CPUK_BF16},
               {&cpuk_gemm_bf16_amx, CPUK_GEMM_BF16, CPUK_F8E4M3, CPUK_BF16},
               {&cpuk_gemm_s8s8_amx, CPUK_GEMM_S8S8, CPUK_I8, CPUK_I8},
               {&cpuk_gemm_u8s8_amx, CPUK_GEMM_U8S8, CPUK_U8, CPUK_I8}};
  for (size_t q = 0; q < sizeof kinds / sizeof *kinds; q++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (int v = 0; v < 8; v++) {
        const cpuk_gemm *g = kinds[q].g;
        gemm_case t = {.kind = kinds[q].kind,
                       .a_type = kinds[q].a,
                       .b_type = kinds[q].b,
                       .m = shapes[s][0],
                       .n = shapes[s][1],
                       .k = shapes[s][2],
                       .a_trans = v & 1,
                       .b_trans = v & 2,
                       .accumulate = v & 4};
        gemm_data d = gemm_data_make(&t);
        char *whole = gemm_run_blocks(g, &t, &d);
        t.bm = 2u * g->mr, t.bn = g->nr, t.bk = g->kr, t.b_plain = v & 4;
        char *cut = gemm_run_blocks(g, &t, &d);
        CHECK(memcmp(whole, cut, t.m * (t.n + 5) * 4) == 0, "%s %zux%zux%zu: bits depend on blocks", g->name, t.m, t.n,
              t.k);
        free(whole), free(cut);
        gemm_data_free(&d);
      }
  return test_report("test_cpu_amx");
}

/* Nothing here that a compiler could do by instructions that the machine may lack: no locals, nothing inlined. */
static int (*volatile tests)(void) = multiply;
int main(void) {
  static char why[100];
  if (cpuk_select("avx512", why, sizeof why) == NULL) {
    printf("%s\n", why);
    return 77;
  }
  return tests();
}
#else
int main(void) {
  printf("compiled without AVX-512\n");
  return 77;
}
#endif
