/* core/passes/cpu/row_steps.c - see cpu/row_steps.h. The region is read from what it yields back to its arguments. */
#include "core/passes/cpu/row_steps.h"

static bool is(const ir_value *v, int code) { return v->def && !v->owner && v->def->def->code == code; }

/* The operand that an argument of the prologue is an element of. */
static ir_value *operand(const tile_row *r, const ir_value *v) {
  return v->owner == r->prologue ? r->v[ROW_X][v->index] : NULL;
}

static bool has_extents(const ir_value *v, int64_t rows, int64_t columns) {
  return v && v->type->dims[0] == rows && v->type->dims[1] == columns;
}

bool cpu_row_steps_of(const tile_row *r, cpu_row_steps *out) {
  const ir_value *y = r->prologue->last->operands[0];
  recipe_step last = {STEP_END, ARG_NONE};
  int n = 0;
  *out = (cpu_row_steps){.x = NULL};
  if (is(y, SC_EXP)) last.code = SC_EXP;
  if (is(y, SC_MUL) && y->def->operands[0] == y->def->operands[1]) last.code = STEP_SQUARE;
  if (last.code != STEP_END) y = y->def->operands[0];
  if (is(y, SC_SUB)) {
    out->number = operand(r, y->def->operands[1]);
    if (!has_extents(out->number, r->m, 1)) return false;
    out->step[n++] = (recipe_step){SC_SUB, ARG_NUMBER};
    y = y->def->operands[0];
  }
  if (last.code != STEP_END) out->step[n++] = last;
  out->step[n] = (recipe_step){STEP_END, ARG_NONE};
  out->x = operand(r, y);
  return has_extents(out->x, r->m, r->columns);
}
