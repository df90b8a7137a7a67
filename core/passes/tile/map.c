/* core/passes/tile/map.c - see tile/map.h. */
#include "core/passes/tile/map.h"

#include "core/base/dtype.h"

const char *kb_scalar_name(int code) {
  static const char *const names[] = {
#define NAME_OF(CODE, name, ...) "tessera.tile." name,
      SCALAR_OPS(NAME_OF)
#undef NAME_OF
  };
  return names[code];
}

ir_op *kb_map_open(kb_kernel *k, int n, ir_value **frags, ir_value **args, ir_builder *region, const double *imms,
                   tsr_dtype imm_type) {
  ir_value *operands[8];
  int m = 0;
  if (k->scalars) {
    *region = k->b;
    for (int i = 0; i < n; i++)
      if (!(args[i] = frags[i] ? frags[i] : kb_number(k, region, imm_type, imms[i]))) return NULL;
    return k->scalars->op;
  }
  for (int i = 0; i < n; i++)
    if (frags[i]) operands[m++] = frags[i];
  ir_op *map = ir_op_new(&k->b, ir_find_op("tessera.tile.map"), m, operands, 1, NULL, 1);
  if (!map) return NULL;
  *region = ir_at_end(k->m, map->regions[0]);
  for (int i = 0; i < n; i++)
    if (frags[i] && !(args[i] = ir_block_arg(k->m, map->regions[0], ir_type_scalar(k->m, frags[i]->type->dtype), NULL)))
      return NULL;
  for (int i = 0; i < n; i++) {
    if (frags[i]) continue;
    args[i] = ir_build1(region, "tessera.tile.const", ir_type_scalar(k->m, imm_type), 0, NULL);
    if (!args[i] || !ir_set_attr(args[i]->def, "value", ir_attr_float(k->m, imms[i]))) return NULL;
  }
  return map;
}

ir_value *kb_map_close(kb_kernel *k, ir_op *map, ir_builder *region, ir_value *y) {
  if (k->scalars) {
    k->b.failed |= region->failed || !y;
    return y;
  }
  if (!y || !ir_build0(region, "tessera.tile.yield", 1, &y)) {
    k->b.failed = true;
    return NULL;
  }
  tsr_status st = map->def->infer(map, &map->results[0]->type);
  if (st) {
    ir_refuse(k->m, st);
    k->b.failed = true;
    return NULL;
  }
  return map->results[0];
}

ir_value *kb_map1(kb_kernel *k, int code, ir_value *a) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = a ? kb_map_open(k, 1, &a, args, &r, NULL, 0) : NULL;
  return map ? kb_map_close(k, map, &r, ir_build1(&r, kb_scalar_name(code), NULL, 1, args)) : NULL;
}

ir_value *kb_map2(kb_kernel *k, int code, ir_value *a, ir_value *b) {
  ir_value *args[2], *frags[2] = {a, b};
  ir_builder r;
  ir_op *map = a && b ? kb_map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  return map ? kb_map_close(k, map, &r, ir_build1(&r, kb_scalar_name(code), NULL, 2, args)) : NULL;
}

ir_value *kb_map2_imm(kb_kernel *k, int code, ir_value *a, double imm) {
  ir_value *args[2], *frags[2] = {a, NULL};
  double imms[2] = {0, imm};
  ir_builder r;
  ir_op *map = a ? kb_map_open(k, 2, frags, args, &r, imms, a->type->dtype) : NULL;
  return map ? kb_map_close(k, map, &r, ir_build1(&r, kb_scalar_name(code), NULL, 2, args)) : NULL;
}

ir_value *kb_number(kb_kernel *k, ir_builder *r, tsr_dtype t, double v) {
  ir_value *x = ir_build1(r, "tessera.tile.const", ir_type_scalar(k->m, t), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_float(k->m, v)) ? x : NULL;
}

ir_value *kb_fill(ir_builder *b, const ir_type *t, double v) {
  ir_value *x = t ? ir_build1(b, "tessera.tile.fill", t, 0, NULL) : NULL;
  return x && ir_set_attr(x->def, "value", ir_attr_float(b->m, v)) ? x : NULL;
}

ir_value *kb_constant(kb_kernel *k, tsr_dtype t, double v) {
  if (k->scalars) return kb_number(k, &k->b, t, v);
  return kb_fill(&k->b, kb_frag(k, t, 1, 1), v);
}

ir_value *kb_mask(kb_kernel *k, ir_value *x, ir_value *from, int64_t n, double other) {
  ir_value *args[1], *end = kb_index(k, n);
  ir_builder r;
  ir_op *map = x && end ? kb_map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  ir_value *column = map ? ir_build1(&r, "tessera.tile.index", ir_type_index(k->m), 0, NULL) : NULL;
  if (!column || !ir_set_attr(column->def, "dim", ir_attr_int(k->m, 1))) return NULL;
  ir_value *at = ir_build1(&r, "tessera.tile.add", NULL, 2, (ir_value *[]){column, from});
  ir_value *inside = ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){at, end});
  ir_value *outside = ir_build1(&r, "tessera.tile.const", ir_type_scalar(k->m, x->type->dtype), 0, NULL);
  if (!inside || !outside || !ir_set_attr(inside->def, "predicate", ir_attr_str(k->m, "lt")) ||
      !ir_set_attr(outside->def, "value", ir_attr_float(k->m, other)))
    return NULL;
  return kb_map_close(k, map, &r,
                      ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){inside, args[0], outside}));
}

ir_value *kb_finite(kb_kernel *k, ir_value *x) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = x ? kb_map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *most = kb_number(k, &r, x->type->dtype, dtype_get(x->type->dtype)->max),
           *zero = kb_number(k, &r, x->type->dtype, 0);
  ir_value *inside = ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2,
                               (ir_value *[]){ir_build1(&r, "tessera.tile.abs", NULL, 1, args), most});
  if (!inside || !zero || !ir_set_attr(inside->def, "predicate", ir_attr_str(k->m, "le"))) return NULL;
  return kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){inside, args[0], zero}));
}

ir_value *kb_reduce_axis(kb_kernel *k, const char *op, ir_value *x, int axis) {
  ir_op *r = x ? ir_op_new(&k->b, ir_find_op("tessera.tile.reduce"), 1, &x, 1, NULL, 0) : NULL;
  if (!r || !ir_set_attr(r, "axis", ir_attr_int(k->m, axis)) || !ir_set_attr(r, "op", ir_attr_str(k->m, op)) ||
      !ir_set_attr(r, "policy", ir_attr_str(k->m, k->opts->policy)))
    return NULL;
  ir_type t = *x->type;
  t.dims[axis] = 1;
  return (r->results[0]->type = ir_type_get(k->m, &t)) ? r->results[0] : NULL;
}

ir_value *kb_reduce(kb_kernel *k, const char *op, ir_value *x) { return kb_reduce_axis(k, op, x, 1); }

ir_value *kb_cast_to(kb_kernel *k, ir_builder *r, ir_value *x, tsr_dtype t) {
  return x && x->type->dtype != t ? ir_build1(r, "tessera.tile.cast", ir_type_scalar(k->m, t), 1, &x) : x;
}

ir_value *kb_wrap_scalar(kb_kernel *k, ir_builder *r, ir_value *x, tsr_dtype t) {
  if (t == TSR_U8) {
    ir_value *mask = kb_number(k, r, TSR_I32, 255);
    return ir_build1(r, "tessera.tile.and", NULL, 2, (ir_value *[]){x, mask});
  }
  if (t != TSR_I8 && t != TSR_I16) return x;
  ir_value *n = kb_number(k, r, TSR_I32, t == TSR_I8 ? 24 : 16),
           *up = ir_build1(r, "tessera.tile.shl", NULL, 2, (ir_value *[]){x, n});
  return ir_build1(r, "tessera.tile.shr", NULL, 2, (ir_value *[]){up, n});
}

ir_value *kb_wrap(kb_kernel *k, ir_value *x, tsr_dtype t) {
  ir_value *args[1];
  ir_builder r;
  if (x && dtype_is_float(t) && x->type->dtype != kb_compute(t)) {
    ir_op *map = kb_map_open(k, 1, &x, args, &r, NULL, 0);
    ir_value *once = map ? kb_cast_to(k, &r, args[0], t) : NULL; /* rounded once, where t is narrow too */
    return map ? kb_map_close(k, map, &r, kb_cast_to(k, &r, once, kb_compute(t))) : NULL;
  }
  bool halved = x && x->type->dtype == TSR_I64 && t != TSR_I64; /* a cast saturates: the upper half goes first */
  if (!x || dtype_is_float(x->type->dtype) || (!halved && t != TSR_I8 && t != TSR_U8 && t != TSR_I16)) return x;
  ir_op *map = kb_map_open(k, 1, &x, args, &r, NULL, 0);
  if (!map) return NULL;
  ir_value *y = args[0];
  if (halved) {
    ir_value *n = kb_number(k, &r, TSR_I64, 32), *up = ir_build1(&r, "tessera.tile.shl", NULL, 2, (ir_value *[]){y, n});
    y = kb_cast_to(k, &r, ir_build1(&r, "tessera.tile.shr", NULL, 2, (ir_value *[]){up, n}), TSR_I32);
  }
  return kb_map_close(k, map, &r, kb_wrap_scalar(k, &r, y, t));
}

/* Operands narrower than the row (one element that repeats) must be spread before they are summed. */
ir_value *kb_spread(kb_kernel *k, ir_value *x, const kb_space *s) {
  if (!x || x->type->dims[1] == s->tn) return x;
  ir_value *zero = kb_fill(&k->b, kb_frag(k, x->type->dtype, 1, s->tn), 0), *args[2], *frags[2] = {x, zero};
  if (!zero) return NULL;
  ir_builder r;
  ir_op *map = kb_map_open(k, 2, frags, args, &r, NULL, 0);
  return map ? kb_map_close(k, map, &r, args[0]) : NULL;
}

/* One division a row: the sum is between 1 and the row's length. */
ir_value *kb_reciprocal(kb_kernel *k, ir_value *sum) {
  ir_value *one = sum ? kb_fill(&k->b, sum->type, 1) : NULL;
  return one ? kb_map2(k, SC_DIV, one, sum) : NULL;
}
