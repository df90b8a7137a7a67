/* core/passes/cpu/row_takes.c - see cpu/row_takes.h and cpu/takes.h. */
#include "core/passes/cpu/row_takes.h"

#include "core/base/policy.h"
#include "core/ir/tile/tile.h"
#include "core/passes/cpu/row_memory.h"
#include "core/passes/cpu/takes.h"

static const ir_op *kernel_of(const ir_op *op) {
  while (op->parent && op->parent->parent && op->def->code != T_KERNEL) op = op->parent->parent;
  return op;
}

/* The kernels take weights that repeat for all rows. */
static bool takes_weight(const tile_row *r, int i) {
  const ir_type *t = r->v[ROW_WEIGHT][i]->type;
  return t->dims[0] == 1 && t->dims[1] == r->columns;
}

/* The kernel, and the prologue as the steps that it does: none where s->x is NULL. Rows that are kept are computed, if
 * the kernel doesn't write them. */
static bool find_kernel(const tile_row *r, cpu_row_steps *s, cpu_row_kernel *k) {
  static const recipe_step none = {STEP_END, ARG_NONE};
  if (cpu_row_steps_of(r, s) && cpu_row_kernel_of(r->recipe, s->step, r->columns, r->eps, k) &&
      (!r->keeps_rows || k->writes_rows))
    return true;
  *s = (cpu_row_steps){.x = NULL};
  return cpu_row_kernel_of(r->recipe, &none, r->columns, r->eps, k);
}

/* Rows that the kernels read where they are. The columns of a matrix are none: what sums these reads memory too. */
static bool lies_in_rows(const ir_value *v) {
  if (v->type->kind == IR_T_FRAG && (!v->def || v->def->def->code != T_LOAD)) return true;
  return rows_inside(v->type->kind == IR_T_FRAG ? v->def->operands[0] : v);
}

/* Else one row stands for all, which is summed once where it is written out. */
static bool has_rows(const tile_row *r) {
  for (int i = 0; i < r->n[ROW_X]; i++)
    if (r->v[ROW_X][i]->type->dims[0] == r->m) return true;
  return false;
}

bool cpu_row_takes(const ir_op *op, const tile_row *r, cpu_row_steps *s, cpu_row_kernel *k) {
  bool yes = find_kernel(r, s, k) && r->type == TSR_F32 && !r->wrap && r->columns > 1 && r->care != ROW_CARE_ALWAYS &&
             (k->finish || !r->keeps_rows) && ir_policy(op) != TSR_POLICY_KAHAN_SUM &&
             ir_get_bool(kernel_of(op), "reduction_kernels", true);
  if (yes && k->finish) yes = s->x ? lies_in_rows(s->x) : has_rows(r);
  for (int i = 0; yes && i < op->n_operands; i++) yes = !r->swapped[i];
  for (int i = 0; yes && i < r->n[ROW_WEIGHT]; i++) yes = takes_weight(r, i);
  return yes;
}

bool cpu_takes_row(const ir_op *op) {
  tile_row r;
  cpu_row_steps s;
  cpu_row_kernel k;
  tsr_status st = tile_row_get(op, &r);
  const bool is_row = !st;
  tsr_status_free(st);
  return is_row && cpu_row_takes(op, &r, &s, &k);
}

ir_value *cpu_row_reads(const tile_row *r) {
  cpu_row_steps s;
  cpu_row_kernel k;
  return find_kernel(r, &s, &k) ? s.x : NULL;
}
