/* core/ir/operands.c - what an operand may be, by the letter that its op's row has for it; see ir_opdef.kinds.
 * Inference, the ops' own rules and the printers behind them rely on it. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/ir.h"

#define BIT(kind) (1u << IR_T_##kind)
#define MEMORY (BIT(ARRAY) | BIT(VIEW))
#define NUMBERS (BIT(SCALAR) | BIT(VECTOR))
#define POINTER BIT(PTR)

/* By letter. */
enum { FIRST_LETTER = '*', LAST_LETTER = 'z' };
#define ROW(letter, ...) [letter - FIRST_LETTER] = {letter, __VA_ARGS__},
static const ir_kind kinds[LAST_LETTER - FIRST_LETTER + 1] = {
    ROW('*', "a value", ~0u, NULL, NULL)
    ROW('a', "a register array", BIT(ARRAY), NULL, NULL)
    ROW('b', "a barrier (a pointer to i64 in shared memory)", POINTER, "shared", "i64")
    ROW('c', "a bool", BIT(SCALAR), NULL, "i1")
    ROW('d', "a tile, a view, a scalar or an index", MEMORY | BIT(SCALAR) | BIT(INDEX), NULL, NULL)
    ROW('e', "a tile or a view", MEMORY, NULL, NULL)
    ROW('g', "a pointer into global memory", POINTER, "global", NULL)
    ROW('h', "a pointer into shared memory", POINTER, "shared", NULL)
    ROW('i', "an index", BIT(INDEX), NULL, NULL)
    ROW('k', "a token (a tensor map)", BIT(TOKEN), NULL, NULL)
    ROW('m', "a matrix", BIT(MATRIX), NULL, NULL)
    ROW('n', "a scalar or a vector", NUMBERS, NULL, NULL)
    ROW('p', "a pointer", POINTER, NULL, NULL)
    ROW('q', "a register array or a pointer into shared memory", BIT(ARRAY) | POINTER, "shared", NULL)
    ROW('s', "a scalar", BIT(SCALAR), NULL, NULL)
    ROW('t', "a tensor", BIT(TENSOR), NULL, NULL)
    ROW('v', "a vector", BIT(VECTOR), NULL, NULL)
    ROW('w', "a view", BIT(VIEW), NULL, NULL)
    ROW('x', "an index, a scalar or a vector", NUMBERS | BIT(INDEX), NULL, NULL)
};
#undef ROW

static const ir_kind *kind_of(char letter) {
  const ir_kind *k = letter >= FIRST_LETTER && letter <= LAST_LETTER ? &kinds[letter - FIRST_LETTER] : NULL;
  return k && k->name ? k : NULL;
}

const ir_kind *ir_operand_kind(const ir_opdef *d, int i) {
  if (!d->kinds || !*d->kinds) return NULL;
  const int last = (int)strlen(d->kinds) - 1;
  return kind_of(d->kinds[i < last ? i : last]);
}

bool ir_kind_takes(const ir_kind *k, const ir_type *t) {
  if (!(k->types >> t->kind & 1)) return false;
  if (k->use && t->kind == IR_T_PTR && (!t->use || strcmp(t->use, k->use))) return false;
  return !k->elements || !strcmp(dtype_get(t->dtype)->mlir, k->elements);
}

static tsr_status wrong(const ir_op *op, const char *hint, const char *what, int i, const ir_kind *k,
                        const ir_type *t) {
  strb is;
  strb_init(&is, &op->module->arena.al);
  ir_type_print(&is, t);
  tsr_status st = ir_error(op, hint, "%s %d must be %s, is %s", what, i, k->name, strb_text(&is));
  strb_clear(&is);
  return st;
}

tsr_status ir_check_results(const ir_op *op) {
  const ir_kind *k = op->def->gives ? kind_of(op->def->gives) : NULL;
  for (int i = 0; k && i < op->n_results; i++)
    if (op->results[i]->type && !ir_kind_takes(k, op->results[i]->type))
      return wrong(op, NULL, "result", i, k, op->results[i]->type);
  return NULL;
}

tsr_status ir_check_operands(const ir_op *op) {
  const char *letter = op->def->kinds; /* the last one is of all further operands too */
  if (!letter || !*letter) return NULL;
  for (int i = 0; i < op->n_operands; i++, letter += letter[1] != 0) {
    const ir_kind *k = kind_of(*letter);
    const ir_type *t = op->operands[i]->type;
    if (t && k && !ir_kind_takes(k, t)) return wrong(op, op->def->operands_doc, "operand", i, k, t);
  }
  return NULL;
}
