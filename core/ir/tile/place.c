/* core/ir/tile/place.c - where the ops of Tile and Target IR may stand, and what regions may hold: the rules that need
 * the op around. A region is of a program (memory and launches), of a kernel, of a loop or branch inside a kernel, or
 * elementwise: then it has scalars alone, since it is evaluated for each element. */
#include "core/ir/tile/place.h"

#include "core/ir/tile/rules.h"

static const tile_place *row_of(const ir_op *op) {
  static const tile_place of_kernel = {TILE_OF_KERNEL, TILE_OF_KERNEL | TILE_ENDS_WITH_YIELD};
  static const tile_place anything = {TILE_ANYTHING, TILE_ANYTHING};
  if (op->def->level != IR_TILE && op->def->level != IR_TARGET) return &anything;
  return op->def->ext ? op->def->ext : &of_kernel;
}

static bool is_elementwise(const tile_place *around) {
  return around->takes != TILE_ANYTHING && around->takes & TILE_OF_ELEMENT;
}

static bool stands_alone(const ir_op *op) { return row_of(op)->is == TILE_OF_MODULE; }
static bool is_kernel(const ir_op *op) { return stands_alone(op) && row_of(op)->takes & TILE_OF_KERNEL; }

static bool is_scalar(const ir_type *t) { return t->kind == IR_T_SCALAR || t->kind == IR_T_INDEX; }

static tsr_status verify_element(const ir_op *op, const ir_op *around) {
  const unsigned is = row_of(op)->is;
  const bool lookup = is != TILE_ANYTHING && is & TILE_OF_LOOKUP;
  if (lookup && op->operands[0]->type->kind != IR_T_VIEW)
    return ir_error(op, NULL, "looks up elements of views alone in an elementwise region");
  for (int i = lookup; i < op->n_operands; i++)
    if (!is_scalar(op->operands[i]->type))
      return ir_error(op, "an elementwise region computes with scalars", "operand %d is not a scalar", i);
  for (int i = 0; i < op->n_results; i++)
    if (!is_scalar(op->results[i]->type))
      return ir_error(op, "an elementwise region computes with scalars", "result %d is not a scalar", i);
  if (is != TILE_OF_ELEMENT) return NULL;
  const ir_type *t = around->n_operands  ? around->operands[0]->type
                     : around->n_results ? around->results[0]->type
                                         : NULL;
  const tile_place *row = row_of(around);
  const int rank = row->rank ? row->rank : row->maps ? (t ? t->rank : 0) : around->regions[0]->n_args;
  const int64_t dim = ir_get_int(op, "dim", 0);
  return dim >= 0 && dim < rank ? NULL : ir_error(op, NULL, "there is no dimension %lld of %d", (long long)dim, rank);
}

/* The kernel's argument whose memory v shows, -1 for other memory. */
static int argument_of(const ir_value *v, const ir_op **kernel) {
  while (v->def && v->type->kind == IR_T_VIEW && v->def->n_operands && v->def->operands[0]->type->kind == IR_T_VIEW)
    v = v->def->operands[0];
  *kernel = v->owner ? v->owner->parent : NULL;
  return v->type->kind == IR_T_VIEW && *kernel && is_kernel(*kernel) ? v->index : -1;
}

/* The program plans memory and order by `outputs`: what a kernel writes is among its last arguments. */
static tsr_status verify_writes(const ir_op *op, const tile_place *row) {
  int first = row->first_written, n = row->n_written;
  if (n == TILE_WRITES_OUTPUTS) n = (int)ir_get_int(op, "outputs", 1);
  if (n == TILE_WRITES_REST) {
    for (int r = 0; r < op->n_regions; r++) first += op->regions[r]->n_args;
    n = op->n_operands - first;
  }
  for (int i = first; i < first + n && i < op->n_operands; i++) {
    const ir_op *kernel;
    int argument = argument_of(op->operands[i], &kernel);
    int64_t outputs = argument < 0 ? 0 : ir_get_int(kernel, "outputs", 1);
    if (argument >= 0 && argument < kernel->regions[0]->n_args - outputs)
      return ir_error(op, "arguments that are written come last",
                      "writes argument %d, but only the last %lld of %d are outputs", argument, (long long)outputs,
                      kernel->regions[0]->n_args);
  }
  return NULL;
}

tsr_status tile_verify_place(const ir_op *op) {
  const ir_op *around = op->parent ? op->parent->parent : NULL;
  if (!around) return NULL;
  const tile_place *row = row_of(op), *outer = row_of(around);
  if (!(row->is & outer->takes)) return ir_error(op, NULL, "has no place in the region of %s", around->def->name);
  if (is_elementwise(outer)) TSR_TRY(verify_element(op, around));
  return row->n_written ? verify_writes(op, row) : NULL;
}
