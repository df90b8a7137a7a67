/* The column of operand kinds in the table of Target IR: every op that takes operands has one, and at every operand a
 * value of each wrong kind is refused with one line that names it. Made from the table, so no new op is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/ir.h"

enum { MOST_OPERANDS = 8, N_VALUES = 16 };

typedef struct bench {
  ir_module *m;
  ir_builder b;
  ir_value *values[N_VALUES]; /* one of each kind */
  int n;
} bench;

static void add(bench *t, ir_type type) {
  const ir_type *known = ir_type_get(t->m, &type);
  assert_non_null(known);
  assert_true(t->n < N_VALUES);
  t->values[t->n] = ir_block_arg(t->m, t->b.block, known, NULL);
  assert_non_null(t->values[t->n++]);
}

static void open_bench(bench *t) {
  static const ir_type_kind shaped[] = {IR_T_TENSOR, IR_T_VIEW, IR_T_SHARED, IR_T_FRAG, IR_T_VECTOR, IR_T_ARRAY};
  memset(t, 0, sizeof *t);
  assert_null(ir_module_create(NULL, &t->m));
  ir_builder outer = ir_at_end(t->m, t->m->root->regions[0]);
  const ir_opdef *fragment = ir_find_op("tessera.fragment");
  ir_op *around = ir_op_new(&outer, fragment, 0, NULL, 0, NULL, 1);
  assert_non_null(around);
  t->b = ir_at_end(t->m, around->regions[0]);
  for (size_t i = 0; i < sizeof shaped / sizeof *shaped; i++)
    add(t, (ir_type){.kind = shaped[i], .dtype = TSR_F32, .rank = 1, .dims = {4}});
  add(t, (ir_type){.kind = IR_T_INDEX});
  add(t, (ir_type){.kind = IR_T_TOKEN});
  add(t, (ir_type){.kind = IR_T_SCALAR, .dtype = TSR_F32});
  add(t, (ir_type){.kind = IR_T_SCALAR, .dtype = TSR_BOOL});
  add(t, (ir_type){.kind = IR_T_MATRIX, .dtype = TSR_F32, .rank = 2, .dims = {16, 16}, .use = "acc"});
  add(t, (ir_type){.kind = IR_T_PTR, .dtype = TSR_F32, .use = "global"});
  add(t, (ir_type){.kind = IR_T_PTR, .dtype = TSR_F32, .use = "shared"});
  add(t, (ir_type){.kind = IR_T_PTR, .dtype = TSR_I64, .use = "shared"});
}

static ir_value *right_one(const bench *t, const ir_kind *k) {
  for (int i = 0; i < t->n; i++)
    if (ir_kind_takes(k, t->values[i]->type)) return t->values[i];
  fail_msg("there is nothing of the kind '%c', %s", k->letter, k->name);
  return NULL;
}

static tsr_status verified(bench *t, const ir_opdef *d, int n, ir_value **operands) {
  const int results = d->n_results < 0 ? 0 : d->n_results, regions = d->n_regions < 0 ? 0 : d->n_regions;
  ir_op *op = ir_op_new(&t->b, d, n, operands, results, NULL, regions);
  assert_non_null(op);
  return ir_verify_op(op);
}

static void refused(bench *t, const ir_opdef *d, int n, ir_value **operands, const char *says) {
  tsr_status st = verified(t, d, n, operands);
  const char *message = st ? tsr_status_message(st) : "was taken";
  if (!st || !strstr(message, says) || !strstr(message, d->name) || strchr(message, '\n'))
    fail_msg("%s of %d operands: %s; wanted one line: %s", d->name, n, message, says);
  tsr_status_free(st);
}

/* As many as the row takes at most; of those without a bound, two beyond its letters. */
static int most_of(const ir_opdef *d) {
  const bool unbounded = d->max_operands == IR_VARIADIC || d->max_operands > MOST_OPERANDS;
  return unbounded ? (int)strlen(d->kinds) + 2 : d->max_operands;
}

static void every_row_says_its_operands_kinds(void **state) {
  int with = 0, free_ones = 0;
  const ir_opdef *d;
  for (size_t r = 0; (d = ir_row(IR_TARGET, r)); r++) {
    if (!d->max_operands) continue;
    with++;
    if (!d->kinds || !*d->kinds) fail_msg("%s takes operands, but its row doesn't say of what kinds", d->name);
    if (d->max_operands != IR_VARIADIC && (int)strlen(d->kinds) > d->max_operands)
      fail_msg("%s has more kinds (%s) than operands", d->name, d->kinds);
    for (int i = 0; i < most_of(d); i++) {
      if (!ir_operand_kind(d, i)) fail_msg("%s: '%s' has a letter without a meaning", d->name, d->kinds);
      free_ones += i < (int)strlen(d->kinds) && ir_operand_kind(d, i)->letter == '*';
    }
  }
  assert_true(with > 50);
  assert_int_equal(free_ones, 2); /* what a loop carries and what a region yields */
}

static void every_wrong_kind_is_refused(void **state) {
  int pairs = 0;
  const ir_opdef *d;
  bench t;
  open_bench(&t);
  for (size_t r = 0; (d = ir_row(IR_TARGET, r)); r++) {
    ir_value *operands[MOST_OPERANDS + 2];
    const int n = d->max_operands ? most_of(d) : 0;
    for (int i = 0; i < n; i++) operands[i] = right_one(&t, ir_operand_kind(d, i));
    for (int i = 0; i < n; i++) {
      const ir_kind *k = ir_operand_kind(d, i);
      ir_value *right = operands[i];
      char says[128];
      snprintf(says, sizeof says, "operand %d must be %s, is ", i, k->name);
      for (int w = 0; w < t.n; w++) {
        if (ir_kind_takes(k, t.values[w]->type)) continue;
        operands[i] = t.values[w];
        refused(&t, d, n, operands, says);
        pairs++;
      }
      operands[i] = right;
    }
  }
  assert_true(pairs > 1000);
  ir_module_destroy(&t.m);
}

static void every_wrong_count_is_refused(void **state) {
  const ir_opdef *d;
  bench t;
  open_bench(&t);
  for (size_t r = 0; (d = ir_row(IR_TARGET, r)); r++) {
    ir_value *operands[TSR_MAX_RANK + 40];
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++)
      operands[i] = d->max_operands ? right_one(&t, ir_operand_kind(d, (int)i)) : t.values[0];
    if (d->min_operands) refused(&t, d, d->min_operands - 1, operands, "operands, has ");
    if (d->max_operands != IR_VARIADIC) refused(&t, d, d->max_operands + 1, operands, "operands, has ");
  }
  ir_module_destroy(&t.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_row_says_its_operands_kinds),
                                     cmocka_unit_test(every_wrong_kind_is_refused),
                                     cmocka_unit_test(every_wrong_count_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
