/* core/passes/tile/build.h - the tools with which the families of schedule_to_tile build a kernel. */
#ifndef CORE_PASSES_TILE_BUILD_H
#define CORE_PASSES_TILE_BUILD_H
#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/ir/recipe.h"
#include "core/ir/schedule/schedule.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/options.h"

enum { MAX_LEAVES = 64 };

/* A tensor in memory, seen through transposes, slices and broadcasts: strides in elements over its own dimensions. An
 * iota is one that lies nowhere: each element is its own address. */
typedef struct kb_mem {
  ir_value *arg; /* kernel argument (a view); NULL: of an iota */
  tsr_dtype dtype;
  int rank;
  int64_t dims[TSR_MAX_RANK], strides[TSR_MAX_RANK], offset;
} kb_mem;

/* How a value lies in the space: all of it, one element per row with a last dimension of 1, or without that dimension.
 */
typedef enum kb_form { FORM_FULL, FORM_ROW1, FORM_ROW0 } kb_form;

/* The iteration space of one operand's tile or of the results. The last two dimensions are m and n. */
typedef struct kb_space {
  int rank; /* of `dims`, at least 2 */
  int64_t dims[TSR_MAX_RANK + 2];
  int64_t tm, tn;
  ir_value *at[TSR_MAX_RANK + 2]; /* index of the tile's corner per dimension */
  int orig_rank;
  int from[TSR_MAX_RANK + 2]; /* the innermost original dimension that each one was merged from, -1 = put in */
  bool plain;                 /* every value in it is FORM_FULL */
} kb_space;

/* While values are built as scalars of a structured op's region (tile/contraction.c): what lies in memory becomes an
 * operand of the op and an argument of the region, and maps are their scalar ops alone. */
typedef struct kb_scalars {
  ir_op *op;           /* owner of the region that k->b stands in */
  ir_builder operands; /* where their windows are made: before op */
  ir_block *region;
  bool transposed[MAX_LEAVES]; /* by operand added: its window lies the other way */
  int n;
  bool in_order; /* none does */
  /* Where what repeats along a dimension of the tile, and is no constant, is computed once, as a fragment before op;
   * NULL: in the region, for each element. */
  const kb_space *before;
} kb_scalars;

/* One kernel under construction. */
typedef struct kb_kernel {
  ir_module *m;
  ir_builder b;    /* inside the kernel */
  const ir_op *src; /* schedule.kernel */
  ir_op *op;        /* tile.kernel */
  const tile_options *opts;
  sched_params params;
  ir_value *zero;
  /* split-k: the contraction's parts go to a workspace [parts, results...], which a second kernel adds in order;
   * stream_k: in pieces of tiles, see tile/stream_k.c. */
  enum { SPLIT_NONE, SPLIT_PARTS, SPLIT_SUM } split;
  ir_value *workspace; /* argument of either kernel */
  bool stream_k;
  kb_scalars *scalars; /* values are scalars of a region; NULL = fragments */
} kb_kernel;

/* What a graph value is in the kernel: its data field points to one of these. */
typedef struct kb_node {
  bool is_mem, is_imm, seen;
  kb_mem m;
  double imm;
  struct {
    const kb_space *s;
    kb_form f;
    ir_value *frag;
  } frags[8];
  int n_frags;
  int spans; /* what value.c knows of its extents, 0 = nothing yet */
  ir_value *stat[RECIPE_STATS]; /* a row operation's statistics, once they are known (tile/row_chunked.c) */
  const row_recipe *recipe;     /* what they are of */
} kb_node;

ir_value *kb_index(kb_kernel *k, int64_t v);
ir_value *kb_op2(kb_kernel *k, const char *name, ir_value *a, ir_value *b);
ir_value *kb_block_id(kb_kernel *k, int axis);
const ir_type *kb_frag(kb_kernel *k, tsr_dtype t, int64_t m, int64_t n);
/* A tile of v; NULL when out of memory, or where its type is. */
ir_value *kb_fill(ir_builder *b, const ir_type *t, double v);
/* May a copy from memory to a tile convert? Where no element changes its value: floats, or nothing to convert. */
static inline bool kb_copy_may_convert(tsr_dtype from, tsr_dtype to) {
  return from == to || (dtype_is_float(from) && dtype_is_float(to) && dtype_holds(to, from));
}
/* The type a fragment of t is computed in. */
tsr_dtype kb_compute(tsr_dtype t);

/* Strides of m over the dimensions of the original space `dims` (rank r), by the numpy rule from the right; for
 * FORM_ROW0 the last dimension is skipped. */
void kb_mem_align(const kb_mem *m, kb_form f, int r, int64_t *strides);
/* Finds m behind v if v is in memory (a kernel argument or views of one). */
kb_node *kb_node_of(kb_kernel *k, ir_value *v);
kb_form kb_form_of(const ir_type *t, const ir_type *space);

/* The window of m for the tile of s: a rank 2 view [Tm or 1, Tn or 1]. strides: over s->dims. *transposed (may be
 * NULL): the view may be given as [Tn, Tm], when m is contiguous along m; *transposed tells. */
tsr_status kb_window(kb_kernel *k, const kb_mem *m, const kb_space *s, const int64_t *strides, bool *transposed,
                     ir_value **out);
/* Value v of the body as a fragment on the tile of s. orig: the shape (of the operand or results) that s was made from.
 */
tsr_status kb_value(kb_kernel *k, ir_value *v, const kb_space *s, const ir_type *orig, kb_form f, ir_value **out);
/* The same as an operand of another op. Under `deterministic`, what this kernel computed in f32 is rounded to the
 * value's own type: the same bits as if it had been written and read again. */
tsr_status kb_operand(kb_kernel *k, ir_value *v, const kb_space *s, const ir_type *orig, kb_form f, ir_value **out);
/* Stores a fragment of result i. */
/* Repeats *v, of which a dimension may be 1, to the dimensions of `like`. */
tsr_status kb_expand(kb_kernel *k, ir_value **v, const ir_type *like);
tsr_status kb_store(kb_kernel *k, ir_value *frag, const kb_mem *m, const kb_space *s, const int64_t *strides);

/* Strides over the original space of everything that lies in memory: what decides which dimensions can be merged. */
typedef struct kb_stride_rows {
  bool more; /* than fit: nothing can be said of all of them */
  int64_t v[MAX_LEAVES][TSR_MAX_RANK]; /* each once */
  int n;
} kb_stride_rows;
/* Starts with none; adds one, unless its like is there. */
static inline void kb_rows_clear(kb_stride_rows *rows) { rows->n = 0, rows->more = false; }
void kb_rows_add(kb_stride_rows *rows, const kb_mem *m, kb_form f, int rank);
/* Makes the space of `orig` with its leading `n` dimensions merged where neighbours are contiguous in all rows; at
 * least rank 2. */
void kb_space_make(kb_space *s, const ir_type *orig, int n, const kb_stride_rows *rows);
/* The strides of m over a space. */
void kb_space_strides(const kb_mem *m, const kb_space *s, kb_form f, int64_t *strides);
/* Block indices -> tile corner: n tiles vary fastest, then m, then the outer dimensions; sets the kernel's grid. */
tsr_status kb_space_grid(kb_kernel *k, kb_space *s);

/* The windows that results are written to come first, so that their producers may write there at once. */
tsr_status kb_result_window(kb_kernel *k, int i, const kb_space *s, const ir_type *orig, ir_value **window);
tsr_status kb_store_result(kb_kernel *k, int i, const kb_space *s, const ir_type *orig, ir_value *window);
/* The same of all results. */
tsr_status kb_result_windows(kb_kernel *k, const kb_space *s, const ir_type *orig, ir_value **windows);
tsr_status kb_store_results(kb_kernel *k, const kb_space *s, const ir_type *orig, ir_value *const *windows);
tsr_status kb_write_results(kb_kernel *k, const kb_space *s, const ir_type *orig);

/* Whatever the body reads from memory, and its results. False when out of memory. */
bool kb_collect(kb_kernel *k, const ir_type *orig, kb_stride_rows *rows);
/* Something in memory is contiguous along m rather than n. */
bool kb_has_transposed(const kb_space *s, const kb_stride_rows *rows);

#define FAMILY_LOWERING(code, name, fuses, space, n, extents, lowering, ...) tsr_status family_##lowering(kb_kernel *k);
KERNEL_FAMILIES(FAMILY_LOWERING)
#undef FAMILY_LOWERING
/* Notes the tile in the kernel, for reports. */
bool kb_note_tile(kb_kernel *k, int64_t m, int64_t n, int64_t depth);
/* The body's row operations (reductions, softmax, norms) on whole rows. */
tsr_status kb_row_op(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out);
/* The recipe (ir/recipe.h) of the rows of x as a row op; *rows, where it isn't NULL, becomes x as that op keeps it. */
ir_value *kb_row_of(kb_kernel *k, const char *recipe, ir_value *x, ir_value **rows);
/* x repeated to the width of s's tile. */
ir_value *kb_spread(kb_kernel *k, ir_value *x, const kb_space *s);
/* Whether rows are held whole by the params.cluster blocks of a cluster. */
bool kb_rows_by_cluster(const kb_kernel *k, const kb_space *s);
/* Rows too long for the registers of a block: chunks of them, in a loop for each row operation and one for the results.
 * s: the grid's space, with whole rows. */
bool kb_rows_are_long(const kb_kernel *k, const kb_space *s);
tsr_status kb_long_rows(kb_kernel *k, kb_space *s, const ir_type *orig);
/* A row operation's result on the tile of s, from its statistics. */
tsr_status kb_row_apply(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out);
/* x where the element's column, `from` further, is below n; else `other`. */
ir_value *kb_mask(kb_kernel *k, ir_value *x, ir_value *from, int64_t n, double other);
/* x where it is finite, else 0. */
ir_value *kb_finite(kb_kernel *k, ir_value *x);
/* map with one scalar op over fragments; NULL when out of memory. */
ir_value *kb_map1(kb_kernel *k, int scalar_code, ir_value *a);
ir_value *kb_map2(kb_kernel *k, int scalar_code, ir_value *a, ir_value *b);
ir_value *kb_map2_imm(kb_kernel *k, int scalar_code, ir_value *a, double imm);
ir_value *kb_reduce(kb_kernel *k, const char *op, ir_value *x);
ir_value *kb_reduce_axis(kb_kernel *k, const char *op, ir_value *x, int axis);
/* 1 / sum, by the row. */
ir_value *kb_reciprocal(kb_kernel *k, ir_value *sum);
/* A fragment of one element that repeats, or the scalar. */
ir_value *kb_constant(kb_kernel *k, tsr_dtype t, double v);
/* What an integer type narrower than the one it is computed in keeps of x; of sums in another float type x as t,
 * rounded once, in the type that computes it; x itself else. */
ir_value *kb_wrap(kb_kernel *k, ir_value *x, tsr_dtype t);
#endif
