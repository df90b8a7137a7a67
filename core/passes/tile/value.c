/* core/passes/tile/value.c - values of a schedule.kernel's body as Tile IR fragments: loads of what lies in memory, one
 * map per elementwise op (tile_fuse_maps joins them), row operations by reductions. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/tile/build.h"

/* ---- maps ------------------------------------------------------------------------------------------------------ */

static const char *scalar_name(int code) {
  static const char *const names[] = {
#define NAME_OF(CODE, name, n, kind, help) "tessera.tile." name,
      SCALAR_OPS(NAME_OF)
#undef NAME_OF
  };
  return names[code];
}

/* A map over fragments (entries may be NULL: the region argument is then the immediate). The region gets its arguments
 * in args[]. */
static ir_op *map_open(kern *k, int n, ir_value **frags, ir_value **args, ir_builder *region, const double *imms,
                       tsr_dtype imm_type) {
  ir_value *operands[8];
  int m = 0;
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

static ir_value *map_close(kern *k, ir_op *map, ir_builder *region, ir_value *y) {
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

ir_value *kb_map1(kern *k, int code, ir_value *a) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = a ? map_open(k, 1, &a, args, &r, NULL, 0) : NULL;
  return map ? map_close(k, map, &r, ir_build1(&r, scalar_name(code), NULL, 1, args)) : NULL;
}

ir_value *kb_map2(kern *k, int code, ir_value *a, ir_value *b) {
  ir_value *args[2], *frags[2] = {a, b};
  ir_builder r;
  ir_op *map = a && b ? map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  return map ? map_close(k, map, &r, ir_build1(&r, scalar_name(code), NULL, 2, args)) : NULL;
}

ir_value *kb_map2_imm(kern *k, int code, ir_value *a, double imm) {
  ir_value *args[2], *frags[2] = {a, NULL};
  double imms[2] = {0, imm};
  ir_builder r;
  ir_op *map = a ? map_open(k, 2, frags, args, &r, imms, a->type->dtype) : NULL;
  return map ? map_close(k, map, &r, ir_build1(&r, scalar_name(code), NULL, 2, args)) : NULL;
}

static ir_value *number(kern *k, ir_builder *r, tsr_dtype t, double v) {
  ir_value *x = ir_build1(r, "tessera.tile.const", ir_type_scalar(k->m, t), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_float(k->m, v)) ? x : NULL;
}

ir_value *kb_mask(kern *k, ir_value *x, ir_value *from, int64_t n, double other) {
  ir_value *args[1], *end = kb_index(k, n);
  ir_builder r;
  ir_op *map = x && end ? map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  ir_value *column = map ? ir_build1(&r, "tessera.tile.index", ir_type_index(k->m), 0, NULL) : NULL;
  if (!column || !ir_set_attr(column->def, "dim", ir_attr_int(k->m, 1))) return NULL;
  ir_value *at = ir_build1(&r, "tessera.tile.add", NULL, 2, (ir_value *[]){column, from});
  ir_value *inside = ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){at, end});
  ir_value *outside = ir_build1(&r, "tessera.tile.const", ir_type_scalar(k->m, x->type->dtype), 0, NULL);
  if (!inside || !outside || !ir_set_attr(inside->def, "predicate", ir_attr_str(k->m, "lt")) ||
      !ir_set_attr(outside->def, "value", ir_attr_float(k->m, other)))
    return NULL;
  return map_close(k, map, &r, ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){inside, args[0], outside}));
}

ir_value *kb_finite(kern *k, ir_value *x) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = x ? map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *most = number(k, &r, x->type->dtype, dtype_get(x->type->dtype)->max),
           *zero = number(k, &r, x->type->dtype, 0);
  ir_value *inside = ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2,
                               (ir_value *[]){ir_build1(&r, "tessera.tile.abs", NULL, 1, args), most});
  if (!inside || !zero || !ir_set_attr(inside->def, "predicate", ir_attr_str(k->m, "le"))) return NULL;
  return map_close(k, map, &r, ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){inside, args[0], zero}));
}

ir_value *kb_reduce(kern *k, const char *op, ir_value *x) {
  ir_op *r = x ? ir_op_new(&k->b, ir_find_op("tessera.tile.reduce"), 1, &x, 1, NULL, 0) : NULL;
  if (!r || !ir_set_attr(r, "axis", ir_attr_int(k->m, 1)) || !ir_set_attr(r, "op", ir_attr_str(k->m, op)) ||
      !ir_set_attr(r, "policy", ir_attr_str(k->m, k->opts->policy)))
    return NULL;
  ir_type t = *x->type;
  t.dims[1] = 1;
  return (r->results[0]->type = ir_type_get(k->m, &t)) ? r->results[0] : NULL;
}

/* ---- elementwise ops ------------------------------------------------------------------------------------------- */

static int scalar_of(const ir_op *op) {
  static const int16_t map[G_N_CODES] = {
      [G_ADD] = SC_ADD + 1,     [G_SUB] = SC_SUB + 1,   [G_MUL] = SC_MUL + 1,         [G_DIV] = SC_DIV + 1,
      [G_REM] = SC_REM + 1,     [G_POW] = SC_POW + 1,   [G_MIN] = SC_MIN + 1,         [G_MAX] = SC_MAX + 1,
      [G_AND] = SC_AND + 1,     [G_OR] = SC_OR + 1,     [G_NEG] = SC_NEG + 1,         [G_ABS] = SC_ABS + 1,
      [G_EXP] = SC_EXP + 1,     [G_LOG] = SC_LOG + 1,   [G_SQRT] = SC_SQRT + 1,       [G_RSQRT] = SC_RSQRT + 1,
      [G_TANH] = SC_TANH + 1,   [G_ERF] = SC_ERF + 1,   [G_SIGMOID] = SC_SIGMOID + 1, [G_RELU] = SC_RELU + 1,
      [G_GELU] = SC_GELU + 1,   [G_SILU] = SC_SILU + 1, [G_SIN] = SC_SIN + 1,         [G_COS] = SC_COS + 1,
      [G_FLOOR] = SC_FLOOR + 1, [G_NOT] = SC_NOT + 1,   [G_COMPARE] = SC_COMPARE + 1, [G_SELECT] = SC_SELECT + 1};
  int c = map[op->def->code] - 1;
  return c == SC_GELU && graph_variant(op) ? SC_GELU_TANH : c;
}

static ir_value *cast_to(kern *k, ir_builder *r, ir_value *x, tsr_dtype t) {
  return x && x->type->dtype != t ? ir_build1(r, "tessera.tile.cast", ir_type_scalar(k->m, t), 1, &x) : x;
}

/* Arithmetic of narrow integers wraps at their own width, computed in i32. */
static ir_value *wrap(kern *k, ir_builder *r, ir_value *x, tsr_dtype t) {
  if (t == TSR_U8) {
    ir_value *mask = number(k, r, TSR_I32, 255);
    return ir_build1(r, "tessera.tile.and", NULL, 2, (ir_value *[]){x, mask});
  }
  if (t != TSR_I8 && t != TSR_I16) return x;
  ir_value *n = number(k, r, TSR_I32, t == TSR_I8 ? 24 : 16),
           *up = ir_build1(r, "tessera.tile.shl", NULL, 2, (ir_value *[]){x, n});
  return ir_build1(r, "tessera.tile.shr", NULL, 2, (ir_value *[]){up, n});
}

ir_value *kb_wrap(kern *k, ir_value *x, tsr_dtype t) {
  ir_value *args[1];
  ir_builder r;
  bool halved = x && x->type->dtype == TSR_I64 && t != TSR_I64; /* a cast saturates: the upper half goes first */
  if (!x || dtype_is_float(x->type->dtype) || (!halved && t != TSR_I8 && t != TSR_U8 && t != TSR_I16)) return x;
  ir_op *map = map_open(k, 1, &x, args, &r, NULL, 0);
  if (!map) return NULL;
  ir_value *y = args[0];
  if (halved) {
    ir_value *n = number(k, &r, TSR_I64, 32), *up = ir_build1(&r, "tessera.tile.shl", NULL, 2, (ir_value *[]){y, n});
    y = cast_to(k, &r, ir_build1(&r, "tessera.tile.shr", NULL, 2, (ir_value *[]){up, n}), TSR_I32);
  }
  return map_close(k, map, &r, wrap(k, &r, y, t));
}

tsr_status kb_operand(kern *k, ir_value *v, const space *s, const ir_type *orig, form f, ir_value **out) {
  ir_value *args[1];
  ir_builder r;
  tsr_dtype t = v->type->dtype;
  TSR_TRY(kb_value(k, v, s, orig, f, out));
  node *n = node_of(k, v);
  if (!n) return st_oom();
  bool narrow = dtype_is_float(t) && kb_compute(t) != t && (*out)->type->dtype != t;
  if (n->is_mem || n->is_imm || !narrow || strcmp(k->opts->policy, "deterministic")) return NULL;
  ir_op *map = map_open(k, 1, out, args, &r, NULL, 0);
  *out = map ? map_close(k, map, &r, cast_to(k, &r, cast_to(k, &r, args[0], t), (*out)->type->dtype)) : NULL;
  return *out ? NULL : st_oom();
}

static tsr_status elementwise(kern *k, ir_op *op, const space *s, const ir_type *orig, form f, ir_value **out) {
  ir_value *frags[4] = {0}, *args[4];
  double imms[4] = {0};
  tsr_dtype in_type = TSR_DTYPE_NONE;
  int n = op->n_operands, live = 0;
  for (int i = 0; i < n; i++) {
    node *x = node_of(k, op->operands[i]);
    if (!x) return st_oom();
    tsr_dtype t = kb_compute(op->operands[i]->type->dtype);
    if (i || op->def->code != G_SELECT) in_type = t;
    imms[i] = x->imm;
    if (x->is_imm) continue;
    TSR_TRY(kb_operand(k, op->operands[i], s, orig, f, &frags[i]));
    live++;
  }
  k->b.loc = op->loc;
  if (!live) { /* constants only: spread the first one */
    tsr_dtype t = kb_compute(op->operands[0]->type->dtype);
    frags[0] = ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, t, 1, 1), 0, NULL);
    if (!frags[0] || !ir_set_attr(frags[0]->def, "value", ir_attr_float(k->m, imms[0]))) return st_oom();
  }
  ir_builder r;
  bool select_imm = op->def->code == G_SELECT && !frags[0];
  ir_op *map = map_open(k, n, frags, args, &r, imms, in_type);
  if (!map) return st_oom();
  if (select_imm) args[0] = number(k, &r, TSR_BOOL, imms[0]);
  ir_value *y;
  tsr_dtype to = op->results[0]->type->dtype, ct = kb_compute(to);
  if (op->def->code == G_CAST) {
    /* Through the narrow type, so that it rounds, and back to the type that computes it. */
    y = cast_to(k, &r, cast_to(k, &r, args[0], to), ct);
  } else {
    int code = scalar_of(op);
    if (code < 0) return ir_error(op, NULL, "can't be lowered inside a fused kernel");
    const ir_type *bool_type = code == SC_COMPARE ? ir_type_scalar(k->m, TSR_BOOL)
                                                  : NULL; /* inference needs the predicate, which comes next */
    y = ir_build1(&r, scalar_name(code), bool_type, n, args);
    if (y && bool_type && !ir_set_attr(y->def, "predicate", ir_attr_str(k->m, graph_predicate_name(graph_variant(op)))))
      return st_oom();
    if (y && code <= SC_ABS) y = wrap(k, &r, y, to);
  }
  *out = map_close(k, map, &r, y);
  return *out ? NULL : st_oom();
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

static ir_value **slot_of(node *n, const space *s, form f) {
  for (int i = 0; i < n->n_frags; i++)
    if (n->frags[i].s == s && n->frags[i].f == f) return &n->frags[i].frag;
  if (n->n_frags == 8) return NULL;
  n->frags[n->n_frags].s = s;
  n->frags[n->n_frags].f = f;
  return &n->frags[n->n_frags++].frag;
}

/* Threads of a GPU should read neighbours in memory: a tile that lies the other way is read as it lies and turned in
 * the block. */
static bool reads_turned(const kern *k) {
  const tsr_caps *c = k->opts->caps;
  return c->dialect == DIALECT_CUDA || c->dialect == DIALECT_HIP || (c->dialect == DIALECT_SPIRV && c->subgroup > 8);
}

static tsr_status load(kern *k, const mem *m, const space *s, form f, ir_value **out) {
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  bool flipped = false;
  space_strides(m, s, f, strides);
  TSR_TRY(kb_window(k, m, s, strides, reads_turned(k) && s->tm > 1 ? &flipped : NULL, &w));
  if (flipped && w->type->dims[0] > 1 && w->type->dims[1] > 1) {
    ir_value *v = ir_build1(&k->b, "tessera.tile.load",
                            kb_frag(k, kb_compute(m->dtype), w->type->dims[0], w->type->dims[1]), 1, &w);
    ir_op *t = v ? ir_op_new(&k->b, ir_find_op("tessera.tile.transpose"), 1, &v, 1, NULL, 0) : NULL;
    if (!t || !ir_set_attr(t, "perm", ir_attr_ints(k->m, (int64_t[]){1, 0}, 2)) ||
        !(t->results[0]->type = kb_frag(k, v->type->dtype, v->type->dims[1], v->type->dims[0])))
      return st_oom();
    *out = t->results[0];
    return NULL;
  }
  if (flipped) TSR_TRY(kb_window(k, m, s, strides, NULL, &w));
  *out = ir_build1(&k->b, "tessera.tile.load", kb_frag(k, kb_compute(m->dtype), w->type->dims[0], w->type->dims[1]), 1,
                   &w);
  return *out ? NULL : st_oom();
}

bool kb_is_row_op(const ir_op *op) {
  return (op->def->code >= G_REDUCE_SUM && op->def->code <= G_REDUCE_PROD) || op->def->code == G_SOFTMAX ||
         op->def->code == G_LAYERNORM || op->def->code == G_RMSNORM;
}

tsr_status kb_value(kern *k, ir_value *v, const space *s, const ir_type *orig, form f, ir_value **out) {
  node *n = node_of(k, v);
  if (!n) return st_oom();
  ir_op *op = v->def;
  if (s->plain) f = FORM_FULL;
  else if (!n->is_mem && !n->is_imm && op &&
           (op->def->flags & IR_ELEMENTWISE || kb_is_row_op(op) || op->def->flags & IR_VIEWLIKE ||
            op->def->code == G_MATMUL))
    f = form_of(v->type, orig);
  ir_value **slot = slot_of(n, s, f);
  if (!slot) return ir_error(k->src, NULL, "a value is used in too many ways");
  if (*slot) {
    *out = *slot;
    return NULL;
  }
  if (n->is_mem) {
    TSR_TRY(load(k, &n->m, s, f, out));
  } else if (n->is_imm) {
    *out = ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, kb_compute(v->type->dtype), 1, 1), 0, NULL);
    if (!*out || !ir_set_attr((*out)->def, "value", ir_attr_float(k->m, n->imm))) return st_oom();
  } else if (op->def->flags & IR_ELEMENTWISE) {
    TSR_TRY(elementwise(k, op, s, orig, f, out));
  } else if (kb_is_row_op(op)) {
    TSR_TRY(n->stat[0] ? kb_row_apply(k, op, s, orig, out) : kb_row_op(k, op, s, orig, out));
  } else if (op->def->flags & IR_VIEWLIKE) {
    /* Between per-row and full values these compute nothing: dimensions of 1 repeat. */
    TSR_TRY(kb_value(k, op->operands[0], s, orig, f, out));
  } else {
    return ir_error(op, NULL, "can't be lowered inside a %s kernel", ir_get_str(k->src, "family", ""));
  }
  *slot = *out;
  return NULL;
}

/* ---- row operations -------------------------------------------------------------------------------------------- */

/* Operands narrower than the row (one element that repeats) must be spread before they are summed. */
ir_value *kb_spread(kern *k, ir_value *x, const space *s) {
  if (!x || x->type->dims[1] == s->tn) return x;
  ir_value *zero = ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, x->type->dtype, 1, s->tn), 0, NULL), *args[2],
           *frags[2] = {x, zero};
  if (!zero || !ir_set_attr(zero->def, "value", ir_attr_float(k->m, 0))) return NULL;
  ir_builder r;
  ir_op *map = map_open(k, 2, frags, args, &r, NULL, 0);
  return map ? map_close(k, map, &r, args[0]) : NULL;
}

/* One division a row: the sum is between 1 and the row's length. */
ir_value *kb_reciprocal(kern *k, ir_value *sum) {
  ir_value *one = sum ? ir_build1(&k->b, "tessera.tile.fill", sum->type, 0, NULL) : NULL;
  if (!one || !ir_set_attr(one->def, "value", ir_attr_float(k->m, 1))) return NULL;
  return kb_map2(k, SC_DIV, one, sum);
}

static ir_value *softmax(kern *k, ir_value *x) {
  ir_value *e = kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, kb_reduce(k, "max", x))), *sum = kb_reduce(k, "sum", e);
  return kb_map2(k, SC_MUL, e, kb_reciprocal(k, sum));
}

static ir_value *scale_row(kern *k, ir_value *x, double n) { return kb_map2_imm(k, SC_MUL, x, n); }

/* The CPU's row kernels take a plain norm (cpu/row_kernels.c), and look after its range and rounding themselves
 * (backends/cpu/rows.c). On GPUs another reduction would cost up to a sixth of the time (docs/precision.md says what a
 * plain norm doesn't hold). */
static bool norm_is_plain(const kern *k, const ir_op *op, double n) {
  return op->operands[0]->type->dtype != TSR_F64 && strcmp(k->opts->policy, "kahan_sum") &&
         (n > 1 || k->opts->caps->dialect != DIALECT_CPU);
}

/* select(x > limit, high, low) of one number a row. */
static ir_value *choose(kern *k, ir_value *x, double limit, double high, double low) {
  ir_value *args[1];
  ir_builder r;
  ir_op *map = x ? map_open(k, 1, &x, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  tsr_dtype t = x->type->dtype;
  ir_value *y = number(k, &r, t, limit),
           *above =
               y ? ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){args[0], y})
                 : NULL;
  if (!above || !ir_set_attr(above->def, "predicate", ir_attr_str(k->m, "gt"))) return NULL;
  return map_close(k, map, &r,
                   ir_build1(&r, "tessera.tile.select", NULL, 3,
                             (ir_value *[]){above, number(k, &r, t, high), number(k, &r, t, low)}));
}

/* Rows with numbers whose squares leave the type are scaled by a power of two first. The mean is taken twice: what the
 * first leaves of equal numbers is short, so that its mean is exact and nothing rests. The least that is added to the
 * variance keeps such a row from 0 / 0. */
static ir_value *norm(kern *k, const ir_op *op, ir_value *x, double n) {
  bool wide = x->type->dtype == TSR_F64, centred = op->def->code == G_LAYERNORM;
  double eps = ir_get_float(op, "eps", 1e-5), limit = wide ? 0x1p480 : 0x1p54, s = wide ? 0x1p-600 : 0x1p-76,
         least = wide ? 0x1p-1000 : 0x1p-124;
  ir_value *most = kb_reduce(k, "max", kb_map1(k, SC_ABS, x)), *scale = choose(k, most, limit, s, 1),
           *added = choose(k, most, limit, eps * s * s > least ? eps * s * s : least, eps);
  x = kb_map2(k, SC_MUL, x, scale);
  for (int i = 0; centred && i < 2; i++) x = kb_map2(k, SC_SUB, x, kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", x), n));
  ir_value *var = kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", kb_map2(k, SC_MUL, x, x)), n);
  return kb_map2(k, SC_MUL, x, kb_map1(k, SC_RSQRT, kb_map2(k, SC_ADD, var, added)));
}

/* On the CPU as its row kernels want it. A sum of equal 16-bit numbers is exact, and its quotient by their count too.
 */
static ir_value *plain_norm(kern *k, const ir_op *op, ir_value *x, double n) {
  double eps = ir_get_float(op, "eps", 1e-5);
  bool cpu = k->opts->caps->dialect == DIALECT_CPU;
  if (op->def->code == G_LAYERNORM)
    x = kb_map2(k, SC_SUB, x, kb_map2_imm(k, cpu ? SC_MUL : SC_DIV, kb_reduce(k, "sum", x), cpu ? 1 / n : n));
  ir_value *var = scale_row(k, kb_reduce(k, "sum", kb_map2(k, SC_MUL, x, x)), 1 / n);
  return kb_map2(k, SC_MUL, x, kb_map1(k, SC_RSQRT, kb_map2_imm(k, SC_ADD, var, eps)));
}

/* A row without elements: the identity of the operation (the mean is 0 / 0). */
static tsr_status reduce_nothing(kern *k, const ir_op *op, const space *s, ir_value **out) {
  tsr_dtype t = kb_compute(op->results[0]->type->dtype);
  double v = op->def->code == G_REDUCE_PROD   ? 1
             : op->def->code == G_REDUCE_MAX  ? -INFINITY
             : op->def->code == G_REDUCE_MIN  ? INFINITY
             : op->def->code == G_REDUCE_MEAN ? NAN
                                              : 0;
  *out = ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, t, s->tm, 1), 0, NULL);
  return *out && ir_set_attr((*out)->def, "value", ir_attr_float(k->m, v)) ? NULL : st_oom();
}

tsr_status kb_row_op(kern *k, ir_op *op, const space *s, const ir_type *orig, ir_value **out) {
  ir_value *x, *g = NULL, *b = NULL;
  double n = (double)s->dims[s->rank - 1];
  if (n == 0) return reduce_nothing(k, op, s, out);
  TSR_TRY(kb_operand(k, op->operands[0], s, orig, FORM_FULL, &x));
  if (op->n_operands > 1) TSR_TRY(kb_operand(k, op->operands[1], s, orig, FORM_FULL, &g));
  if (op->n_operands > 2) TSR_TRY(kb_operand(k, op->operands[2], s, orig, FORM_FULL, &b));
  k->b.loc = op->loc;
  x = kb_spread(k, x, s);
  ir_value *y = NULL;
  switch (op->def->code) {
  case G_REDUCE_SUM: y = kb_wrap(k, kb_reduce(k, "sum", x), op->results[0]->type->dtype); break;
  case G_REDUCE_MEAN: y = kb_map2_imm(k, SC_DIV, kb_reduce(k, "sum", x), n); break;
  case G_REDUCE_MAX: y = kb_reduce(k, "max", x); break;
  case G_REDUCE_MIN: y = kb_reduce(k, "min", x); break;
  case G_REDUCE_PROD: y = kb_wrap(k, kb_reduce(k, "prod", x), op->results[0]->type->dtype); break;
  case G_SOFTMAX: y = softmax(k, x); break;
  case G_LAYERNORM: case G_RMSNORM: y = norm_is_plain(k, op, n) ? plain_norm(k, op, x, n) : norm(k, op, x, n); break;
  default: break;
  }
  if (g) y = kb_map2(k, SC_MUL, y, g);
  if (b) y = kb_map2(k, SC_ADD, y, b);
  *out = y;
  return y ? NULL : st_oom();
}
