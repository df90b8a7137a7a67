/* backends/vulkan/selftest_kernels.c - the kernels of the self-test, as Target IR: a product by cooperative matrices,
 * and one by plain multiply-adds that its speed is held against; and one
 * on 64-bit integers. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/base/dtype.h"

typedef vk_selftest_problem problem;

static const char *mlir(tsr_dtype t) { return dtype_get(t)->mlir; }

static void head(strb *s, const problem *p) {
  strb_printf(s,
              "\"tessera.target.kernel\"() ({\n^bb0(%%A: !tessera.ptr<%s, \"global\">, %%B: !tessera.ptr<%s, "
              "\"global\">, %%C: !tessera.ptr<%s, \"global\">):\n",
              mlir(p->a), mlir(p->b), mlir(p->c));
  strb_printf(s, "%%bx = \"tessera.target.block_id\"() {axis = 0} : () -> index\n%%by = \"tessera.target.block_id\"() "
                 "{axis = 1} : () -> index\n");
}

static void constant(strb *s, const char *name, int v) {
  strb_printf(s, "%%%s = \"tessera.target.const\"() {value = %d} : () -> index\n", name, v);
}
static void binary(strb *s, const char *r, const char *op, const char *a, const char *b) {
  strb_printf(s, "%%%s = \"tessera.target.%s\"(%%%s, %%%s) : (index, index) -> index\n", r, op, a, b);
}

/* Two by two tiles of the shape per subgroup (or workgroup), operands straight from memory, as the lowering reads them
 * there. */
void vk_selftest_kernel(strb *s, const problem *p, const tsr_matrix_shape *x, int subgroup, bool tensor) {
  const char *how = tensor && x->scope == SCOPE_WORKGROUP ? " {tensor = true}" : "";
  char ta[64], tb[64], tc[64], sums[320] = "", inits[64] = "";
  snprintf(ta, sizeof ta, "!tessera.matrix<%dx%dx%s, \"a\">", x->m, x->k, mlir(p->a));
  snprintf(tb, sizeof tb, "!tessera.matrix<%dx%dx%s, \"b\">", x->k, x->n, mlir(p->b));
  snprintf(tc, sizeof tc, "!tessera.matrix<%dx%dx%s, \"acc\">", x->m, x->n, mlir(p->c));
  head(s, p);
  constant(s, "zero", 0), constant(s, "K", p->k), constant(s, "N", p->n), constant(s, "step", x->k),
      constant(s, "tm", 2 * x->m), constant(s, "tn", 2 * x->n);
  constant(s, "half", x->n), constant(s, "down_a", x->m * p->k), constant(s, "down_c", x->m * p->n);
  binary(s, "m0", "mul", "by", "tm"), binary(s, "n0", "mul", "bx", "tn"), binary(s, "a0", "mul", "m0", "K"),
      binary(s, "cr", "mul", "m0", "N"), binary(s, "c0", "add", "cr", "n0");
  strb_printf(s,
              "%%z = \"tessera.target.const\"() {value = 0.0} : () -> %s\n%%f = \"tessera.target.mat_fill\"(%%z) : "
              "(%s) -> %s\n",
              mlir(p->c), mlir(p->c), tc);
  for (int i = 0; i < 4; i++)
    snprintf(sums + strlen(sums), sizeof sums - strlen(sums), "%s%s", i ? ", " : "", tc),
        snprintf(inits + strlen(inits), sizeof inits - strlen(inits), ", %%f");
  strb_printf(s, "%%r:4 = \"tessera.target.for\"(%%zero, %%K, %%step%s) ({\n^bb0(%%k: index", inits);
  for (int i = 0; i < 4; i++) strb_printf(s, ", %%q%d: %s", i, tc);
  strb_puts(s, "):\n");
  binary(s, "ai", "add", "a0", "k"), binary(s, "aj", "add", "ai", "down_a"), binary(s, "bk", "mul", "k", "N"),
      binary(s, "bi", "add", "bk", "n0"), binary(s, "bj", "add", "bi", "half");
  for (int i = 0; i < 2; i++) {
    strb_printf(s,
                "%%ma%d = \"tessera.target.mat_load\"(%%A, %%a%c, %%K)%s : (!tessera.ptr<%s, \"global\">, index, "
                "index) -> %s\n",
                i, "ij"[i], how, mlir(p->a), ta);
    strb_printf(s,
                "%%mb%d = \"tessera.target.mat_load\"(%%B, %%b%c, %%N)%s : (!tessera.ptr<%s, \"global\">, index, "
                "index) -> %s\n",
                i, "ij"[i], how, mlir(p->b), tb);
  }
  for (int i = 0; i < 4; i++)
    strb_printf(s, "%%s%d = \"tessera.target.mat_mma\"(%%ma%d, %%mb%d, %%q%d) : (%s, %s, %s) -> %s\n", i, i / 2, i % 2,
                i, ta, tb, tc, tc);
  strb_printf(s,
              "\"tessera.target.yield\"(%%s0, %%s1, %%s2, %%s3) : (%s) -> ()\n}) : (index, index, index, %s) -> (%s)\n",
              sums, sums, sums);
  binary(s, "c1", "add", "c0", "half"), binary(s, "c2", "add", "c0", "down_c"), binary(s, "c3", "add", "c2", "half");
  for (int i = 0; i < 4; i++)
    strb_printf(s,
                "\"tessera.target.mat_store\"(%%r#%d, %%C, %%c%d, %%N)%s : (%s, !tessera.ptr<%s, \"global\">, index, "
                "index) -> ()\n",
                i, i, how, tc, mlir(p->c));
  bool wide = x->scope == SCOPE_WORKGROUP;
  strb_printf(s,
              "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"matrix\", dialect = \"spirv\", grid = [%d, %d, "
              "1], block = [%d, 1, 1], subgroup = %d, path = \"%s\"} : () -> ()\n",
              p->n / (2 * x->n), p->m / (2 * x->m), wide ? x->threads : subgroup, subgroup,
              wide ? "coopmat2_workgroup" : "coopmat");
}

/* A row per lane, eight columns in its registers. */
void vk_selftest_plain(strb *s, const problem *p, int subgroup) {
  const char *acc = dtype_is_float(p->a) ? "f32" : "i32";
  head(s, p);
  constant(s, "zero", 0), constant(s, "one", 1), constant(s, "K", p->k), constant(s, "N", p->n),
      constant(s, "rows", subgroup), constant(s, "cols", 8), constant(s, "eight", 8);
  strb_puts(s, "%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n");
  binary(s, "mb", "mul", "by", "rows"), binary(s, "m0", "add", "mb", "t"), binary(s, "n0", "mul", "bx", "cols"),
      binary(s, "a0", "mul", "m0", "K"), binary(s, "cr", "mul", "m0", "N"), binary(s, "c0", "add", "cr", "n0");
  strb_printf(s,
              "%%z = \"tessera.target.const\"() {value = 0.0} : () -> vector<8x%s>\n%%r = "
              "\"tessera.target.for\"(%%zero, %%K, %%eight, %%z) ({\n^bb0(%%k: index, %%q: vector<8x%s>):\n",
              acc, acc);
  binary(s, "ai", "add", "a0", "k");
  strb_printf(s,
              "%%av = \"tessera.target.load\"(%%A, %%ai) : (!tessera.ptr<%s, \"global\">, index) -> vector<8x%s>\n%%af "
              "= \"tessera.target.cast\"(%%av) : (vector<8x%s>) -> vector<8x%s>\n",
              mlir(p->a), mlir(p->a), mlir(p->a), acc);
  for (int u = 0; u < 8; u++) {
    char from[16], to[16];
    snprintf(from, sizeof from, u ? "s%d" : "q", u);
    snprintf(to, sizeof to, "s%d", u + 1);
    strb_printf(s,
                "%%u%d = \"tessera.target.const\"() {value = %d} : () -> index\n%%k%d = \"tessera.target.add\"(%%k, "
                "%%u%d) : (index, index) -> index\n",
                u, u, u, u);
    strb_printf(s,
                "%%br%d = \"tessera.target.mul\"(%%k%d, %%N) : (index, index) -> index\n%%bi%d = "
                "\"tessera.target.add\"(%%br%d, %%n0) : (index, index) -> index\n",
                u, u, u, u);
    strb_printf(s,
                "%%bv%d = \"tessera.target.load\"(%%B, %%bi%d) : (!tessera.ptr<%s, \"global\">, index) -> "
                "vector<8x%s>\n%%bf%d = \"tessera.target.cast\"(%%bv%d) : (vector<8x%s>) -> vector<8x%s>\n",
                u, u, mlir(p->b), mlir(p->b), u, u, mlir(p->b), acc);
    strb_printf(s,
                "%%x%d = \"tessera.target.extract\"(%%af) {at = %d} : (vector<8x%s>) -> %s\n%%av%d = "
                "\"tessera.target.vector\"(",
                u, u, acc, acc, u);
    for (int i = 0; i < 8; i++) strb_printf(s, "%s%%x%d", i ? ", " : "", u);
    strb_puts(s, ") : (");
    for (int i = 0; i < 8; i++) strb_printf(s, "%s%s", i ? ", " : "", acc);
    strb_printf(s,
                ") -> vector<8x%s>\n%%%s = \"tessera.target.fma\"(%%av%d, %%bf%d, %%%s) : (vector<8x%s>, vector<8x%s>, "
                "vector<8x%s>) -> vector<8x%s>\n",
                acc, to, u, u, from, acc, acc, acc, acc);
  }
  strb_printf(s,
              "\"tessera.target.yield\"(%%s8) : (vector<8x%s>) -> ()\n}) : (index, index, index, vector<8x%s>) -> "
              "vector<8x%s>\n",
              acc, acc, acc);
  strb_printf(s,
              "%%o = \"tessera.target.cast\"(%%r) : (vector<8x%s>) -> vector<8x%s>\n\"tessera.target.store\"(%%o, %%C, "
              "%%c0) : (vector<8x%s>, !tessera.ptr<%s, \"global\">, index) -> ()\n",
              acc, mlir(p->c), mlir(p->c), mlir(p->c));
  strb_printf(s,
              "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"plain\", dialect = \"spirv\", grid = [%d, %d, "
              "1], block = [%d, 1, 1], subgroup = %d} : () -> ()\n",
              p->n / 8, p->m / subgroup, subgroup, subgroup);
}

void vk_selftest_exchange(strb *s, const problem *p) {
  head(s, p);
  strb_printf(s,
              "%%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%%x = "
              "\"tessera.target.load\"(%%A, %%t) : "
              "(!tessera.ptr<i64, \"global\">, index) -> i64\n%%f = \"tessera.target.const\"() {value = %d} : () -> "
              "i64\n%%y = \"tessera.target.xor\"(%%x, %%f) : (i64, i64) -> i64\n",
              VK_SELFTEST_FLIPPED);
  strb_puts(s, "%w = \"tessera.target.bitcast\"(%y) : (i64) -> vector<2xi32>\n");
  for (int i = 0; i < 2; i++)
    strb_printf(s, "%%w%d = \"tessera.target.extract\"(%%w) {at = %d} : (vector<2xi32>) -> i32\n", i, i);
  strb_printf(s,
              "%%v = \"tessera.target.vector\"(%%w1, %%w0) : (i32, i32) -> vector<2xi32>\n%%z = "
              "\"tessera.target.bitcast\"(%%v) : (vector<2xi32>) -> i64\n\"tessera.target.store\"(%%z, %%C, %%t) : "
              "(i64, !tessera.ptr<i64, \"global\">, index) -> ()\n\"tessera.target.return\"() : () -> ()\n}) {sym_name "
              "= \"exchange\", dialect = \"spirv\", grid = [1, 1, 1], block = [%d, 1, 1], subgroup = %d} : () -> ()\n",
              p->m, p->m);
}
