/* core/passes/graph/precision.c - see precision.h. In safe mode the data field of a narrow value is its f32
 * counterpart, once something needs it; ops that stay as they are read the narrow one, made of that. */
#include "core/passes/graph/precision.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/graph/views.h"

static const char *name_of(const ir_op *op) { return strrchr(op->def->name, '.') + 1; }

static bool is_narrow(const ir_type *t) {
  return dtype_is_float(t->dtype) && (tsr_dtype_size(t->dtype) < 4 || t->dtype == TSR_TF32);
}

enum { MOST_RESULTS = 8 };

/* ---- safe -------------------------------------------------------------------------------------------------------- */

static bool touches_narrow(const ir_op *op) {
  bool any = false;
  for (int i = 0; i < op->n_operands; i++) any |= is_narrow(op->operands[i]->type);
  for (int i = 0; i < op->n_results; i++) any |= is_narrow(op->results[i]->type);
  return any;
}

/* Is it computed in f32? What only moves elements is where they are f32 already. */
static bool widens(const ir_op *op) {
  bool wide = false;
  switch (graph_kind_of(op)) {
    case GRAPH_POINTWISE:
    case GRAPH_REDUCTION:
    case GRAPH_NORM:
    case GRAPH_CONTRACTION:
    case GRAPH_ATTENTION:
    case GRAPH_DFT: return true;
    case GRAPH_MOVE:
    case GRAPH_COPY:
    case GRAPH_WINDOWS:
    case GRAPH_GATHER:
    case GRAPH_SCATTER:
      for (int i = 0; i < op->n_operands; i++) wide |= op->operands[i]->data != NULL;
      return wide;
    default: return false;
  }
}

static ir_value *wide_of(ir_builder *b, ir_value *v) {
  if (is_narrow(v->type) && !v->data) v->data = graph_cast(b, v, TSR_F32);
  return is_narrow(v->type) ? v->data : v;
}

/* Attributes that name a narrow type name f32. */
static bool widen_attrs(ir_op *op) {
  static const char *const names[] = {"dtype", "out_dtype"};
  for (int i = 0; i < 2; i++) {
    const tsr_dtype t = tsr_dtype_parse(ir_get_str(op, names[i], "none"));
    const bool narrow = t && dtype_is_float(t) && (tsr_dtype_size(t) < 4 || t == TSR_TF32);
    if (narrow && !ir_set_attr(op, names[i], ir_attr_str(op->module, "f32"))) return false;
  }
  return true;
}

static tsr_status infer_all(ir_op *op) {
  const ir_type *types[MOST_RESULTS] = {NULL};
  TSR_TRY(op->def->infer(op, types));
  for (int i = 0; i < op->n_results; i++) op->results[i]->type = types[i];
  return NULL;
}

static tsr_status rebuild(ir_builder *b, ir_op *op) {
  ir_value **x = arena_array(&b->m->arena, ir_value *, op->n_operands + 1);
  if (!x) return st_oom();
  for (int i = 0; i < op->n_operands; i++)
    if (!(x[i] = wide_of(b, op->operands[i]))) return st_oom();
  ir_op *n = ir_op_new(b, op->def, op->n_operands, x, op->n_results, NULL, 0);
  if (!n || !ir_attrs_copy(n, op) || !widen_attrs(n)) return st_oom();
  TSR_TRY(infer_all(n));
  for (int i = 0; i < op->n_results; i++) {
    if (is_narrow(op->results[i]->type)) op->results[i]->data = n->results[i];
    else ir_forward(op->results[i], n->results[i]);
  }
  return NULL;
}

/* Operands that were computed in f32, as op takes them. */
static tsr_status read_narrow(ir_builder *b, ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    ir_value *wide = is_narrow(v->type) ? v->data : NULL;
    if (!wide || (graph_is(wide->def, G_CAST) && wide->def->operands[0] == v)) continue;
    ir_value *y = graph_cast(b, wide, v->type->dtype);
    if (!y) return st_oom();
    ir_set_operand(op, i, y);
  }
  return NULL;
}

static tsr_status make_safe(ir_op *f, const pass_options *o, bool *changed) {
  ir_block *r = f->regions[0];
  ir_clear_data(f);
  for (ir_op *op = r->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (!touches_narrow(op)) continue;
    ir_builder b = ir_before(op);
    b.loc = op->loc;
    if (op == r->last || op->n_results > MOST_RESULTS || !op->def->infer || !widens(op)) {
      TSR_TRY(read_narrow(&b, op));
      continue;
    }
    TSR_TRY(rebuild(&b, op));
    trace_add(o->trace, "precision", "safe", op, true, "%s in f32", name_of(op));
    *changed = true;
  }
  ir_dce(f);
  ir_clear_data(f);
  return NULL;
}

/* ---- aggressive -------------------------------------------------------------------------------------------------- */

typedef enum scaling { BY_CHANNEL, BY_TENSOR, UNSCALED, BY_BLOCK, N_SCALINGS } scaling;
enum { SCALED_BLOCK = 32 }; /* of k, as microscaling formats have it */

static bool set_int(ir_op *op, const char *name, int64_t v) {
  return ir_set_attr(op, name, ir_attr_int(op->module, v));
}

/* Op c with n results of x and perhaps a scale, of which those along `axis` share one: all there are, or a block. */
static ir_op *along_axis(ir_builder *b, graph_code c, int n, ir_value *x, ir_value *scale, int axis, int64_t block) {
  ir_op *op = x ? ir_op_new(b, graph_def(c), scale ? 2 : 1, (ir_value *[]){x, scale}, n, NULL, 0) : NULL;
  if (!op || !ir_set_attr(op, "scales", ir_attr_str(b->m, "block")) || !set_int(op, "axis", axis) ||
      !set_int(op, "block", block))
    return b->failed = true, NULL;
  return op;
}

static ir_value *finished(ir_builder *b, ir_op *op) {
  tsr_status st = op ? infer_all(op) : NULL;
  if (st) ir_refuse(b->m, st), b->failed = true;
  return op && !b->failed ? op->results[0] : NULL;
}

/* x over a scale as fp8_e4m3: one of all of x, or for each row of what a product sums along `axis` (kept, of extent 1).
 * NULL: unscaled, or a block has its own. Then it is multiplied by that in bf16, which is exact, since scales of blocks
 * are powers of two. */
static ir_value *quantised(ir_builder *b, ir_value *x, int axis, scaling how, ir_value **scale) {
  *scale = NULL;
  if (how == UNSCALED) return graph_cast(b, x, TSR_F8E4M3);
  ir_op *op = along_axis(b, G_QUANTIZE, 2, x, NULL, axis, how == BY_BLOCK ? SCALED_BLOCK : 0);
  bool ok = op != NULL;
  if (how == BY_TENSOR) ok = ok && ir_set_attr(op, "scales", ir_attr_str(b->m, "tensor"));
  if (how == BY_BLOCK) ok = ok && ir_set_attr(op, "powers_of_two", ir_attr_bool(b->m, true));
  x = ok ? finished(b, op) : NULL;
  if (!x) return NULL;
  if (how != BY_BLOCK) return *scale = op->results[1], x;
  ir_op *y = along_axis(b, G_RESCALE, 1, x, op->results[1], axis, SCALED_BLOCK);
  return y && ir_set_attr(y, "dtype", ir_attr_str(b->m, "bf16")) ? finished(b, y) : NULL;
}

static ir_value *fp8_product(ir_builder *b, ir_op *op, scaling how) {
  const bool ta = graph_is_transposed(op, 0), tb = graph_is_transposed(op, 1);
  ir_value *s[2], *x = op->operands[0], *y = op->operands[1];
  x = quantised(b, x, x->type->rank - (ta ? 2 : 1), how, &s[0]);
  y = quantised(b, y, y->type->rank - (tb ? 1 : 2), how, &s[1]);
  ir_op *n = x && y ? ir_op_new(b, op->def, 2, (ir_value *[]){x, y}, 1, NULL, 0) : NULL;
  if (!n || !graph_orient(n, ta, tb) || !ir_set_attr(n, "out_dtype", ir_attr_str(b->m, "f32"))) return NULL;
  ir_value *z = finished(b, n);
  for (int i = 0; i < 2 && z; i++) {
    if (!s[i]) continue;
    ir_value *v = graph_along_result(b, s[i], i ? tb : ta);
    z = v ? graph_op2(b, G_MUL, z, v) : NULL;
  }
  return graph_cast(b, z, op->results[0]->type->dtype);
}

/* Why a product keeps its operands; NULL: they become fp8. */
static const char *keeps(const ir_op *op) {
  for (int i = 0; i < 2; i++) {
    const ir_value *v = op->operands[i];
    if (!dtype_is_float(v->type->dtype)) return "its operands are integers";
    if (v->type->dtype == TSR_F64) return "f64 stays";
    if (tsr_dtype_size(v->type->dtype) == 1) return "its operands are fp8 already";
    if (v->def && graph_is_kind(v->def, GRAPH_WINDOWS)) return "it reads an image through its windows";
    if (ir_type_count(v->type) <= 0) return "a dimension is unknown or 0";
  }
  return NULL;
}

static ir_value *narrow_attention(ir_builder *b, ir_op *op) {
  ir_value **x = arena_array(&b->m->arena, ir_value *, op->n_operands + 1);
  for (int i = 0; x && i < op->n_operands; i++)
    if (!(x[i] = i < 3 ? graph_cast(b, op->operands[i], TSR_BF16) : op->operands[i])) return NULL;
  ir_op *n = x ? ir_op_new(b, op->def, op->n_operands, x, op->n_results, NULL, 0) : NULL;
  if (!n || !ir_attrs_copy(n, op)) return NULL;
  if (!finished(b, n)) return NULL;
  if (n->n_results > 1) ir_forward(op->results[1], n->results[1]);
  return graph_cast(b, n->results[0], op->results[0]->type->dtype);
}

static tsr_status make_aggressive(ir_op *f, const pass_options *o, scaling how, bool *changed) {
  static const char *const scales[N_SCALINGS] = {"a scale for each row and column", "a scale for each operand",
                                                 "no scales", "a power of two for each 32 elements, products of bf16"};
  for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    ir_builder b = ir_before(op);
    b.loc = op->loc;
    ir_value *y = NULL;
    const bool attends = graph_is_kind(op, GRAPH_ATTENTION) && op->operands[0]->type->dtype == TSR_F32;
    if (graph_is_kind(op, GRAPH_CONTRACTION)) {
      const char *why = keeps(op);
      trace_add(o->trace, "precision", "aggressive", op, !why,
                why ? "%s: %s" : "%s: operands in fp8_e4m3, %s, sums in f32", name_of(op), why ? why : scales[how]);
      if (why) continue;
      y = fp8_product(&b, op, how);
    } else if (attends) {
      trace_add(o->trace, "precision", "aggressive", op, true, "%s in bf16", name_of(op));
      y = narrow_attention(&b, op);
    } else continue;
    if (!y || b.failed) return st_oom();
    ir_forward(op->results[0], y);
    *changed = true;
  }
  if (*changed) TSR_TRY(graph_expand(f, NULL)); /* what gives the scales is composite */
  ir_dce(f);
  return NULL;
}

/* ---- tf32 -------------------------------------------------------------------------------------------------------- */

/* v rounded to tf32. Windows of an image are made of the rounded one, so that products still read it through them. */
static ir_value *rounded(ir_builder *b, ir_value *v) {
  if (!v->def || !graph_is_kind(v->def, GRAPH_WINDOWS) || v->def->n_operands != 1)
    return graph_cast(b, v, TSR_TF32);
  ir_builder at = ir_before(v->def);
  ir_value *x = graph_cast(&at, v->def->operands[0], TSR_TF32), *y = x ? graph_build_like(&at, v->def, &x) : NULL;
  b->failed |= at.failed;
  return y;
}

static ir_value *tf32_product(ir_builder *b, ir_op *op) {
  ir_value *x[2] = {rounded(b, op->operands[0]), NULL};
  x[1] = op->operands[1] == op->operands[0] ? x[0] : rounded(b, op->operands[1]);
  ir_op *n = x[0] && x[1] ? ir_op_new(b, op->def, 2, x, 1, NULL, 0) : NULL;
  if (!n || !ir_attrs_copy(n, op) || !ir_set_attr(n, "out_dtype", ir_attr_str(b->m, "f32"))) return NULL;
  return graph_cast(b, finished(b, n), op->results[0]->type->dtype);
}

/* Queries, keys and values have the values of tf32; its kernels take them as f32. */
static bool round_attention(ir_builder *b, ir_op *op) {
  for (int i = 0; i < 3; i++) {
    ir_value *y = graph_cast(b, graph_cast(b, op->operands[i], TSR_TF32), TSR_F32);
    if (!y) return false;
    ir_set_operand(op, i, y);
  }
  return true;
}

static tsr_status make_tf32(ir_op *f, const pass_options *o, bool *changed) {
  for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    const bool attends = graph_is_kind(op, GRAPH_ATTENTION);
    if (!attends && !graph_is_kind(op, GRAPH_CONTRACTION)) continue;
    if (op->operands[0]->type->dtype != TSR_F32 || op->operands[1]->type->dtype != TSR_F32) continue;
    ir_builder b = ir_before(op);
    b.loc = op->loc;
    trace_add(o->trace, "precision", "tf32", op, true, "%s: operands in tf32, sums in f32", name_of(op));
    *changed = true;
    if (attends && !round_attention(&b, op)) return st_oom();
    if (attends) continue;
    ir_value *y = tf32_product(&b, op);
    if (!y || b.failed) return st_oom();
    ir_forward(op->results[0], y);
  }
  ir_dce(f);
  return NULL;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

static tsr_status scaling_of(const ir_op *f, scaling *out) {
  static const char *const words[N_SCALINGS] = {"channel", "tensor", "none", "block"};
  const char *word = ir_get_str(f, "fp8_scales", words[0]);
  for (int i = 0; i < N_SCALINGS; i++)
    if (!strcmp(word, words[i])) return *out = (scaling)i, NULL;
  return ir_error(f, FP8_SCALES_WORDS, "unknown fp8_scales \"%s\"", word);
}

tsr_status graph_apply_precision(ir_module *m, tsr_precision mode, const pass_options *opts) {
  static const pass_options none = {0};
  const pass_options *o = opts ? opts : &none;
  bool any = false;
  if (mode == TSR_PRECISION_STANDARD || mode == TSR_PRECISION_DETERMINISTIC) return NULL;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    bool changed = false;
    scaling how = BY_CHANNEL;
    if (!graph_is(f, G_FUNC)) continue;
    TSR_TRY(scaling_of(f, &how));
    tsr_status st = mode == TSR_PRECISION_SAFE   ? make_safe(f, o, &changed)
                    : mode == TSR_PRECISION_TF32 ? make_tf32(f, o, &changed)
                                                 : make_aggressive(f, o, how, &changed);
    if (!st && changed) st = graph_simplify(f, o);
    if (st) return ir_cause(m, NULL, st);
    any |= changed;
  }
  return any ? ir_verify(m) : NULL;
}
