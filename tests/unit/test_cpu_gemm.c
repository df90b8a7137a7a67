/* The gemm kernels of every instruction set this machine has: kinds, operand types, transposes, tails of m, n and k,
 * blocks, skinny, and that the bits don't depend on how the blocks are cut. */
#include <float.h>
#include <math.h>

#include "tests/support/cpu_gemm_test.h"

typedef struct kind_types {
  cpuk_gemm_kind kind;
  cpuk_dtype a, b;
} kind_types;
static const kind_types kinds[] = {
    {CPUK_GEMM_F32, CPUK_F32, CPUK_F32},       {CPUK_GEMM_F32, CPUK_BF16, CPUK_F16},      {CPUK_GEMM_F32, CPUK_F32, CPUK_F8E4M3},
    {CPUK_GEMM_BF16, CPUK_BF16, CPUK_BF16},    {CPUK_GEMM_BF16, CPUK_BF16, CPUK_F8E5M2},  {CPUK_GEMM_F16, CPUK_F16, CPUK_F16},
    {CPUK_GEMM_S8S8, CPUK_I8, CPUK_I8},        {CPUK_GEMM_U8S8, CPUK_U8, CPUK_I8},        {CPUK_GEMM_F64, CPUK_F64, CPUK_F64},
    {CPUK_GEMM_F64, CPUK_F32, CPUK_F64},       {CPUK_GEMM_F32_KAHAN, CPUK_F32, CPUK_F32}, {CPUK_GEMM_F32_KAHAN, CPUK_BF16, CPUK_F32},
    {CPUK_GEMM_F64_KAHAN, CPUK_F64, CPUK_F64}, {CPUK_GEMM_S16, CPUK_U8, CPUK_U8},         {CPUK_GEMM_S16, CPUK_I8, CPUK_U8},
    {CPUK_GEMM_S16, CPUK_I16, CPUK_I16},       {CPUK_GEMM_S16, CPUK_I16, CPUK_U8},        {CPUK_GEMM_S32, CPUK_I32, CPUK_I32},
    {CPUK_GEMM_S32, CPUK_I8, CPUK_I32},        {CPUK_GEMM_S64, CPUK_I64, CPUK_I64},       {CPUK_GEMM_S64, CPUK_U8, CPUK_I64},
};
static const size_t shapes[][3] = {
    {1, 1, 1},    {1, 0, 3},    {0, 5, 3},    {3, 5, 0},    {1, 33, 7},   {2, 31, 64},  {5, 16, 13},   {7, 17, 3},    {12, 32, 16},
    {13, 33, 17}, {16, 48, 65}, {24, 64, 96}, {25, 65, 31}, {31, 15, 66}, {37, 70, 40}, {64, 96, 128}, {33, 129, 130}, {16, 100, 300},
    {130, 150, 8}, {130, 150, 16}, {97, 70, 32},  {100, 300, 48}, /* rows of A one after the other, many */
};

static void check_kind(const cpuk_table *table, const kind_types *kt) {
  const cpuk_gemm *g = table->gemm[kt->kind];
  CHECK(g != NULL && (g->pack_types >> kt->a & 1) && (g->pack_types >> kt->b & 1), "%s: types", table->features);
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
    for (int v = (int)s & TSR_TEST_SLOW; v < 8; v += 1 + TSR_TEST_SLOW) {
      gemm_case t = {.kind = kt->kind,
                     .a_type = kt->a,
                     .b_type = kt->b,
                     .m = shapes[s][0],
                     .n = shapes[s][1],
                     .k = shapes[s][2],
                     .a_trans = v & 1,
                     .b_trans = v & 2,
                     .accumulate = v & 4};
      gemm_data d = gemm_data_make(&t);
      char *whole = gemm_run_blocks(g, &t, &d), *cut;
      t.bm = g->mr, t.bn = 2u * g->nr;
      cut = gemm_run_blocks(g, &t, &d);
      CHECK(memcmp(whole, cut, t.m * (t.n + 5) * cpuk_dtype_bytes(g->acc_type)) == 0,
            "%s %zux%zux%zu: bits depend on bm, bn", g->name, t.m, t.n, t.k);
      free(cut);
      t.bm = 3u * g->mr, t.bn = g->nr, t.bk = g->kr * ((8u + g->kr - 1) / g->kr);
      cut = gemm_run_blocks(g, &t, &d);
      if (gemm_is_integer(g->acc_type) || (kt->kind == CPUK_GEMM_F32 && strcmp(table->isa, "portable") != 0))
        CHECK(memcmp(whole, cut, t.m * (t.n + 5) * cpuk_dtype_bytes(g->acc_type)) == 0,
              "%s %zux%zux%zu: bits depend on bk", g->name, t.m, t.n, t.k);
      free(cut);
      t.b_plain = true;
      cut = gemm_run_blocks(g, &t, &d);
      if (gemm_is_integer(g->acc_type) || (kt->kind == CPUK_GEMM_F32 && strcmp(table->isa, "portable") != 0))
        CHECK(memcmp(whole, cut, t.m * (t.n + 5) * cpuk_dtype_bytes(g->acc_type)) == 0,
              "%s %zux%zux%zu: bits depend on b_plain", g->name, t.m, t.n, t.k);
      free(cut);
      if (!t.a_trans && g->a_inplace == (int)t.a_type && t.k % g->kr == 0) {
        t.in_place = true;
        cut = gemm_run_blocks(g, &t, &d);
        CHECK(memcmp(whole, cut, t.m * (t.n + 5) * cpuk_dtype_bytes(g->acc_type)) == 0,
              "%s %zux%zux%zu: bits depend on packing A", g->name, t.m, t.n, t.k);
        free(cut);
      }
      static const cpuk_dtype plain[CPUK_N_GEMM][2] = {{CPUK_F32, CPUK_F32}, {CPUK_BF16, CPUK_BF16},
                                                       {CPUK_F16, CPUK_F16}, {CPUK_I8, CPUK_I8},
                                                       {CPUK_U8, CPUK_I8},   {CPUK_F64, CPUK_F64}};
      if (g->skinny != NULL && t.m <= CPUK_SKINNY_M && !t.a_trans && plain[kt->kind][0] == t.a_type &&
          plain[kt->kind][1] == t.b_type)
        gemm_run_skinny(g, &t, &d);
      free(whole);
      gemm_data_free(&d);
    }
}

/* Every pair of integer types has a kind that takes it, and is exact at the corners of the types, where products are
 * largest. */
static void check_integer_pairs(const cpuk_table *table) {
  static const struct {
    cpuk_dtype t;
    int64_t corner[4];
  } types[] = {{CPUK_I8, {-128, 127, -1, 1}},
               {CPUK_U8, {255, 128, 127, 0}},
               {CPUK_I16, {-32768, 32767, 300, -1}},
               {CPUK_I32, {INT32_MIN, INT32_MAX, 70000, -1}},
               {CPUK_I64, {INT64_MIN, INT64_MAX, 5000000000, -1}}};
  enum { N = 5, K = 10 };
  for (int x = 0; x < N * N; x++) {
    cpuk_dtype ta = types[x / N].t, tb = types[x % N].t, acc = ta == CPUK_I64 || tb == CPUK_I64 ? CPUK_I64 : CPUK_I32;
    const cpuk_gemm *g = table->gemm[cpuk_gemm_kind_for(acc, ta, tb, false)];
    int64_t a[K], b[K], c = 0;
    uint64_t want = 0;
    CHECK(g->acc_type == acc && (g->pack_types >> ta & 1) && (g->pack_types >> tb & 1), "%s: %d by %d", table->features,
          ta, tb);
    for (int i = 0; i < K; i++) {
      int64_t va = types[x / N].corner[i % 3], vb = types[x % N].corner[i % 4];
      size_t ea = cpuk_dtype_bytes(ta), eb = cpuk_dtype_bytes(tb);
      memcpy((char *)a + (size_t)i * ea, &va, ea),
          memcpy((char *)b + (size_t)i * eb, &vb, eb); /* little-endian: the low bytes */
      want += (uint64_t)va * (uint64_t)vb;
    }
    void *pa = test_alloc(cpuk_packed_a_bytes(g, 1, K)), *pb = test_alloc(cpuk_packed_b_bytes(g, K, 1));
    g->pack_a(&(cpuk_pack_args){pa, a, ta, K, 1, 1, K});
    g->pack_b(&(cpuk_pack_args){pb, b, tb, 1, 1, K, 1});
    g->block(&(cpuk_block_args){.c = &c, .ldc = 1, .a = pa, .b = pb, .m = 1, .n = 1, .k = K});
    CHECK(acc == CPUK_I64 ? c == (int64_t)want : (int32_t)c == (int32_t)want, "%s %s: types %d by %d", table->features,
          g->name, ta, tb);
    free(pa), free(pb);
  }
}

static void product(const cpuk_gemm *g, cpuk_dtype t, const void *a, const void *b, float *c, const size_t size[3],
                    bool plain, bool accumulate, bool *small_sums) {
  size_t m = size[0], n = size[1], k = size[2];
  char *pa = test_alloc(cpuk_packed_a_bytes(g, m, k)),
       *pb = test_alloc(plain ? g->b_chunk * g->b_panel_bytes(k) : cpuk_packed_b_bytes(g, k, n));
  cpuk_pack_args args = {pb, b, t, (ptrdiff_t)n, 1, k, n};
  g->pack_a(&(cpuk_pack_args){pa, a, t, (ptrdiff_t)k, 1, m, k});
  if (!plain) g->pack_b(&args);
  g->block(&(cpuk_block_args){.c = c,
                              .ldc = (ptrdiff_t)n,
                              .a = pa,
                              .b = plain ? NULL : pb,
                              .b_plain = plain ? &args : NULL,
                              .m = m,
                              .n = n,
                              .k = k,
                              .accumulate = accumulate,
                              .small_sums = small_sums});
  free(pa), free(pb);
}

/* Denormals are numbers like any others: as operands on either side, as products, as sums so far. Everything here is
 * exact in f32, and the number of rows, which chooses the kernel, changes nothing. */
static void check_small(const cpuk_table *table, size_t m) {
  enum { M = 14, N = 70, K = 40 };
  static const struct {
    int row, column, a_exp, b_exp, c_exp;
  } cases[] = {
      {3, -1, -133, 0, 0}, {-1, 35, 0, -133, 0}, {3, 35, -70, -70, 0}, {-1, -1, 0, 0, -149}, {0, 0, -100, -33, -140}};
  const size_t size[3] = {m, N, K};
  for (int kind = CPUK_GEMM_F32; kind <= CPUK_GEMM_BF16; kind++)
    for (size_t x = 0; x < sizeof cases / sizeof *cases; x++)
      for (int plain = 0; plain < 2; plain++) {
        const cpuk_gemm *g = table->gemm[kind];
        uint16_t a[M * K], b[K * N];
        static float c[M * N];
        int bad = 0, row = cases[x].row < 0 ? -1 : cases[x].row % (int)m;
        for (int i = 0; i < M * K; i++)
          a[i] = (uint16_t)(test_to_bits(ldexpf((float)(i % 3 - 1), i / K == row ? cases[x].a_exp : 0)) >> 16);
        for (int i = 0; i < K * N; i++)
          b[i] =
              (uint16_t)(test_to_bits(ldexpf((float)(1 + i % 2), i % N == cases[x].column ? cases[x].b_exp : 0)) >> 16);
        for (int i = 0; i < M * N; i++) c[i] = cases[x].c_exp ? ldexpf((float)(i % 5), cases[x].c_exp) : 0;
        for (int i = 0; cases[x].c_exp && i < M * K; i++) a[i] = i / K % 2 ? a[i] : 0;
        product(g, CPUK_BF16, a, b, c, size, plain, true, NULL);
        for (int i = 0; i < (int)m; i++)
          for (int j = 0; j < N; j++) {
            double want = cases[x].c_exp ? ldexp((i * N + j) % 5, cases[x].c_exp) : 0;
            for (int q = 0; q < K; q++)
              want += test_read(CPUK_BF16, a, (size_t)(i * K + q)) * test_read(CPUK_BF16, b, (size_t)(q * N + j));
            bad += c[i * N + j] != (float)want;
          }
        CHECK(bad == 0, "%s %s: %d of %zu sums with denormals are wrong, case %zu plain %d", table->features, g->name,
              bad, m * N, x, plain);
      }
}

/* Blocks of one product, cut along k, tell each other of small sums: the second block's operands are 0 and 1 and keep
 * the denormals that the first one made. */
static void check_small_sums(const cpuk_table *table) {
  enum { M = 5, N = 40, K = 12 };
  const cpuk_gemm *g = table->gemm[CPUK_GEMM_BF16];
  const size_t size[3] = {M, N, K};
  for (int x = 0; x < 6; x++) { /* small: A and B, A, B; plain or packed */
    uint16_t a[M * K], b[K * N], zeros[M * K] = {0};
    float c[M * N];
    bool small_sums = false;
    int bad = 0;
    const float va = x / 2 == 0 ? 0x1p-65f : x / 2 == 1 ? 0x1p-130f : 1, vb = 0x1p-130f / va;
    for (int i = 0; i < M * K; i++) a[i] = (uint16_t)(test_to_bits(i % K ? 0 : va) >> 16);
    for (int i = 0; i < K * N; i++) b[i] = (uint16_t)(test_to_bits(vb) >> 16);
    product(g, CPUK_BF16, a, b, c, size, x % 2, false, &small_sums);
    for (int i = 0; i < K * N; i++) b[i] = (uint16_t)(test_to_bits(1) >> 16);
    product(g, CPUK_BF16, zeros, b, c, size, x % 2, true, &small_sums);
    for (int i = 0; i < M * N; i++) bad += c[i] != 0x1p-130f;
    CHECK(bad == 0, "%s %s: %d sums lost in the second block, case %d", table->features, g->name, bad, x);
  }
}

/* A kernel that changes for small numbers gives all others the bits that they had. */
static void check_small_beside(const cpuk_table *table) {
  enum { M = 9, N = 70, K = 130 };
  const cpuk_gemm *g = table->gemm[CPUK_GEMM_BF16];
  const size_t size[3] = {M, N, K};
  static uint16_t a[M * K], b[K * N];
  static float c[2][M * N];
  for (int i = 0; i < M * K; i++) a[i] = (uint16_t)(test_to_bits((float)test_unit()) >> 16);
  for (int i = 0; i < K * N; i++) b[i] = (uint16_t)(test_to_bits((float)test_unit()) >> 16);
  product(g, CPUK_BF16, a, b, c[0], size, false, false, NULL);
  a[4 * K + 7] = 3; /* 3 * 2^-133 */
  product(g, CPUK_BF16, a, b, c[1], size, false, false, NULL);
  for (int i = 0; i < M; i++)
    CHECK(i == 4 || memcmp(c[0] + i * N, c[1] + i * N, N * sizeof(float)) == 0, "%s %s: row %d changed with row 4",
          table->features, g->name, i);
}

/* A sum that loses everything in f32 and half of everything in f64: 1, then big values that cancel. */
static void check_compensated(const cpuk_table *table) {
  enum { K = 1000 };
  float a[K], b[K];
  double a64[K], b64[K];
  for (int i = 0; i < K; i++) {
    a[i] = i % 2 ? -1e12f : 1e12f, b[i] = i % 4 < 2 ? 3.0f : 1.0f;
    a64[i] = i % 2 ? -1e25 : 1e25, b64[i] = i % 4 < 2 ? 3 : 1;
  }
  a[0] = 1, b[0] = 0.25f, a[1] = 1, b[1] = 0.5f;
  a64[0] = 1, b64[0] = 0.25, a64[1] = 1, b64[1] = 0.5;
  for (int kind = CPUK_GEMM_F32_KAHAN; kind <= CPUK_GEMM_F64_KAHAN; kind++) {
    const cpuk_gemm *g = table->gemm[kind];
    cpuk_dtype t = kind == CPUK_GEMM_F32_KAHAN ? CPUK_F32 : CPUK_F64;
    void *pa = test_alloc(cpuk_packed_a_bytes(g, 1, K)), *pb = test_alloc(cpuk_packed_b_bytes(g, K, 1));
    double c = 7, comp = 7;
    g->pack_a(&(cpuk_pack_args){pa, t == CPUK_F32 ? (void *)a : (void *)a64, t, K, 1, 1, K});
    g->pack_b(&(cpuk_pack_args){pb, t == CPUK_F32 ? (void *)b : (void *)b64, t, 1, 1, K, 1});
    g->block(&(cpuk_block_args){.c = &c, .ldc = 1, .comp = &comp, .a = pa, .b = pb, .m = 1, .n = 1, .k = K});
    if (t == CPUK_F64) c += comp;
    CHECK(c == 0.75, "%s: %g", g->name, c);
    free(pa), free(pb);
  }
}

/* A product's rounding error is kept up to the end of the range, where splitting a factor would overflow. */
static void check_compensated_range(const cpuk_table *table) {
  static const double pairs[][2] = {{-1.5e302, 0.7}, {0.7, -1.5e302}, {1.1e308, 1.6},          {DBL_MAX, 1},
                                    {1, -DBL_MAX},   {DBL_MAX, 1e-300}, {0x1p1023, 0x1p-1074}, {1e-7, 1.7e308},
                                    {0x1.fffffffffffffp511, 0x1.fffffffffffffp511}, {1.3, 1.7}, {3e-9, 1e302}};
  const cpuk_gemm *g = table->gemm[CPUK_GEMM_F64_KAHAN];
  void *pa = test_alloc(cpuk_packed_a_bytes(g, 1, 1)), *pb = test_alloc(cpuk_packed_b_bytes(g, 1, 1));
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    double a = pairs[i][0], b = pairs[i][1], c = 7, comp = 7;
    g->pack_a(&(cpuk_pack_args){pa, &a, CPUK_F64, 1, 1, 1, 1});
    g->pack_b(&(cpuk_pack_args){pb, &b, CPUK_F64, 1, 1, 1, 1});
    g->block(&(cpuk_block_args){.c = &c, .ldc = 1, .comp = &comp, .a = pa, .b = pb, .m = 1, .n = 1, .k = 1});
    CHECK(c == a * b && comp == fma(a, b, -c), "%s: %a times %a is %a and %a", g->name, a, b, c, comp);
  }
  free(pa), free(pb);
}

static void check_plan(const cpuk_table *table, const cpuk_caches *caches) {
  static const size_t s[][3] = {{1, 4096, 4096}, {16, 4096, 4096}, {512, 4096, 4096}, {4096, 512, 14336},
                                {17, 1, 3},      {256, 256, 256},  {1, 1, 1}};
  for (int kind = 0; kind < CPUK_N_GEMM; kind++)
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
      const cpuk_gemm *g = table->gemm[kind];
      cpuk_plan_args p = {.kind = (cpuk_gemm_kind)kind,
                          .m = s[i][0],
                          .n = s[i][1],
                          .k = s[i][2],
                          .a_rs = (ptrdiff_t)s[i][2],
                          .a_cs = 1,
                          .b_rs = (ptrdiff_t)s[i][1],
                          .b_cs = 1};
      cpuk_plan plan = cpuk_gemm_plan_for(table, &p, caches);
      CHECK(plan.bm % g->mr == 0 && plan.bn % g->nr == 0 && plan.bk % g->kr == 0 && plan.bm && plan.bn && plan.bk,
            "%s %zu %zu %zu", g->name, plan.bm, plan.bn, plan.bk);
      CHECK(!plan.skinny || (g->skinny != NULL && s[i][0] <= CPUK_SKINNY_M), "%s", g->name);
    }
}

/* Large products are cut into blocks that two threads share evenly; B packed ahead is cut no deeper in k than plain B.
 */
static void check_plan_for_threads(const cpuk_table *table, const cpuk_caches *caches) {
  static const size_t s[][3] = {{512, 512, 512},    {1024, 1024, 1024}, {2048, 2048, 2048},
                                {4096, 512, 14336}, {512, 4096, 4096},  {16, 4096, 4096}};
  for (int kind = 0; kind < CPUK_N_GEMM; kind++)
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
      const cpuk_gemm *g = table->gemm[kind];
      cpuk_plan_args p = {.kind = (cpuk_gemm_kind)kind,
                          .m = s[i][0],
                          .n = s[i][1],
                          .k = s[i][2],
                          .a_rs = (ptrdiff_t)s[i][2],
                          .a_cs = 1,
                          .b_rs = (ptrdiff_t)s[i][1],
                          .b_cs = 1,
                          .threads = 2};
      cpuk_plan plain = cpuk_gemm_plan_for(table, &p, caches);
      size_t n = ((p.m + plain.bm - 1) / plain.bm) * ((p.n + plain.bn - 1) / plain.bn);
      CHECK(n >= 2 && (n % 2 == 0 || n >= 9), "%s %zux%zux%zu: %zu blocks of %zu x %zu", g->name, p.m, p.n, p.k, n,
            plain.bm, plain.bn);
      p.b_packed = true;
      CHECK(cpuk_gemm_plan_for(table, &p, caches).bk >= plain.bk || plain.bk >= p.k, "%s", g->name);
    }
}

/* Two threads' shares of any product that both can have a part of: the larger one is at most a vector of columns or a
 * tile's rows more than half. All of k at once. */
static void check_shares(const cpuk_table *table, const cpuk_caches *caches) {
  const cpuk_gemm *g = table->gemm[CPUK_GEMM_F32];
  for (int i = 0; i < 400; i++) {
    cpuk_plan_args p = {.kind = CPUK_GEMM_F32,
                        .m = 1 + test_u32() % 500,
                        .n = 1 + test_u32() % 1000,
                        .k = 1 + test_u32() % 1024,
                        .a_rs = 1024,
                        .a_cs = 1,
                        .b_rs = 1024,
                        .b_cs = 1,
                        .threads = 2};
    if (i % 4 == 0) p.m = p.n = p.k = 64 + p.n % 192;
    const cpuk_plan plan = cpuk_gemm_plan_for(table, &p, caches);
    const size_t rows = plan.bm < p.m ? plan.bm : p.m, columns = plan.bn < p.n ? plan.bn : p.n;
    CHECK(plan.bm && plan.bn && plan.bk, "%zux%zux%zu", p.m, p.n, p.k);
    if (plan.skinny || g->kr >= 32) continue;
    CHECK(plan.bk >= p.k, "%zux%zux%zu: k %zu at once", p.m, p.n, p.k, plan.bk);
    const size_t blocks = ((p.m + rows - 1) / rows) * ((p.n + columns - 1) / columns);
    if (blocks == 2)
      CHECK(rows < p.m ? rows <= p.m / 2 + g->mr : columns <= p.n / 2 + g->nr / 2u, "%zux%zux%zu: %zu x %zu", p.m, p.n,
            p.k, rows, columns);
    else CHECK(blocks % 2 == 0 || blocks >= 8 || p.n <= 4u * g->nr, "%zux%zux%zu: %zu blocks", p.m, p.n, p.k, blocks);
  }
}

/* On this machine, and on all whose caches processors and hypervisors tell. */
static void check_plans(const cpuk_table *table) {
  static const size_t l1[] = {16, 24, 32, 48, 64, 96, 128, 192},
                      l2[] = {128, 256, 512, 1024, 1280, 1536, 2048, 3072, 4096, 16384};
  const cpuk_caches here = cpuk_cache_sizes();
  check_plan(table, &here);
  check_plan_for_threads(table, &here);
  check_shares(table, &here);
  for (size_t i = 0; i < sizeof l1 / sizeof *l1; i++)
    for (size_t k = TSR_TEST_SLOW ? i % 4 : 0; k < sizeof l2 / sizeof *l2; k += TSR_TEST_SLOW ? 4 : 1) {
      const cpuk_caches other = {l1[i] << 10, l2[k] << 10, 32 << 20};
      check_plan(table, &other);
      check_plan_for_threads(table, &other);
    }
}

static void check_select(void) {
  char err[200] = "";
  CHECK(cpuk_select("sse9", err, sizeof err) == NULL && strstr(err, "sse9") && strstr(err, "portable"), "%s", err);
  CHECK(cpuk_select("sse9", err, 8) == NULL && strlen(err) < 8, "%s", err);
  CHECK(cpuk_select("sse9", NULL, 0) == NULL, "no buffer");
  CHECK(cpuk_select(NULL, err, sizeof err) == cpuk_available(0) &&
            cpuk_select("auto", err, sizeof err) == cpuk_available(0),
        "auto");
  CHECK(strcmp(cpuk_select("portable", err, sizeof err)->isa, "portable") == 0, "portable");
#if !defined(__aarch64__)
  CHECK(cpuk_select("neon", err, sizeof err) == NULL && strstr(err, "isn't supported"), "%s", err);
#endif
}

/* An argument is the one instruction set to test. */
int main(int argc, char **argv) {
  const cpuk_table *t;
  int n = 0;
  check_select();
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++) {
    int before = n_failures;
    if (argc > 1 && strcmp(t->isa, argv[1])) continue;
    n++;
    t->thread_begin();
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) check_kind(t, &kinds[k]);
    check_integer_pairs(t);
    for (size_t m = 1; m <= 14; m += m < 4 ? 1 : 5) check_small(t, m);
    check_small_sums(t);
    check_small_beside(t);
    check_compensated(t);
    check_compensated_range(t);
    check_plans(t);
    t->thread_end();
    printf("%s: %s\n", t->features, n_failures == before ? "ok" : "FAILED");
  }
  if (!n) return printf("no %s here\n", argv[1]), 77;
  return test_report("test_cpu_gemm");
}
