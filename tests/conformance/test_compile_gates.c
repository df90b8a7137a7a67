/* Every family of kernels, through the lowering and the printer, to binary: NVRTC for the CUDA architectures, clang for
 * the AMD ones (no GPU is needed for either); what clang makes is assembled too, inline assembly being text to it. No
 * spills, no serialized wgmma, the matrix instruction that the architecture has for the types and, on AMD, waits that
 * leave loads in flight. gfx950 needs clang 20 or later. TSR_GATES=all compiles the whole list for each architecture,
 * else a sample is taken; TSR_GATES=list prints it, TSR_GATES_NAME=words limits it to names with these words,
 * TSR_GATES_KEEP=folder leaves the AMD sources and assembly there. What can't be compiled for want of a tool or a
 * capability is counted and printed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "backends/cuda/backend.h"
#include "backends/hip/backend.h"
#include "backends/simt/simt.h"
#include "core/emit/text/text.h"
#include "core/ir/ir.h"
#include "core/passes/lower.h"
#include "core/passes/simt/simt.h"
#include "tests/support/amd_asm.h"
#include "tests/support/plan.h"
#include "tests/support/tile_gen.h"

enum { MAX_KERNELS = 512 };

typedef struct gate {
  char name[96];
  char *text,
      *plain; /* for devices with a matrix instruction for the types; without (smaller tiles), NULL = the same */
  size_t n, n_plain;
  bool graph;  /* the text is a graph, planned by default for each device */
  bool matrix; /* a matmul of types that matrix instructions take */
  bool overlap; /* AMD: loads must be in flight during the arithmetic */
  bool whole;   /* AMD: whole tiles, nothing is done by some lanes alone */
  bool always;  /* in every sample, see is_always */
  const char *only; /* for these architectures; NULL = all */
  tsr_dtype in;
} gate;

static gate gates[MAX_KERNELS];
static int n_gates;
static const char *const cuda_archs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"};
static const char *const hip_archs[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
enum { N_CUDA = sizeof cuda_archs / sizeof *cuda_archs, N_HIP = sizeof hip_archs / sizeof *hip_archs };

/* ---- the list ---------------------------------------------------------------------------------------------------- */

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

/* ---- one compile ------------------------------------------------------------------------------------------------- */

static int compiled, skipped, failed, shared_out;

static void problem(const gate *g, const char *arch, const char *what, const char *detail) {
  printf("FAILED %s for %s: %s %s\n", g->name, arch, what, detail);
  failed++;
}

/* Is it compiled whatever the sample? For an architecture of each compiler back end that it once spilled on. */
static bool is_always(const gate *g, const char *arch) {
  return g->always && strstr("sm_80 sm_120 gfx942 gfx1100", arch);
}

static bool concerns(const gate *g, const char *arch) { return !g->only || strstr(g->only, arch); }

static bool has_f8(const char *arch) {
  return strcmp(arch, "sm_80") && strcmp(arch, "sm_86") && strcmp(arch, "gfx90a") && strcmp(arch, "gfx1100");
}
static bool expects_matrix(const gate *g, const char *arch) {
  if (!g->matrix) return false;
  if (g->in == TSR_F8E4M3 || g->in == TSR_F8E5M2) return has_f8(arch);
  if (g->in == TSR_TF32) return !strncmp(arch, "sm_", 3) || !strcmp(arch, "gfx942");
  return true;
}

/* The text of a kernel for an architecture; NULL if the lowering says that it can't be. */
static char *source_of(const gate *g, const tsr_caps *caps) {
  ir_module *tile = NULL, *target = NULL;
  strb b;
  strb_init(&b, &al_default);
  bool plain = g->plain && !expects_matrix(g, caps->arch);
  tsr_status st = g->graph ? plan_tile(g->text, g->n, g->name, caps, &tile)
                           : ir_parse(NULL, plain ? g->plain : g->text, plain ? g->n_plain : g->n, g->name, &tile);
  if (!st) st = tile_expand(tile, caps);
  if (!st) st = tile_to_simt(tile, caps, &target);
  if (!st) st = emit_text(target, caps, &b);
  if (st && tsr_status_code(st) == TSR_UNSUPPORTED)
    skipped++, printf("skipped %s for %s: %s\n", g->name, caps->arch, tsr_status_message(st));
  else if (st) problem(g, caps->arch, "lowering:", tsr_status_message(st));
  char *text = st ? NULL : strdup(strb_text(&b));
  tsr_status_free(st);
  ir_module_destroy(&tile);
  ir_module_destroy(&target);
  strb_clear(&b);
  return text;
}

static void quiet(void *user, int level, const char *text) {}
static const be_env env = {.al = &al_default, .log = quiet};

static struct { double ms; char what[128]; } slowest; /* processor time of NVRTC, for information */

/* Warpgroups that share a block's registers out anew may ask for what it got at launch, or they wait for ever: ptxas
 * says how much that is. */
static void check_registers(const gate *g, const char *arch, const char *text, const char *log) {
  for (const char *k = strstr(text, "\nKERNEL("); k; k = strstr(k + 1, "\nKERNEL(")) {
    const char *end = strstr(k + 1, "\nKERNEL("), *up = strstr(k, "setmaxnreg_inc<"),
               *down = strstr(k, "setmaxnreg_dec<");
    int threads = 0;
    char name[256];
    be_kernel_stats s;
    if (!up || !down || (end && up > end) || sscanf(k, "\nKERNEL(%d) %255[A-Za-z0-9_]", &threads, name) != 2) continue;
    simt_log_stats(log, name, &s);
    int want = (threads / 128 - 1) * atoi(up + 15) + atoi(down + 15),
        have = (s.registers + 7) / 8 * 8 * (threads / 128);
    shared_out++;
    if (want > have) problem(g, arch, "setmaxnreg asks for more registers than the block has", name);
  }
}

static bool check_cuda(const gate *g, const char *arch) {
  tsr_caps caps;
  void *code;
  size_t bytes;
  char *log;
  tsr_status st = cuda_backend.arch_caps(arch, &caps);
  char *text = st ? NULL : source_of(g, &caps);
  if (!text) return tsr_status_free(st), true;
  clock_t start = clock();
  st = cuda_backend.compile(&env, arch, text, &code, &bytes, &log);
  double ms = 1e3 * (double)(clock() - start) / CLOCKS_PER_SEC;
  if (ms > slowest.ms) snprintf(slowest.what, sizeof slowest.what, "%s for %s", g->name, arch), slowest.ms = ms;
  if (st && tsr_status_code(st) == TSR_UNAVAILABLE) {
    tsr_status_free(st);
    free(text);
    return false;
  }
  compiled++;
  if (st) problem(g, arch, "NVRTC:", tsr_status_message(st));
  if (!st) check_registers(g, arch, text, log);
  if (!st && strstr(log, "serialized")) problem(g, arch, "wgmma is serialized", "");
  for (const char *p = st ? NULL : strstr(log, "bytes spill stores"); p; p = strstr(p + 1, "bytes spill stores")) {
    int n = 0;
    const char *q = p - 2;
    while (q > log && q[-1] >= '0' && q[-1] <= '9') q--;
    if (sscanf(q, "%d", &n) == 1 && n) problem(g, arch, "spills", "");
  }
  if (!st && expects_matrix(g, arch) && !strstr(text, "mma.sync") && !strstr(text, "wgmma.mma_async"))
    problem(g, arch, "no matrix instruction", "");
  if (!st) {
    al_free(&al_default, code, bytes, 16);
    al_free(&al_default, log, strlen(log) + 1, 16);
  }
  tsr_status_free(st);
  free(text);
  return true;
}

/* The oldest clang here that knows the architecture (ROCm's own is seldom the newest); NULL if there is none. */
static const char *find_clang(const char *arch) {
  static const char *const names[] = {"clang-19", "clang-20", "clang-21", "clang-22"};
  char cmd[64];
  for (size_t i = !strcmp(arch, "gfx950"); i < sizeof names / sizeof *names; i++) {
    snprintf(cmd, sizeof cmd, "command -v %s >/dev/null", names[i]);
    if (!system(cmd)) return names[i];
  }
  return NULL;
}

/* The matrix instruction of an AMD architecture for operands of a type. */
static const char *amd_instruction(tsr_dtype in, const char *arch) {
  bool cdna2 = !strcmp(arch, "gfx90a"), cdna4 = !strcmp(arch, "gfx950"), wmma = strncmp(arch, "gfx9", 4) != 0;
  switch (in) {
    case TSR_BF16:
      return wmma    ? "v_wmma_f32_16x16x16_bf16"
             : cdna4 ? "v_mfma_f32_16x16x32_bf16"
             : cdna2 ? "v_mfma_f32_16x16x16bf16_1k"
                     : "v_mfma_f32_16x16x16_bf16";
    case TSR_F16:
      return wmma    ? "v_wmma_f32_16x16x16_f16"
             : cdna4 ? "v_mfma_f32_16x16x32_f16"
             : cdna2 ? "v_mfma_f32_16x16x16f16"
                     : "v_mfma_f32_16x16x16_f16";
    case TSR_I8:
      return wmma    ? "v_wmma_i32_16x16x16_iu8"
             : cdna4 ? "v_mfma_i32_16x16x64_i8"
             : cdna2 ? "v_mfma_i32_16x16x16i8"
                     : "v_mfma_i32_16x16x32_i8";
    case TSR_F8E4M3:
      return wmma    ? "v_wmma_f32_16x16x16_fp8_fp8"
             : cdna4 ? "v_mfma_f32_16x16x128_f8f6f4"
                     : "v_mfma_f32_16x16x32_fp8_fp8";
    case TSR_F8E5M2:
      return wmma    ? "v_wmma_f32_16x16x16_bf8_bf8"
             : cdna4 ? "v_mfma_f32_16x16x128_f8f6f4"
                     : "v_mfma_f32_16x16x32_bf8_bf8";
    case TSR_TF32: return "v_mfma_f32_16x16x8_xf32";
    default: return wmma ? "v_wmma" : "v_mfma";
  }
}

static void check_assembly(const gate *g, const char *arch, const char *s) {
  const char *fault = amd_asm_spills(s);
  if (fault) problem(g, arch, fault, "");
  if (expects_matrix(g, arch) && !amd_asm_has(s, amd_instruction(g->in, arch)))
    problem(g, arch, "lacks", amd_instruction(g->in, arch));
  bool loads = !strcmp(arch, "gfx90a")
                   ? strstr(s, ", off lds") != NULL
                   : amd_asm_has(s, !strcmp(arch, "gfx950") ? "global_load_lds_dwordx4" : "global_load_lds_dword");
  if (g->only && !loads) problem(g, arch, "no direct load", "");
  if (g->only && strstr(g->name, "pingpong") && (fault = amd_asm_turns(s))) problem(g, arch, fault, "");
  if (g->overlap && (fault = amd_asm_waits(s))) problem(g, arch, fault, "");
  if (g->whole && (fault = amd_asm_lane_branches(s))) problem(g, arch, fault, "");
}

static char *read_whole(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  char *p = NULL;
  *n = 0;
  if (!f) return NULL;
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  if (size >= 0 && (p = malloc((size_t)size + 1))) *n = fread(p, 1, (size_t)size, f), p[*n] = 0;
  fclose(f);
  return p;
}

static void check_hip(const gate *g, const char *arch, const char *clang) {
  tsr_caps caps;
  char stem[160], path[192], cmd[1024];
  tsr_status st = hip_backend.arch_caps(arch, &caps);
  char *text = st ? NULL : source_of(g, &caps);
  tsr_status_free(st);
  if (!text) return;
  const char *keep = getenv("TSR_GATES_KEEP");
  if (keep) snprintf(stem, sizeof stem, "%.60s/%s-%.80s", keep, arch, g->name);
  else snprintf(stem, sizeof stem, "/tmp/tsr-gate-%ld", (long)getpid());
  snprintf(path, sizeof path, "%s.hip", stem);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) exit(1);
  snprintf(cmd, sizeof cmd,
           "%s -x hip --cuda-device-only --offload-arch=%s -nogpulib -nogpuinc -O3 -S %s.hip -o %s.s 2>%s.err", clang,
           arch, stem, stem, stem);
  compiled++;
  size_t n;
  snprintf(path, sizeof path, "%s.err", stem);
  int rc = system(cmd);
  /* The compiler copies inline assembly as it is: only the assembler knows whether the architecture has it. */
  snprintf(cmd, sizeof cmd, "%s -target amdgcn-amd-amdhsa -mcpu=%s -c %s.s -o %s.o 2>%s.err", clang, arch, stem, stem,
           stem);
  if (rc || system(cmd)) {
    char *err = read_whole(path, &n);
    if (err) err[strcspn(err, "\n")] = 0;
    problem(g, arch, "clang:", err ? err : "");
    free(err);
  }
  unlink(path);
  snprintf(path, sizeof path, "%s.o", stem);
  unlink(path);
  snprintf(path, sizeof path, "%s.s", stem);
  char *s = read_whole(path, &n);
  if (s) check_assembly(g, arch, s);
  free(s);
  free(text);
  if (keep) return;
  unlink(path);
  snprintf(path, sizeof path, "%s.hip", stem);
  unlink(path);
}

int main(void) {
  const char *mode = getenv("TSR_GATES"), *only = getenv("TSR_GATES_ARCH"), *name = getenv("TSR_GATES_NAME");
  bool all = mode && !strcmp(mode, "all"), cuda = true;
  setvbuf(stdout, NULL, _IOLBF, 0);
  add_matmuls();
  add_direct();
  add_rows();
  add_plans();
  add_attention();
  add_files();
  add_rounding();
  add_sums();
  for (int i = 0, n = n_gates; i < n && name; i++) {
    if (!i) n_gates = 0;
    if (strstr(gates[i].name, name)) gates[n_gates++] = gates[i];
  }
  if (mode && !strcmp(mode, "list")) {
    for (int i = 0; i < n_gates; i++) puts(gates[i].name);
    return 0;
  }
  if (n_gates < 150 && !name) return printf("only %d kernels in the list\n", n_gates), 1;
  int step = all ? 1 : 53; /* under a minute */
  for (int a = 0; a < N_CUDA; a++)
    for (int i = 0; i < n_gates && cuda; i++) {
      const bool drawn = all || i % step == 5 * a % step || is_always(&gates[i], cuda_archs[a]);
      if (drawn && (!only || strstr(only, cuda_archs[a])) && concerns(&gates[i], cuda_archs[a]))
        cuda = check_cuda(&gates[i], cuda_archs[a]);
    }
  if (slowest.ms > 0)
    printf("slowest of NVRTC: %s, %.0f ms; %d kernels share out registers\n", slowest.what, slowest.ms, shared_out);
  if (!cuda) skipped += n_gates * N_CUDA, printf("skipped: no NVRTC here\n");
  for (int a = 0; a < N_HIP; a++) {
    if (only && !strstr(only, hip_archs[a])) continue;
    const char *clang = find_clang(hip_archs[a]);
    if (!clang) skipped += n_gates, printf("skipped: no clang for %s here\n", hip_archs[a]);
    for (int i = 0, forced = 0; i < n_gates && clang; i++) {
      bool first = gates[i].only && concerns(&gates[i], hip_archs[a]) &&
                   !forced++; /* its inline assembly is this architecture's own */
      if (!all && !first && i % step != 5 * a % step && !is_always(&gates[i], hip_archs[a])) continue;
      if (concerns(&gates[i], hip_archs[a])) check_hip(&gates[i], hip_archs[a], clang);
    }
  }
  printf("%d kernels in the list, %d compiled, %d skipped, %d failed\n", n_gates, compiled, skipped, failed);
  return failed ? 1 : compiled ? 0 : 77;
}
