/* core/ir/tile/ops.c - the op table of Tile IR; see tile.h. Meaning of each op: its help text. */
#include "core/ir/tile/tile.h"

#include <string.h>

#include "core/ir/tables.h"
#include "core/ir/tile/place.h"
#include "core/ir/tile/rules.h"

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define NAME(s) .name = "tessera.tile." s, .level = IR_TILE

static const ir_attr_def predicate[] = {{"predicate", IR_A_STR, true, NULL, "eq, ne, lt, le, gt, ge"}, A_END};
#define SCALAR_ROW(CODE, s, n, kind, h, ...) \
  {NAME(s), .code = SC_##CODE, PLACE_SCALAR, .min_operands = n, .max_operands = n, .n_results = 1, .flags = IR_PURE | IR_ELEMENTWISE | IR_SCALAR, \
   .attrs = SC_##CODE == SC_COMPARE ? predicate : NULL, .operands_doc = n == 1 ? "a" : n == 2 ? "a, b" : "a, b, c", \
   .types_doc = #kind[0] == 'F' ? "float" : #kind[0] == 'I' ? "index, integer or bool" : "index or any scalar", .infer = scalar_infer, .help = h},

static const ir_opdef rows[] = {
    SCALAR_OPS(SCALAR_ROW)
    {NAME("program"), .code = T_PROGRAM, PLACE_PROGRAM, .n_regions = 1, .flags = IR_ANY_ATTRS,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "the function's name"}),
     .help = "Launches in order; block arguments are the inputs."},
    {NAME("buffer"), .code = T_BUFFER, PLACE_IN_PROGRAM, .n_results = 1,
     .attrs = ATTRS({"offset", IR_A_INT, false, "-1", "bytes into the workspace, set by the memory planner; -1 = an output or not planned"}),
     .types_doc = "tensor", .verify = tile_verify_buffer, .help = "Memory for an output or a temporary. Contents are undefined until written."},
    {NAME("constant"), .code = T_CONSTANT, PLACE_IN_PROGRAM, .n_results = 1, .flags = IR_PURE, .attrs = ATTRS({"value", IR_A_DENSE, true, NULL, "the elements"}),
     .infer = tile_infer_constant, .help = "A tensor known when the program is compiled."},
    {NAME("alias"), .code = T_ALIAS, PLACE_IN_PROGRAM, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE, .operands_doc = "tensor",
     .verify = tile_verify_alias, .help = "The same memory seen as a tensor of another shape with the same number of elements."},
    {NAME("launch"), .code = T_LAUNCH, PLACE_IN_PROGRAM, .max_operands = IR_VARIADIC, .operands_doc = "arguments...",
     .attrs = ATTRS({"kernel", IR_A_STR, true, NULL, "sym_name of a kernel in the module"}, {"waits", IR_A_ARRAY, false, NULL, "indices of earlier launches it depends on"}),
     .verify = tile_verify_launch, .help = "Runs a kernel; arguments bind to its views in order."},
    {NAME("custom"), .code = T_CUSTOM, PLACE_IN_PROGRAM, .min_operands = 1, .max_operands = IR_VARIADIC, .flags = IR_ANY_ATTRS, .operands_doc = "inputs..., result",
     .attrs = ATTRS({"callee", IR_A_STR, true, NULL, "name under which the op was registered"}), .verify = tile_verify_custom,
     .help = "Calls an op that the application registered; it writes the last operand. Further attributes are the op's own. Becomes a launch where the op has a source for the device, else its CPU kernel runs."},
    {NAME("return"), .code = T_RETURN, PLACE_RETURN, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "results...", .help = "Ends a program or a kernel."},
    {NAME("kernel"), .code = T_KERNEL, PLACE_KERNEL, .n_regions = 1, .flags = IR_ANY_ATTRS,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "unique name"}, {"grid", IR_A_ARRAY, true, NULL, "[x, y, z] blocks, x fastest"},
                    {"outputs", IR_A_INT, false, "1", "how many of the last arguments are written"},
                    {"warps", IR_A_INT, false, "0", "subgroups per block; 0 = chosen by the lowering"},
                    {"raster", IR_A_INT, false, "0", "block rows walked together, column by column; 1 = row after row; 0 = chosen by the device"},
                    {"cluster", IR_A_ARRAY, false, NULL, "[x, 1, 1]: so many blocks share the tile and each other's results of reductions (CUDA, from sm_90 on)"},
                    {"strip", IR_A_INT, false, "0", "CPU: elements that an elementwise program takes at once; 0 = chosen by the backend"},
                    {"reduction_kernels", IR_A_BOOL, false, "true", "CPU: rows are summed and normalised by fused kernels"},
                    {"family", IR_A_STR, false, "custom", "schedule family it came from; attention: flash attention written by hand, as profiles then call it"},
                    {"policy", IR_A_STR, false, "fast", "numerics policy"}, {"stages", IR_A_INT, false, "0", "pipeline depth asked for; 0 = default"}),
     .verify = tile_verify_kernel, .help = "A block program; block arguments are views of global memory."},
    {NAME("block_id"), .code = T_BLOCK_ID, .n_results = 1, .flags = IR_PURE, .attrs = ATTRS({"axis", IR_A_INT, true, NULL, "0, 1 or 2"}),
     .infer = tile_infer_axis, .help = "This block's position in the grid."},
    {NAME("const"), .code = T_CONST, PLACE_SCALAR, .n_results = 1, .flags = IR_PURE, .attrs = ATTRS({"value", IR_A_FLOAT, true, NULL, "the number"}),
     .infer = tile_infer_const, .help = "A scalar; index if the type is left out and the value is an integer."},
    {NAME("index"), .code = T_INDEX, PLACE_ELEMENT, .n_results = 1, .flags = IR_PURE, .attrs = ATTRS({"dim", IR_A_INT, true, NULL, "dimension of the fragment"}),
     .infer = tile_infer_index, .help = "Inside a map region: the element's position within the mapped fragment."},
    {NAME("view"), .code = T_VIEW, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE | IR_VIEWLIKE, .operands_doc = "view",
     .verify = tile_verify_view, .help = "The same memory with other dimensions, strides and offset (elements, relative to the operand's own origin). Stride 0 repeats. Of an argument or a view of one, not of a window."},
    {NAME("window"), .code = T_WINDOW, .min_operands = 1, .max_operands = 1 + TSR_MAX_RANK, .n_results = 1, .flags = IR_PURE | IR_VIEWLIKE, .operands_doc = "view, offsets...",
     .attrs = ATTRS({"sizes", IR_A_ARRAY, true, NULL, "extent per dimension; 0 drops the dimension"}),
     .infer = tile_infer_window, .help = "A window at the given offsets (one index per dimension, not negative). Parts outside the view read as 0 and drop writes."},
    {NAME("alloc"), .code = T_ALLOC, .n_results = 1, .attrs = ATTRS({"stages", IR_A_INT, false, "1", "copies for a pipelined loop"}),
     .types_doc = "shared", .verify = tile_verify_alloc, .help = "A tile in shared memory. Contents are undefined until written."},
    {NAME("load"), .code = T_LOAD, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "view or shared",
     .attrs = ATTRS({"vectorize", IR_A_INT, false, "0", "elements per access; 0 = widest legal"}), .infer = tile_infer_load,
     .help = "Memory to fragment, converted to the fragment's element type."},
    {NAME("store"), .code = T_STORE, PLACE_WRITES(1, 1), .min_operands = 2, .max_operands = 2, .operands_doc = "fragment, view or shared",
     .attrs = ATTRS({"vectorize", IR_A_INT, false, "0", "elements per access; 0 = widest legal"}), .verify = tile_verify_store,
     .help = "Fragment to memory, converted to the memory's element type (floats round to nearest even)."},
    {NAME("copy"), .code = T_COPY, PLACE_WRITES(1, 1), .min_operands = 2, .max_operands = 2, .operands_doc = "source view or shared, destination view or shared",
     .attrs = ATTRS({"async", IR_A_BOOL, false, "false", "may run on until a wait"}, {"vectorize", IR_A_INT, false, "0", "elements per access; 0 = widest legal"}),
     .verify = tile_verify_copy, .help = "Memory to memory with conversion. Destination elements whose source lies outside its view become 0."},
    {NAME("wait"), .code = T_WAIT, .attrs = ATTRS({"pending", IR_A_INT, false, "0", "asynchronous copies that may still be running"}),
     .help = "Blocks until at most `pending` asynchronous copies are unfinished; includes the barrier that makes them visible."},
    {NAME("barrier"), .code = T_BARRIER, .help = "All earlier shared accesses of the block are done."},
    {NAME("fill"), .code = T_FILL, .n_results = 1, .flags = IR_PURE, .attrs = ATTRS({"value", IR_A_FLOAT, true, NULL, "every element"}),
     .types_doc = "frag", .verify = tile_verify_frag, .help = "A fragment of one value. The type must be written out."},
    {NAME("splat"), .code = T_SPLAT, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE, .operands_doc = "scalar", .verify = tile_verify_splat, .help = "A fragment whose elements are the scalar."},
    {NAME("gemm"), .code = T_GEMM, .min_operands = 3, .max_operands = 3, .n_results = 1, .flags = IR_PURE, .operands_doc = "accumulator, a, b",
     .attrs = ATTRS({"transpose_a", IR_A_BOOL, false, "false", "a is stored [k, m]"}, {"transpose_b", IR_A_BOOL, false, "false", "b is stored [n, k]"},
                    {"policy", IR_A_STR, false, "fast", "kahan_sum compensates the sum over k"}),
     .types_doc = "frag, then view, shared or frag", .infer = tile_infer_gemm,
     .help = "accumulator + a * b on 2-d tiles, products and sums in the accumulator's type. Expands to mma_sync of the device's shape."},
    {NAME("mma_sync"), .code = T_MMA_SYNC, .min_operands = 3, .max_operands = 3, .n_results = 1, .flags = IR_PURE, .operands_doc = "a, b, c",
     .attrs = ATTRS({"m", IR_A_INT, true, NULL, "rows"}, {"n", IR_A_INT, true, NULL, "columns"}, {"k", IR_A_INT, true, NULL, "depth"},
                    {"dtype", IR_A_STR, true, NULL, "element type of a and b"}),
     .infer = tile_infer_mma, .implied = tile_implied_mma, .help = "c + a * b by one matrix instruction of the device; (m, n, k, dtype) must be in its list."},
    {NAME("map"), .code = T_MAP, PLACE_PER_ELEMENT(true, 0, 0), .max_operands = IR_VARIADIC, .n_results = IR_VARIADIC, .n_regions = 1, .operands_doc = "fragments...", .flags = IR_PURE,
     .attrs = ATTRS({"shape", IR_A_ARRAY, false, NULL, "result dimensions; needed only without operands"}),
     .infer = tile_infer_map,
     .help = "An elementwise expression: the region gets one scalar per operand, uses scalar ops, index and outer scalars, and yields one scalar per result. Dimensions of 1 repeat."},
    {NAME("reduce"), .code = T_REDUCE, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE | IR_REDUCES, .operands_doc = "fragment",
     .attrs = ATTRS({"axis", IR_A_INT, true, NULL, "dimension that becomes 1"}, {"op", IR_A_STR, true, NULL, "sum, max, min, prod"},
                    {"policy", IR_A_STR, false, "fast", "fast, deterministic (fixed tree), kahan_sum"}),
     .infer = tile_infer_reduce, .help = "Combines the elements along an axis; the axis stays with extent 1."},
    {NAME("for"), .code = T_FOR, .min_operands = 3, .max_operands = IR_VARIADIC, .n_results = IR_VARIADIC, .n_regions = 1, .operands_doc = "from, to, step, initial values...",
     .attrs = ATTRS({"stages", IR_A_INT, false, "0", "software pipeline depth of the copies inside; 0 = the device's default, 1 = none"}),
     .infer = tile_infer_for, .help = "for (i = from; i < to; i += step): the region gets i and the carried values and yields the next ones."},
    {NAME("if"), .code = T_IF, .min_operands = 1, .max_operands = 1, .n_results = IR_VARIADIC, .n_regions = IR_VARIADIC, .operands_doc = "condition",
     .infer = tile_infer_if, .help = "A block-uniform branch; the second region is the else part and is needed when there are results."},
    {NAME("yield"), .code = T_YIELD, PLACE_YIELD, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "values...", .help = "Ends a region with its values."},
    {NAME("gather"), .code = T_GATHER, PLACE_PER_ELEMENT(false, 0, 0), .min_operands = 1, .max_operands = 2, .n_results = IR_VARIADIC, .n_regions = 1, .operands_doc = "view[, destination shared]",
     .verify = tile_verify_gather,
     .help = "element[i...] = view[f(i...)]: the region gets the destination's indices and yields one index per dimension of the view, then optionally a bool 'valid'. Indices outside the view (also negative) and invalid elements give 0. With one operand the result is a fragment."},
    {NAME("scatter"), .code = T_SCATTER, PLACE_PER_ELEMENT(false, 1, 1), .min_operands = 2, .max_operands = 2, .n_regions = 1, .operands_doc = "fragment, view",
     .verify = tile_verify_scatter, .help = "view[f(i...)] = element[i...]; indices outside the view are dropped; no two elements may meet."},
    {NAME("fft_stage"), .code = T_FFT_STAGE, .min_operands = 2, .max_operands = 2, .n_results = 2, .flags = IR_PURE, .operands_doc = "re, im",
     .attrs = ATTRS({"radix", IR_A_INT, true, NULL, "2, 4, 8 or 16"}, {"span", IR_A_INT, true, NULL, "product of the radices of the stages before"},
                    {"inverse", IR_A_BOOL, false, "false", "conjugate twiddles; no scaling"}),
     .infer = tile_infer_fft,
     .help = "One Stockham stage over the last dimension N: with L = span, r = radix, for j < N/r, k = j mod L: y[(j/L)*L*r + k + p*L] = sum over q of x[j + q*N/r] * w^(q*k) * v^(p*q), w = exp(-2 pi i/(r*L)), v = exp(-2 pi i/r)."},
    {NAME("transpose"), .code = T_TRANSPOSE, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE, .operands_doc = "fragment",
     .attrs = ATTRS({"perm", IR_A_ARRAY, true, NULL, "source dimension of each result dimension"}), .infer = tile_infer_transpose, .help = "Permutes the dimensions of a fragment."},
    {NAME("reshape"), .code = T_RESHAPE, .min_operands = 1, .max_operands = 1, .n_results = 1, .flags = IR_PURE, .operands_doc = "fragment",
     .verify = tile_verify_reshape, .help = "The same elements in row-major order with other dimensions."},
    {NAME("load_scalar"), .code = T_LOAD_SCALAR, .min_operands = 1, .max_operands = 1 + TSR_MAX_RANK, .n_results = 1, .flags = IR_PURE, .operands_doc = "view, indices...",
     .infer = tile_infer_load_scalar, .help = "One element, uniform over the block."},
};

const ir_opdef *tile_ops(size_t i) { return i < sizeof rows / sizeof *rows ? &rows[i] : NULL; }
