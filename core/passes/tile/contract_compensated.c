/* core/passes/tile/contract_compensated.c - the loop of a product under kahan_sum: a step's product is summed with
 * compensation by itself, and what adding it to the sum loses is carried beside that from step to step. */
#include "core/base/dtype.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/contract_parts.h"

bool contract_is_compensated(const expansion *e) {
  return dtype_is_float(e->c.sum) && ir_policy(e->op) == TSR_POLICY_KAHAN_SUM;
}

/* A map of n fragments of one shape; *r is at its end, args are the elements. */
static ir_op *open_map(expansion *e, int n, ir_value *const *frags, int n_results, ir_value **args, ir_builder *r) {
  const ir_type *types[2] = {frags[0]->type, frags[0]->type};
  ir_op *map = ir_op_new(&e->b, ir_find_op("tessera.tile.map"), n, frags, n_results, types, 1);
  if (!map) return NULL;
  for (int i = 0; i < n; i++)
    if (!(args[i] = ir_block_arg(e->m, map->regions[0], ir_type_scalar(e->m, e->c.sum), NULL))) return NULL;
  *r = ir_at_end(e->m, map->regions[0]);
  return map;
}

static ir_value *op2(ir_builder *r, const char *name, ir_value *a, ir_value *b) {
  return a && b ? ir_build1(r, name, NULL, 2, (ir_value *[]){a, b}) : NULL;
}
static ir_value *add(ir_builder *r, ir_value *a, ir_value *b) { return op2(r, "tessera.tile.add", a, b); }
static ir_value *sub(ir_builder *r, ir_value *a, ir_value *b) { return op2(r, "tessera.tile.sub", a, b); }

/* Two-sum (Knuth): what a sum is rounded by is itself a float. */
tsr_status contract_add_part(expansion *e, ir_value *const sum_lost[2], ir_value *part, ir_value **out) {
  ir_value *args[3], *frags[3] = {sum_lost[0], sum_lost[1], part};
  ir_builder r;
  ir_op *map = open_map(e, 3, frags, 2, args, &r);
  if (!map) return st_oom();
  ir_value *s = add(&r, args[0], args[2]), *b = sub(&r, s, args[0]),
           *rest = add(&r, sub(&r, args[0], sub(&r, s, b)), sub(&r, args[2], b)), *lost = add(&r, args[1], rest);
  if (!lost || !ir_build0(&r, "tessera.tile.yield", 2, (ir_value *[]){s, lost})) return st_oom();
  out[0] = map->results[0], out[1] = map->results[1];
  return NULL;
}

/* What was lost of an infinite sum is no number. */
tsr_status contract_compensate(expansion *e, ir_value *const sum_lost[2], ir_value **out) {
  ir_value *args[2];
  ir_builder r;
  ir_op *map = open_map(e, 2, sum_lost, 1, args, &r);
  if (!map) return st_oom();
  ir_value *whole = add(&r, args[0], args[1]),
           *size = whole ? ir_build1(&r, "tessera.tile.abs", NULL, 1, &whole) : NULL,
           *most = ir_build1(&r, "tessera.tile.const", ir_type_scalar(e->m, e->c.sum), 0, NULL);
  if (!size || !most || !ir_set_attr(most->def, "value", ir_attr_float(e->m, dtype_get(e->c.sum)->max)))
    return st_oom();
  ir_value *finite =
      ir_build1(&r, "tessera.tile.compare", ir_type_scalar(e->m, TSR_BOOL), 2, (ir_value *[]){size, most});
  if (!finite || !ir_set_attr(finite->def, "predicate", ir_attr_str(e->m, "le"))) return st_oom();
  ir_value *v = ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){finite, whole, args[0]});
  if (!v || !ir_build0(&r, "tessera.tile.yield", 1, &v)) return st_oom();
  *out = map->results[0];
  return NULL;
}
