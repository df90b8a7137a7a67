/* tests/support/gate_list.c - see gate_list.h. */
#include "tests/support/gate_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/tile_gen.h"

enum { MAX_KERNELS = 512 };
static gate gates[MAX_KERNELS];
static int n_gates;

static gate *next_gate(strb *b) {
  if (n_gates == MAX_KERNELS || !strb_ok(b)) abort();
  gate *g = &gates[n_gates++];
  g->n = b->n;
  g->text = strdup(strb_text(b));
  strb_clear(b);
  return g;
}

static void add_matmul(const char *label, tile_matmul_case c) {
  strb b;
  char name[96];
  strb_init(&b, &al_default);
  snprintf(name, sizeof name, "%s_%s_%s_%c%c_%lldx%lldx%lld%s%s%s", label, tsr_dtype_name(c.in), tsr_dtype_name(c.out),
           c.ta ? 't' : 'n', c.tb ? 't' : 'n', (long long)c.bm, (long long)c.bn, (long long)c.bk, c.bias ? "_bias" : "",
           c.act ? c.act : "", c.residual ? "_res" : "");
  c.name = name;
  tile_gen_matmul(&b, &c);
  gate *g = next_gate(&b);
  snprintf(g->name, sizeof g->name, "%s", name);
  g->matrix = c.in != TSR_F32 && c.in != TSR_F64;
  g->in = c.in;
  if (!g->matrix) return;
  c.bm = c.bn = 64;
  c.bk = 16;
  tile_gen_matmul(&b, &c);
  g->plain = strdup(strb_text(&b));
  g->n_plain = b.n;
  strb_clear(&b);
}

static void add_matmuls(void) {
  static const struct {
    tsr_dtype in, out;
    int bk;
  } types[] = {{TSR_BF16, TSR_BF16, 64},    {TSR_F16, TSR_F16, 64},     {TSR_BF16, TSR_F32, 64},
               {TSR_F16, TSR_F32, 32},      {TSR_TF32, TSR_F32, 32},    {TSR_I8, TSR_I32, 128},
               {TSR_F8E4M3, TSR_BF16, 128}, {TSR_F8E4M3, TSR_F32, 128}, {TSR_F8E5M2, TSR_F16, 128},
               {TSR_F32, TSR_F32, 16}};
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int layout = 0; layout < 3; layout++)
      for (int e = 0; e < 4; e++) {
        bool whole = types[t].in == TSR_I8, small = types[t].in == TSR_F32;
        if (whole && e > 1) continue;
        add_matmul("mm", (tile_matmul_case){.m = 512,
                                            .n = 512,
                                            .k = 512,
                                            .bm = small ? 64 : 128,
                                            .bn = small ? 64 : 128,
                                            .bk = types[t].bk,
                                            .in = types[t].in,
                                            .out = types[t].out,
                                            .ta = layout == 2,
                                            .tb = layout == 1,
                                            .bias = e > 0,
                                            .residual = e == 3,
                                            .act = whole    ? NULL
                                                   : e == 2 ? "gelu"
                                                   : e == 3 ? "silu"
                                                            : NULL});
      }
  static const int tiles[][3] = {{64, 64, 64},   {128, 256, 64}, {64, 256, 64},
                                 {256, 128, 64}, {64, 128, 64},  {128, 64, 32}};
  for (size_t t = 0; t < sizeof tiles / sizeof *tiles; t++)
    for (int d = 0; d < 2; d++) {
      add_matmul("tile", (tile_matmul_case){.m = 1024,
                                            .n = 1024,
                                            .k = 1024,
                                            .bm = tiles[t][0],
                                            .bn = tiles[t][1],
                                            .bk = tiles[t][2],
                                            .in = d ? TSR_F16 : TSR_BF16,
                                            .out = d ? TSR_F16 : TSR_BF16,
                                            .tb = d});
      gates[n_gates - 1].whole = true;
    }
  for (int d = 0; d < 2; d++) {
    tsr_dtype x = d ? TSR_F8E5M2 : TSR_F8E4M3;
    add_matmul("tile",
               (tile_matmul_case){
                   .m = 1024, .n = 1024, .k = 1024, .bm = 128, .bn = 128, .bk = 128, .in = x, .out = x, .tb = true});
    gates[n_gates - 1].whole = true;
  }
  for (int d = 0; d < 2; d++) {
    tsr_dtype x = d ? TSR_F16 : TSR_BF16;
    add_matmul("batched",
               (tile_matmul_case){
                   .m = 256, .n = 256, .k = 256, .batch = 4, .bm = 128, .bn = 128, .bk = 64, .in = x, .out = x});
    add_matmul("ragged", (tile_matmul_case){.m = 250,
                                            .n = 136,
                                            .k = 200,
                                            .bm = 128,
                                            .bn = 128,
                                            .bk = 64,
                                            .in = x,
                                            .out = x,
                                            .bias = true,
                                            .act = "gelu"});
    add_matmul("odd",
               (tile_matmul_case){
                   .m = 77, .n = 95, .k = 70, .bm = 64, .bn = 64, .bk = 32, .in = x, .out = x, .residual = true});
    add_matmul("direct",
               (tile_matmul_case){
                   .m = 256, .n = 256, .k = 256, .bm = 64, .bn = 64, .bk = 32, .in = x, .out = x, .direct = true});
  }
}

/* Operands straight to LDS, by one group of waves and by two. */
static void add_direct(void) {
  static const struct { const char *path, *only; int bm, bn, bk; tsr_dtype in, out; bool transposed; } rows[] = {
      {"direct", "gfx90a gfx942 gfx950", 128, 128, 32, TSR_BF16, TSR_BF16, true}, {"direct", "gfx90a gfx942 gfx950", 128, 128, 64, TSR_F16, TSR_F32, true},
      {"direct", "gfx90a gfx942 gfx950", 128, 256, 32, TSR_F16, TSR_F16, true}, {"direct", "gfx90a gfx942 gfx950", 128, 128, 64, TSR_I8, TSR_I32, false},
      {"direct", "gfx950", 128, 128, 128, TSR_F8E4M3, TSR_BF16, false}, {"pingpong", "gfx942", 256, 256, 32, TSR_BF16, TSR_BF16, true},
      {"pingpong", "gfx942", 256, 256, 32, TSR_F16, TSR_F32, true}, {"pingpong", "gfx950", 256, 256, 64, TSR_BF16, TSR_BF16, true},
      {"direct", "gfx942", 128, 128, 64, TSR_F8E4M3, TSR_BF16, false}, {"pingpong", "gfx942", 256, 256, 64, TSR_F8E4M3, TSR_BF16, false},
      {"pingpong", "gfx942", 256, 256, 64, TSR_F8E5M2, TSR_F16, false}, {"pingpong", "gfx942", 256, 256, 64, TSR_I8, TSR_I32, false}, {"pingpong", "gfx950", 256, 256, 128, TSR_I8, TSR_I32, false},
      {"pingpong", "gfx950", 256, 128, 128, TSR_F8E4M3, TSR_BF16, false}, {"pingpong", "gfx950", 256, 128, 128, TSR_F8E5M2, TSR_F16, false}};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (int layout = rows[r].transposed ? 0 : 1; layout < (rows[r].transposed ? 3 : 2); layout++) {
      bool whole = rows[r].in == TSR_I8;
      add_matmul(rows[r].path, (tile_matmul_case){.m = 1000,
                                                  .n = 1024,
                                                  .k = 1024,
                                                  .bm = rows[r].bm,
                                                  .bn = rows[r].bn,
                                                  .bk = rows[r].bk,
                                                  .in = rows[r].in,
                                                  .out = rows[r].out,
                                                  .ta = layout == 2,
                                                  .tb = layout == 1,
                                                  .bias = layout == 1,
                                                  .residual = layout == 1,
                                                  .act = whole ? NULL : "gelu",
                                                  .path = rows[r].path});
      gates[n_gates - 1].overlap = true;
      gates[n_gates - 1].only = rows[r].only;
    }
}

static void add_row(tile_row_case c) {
  strb b;
  char name[96];
  strb_init(&b, &al_default);
  snprintf(name, sizeof name, "%s_%s_%s_%lld", c.op, tsr_dtype_name(c.in), tsr_dtype_name(c.out), (long long)c.n);
  c.name = name;
  tile_gen_row(&b, &c);
  snprintf(next_gate(&b)->name, sizeof gates->name, "%s", name);
}

static void add_rows(void) {
  static const char *const rows[] = {"softmax", "rmsnorm", "layernorm", "sum", "max"};
  static const char *const maps[] = {"exp",   "log",     "sqrt", "rsqrt", "tanh",      "erf",  "sin", "cos",
                                     "floor", "sigmoid", "relu", "gelu",  "gelu_tanh", "silu", "abs", "neg"};
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3};
  for (size_t t = 0; t < 4; t++) {
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
      add_row(
          (tile_row_case){.op = rows[r], .rows = 1024, .n = 1024, .block_rows = 1, .in = types[t], .out = types[t]});
      if (t < 3)
        add_row(
            (tile_row_case){.op = rows[r], .rows = 1000, .n = 4097, .block_rows = 1, .in = types[t], .out = types[t]});
    }
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++)
      if (t < 3 || m < 4)
        add_row(
            (tile_row_case){.op = maps[m], .rows = 1000, .n = 1024, .block_rows = 1, .in = types[t], .out = types[t]});
  }
}

/* Appended to the list: the sample is taken by places in it. */
static void add_rounding(void) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16};
  for (size_t t = 0; t < 3; t++)
    add_row((tile_row_case){.op = "round", .rows = 1000, .n = 1024, .block_rows = 1, .in = types[t], .out = types[t]});
}

/* Default plans: a product with bias and gelu; the reduction kernels. What a device runs when nobody chose must not
 * spill either. */
static void add_plans(void) {
  static const int shapes[][3] = {{1, 4096, 4096},   {4, 4096, 1024},    {16, 4096, 4096},  {64, 512, 8192},
                                  {512, 4096, 4096}, {1536, 1536, 8192}, {4096, 4096, 4096}};
  static const char *const types[] = {"bf16", "f16", "f8E4M3FN", "f32"}, *const rows[] = {"softmax", "rmsnorm",
                                                                                          "layernorm"};
  strb b;
  strb_init(&b, &al_default);
  for (int s = 0; s < 7; s++)
    for (int t = 0; t < 4; t++)
      for (int transposed = 0; transposed < 2; transposed++) {
        int m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        const char *x = types[t];
        strb_printf(&b,
                    "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>, %%B: "
                    "tensor<%dx%dx%s>, %%v: tensor<%dx%s>):\n",
                    m, k, x, transposed ? n : k, transposed ? k : n, x, n, x);
        strb_printf(&b,
                    "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {transpose_b = %s}\n%%1 = \"tessera.graph.add\"(%%0, "
                    "%%v)\n%%2 = \"tessera.graph.gelu\"(%%1)\n",
                    transposed ? "true" : "false");
        strb_puts(&b, "\"tessera.graph.return\"(%2)\n}) {sym_name = \"main\"} }) : () -> ()\n");
        gate *g = next_gate(&b);
        g->graph = true;
        g->overlap = m >= 64 && (t == 0 || t == 1);
        snprintf(g->name, sizeof g->name, "plan_%s_%dx%dx%d_%s", x, m, n, k, transposed ? "nt" : "nn");
      }
  static const int lengths[] = {1024,    32768,   50257,
                                1 << 16, 1 << 17, 1 << 20}; /* a block's, a cluster's (sm_90a), and longer */
  for (int r = 0; r < 3; r++)
    for (int l = 0; l < 6; l++) {
      int n = lengths[l];
      strb_printf(&b,
                  "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: tensor<64x%dxf32>, %%w: "
                  "tensor<%dxf32>, %%v: tensor<%dxf32>):\n",
                  n, n, n);
      strb_printf(&b,
                  r == 0   ? "%%0 = \"tessera.graph.%s\"(%%A)\n"
                  : r == 1 ? "%%0 = \"tessera.graph.%s\"(%%A, %%w)\n"
                           : "%%0 = \"tessera.graph.%s\"(%%A, %%w, %%v)\n",
                  rows[r]);
      strb_puts(&b, "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"} }) : () -> ()\n");
      gate *g = next_gate(&b);
      g->graph = true;
      snprintf(g->name, sizeof g->name, "plan_%s_%d", rows[r], n);
      g->always = r == 2 && (n == 32768 || n == 1 << 16); /* the most elements a thread; they once spilled */
    }
}

/* Norms of a sum that is a result too: what a thread holds of a row, it holds until the end. Appended, as above. */
static void add_sums(void) {
  static const int lengths[] = {4096, 32768, 1 << 16};
  static const char *const types[] = {"f32", "bf16"};
  strb b;
  strb_init(&b, &al_default);
  for (int l = 0; l < 3; l++)
    for (int t = 0; t < 2; t++) {
      const int n = lengths[l];
      const char *x = types[t];
      strb_printf(&b,
                  "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<64x%dx%s>, %%B: tensor<64x%dx%s>, %%w: tensor<%dx%s>, "
                  "%%v: tensor<%dx%s>):\n",
                  n, x, n, x, n, x, n, x);
      strb_puts(&b, "%0 = \"tessera.graph.add\"(%A, %B)\n%1 = \"tessera.graph.layernorm\"(%0, %w, %v)\n"
                    "\"tessera.graph.return\"(%0, %1)\n}) {sym_name = \"main\"}\n");
      gate *g = next_gate(&b);
      g->graph = true;
      snprintf(g->name, sizeof g->name, "plan_sum_layernorm_%s_%d", x, n);
      g->always = n == 32768 && t == 0; /* it once spilled */
    }
}

/* The hand-written attention with wide heads, at sizes of the speed test: warp specialised on sm_90a. */
static void add_attention(void) {
  static const tile_attention_case cases[] = {{16, 16384, 128, 128, 128, TSR_BF16}, {16, 16384, 128, 128, 128, TSR_F16},
                                              {16, 16384, 128, 128, 64, TSR_BF16},  {16, 4096, 64, 128, 128, TSR_F16},
                                              {16, 4096, 64, 192, 64, TSR_BF16},    {16, 4096, 256, 64, 64, TSR_BF16}};
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/tile/flash_attention.mlir", "r");
  static char program[1 << 16];
  if (!f) return;
  program[fread(program, 1, sizeof program - 1, f)] = 0;
  fclose(f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tile_attention_case *c = &cases[i];
    strb b;
    strb_init(&b, &al_default);
    tile_gen_attention(&b, program, c);
    gate *g = next_gate(&b);
    snprintf(g->name, sizeof g->name, "attention_%s_%lldx%lldx%lld", tsr_dtype_name(c->t), (long long)c->rows,
             (long long)c->columns, (long long)c->width);
    g->only = "sm_90a";
    g->matrix = true;
    g->in = c->t;
  }
}

static void add_files(void) {
  DIR *d = opendir(TSR_SOURCE_DIR "/tests/tile");
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[512], line[4096];
    if (!strstr(e->d_name, ".mlir")) continue;
    snprintf(path, sizeof path, TSR_SOURCE_DIR "/tests/tile/%.200s", e->d_name);
    FILE *f = fopen(path, "r");
    strb b;
    strb_init(&b, &al_default);
    while (f && fgets(line, sizeof line, f)) strb_puts(&b, line);
    if (f) fclose(f);
    snprintf(next_gate(&b)->name, sizeof gates->name, "%.90s", e->d_name);
  }
  if (d) closedir(d);
}

gate *gate_list(int *n) {
  n_gates = 0;
  add_matmuls();
  add_direct();
  add_rows();
  add_plans();
  add_attention();
  add_files();
  add_rounding();
  add_sums();
  *n = n_gates;
  return gates;
}
