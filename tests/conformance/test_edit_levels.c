/* tests/conformance/test_edit_levels.c - a user dumps a program at each of the four levels, edits the text and runs it:
 * a matrix product with bias and gelu, and a softmax, on a device, against plain double-precision loops. Each edit
 * changes either the results, which must change as the text says, or how they are made, which the text of a level below
 * must show.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/open_device.h"
#include "tests/conformance/random_graph.h"

enum { M = 40, N = 36, K = 93, ROWS = 6, COLS = 40, MAX_OUT = M * N, TEXT = 1 << 20 };

#define FUNC(args, body) \
  "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(%r)\n}) {sym_name = \"main\"}\n"
static const char linear[] = FUNC("%A: tensor<93x40xf32>, %B: tensor<93x36xf32>, %bias: tensor<36xf32>",
                                  "%p = \"tessera.graph.matmul\"(%A, %B) {transpose_a = true}\n%z = \"tessera.graph.add\"(%p, %bias)\n%r = \"tessera.graph.gelu\"(%z)\n");
static const char softmax[] = FUNC("%x: tensor<6x40xf32>", "%r = \"tessera.graph.softmax\"(%x)\n");

/* What the edited program must compute, and where it must leave `unwritten`. */
typedef struct meaning {
  bool relu;     /* in gelu's place */
  int depth;     /* of the product; 0 = all */
  double factor; /* 0 = 1 */
  int rows;      /* written; 0 = all */
} meaning;

typedef struct edit {
  const char *from, *to; /* every occurrence; `to` NULL drops the lines that hold `from`; `from` ending in '\n' inserts
                            before lines with `to` */
} edit;

typedef struct a_case {
  const char *what, *graph;
  tsr_level from, level; /* the text to begin with: schedules are edited first where `level` is below */
  edit edits[6];         /* at `level` */
  meaning means;
  tsr_level shown_at;
  const char *shown;     /* in the edited program's text at shown_at; NULL = nothing to see */
  const char *device;    /* whose text alone has what is edited; NULL = all */
  const char *off;       /* TSR_DISABLE while it's compiled, NULL = nothing */
} a_case;

#define LINES \
  "      \"tessera.schedule.tile\"() {m = 8, n = 16, k = 32}\n      \"tessera.schedule.use_shared_memory\"() {enable = true, padding = 1}\n      \"tessera.schedule.pipeline_stages\"() {n = 2}\n"
#define BY_HAND {"schedule.tile\"", NULL}, {"use_shared_memory", NULL}, {"async_copy", NULL}, {"pipeline_stages", NULL}
static const edit tiled_matmul[] = {BY_HAND, {LINES, "tessera.graph.matmul"}, {NULL, NULL}};
static const edit tiled_softmax[] = {
    {"schedule.tile\"", NULL},
    {"      \"tessera.schedule.tile\"() {m = 2, n = 40, k = 1}\n", "tessera.graph.softmax"},
    {NULL, NULL}};

static const a_case cases[] = {
    {"graph: another activation", linear, TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH, {{"graph.gelu", "graph.relu"}}, {.relu = true}, 0, NULL, NULL},
    {"graph: a factor", softmax, TSR_LEVEL_GRAPH, TSR_LEVEL_GRAPH,
     {{"    %c = \"tessera.graph.constant\"() {value = dense<3.0> : tensor<6x40xf32>}\n    %s = \"tessera.graph.mul\"(%r, %c)\n", "graph.return"}, {"graph.return\"(%r)", "graph.return\"(%s)"}}, {.factor = 3}, 0, NULL, NULL},
    {"schedule: tile, padding and stages", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, {BY_HAND, {LINES, "tessera.graph.matmul"}}, {0}, TSR_LEVEL_TILE, "tile = [8 : i64, 16 : i64, 32 : i64]", NULL},
    {"schedule: padding", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, {BY_HAND, {LINES, "tessera.graph.matmul"}}, {0}, TSR_LEVEL_TILE, "padding = 1 : i64", "cpu"},
    {"schedule: tiles that a CPU's driver reads where they lie", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, {BY_HAND, {LINES, "tessera.graph.matmul"}}, {0}, TSR_LEVEL_TILE, "view<32x8xf32, strides=[40, 1]>", "vulkan"},
    {"schedule: rows of a block", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_SCHEDULE, {{"schedule.tile\"", NULL}, {"      \"tessera.schedule.tile\"() {m = 2, n = 40, k = 1}\n", "tessera.graph.softmax"}}, {0}, TSR_LEVEL_TILE,
     "grid = [1 : i64, 3 : i64, 1 : i64]", NULL},
    {"tile: padding and activation", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, {{"padding = 1 : i64", "padding = 5 : i64"}, {"tile.gelu", "tile.relu"}}, {.relu = true}, 0, NULL, "cpu"},
    {"tile: another activation", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, {{"tile.gelu", "tile.relu"}}, {.relu = true}, 0, NULL, "vulkan"},
    {"tile: a loop's end", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, {{"\"tessera.tile.const\"() {value = 93 : i64}", "\"tessera.tile.const\"() {value = 64 : i64}"}}, {.depth = 64}, 0, NULL, NULL},
    {"tile: a constant", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, {{"tile.fill\"() {value = 1.0", "tile.fill\"() {value = 2.0"}}, {.factor = 2}, 0, NULL, "vulkan"},
    {"tile: what follows a row", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE,
     {{"\"tessera.tile.yield\"(%12) : (f32)", "%s = \"tessera.tile.add\"(%12, %12) : (f32, f32) -> f32\n      \"tessera.tile.yield\"(%s) : (f32)"}}, {.factor = 2}, 0, NULL, "cpu"},
    {"tile: the grid", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TILE, {{"grid = [1 : i64, 3", "grid = [1 : i64, 2"}}, {.rows = 4}, 0, NULL, NULL},
    {"target: another activation", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TARGET, {{"target.gelu", "target.relu"}}, {.relu = true}, 0, NULL, NULL},
    {"target: a window's depth", linear, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TARGET,
     {{"sizes = [93 : i64, 8 : i64]", "sizes = [64 : i64, 8 : i64]"}, {"view<93x8xf32", "view<64x8xf32"}, {"sizes = [93 : i64, 16 : i64]", "sizes = [64 : i64, 16 : i64]"}, {"view<93x16xf32", "view<64x16xf32"}}, {.depth = 64}, 0, NULL, "cpu"},
    {"target: a constant", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TARGET, {{"value = 1.0", "value = 2.0"}}, {.factor = 2}, 0, NULL, NULL, "reduction_kernels"}, /* the CPU's whole softmax has no text for it */
    {"target: the grid", softmax, TSR_LEVEL_SCHEDULE, TSR_LEVEL_TARGET, {{"grid = [1 : i64, 3", "grid = [1 : i64, 2"}}, {.rows = 4}, 0, NULL, NULL},
};

static const float unwritten = -77;
static float a[M * K], b[K * N], bias[N], x[ROWS * COLS];

static double wanted(const a_case *c, int i, int j) {
  int depth = c->means.depth ? c->means.depth : K, rows = c->graph == linear ? M : c->means.rows ? c->means.rows : ROWS;
  if (i >= rows) return unwritten;
  if (c->graph == linear) {
    double z = bias[j];
    for (int k = 0; k < depth; k++) z += (double)a[k * M + i] * b[k * N + j];
    return c->means.relu ? fmax(z, 0) : z * 0.5 * (1 + erf(z / sqrt(2)));
  }
  double m = -INFINITY, s = 0;
  for (int k = 0; k < COLS; k++) { /* no fmax: gcc 12 for aarch64 fails on a maximum of floats in double */
    double v = x[i * COLS + k];
    if (v > m) m = v;
  }
  for (int k = 0; k < COLS; k++) s += exp(x[i * COLS + k] - m);
  return (c->means.factor != 0 ? c->means.factor : 1) * exp(x[i * COLS + j] - m) / s;
}

/* text has room for TEXT bytes. False if there is nothing to edit, unless lines are dropped. */
static bool apply(char *text, const edit *e) {
  bool insert = e->from[strlen(e->from) - 1] == '\n', found = false;
  const char *key = insert ? e->to : e->from;
  char *out = malloc(TEXT), *o = out;
  for (const char *at = text; *at;) {
    const char *end = strchr(at, '\n');
    size_t n = end ? (size_t)(end - at) + 1 : strlen(at);
    char *line = strndup(at, n), *hit = strstr(line, key);
    found |= hit != NULL;
    if (hit && insert) o += sprintf(o, "%s%s", e->from, line);
    else if (!hit || !e->to) o += sprintf(o, "%s", hit ? "" : line);
    else {
      const char *p = line;
      for (; hit; p = hit + strlen(key), hit = strstr(p, key)) o += sprintf(o, "%.*s%s", (int)(hit - p), p, e->to);
      o += sprintf(o, "%s", p);
    }
    free(line);
    at += n;
  }
  memcpy(text, out, (size_t)(o - out));
  text[o - out] = 0;
  free(out);
  return found || !e->to;
}

/* `text` becomes its program's text at a level. */
static tsr_status lower(tsr_context *ctx, tsr_device *dev, char *text, tsr_level level) {
  tsr_program *p = NULL;
  char *out = NULL;
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "text", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  if (!st) st = tsr_program_dump(p, level, &out, NULL);
  if (!st) snprintf(text, TEXT, "%s", out);
  if (out) tsr_text_free(ctx, &out);
  tsr_program_destroy(&p);
  return st;
}

static tsr_status run(tsr_device *dev, const a_case *c, const char *text, float *y) {
  const struct {
    const float *p;
    size_t bytes;
  } in[] = {{c->graph == linear ? a : x, c->graph == linear ? sizeof a : sizeof x}, {b, sizeof b}, {bias, sizeof bias}};
  size_t bytes = sizeof *y * (c->graph == linear ? M * N : ROWS * COLS);
  tsr_program *p = NULL;
  tsr_binding bi[3] = {{0}}, bo = {0};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), c->what, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  for (int i = 0; !st && i < (c->graph == linear ? 3 : 1); i++) {
    st = tsr_buffer_create(dev, in[i].bytes, TSR_MEMORY_DEVICE, &bi[i].buffer);
    if (!st) st = tsr_buffer_write(bi[i].buffer, 0, in[i].p, in[i].bytes);
  }
  for (int i = 0; i < MAX_OUT; i++) y[i] = unwritten;
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_buffer_write(bo.buffer, 0, y, bytes);
  if (!st) st = tsr_program_run(p, NULL, bi, &bo);
  if (!st) st = tsr_buffer_read(bo.buffer, 0, y, bytes);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&bi[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
  return st;
}

/* f32 sums of K + 2 terms below 1 and a few roundings of gelu: K^2 u; softmax: values below 3 after some ten roundings.
 */
static bool right(const a_case *c, const float *y) {
  int rows = c->graph == linear ? M : ROWS, cols = c->graph == linear ? N : COLS;
  double tolerance = c->graph == linear ? (double)K * K * 5.96e-8 : 30 * 5.96e-8;
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < cols; j++) {
      double want = wanted(c, i, j), have = y[i * cols + j];
      if (fabs(have - want) <= tolerance) continue;
      printf("FAIL %s: [%d, %d] is %.9g, not %.9g\n", c->what, i, j, have, want);
      return false;
    }
  return true;
}

static bool one(tsr_context *ctx, tsr_device *dev, const a_case *c) {
  static char text[TEXT];
  static float y[MAX_OUT];
  bool ok = true;
  snprintf(text, sizeof text, "%s", c->graph);
  tsr_status st = lower(ctx, dev, text, c->from);
  if (!st && c->level > c->from) {
    for (const edit *e = c->graph == linear ? tiled_matmul : tiled_softmax; e->from; e++) ok &= apply(text, e);
    st = lower(ctx, dev, text, c->level);
  }
  for (const edit *e = c->edits; !st && e->from; e++)
    if (!apply(text, e)) printf("FAIL %s: no \"%s\" in\n%.4000s\n", c->what, e->from, text), ok = false;
  if (!st) st = run(dev, c, text, y);
  if (!st) ok = ok && right(c, y);
  if (!st && c->shown) {
    st = lower(ctx, dev, text, c->shown_at);
    if (!st && !strstr(text, c->shown)) printf("FAIL %s: no \"%s\" in\n%.4000s\n", c->what, c->shown, text), ok = false;
  }
  if (st) printf("FAIL %s: %s\n", c->what, tsr_status_message(st));
  ok &= !st;
  tsr_status_free(st);
  return ok;
}

static void fill(rng *r, float *p, int n) {
  for (int i = 0; i < n; i++) p[i] = (float)(2 * rng_unit(r) - 1);
}

int main(void) {
  const char *device;
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  int n = 0, others = 0, wrong = 0;
  int rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  rng r = {7};
  fill(&r, a, M * K), fill(&r, b, K * N), fill(&r, bias, N), fill(&r, x, ROWS * COLS);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (cases[i].device && strncmp(cases[i].device, device, strlen(cases[i].device))) {
      others++;
      continue;
    }
    n++;
    setenv("TSR_DISABLE", cases[i].off ? cases[i].off : "", 1);
    wrong += !one(ctx, dev, &cases[i]);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%d edits on %s, %d wrong, %d skipped: of other devices\n", n, device, wrong, others);
  return wrong != 0;
}
