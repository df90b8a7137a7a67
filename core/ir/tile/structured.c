/* core/ir/tile/structured.c - see tile/structured.h. */
#include "core/ir/tile/structured.h"

#include "core/ir/tile/tile.h"

tsr_status tile_check_region(const ir_op *op, int r, int least, int most, const char *yields) {
  const ir_block *b = op->regions[r];
  if (!b->n_args || !b->last || b->last->def->code != T_YIELD || b->last->n_operands < least ||
      b->last->n_operands > most)
    return ir_error(op, NULL, "region %d needs arguments and must yield %s", r, yields);
  for (int i = 0; i < b->n_args; i++)
    if (b->args[i]->type->kind != IR_T_SCALAR)
      return ir_error(op, NULL, "argument %d of region %d must be a scalar", i, r);
  for (int i = 0; i < b->last->n_operands; i++)
    if (b->last->operands[i]->type && b->last->operands[i]->type->kind != IR_T_SCALAR)
      return ir_error(op, "cast an index to i32", "value %d that region %d yields must be a scalar", i, r);
  return NULL;
}

bool tile_read_map(const char **at, char first, char second, bool *swapped) {
  const char *p = *at;
  const bool same = p[0] == first && p[1] == second;
  *swapped = !same && p[0] == second && p[1] == first;
  if (same || *swapped) *at += 2;
  return same || *swapped;
}

tsr_status tile_read_extents(const ir_op *op, int n, int64_t *out) {
  static const char *const words[] = {"no", "one", "two", "three"};
  if (ir_get_ints(op, "tile", out, n) != n) return ir_error(op, NULL, "tile must have %s extents", words[n]);
  for (int i = 0; i < n; i++)
    if (out[i] < 1 || out[i] > INT32_MAX)
      return ir_error(op, NULL, "extent %lld of the tile is out of range", (long long)out[i]);
  return NULL;
}
