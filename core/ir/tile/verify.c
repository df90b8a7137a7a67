/* core/ir/tile/verify.c - rules of Tile IR ops beyond shapes and types: launches and what they pass, grids, views,
 * stores, gathers. */
#include "core/ir/tile/rules.h"

#include "core/base/dtype.h"
#include "core/ir/symbols.h"
#include "core/ir/tile/tile.h"

/* The result's type is written out: an op gives only its own kind of value. */
static tsr_status gives(const ir_op *op, ir_type_kind kind, const char *what) {
  return op->results[0]->type->kind == kind ? NULL : ir_error(op, NULL, "the result must be %s", what);
}
tsr_status tile_verify_frag(const ir_op *op) { return gives(op, IR_T_FRAG, "a fragment"); }
tsr_status tile_verify_alloc(const ir_op *op) { return gives(op, IR_T_SHARED, "a shared tile"); }
tsr_status tile_verify_buffer(const ir_op *op) { return gives(op, IR_T_TENSOR, "a tensor"); }

tsr_status tile_verify_splat(const ir_op *op) {
  const ir_type *t = op->operands[0]->type;
  if (t->kind != IR_T_SCALAR && t->kind != IR_T_INDEX) return ir_error(op, NULL, "the operand must be a scalar");
  return tile_verify_frag(op);
}

tsr_status tile_verify_reshape(const ir_op *op) {
  TSR_TRY(tile_verify_frag(op));
  return tile_verify_alias(op);
}

tsr_status tile_verify_alias(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->results[0]->type;
  if (b->kind != IR_T_TENSOR && b->kind != IR_T_FRAG) return ir_error(op, NULL, "the result must be a tensor");
  const int64_t n = ir_type_count(a), of = ir_type_count(b);
  const bool same = a->dtype == b->dtype && n == of,
             joins = dtype_get(b->dtype)->part == a->dtype && of >= 0 && n == 2 * of,
             splits = dtype_get(a->dtype)->part == b->dtype && n >= 0 && 2 * n == of,
             packed = (dtype_packed(a->dtype) && b->dtype == TSR_U8 && n >= 0 && of == n / 2 + n % 2) ||
                      (dtype_packed(b->dtype) && a->dtype == TSR_U8 && of >= 0 && n == of / 2 + of % 2),
             numbers = a->dtype == TSR_U8 && b->dtype == TSR_F16 && of >= 0 && n == 2 * of,
             words = n == of && (dtype_word(a->dtype) == b->dtype || dtype_word(b->dtype) == a->dtype);
  const bool other = joins || splits || words || packed || numbers;
  const bool retypes = b->kind == IR_T_TENSOR && a->dtype && b->dtype && other;
  if (a->kind != b->kind || !(same || retypes))
    return ir_error(op, NULL, "kind, element type and number of elements must stay");
  return NULL;
}

bool tile_range(const ir_type *v, int64_t *lo, int64_t *hi) {
  int64_t strides[TSR_MAX_RANK];
  ir_type_strides(v, strides);
  *lo = *hi = v->offset;
  for (int i = 0; i < v->rank; i++) {
    int64_t d;
    if (v->dims[i] == IR_DYNAMIC) return false;
    if (v->dims[i] == 0) return *lo = *hi = 0, true;
    if (__builtin_mul_overflow(v->dims[i] - 1, strides[i], &d)) return false;
    if (__builtin_add_overflow(d < 0 ? *lo : *hi, d, d < 0 ? lo : hi)) return false;
  }
  return !__builtin_add_overflow(*hi, 1, hi);
}

/* A kernel reaches no further than its views say, and these must lie within the memory that the launch passes. */
static tsr_status verify_argument(const ir_op *launch, int i, const ir_type *view) {
  const ir_type *t = launch->operands[i]->type;
  int64_t lo, hi, n = ir_type_count(t);
  if (view->dtype != t->dtype)
    return ir_error(launch, NULL, "argument %d differs in element type from the kernel's", i);
  if (n < 0) return NULL; /* the program is refused for that */
  if (!tile_range(view, &lo, &hi))
    return ir_error(launch, NULL, "argument %d: the kernel's view must have known dimensions, small enough", i);
  if (lo < hi && (lo < 0 || hi > n))
    return ir_error(launch, NULL, "argument %d has %lld elements; the kernel's view covers %lld..%lld", i, (long long)n,
                    (long long)lo, (long long)hi);
  return NULL;
}

/* Which values of the program lie where is seen by the runtime, when it plans memory. */
static tsr_status verify_in_place(const ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "in_place");
  if (!a) return NULL;
  const int64_t n = ir_get_int(op, "in_place", -1), last = op->n_operands - 1;
  const ir_op *result = last > 0 ? op->operands[last]->def : NULL;
  if (n < 0 || n >= last || !result || !(result->def->flags & IR_BUFFER) ||
      op->operands[n]->type != op->operands[last]->type)
    return ir_error(op, "another argument than the last, a buffer of the same type",
                    "in_place = %lld can't be the memory of the last argument", (long long)n);
  return NULL;
}

tsr_status tile_verify_launch(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "argument %d must be a tensor", i);
  TSR_TRY(verify_in_place(op));
  const char *name = ir_get_str(op, "kernel", "");
  const ir_op *k = op->module->symbols ? ir_symbols_find(op->module->symbols, name) : NULL;
  if (!op->module->symbols) return NULL; /* an op by itself, while its text is read: the kernel may follow it */
  if (!k || k->def->level != op->def->level || !k->n_regions)
    return ir_error(op, NULL, "no kernel \"%s\" in the module", name);
  const ir_block *r = k->regions[0];
  if (r->n_args != op->n_operands)
    return ir_error(op, NULL, "%d arguments for the %d of kernel \"%s\"", op->n_operands, r->n_args, name);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type->kind == IR_T_VIEW) TSR_TRY(verify_argument(op, i, r->args[i]->type));
  return NULL;
}

tsr_status tile_verify_custom(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "argument %d must be a tensor", i);
    else if (dtype_is_complex(op->operands[i]->type->dtype))
      return ir_error(op, "an alias gives it pairs", "argument %d has complex elements", i);
  const ir_op *result = op->operands[op->n_operands - 1]->def;
  return result && result->def->flags & IR_BUFFER
             ? NULL
             : ir_error(op, NULL, "the last operand must be a buffer: the op writes it");
}

tsr_status tile_verify_control(const ir_op *op) {
  const int64_t outputs = ir_get_int(op, "outputs", -1), carried = ir_get_int(op, "carried", 0),
                most = ir_get_int(op, "max_trips", 0), n = op->n_operands - outputs;
  const char *kind = ir_get_str(op, "kind", "");
  const bool loops = !strcmp(kind, "while");
  if (!loops && strcmp(kind, "if")) return ir_error(op, "if or while", "unknown kind \"%s\"", kind);
  if (outputs < 0 || n < (loops ? 0 : 1))
    return ir_error(op, NULL, "outputs = %lld of %d operands", (long long)outputs, op->n_operands);
  if (loops && (carried != outputs || carried > n))
    return ir_error(op, "one for each output", "carried = %lld for %lld outputs", (long long)carried,
                    (long long)outputs);
  if (most < 0 || most > INT32_MAX) return ir_error(op, "0 to 2^31 - 1", "max_trips = %lld", (long long)most);
  for (int i = 0; i < op->n_operands; i++) {
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "operand %d must be a tensor", i);
    const ir_op *d = op->operands[i]->def;
    if (i >= n && !(d && strstr(d->def->name, ".buffer")))
      return ir_error(op, NULL, "operand %d must be a buffer: the op writes it", i);
    for (int k = 0; k < i && i >= n; k++)
      if (op->operands[k] == op->operands[i]) return ir_error(op, NULL, "operand %d is written and read", i);
  }
  return NULL;
}

/* A tebi of blocks is hours on any device, whatever they do. */
enum { GRID_BLOCKS_LOG2 = 40 };

tsr_status tile_verify_grid(const ir_op *op) {
  int64_t grid[3], blocks = 1;
  if (ir_get_ints(op, "grid", grid, 3) != 3) return ir_error(op, NULL, "grid must have three extents");
  for (int i = 0; i < 3; i++) {
    if (grid[i] < 0 || grid[i] > INT32_MAX)
      return ir_error(op, NULL, "grid extent %lld is out of range", (long long)grid[i]);
    if (__builtin_mul_overflow(blocks, grid[i], &blocks))
      return ir_error(op, NULL, "the number of blocks overflows 64 bits");
  }
  if (blocks > INT64_C(1) << GRID_BLOCKS_LOG2)
    return ir_error(op, "use larger blocks", "a grid of %lld blocks: at most 2^%d", (long long)blocks,
                    GRID_BLOCKS_LOG2);
  const ir_block *r = op->regions[0];
  int64_t outputs = ir_get_int(op, "outputs", 1);
  if (outputs < 0 || outputs > r->n_args)
    return ir_error(op, NULL, "outputs = %lld for %d arguments", (long long)outputs, r->n_args);
  return NULL;
}

tsr_status tile_verify_kernel(const ir_op *op) {
  const ir_block *r = op->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type->kind != IR_T_VIEW) return ir_error(op, NULL, "argument %d must be a view", i);
  return tile_verify_grid(op);
}

tsr_status tile_verify_view(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->results[0]->type;
  const ir_op *def = op->operands[0]->def;
  int64_t lo, hi, alo, ahi;
  if (a->kind != IR_T_VIEW || b->kind != IR_T_VIEW || a->dtype != b->dtype)
    return ir_error(op, NULL, "must stay a view of the same element type");
  /* How much of a window exists is known when it runs, and other dimensions would not show it. */
  if (def && def->def != op->def)
    return ir_error(op, "take the window of the view", "shows an argument or a view of one, not a window");
  if (!tile_range(a, &alo, &ahi) || !tile_range(b, &lo, &hi))
    return ir_error(op, NULL, "dimensions must be known and small enough");
  if (lo < hi && (lo < (alo - a->offset) || hi > (ahi - a->offset)))
    return ir_error(op, NULL, "elements %lld..%lld lie outside the operand's %lld..%lld", (long long)lo, (long long)hi,
                    (long long)(alo - a->offset), (long long)(ahi - a->offset));
  return NULL;
}

static const ir_op *next_with_operand(const ir_op *op, int code, int operand, const ir_value *v) {
  for (op = op->next; op; op = op->next)
    if (op->def->level == IR_TILE && (int)op->def->code == code && op->operands[operand] == v) return op;
  return NULL;
}

/* What is owned is a sum: nothing but a product reads it, and nothing but memory gets what that makes of it. */
tsr_status tile_verify_load(const ir_op *op) {
  const ir_value *v = op->results[0], *memory = op->operands[0];
  if (!ir_get_bool(op, "owned", false) || !v->n_uses) return NULL; /* without uses: what comes behind isn't built yet */
  const ir_op *gemm = next_with_operand(op, T_GEMM, 0, v),
              *store = gemm ? next_with_operand(gemm, T_STORE, 0, gemm->results[0]) : NULL;
  if (memory->type->kind == IR_T_VIEW && memory->type->dtype == v->type->dtype && store &&
      store->operands[1] == memory && v->n_uses == 1 && gemm->results[0]->n_uses == 1)
    return NULL;
  return ir_error(op, NULL, "what is owned is for one gemm to add to, whose result is stored where it was");
}

tsr_status tile_verify_store(const ir_op *op) {
  const ir_type *f = op->operands[0]->type, *m = op->operands[1]->type;
  if (f->kind != IR_T_FRAG || !tile_is_memory(m) || !tile_same_dims(f, m))
    return ir_error(op, NULL, "stores a fragment into a view or shared tile of the same dimensions");
  return NULL;
}

tsr_status tile_verify_copy(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type;
  if (!tile_is_memory(a) || !tile_is_memory(b) || !tile_same_dims(a, b))
    return ir_error(op, NULL, "copies between views and shared tiles of the same dimensions");
  return NULL;
}

static tsr_status verify_indexing(const ir_op *op, const ir_type *tile, const ir_type *view) {
  const ir_block *r = op->regions[0];
  if (view->kind != IR_T_VIEW || r->n_args != tile->rank)
    return ir_error(op, NULL, "the region needs one index per dimension of the tile");
  for (int i = 0; i < r->n_args; i++)
    if (!tile_is_index(r->args[i]->type)) return ir_error(op, NULL, "region argument %d must be an index", i);
  if (!r->last || r->last->def->code != T_YIELD || r->last->n_operands < view->rank ||
      r->last->n_operands > view->rank + 1)
    return ir_error(op, NULL, "the region must yield one index per dimension of the view, then optionally a bool");
  for (int i = 0; i < view->rank; i++)
    if (!tile_is_index(r->last->operands[i]->type)) return ir_error(op, NULL, "yielded value %d must be an index", i);
  return NULL;
}

tsr_status tile_verify_gather(const ir_op *op) {
  if ((op->n_operands == 2) == (op->n_results == 1) || op->n_results > 1)
    return ir_error(op, NULL, "needs a destination or a result");
  const ir_type *t = op->n_results ? op->results[0]->type : op->operands[1]->type;
  if (t->kind != (op->n_results ? IR_T_FRAG : IR_T_SHARED))
    return ir_error(op, NULL, "gathers into a fragment or a shared tile");
  return verify_indexing(op, t, op->operands[0]->type);
}

tsr_status tile_verify_scatter(const ir_op *op) {
  if (op->operands[0]->type->kind != IR_T_FRAG) return ir_error(op, NULL, "scatters a fragment");
  return verify_indexing(op, op->operands[0]->type, op->operands[1]->type);
}

tsr_status tile_verify_dft(const ir_op *op) {
  const ir_type *x = op->operands[0]->type, *y = op->operands[1]->type;
  if (x->kind != IR_T_VIEW || y->kind != IR_T_VIEW || !tile_is_index(op->operands[2]->type))
    return ir_error(op, NULL, "takes two views and an index");
  const int rank = x->rank - 1;
  const int64_t axis = ir_get_int(op, "axis", 0), to = ir_get_int(op, "to", axis);
  bool fits =
      x->rank == y->rank && rank > 0 && x->dtype == y->dtype && axis >= 0 && axis < rank && to >= 0 && to < rank;
  if (!fits || (x->dtype != TSR_F32 && x->dtype != TSR_F64))
    return ir_error(op, NULL, "needs views of f32 or f64 of one rank, whose last dimension axis and to don't name");
  fits = x->dims[rank] == 2 && y->dims[rank] == 2 && x->dims[axis] > 0 && x->dims[axis] <= 1 << 13;
  for (int i = 0; i < rank; i++) {
    const int rest = i - (i > to);
    fits &= y->dims[i] == x->dims[i == to ? axis : rest + (rest >= axis)];
  }
  if (ir_get_bool(op, "twiddle", false)) fits &= axis == to && axis + 1 < rank;
  if (!fits || ir_get_int(op, "lines", 0) < 1)
    return ir_error(op, NULL, "needs pairs, 1 to 8192 points, the destination's dimensions in order, and lines");
  return NULL;
}
