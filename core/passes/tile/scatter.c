/* core/passes/tile/scatter.c - the family of scatters. A block has a tile of the axes along which no two updates meet:
 * those that indices don't address. It copies its part of the input, unless it writes in place, and then takes the
 * updates one after the other, in row-major order, so that the result is the same however many run at once. Fragments
 * that are neither loaded nor stored have one layout for each shape: all accesses to an element are one thread's, and
 * need no barrier. */
#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/indexed.h"

typedef struct part {
  ir_type shape; /* of the axes that it runs over, for kb_space_make */
  kb_stride_rows rows;
} part;

static void add(part *p, int64_t n, const int64_t strides[N_IX]) {
  const int d = p->shape.rank++;
  p->shape.dims[d] = n;
  for (int w = 0; w < N_IX; w++) p->rows.v[w][d] = n == 1 ? 0 : strides[w];
}

/* Axes of the table that the updates have too: the tile's. */
static part shared_axes(const ix_kernel *q) {
  part p = {.rows = {.n = N_IX}};
  for (int d = 0; d < q->x.rank; d++) {
    const int t = q->x.of_table[d], i = q->x.of_indices[d];
    if (t < 0) continue;
    add(&p, q->mem[IX_OUT].dims[t],
        (int64_t[N_IX]){[IX_TABLE] = q->mem[IX_TABLE].strides[t],
                        [IX_INDICES] = i < 0 ? 0 : q->mem[IX_INDICES].strides[i],
                        [IX_SPACE] = q->mem[IX_SPACE].strides[d],
                        [IX_OUT] = q->mem[IX_OUT].strides[t]});
  }
  return p;
}

/* Those that indices address, for the copy. */
static part indexed_axes(const ix_kernel *q) {
  part p = {.rows = {.n = N_IX}};
  for (int i = 0; i < q->x.n_indexed; i++) {
    const int t = q->x.indexed[i];
    add(&p, q->mem[IX_OUT].dims[t],
        (int64_t[N_IX]){[IX_TABLE] = q->mem[IX_TABLE].strides[t], [IX_OUT] = q->mem[IX_OUT].strides[t]});
  }
  return p;
}

/* Those of the updates alone, one after the other. */
static part update_axes(const ix_kernel *q) {
  part p = {.rows = {.n = N_IX}};
  for (int d = 0; d < q->x.rank; d++) {
    if (q->x.of_table[d] >= 0) continue;
    const int i = q->x.of_indices[d];
    add(&p, q->mem[IX_INDICES].dims[i],
        (int64_t[N_IX]){[IX_INDICES] = q->mem[IX_INDICES].strides[i], [IX_SPACE] = q->mem[IX_SPACE].strides[d]});
  }
  return p;
}

/* A loop over all of p: q gets its axes besides the tile's `tiled`. The builder stands in the loop. */
static tsr_status begin_loop(kb_kernel *k, ix_kernel *q, int tiled, const part *p, ir_builder *outside) {
  kb_space s;
  int64_t n = 1;
  kb_space_make(&s, &p->shape, p->shape.rank, &p->rows);
  for (int d = 0; d < s.rank; d++) n *= s.dims[d];
  ir_value *bounds[3] = {k->zero, kb_index(k, n), kb_index(k, 1)};
  ir_op *loop = bounds[1] && bounds[2] ? ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3, bounds, 0, NULL, 1) : NULL;
  ir_value *counter = loop ? ir_block_arg(k->m, loop->regions[0], ir_type_index(k->m), NULL) : NULL;
  if (!counter) return st_oom();
  *outside = k->b;
  k->b = ir_at_end(k->m, loop->regions[0]);
  q->n = tiled;
  return ix_add_count(k, q, &s, &p->rows, counter);
}

static tsr_status end_loop(kb_kernel *k, const ir_builder *outside) {
  if (!ir_build0(&k->b, "tessera.tile.yield", 0, NULL)) return st_oom();
  k->b = *outside;
  return NULL;
}

static tsr_status update(kb_kernel *k, const ix_kernel *q, int64_t m, int64_t n) {
  ir_value *value, *there;
  TSR_TRY(ix_gather(k, q, IX_SPACE, false, m, n, &value));
  if (q->x.adds) {
    TSR_TRY(ix_gather(k, q, IX_OUT, true, m, n, &there));
    if (!ir_set_attr(there->def, "owned", ir_attr_bool(k->m, true))) return st_oom();
    value = kb_wrap(k, kb_map2(k, SC_ADD, there, value), q->mem[IX_OUT].dtype);
    if (!value) return st_oom();
  }
  return ix_scatter(k, q, IX_OUT, true, value);
}

/* Few elements a block, so that there are blocks for all cores: what is taken in order is so for each of them. */
static int64_t tile_elements(const kb_kernel *k, const kb_space *s) {
  const tsr_caps *c = k->opts->caps;
  int64_t all = 1;
  for (int d = 0; d < s->rank; d++) all *= max64(1, s->dims[d]);
  if (c->dialect != DIALECT_CPU) return k->params.m > 0 ? k->params.m : 64;
  return clamp64(ceil_div(all, 2 * max64(1, c->n_cores)), 64, 4096);
}

tsr_status family_scatter(kb_kernel *k) {
  ix_kernel q;
  kb_space s;
  TSR_TRY(ix_begin(k, GRAPH_SCATTER, &q));
  const part tile = shared_axes(&q), table = indexed_axes(&q), updates = update_axes(&q);
  kb_space_make(&s, &tile.shape, tile.shape.rank, &tile.rows);
  const int64_t elements = tile_elements(k, &s);
  s.tn = max64(1, min64(s.dims[s.rank - 1], elements));
  s.tm = max64(1, min64(s.dims[s.rank - 2], elements / s.tn));
  if (!kb_note_tile(k, s.tm, s.tn, 1)) return st_oom();
  TSR_TRY(kb_space_grid(k, &s));
  ix_add_tile(&q, &s, &tile.rows);
  const int tiled = q.n;
  ir_builder outside;
  ir_value *part_of_table;
  if (!ir_get_attr(k->src, "in_place")) {
    TSR_TRY(begin_loop(k, &q, tiled, &table, &outside));
    TSR_TRY(ix_gather(k, &q, IX_TABLE, false, s.tm, s.tn, &part_of_table));
    TSR_TRY(ix_scatter(k, &q, IX_OUT, false, part_of_table));
    TSR_TRY(end_loop(k, &outside));
  }
  TSR_TRY(begin_loop(k, &q, tiled, &updates, &outside));
  TSR_TRY(update(k, &q, s.tm, s.tn));
  return end_loop(k, &outside);
}
