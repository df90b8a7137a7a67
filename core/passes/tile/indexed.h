/* core/passes/tile/indexed.h - what the kernels of gathers and scatters share: memory whose elements are addressed by
 * the axes of a tile and a loop, and by the numbers of an index that is read from a tensor. */
#ifndef CORE_PASSES_TILE_INDEXED_H
#define CORE_PASSES_TILE_INDEXED_H
#include "core/passes/tile/build.h"

/* What an axis may move along in. */
typedef enum ix_memory { IX_TABLE, IX_INDICES, IX_SPACE, IX_OUT, N_IX } ix_memory;

typedef struct ix_axis {
  int64_t n, stride[N_IX]; /* 0: nothing changes along it */
  ir_value *at;            /* the coordinate, less that within the tile */
  int tiled;               /* the tile's dimension that it runs over; -1: none */
} ix_axis;

typedef struct ix_kernel {
  graph_indexed x;
  kb_mem mem[N_IX]; /* the table, its indices, a gather's result or a scatter's updates, a scatter's result */
  ix_axis axis[2 * TSR_MAX_RANK + 4];
  int n;
} ix_kernel;

/* The op of the kernel and its memory; false where it has none of the kind. */
tsr_status ix_begin(kb_kernel *k, graph_kind kind, ix_kernel *out);
/* An axis for each dimension of the space s, whose dimensions have these strides (by memory) in the shape that it was
 * made from. */
void ix_add_tile(ix_kernel *q, const kb_space *s, const kb_stride_rows *strides);
/* An axis for each dimension of s, counted through by `counter`, the last one fastest. */
tsr_status ix_add_count(kb_kernel *k, ix_kernel *q, const kb_space *s, const kb_stride_rows *strides,
                        ir_value *counter);
/* The elements of memory w on a tile [m, n]: places[i] on the axes and, by_index, where the index says. */
tsr_status ix_gather(kb_kernel *k, const ix_kernel *q, ix_memory w, bool by_index, int64_t m, int64_t n,
                     ir_value **out);
tsr_status ix_scatter(kb_kernel *k, const ix_kernel *q, ix_memory w, bool by_index, ir_value *tile);
#endif
