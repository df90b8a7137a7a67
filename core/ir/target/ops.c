/* core/ir/target/ops.c - the op table of Target IR; see target.h. Meaning of each op: its help text. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/tables.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/place.h"
#include "core/ir/tile/rules.h"
#include "core/ir/tile/tile.h"

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define I(n, req, d, h) {n, IR_A_INT, req, d, h}
#define B(n, d, h) {n, IR_A_BOOL, false, d, h}
#define S(n, req, d, h) {n, IR_A_STR, req, d, h}
#define L(n, req, h) {n, IR_A_ARRAY, req, NULL, h}
#define NAME(s) .name = "tessera.target." s, .level = IR_TARGET
#define IN(lo, hi, letters, doc) .min_operands = lo, .max_operands = hi, .kinds = letters, .operands_doc = doc
#define ANY IR_VARIADIC

static tsr_status infer_same_as_first(ir_op *op, const ir_type **results) {
  results[0] = op->operands[0]->type;
  return NULL;
}

static tsr_status infer_last(ir_op *op, const ir_type **results) {
  results[0] = op->operands[op->n_operands - 1]->type;
  return NULL;
}

static tsr_status verify_access(const ir_op *op) {
  int at = op->def->code == TG_STORE || op->def->code == TG_MAT_STORE ? 1 : 0;
  const ir_type *p = op->operands[at]->type;
  const ir_type *v = at ? op->operands[0]->type : op->results[0]->type;
  const bool matrix = op->def->code == TG_MAT_STORE || op->def->code == TG_MAT_LOAD;
  if (matrix != (v->kind == IR_T_MATRIX))
    return ir_error(op, matrix ? "load and store take the others" : "mat_load and mat_store take it", "%s a matrix",
                    matrix ? "needs" : "does not take");
  if (!matrix && v->dtype != p->dtype)
    return ir_error(op, "use ptr_cast", "the value's element type is not the pointer's");
  return NULL;
}

static bool is_fragment(const ir_type *t, const char *use) {
  return t->kind == IR_T_MATRIX && t->rank == 2 && t->use && !strcmp(t->use, use);
}

/* A matrix lies in the lanes as its use wants it; the others' layouts are wrong for it. */
static tsr_status verify_mat_mma(const ir_op *op) {
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

static tsr_status verify_mat_cast(const ir_op *op) {
  const ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
  if (to->kind != IR_T_MATRIX || from->rank != 2 || to->rank != 2 ||
      from->dims[0] != to->dims[0] || from->dims[1] != to->dims[1])
    return ir_error(op, NULL, "takes a matrix and gives one of its shape");
  if (from->use != to->use && !is_fragment(from, "acc") && strcmp(from->use ? from->use : "", to->use ? to->use : ""))
    return ir_error(op, NULL, "only an accumulator changes its use");
  return NULL;
}

static tsr_status verify_cluster_store(const ir_op *op) {
  const ir_type *v = op->operands[0]->type, *p = op->operands[1]->type;
  if (v->dtype != p->dtype) return ir_error(op, NULL, "the value must be of the pointer's type");
  if (tsr_dtype_size(v->dtype) != 4 && tsr_dtype_size(v->dtype) != 8)
    return ir_error(op, NULL, "only words of 4 and 8 bytes are stored in another block");
  return NULL;
}

static tsr_status verify_wgmma(const ir_op *op) {
  const bool array = op->operands[1]->type->kind == IR_T_ARRAY;
  return array == ir_get_bool(op, "a_regs", false) ? NULL : ir_error(op, "a_regs tells which", "operand 1 must be %s",
                                                                    array ? "a pointer" : "a register array");
}

static tsr_status verify_cluster_sync(const ir_op *op) {
  const char *half = ir_get_str(op, "half", "");
  if (*half && strcmp(half, "arrive") && strcmp(half, "wait"))
    return ir_error(op, "arrive, wait, or left out for both", "there is no half \"%s\"", half);
  return NULL;
}

/* Builders infer before anything is verified. */
static tsr_status infer_extract(ir_op *op, const ir_type **results) {
  TSR_TRY(ir_check_operands(op));
  const ir_type *v = op->operands[0]->type;
  results[0] = ir_type_scalar(op->module, v->dtype);
  return results[0] ? NULL : st_oom();
}

static tsr_status infer_get(ir_op *op, const ir_type **results) {
  TSR_TRY(ir_check_operands(op));
  const ir_type *v = op->operands[0]->type;
  if (op->results[0]->type)
    return op->results[0]->type->dtype == v->dtype ? NULL : ir_error(op, NULL, "element types differ");
  results[0] = ir_type_scalar(op->module, v->dtype);
  return results[0] ? NULL : st_oom();
}

static tsr_status verify_pow2_vector(const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  if (t->kind != IR_T_VECTOR || t->rank != 1 || t->dims[0] != op->n_operands)
    return ir_error(op, NULL, "needs one scalar per element");
  return NULL;
}

enum { MAX_BLOCK = 1 << 16 }; /* more threads than any device's block has */

static tsr_status verify_kernel(const ir_op *op) {
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
  return tile_verify_grid(op);
}

/* The tile lies in the memory that its kernel gives each thread. */
static tsr_status verify_scratch(const ir_op *op) {
  const ir_type *t = op->results[0]->type;
  const ir_op *kernel = op->parent ? op->parent->parent : NULL;
  int64_t lo, hi, size = (int64_t)tsr_dtype_size(t->dtype), offset = ir_get_int(op, "offset", 0), end;
  while (kernel && kernel->def->code != TG_KERNEL) kernel = kernel->parent ? kernel->parent->parent : NULL;
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
static tsr_status verify_map(const ir_op *op) {
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
static tsr_status verify_call(const ir_op *op) {
  if (op->n_regions > 1) return ir_error(op, NULL, "takes one region at most");
  const ir_block *r = op->n_regions ? op->regions[0] : NULL;
  for (int i = 0; r && i < r->n_args; i++)
    if (r->args[i]->type->kind != IR_T_INDEX)
      return ir_error(op, NULL, "argument %d of the region must be an index", i);
  return !r || (r->last && r->last->def->code == TG_YIELD) ? NULL
                                                           : ir_error(op, NULL, "the region must end with a yield");
}

static const ir_attr_def predicate[] = {S("predicate", true, NULL, "eq, ne, lt, le, gt, ge"), A_END};
#define SCALAR_ROW(CODE, s, n, kind, h, ...) \
  {NAME(s), .code = SC_##CODE, PLACE_SCALAR, .min_operands = n, .max_operands = n, .kinds = "x", .n_results = 1, .flags = IR_PURE | IR_ELEMENTWISE | IR_SCALAR, \
   .attrs = SC_##CODE == SC_COMPARE ? predicate : NULL, .operands_doc = n == 1 ? "a" : n == 2 ? "a, b" : "a, b, c", \
   .types_doc = #kind[0] == 'F' ? "float" : #kind[0] == 'I' ? "index, integer or bool" : "index, scalar or vector", .infer = scalar_infer, .help = h},

static const ir_opdef rows[] = {
    SCALAR_OPS(SCALAR_ROW){NAME("program"), .code = TG_PROGRAM, PLACE_PROGRAM, .n_regions = 1, .flags = IR_ANY_ATTRS | IR_ISOLATED,
                           .attrs = ATTRS(S("sym_name", true, NULL, "the function's name")),
                           .help = "Launches in order; block arguments are the inputs."},
    {NAME("buffer"), .code = TG_BUFFER, PLACE_IN_PROGRAM, .n_results = 1,
     .attrs = ATTRS(I("offset", false, "-1", "bytes into the workspace; -1 = an output or not planned")),
     .verify = tile_verify_buffer, .help = "Memory for an output or a temporary."},
    {NAME("constant"), .code = TG_CONSTANT, PLACE_IN_PROGRAM, .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS({"value", IR_A_DENSE, true, NULL, "the elements"}), .infer = tile_infer_constant,
     .help = "A tensor known when the program is compiled."},
    {NAME("alias"), .code = TG_ALIAS, PLACE_IN_PROGRAM, IN(1, 1, "t", "tensor"), .n_results = 1, .flags = IR_PURE, .verify = tile_verify_alias,
     .help = "The same memory as a tensor of another shape."},
    {NAME("launch"), .code = TG_LAUNCH, PLACE_IN_PROGRAM, IN(0, ANY, "t", "arguments..."),
     .attrs = ATTRS(S("kernel", true, NULL, "sym_name of a kernel"),
                    L("waits", false, "indices of earlier launches it depends on")),
     .verify = tile_verify_launch, .help = "Runs a kernel; arguments bind to its pointers in order."},
    {NAME("custom"), .code = TG_CUSTOM, PLACE_IN_PROGRAM, IN(1, ANY, "t", "inputs..., result"), .flags = IR_ANY_ATTRS,
     .attrs = ATTRS(S("callee", true, NULL, "name under which the op was registered")), .verify = tile_verify_custom,
     .help = "Runs the CPU kernel of an op that the application registered; it writes the last operand."},
    {NAME("return"), .code = TG_RETURN, PLACE_RETURN, IN(0, ANY, "t", "results..."), .flags = IR_TERMINATOR,
     .help = "Ends a program or a kernel."},
    {NAME("kernel"), .code = TG_KERNEL, PLACE_KERNEL, .n_regions = 1, .flags = IR_ANY_ATTRS | IR_ISOLATED,
     .attrs =
         ATTRS(S("sym_name", true, NULL, "unique name"), S("dialect", true, NULL, "cpu, spirv, cuda, hip or host"),
               L("grid", true, "[x, y, z] blocks"), L("block", false, "[x, y, z] threads"),
               I("subgroup", false, "0", "threads of a warp"), I("shared_bytes", false, "0", "bytes of shared memory"),
               I("outputs", false, "1", "how many of the last arguments are written"),
               S("arch", false, "", "sm_90a, gfx942, ...: on GPUs only that one runs it; empty = any"),
               L("cluster", false, "[x, y, z] blocks of a cluster"), B("wide_index", "false", "index is 64 bits"),
               I("waves_per_simd", false, "0", "AMD: as many must find registers on a SIMD; 0 = the compiler's choice"),
               I("scratch_bytes", false, "0", "CPU: bytes per thread"),
               I("raster", false, "0", "CPU: blocks of a matmul go row after row; 0 = column after column"),
               I("strip", false, "0", "CPU: elements of a strip; 0 = chosen by the backend"),
               S("path", false, "", "matrix path taken"), S("policy", false, "fast", "numerics policy")),
     .verify = verify_kernel, .help = "A kernel for one device; block arguments are pointers (views on the CPU)."},
    {NAME("const"), .code = TG_CONST, PLACE_SCALAR, .n_results = 1, .flags = IR_PURE | IR_POSITION,
     .attrs = ATTRS({"value", IR_A_FLOAT, true, NULL, "the number"}), .infer = tile_infer_const,
     .help = "A constant scalar, index, or vector of equal elements."},
    {NAME("thread_id"), .code = TG_THREAD_ID, .n_results = 1, .flags = IR_PURE | IR_POSITION,
     .attrs = ATTRS(I("axis", false, "0", "0, 1 or 2")), .infer = tile_infer_axis, .help = "Position in the block."},
    {NAME("block_id"), .code = TG_BLOCK_ID, .n_results = 1, .flags = IR_PURE | IR_POSITION,
     .attrs = ATTRS(I("axis", false, "0", "0, 1 or 2")), .infer = tile_infer_axis, .help = "Position in the grid."},
    {NAME("lane_id"), .code = TG_LANE_ID, .n_results = 1, .flags = IR_PURE | IR_POSITION, .infer = tile_infer_index,
     .help = "Position in the subgroup."},
    {NAME("warp_id"), .code = TG_WARP_ID, .n_results = 1, .flags = IR_PURE | IR_POSITION, .infer = tile_infer_index,
     .help = "Subgroup within the block; uniform over it."},
    {NAME("load"), .code = TG_LOAD, IN(2, 2, "pi", "pointer, index"), .n_results = 1,
     .attrs = ATTRS(I("align", false, "0", "bytes; 0 = the vector's size"),
                    B("streaming", "false", "will not be read again")),
     .verify = verify_access, .help = "A scalar or vector from pointer[index...]; the address is a multiple of align."},
    {NAME("store"), .code = TG_STORE, IN(3, 3, "npi", "value, pointer, index"),
     .attrs = ATTRS(I("align", false, "0", "bytes; 0 = the vector's size"),
                    B("streaming", "false", "will not be read again")),
     .verify = verify_access, .help = "A scalar or vector to pointer[index...]."},
    {NAME("shared"), .code = TG_SHARED, .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(I("offset", true, NULL, "bytes into the block's shared memory")),
     .help = "A pointer into shared memory; the type must be written out."},
    {NAME("ptr_cast"), .code = TG_PTR_CAST, IN(1, 1, "p", "pointer"), .n_results = 1, .flags = IR_PURE,
     .help = "The same address with another element type."},
    {NAME("ptr_add"), .code = TG_PTR_ADD, IN(2, 2, "pi", "pointer, index"), .n_results = 1, .flags = IR_PURE,
     .infer = infer_same_as_first, .help = "pointer + index elements."},
    {NAME("local"), .code = TG_LOCAL, .n_results = 1,
     .help = "A register array of this thread, undefined until set. Indices should become constants by unrolling."},
    {NAME("get"), .code = TG_GET, IN(2, 2, "ai", "array, index"), .n_results = 1, .infer = infer_get,
     .help = "array[index], or a vector of neighbours if the result is a vector."},
    {NAME("set"), .code = TG_SET, IN(3, 3, "nai", "value, array, index"),
     .help = "array[index] = value (or neighbours from a vector)."},
    {NAME("for"), .code = TG_FOR, IN(3, ANY, "iii*", "from, to, step, initial values..."), .n_results = ANY, .n_regions = 1,
     .attrs = ATTRS(B("unroll", "false", "bounds are constants: unroll completely"),
                    I("unroll_by", false, "0", "unroll hint")),
     .infer = tile_infer_for, .help = "As in Tile IR, per thread."},
    {NAME("if"), .code = TG_IF, IN(1, 1, "c", "condition"), .n_results = ANY, .n_regions = ANY, .infer = tile_infer_if,
     .attrs = ATTRS(B("likely", "false", "as in Tile IR")), .help = "A branch of one thread."},
    {NAME("yield"), .code = TG_YIELD, PLACE_YIELD, IN(0, ANY, "*", "values..."), .flags = IR_TERMINATOR,
     .help = "Ends a region with its values."},
    {NAME("barrier"), .code = TG_BARRIER,
     .help = "All threads of the block arrive; shared and global writes before it are visible after it."},
    {NAME("warp_barrier"), .code = TG_WARP_BARRIER, .help = "The same for a subgroup."},
    {NAME("vector"), .code = TG_VECTOR, IN(1, 32, "s", "elements..."), .n_results = 1, .flags = IR_PURE,
     .verify = verify_pow2_vector, .help = "A vector from scalars; the type must be written out."},
    {NAME("extract"), .code = TG_EXTRACT, IN(1, 1, "v", "vector"), .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(I("at", true, NULL, "element")), .infer = infer_extract, .help = "One element."},
    {NAME("insert"), .code = TG_INSERT, IN(2, 2, "sv", "scalar, vector"), .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(I("at", true, NULL, "element")), .infer = infer_last,
     .help = "The vector with one element replaced."},
    {NAME("bitcast"), .code = TG_BITCAST, IN(1, 1, "n", "value"), .n_results = 1, .flags = IR_PURE,
     .help = "The same bits as another scalar or vector type of the same size."},
    {NAME("shuffle"), .code = TG_SHUFFLE, IN(2, 2, "xi", "value, lane or mask"), .n_results = 1,
     .attrs = ATTRS(S("mode", false, "xor", "xor, index, up, down"),
                    I("width", false, "0", "lanes of a group; 0 = subgroup")),
     .infer = infer_same_as_first, .help = "The value of another lane of the subgroup."},
    {NAME("warp_reduce"), .code = TG_WARP_REDUCE, IN(1, 1, "x", "value"), .n_results = 1,
     .attrs = ATTRS(S("op", true, NULL, "sum, max, min, prod"),
                    I("width", false, "0", "lanes of a group (power of two); 0 = subgroup")),
     .infer = infer_same_as_first,
     .help = "Combines over aligned groups of `width` lanes; every lane gets the result. A fixed butterfly order."},

    {NAME("mat_fill"), .code = TG_MAT_FILL, IN(1, 1, "s", "scalar"), .n_results = 1, .flags = IR_PURE | IR_COOPMAT,
     .help = "A cooperative matrix of one value; the type must be written out."},
    {NAME("mat_load"), .code = TG_MAT_LOAD, .flags = IR_COOPMAT, IN(3, 5, "pi", "pointer, index, stride[, rows, columns]"), .n_results = 1,
     .attrs =
         ATTRS(S("layout", false, "row", "row or col"), I("align", false, "0", "bytes known of address and stride"),
               B("tensor", "false", "by tensor addressing")),
     .verify = verify_access,
     .help = "Subgroup-collective load; stride in the pointer's elements between rows (row) or columns (col). The "
             "pointer may have another element type than the matrix (same bits, wider access); then index and stride "
             "count pointer elements. Stride 0 repeats one row (column). With rows and columns (tensor addressing "
             "only), elements at or past them are 0."},
    {NAME("mat_store"), .code = TG_MAT_STORE, .flags = IR_COOPMAT, IN(4, 6, "mpi", "matrix, pointer, index, stride[, rows, columns]"),
     .attrs =
         ATTRS(S("layout", false, "row", "row or col"), I("align", false, "0", "bytes known of address and stride"),
               B("tensor", "false", "by tensor addressing")),
     .verify = verify_access,
     .help = "Subgroup-collective store. With rows and columns (tensor addressing only), elements at or past them are "
             "left alone."},
    {NAME("mat_mma"), .code = TG_MAT_MMA, IN(3, 3, "m", "a, b, accumulator"), .n_results = 1, .flags = IR_PURE | IR_COOPMAT,
     .infer = infer_last, .verify = verify_mat_mma, .help = "a * b + accumulator in the accumulator's type."},
    {NAME("mat_map"), .code = TG_MAT_MAP, IN(1, ANY, "m", "matrices..."), .n_results = 1, .n_regions = 1, .flags = IR_PURE | IR_COOPMAT,
     .help = "An elementwise expression over matrices of one shape and use: the region gets a scalar each and yields "
             "one. With attribute coords the region gets row and column (index) after the scalars.",
     .attrs = ATTRS(B("coords", "false", "pass row and column; needs per-element ops"))},
    {NAME("mat_cast"), .code = TG_MAT_CAST, IN(1, 1, "m", "matrix"), .n_results = 1, .flags = IR_PURE | IR_COOPMAT,
     .verify = verify_mat_cast, .help = "Element type or use (acc to a or b) changed, where the device can."},
    {NAME("mat_reduce"), .code = TG_MAT_REDUCE, IN(1, 1, "m", "matrix"), .n_results = 1, .flags = IR_PURE | IR_COOPMAT,
     .attrs = ATTRS(S("op", true, NULL, "sum, max, min"), I("axis", true, NULL, "0 or 1")),
     .infer = infer_same_as_first,
     .help = "Row or column combination, repeated over the axis (NV cooperative matrix 2)."},

    {NAME("cp_async"), .code = TG_CP_ASYNC, IN(4, 5, "higi", "shared pointer, index, global pointer, index[, valid bytes]"),
     .attrs = ATTRS(I("bytes", true, NULL, "4, 8 or 16")),
     .help = "Asynchronous copy to shared memory; bytes beyond the valid ones become 0."},
    {NAME("cp_commit"), .code = TG_CP_COMMIT, .help = "Closes a group of cp_async."},
    {NAME("cp_wait"), .code = TG_CP_WAIT, .attrs = ATTRS(I("pending", true, NULL, "groups that may be unfinished")),
     .help = "Waits for this thread's groups; a barrier makes them visible to others."},
    {NAME("ldmatrix"), .code = TG_LDMATRIX, IN(2, 2, "hi", "shared pointer, index"), .n_results = 1,
     .attrs = ATTRS(I("count", true, NULL, "1, 2 or 4 matrices 8x8x16 bits"), B("transpose", "false", "transposed")),
     .help = "Per lane one row address; the result is vector<count x i32>."},
    {NAME("stmatrix"), .code = TG_STMATRIX, IN(3, 3, "nhi", "registers, shared pointer, index"),
     .attrs = ATTRS(B("transpose", "false", "transposed")), .help = "The inverse of ldmatrix (sm_90)."},
    {NAME("mma"), .code = TG_MMA, IN(3, 3, "n", "a registers, b registers, accumulator"), .n_results = 1, .flags = IR_PURE,
     .infer = infer_last,
     .attrs = ATTRS(I("m", true, NULL, "rows"), I("n", true, NULL, "columns"), I("k", true, NULL, "depth"),
                    S("a", true, NULL, "element type of a"), S("b", true, NULL, "element type of b"),
                    S("c", true, NULL, "element type of the accumulator")),
     .help = "mma.sync: a and b are vectors of i32 registers, the accumulator a vector of f32 or i32; PTX ISA fragment "
             "layouts."},
    {NAME("tensor_map"), .code = TG_TENSOR_MAP, IN(1, 1, "g", "global pointer argument"), .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(L("dims", true, "extents, innermost first"),
                    L("strides", true, "bytes between neighbours of dimension 1 and up"),
                    L("box", true, "elements per dimension"), I("swizzle", false, "0", "0, 32, 64, 128")),
     .help = "A TMA descriptor of the argument's memory, made by the runtime and passed as a kernel parameter. Result: "
             "token."},
    {NAME("tma_load"), .code = TG_TMA_LOAD,
     IN(4, ANY, "khibi", "tensor map, shared pointer, index, barrier pointer, coordinates..."),
     .attrs = ATTRS(I("multicast", false, "0", "cluster mask; 0 = none"),
                    I("barrier", false, "0", "barrier number from its pointer")),
     .help = "Bulk tensor copy to shared memory; completes on the mbarrier. Issue from one thread."},
    {NAME("tma_store"), .code = TG_TMA_STORE, IN(3, ANY, "khi", "tensor map, shared pointer, index, coordinates..."),
     .help = "Bulk tensor copy from shared memory."},
    {NAME("tma_commit"), .code = TG_TMA_COMMIT, .help = "Closes a group of tma_store."},
    {NAME("tma_wait"), .code = TG_TMA_WAIT,
     .attrs = ATTRS(I("pending", true, NULL, "groups that may be unfinished"),
                    B("read", "true", "only until sources may be reused")),
     .help = "Waits for bulk store groups."},
    {NAME("mbar_init"), .code = TG_MBAR_INIT, IN(2, 3, "bi", "barrier pointer, index[, count]"),
     .attrs = ATTRS(I("count", false, "1", "arrivals per phase")),
     .help = "Initialises an mbarrier (i64 in shared memory)."},
    {NAME("mbar_expect"), .code = TG_MBAR_EXPECT, IN(2, 2, "bi", "barrier pointer, index"),
     .attrs = ATTRS(I("bytes", true, NULL, "bytes that will land")), .help = "Arrives and expects bytes."},
    {NAME("mbar_arrive"), .code = TG_MBAR_ARRIVE, IN(2, 3, "bi", "barrier pointer, index[, cluster rank]"),
     .help = "Arrives, on this block's or another cluster block's barrier."},
    {NAME("mbar_wait"), .code = TG_MBAR_WAIT, IN(3, 3, "bi", "barrier pointer, index, parity"),
     .help = "Waits until the phase with this parity has completed."},
    {NAME("fence"), .code = TG_FENCE, .attrs = ATTRS(S("kind", true, NULL, "async_proxy, mbarrier_init, cluster")),
     .help = "Orders memory between proxies or over the cluster."},
    {NAME("wgmma"), .code = TG_WGMMA,
     IN(5, 5, "aqihi", "accumulator array, a (shared pointer or register array), a index, b shared pointer, b index"),
     .attrs = ATTRS(
         I("n", true, NULL, "columns"), I("k", true, NULL, "depth"), S("a", true, NULL, "element type"),
         S("b", true, NULL, "element type"), S("c", true, NULL, "accumulator type"),
         I("swizzle", true, NULL, "bytes: 0, 32, 64, 128"), B("transpose_a", "false", "a is MN-major"),
         B("transpose_b", "false", "b is MN-major"), I("lbo_a", false, "16", "descriptor's leading byte offset of a"),
         I("sbo_a", false, "1024", "stride byte offset of a"), I("lbo_b", false, "16", "leading byte offset of b"),
         I("sbo_b", false, "1024", "stride byte offset of b"),
         I("acc_at", false, "0", "first register of the accumulator array"),
         B("a_regs", "false", "a comes from registers")), .verify = verify_wgmma,
     .help =
         "wgmma.mma_async m64nNkK on a warpgroup, accumulating into the register array. Index operands in elements."},
    {NAME("wgmma_fence"), .code = TG_WGMMA_FENCE, IN(0, ANY, "a", "accumulator arrays..."),
     .help = "Before the first wgmma and after register writes; pins the arrays."},
    {NAME("wgmma_commit"), .code = TG_WGMMA_COMMIT, .help = "Closes a wgmma group."},
    {NAME("wgmma_wait"), .code = TG_WGMMA_WAIT, IN(0, ANY, "a", "accumulator arrays..."),
     .attrs = ATTRS(I("pending", true, NULL, "groups that may be unfinished")), .help = "Waits; pins the arrays."},
    {NAME("setmaxnreg"), .code = TG_SETMAXNREG,
     .attrs = ATTRS(I("registers", true, NULL, "multiple of 8"), B("increase", "false", "inc or dec")),
     .help = "Registers of this warpgroup."},
    {NAME("elect"), .code = TG_ELECT, .n_results = 1, .help = "A bool that is true in one lane of the warp."},
    {NAME("cluster_sync"), .code = TG_CLUSTER_SYNC,
     .attrs = ATTRS(S("half", false, "", "arrive or wait: one half of it")), .verify = verify_cluster_sync,
     .help = "Barrier over the cluster: writes before it, to other blocks' shared memory too, are visible after it."},
    {NAME("cluster_rank"), .code = TG_CLUSTER_RANK, .n_results = 1, .flags = IR_PURE, .infer = tile_infer_index,
     .help = "This block's rank in its cluster."},
    {NAME("cluster_store"), .code = TG_CLUSTER_STORE, IN(4, 4, "shi", "scalar, shared pointer, index, cluster rank"),
     .verify = verify_cluster_store,
     .help = "A scalar to the same place of the shared memory of a block of the cluster, which must have begun to run; "
             "a cluster_sync makes it visible there."},
    {NAME("named_barrier"), .code = TG_NAMED_BARRIER,
     .attrs = ATTRS(I("id", true, NULL, "1 to 15; AMD: 0, the barrier instruction without waits"),
                    I("threads", true, NULL, "participants"), B("arrive", "false", "arrive without waiting")),
     .help = "bar.sync / bar.arrive on part of the block."},

    {NAME("mfma"), .code = TG_MFMA, IN(3, 3, "n", "a vector, b vector, accumulator vector"), .n_results = 1,
     .flags = IR_PURE, .infer = infer_last,
     .attrs = ATTRS(I("m", true, NULL, "rows"), I("n", true, NULL, "columns"), I("k", true, NULL, "depth"),
                    S("a", true, NULL, "element type"), S("b", true, NULL, "element type"),
                    S("c", true, NULL, "accumulator type")),
     .help = "CDNA matrix instruction on a wave of 64."},
    {NAME("wmma"), .code = TG_WMMA, IN(3, 3, "n", "a vector, b vector, accumulator vector"), .n_results = 1,
     .flags = IR_PURE, .infer = infer_last,
     .attrs = ATTRS(I("m", true, NULL, "rows"), I("n", true, NULL, "columns"), I("k", true, NULL, "depth"),
                    S("a", true, NULL, "element type"), S("b", true, NULL, "element type"),
                    S("c", true, NULL, "accumulator type")),
     .help = "RDNA matrix instruction on a wave of 32."},
    {NAME("lds_load"), .code = TG_LDS_LOAD, IN(4, 4, "higi", "shared pointer, wave base index, global pointer, index per lane"),
     .attrs = ATTRS(I("bytes", true, NULL, "4 or 16 per lane")),
     .help = "Direct global to LDS copy; lane i lands at base + i * bytes."},
    {NAME("waitcnt"), .code = TG_WAITCNT,
     .attrs = ATTRS(I("vmcnt", false, "-1", "global operations that may be pending; -1 = not waited for"),
                    I("lgkmcnt", false, "-1", "LDS operations")),
     .help = "s_waitcnt."},
    {NAME("setprio"), .code = TG_SETPRIO, .attrs = ATTRS(I("level", true, NULL, "0 to 3")), .help = "Wave priority."},
    {NAME("sched_barrier"), .code = TG_SCHED_BARRIER, IN(0, ANY, "a", "register arrays..."),
     .attrs = ATTRS(I("mask", false, "0", "instruction kinds that may cross")),
     .help = "Fences the compiler's scheduler; the arrays have been computed before it."},

    {NAME("scratch"), .code = TG_SCRATCH, .n_results = 1,
     .attrs = ATTRS(I("offset", true, NULL, "bytes into the thread's scratch memory")), .verify = verify_scratch,
     .help = "CPU: a tile in the thread's scratch memory (array type); shared tiles and fragments both become these."},
    {NAME("call"), .code = TG_CALL, PLACE_PER_ELEMENT(false, 0, 1), IN(0, ANY, "d", "destinations, sources, scalars"), .n_regions = ANY,
     .flags = IR_ANY_ATTRS, .attrs = ATTRS(S("fn", true, NULL, "micro-kernel")), .verify = verify_call,
     .help = "CPU: one micro-kernel over whole tiles, written to its first operand; their shapes must fit. Of "
             "\"matmul\", k is the step in which the depth is packed; the depth is the operands'."},
    {NAME("window"), .code = TG_WINDOW, IN(1, 1 + TSR_MAX_RANK, "wi", "view, offsets..."), .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(L("sizes", true, "extent per dimension; 0 drops it")), .infer = tile_infer_window,
     .help = "CPU: as in Tile IR."},
    {NAME("view"), .code = TG_VIEW, IN(1, 1, "w", "view"), .n_results = 1, .flags = IR_PURE, .verify = tile_verify_view,
     .help = "CPU: as in Tile IR."},
    {NAME("map"), .code = TG_MAP, PLACE_PER_ELEMENT(true, 0, TILE_WRITES_OUTPUTS), IN(1, ANY, "e", "destinations, sources"), .n_regions = 1, .flags = IR_ANY_ATTRS,
     .attrs = ATTRS(I("outputs", false, "1", "how many operands are destinations")), .verify = verify_map,
     .help = "CPU: an elementwise expression over strips; the region gets a scalar per source (and may use "
             "tessera.target.element_index) and yields one per destination."},
    {NAME("fetch"), .code = TG_FETCH, IN(1, 1 + TSR_MAX_RANK, "ei", "view, indices..."), .n_results = 1, .flags = IR_PURE,
     .infer = tile_infer_load_scalar, .help = "CPU: one element, as load_scalar in Tile IR."},
    {NAME("element_index"), .code = TG_ELEMENT_INDEX, PLACE_ELEMENT, .n_results = 1, .flags = IR_PURE,
     .attrs = ATTRS(I("dim", true, NULL, "dimension of the tile")), .infer = tile_infer_index,
     .help = "CPU: inside map, the element's position."},
};

const ir_opdef *target_ops(size_t i) { return i < sizeof rows / sizeof *rows ? &rows[i] : NULL; }
