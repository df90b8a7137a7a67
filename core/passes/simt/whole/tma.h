/* core/passes/simt/whole/tma.h - tensor maps of views, for the lowerings that load and store tiles by TMA. Tiles are
 * boxes of 128-byte lines, swizzled. */
#ifndef CORE_PASSES_SIMT_WHOLE_TMA_H
#define CORE_PASSES_SIMT_WHOLE_TMA_H
#include "core/passes/simt/whole/match.h"
#include "core/passes/target/build.h"

enum { SIMT_TMA_LINE = 128 };

/* Unit stride, rows a multiple of 16 bytes, at most five dimensions that matter, from the start of its memory. */
bool simt_tma_view(const ir_type *view);
/* Which dimensions of the view its map has, innermost first. */
int simt_tma_dims(const ir_type *view, int *dims);
/* The map of the view's memory (a kernel argument) with boxes of box0 elements in box1 lines. */
ir_value *simt_tma_map(tgb *t, ir_value *arg, const ir_type *view, int box0, int box1);
/* Coordinates of a matmul's window for its map, at most five; inner and outer (or NULL) are added to the two innermost.
 */
int simt_tma_coordinates(const simt_place *p, const ir_op *window, ir_value *inner, ir_value *outer, ir_value **out);
#endif
