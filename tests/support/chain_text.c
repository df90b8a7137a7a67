/* tests/support/chain_text.c - see chain_text.h. */
#include "tests/support/chain_text.h"

#include <stdarg.h>
#include <stdio.h>

#define V "tensor<4xf32>"
#define M "tensor<8x8xf32>"

static const char *const names[N_CHAINS] = {"layers",   "adds",  "softmaxes", "sines", "fan",   "inputs", "results",
                                            "returned", "views", "slices",    "mixed", "skips", "mirror", "concat",
                                            "twice"};
const char *chain_name(chain_kind k) { return names[k]; }

typedef struct text {
  strb *out;
  strb args, results, types;
  int n_results;
} text;

static void arg(text *t, const char *type, const char *fmt, ...) TSR_PRINTF(3, 4);

static void arg(text *t, const char *type, const char *fmt, ...) {
  char name[64];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(name, sizeof name, fmt, ap);
  va_end(ap);
  strb_printf(&t->args, "%s%%%s: %s", t->args.n ? ", " : "", name, type);
}

static void give(text *t, const char *type, const char *prefix, int i) {
  strb_printf(&t->results, "%s%%%s%d", t->n_results ? ", " : "", prefix, i);
  strb_printf(&t->types, "%s%s", t->n_results++ ? ", " : "", type);
}

/* %v<i> = op of %v<i - 1>, and of %a where two. */
static void step(text *t, int i, const char *op, bool two, const char *attrs, const char *type) {
  strb_printf(t->out, "    %%v%d = \"tessera.graph.%s\"(%%v%d%s) %s : (%s%s%s) -> %s\n", i, op, i - 1,
              two ? ", %a" : "", attrs, type, two ? ", " : "", two ? type : "", type);
}

/* ---- kinds ----------------------------------------------------------------------------------------------------- */

static void layer(text *t, int i) {
  strb *b = t->out;
  arg(t, "tensor<64x64xf32>", "wq%d", i);
  arg(t, "tensor<64x256xf32>", "wu%d", i);
  arg(t, "tensor<256x64xf32>", "wd%d", i);
  arg(t, "tensor<64xf32>", "g%d", i);
  arg(t, "tensor<64xf32>", "b%d", i);
#define T "tensor<16x64xf32>"
#define P "tensor<16x16xf32>"
#define H "tensor<16x256xf32>"
  strb_printf(b,
              "    %%n%d = \"tessera.graph.layernorm\"(%%x%d, %%g%d, %%b%d) : (" T
              ", tensor<64xf32>, tensor<64xf32>) -> " T "\n",
              i, i, i, i);
  strb_printf(b, "    %%q%d = \"tessera.graph.matmul\"(%%n%d, %%wq%d) : (" T ", tensor<64x64xf32>) -> " T "\n", i, i,
              i);
  strb_printf(b, "    %%s%d = \"tessera.graph.matmul\"(%%q%d, %%n%d) {transpose_b = true} : (" T ", " T ") -> " P "\n",
              i, i, i);
  strb_printf(b, "    %%p%d = \"tessera.graph.softmax\"(%%s%d) : (" P ") -> " P "\n", i, i);
  strb_printf(b, "    %%o%d = \"tessera.graph.matmul\"(%%p%d, %%q%d) : (" P ", " T ") -> " T "\n", i, i, i);
  strb_printf(b, "    %%r%d = \"tessera.graph.add\"(%%o%d, %%x%d) : (" T ", " T ") -> " T "\n", i, i, i);
  strb_printf(b, "    %%f%d = \"tessera.graph.matmul\"(%%r%d, %%wu%d) : (" T ", tensor<64x256xf32>) -> " H "\n", i, i,
              i);
  strb_printf(b, "    %%h%d = \"tessera.graph.gelu\"(%%f%d) : (" H ") -> " H "\n", i, i);
  strb_printf(b, "    %%y%d = \"tessera.graph.matmul\"(%%h%d, %%wd%d) : (" H ", tensor<256x64xf32>) -> " T "\n", i, i,
              i);
  strb_printf(b, "    %%x%d = \"tessera.graph.add\"(%%y%d, %%r%d) : (" T ", " T ") -> " T "\n", i + 1, i, i);
}

static void layers(text *t, int n) {
  arg(t, T, "x0");
  for (int i = 0; i < n / 10; i++) layer(t, i);
  give(t, T, "x", n / 10);
}

static void chain(text *t, int n, const char *op, bool two, const char *type, int returned) {
  arg(t, type, "v0");
  if (two) arg(t, type, "a");
  for (int i = 1; i <= n; i++) {
    step(t, i, op, two, "", type);
    if (returned && i % returned == 0) give(t, type, "v", i);
  }
  if (!t->n_results) give(t, type, "v", n);
}

/* %s<i> = %s<i - 1> + %<with><i>. */
static void sum(text *t, int n, const char *with) {
  for (int i = 1; i < n; i++)
    strb_printf(t->out, "    %%s%d = \"tessera.graph.add\"(%%s%d, %%%s%d) : (" V ", " V ") -> " V "\n", i, i - 1, with,
                i);
  give(t, V, "s", n - 1);
}

static void fan(text *t, int n) {
  arg(t, V, "a");
  strb_printf(t->out, "    %%v = \"tessera.graph.sin\"(%%a) : (" V ") -> " V
                      "\n    %%s0 = \"tessera.graph.cos\"(%%v) : (" V ") -> " V "\n");
  for (int i = 1; i < n / 2; i++)
    strb_printf(t->out, "    %%w%d = \"tessera.graph.%s\"(%%v) {dtype = \"f32\"} : (" V ") -> " V "\n", i, "cast");
  strb_printf(t->out, "    %%w0 = \"tessera.graph.exp\"(%%v) : (" V ") -> " V "\n");
  sum(t, n / 2, "w");
}

static void inputs(text *t, int n) {
  arg(t, V, "s0");
  for (int i = 1; i < n; i++) arg(t, V, "a%d", i);
  sum(t, n, "a");
}

static void returned(text *t, int n) {
  arg(t, V, "a");
  strb_printf(t->out, "    %%v0 = \"tessera.graph.sin\"(%%a) : (" V ") -> " V "\n");
  for (int i = 0; i < n; i++) give(t, V, "v", 0);
}

static void views(text *t, int n) {
  arg(t, M, "v0");
  for (int i = 1; i <= n; i++) {
    bool turn = i % 2;
    strb_printf(t->out, "    %%v%d = \"tessera.graph.%s\"(%%v%d) {%s} : (%s) -> %s\n", i,
                turn ? "transpose" : "reshape", i - 1,
                !turn ? i % 4 ? "shape = [4, 16]" : "shape = [8, 8]" : "perm = [1, 0]",
                i % 4 == 1 || i % 4 == 2 ? M
                : i % 4 == 3             ? "tensor<4x16xf32>"
                                         : "tensor<16x4xf32>",
                i % 4 == 1   ? M
                : i % 4 == 2 ? "tensor<4x16xf32>"
                : i % 4 == 3 ? "tensor<16x4xf32>"
                             : M);
  }
  give(t, n % 4 < 2 ? M : n % 4 == 2 ? "tensor<4x16xf32>" : "tensor<16x4xf32>", "v", n);
}

static void slices(text *t, int n) {
  arg(t, "tensor<1x9xf32>", "v0");
  for (int i = 1; i <= n; i++)
    if (i % 2)
      strb_printf(
          t->out,
          "    %%v%d = \"tessera.graph.broadcast\"(%%v%d) {shape = [3, 9]} : (tensor<1x9xf32>) -> tensor<3x9xf32>\n", i,
          i - 1);
    else
      strb_printf(t->out,
                  "    %%v%d = \"tessera.graph.slice\"(%%v%d) {starts = [1, 0], sizes = [1, 9], strides = [1, 1]} : "
                  "(tensor<3x9xf32>) -> tensor<1x9xf32>\n",
                  i, i - 1);
  give(t, n % 2 ? "tensor<3x9xf32>" : "tensor<1x9xf32>", "v", n);
}

static void mixed(text *t, int n) {
  static const struct {
    const char *op, *attrs;
    bool two;
  } ops[] = {{"softmax", "", false},   {"add", "", true},  {"transpose", "{perm = [1, 0]}", false},
             {"matmul", "", true},     {"sin", "", false}, {"mul", "", true},
             {"layernorm", "", false}, {"sub", "", true}};
  arg(t, M, "v0");
  arg(t, M, "a");
  for (int i = 1; i <= n; i++) step(t, i, ops[i % 8].op, ops[i % 8].two, ops[i % 8].attrs, M);
  give(t, M, "v", n);
}

static void skips(text *t, int n) {
  arg(t, M, "b");
  arg(t, M, "v0");
  strb_printf(t->out, "    %%a = \"tessera.graph.sin\"(%%b) : (" M ") -> " M "\n");
  for (int i = 1; i <= n; i++) step(t, i, i % 3 == 1 ? "softmax" : i % 3 == 2 ? "matmul" : "mul", i % 3 != 1, "", M);
  give(t, M, "v", n);
}

static void mirror(text *t, int n) {
  arg(t, M, "v0");
  arg(t, M, "a");
  for (int i = 1; i <= n / 2; i++) step(t, i, i % 2 ? "softmax" : "matmul", i % 2 == 0, "", M);
  strb_printf(t->out, "    %%d%d = \"tessera.graph.neg\"(%%v%d) : (" M ") -> " M "\n", n / 2, n / 2);
  for (int i = n / 2; i-- > 0;)
    strb_printf(t->out, "    %%d%d = \"tessera.graph.%s\"(%%d%d, %%v%d) : (" M ", " M ") -> " M "\n", i,
                i % 3 ? "mul" : "matmul", i + 1, i);
  give(t, M, "d", 0);
}

static void concat(text *t, int n) {
  char all[32];
  snprintf(all, sizeof all, "tensor<%dxf32>", 4 * n);
  for (int i = 0; i < n; i++) arg(t, V, "a%d", i);
  strb_puts(t->out, "    %v0 = \"tessera.graph.concat\"(");
  for (int i = 0; i < n; i++) strb_printf(t->out, "%s%%a%d", i ? ", " : "", i);
  strb_puts(t->out, ") {axis = 0} : (");
  for (int i = 0; i < n; i++) strb_printf(t->out, "%s" V, i ? ", " : "");
  strb_printf(t->out, ") -> %s\n", all);
  give(t, all, "v", 0);
}

static void twice(text *t, int n) {
  static const char *const types[] = {"tensor<1xf32>", "tensor<1x1xf32>"}, *const shapes[] = {"1", "1, 1"};
  int is = 0, v = 0;
  arg(t, types[0], "v0");
  for (int i = 1; i <= n / 2; i++, v++) {
    strb_printf(t->out, "    %%t%d = \"tessera.graph.tanh\"(%%v%d) : (%s) -> %s\n", v, v, types[is], types[is]);
    strb_printf(t->out, "    %%v%d = \"tessera.graph.add\"(%%v%d, %%t%d) : (%s, %s) -> %s\n", v + 1, v, v, types[is],
                types[is], types[is]);
    if (i % 20 && i < n / 2) continue;
    strb_printf(t->out, "    %%v%d = \"tessera.graph.reshape\"(%%v%d) {shape = [%s]} : (%s) -> %s\n", v + 2, v + 1,
                shapes[!is], types[is], types[!is]);
    is = !is, v++;
  }
  give(t, types[is], "v", v);
}

void chain_text(chain_kind k, int n, strb *out) {
  strb body;
  strb_init(&body, out->al);
  text t = {.out = &body};
  strb_init(&t.args, out->al);
  strb_init(&t.results, out->al);
  strb_init(&t.types, out->al);
  switch (k) {
  case CHAIN_LAYERS: layers(&t, n); break;
  case CHAIN_ADDS: chain(&t, n, "add", true, V, 0); break;
  case CHAIN_SOFTMAXES: chain(&t, n, "softmax", false, "tensor<2x8xf32>", 0); break;
  case CHAIN_SINES: chain(&t, n, "sin", false, V, 10); break;
  case CHAIN_FAN: fan(&t, n); break;
  case CHAIN_INPUTS: inputs(&t, n); break;
  case CHAIN_RESULTS: chain(&t, n, "sin", false, V, 1); break;
  case CHAIN_RETURNED: returned(&t, n); break;
  case CHAIN_VIEWS: views(&t, n); break;
  case CHAIN_SLICES: slices(&t, n); break;
  case CHAIN_MIXED: mixed(&t, n); break;
  case CHAIN_SKIPS: skips(&t, n); break;
  case CHAIN_MIRROR: mirror(&t, n); break;
  case CHAIN_TWICE: twice(&t, n); break;
  default: concat(&t, n);
  }
  strb_printf(out, "\"builtin.module\"() ({\n  \"tessera.graph.func\"() ({\n  ^bb0(%s):\n%s", strb_text(&t.args),
              strb_text(&body));
  strb_printf(out,
              "    \"tessera.graph.return\"(%s) : (%s) -> ()\n  }) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n",
              strb_text(&t.results), strb_text(&t.types));
  out->failed |= body.failed || t.args.failed || t.results.failed || t.types.failed;
  strb_clear(&body);
  strb_clear(&t.args);
  strb_clear(&t.results);
  strb_clear(&t.types);
}
