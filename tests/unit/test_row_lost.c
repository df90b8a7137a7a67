/* Rows that a norm loses (core/passes/tile/expand_row.c): what their branch costs a kernel. Counted in ops, not in
 * time: it is the same for rows of any width, and what it computes takes no more than an element of a row a thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/ir/tile/tile.h"
#include "core/passes/lower.h"
#include "tests/support/api_check.h"
#include "tests/support/plan.h"

/* Most ops of Target IR that lost rows may add to a kernel: five short loops, four reductions, at most 234 where
 * 16 subgroups meet in each of these. A branch that works on the rows in registers takes some 10 more an element. */
enum { MOST_ADDED = 240, MOST_THREADS = 1024 };

typedef struct found { int ops, branches, stores; int64_t widest; const char *care; } found;

static tsr_status set_care(ir_op *op, void *user) {
  const found *f = user;
  if (op->def->level != IR_TILE || op->def->code != T_ROW) return NULL;
  assert_true(ir_set_attr(op, "care", ir_attr_str(op->module, f->care)));
  return NULL;
}

static tsr_status count(ir_op *op, void *user) {
  ((found *)user)->ops++;
  return NULL;
}

/* In the branch: fragments and stores. */
static tsr_status look(ir_op *op, void *user) {
  found *f = user;
  if (op->def->level != IR_TILE) return NULL;
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->type->kind == IR_T_FRAG && ir_type_count(op->results[i]->type) > f->widest)
      f->widest = ir_type_count(op->results[i]->type);
  f->stores += op->def->code == T_STORE;
  return NULL;
}

static tsr_status look_at_branch(ir_op *op, void *user) {
  found *f = user;
  if (op->def->level != IR_TILE || op->def->code != T_IF) return NULL;
  f->branches++;
  for (ir_op *o = op->regions[1]->first; o; o = o->next) OK(ir_walk(o, look, f));
  return NULL;
}

static found compiled(const char *graph, const char *care, const tsr_caps *caps) {
  found f = {.care = care};
  ir_module *tile, *target;
  OK(plan_tile(graph, strlen(graph), "test", caps, &tile));
  OK(ir_walk(tile->root, set_care, &f));
  OK(tile_expand(tile, caps));
  OK(ir_walk(tile->root, look_at_branch, &f));
  OK(tile_to_target(tile, caps, &target));
  OK(ir_walk(target->root, count, &f));
  ir_module_destroy(&tile);
  ir_module_destroy(&target);
  return f;
}

static const struct { tsr_dialect d; const char *arch; } targets[] = {
    {DIALECT_CUDA, "sm_80"}, {DIALECT_CUDA, "sm_90a"}, {DIALECT_HIP, "gfx942"}, {DIALECT_HIP, "gfx1100"}};
enum { N_TARGETS = sizeof targets / sizeof *targets };

/* The norm with weights, alone or of a sum that is a result too. */
static void write_graph(char text[2048], const char *norm, bool of_sum, int n) {
  const bool centred = !strcmp(norm, "layernorm");
  snprintf(text, 2048,
           "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%%A: tensor<64x%dxf32>, %%B: tensor<64x%dxf32>, "
           "%%w: tensor<%dxf32>, %%v: tensor<%dxf32>):\n%%1 = \"tessera.graph.add\"(%%A, %%B)\n%%0 = "
           "\"tessera.graph.%s\"(%s, %%w%s)\n\"tessera.graph.return\"(%s%%0)\n}) {sym_name = \"main\"} }) : () -> ()\n",
           n, n, n, n, norm, of_sum ? "%1" : "%A", centred ? ", %v" : "", of_sum ? "%1, " : "");
}

static void lost_rows_of_any_width_add_few_ops(void **state) {
  static const int widths[] = {1024, 4096, 16384, 32768};
  char text[2048];
  (void)state;
  for (int t = 0; t < N_TARGETS; t++)
    for (int w = 0; w < 4; w++)
      for (int form = 0; form < 4; form++) {
        tsr_caps caps;
        OK(arch_caps_of(targets[t].d, targets[t].arch, &caps));
        write_graph(text, form % 2 ? "rmsnorm" : "layernorm", form / 2, widths[w]);
        const found lost = compiled(text, "lost", &caps), never = compiled(text, "never", &caps);
        if (lost.branches != 1 || lost.ops - never.ops > MOST_ADDED || lost.widest > MOST_THREADS || lost.stores != 1)
          fail_msg("%s, form %d of %d: %d ops, %d without lost rows; %d branches, %d stores, fragments of %lld",
                   targets[t].arch, form, widths[w], lost.ops, never.ops, lost.branches, lost.stores,
                   (long long)lost.widest);
        assert_int_equal(never.branches, 0);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lost_rows_of_any_width_add_few_ops)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
