/* core/runtime/peak_matrix.c - see peak_matrix.h. Each subgroup loads `down` operands a and `across` operands b once
 * and adds the product of each pair to a sum of its own, step after step. No two products are the same, and the
 * operands a change places from step to step, so that a compiler can neither merge sums nor take products out of the
 * loop (llvmpipe would: there a product is plain arithmetic). */
#include "core/runtime/peak_matrix.h"

#include <stdio.h>

#include "core/base/dtype.h"
#include "core/device/dialect.h"

enum { NAME = 64 };
typedef struct types {
  char a[NAME], b[NAME], c[NAME];
} types;

static types types_of(const tsr_matrix_shape *x) {
  types t;
  snprintf(t.a, NAME, "!tessera.matrix<%dx%dx%s, \"a\">", x->m, x->k, dtype_get(x->a)->mlir);
  snprintf(t.b, NAME, "!tessera.matrix<%dx%dx%s, \"b\">", x->k, x->n, dtype_get(x->b)->mlir);
  snprintf(t.c, NAME, "!tessera.matrix<%dx%dx%s, \"acc\">", x->m, x->n, dtype_get(x->c)->mlir);
  return t;
}

static int sums(const peak_matrix *p) { return p->down * p->across; }

/* What a step carries on: all sums and the operands a, by name ("%NAME" and a number, from `turned` on) or type. */
static void carried_names(strb *s, const peak_matrix *p, const char *sum, const char *a, int turned) {
  for (int i = 0; i < sums(p); i++) strb_printf(s, "%s%%%s%d", i ? ", " : "", sum, i);
  for (int i = 0; i < p->down; i++) strb_printf(s, ", %%%s%d", a, (i + turned) % p->down);
}

static void carried_types(strb *s, const peak_matrix *p, const types *t) {
  for (int i = 0; i < sums(p); i++) strb_printf(s, "%s%s", i ? ", " : "", t->c);
  for (int i = 0; i < p->down; i++) strb_printf(s, ", %s", t->a);
}

static void constant(strb *s, const char *name, int number, long value) {
  strb_printf(s, "%%%s%d = \"tessera.target.const\"() {value = %ld} : () -> index\n", name, number, value);
}

/* Operands at places of their own, and a sum of zeros for each pair. */
static void begin(strb *s, const peak_matrix *p, const types *t) {
  const tsr_matrix_shape *x = &p->shape;
  const char *in = dtype_get(x->a)->mlir, *out = dtype_get(x->c)->mlir;
  const int stride[2] = {x->k, x->n}, elements[2] = {x->m * x->k, x->k * x->n}, n[2] = {p->down, p->across};
  for (int side = 0; side < 2; side++) {
    constant(s, "stride", side, stride[side]);
    for (int i = 0; i < n[side]; i++) {
      constant(s, side ? "bt" : "at", i, (long)elements[side] * i);
      strb_printf(s,
                  "%%%c%d = \"tessera.target.mat_load\"(%%A, %%%s%d, %%stride%d) : (!tessera.ptr<%s, \"global\">, "
                  "index, index) -> %s\n",
                  "ab"[side], i, side ? "bt" : "at", i, side, in, side ? t->b : t->a);
    }
  }
  strb_printf(s, "%%zero = \"tessera.target.const\"() {value = 0.0} : () -> %s\n", out);
  for (int i = 0; i < sums(p); i++)
    strb_printf(s, "%%f%d = \"tessera.target.mat_fill\"(%%zero) : (%s) -> %s\n", i, out, t->c);
}

static void loop(strb *s, const peak_matrix *p, const types *t) {
  constant(s, "from", 0, 0), constant(s, "to", 0, p->steps), constant(s, "by", 0, 1);
  strb_printf(s, "%%r:%d = \"tessera.target.for\"(%%from0, %%to0, %%by0, ", sums(p) + p->down);
  carried_names(s, p, "f", "a", 0);
  strb_puts(s, ") ({\n^bb0(%step: index");
  for (int i = 0; i < sums(p); i++) strb_printf(s, ", %%q%d: %s", i, t->c);
  for (int i = 0; i < p->down; i++) strb_printf(s, ", %%x%d: %s", i, t->a);
  strb_puts(s, "):\n");
  for (int i = 0; i < sums(p); i++)
    strb_printf(s, "%%s%d = \"tessera.target.mat_mma\"(%%x%d, %%b%d, %%q%d) : (%s, %s, %s) -> %s\n", i, i / p->across,
                i % p->across, i, t->a, t->b, t->c, t->c);
  strb_puts(s, "\"tessera.target.yield\"(");
  carried_names(s, p, "s", "x", 1);
  strb_puts(s, ") : (");
  carried_types(s, p, t);
  strb_puts(s, ") -> ()\n}) : (index, index, index, ");
  carried_types(s, p, t);
  strb_puts(s, ") -> (");
  carried_types(s, p, t);
  strb_puts(s, ")\n");
}

static void end(strb *s, const peak_matrix *p, const types *t) {
  const tsr_matrix_shape *x = &p->shape;
  strb_puts(s, "%g = \"tessera.target.block_id\"() {axis = 0} : () -> index\n");
  constant(s, "all", 0, (long)sums(p) * x->m * x->n);
  strb_puts(s, "%o = \"tessera.target.mul\"(%g, %all0) : (index, index) -> index\n");
  for (int i = 0; i < sums(p); i++) {
    constant(s, "ct", i, (long)i * x->m * x->n);
    strb_printf(s,
                "%%o%d = \"tessera.target.add\"(%%o, %%ct%d) : (index, index) -> index\n"
                "\"tessera.target.mat_store\"(%%r#%d, %%C, %%o%d, %%stride1) : (%s, !tessera.ptr<%s, \"global\">, "
                "index, index) -> ()\n",
                i, i, i, i, t->c, dtype_get(x->c)->mlir);
  }
}

void peak_matrix_text(strb *s, const peak_matrix *p, const tsr_caps *c) {
  const tsr_matrix_shape *x = &p->shape;
  const types t = types_of(x);
  const char *in = dtype_get(x->a)->mlir, *out = dtype_get(x->c)->mlir;
  const int a = p->down * x->m * x->k, b = p->across * x->k * x->n, n_in = a > b ? a : b;
  const long n_out = p->blocks * sums(p) * x->m * x->n;
  strb_printf(s,
              "\"builtin.module\"() ({\n\"tessera.target.program\"() ({\n^bb0(%%A: tensor<%dx%s>):\n%%0 = "
              "\"tessera.target.buffer\"() : () -> tensor<%ldx%s>\n\"tessera.target.launch\"(%%A, %%0) {kernel = "
              "\"peak\"} : (tensor<%dx%s>, tensor<%ldx%s>) -> ()\n\"tessera.target.return\"(%%0) : (tensor<%ldx%s>) -> "
              "()\n}) {sym_name = \"main\"} : () -> ()\n\"tessera.target.kernel\"() ({\n^bb0(%%A: !tessera.ptr<%s, "
              "\"global\">, %%C: !tessera.ptr<%s, \"global\">):\n",
              n_in, in, n_out, out, n_in, in, n_out, out, n_out, out, in, out);
  begin(s, p, &t);
  loop(s, p, &t);
  end(s, p, &t);
  strb_printf(s,
              "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"peak\", dialect = \"%s\", grid = [%ld, 1, 1], "
              "outputs = 1, block = [%d, 1, 1], subgroup = %d, path = \"coopmat\"} : () -> ()\n}) : () -> ()\n",
              target_dialect_name(c->dialect), p->blocks, c->subgroup, c->subgroup);
}

double peak_matrix_operations(const peak_matrix *p) {
  const tsr_matrix_shape *x = &p->shape;
  return 2.0 * x->m * x->n * x->k * sums(p) * (double)p->blocks * (double)p->steps;
}
