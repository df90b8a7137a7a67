/* tests/unit/test_quantized_product.c - rule dequantized_product: products of scaled integers of 8 bits, less zero
 * points of every kind, keep their values as products of the integers; what it must not take is left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/passes/graph/simplify.h"
#include "tests/support/graph_text.h"

enum { FOLDED = 4096 }; /* elements of a constant up to which it is dequantized when it is compiled */

static uint64_t state = 5;
static int draw(int n) { return (int)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) % n; }

/* The text of a function under construction. */
typedef struct text {
  char args[400], body[1 << 17];
} text;

static void add(char *to, size_t size, const char *fmt, ...) {
  const size_t n = strlen(to);
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(to + n, size - n, fmt, ap);
  va_end(ap);
}
#define ARG(t, ...)  add((t)->args, sizeof(t)->args, __VA_ARGS__)
#define LINE(t, ...) add((t)->body, sizeof(t)->body, __VA_ARGS__)

enum zero_kind { NO_ZERO, NUMBER, OWN, GIVEN, ZERO_KINDS };

/* An operand of two dimensions, of which one is summed along. */
typedef struct side {
  char name;
  int rows, columns, k_axis;
  bool is_signed, constant, per_line; /* per_line: scale and zero point are those of a row or column of the result */
  enum zero_kind zero;
} side;

/* Not 0, which as a zero point is none. */
static void bytes_of(text *t, char name, int rows, int columns, const char *type) {
  LINE(t, "%%%c = \"tessera.graph.constant\"() {value = dense<\"0x", name);
  for (int i = 0; i < rows * columns; i++) LINE(t, "%02X", draw(8) ? 1 + draw(255) : draw(2) ? 0x80 : 0xff);
  LINE(t, "\"> : tensor<%dx%dx%s>}\n", rows, columns, type);
}

static void operand(text *t, const side *s) {
  const char *type = s->is_signed ? "i8" : "ui8", c = s->name;
  const int lines[2] = {s->per_line && s->k_axis == 1 ? s->rows : 1, s->per_line && s->k_axis == 0 ? s->columns : 1};
  const char *sub = "";
  if (s->constant) bytes_of(t, c, s->rows, s->columns, type);
  else ARG(t, "%s%%%c: tensor<%dx%dx%s>", *t->args ? ", " : "", c, s->rows, s->columns, type);
  ARG(t, "%s%%s%c: tensor<%dx%dxf32>", *t->args ? ", " : "", c, lines[0], lines[1]);
  LINE(t, "%%w%c = \"tessera.graph.cast\"(%%%c) {dtype = \"i32\"}\n", c, c);
  if (s->zero == GIVEN) ARG(t, ", %%g%c: tensor<%dx%dx%s>", c, lines[0], lines[1], type);
  if (s->zero == OWN) {
    char z = c == 'a' ? 'y' : 'z';
    bytes_of(t, z, lines[0], lines[1], type);
    LINE(t, "%%g%c = \"tessera.graph.reshape\"(%%%c) {shape = [%d, %d]}\n", c, z, lines[0], lines[1]);
  }
  if (s->zero == OWN || s->zero == GIVEN) LINE(t, "%%z%c = \"tessera.graph.cast\"(%%g%c) {dtype = \"i32\"}\n", c, c);
  if (s->zero == NUMBER)
    LINE(t, "%%z%c = \"tessera.graph.constant\"() {value = dense<%d> : tensor<i32>}\n", c,
         s->is_signed ? -1 - draw(128) : 1 + draw(255));
  if (s->zero != NO_ZERO) {
    LINE(t, "%%d%c = \"tessera.graph.sub\"(%%w%c, %%z%c)\n", c, c, c);
    sub = "d";
  }
  LINE(t, "%%f%c = \"tessera.graph.cast\"(%%%s%c) {dtype = \"f32\"}\n", c, *sub ? sub : "w", c);
  const bool scale_first = draw(2);
  LINE(t, "%%q%c = \"tessera.graph.mul\"(%%%c%c, %%%c%c)\n", c, scale_first ? 's' : 'f', c, scale_first ? 'f' : 's', c);
}

static void checks(text *t, bool ta, bool tb, int m, int n, const char *what, bool fires, const char *why) {
  LINE(t, "%%0 = \"tessera.graph.matmul\"(%%qa, %%qb) {transpose_a = %s, transpose_b = %s}\n", ta ? "true" : "false",
       tb ? "true" : "false");
  char type[64];
  snprintf(type, sizeof type, "tensor<%dx%dxf32>", m, n);
  char *full = strdup(gt_func(t->args, t->body, "%0", type));
  ir_module *before = gt_parse(full), *after = gt_parse(full);
  pass_trace trace;
  trace_init(&trace, NULL);
  assert_null(graph_simplify_module(after, &(pass_options){.trace = &trace}));
  const bool fired = trace_count(&trace, "dequantized_product", true) == 1;
  bool said = !why;
  for (size_t i = 0; i < trace.n && !said; i++)
    said = !strcmp(trace.v[i].rule, "dequantized_product") && strstr(trace.v[i].reason, why);
  if (fired != fires || !said) fail_msg("%s: fired %d, wanted %d (%s)\n%s", what, fired, fires, why ? why : "", full);
  if (!gt_same(graph_find_func(before, NULL), graph_find_func(after, NULL), (unsigned)draw(1000), -128, 255))
    fail_msg("%s: other values\n%s", what, full);
  trace_clear(&trace);
  ir_module_destroy(&before);
  ir_module_destroy(&after);
  free(full);
}

static void every_kind_of_operand_keeps_its_values(void **unused) {
  (void)unused;
  static text t;
  static const int extents[] = {1, 2, 5, 17, 128, 131};
  for (int i = 0; i < 400; i++) {
    const int m = extents[draw(6)], n = extents[draw(6)], k = extents[draw(6)];
    const bool ta = draw(2), tb = draw(2);
    side a = {'a', ta ? k : m, ta ? m : k, !ta, draw(2), false, draw(2), (enum zero_kind)draw(ZERO_KINDS)};
    side b = {'b', tb ? n : k, tb ? k : n, tb, draw(2), draw(4), draw(2), (enum zero_kind)draw(ZERO_KINDS)};
    if (b.rows * b.columns <= FOLDED) b.constant = false;
    if (a.zero == GIVEN && b.zero == GIVEN) a.zero = NO_ZERO;
    const bool shifts = b.zero != NO_ZERO || !b.is_signed; /* b */
    const bool small = (a.zero != NO_ZERO && !b.constant && (m < k ? m : k) < 128) || (shifts && (n < k ? n : k) < 128);
    memset(&t, 0, sizeof t.args), *t.body = 0;
    operand(&t, &a);
    operand(&t, &b);
    checks(&t, ta, tb, m, n, "a product", !small, small ? "sums of the other operand" : NULL);
  }
}

static void the_deepest_sum_fits(void **unused) {
  (void)unused;
  static text t;
  for (int more = 0; more < 2; more++) {
    const int k = (1 << 15) + 250 + more;
    memset(&t, 0, sizeof t);
    ARG(&t, "%%a: tensor<1x%dxui8>, %%sa: tensor<f32>, %%sb: tensor<f32>", k);
    LINE(&t, "%%b = \"tessera.graph.constant\"() {value = dense<-128> : tensor<%dx1xi8>}\n", k);
    LINE(&t, "%%wa = \"tessera.graph.cast\"(%%a) {dtype = \"f32\"}\n%%qa = \"tessera.graph.mul\"(%%wa, %%sa)\n");
    LINE(&t, "%%wb = \"tessera.graph.cast\"(%%b) {dtype = \"f32\"}\n%%qb = \"tessera.graph.mul\"(%%wb, %%sb)\n");
    checks(&t, false, false, 1, 1, "k", !more, more ? "so many integers" : NULL);
  }
}

static void scales_along_the_sum_and_wide_zero_points_stay(void **unused) {
  (void)unused;
  static const struct { const char *scale, *zero; bool fires; const char *why; } rows[] = {
      {"1x70", "i32", true, NULL}, {"70x1", "i32", false, NULL}, {"1x1", "70x1xi32", false, NULL},
      {"1x1", "1x70xi32", false, "beyond 8 bits"}};
  static text t;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    memset(&t, 0, sizeof t);
    ARG(&t, "%%a: tensor<3x70xui8>, %%sa: tensor<f32>, %%sb: tensor<%sxf32>", rows[i].scale);
    if (i) ARG(&t, ", %%zb: tensor<%s>", rows[i].zero);
    bytes_of(&t, 'b', 70, 70, "i8");
    LINE(&t, "%%wa = \"tessera.graph.cast\"(%%a) {dtype = \"f32\"}\n%%qa = \"tessera.graph.mul\"(%%wa, %%sa)\n");
    LINE(&t, "%%ib = \"tessera.graph.cast\"(%%b) {dtype = \"i32\"}\n");
    if (i) LINE(&t, "%%db = \"tessera.graph.sub\"(%%ib, %%zb)\n");
    LINE(&t, "%%wb = \"tessera.graph.cast\"(%%%s) {dtype = \"f32\"}\n%%qb = \"tessera.graph.mul\"(%%wb, %%sb)\n",
         i ? "db" : "ib");
    checks(&t, false, false, 3, 70, rows[i].scale, rows[i].fires, rows[i].why);
  }
}

static void rounding_stays_under_exact_policies(void **unused) {
  (void)unused;
  const char *full = gt_func("%a: tensor<3x6xi8>, %b: tensor<6x4xi8>, %s: tensor<f32>",
                             "%wa = \"tessera.graph.cast\"(%a) {dtype = \"f32\"}\n"
                             "%qa = \"tessera.graph.mul\"(%wa, %s)\n"
                             "%wb = \"tessera.graph.cast\"(%b) {dtype = \"f32\"}\n"
                             "%qb = \"tessera.graph.mul\"(%wb, %s)\n"
                             "%0 = \"tessera.graph.matmul\"(%qa, %qb)\n",
                             "%0", "tensor<3x4xf32>");
  ir_module *m = gt_parse(full);
  pass_trace trace;
  trace_init(&trace, NULL);
  assert_null(graph_simplify_module(m, &(pass_options){.trace = &trace, .exact = true}));
  assert_int_equal(trace_count(&trace, "dequantized_product", true), 0);
  assert_int_equal(trace_count(&trace, "dequantized_product", false), 1);
  trace_clear(&trace);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_operand_keeps_its_values), cmocka_unit_test(the_deepest_sum_fits),
      cmocka_unit_test(scales_along_the_sum_and_wide_zero_points_stay),
      cmocka_unit_test(rounding_stays_under_exact_policies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
