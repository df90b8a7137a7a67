/* core/passes/cpu/lower.c - see cpu/lower.h: scratch tiles, calls, and what stands in elementwise regions. */
#include "core/passes/cpu/lower.h"

#include <assert.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/passes/cpu/patterns.h"

/* ---- tiles in scratch memory ----------------------------------------------------------------------------------- */

/* The scratch tile of a fragment is dense in the compute type; a shared tile keeps its own type and padding. */
const ir_type *cpu_tile_type(lower *l, const ir_type *t) {
  ir_type x = {.kind = IR_T_ARRAY,
               .dtype = t->kind == IR_T_SHARED ? t->dtype : cpu_compute_type(t->dtype),
               .rank = t->rank,
               .pad = t->kind == IR_T_SHARED ? t->pad : 0};
  memcpy(x.dims, t->dims, sizeof x.dims);
  return ir_type_get(l->m, &x);
}

static int64_t tile_bytes(const ir_type *t) {
  int64_t n = ir_type_count(t), row = t->rank ? t->dims[t->rank - 1] : 1;
  return (row ? n / row * (row + t->pad) : 0) * (int64_t)tsr_dtype_size(t->dtype);
}

tsr_status cpu_check_type(const ir_op *op, const ir_type *t) {
  if (!cpu_compute_type(t->dtype))
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "cast it", "element type %s can't be computed with on the CPU",
                       tsr_dtype_name(t->dtype));
  int64_t n = ir_type_count(t);
  if (n < 0 || n > (int64_t)1 << 31) return ir_error(op, "use smaller tiles", "the tile is too large");
  return NULL;
}

/* A handle on scratch interval `index`, made where b stands. */
static ir_value *handle(lower *l, ir_builder *b, const ir_type *t, int index) {
  ir_value *v = ir_build1(b, "tessera.target.scratch", t, 0, NULL);
  if (!v || !ir_set_attr(v->def, "offset", ir_attr_int(l->m, l->scratch.v[index].offset))) return NULL;
  v->scratch = index;
  return v;
}

tsr_status cpu_new_tile(lower *l, ir_builder *b, const ir_op *op, const ir_type *type, int64_t start, int64_t end,
                           ir_value **out) {
  TSR_TRY(cpu_check_type(op, type));
  const ir_type *t = cpu_tile_type(l, type);
  int i = t ? scratch_alloc(&l->scratch, start, end, tile_bytes(t)) : -1;
  *out = i < 0 ? NULL : handle(l, b, t, i);
  return *out ? NULL : st_oom();
}

tsr_status cpu_tile_for(lower *l, ir_builder *b, ir_value *v) {
  ir_value *t;
  TSR_TRY(cpu_new_tile(l, b, v->def, v->type, v->def->scratch, scratch_last_use(v), &t));
  v->data = t;
  return NULL;
}

void cpu_alias(lower *l, ir_value *v, const ir_value *of) {
  v->data = cpu_at(of);
  if (((const ir_value *)v->data)->type->kind != IR_T_ARRAY) return;
  scratch_interval *s = &l->scratch.v[((const ir_value *)v->data)->scratch];
  const int64_t end = scratch_last_use(v);
  if (end > s->end) s->end = end;
  s->aliased = true;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

ir_op *cpu_call(lower *l, ir_builder *b, const char *fn, int n, ir_value *const *operands) {
  for (int i = 0; i < n; i++)
    if (!operands[i]) ir_lacks(l->m, "tessera.target.call", "operand %d of \"%s\" is nowhere", i, fn);
  ir_op *op = ir_build0(b, "tessera.target.call", n, operands);
  return op && ir_set_attr(op, "fn", ir_attr_str(l->m, fn)) ? op : NULL;
}

bool cpu_call2(lower *l, ir_builder *b, const char *fn, ir_value *x, ir_value *y) {
  return cpu_call(l, b, fn, 2, (ir_value *[]){x, y}) != NULL;
}

bool cpu_copy_attrs(ir_op *to, const ir_op *from, const char *const *names) {
  for (; *names; names++) {
    ir_attr *a = ir_get_attr(from, *names);
    if (a && !ir_set_attr(to, *names, ir_attr_copy(to->module, a))) return false;
  }
  return true;
}

/* Copies a scalar-like op under the target prefix; results are registers or views. */
tsr_status cpu_copy_op(lower *l, ir_builder *b, ir_op *op) {
  const ir_opdef *def = ir_find_like(IR_TARGET, op->def);
  assert(def);
  ir_value *operands[1 + TSR_MAX_RANK];
  for (int i = 0; i < op->n_operands; i++) operands[i] = cpu_at(op->operands[i]);
  const ir_type *t = ir_type_get(l->m, op->results[0]->type);
  ir_op *n = t ? ir_op_new(b, def, op->n_operands, operands, 1, &t, 0) : NULL;
  if (!n || !ir_attrs_copy(n, op)) return st_oom();
  op->results[0]->data = n->results[0];
  return NULL;
}

static tsr_status lookup(ir_builder *b, ir_op *op) {
  ir_value *operands[1 + TSR_MAX_RANK];
  for (int i = 0; i < op->n_operands; i++) operands[i] = cpu_at(op->operands[i]);
  op->results[0]->data = ir_build1(b, "tessera.target.fetch", NULL, op->n_operands, operands);
  return op->results[0]->data ? NULL : st_oom();
}

tsr_status cpu_lower_elements(lower *l, ir_builder *b, const ir_block *from) {
  for (ir_op *o = from->first; o; o = o->next) {
    b->loc = o->loc;
    if (o->def->code == T_INDEX) {
      ir_value *v = ir_build1(b, "tessera.target.element_index", NULL, 0, NULL);
      if (!v || !ir_set_attr(v->def, "dim", ir_attr_int(l->m, ir_get_int(o, "dim", 0)))) return st_oom();
      o->results[0]->data = v;
    } else if (ir_is_scalar(o) || o->def->code == T_CONST) {
      TSR_TRY(cpu_copy_op(l, b, o));
    } else if (o->def->code == T_LOAD_SCALAR) {
      TSR_TRY(lookup(b, o));
    } else if (o->def->code != T_YIELD) {
      return ir_error(o, "compute it before the region", "can't be used inside an elementwise region");
    }
  }
  return NULL;
}

tsr_status cpu_row_target(lower *l, ir_builder *b, ir_value *v) {
  ir_op *store = NULL;
  ir_value *memory = v->n_uses ? cpu_store_target(v, &store) : NULL;
  if (!memory || !cpu_at(memory) || !rows_inside(memory)) return cpu_tile_for(l, b, v);
  v->data = cpu_at(memory);
  store->data = store; /* done */
  return NULL;
}
