/* core/ir/target/rules.c - see ir/target/rules.h. What a printer takes for granted is checked here: names that go into
 * the text of a kernel, the registers of a matrix instruction, places in memory. */
#include "core/ir/target/rules.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/device/matrix_instr.h"
#include "core/ir/target/fold.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/rules.h"

tsr_status target_infer_same_as_first(ir_op *op, const ir_type **results) {
  results[0] = op->operands[0]->type;
  return NULL;
}

tsr_status target_infer_last(ir_op *op, const ir_type **results) {
  results[0] = op->operands[op->n_operands - 1]->type;
  return NULL;
}

static bool is_one_of(const char *s, const char *const *names) {
  while (*names && strcmp(*names, s)) names++;
  return *names;
}

tsr_status target_verify_access(const ir_op *op) {
  int at = op->def->code == TG_STORE || op->def->code == TG_MAT_STORE ? 1 : 0;
  const ir_type *p = op->operands[at]->type;
  const ir_type *v = at ? op->operands[0]->type : op->results[0]->type;
  const bool matrix = op->def->code == TG_MAT_STORE || op->def->code == TG_MAT_LOAD;
  if (matrix != (v->kind == IR_T_MATRIX))
    return ir_error(op, matrix ? "load and store take the others" : "mat_load and mat_store take it", "%s a matrix",
                    matrix ? "needs" : "does not take");
  if (matrix &&
      (v->rank != 2 || !is_one_of(ir_get_str(op, "layout", "row"), (const char *const[]){"row", "col", NULL})))
    return ir_error(op, "layout: row or col", "needs a matrix of two dimensions, row by row or column by column");
  if (!matrix && v->dtype != p->dtype)
    return ir_error(op, "use ptr_cast", "the value's element type is not the pointer's");
  return NULL;
}

static bool is_fragment(const ir_type *t, const char *use) {
  return t->kind == IR_T_MATRIX && t->rank == 2 && t->use && !strcmp(t->use, use);
}

/* A matrix lies in the lanes as its use wants it; the others' layouts are wrong for it. */
tsr_status target_verify_mat_mma(const ir_op *op) {
  static const char *const uses[] = {"a", "b", "acc"};
  const ir_type *t[3];
  for (int i = 0; i < 3; i++)
    if (!is_fragment(t[i] = op->operands[i]->type, uses[i]))
      return ir_error(op, "mat_cast changes a use, mat_load loads for one", "operand %d must be a matrix of use \"%s\"",
                      i, uses[i]);
  if (t[0]->dims[1] != t[1]->dims[0] || t[0]->dims[0] != t[2]->dims[0] || t[1]->dims[1] != t[2]->dims[1] ||
      op->results[0]->type != t[2])
    return ir_error(op, NULL, "shapes don't fit: %lldx%lld times %lldx%lld into %lldx%lld", (long long)t[0]->dims[0],
                    (long long)t[0]->dims[1], (long long)t[1]->dims[0], (long long)t[1]->dims[1],
                    (long long)t[2]->dims[0], (long long)t[2]->dims[1]);
  return NULL;
}

tsr_status target_verify_mat_cast(const ir_op *op) {
  const ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
  if (to->kind != IR_T_MATRIX || from->rank != 2 || to->rank != 2 ||
      from->dims[0] != to->dims[0] || from->dims[1] != to->dims[1])
    return ir_error(op, NULL, "takes a matrix and gives one of its shape");
  if (from->use != to->use && !is_fragment(from, "acc") && strcmp(from->use ? from->use : "", to->use ? to->use : ""))
    return ir_error(op, NULL, "only an accumulator changes its use");
  return NULL;
}

tsr_status target_verify_cluster_store(const ir_op *op) {
  const ir_type *v = op->operands[0]->type, *p = op->operands[1]->type;
  if (v->dtype != p->dtype) return ir_error(op, NULL, "the value must be of the pointer's type");
  if (tsr_dtype_size(v->dtype) != 4 && tsr_dtype_size(v->dtype) != 8)
    return ir_error(op, NULL, "only words of 4 and 8 bytes are stored in another block");
  return NULL;
}

/* The kernel around op; NULL: it stands in none yet. */
static const ir_op *kernel_of(const ir_op *op) {
  while (op && op->def->code != TG_KERNEL) op = op->parent ? op->parent->parent : NULL;
  return op;
}

/* The greatest index of op's kernel: the CPU's and wide ones have 64 bits. */
static int64_t most_index(const ir_op *op) {
  const ir_op *k = kernel_of(op);
  return !k || ir_get_bool(k, "wide_index", false) || !strcmp(ir_get_str(k, "dialect", ""), "cpu") ? INT64_MAX
                                                                                                   : INT32_MAX;
}

tsr_status target_verify_const(const ir_op *op) {
  int64_t v, most;
  if (!target_index_const(op->results[0], &v) || v == (int32_t)v) return NULL;
  if (v > (most = most_index(op)) || v < -most - 1)
    return ir_error(op, "set the kernel's wide_index", "index %lld does not fit 32 bits", (long long)v);
  return NULL;
}

/* GPUs add the step and compare: a counter that leaves the index type would never end. */
tsr_status target_verify_for(const ir_op *op) {
  int64_t from, to, step, end;
  const ir_op *k = kernel_of(op);
  if (!k || !strcmp(ir_get_str(k, "dialect", ""), "cpu") || !target_index_const(op->operands[2], &step)) return NULL;
  if (step < 1) return ir_error(op, NULL, "step %lld: it must be positive", (long long)step);
  if (!target_index_const(op->operands[1], &to)) return NULL;
  const bool ends = target_index_const(op->operands[0], &from) ? loop_end(from, to, step, &end)
                                                        : !__builtin_add_overflow(to, step - 1, &end);
  if (!ends || end > most_index(op))
    return ir_error(op, "end it earlier, or take smaller steps", "the counter leaves the range of an index");
  return NULL;
}

tsr_status target_verify_cluster_sync(const ir_op *op) {
  const char *half = ir_get_str(op, "half", "");
  if (*half && strcmp(half, "arrive") && strcmp(half, "wait"))
    return ir_error(op, "arrive, wait, or left out for both", "there is no half \"%s\"", half);
  return NULL;
}

/* Builders infer before anything is verified. */
tsr_status target_infer_extract(ir_op *op, const ir_type **results) {
  TSR_TRY(ir_check_operands(op));
  const ir_type *v = op->operands[0]->type;
  results[0] = ir_type_scalar(op->module, v->dtype);
  return results[0] ? NULL : st_oom();
}

tsr_status target_infer_get(ir_op *op, const ir_type **results) {
  TSR_TRY(ir_check_operands(op));
  const ir_type *v = op->operands[0]->type;
  if (op->results[0]->type)
    return op->results[0]->type->dtype == v->dtype ? NULL : ir_error(op, NULL, "element types differ");
  results[0] = ir_type_scalar(op->module, v->dtype);
  return results[0] ? NULL : st_oom();
}

tsr_status target_verify_pow2_vector(const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  if (t->kind != IR_T_VECTOR || t->rank != 1 || t->dims[0] != op->n_operands)
    return ir_error(op, NULL, "needs one scalar per element");
  return NULL;
}

enum { MAX_BLOCK = 1 << 16 }; /* more threads than any device's block has */

tsr_status target_verify_kernel(const ir_op *op) {
  static const char *const shapes[] = {"block", "cluster"};
  for (int s = 0; s < 2; s++) {
    int64_t v[3], n = 1;
    if (!ir_get_attr(op, shapes[s])) continue;
    if (ir_get_ints(op, shapes[s], v, 3) != 3) return ir_error(op, NULL, "%s must have three extents", shapes[s]);
    for (int i = 0; i < 3; i++) {
      if (v[i] < 1 || v[i] > MAX_BLOCK || (n *= v[i]) > MAX_BLOCK)
        return ir_error(op, NULL, "extent %lld of %s is out of range", (long long)v[i], shapes[s]);
    }
  }
  int64_t subgroup = ir_get_int(op, "subgroup", 0), shared = ir_get_int(op, "shared_bytes", 0);
  if (subgroup < 0 || subgroup > MAX_BLOCK)
    return ir_error(op, NULL, "subgroup = %lld is out of range", (long long)subgroup);
  if (shared < 0 || shared > INT32_MAX)
    return ir_error(op, NULL, "shared_bytes = %lld is out of range", (long long)shared);
  if (strpbrk(ir_get_str(op, "path", ""), "*/\\\n"))
    return ir_error(op, NULL, "path must be a plain word"); /* in a comment */
  TSR_TRY(ir_check_policy(op));
  return tile_verify_grid(op);
}

/* The tile lies in the memory that its kernel gives each thread. */
tsr_status target_verify_scratch(const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  const ir_op *kernel = kernel_of(op);
  int64_t lo, hi, size = (int64_t)tsr_dtype_size(t->dtype), offset = ir_get_int(op, "offset", 0), end;
  if (t->kind != IR_T_ARRAY || t->has_strides || t->offset || !tile_range(t, &lo, &hi))
    return ir_error(op, NULL, "needs an array type of known dimensions, small enough, row-major");
  if (t->rank && t->pad && hi) hi += t->pad; /* of the last row, which fills write too */
  if (offset < 0 || offset % size)
    return ir_error(op, NULL, "offset = %lld is not a place for elements of %lld bytes", (long long)offset,
                    (long long)size);
  int64_t bytes = kernel ? ir_get_int(kernel, "scratch_bytes", 0) : 0;
  if (lo < 0 || __builtin_mul_overflow(hi, size, &end) || __builtin_add_overflow(end, offset, &end) || end > bytes)
    return ir_error(op, "raise the kernel's scratch_bytes",
                    "%lld elements at byte %lld do not fit the kernel's scratch_bytes = %lld", (long long)hi,
                    (long long)offset, (long long)bytes);
  return NULL;
}

/* The region gets a scalar for each source and yields one for each destination. */
tsr_status target_verify_map(const ir_op *op) {
  const int64_t outputs = ir_get_int(op, "outputs", 1);
  const ir_block *r = op->regions[0];
  const int rank = op->operands[0]->type->rank;
  if (outputs < 1 || outputs > op->n_operands)
    return ir_error(op, NULL, "outputs = %lld for %d operands", (long long)outputs, op->n_operands);
  for (int i = 0; i < op->n_operands; i++)
    if (!rank || op->operands[i]->type->rank != rank)
      return ir_error(op, NULL, "operand %d must be of the first one's rank", i);
  if (r->n_args != op->n_operands - outputs)
    return ir_error(op, NULL, "the region has %d arguments for %d sources", r->n_args, op->n_operands - (int)outputs);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type->kind != IR_T_SCALAR)
      return ir_error(op, NULL, "argument %d of the region must be a scalar", i);
  if (!r->last || r->last->def->code != TG_YIELD || r->last->n_operands != outputs)
    return ir_error(op, NULL, "the region must yield a scalar for each of %d destinations", (int)outputs);
  return NULL;
}

/* Only a gather and a scatter compute per element: their region gets the tile's indices. */
tsr_status target_verify_call(const ir_op *op) {
  if (op->n_regions > 1) return ir_error(op, NULL, "takes one region at most");
  const ir_block *r = op->n_regions ? op->regions[0] : NULL;
  for (int i = 0; r && i < r->n_args; i++)
    if (r->args[i]->type->kind != IR_T_INDEX)
      return ir_error(op, NULL, "argument %d of the region must be an index", i);
  return !r || (r->last && r->last->def->code == TG_YIELD) ? NULL
                                                           : ir_error(op, NULL, "the region must end with a yield");
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

tsr_status target_verify_shared(const ir_op *op) {
  const ir_op *k = kernel_of(op);
  const int64_t at = ir_get_int(op, "offset", 0), size = (int64_t)tsr_dtype_size(op->results[0]->type->dtype),
                bytes = k ? ir_get_int(k, "shared_bytes", 0) : INT64_MAX;
  if (at < 0 || at > bytes || at % size)
    return ir_error(op, NULL, "offset %lld: no place for elements of %lld bytes in %lld bytes of shared memory",
                    (long long)at, (long long)size, (long long)bytes);
  return NULL;
}

tsr_status target_verify_ptr_cast(const ir_op *op) {
  const char *from = op->operands[0]->type->use, *to = op->results[0]->type->use;
  return !strcmp(from ? from : "", to ? to : "") ? NULL : ir_error(op, NULL, "must stay in the same memory");
}

/* More than any thread has registers for. */
enum { MOST_LOCAL = 1 << 16 };

tsr_status target_verify_local(const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  const int64_t n = ir_type_count(t);
  return n >= 1 && n <= MOST_LOCAL && !t->has_strides && !t->offset && !t->pad
             ? NULL
             : ir_error(op, NULL, "needs an array of 1 to %d elements", MOST_LOCAL);
}

/* Of get and set: what moves, and where it is known whether it is there. */
tsr_status target_verify_get(const ir_op *op) {
  const bool set = op->def->code == TG_SET;
  const ir_type *v = set ? op->operands[0]->type : op->results[0]->type, *a = op->operands[set]->type;
  const int64_t n = v->kind == IR_T_VECTOR ? v->dims[0] : 1, count = ir_type_count(a);
  int64_t at;
  if (v->dtype != a->dtype) return ir_error(op, "cast it", "element types differ");
  if (target_index_const(op->operands[set + 1], &at) && (at < 0 || n > count || at > count - n))
    return ir_error(op, NULL, "element %lld of an array of %lld", (long long)at, (long long)count);
  return NULL;
}

/* Of extract and insert. */
tsr_status target_verify_element(const ir_op *op) {
  const bool insert = op->def->code == TG_INSERT;
  const ir_type *v = op->operands[insert]->type;
  const int64_t at = ir_get_int(op, "at", 0);
  if (v->rank != 1 || at < 0 || at >= v->dims[0])
    return ir_error(op, NULL, "element %lld of a vector of %lld", (long long)at, (long long)v->dims[0]);
  return !insert || op->operands[0]->type->dtype == v->dtype ? NULL : ir_error(op, "cast it", "element types differ");
}

static int64_t bytes_of(const ir_type *t) {
  return (t->kind == IR_T_VECTOR ? ir_type_count(t) : 1) * (int64_t)tsr_dtype_size(t->dtype);
}

tsr_status target_verify_bitcast(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *b = op->results[0]->type;
  return a->dtype != TSR_BOOL && b->dtype != TSR_BOOL && bytes_of(a) == bytes_of(b)
             ? NULL
             : ir_error(op, "no bools", "sizes differ: %lld and %lld bytes", (long long)bytes_of(a),
                        (long long)bytes_of(b));
}

/* Of cp.async a thread, of direct loads to LDS a lane. */
tsr_status target_verify_copy_bytes(const ir_op *op) {
  const int64_t n = ir_get_int(op, "bytes", 0);
  return n == 4 || n == 16 || (n == 8 && op->def->code == TG_CP_ASYNC)
             ? NULL
             : ir_error(op, op->def->code == TG_CP_ASYNC ? "4, 8 or 16" : "4 or 16", "%lld bytes", (long long)n);
}

tsr_status target_verify_tensor_map(const ir_op *op) {
  const int rank = ir_get_ints(op, "dims", NULL, 0);
  const int64_t swizzle = ir_get_int(op, "swizzle", 0);
  if (rank < 1 || rank > 5 || ir_get_ints(op, "strides", NULL, 0) != rank - 1 ||
      ir_get_ints(op, "box", NULL, 0) != rank)
    return ir_error(op, "1 to 5 dimensions", "dims, strides (one less) and box don't go together");
  return !swizzle || swizzle == 32 || swizzle == 64 || swizzle == 128
             ? NULL
             : ir_error(op, "0, 32, 64, 128", "there is no swizzle of %lld bytes", (long long)swizzle);
}

/* ---- subgroups and blocks ---------------------------------------------------------------------------------------- */

/* The words of an op are printed into names of functions. */
tsr_status target_verify_exchange(const ir_op *op) {
  static const struct { int code; const char *attr, *names[6]; } words[] = {
      {TG_SHUFFLE, "mode", {"xor", "index", "up", "down"}},
      {TG_WARP_REDUCE, "op", {"sum", "max", "min", "prod"}},
      {TG_MAT_REDUCE, "op", {"sum", "max", "min"}},
      {TG_FENCE, "kind", {"async_proxy", "mbarrier_init", "cluster"}},
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    const char *s = ir_get_str(op, words[i].attr, words[i].names[0]);
    if (words[i].code == op->def->code && !is_one_of(s, words[i].names))
      return ir_error(op, NULL, "there is no %s \"%s\"", words[i].attr, s);
  }
  const int64_t width = ir_get_int(op, "width", 0), axis = ir_get_int(op, "axis", 0);
  if (width < 0 || width > 128 || width & (width - 1))
    return ir_error(op, "a power of two up to 128", "width = %lld", (long long)width);
  return axis == 0 || axis == 1 ? NULL : ir_error(op, "0 or 1", "there is no axis %lld", (long long)axis);
}

tsr_status target_verify_named_barrier(const ir_op *op) {
  const int64_t id = ir_get_int(op, "id", 0), threads = ir_get_int(op, "threads", 0);
  return id >= 0 && id <= 15 && threads >= 0 && threads <= MAX_BLOCK
             ? NULL
             : ir_error(op, "0 to 15", "no barrier %lld of %lld threads", (long long)id, (long long)threads);
}

/* ---- matrix instructions ----------------------------------------------------------------------------------------- */

static bool holds(const ir_type *t, tsr_dtype element, int64_t n) {
  return t->dtype == element && (t->kind == IR_T_VECTOR ? ir_type_count(t) : 1) == n;
}

/* Of ldmatrix and stmatrix. */
tsr_status target_verify_ldmatrix(const ir_op *op) {
  const bool load = op->def->code == TG_LDMATRIX;
  const ir_type *t = load ? op->results[0]->type : op->operands[0]->type;
  const int64_t n = t->kind == IR_T_VECTOR ? ir_type_count(t) : 1;
  if ((n != 1 && n != 2 && n != 4) || !holds(t, TSR_I32, load ? ir_get_int(op, "count", 0) : n))
    return ir_error(op, "1, 2 or 4", "needs an i32 register for each of the matrices");
  return NULL;
}

/* NVIDIA's take 32-bit registers, AMD's the elements. */
static bool fits(const matrix_instr *x, const ir_op *op) {
  for (int i = MATRIX_A; i <= MATRIX_C; i++) {
    const ir_type *t = op->operands[i]->type;
    const tsr_dtype e = i == MATRIX_A ? x->a : i == MATRIX_B ? x->b : x->c;
    const int n = matrix_instr_values(x, (matrix_operand)i);
    const bool words = matrix_kind_get(x->kind)->words && i != MATRIX_C;
    if (!(words ? holds(t, TSR_I32, n * (int)tsr_dtype_size(e) / 4) : holds(t, e == TSR_TF32 ? TSR_F32 : e, n)))
      return false;
  }
  return true;
}

tsr_status target_verify_product(const ir_op *op) {
  const char *name = strrchr(op->def->name, '.') + 1; /* its kind's */
  const matrix_kind kind = matrix_kind_named(name);
  const int64_t m = ir_get_int(op, "m", 0), n = ir_get_int(op, "n", 0), k = ir_get_int(op, "k", 0);
  const char *a = ir_get_str(op, "a", ""), *b = ir_get_str(op, "b", ""), *c = ir_get_str(op, "c", "");
  bool exists = false;
  int n_rows;
  const matrix_instr *x = matrix_instr_rows(&n_rows);
  for (const matrix_instr *end = x + n_rows; x < end; x++) {
    if (x->kind != kind || x->m != m || x->n[0] != n || x->k != k || x->a != dtype_parse_real(a) ||
        x->b != dtype_parse_real(b) || x->c != dtype_parse_real(c))
      continue;
    exists = true;
    if (fits(x, op)) return NULL;
  }
  if (exists) return ir_error(op, NULL, "the operands are not the registers of a lane");
  return ir_error(op, "core/device/matrix_instr.c lists them", "there is no %s of %lldx%lldx%lld from %s and %s to %s",
                  name, (long long)m, (long long)n, (long long)k, a, b, c);
}

tsr_status target_verify_wgmma(const ir_op *op) {
  const ir_type *acc = op->operands[0]->type, *from = op->operands[1]->type;
  const bool array = from->kind == IR_T_ARRAY;
  const int64_t n = ir_get_int(op, "n", 0), k = ir_get_int(op, "k", 0), at = ir_get_int(op, "acc_at", 0),
                swizzle = ir_get_int(op, "swizzle", 0), count = ir_type_count(acc);
  const matrix_instr *x = k >= 1 && k <= 64 ? matrix_instr_find(MATRIX_WGMMA, 64, 0, (int)k,
                                                               dtype_parse_real(ir_get_str(op, "a", "")),
                                                               dtype_parse_real(ir_get_str(op, "b", "")), NULL)
                                            : NULL;
  if (array != ir_get_bool(op, "a_regs", false))
    return ir_error(op, "a_regs tells which", "operand 1 must be %s", array ? "a pointer" : "a register array");
  if (!x || x->c != dtype_parse_real(ir_get_str(op, "c", "")))
    return ir_error(op, NULL, "there is no wgmma of these types, %lld deep", (long long)k);
  if (n < 8 || n > 256 || n % 8) return ir_error(op, "8 to 256, a multiple of 8", "%lld columns", (long long)n);
  if (swizzle && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return ir_error(op, "0, 32, 64, 128", "there is no swizzle of %lld bytes", (long long)swizzle);
  if (acc->dtype != x->c || at < 0 || at > count || n / 2 > count - at)
    return ir_error(op, NULL, "%lld sums a thread do not fit the array of %lld at %lld", (long long)n / 2,
                    (long long)count, (long long)at);
  return !array || (from->dtype == TSR_I32 && ir_type_count(from) >= 4)
             ? NULL
             : ir_error(op, NULL, "a comes from at least 4 registers of 32 bits");
}

/* The region gets a scalar of each matrix, of one shape and use, and yields one. */
tsr_status target_verify_mat_map(const ir_op *op) {
  const ir_block *r = op->regions[0];
  const ir_type *out = op->results[0]->type;
  const int coords = ir_get_bool(op, "coords", false) ? 2 : 0;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *t = op->operands[i]->type;
    if (t->rank != 2 || out->rank != 2 || t->dims[0] != out->dims[0] || t->dims[1] != out->dims[1] ||
        strcmp(t->use ? t->use : "", out->use ? out->use : ""))
      return ir_error(op, NULL, "matrix %d differs from the result in shape or use", i);
  }
  if (r->n_args != op->n_operands + coords)
    return ir_error(op, NULL, "the region has %d arguments for %d matrices", r->n_args, op->n_operands);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type->kind != (i < op->n_operands ? IR_T_SCALAR : IR_T_INDEX))
      return ir_error(op, NULL, "argument %d of the region must be %s", i,
                      i < op->n_operands ? "a scalar" : "an index");
  if (!r->last || r->last->def->code != TG_YIELD || r->last->n_operands != 1 ||
      r->last->operands[0]->type->kind != IR_T_SCALAR)
    return ir_error(op, NULL, "the region must yield a scalar");
  return NULL;
}
