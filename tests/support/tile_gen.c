/* tests/support/tile_gen.c - see tile_gen.h. */
#include "tests/support/tile_gen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"

#define T(s) "\"tessera.tile." s "\""
static const char *mlir(tsr_dtype t) { return dtype_get(t)->mlir; }
static long long ll(int64_t v) { return (long long)v; }

static void put_view(strb *b, const char *name, int64_t batch, int64_t rows, int64_t cols, tsr_dtype t) {
  strb_printf(b, "%%%s: !tessera.view<", name);
  if (batch) strb_printf(b, "%lldx", ll(batch));
  if (rows) strb_printf(b, "%lldx", ll(rows));
  strb_printf(b, "%lldx%s>", ll(cols), mlir(t));
}

static void put_window(strb *b, const char *out, const char *view, bool batch, const char *row, const char *col,
                       int64_t rows, int64_t cols) {
  strb_printf(b, "%%%s = " T("window") "(%%%s, %s%%%s, %%%s) {sizes = [%s%lld, %lld]}\n", out, view,
              batch ? "%bz, " : "", row, col, batch ? "0, " : "", ll(rows), ll(cols));
}

static void put_main_loop(strb *b, const tile_matmul_case *c, const char *acc) {
  int64_t ar = c->ta ? c->bk : c->bm, ac = c->ta ? c->bm : c->bk, br = c->tb ? c->bn : c->bk,
          bc = c->tb ? c->bk : c->bn;
  if (!c->direct) {
    strb_printf(b, "%%sa = " T("alloc") "() : () -> !tessera.shared<%lldx%lldx%s, pad=%d>\n", ll(ar), ll(ac),
                mlir(c->in), (int)(16 / tsr_dtype_size(c->in)));
    strb_printf(b, "%%sb = " T("alloc") "() : () -> !tessera.shared<%lldx%lldx%s, pad=%d>\n", ll(br), ll(bc),
                mlir(c->in), (int)(16 / tsr_dtype_size(c->in)));
  }
  strb_printf(b, "%%acc0 = " T("fill") "() {value = 0.0} : () -> !tessera.frag<%lldx%lldx%s>\n", ll(c->bm), ll(c->bn),
              acc);
  strb_printf(
      b,
      "%%acc = " T("for") "(%%zero, %%ke, %%bk, %%acc0) ({\n^bb0(%%k: index, %%part: !tessera.frag<%lldx%lldx%s>):\n",
      ll(c->bm), ll(c->bn), acc);
  put_window(b, "wa", "a", c->batch, c->ta ? "k" : "m0", c->ta ? "m0" : "k", ar, ac);
  put_window(b, "wb", "b", c->batch, c->tb ? "n0" : "k", c->tb ? "k" : "n0", br, bc);
  if (!c->direct)
    strb_puts(b, T("copy") "(%wa, %sa) {async = true}\n" T("copy") "(%wb, %sb) {async = true}\n" T("wait") "()\n");
  strb_printf(b,
              "%%next = " T("gemm") "(%%part, %%%s, %%%s) {transpose_a = %s, transpose_b = %s}\n" T(
                  "yield") "(%%next)\n}) {stages = %d}\n",
              c->direct ? "wa" : "sa", c->direct ? "wb" : "sb", c->ta ? "true" : "false", c->tb ? "true" : "false",
              c->stages ? c->stages : 2);
}

static void put_epilogue(strb *b, const tile_matmul_case *c, const char *acc) {
  const char *t = acc, *last = "x0";
  if (c->bias) {
    strb_printf(
        b,
        "%%bias_row = " T("view") "(%%bias) : (!tessera.view<%lldx%s>) -> !tessera.view<1x%lldx%s, strides=[0, 1]>\n",
        ll(c->n), mlir(c->out), ll(c->n), mlir(c->out));
    strb_printf(b, "%%wv = " T("window") "(%%bias_row, %%zero, %%n0) {sizes = [1, %lld]}\n", ll(c->bn));
    strb_printf(b,
                "%%v = " T("load") "(%%wv) : (!tessera.view<1x%lldx%s, strides=[0, 1]>) -> !tessera.frag<1x%lldx%s>\n",
                ll(c->bn), mlir(c->out), ll(c->bn), t);
  }
  if (c->residual) {
    put_window(b, "wr", "res", c->batch, "m0", "n0", c->bm, c->bn);
    strb_printf(
        b,
        "%%r = " T("load") "(%%wr) : (!tessera.view<%lldx%lldx%s, strides=[%lld, 1]>) -> !tessera.frag<%lldx%lldx%s>\n",
        ll(c->bm), ll(c->bn), mlir(c->out), ll(c->n), ll(c->bm), ll(c->bn), t);
  }
  if (!c->bias && !c->residual && !c->act) {
    strb_puts(b, "%out = " T("map") "(%acc) ({\n");
    strb_printf(b, "^bb0(%%x0: %s):\n" T("yield") "(%%x0)\n})\n", t);
    return;
  }
  strb_printf(b, "%%out = " T("map") "(%%acc%s%s) ({\n^bb0(%%x0: %s%s%s%s%s):\n", c->bias ? ", %v" : "",
              c->residual ? ", %r" : "", t, c->bias ? ", %x1: " : "", c->bias ? t : "", c->residual ? ", %x2: " : "",
              c->residual ? t : "");
  if (c->bias) strb_printf(b, "%%s1 = " T("add") "(%%%s, %%x1)\n", last), last = "s1";
  if (c->act) strb_printf(b, "%%s2 = \"tessera.tile.%s\"(%%%s)\n", c->act, last), last = "s2";
  if (c->residual) strb_printf(b, "%%s3 = " T("add") "(%%%s, %%x2)\n", last), last = "s3";
  strb_printf(b, T("yield") "(%%%s)\n})\n", last);
}

void tile_gen_matmul(strb *b, const tile_matmul_case *c) {
  const char *acc = dtype_is_float(c->in) ? c->in == TSR_F64 ? "f64" : "f32" : "i32";
  strb_puts(b, "\"builtin.module\"() ({\n" T("kernel") "() ({\n^bb0(");
  put_view(b, "a", c->batch, c->ta ? c->k : c->m, c->ta ? c->m : c->k, c->in);
  strb_puts(b, ", ");
  put_view(b, "b", c->batch, c->tb ? c->n : c->k, c->tb ? c->k : c->n, c->in);
  if (c->bias) strb_puts(b, ", "), put_view(b, "bias", 0, 0, c->n, c->out);
  if (c->residual) strb_puts(b, ", "), put_view(b, "res", c->batch, c->m, c->n, c->out);
  strb_puts(b, ", ");
  put_view(b, "c", c->batch, c->m, c->n, c->out);
  strb_puts(b, "):\n%bn_id = " T("block_id") "() {axis = 0}\n%bm_id = " T("block_id") "() {axis = 1}\n");
  if (c->batch) strb_puts(b, "%bz = " T("block_id") "() {axis = 2}\n");
  strb_printf(b,
              "%%zero = " T("const") "() {value = 0}\n%%tm = " T("const") "() {value = %lld}\n%%tn = " T(
                  "const") "() {value = %lld}\n%%bk = " T("const") "() {value = %lld}\n%%ke = " T("const") "() {value "
                                                                                                           "= %lld}\n",
              ll(c->bm), ll(c->bn), ll(c->bk), ll(c->k));
  strb_puts(b, "%m0 = " T("mul") "(%bm_id, %tm)\n%n0 = " T("mul") "(%bn_id, %tn)\n");
  put_main_loop(b, c, acc);
  put_epilogue(b, c, acc);
  put_window(b, "wc", "c", c->batch, "m0", "n0", c->bm, c->bn);
  strb_printf(b,
              T("store") "(%%out, %%wc)\n" T(
                  "return") "()\n}) {sym_name = \"mm_%s\", grid = [%lld, %lld, %lld], outputs = 1, family = \"matmul\"",
              c->name, ll((c->n + c->bn - 1) / c->bn), ll((c->m + c->bm - 1) / c->bm), ll(c->batch ? c->batch : 1));
  if (c->warps) strb_printf(b, ", warps = %d", c->warps);
  if (c->path) strb_printf(b, ", matrix_path = \"%s\"", c->path);
  strb_puts(b, "}\n}) : () -> ()\n");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void put_reduce(strb *b, const char *out, const char *in, const char *op, int64_t r, int64_t n) {
  (void)r;
  (void)n;
  strb_printf(b, "%%%s = " T("reduce") "(%%%s) {axis = 1, op = \"%s\"}\n", out, in, op);
}

static void put_map(strb *b, const char *out, const char *a, const char *c, const char *body) {
  strb_printf(b, "%%%s = " T("map") "(%%%s%s%s) ({\n^bb0(%%x: f32%s):\n%s})\n", out, a, c ? ", %" : "", c ? c : "",
              c ? ", %y: f32" : "", body);
}

static void put_row_body(strb *b, const tile_row_case *c) {
  char mean[160];
  snprintf(mean, sizeof mean,
           "%%n = " T("const") "() {value = %lld.0} : () -> f32\n%%z = " T("div") "(%%x, %%n)\n" T("yield") "(%%z)\n",
           ll(c->n));
  if (!strcmp(c->op, "softmax")) {
    put_reduce(b, "m", "x", "max", c->block_rows, c->n);
    put_map(b, "e", "x", "m", "%d = " T("sub") "(%x, %y)\n%z = " T("exp") "(%d)\n" T("yield") "(%z)\n");
    put_reduce(b, "s", "e", "sum", c->block_rows, c->n);
    put_map(b, "out", "e", "s", "%z = " T("div") "(%x, %y)\n" T("yield") "(%z)\n");
  } else if (!strcmp(c->op, "rmsnorm") || !strcmp(c->op, "layernorm")) {
    const char *x = "x";
    if (*c->op == 'l') {
      put_reduce(b, "t", "x", "sum", c->block_rows, c->n);
      put_map(b, "mean", "t", NULL, mean);
      put_map(b, "centred", "x", "mean", "%z = " T("sub") "(%x, %y)\n" T("yield") "(%z)\n");
      x = "centred";
    }
    put_map(b, "q", x, NULL, "%z = " T("mul") "(%x, %x)\n" T("yield") "(%z)\n");
    put_reduce(b, "s", "q", "sum", c->block_rows, c->n);
    put_map(b, "ms", "s", NULL, mean);
    put_map(b, "out", x, "ms",
            "%eps = " T("const") "() {value = 1.0e-5} : () -> f32\n%v = " T("add") "(%y, %eps)\n%r = " T(
                "rsqrt") "(%v)\n%z = " T("mul") "(%x, %r)\n" T("yield") "(%z)\n");
  } else if (!strcmp(c->op, "sum") || !strcmp(c->op, "max")) {
    put_reduce(b, "out", "x", c->op, c->block_rows, c->n);
  } else {
    char body[160];
    snprintf(body, sizeof body, "%%z = \"tessera.tile.%s\"(%%x)\n" T("yield") "(%%z)\n", c->op);
    put_map(b, "out", "x", NULL, body);
  }
}

void tile_gen_row(strb *b, const tile_row_case *c) {
  bool reduces = !strcmp(c->op, "sum") || !strcmp(c->op, "max");
  int64_t n = reduces ? 1 : c->n;
  strb_puts(b, "\"builtin.module\"() ({\n" T("kernel") "() ({\n^bb0(");
  put_view(b, "a", 0, c->rows, c->n, c->in);
  strb_puts(b, ", ");
  put_view(b, "c", 0, c->rows, n, c->out);
  strb_printf(b,
              "):\n%%i = " T("block_id") "() {axis = 0}\n%%zero = " T("const") "() {value = 0}\n%%br = " T(
                  "const") "() {value = %lld}\n%%r0 = " T("mul") "(%%i, %%br)\n",
              ll(c->block_rows));
  put_window(b, "wa", "a", false, "r0", "zero", c->block_rows, c->n);
  strb_printf(
      b,
      "%%x = " T("load") "(%%wa) : (!tessera.view<%lldx%lldx%s, strides=[%lld, 1]>) -> !tessera.frag<%lldx%lldxf32>\n",
      ll(c->block_rows), ll(c->n), mlir(c->in), ll(c->n), ll(c->block_rows), ll(c->n));
  put_row_body(b, c);
  put_window(b, "wc", "c", false, "r0", "zero", c->block_rows, n);
  strb_printf(b,
              T("store") "(%%out, %%wc)\n" T("return") "()\n}) {sym_name = \"row_%s\", grid = [%lld, 1, 1], outputs = "
                                                       "1, family = \"row\"}\n}) : () -> ()\n",
              c->name, ll((c->rows + c->block_rows - 1) / c->block_rows));
}

void tile_gen_attention(strb *b, const char *program, const tile_attention_case *c) {
  enum { N = 14 };
  static const char *const from[N] = {"4x200x64xf16", "64x64xf16, pad",  "32x64xf16, pad", "value = 64}",
                                      "value = 32}",  "value = 200}",    "value = 0.125}", "[0, 64, 64]",
                                      "[0, 32, 64]",  "frag<64x1x",      "frag<64x64x",    "frag<64x32x",
                                      "-> f16",       "grid = [4, 4, 1]"};
  char to[N][96];
  const char *t = mlir(c->t);
  long long q = c->rows, k = c->columns, d = c->width;
  snprintf(to[0], sizeof *to, "%lldx%lldx%lldx%s", ll(c->heads), ll(c->positions), d, t);
  snprintf(to[1], sizeof *to, "%lldx%lldx%s, pad", q, d, t);
  snprintf(to[2], sizeof *to, "%lldx%lldx%s, pad", k, d, t);
  snprintf(to[3], sizeof *to, "value = %lld}", q);
  snprintf(to[4], sizeof *to, "value = %lld}", k);
  snprintf(to[5], sizeof *to, "value = %lld}", ll(c->positions));
  snprintf(to[6], sizeof *to, "value = %.9g}", 1 / sqrt((double)d));
  snprintf(to[7], sizeof *to, "[0, %lld, %lld]", q, d);
  snprintf(to[8], sizeof *to, "[0, %lld, %lld]", k, d);
  snprintf(to[9], sizeof *to, "frag<%lldx1x", q);
  snprintf(to[10], sizeof *to, "frag<%lldx%lldx", q, d);
  snprintf(to[11], sizeof *to, "frag<%lldx%lldx", q, k);
  snprintf(to[12], sizeof *to, "-> %s", t);
  snprintf(to[13], sizeof *to, "grid = [%lld, %lld, 1]", (ll(c->positions) + q - 1) / q, ll(c->heads));
  for (const char *p = program; *p;) {
    int i = 0;
    while (i < N && strncmp(p, from[i], strlen(from[i]))) i++;
    if (i < N) strb_puts(b, to[i]), p += strlen(from[i]);
    else strb_putc(b, *p++);
  }
}
