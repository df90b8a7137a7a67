/* core/ir/tile/unfold.h - tessera.tile.unfold: the matrices of windows that move over an image, which lie nowhere. An
 * operand of a tessera.tile.contract, which reads the image through it (convolution without its patches in memory).
 *
 *   %v = "tessera.tile.unfold"(view, batch, row, column)
 *        {counts = [b, r, c], extents = [..], steps = [..], origin = [..], sizes = [m, n], winograd = 4}
 *
 * Batch, row and column are split into row-major digits, b, r and c of them, whose extents follow one another in
 * `extents`. The view's coordinate d is origin[d] plus the sum of digit times step over all digits; `steps` holds a
 * row of the view's rank for each. Element (i, j) of the result, a tile [m, n], is that of row + i and column + j: 0
 * beyond the view, and beyond the rows and columns that the extents have. winograd (2 or 4, of 3x3 windows) says how a
 * product may be computed, not what: by Winograd's transforms, where the device has them. */
#ifndef CORE_IR_TILE_UNFOLD_H
#define CORE_IR_TILE_UNFOLD_H
#include "core/ir/ir.h"

enum { UNFOLD_BATCH, UNFOLD_ROW, UNFOLD_COLUMN, UNFOLD_N_INDICES, UNFOLD_MOST_DIGITS = 2 * TSR_MAX_RANK,
       UNFOLD_MOST_LINE_STEP = 4, UNFOLD_MOST_APART = 4 /* of tile_unfold_has_lines */ };

typedef struct tile_unfold {
  int n[UNFOLD_N_INDICES]; /* digits of batch, row and column */
  int rank;                /* of the view */
  int64_t extent[UNFOLD_MOST_DIGITS], step[UNFOLD_MOST_DIGITS][TSR_MAX_RANK], origin[TSR_MAX_RANK];
  int64_t size[2];
  int winograd; /* results along each axis of the tiles that a product may make at once (tile_winograd); 0: none */
} tile_unfold;

/* Windows of 3x3 neighbouring elements at all places of an image [n, channels, y, x]. */
typedef struct tile_winograd {
  int64_t channels, out[2], low[2]; /* low: how far the first window begins before the image */
} tile_winograd;

bool tile_is_unfold(const ir_value *v);
/* Fails, as the verifier would, on an op that isn't well formed. */
tsr_status tile_unfold_get(const ir_op *op, tile_unfold *out);
/* The same of any op with these attributes. */
tsr_status tile_unfold_read(const ir_op *op, const ir_type *view, tile_unfold *out);
/* The first digit of an index, and how many values it has. */
int tile_unfold_first(const tile_unfold *u, int index);
int64_t tile_unfold_extent(const tile_unfold *u, int index);
/* Rows are places of an image whose last digit moves along one axis alone, *axis, on which elements lie next to each
 * other, or but for Winograd's transforms a few elements apart, as a pixel's channels put them: a convolution reads
 * them along that axis. *step: how far. */
bool tile_unfold_has_lines(const tile_unfold *u, const int64_t *strides, int *axis, int64_t *step);
/* The windows' coordinates along axis d are multiples of this apart, at one batch; it divides a line's step. */
int64_t tile_unfold_grid(const tile_unfold *u, int d);
/* How many coordinates of the grid along each axis n rows with all columns reach at most. */
void tile_unfold_reach(const tile_unfold *u, int64_t n, int64_t *reach);
/* False: they are other windows. */
bool tile_winograd_of(const tile_unfold *u, tile_winograd *out);
/* u->winograd, where n places from a multiple of n on are whole lines of tiles, or all places; else 0. */
int tile_winograd_tile(const tile_unfold *u, int64_t n);
/* The attributes of u; false when out of memory. */
bool tile_unfold_set(ir_op *op, const tile_unfold *u);

tsr_status tile_infer_unfold(ir_op *op, const ir_type **results);
tsr_status tile_verify_unfold(const ir_op *op);
#endif
