/* core/passes/cpu/from_tile.c - Tile IR to Target IR of the CPU dialect: every collective op becomes one micro-kernel
 * call over whole tiles in scratch memory. Loads and stores are folded into the ops beside them where that is safe, and
 * the canonical k loop becomes one `matmul` call, for which the backend packs b once per launch. Input: a verified
 * module; output: a new module. Invariant: a value's data field is its counterpart in the output. */
#include "core/passes/cpu/from_tile.h"

#include <assert.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/cpu/code.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/ir/tile/unfold.h"
#include "core/passes/cpu/lower.h"
#include "core/passes/cpu/patterns.h"
#include "core/passes/cpu/planes.h"
#include "core/passes/cpu/reduction_kernels.h"
#include "core/passes/target/program.h"

static ir_value *at(const ir_value *v) { return cpu_at(v); }

/* Is v, made in the loop, what carried value `index` becomes there, or the start of a product's sums that become it? */
static bool is_carried_on(const ir_value *v, const ir_block *body, int index) {
  const ir_value *next = body->last->operands[index];
  if (v->n_uses != 1 || !v->def || v->def->parent != body) return false;
  return v == next || (next->n_uses == 1 && next->def && next->def->def->code == T_GEMM &&
                       next->def->parent == body && next->def->operands[0] == v);
}

/* The result of op takes the place of a dying operand of the same shape. */
static bool take_interval(lower *l, ir_value *result, const ir_value *operand) {
  ir_value *t = at(operand);
  if (t->type->kind != IR_T_ARRAY || scratch_last_use(operand) > result->def->scratch ||
      t->type != cpu_tile_type(l, result->type))
    return false;
  scratch_interval *s = &l->scratch.v[t->scratch];
  if (s->aliased && s->end > result->def->scratch) return false; /* another value is still read there */
  if (operand->owner) {
    /* A carried value's scratch interval may only be overwritten by what is carried on in its place. */
    const ir_op *loop = operand->owner->parent;
    if (loop->def->code != T_FOR || operand->index < 1 || !is_carried_on(result, operand->owner, operand->index - 1))
      return false;
  }
  int64_t end = scratch_last_use(result);
  if (end > s->end) s->end = end;
  result->data = t;
  return true;
}

/* ---- map ------------------------------------------------------------------------------------------------------- */

static tsr_status lower_region(lower *l, ir_op *op, ir_block *to) {
  ir_block *from = op->regions[0];
  ir_builder b = ir_at_end(l->m, to);
  for (int i = 0; i < from->n_args; i++)
    if (!(from->args[i]->data = ir_block_arg(l->m, to, ir_type_get(l->m, from->args[i]->type), NULL))) return st_oom();
  TSR_TRY(cpu_lower_elements(l, &b, from));
  ir_value *y[1 + TSR_MAX_RANK + 8];
  const ir_op *yield = from->last;
  if (yield->n_operands > (int)(sizeof y / sizeof *y)) return ir_error(yield, NULL, "yields too many values");
  for (int i = 0; i < yield->n_operands; i++) y[i] = at(yield->operands[i]);
  return ir_build0(&b, "tessera.target.yield", yield->n_operands, y) ? NULL : st_oom();
}

static bool same_dims(const ir_type *a, const ir_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

/* Products that multiply v, from an op on. */
static int products_of(const ir_value *v, const ir_op *from) {
  int n = 0;
  for (const ir_op *o = from; o; o = o->next) {
    if (o->def->code == T_GEMM) n += (o->operands[1] == v) + (o->operands[2] == v);
    for (int i = 0; i < o->n_regions; i++) n += products_of(v, o->regions[i]->first);
  }
  return n;
}

/* Is v multiplied, and nothing else done with it? */
static bool only_multiplied(const ir_value *v) { return v->n_uses > 0 && products_of(v, v->def->next) == v->n_uses; }

/* Products have kernels for 16 bits: what they alone read stays as narrow as it is. */
static bool stays_narrow(const ir_value *v) {
  return tsr_dtype_size(v->type->dtype) == 2 && dtype_is_float(v->type->dtype) && only_multiplied(v);
}

static tsr_status narrow_tile(lower *l, ir_builder *b, ir_value *r) {
  ir_type narrow = *r->type;
  narrow.kind = IR_T_SHARED, narrow.pad = 0;
  ir_value *t;
  TSR_TRY(cpu_new_tile(l, b, r->def, &narrow, r->def->scratch, scratch_last_use(r), &t));
  r->data = t;
  return NULL;
}

static tsr_status lower_map(lower *l, ir_builder *b, ir_op *op) {
  ir_value *operands[64];
  int n = 0;
  if (op->n_results + op->n_operands > 64) return ir_error(op, NULL, "has too many operands");
  bool taken[64] = {0};
  for (int i = 0; i < op->n_results; i++) {
    ir_value *r = op->results[i];
    ir_op *store = NULL;
    ir_value *memory = r->n_uses ? cpu_store_target(r, &store) : NULL;
    if (memory && at(memory)) {
      r->data = at(memory);
      store->data = store; /* done */
    } else if (stays_narrow(r)) {
      TSR_TRY(narrow_tile(l, b, r));
    } else {
      for (int k = 0; k < op->n_operands && !r->data; k++)
        if (!taken[k] && same_dims(op->operands[k]->type, r->type) && take_interval(l, r, op->operands[k])) {
          for (int j = 0; j < op->n_operands; j++) taken[j] |= op->operands[j] == op->operands[k];
        }
      if (!r->data) TSR_TRY(cpu_tile_for(l, b, r));
    }
    operands[n++] = at(r);
  }
  for (int i = 0; i < op->n_operands; i++) operands[n++] = at(op->operands[i]);
  ir_op *m = ir_build0(b, "tessera.target.map", n, operands);
  if (!m || !ir_set_attr(m, "outputs", ir_attr_int(l->m, op->n_results))) return st_oom();
  return lower_region(l, op, m->regions[0]);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* A call's operands: out, x, then those of mean, factor, scale and shift that there are; attributes tell which. */
static tsr_status lower_row(lower *l, ir_builder *b, ir_op *op, const row_act *a) {
  const struct {
    const char *name;
    ir_value *v;
  } optional[] = {{"mean", a->mean}, {"factor", a->factor}, {"scale", a->scale}, {"shift", a->shift}};
  ir_value *operands[8], *out = op->results[0];
  int n = 0;
  if (a->kind == ROW_WHOLE) return cpu_lower_row(l, b, op);
  if (a->kind == ROW_DIRECT) {
    cpu_alias(l, out, op->operands[0]);
    return NULL;
  }
  const bool scaled = !a->mean && !a->scale && !a->shift;
  if (!scaled || !take_interval(l, out, a->x)) TSR_TRY(cpu_row_target(l, b, out));
  operands[n++] = at(out);
  operands[n++] = at(a->x);
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (optional[i].v) operands[n++] = at(optional[i].v);
  ir_op *c = cpu_call(l, b, "row_norm", n, operands);
  if (!c) return st_oom();
  for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
    if (optional[i].v && !ir_set_attr(c, optional[i].name, ir_attr_bool(l->m, true))) return st_oom();
  return NULL;
}

/* ---- products -------------------------------------------------------------------------------------------------- */

static tsr_status lower_gemm(lower *l, ir_builder *b, ir_op *op) {
  ir_value *acc = op->operands[0], *r = op->results[0], *a = at(op->operands[1]), *bb = at(op->operands[2]);
  bool zero = acc->def && acc->def->def->code == T_FILL && !at(acc); /* a zero nobody else needs: see fill */
  if (zero || !take_interval(l, r, acc)) {
    TSR_TRY(cpu_tile_for(l, b, r));
    if (!zero && !cpu_call2(l, b, "move", at(r), at(acc))) return st_oom();
  }
  ir_op *g = cpu_call(l, b, "gemm", 3, (ir_value *[]){at(r), a, bb});
  static const char *const names[] = {"transpose_a", "transpose_b", "policy", NULL};
  if (!g || !cpu_copy_attrs(g, op, names) || !ir_set_attr(g, "accumulate", ir_attr_bool(l->m, !zero))) return st_oom();
  return NULL;
}

/* ---- the rest -------------------------------------------------------------------------------------------------- */

static bool gathers_from(const ir_op *op, const ir_value *memory) {
  if (cpu_memory_of(op->operands[0]) == memory) return true;
  for (const ir_op *o = op->regions[0]->first; o; o = o->next)
    if (o->def->code == T_LOAD_SCALAR && cpu_memory_of(o->operands[0]) == memory) return true;
  return false;
}

/* Elements that are only stored, in the type that they have, go there at once. */
static bool gather_into_memory(ir_op *op) {
  ir_value *r = op->results[0];
  ir_op *store = NULL;
  ir_value *memory = r->n_uses ? cpu_store_target(r, &store) : NULL;
  const ir_type *t = memory && at(memory) ? memory->type : NULL;
  int64_t strides[TSR_MAX_RANK];
  if (!t || t->kind != IR_T_VIEW || t->dtype != op->operands[0]->type->dtype ||
      r->type->dtype != cpu_compute_type(t->dtype) || gathers_from(op, cpu_memory_of(memory)))
    return false;
  ir_type_strides(t, strides);
  if (strides[t->rank - 1] != 1 && t->dims[t->rank - 1] != 1) return false;
  r->data = at(memory);
  store->data = store; /* done */
  return true;
}

static tsr_status lower_gather(lower *l, ir_builder *b, ir_op *op) {
  ir_value *dst;
  if (op->n_results) {
    if (!gather_into_memory(op)) TSR_TRY(cpu_tile_for(l, b, op->results[0]));
    dst = at(op->results[0]);
  } else {
    dst = at(op->operands[1]);
  }
  ir_op *g = ir_op_new(b, ir_find_op("tessera.target.call"), 2, (ir_value *[]){dst, at(op->operands[0])}, 0, NULL, 1);
  if (!g || !ir_set_attr(g, "fn", ir_attr_str(l->m, "gather"))) return st_oom();
  return lower_region(l, op, g->regions[0]);
}

static tsr_status lower_scatter(lower *l, ir_builder *b, ir_op *op) {
  ir_op *g = ir_op_new(b, ir_find_op("tessera.target.call"), 2,
                       (ir_value *[]){at(op->operands[0]), at(op->operands[1])}, 0, NULL, 1);
  if (!g || !ir_set_attr(g, "fn", ir_attr_str(l->m, "scatter"))) return st_oom();
  return lower_region(l, op, g->regions[0]);
}

/* One call with a fresh destination per result: reduce, fft_stage, transpose, splat. */
static tsr_status lower_simple(lower *l, ir_builder *b, ir_op *op, const char *fn, const char *const *attrs) {
  ir_value *operands[8];
  int n = 0;
  for (int i = 0; i < op->n_results; i++) {
    TSR_TRY(cpu_tile_for(l, b, op->results[i]));
    operands[n++] = at(op->results[i]);
  }
  for (int i = 0; i < op->n_operands; i++) operands[n++] = at(op->operands[i]);
  ir_op *c = cpu_call(l, b, fn, n, operands);
  if (!c || !cpu_copy_attrs(c, op, attrs)) return st_oom();
  return NULL;
}

static tsr_status lower_load_scalar(lower *l, ir_builder *b, ir_op *op) {
  ir_value *operands[1 + TSR_MAX_RANK], *v;
  int n = op->n_operands;
  for (int i = 0; i < n; i++) operands[i] = at(op->operands[i]);
  for (; op->operands[0]->type->kind == IR_T_FRAG && n <= op->operands[0]->type->rank; n++) {
    operands[n] = ir_build1(b, "tessera.target.const", ir_type_index(l->m), 0, NULL);
    if (!operands[n] || !ir_set_attr(operands[n]->def, "value", ir_attr_int(l->m, 0))) return st_oom();
  }
  tsr_dtype t = op->results[0]->type->dtype;
  if (!(v = ir_build1(b, "tessera.target.fetch", NULL, n, operands))) return st_oom();
  if (v->type->dtype != t) v = ir_build1(b, "tessera.target.cast", ir_type_scalar(l->m, t), 1, &v);
  return (op->results[0]->data = v) ? NULL : st_oom();
}

static tsr_status lower_op(lower *l, ir_builder *b, ir_op *op) {
  static const char *const none[] = {NULL}, *const reduce[] = {"axis", "op", "policy", NULL},
                           *const perm[] = {"perm", NULL}, *const fft[] = {"radix", "span", "inverse", NULL},
                           *const dft[] = {"axis", "to", "lines", "inverse", "scale", "twiddle", NULL};
  if (ir_is_scalar(op)) return cpu_copy_op(l, b, op);
  switch (op->def->code) {
  case T_BLOCK_ID: case T_CONST: case T_VIEW: case T_WINDOW: return cpu_copy_op(l, b, op);
  case T_UNFOLD: return NULL; /* whoever reads it says where to */
  case T_ALLOC:
    if (!op->results[0]->n_uses) return NULL;
    return cpu_tile_for(l, b, op->results[0]);
  case T_LOAD:
    if (cpu_load_is_view(op)) {
      cpu_alias(l, op->results[0], op->operands[0]);
      return NULL;
    }
    return lower_simple(l, b, op, "copy", none);
  case T_STORE:
    if (op->data == op) return NULL;
    return cpu_call2(l, b, "copy", at(op->operands[1]), at(op->operands[0])) ? NULL : st_oom();
  case T_COPY:
    if (tile_is_unfold(op->operands[0])) return cpu_unfold(l, b, op->operands[0]->def, at(op->operands[1]), false);
    return cpu_call2(l, b, "copy", at(op->operands[1]), at(op->operands[0])) ? NULL : st_oom();
  case T_WAIT: case T_BARRIER: return NULL; /* a block is one thread here */
  case T_FILL: {
    if (cpu_fill_is_implied(op)) return NULL;
    TSR_TRY(cpu_tile_for(l, b, op->results[0]));
    ir_op *c = cpu_call(l, b, "fill", 1, (ir_value *[]){at(op->results[0])});
    return c && ir_set_attr(c, "value", ir_attr_copy(l->m, ir_get_attr(op, "value"))) ? NULL : st_oom();
  }
  case T_SPLAT: return lower_simple(l, b, op, "splat", none);
  case T_GEMM: return lower_gemm(l, b, op);
  case T_CONTRACT: return cpu_lower_contract(l, b, op);
  case T_MMA_SYNC: {
    /* c + a * b: the accumulator comes last in the text. */
    ir_value *v[3] = {op->operands[2], op->operands[0], op->operands[1]};
    TSR_TRY(cpu_tile_for(l, b, op->results[0]));
    if (!cpu_call2(l, b, "move", at(op->results[0]), at(v[0]))) return st_oom();
    ir_op *g = cpu_call(l, b, "gemm", 3, (ir_value *[]){at(op->results[0]), at(v[1]), at(v[2])});
    return g && ir_set_attr(g, "accumulate", ir_attr_bool(l->m, true)) ? NULL : st_oom();
  }
  case T_MAP: return lower_map(l, b, op);
  case T_REDUCE: return lower_simple(l, b, op, "reduce", reduce);
  case T_FOR: return cpu_lower_for(l, b, op);
  case T_IF: return cpu_lower_if(l, b, op);
  case T_GATHER: return lower_gather(l, b, op);
  case T_SCATTER: return lower_scatter(l, b, op);
  case T_FFT_STAGE: return lower_simple(l, b, op, "fft_stage", fft);
  case T_DFT: {
    ir_op *c = cpu_call(l, b, "dft", 3, (ir_value *[]){at(op->operands[1]), at(op->operands[0]), at(op->operands[2])});
    return c && cpu_copy_attrs(c, op, dft) ? NULL : st_oom();
  }
  case T_TRANSPOSE: return lower_simple(l, b, op, "transpose", perm);
  case T_RESHAPE: return lower_simple(l, b, op, "move", none);
  case T_LOAD_SCALAR: return lower_load_scalar(l, b, op);
  case T_RETURN: case T_YIELD: return NULL; /* written by the op around the region */
  default: return ir_error(op, NULL, "can't be used inside a kernel");
  }
}

static tsr_status lower_block(lower *l, ir_block *from, ir_builder *b) {
  row_plan outer = l->rows;
  l->rows = (row_plan){.al = outer.al};
  tsr_status st = ir_get_bool(l->kernel, "reduction_kernels", true) ? rows_plan(&l->rows, from) : NULL;
  for (ir_op *o = from->first; o && !st; o = o->next) {
    const row_act *a = rows_find(&l->rows, o);
    b->loc = o->loc;
    st = a ? lower_row(l, b, o, a) : lower_op(l, b, o);
  }
  rows_clear(&l->rows);
  l->rows = outer;
  return st;
}

static tsr_status lower_kernel(ir_op *kernel, ir_builder *top, const tsr_caps *caps) {
  lower l = {.m = top->m,
             .scratch = {.al = &top->m->arena.al},
             .rows = {.al = &top->m->arena.al},
             .kernel = kernel,
             .block = lower_block};
  tsr_status st = NULL;
  scratch_number(kernel);
  top->loc = kernel->loc;
  ir_op *k = ir_op_new(top, ir_find_op("tessera.target.kernel"), 0, NULL, 0, NULL, 1);
  static const char *const keep[] = {"sym_name", "grid",  "outputs", "policy", "family", "tile",
                                     "flops",    "bytes", "raster",  "strip",  NULL};
  if (!k || !cpu_copy_attrs(k, kernel, keep) || !ir_set_attr(k, "dialect", ir_attr_str(l.m, "cpu")) ||
      !ir_set_attr(k, "arch", ir_attr_str(l.m, caps->arch)))
    return st_oom();
  ir_block *from = kernel->regions[0];
  for (int i = 0; i < from->n_args; i++)
    TSR_TRY(cpu_check_type(kernel, &(ir_type){.dtype = from->args[i]->type->dtype}));
  if (!ir_block_args_copy(l.m, k->regions[0], from)) return st_oom();
  ir_builder b = ir_at_end(l.m, k->regions[0]);
  TSR_GOTO(lower_block(&l, from, &b));
  if (!ir_build0(&b, "tessera.target.return", 0, NULL) ||
      !ir_set_attr(k, "scratch_bytes", ir_attr_int(l.m, l.scratch.total)))
    st = st_oom();
  if (!st) st = cpu_join_planes(k, caps);
done:
  scratch_clear(&l.scratch);
  return st;
}

tsr_status tile_to_cpu(const ir_module *tile, const tsr_caps *caps, ir_module **out) {
  TSR_TRY(ir_module_create(&tile->arena.al, out));
  ir_builder b = ir_at_end(*out, (*out)->root->regions[0]);
  tsr_status st = NULL;
  if (tile->file && !((*out)->file = arena_str(&(*out)->arena, tile->file))) TSR_GOTO(st_oom());
  ir_clear_data(tile->root);
  for (ir_op *o = tile->root->regions[0]->first; o; o = o->next) {
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL) TSR_GOTO(lower_kernel(o, &b, caps));
    else if (o->def->level == IR_TILE && o->def->code == T_PROGRAM) TSR_GOTO(tile_lower_program(o, &b));
    else TSR_GOTO(ir_error(o, NULL, "expected a tile program or kernel"));
  }
  TSR_GOTO(ir_verify(*out));
done:
  if (st) st = ir_cause(*out, NULL, st);
  if (st) ir_module_destroy(out);
  return st;
}
