/* core/passes/tile/map.h - maps over fragments: those of one scalar op are declared in tile/build.h; here is what
 * builds a region of several. */
#ifndef CORE_PASSES_TILE_MAP_H
#define CORE_PASSES_TILE_MAP_H
#include "core/passes/tile/build.h"

/* The Tile IR op of a scalar op. */
const char *kb_scalar_name(int code);
/* A map over fragments (entries may be NULL: the region argument is then the immediate). The region gets its arguments
 * in args[]. */
ir_op *kb_map_open(kb_kernel *k, int n, ir_value **frags, ir_value **args, ir_builder *region, const double *imms,
                   tsr_dtype imm_type);
/* Ends the region with y; the map's result, NULL when that failed. */
ir_value *kb_map_close(kb_kernel *k, ir_op *map, ir_builder *region, ir_value *y);
/* Inside a region: what the pointwise op (not a cast) computes of these elements, x[i] of operand i. */
ir_value *kb_scalar(kb_kernel *k, ir_builder *r, const ir_op *op, ir_value *const *x);
/* Inside a region: a constant, x as a t, and x as an integer type narrower than i32 keeps it: its arithmetic wraps at
 * its own width, computed in i32. */
ir_value *kb_number(kb_kernel *k, ir_builder *r, tsr_dtype t, double v);
ir_value *kb_cast_to(kb_kernel *k, ir_builder *r, ir_value *x, tsr_dtype t);
ir_value *kb_wrap_scalar(kb_kernel *k, ir_builder *r, ir_value *x, tsr_dtype t);
#endif
