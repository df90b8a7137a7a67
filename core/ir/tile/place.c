/* core/ir/tile/place.c - where the ops of Tile and Target IR may stand, and what regions may hold: the rules that need
 * the op around. A region is of a program (memory and launches), of a kernel, of a loop or branch inside a kernel, or
 * elementwise: then it has scalars alone, since it is evaluated for each element. */
#include "core/ir/target/target.h"
#include "core/ir/tile/rules.h"
#include "core/ir/tile/tile.h"

/* What an op is to the region that it stands in; a region takes a set of these. */
enum {
  OF_MODULE = 1,
  OF_PROGRAM = 2,
  OF_KERNEL = 4,
  OF_ELEMENT = 8,
  ENDS_WITH_RETURN = 16,
  ENDS_WITH_YIELD = 32,
  ANYTHING = 63
};

static unsigned place_of(const ir_op *op) {
  const int code = op->def->code;
  if (code < SC_N) return OF_KERNEL | OF_ELEMENT;
  if (op->def->level == IR_TILE) switch (code) {
    case T_PROGRAM: case T_KERNEL: return OF_MODULE;
    case T_BUFFER: case T_CONSTANT: case T_ALIAS: case T_LAUNCH: case T_CUSTOM: return OF_PROGRAM;
    case T_RETURN: return ENDS_WITH_RETURN;
    case T_YIELD: return ENDS_WITH_YIELD;
    case T_CONST: return OF_KERNEL | OF_ELEMENT;
    case T_INDEX: return OF_ELEMENT;
    default: return OF_KERNEL;
    }
  switch (code) {
  case TG_PROGRAM: case TG_KERNEL: return OF_MODULE;
  case TG_BUFFER: case TG_CONSTANT: case TG_ALIAS: case TG_LAUNCH: case TG_CUSTOM: return OF_PROGRAM;
  case TG_RETURN: return ENDS_WITH_RETURN;
  case TG_YIELD: return ENDS_WITH_YIELD;
  case TG_CONST: return OF_KERNEL | OF_ELEMENT;
  case TG_ELEMENT_INDEX: return OF_ELEMENT;
  default: return OF_KERNEL;
  }
}

static bool is_elementwise(const ir_op *around) {
  const int code = around->def->code;
  if (around->def->level == IR_TILE) return code == T_MAP || code == T_GATHER || code == T_SCATTER;
  return around->def->level == IR_TARGET && (code == TG_MAP || code == TG_CALL);
}

/* The places that the region of `around` takes. */
static unsigned takes(const ir_op *around) {
  const int code = around->def->code, tile = around->def->level == IR_TILE;
  if (around->def->level != IR_TILE && around->def->level != IR_TARGET) return ANYTHING; /* a module, a fragment */
  if (code == (tile ? (int)T_PROGRAM : (int)TG_PROGRAM)) return OF_PROGRAM | ENDS_WITH_RETURN;
  if (code == (tile ? (int)T_KERNEL : (int)TG_KERNEL)) return OF_KERNEL | ENDS_WITH_RETURN;
  return (is_elementwise(around) ? OF_ELEMENT : OF_KERNEL) | ENDS_WITH_YIELD;
}

static bool is_scalar(const ir_type *t) { return t->kind == IR_T_SCALAR || t->kind == IR_T_INDEX; }

static tsr_status verify_element(const ir_op *op, const ir_op *around) {
  for (int i = 0; i < op->n_operands; i++)
    if (!is_scalar(op->operands[i]->type))
      return ir_error(op, "an elementwise region computes with scalars", "operand %d is not a scalar", i);
  for (int i = 0; i < op->n_results; i++)
    if (!is_scalar(op->results[i]->type))
      return ir_error(op, "an elementwise region computes with scalars", "result %d is not a scalar", i);
  if (place_of(op) != OF_ELEMENT) return NULL;
  const ir_type *t = around->n_operands  ? around->operands[0]->type
                     : around->n_results ? around->results[0]->type
                                         : NULL;
  const bool map = around->def->code == (op->def->level == IR_TILE ? (int)T_MAP : (int)TG_MAP);
  const int rank = map ? (t ? t->rank : 0) : around->regions[0]->n_args;
  const int64_t dim = ir_get_int(op, "dim", 0);
  return dim >= 0 && dim < rank ? NULL : ir_error(op, NULL, "there is no dimension %lld of %d", (long long)dim, rank);
}

/* The kernel's argument whose memory v shows, -1 for other memory. */
static int argument_of(const ir_value *v, const ir_op **kernel) {
  while (v->def && v->type->kind == IR_T_VIEW && v->def->n_operands && v->def->operands[0]->type->kind == IR_T_VIEW)
    v = v->def->operands[0];
  *kernel = v->owner ? v->owner->parent : NULL;
  return v->type->kind == IR_T_VIEW && *kernel &&
                 (*kernel)->def->code == ((*kernel)->def->level == IR_TILE ? (int)T_KERNEL : (int)TG_KERNEL)
             ? v->index
             : -1;
}

/* The first operand and the number of operands that op writes. */
static int written(const ir_op *op, int *n) {
  *n = 1;
  if (op->def->level == IR_TILE) switch (op->def->code) {
    case T_STORE: case T_COPY: case T_SCATTER: return 1;
    default: return *n = 0;
    }
  switch (op->def->code) {
  case TG_MAP: *n = (int)ir_get_int(op, "outputs", 1); return 0;
  case TG_CALL: return 0;
  default: return *n = 0;
  }
}

/* The program plans memory and order by `outputs`: what a kernel writes is among its last arguments. */
static tsr_status verify_writes(const ir_op *op) {
  int n, first = written(op, &n);
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

static bool stands_alone(const ir_op *op) {
  return (op->def->level == IR_TILE || op->def->level == IR_TARGET) && place_of(op) == OF_MODULE;
}

/* A kernel is compiled by itself and a program run by itself: neither sees values that stand beside it. */
static tsr_status verify_alone(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    const ir_op *def = op->operands[i]->def;
    if (!def || !def->parent || def->parent->parent != op->module->root) continue;
    for (const ir_op *o = op->parent->parent; o; o = o->parent ? o->parent->parent : NULL)
      if (stands_alone(o))
        return ir_error(op, "define it inside", "operand %d is defined outside the %s", i, o->def->name);
  }
  return NULL;
}

tsr_status tile_verify_place(const ir_op *op) {
  const ir_op *around = op->parent ? op->parent->parent : NULL;
  if (!around) return NULL;
  if (!(place_of(op) & takes(around))) return ir_error(op, NULL, "has no place in the region of %s", around->def->name);
  TSR_TRY(verify_alone(op));
  if (is_elementwise(around)) TSR_TRY(verify_element(op, around));
  return verify_writes(op);
}
