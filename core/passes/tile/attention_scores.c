/* core/passes/tile/attention_scores.c - see tile/attention_scores.h. */
#include <math.h>
#include <string.h>

#include "core/passes/tile/attention_scores.h"
#include "core/passes/tile/map.h"

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static ir_value *scalar2(ir_builder *r, const char *name, ir_value *x, ir_value *y) {
  return ir_build1(r, name, NULL, 2, (ir_value *[]){x, y});
}

static ir_value *compare(kb_kernel *k, ir_builder *r, const char *predicate, ir_value *x, ir_value *y) {
  ir_value *c = ir_build1(r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){x, y});
  return c && ir_set_attr(c->def, "predicate", ir_attr_str(k->m, predicate)) ? c : NULL;
}

static ir_value *number_at(kb_kernel *k, ir_builder *r, int64_t v) {
  ir_value *x = ir_build1(r, "tessera.tile.const", ir_type_index(k->m), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_int(k->m, v)) ? x : NULL;
}

/* The element's row or column, `from` further. */
static ir_value *place(kb_kernel *k, ir_builder *r, int dim, ir_value *from) {
  ir_value *i = ir_build1(r, "tessera.tile.index", ir_type_index(k->m), 0, NULL);
  return i && ir_set_attr(i->def, "dim", ir_attr_int(k->m, dim)) ? scalar2(r, "tessera.tile.add", from, i) : NULL;
}

static ir_value *also(ir_builder *r, ir_value *seen, ir_value *c) {
  return seen ? scalar2(r, "tessera.tile.and", seen, c) : c;
}

/* Is the key of this element one that its query sees by its place, and is it one at all? NULL: both are certain. */
static ir_value *by_place(attend *a, ir_builder *r, ir_value *keys) {
  kb_kernel *k = a->k;
  ir_value *seen = NULL, *key = place(k, r, 1, keys);
  if (attend_has_tail(a)) seen = compare(k, r, "lt", key, a->keys);
  if (!graph_attention_is_banded(&a->x)) return seen;
  ir_value *query = a->one_place ? a->first : place(k, r, 0, a->first), *window = number_at(k, r, a->x.window);
  if (a->x.causal) seen = also(r, seen, compare(k, r, "le", key, query));
  if (a->x.window) seen = also(r, seen, compare(k, r, "gt", scalar2(r, "tessera.tile.add", key, window), query));
  if (a->x.window && !a->x.causal)
    seen = also(r, seen, compare(k, r, "lt", key, scalar2(r, "tessera.tile.add", query, window)));
  return seen;
}

static tsr_status load_bias(attend *a, ir_value *keys, ir_value **out) {
  kb_space s = a->rows;
  attend_side w;
  s.dims[ATTEND_WIDTH] = a->x.n, s.tn = a->bn, s.at[ATTEND_WIDTH] = keys;
  TSR_TRY(attend_window(a, ATTEND_BIAS, &s, &w));
  const tsr_dtype t = a->x.has_mask ? TSR_BOOL : a->x.accum;
  *out = ir_build1(&a->k->b, "tessera.tile.load", kb_frag(a->k, t, w.v->type->dims[0], w.v->type->dims[1]), 1, &w.v);
  return *out ? NULL : st_oom();
}

tsr_status attend_adjust(attend *a, ir_value *keys, bool all_seen, ir_value **s) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  ir_value *frags[2] = {*s, NULL}, *args[2], *seen = NULL;
  const bool bias = x->has_bias || x->has_mask,
             hides = !all_seen && (attend_has_tail(a) || graph_attention_is_banded(x)),
             scales = x->scale != 1 && !a->scales_queries;
  if (!scales && !x->softcap && !bias && !hides && !a->rows_end) return NULL;
  if (bias) TSR_TRY(load_bias(a, keys, &frags[1]));
  ir_builder r;
  ir_op *map = kb_map_open(k, bias ? 2 : 1, frags, args, &r, NULL, 0);
  if (!map) return st_oom();
  ir_value *y = args[0];
  if (scales) y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, x->scale));
  if (x->softcap > 0) {
    y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, 1 / x->softcap));
    y = ir_build1(&r, "tessera.tile.tanh", NULL, 1, &y);
    y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, x->softcap));
  }
  if (x->has_bias) y = scalar2(&r, "tessera.tile.add", y, args[1]);
  if (hides) seen = by_place(a, &r, keys);
  if (a->rows_end)
    seen = also(&r, seen, compare(k, &r, "lt", place(k, &r, 0, a->rows.at[ATTEND_PLACE]), number_at(k, &r, x->m)));
  if (x->has_mask) seen = also(&r, seen, args[1]);
  if (seen)
    y = ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){seen, y, kb_number(k, &r, x->accum, -INFINITY)});
  return (*s = kb_map_close(k, map, &r, y)) ? NULL : st_oom();
}

/* ---- the online softmax ------------------------------------------------------------------------------------------ */

ir_value *attend_exp_below(kb_kernel *k, ir_value *x, ir_value *top) {
  ir_value *args[2], *frags[2] = {x, top};
  ir_builder r;
  ir_op *map = x && top ? kb_map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *d = scalar2(&r, "tessera.tile.sub", args[0], args[1]);
  return kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.exp", NULL, 1, &d));
}

ir_value *attend_raised(attend *a, ir_value *top, ir_value *more) {
  kb_kernel *k = a->k;
  ir_value *args[2], *frags[2] = {top, more};
  ir_builder r;
  ir_op *map = more ? kb_map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  if (a->room > 0) args[1] = scalar2(&r, "tessera.tile.add", args[1], kb_number(k, &r, a->x.accum, a->room));
  return kb_map_close(k, map, &r, scalar2(&r, "tessera.tile.max", args[0], args[1]));
}

/* What is subtracted from scores: of queries that saw no key yet 0, so that exp(-inf - it) is 0. Key 0 is in the first
 * tile of those that see any, but for a window. */
ir_value *attend_base(attend *a, ir_value *top) {
  kb_kernel *k = a->k;
  if (!a->may_miss) return top;
  ir_value *arg;
  ir_builder r;
  ir_op *map = top ? kb_map_open(k, 1, &top, &arg, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *none = compare(k, &r, "eq", arg, kb_number(k, &r, a->x.accum, -INFINITY));
  return kb_map_close(
      k, map, &r,
      ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){none, kb_number(k, &r, a->x.accum, 0), arg}));
}

ir_value *attend_fused_sum(kb_kernel *k, ir_value *old, ir_value *shrink, ir_value *more) {
  ir_value *args[3], *frags[3] = {old, shrink, more};
  ir_builder r;
  ir_op *map = old && shrink && more ? kb_map_open(k, 3, frags, args, &r, NULL, 0) : NULL;
  return map ? kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.fma", NULL, 3, args)) : NULL;
}

ir_value *attend_narrowed(attend *a, ir_value *p) {
  ir_value *arg;
  ir_builder r;
  if (!p || a->t == a->x.accum) return p;
  ir_op *map = kb_map_open(a->k, 1, &p, &arg, &r, NULL, 0);
  return map ? kb_map_close(a->k, map, &r, kb_cast_to(a->k, &r, arg, a->t)) : NULL;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

ir_value *attend_average(attend *a, ir_value *const *carried) {
  kb_kernel *k = a->k;
  ir_value *args[2], *frags[2] = {carried[ATTEND_ACC], carried[ATTEND_SUM]};
  ir_builder r;
  ir_op *map = kb_map_open(k, 2, frags, args, &r, NULL, 0);
  if (!map) return NULL;
  ir_value *y = scalar2(&r, "tessera.tile.div", args[0], args[1]);
  if (a->hides_rows) {
    ir_value *zero = kb_number(k, &r, a->x.accum, 0), *none = compare(k, &r, "eq", args[1], zero);
    y = ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){none, zero, y});
  }
  return kb_map_close(k, map, &r, y);
}

/* Of a query whose scores are all -inf, or that saw none, -inf, of one with a score of +inf that: its sum is none. */
ir_value *attend_log_sum(attend *a, ir_value *const *carried) {
  kb_kernel *k = a->k;
  ir_value *args[2], *frags[2] = {carried[ATTEND_TOP], carried[ATTEND_SUM]};
  ir_builder r;
  ir_op *map = kb_map_open(k, 2, frags, args, &r, NULL, 0);
  if (!map) return NULL;
  ir_value *most = kb_number(k, &r, a->x.accum, INFINITY), *l = ir_build1(&r, "tessera.tile.log", NULL, 1, &args[1]);
  ir_value *size = ir_build1(&r, "tessera.tile.abs", NULL, 1, &args[0]), *all = compare(k, &r, "eq", size, most);
  ir_value *y = scalar2(&r, "tessera.tile.add", args[0], l);
  return kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){all, args[0], y}));
}
