/* core/ir/graph/attrs.c - reading the attributes of Graph IR's ops, and functions by their names and signatures; see
 * ir/graph/ops.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"

const ir_type *graph_signature(const ir_op *func) {
  const ir_block *r = func->regions[0];
  arena *a = &func->module->arena;
  const ir_type **in = arena_array(a, const ir_type *, r->n_args + 1),
                **out = arena_array(a, const ir_type *, r->last->n_operands + 1);
  if (!in || !out) return NULL;
  for (int i = 0; i < r->n_args; i++) in[i] = r->args[i]->type;
  for (int i = 0; i < r->last->n_operands; i++) out[i] = r->last->operands[i]->type;
  return ir_type_function(func->module, in, r->n_args, out, r->last->n_operands);
}

bool graph_sign(ir_op *func) {
  if (!ir_get_attr(func, "function_type")) return true;
  const ir_type *t = graph_signature(func);
  return t && ir_set_attr(func, "function_type", ir_attr_type(func->module, t));
}

int graph_variant(const ir_op *op) {
  switch (graph_ext(op)->scalar) {
  case SC_COMPARE: return scalar_predicate(ir_get_str(op, "predicate", ""));
  case SC_NOT: return op->operands[0]->type->dtype == TSR_BOOL;
  default: return 0;
  }
}

int graph_scalar(const ir_op *op) {
  int code = graph_ext(op)->scalar;
  return code == SC_GELU && !strcmp(ir_get_str(op, "approximate", "none"), "tanh") ? SC_GELU_TANH : code;
}

bool graph_is_function(const ir_op *op) {
  return graph_is_kind(op, GRAPH_POINTWISE) && scalar_rows[graph_scalar(op)].traits & SCALAR_FUNCTION;
}

int graph_number_attrs(const ir_op *op, double out[GRAPH_MAX_NUMBERS]) {
  int n = 0;
  for (const ir_attr_def *a = op->def->attrs; a && a->name; a++)
    if (a->kind == IR_A_FLOAT) out[n++] = ir_get_float(op, a->name, 0);
  return n;
}

ir_op *graph_first_of(const ir_block *b, graph_kind k) {
  for (ir_op *o = b->first; o; o = o->next)
    if (graph_is_kind(o, k)) return o;
  return NULL;
}

ir_op *graph_contraction(const ir_block *b) { return graph_first_of(b, GRAPH_CONTRACTION); }

int graph_axis(const ir_op *op) {
  int rank = op->operands[0]->type->rank;
  int64_t a = ir_get_int(op, "axis", rank - 1);
  return (int)(a < 0 ? a + rank : a);
}

int graph_iota_axis(const ir_op *op) {
  int64_t axis = ir_get_int(op, "axis", -1);
  return (int)(axis < 0 ? axis + op->results[0]->type->rank : axis);
}

int graph_axes(const ir_op *op, bool reduced[TSR_MAX_RANK]) {
  int64_t axes[TSR_MAX_RANK];
  int rank = op->operands[0]->type->rank, n = ir_get_ints(op, "axes", axes, TSR_MAX_RANK);
  for (int i = 0; i < TSR_MAX_RANK; i++) reduced[i] = !n && i < rank;
  for (int i = 0; i < n; i++) reduced[axes[i] < 0 ? axes[i] + rank : axes[i]] = true;
  return n ? n : rank;
}

void graph_perm(const ir_op *op, int perm[TSR_MAX_RANK]) {
  int64_t p[TSR_MAX_RANK];
  int rank = op->operands[0]->type->rank, n = ir_get_ints(op, "perm", p, TSR_MAX_RANK);
  for (int i = 0; i < rank; i++) perm[i] = n ? (int)(p[i] < 0 ? p[i] + rank : p[i]) : rank - 1 - i;
}

void graph_slice(const ir_op *op, int64_t starts[TSR_MAX_RANK], int64_t strides[TSR_MAX_RANK]) {
  ir_get_ints(op, "starts", starts, TSR_MAX_RANK);
  if (!ir_get_ints(op, "strides", strides, TSR_MAX_RANK))
    for (int i = 0; i < TSR_MAX_RANK; i++) strides[i] = 1;
}

void graph_pad(const ir_op *op, int64_t low[TSR_MAX_RANK], int64_t high[TSR_MAX_RANK]) {
  ir_get_ints(op, "low", low, TSR_MAX_RANK);
  ir_get_ints(op, "high", high, TSR_MAX_RANK);
}

tsr_dtype graph_accum_default(tsr_dtype t) {
  return dtype_is_long(t) ? TSR_I64 : t == TSR_F64 ? t : dtype_is_float(t) ? TSR_F32 : TSR_I32;
}

static const char *const transposes[] = {"transpose_a", "transpose_b"};

/* Without attributes: a is transposed if its last axis is kept, b if its last axis is summed. */
static bool row_transposes(const ir_op *op, int operand) {
  const char *index = graph_ext(op)->index, *term = operand ? strchr(index, ',') + 1 : index;
  char last = term[strcspn(term, ",-") - 1];
  bool sums = !strchr(strchr(index, '>'), last);
  return sums == (operand == 1);
}

bool graph_is_transposed(const ir_op *op, int operand) {
  return row_transposes(op, operand) != ir_get_bool(op, transposes[operand], false);
}

bool graph_orient(ir_op *op, bool transpose_a, bool transpose_b) {
  const bool want[] = {transpose_a, transpose_b};
  for (int i = 0; i < 2; i++) {
    bool swap = want[i] != row_transposes(op, i);
    if (swap != ir_get_bool(op, transposes[i], false) &&
        !ir_set_attr(op, transposes[i], ir_attr_bool(op->module, swap)))
      return false;
  }
  return true;
}

graph_contract graph_contract_get(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type, *c = op->results[0]->type;
  graph_contract g = {.n_batch = c->rank - 2, .m = c->dims[c->rank - 2], .n = c->dims[c->rank - 1],
                      .transpose_a = graph_is_transposed(op, 0), .transpose_b = graph_is_transposed(op, 1)};
  memcpy(g.batch, c->dims, sizeof *g.batch * (size_t)g.n_batch);
  g.k = a->dims[a->rank - (g.transpose_a ? 2 : 1)];
  if (g.k == IR_DYNAMIC) g.k = b->dims[b->rank - (g.transpose_b ? 1 : 2)];
  g.accum = dtype_parse_real(ir_get_str(op, "accum_dtype", ""));
  if (!g.accum)
    g.accum = graph_accum_default(tsr_dtype_size(a->dtype) > tsr_dtype_size(b->dtype) ? a->dtype : b->dtype);
  if (dtype_is_long(c->dtype) && !ir_get_attr(op, "accum_dtype")) g.accum = TSR_I64;
  ir_get_ints(op, "tile_shape", g.tile, 3);
  return g;
}

double graph_constant_at(const ir_op *op, int64_t i) {
  const ir_attr *a = ir_get_attr(op, "value");
  const size_t parts = (size_t)dtype_parts(a->u.dense.type->dtype);
  return dtype_load(a->u.dense.type->dtype, a->u.dense.data, a->u.dense.splat ? (size_t)i % parts : (size_t)i);
}

/* Is element i of a, which has all of them, the first one again? */
static bool same_element(const ir_attr *a, int64_t i) {
  const tsr_dtype t = a->u.dense.type->dtype;
  const char *data = a->u.dense.data;
  const size_t size = tsr_dtype_size(t);
  if (dtype_packed(t)) return dtype_load(t, data, (size_t)i) == dtype_load(t, data, 0);
  return !memcmp(data, data + (size_t)i * size, size);
}

bool graph_splat(const ir_op *op, double *value) {
  if (!graph_is(op, G_CONSTANT)) return false;
  const ir_attr *a = ir_get_attr(op, "value");
  int64_t n = ir_type_count(a->u.dense.type);
  if (n < 1 || dtype_is_complex(a->u.dense.type->dtype)) return false;
  for (int64_t i = 1; i < n && !a->u.dense.splat; i++)
    if (!same_element(a, i)) return false;
  *value = graph_constant_at(op, 0);
  const tsr_dtype t = a->u.dense.type->dtype;
  if (!dtype_is_long(t)) return true;
  return *value < dtype_get(t)->max &&
         dtype_whole(t, *value) == dtype_load_int(t, a->u.dense.data, 0); /* else no double holds it */
}

ir_op *graph_find_func(const ir_module *m, const char *name) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (graph_is(o, G_FUNC) && (!name || !strcmp(name, ir_get_str(o, "sym_name", "")))) return o;
  return NULL;
}

bool graph_broadcast_dims(int ra, const int64_t *a, int rb, const int64_t *b, int *rank, int64_t *dims) {
  int r = ra > rb ? ra : rb;
  int64_t out[TSR_MAX_RANK];
  for (int i = 0; i < r; i++) {
    int64_t x = i < r - ra ? 1 : a[i - (r - ra)], y = i < r - rb ? 1 : b[i - (r - rb)];
    if (x == y || y == 1) out[i] = x;
    else if (x == 1) out[i] = y;
    else if (x == IR_DYNAMIC) out[i] = y;
    else if (y == IR_DYNAMIC) out[i] = x;
    else return false;
  }
  memcpy(dims, out, sizeof *out * (size_t)r);
  *rank = r;
  return true;
}
