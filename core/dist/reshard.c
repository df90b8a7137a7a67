/* core/dist/reshard.c - see reshard.h. */
#include "core/dist/reshard.h"

#include "core/base/dtype.h"

typedef struct work {
  const dist_mesh *m;
  const int64_t *dims;
  dist_spec at;
  dist_move *out;
  int n;
} work;

static void move(work *w, graph_code code, uint32_t axes, int dim, int to, dist_how how) {
  if (w->n < DIST_MAX_MOVES) w->out[w->n++] = (dist_move){code, axes, dim, to, how, w->at};
}

/* The outer axes that both have: the pieces along them stay where they are. Uneven pieces don't nest. */
static uint32_t kept(const work *w, int dim, uint32_t from, uint32_t to) {
  uint32_t both = 0;
  if (w->dims[dim] % dist_mesh_extent(w->m, from) || w->dims[dim] % dist_mesh_extent(w->m, to))
    return from == to ? from : 0;
  for (int i = w->m->n; i-- > 0;) {
    const uint32_t bit = 1u << i;
    if (!(from & bit) && !(to & bit)) continue;
    if (!(from & bit) || !(to & bit)) break;
    both |= bit;
  }
  return both;
}

/* Pieces along some axes go from one dimension to another in one step. */
static bool transpose(work *w, const dist_spec *to) {
  for (int d = 0; d < to->rank; d++) {
    const uint32_t goes = w->at.dim[d] & ~kept(w, d, w->at.dim[d], to->dim[d]);
    if (!goes || to->dim[d] & goes) continue;
    for (int e = 0; e < to->rank; e++) {
      const uint32_t comes = to->dim[e] & ~kept(w, e, w->at.dim[e], to->dim[e]);
      if (e == d || comes != goes || (w->at.dim[e] & ~to->dim[e])) continue;
      const uint32_t left = to->dim[d] & ~(w->at.dim[d] & ~goes);
      if (left || w->dims[d] % dist_mesh_extent(w->m, w->at.dim[d]) || w->dims[e] % dist_mesh_extent(w->m, to->dim[e]))
        continue;
      w->at.dim[d] &= (uint8_t)~goes;
      w->at.dim[e] |= (uint8_t)comes;
      move(w, G_ALL_TO_ALL, goes, e, d, DIST_SUM);
      return true;
    }
  }
  return false;
}

static void gather(work *w, const dist_spec *to, int d) {
  const uint32_t axes = w->at.dim[d] & ~kept(w, d, w->at.dim[d], to->dim[d]);
  if (!axes) return;
  w->at.dim[d] &= (uint8_t)~axes;
  move(w, G_ALL_GATHER, axes, d, 0, DIST_SUM);
}

/* What the target cuts: partial values are added up on the way, of others each rank takes its piece. */
static void cut(work *w, const dist_spec *to, int d, bool partial) {
  const uint32_t missing = to->dim[d] & ~w->at.dim[d];
  const uint32_t free = missing & ~dist_spec_cuts(&w->at); /* those that cut another dimension are gathered first */
  const uint32_t axes = partial ? free & w->at.partial : free & ~(uint32_t)w->at.partial;
  if (!axes || (w->at.dim[d] & ~to->dim[d])) return;
  if (w->at.dim[d] != kept(w, d, w->at.dim[d], to->dim[d])) return; /* what is cut already must be around it */
  if (axes != missing && w->dims[d] % dist_mesh_extent(w->m, to->dim[d])) return; /* uneven pieces are cut at once */
  /* Pieces are cut from the outside in: an axis inside one that is still missing waits. */
  for (int i = w->m->n; i-- > 0;)
    if (axes >> i & 1)
      for (int k = i + 1; k < w->m->n; k++)
        if (missing >> k & 1 && !(axes >> k & 1)) return;
  w->at.dim[d] |= (uint8_t)axes;
  if (partial) w->at.partial &= (uint8_t)~axes;
  move(w, partial ? G_REDUCE_SCATTER : G_SHARD_SLICE, axes, d, 0, (dist_how)w->at.how);
}

int dist_reshard(const dist_mesh *m, const dist_spec *from, const dist_spec *to, const int64_t *dims, dist_move *out) {
  work w = {m, dims, *from, out, 0};
  if (to->partial & ~from->partial || (to->partial && to->how != from->how)) return -1;
  while (transpose(&w, to)) {}
  for (int round = 0; round < m->n; round++)
    for (int d = 0; d < to->rank; d++)
      for (int partial = 0; partial < 2; partial++) cut(&w, to, d, partial);
  const uint32_t sums = w.at.partial & ~(uint32_t)(to->partial | dist_spec_cuts(to));
  if (sums) {
    w.at.partial &= (uint8_t)~sums;
    move(&w, G_ALL_REDUCE, sums, 0, 0, (dist_how)from->how);
  }
  for (int d = 0; d < to->rank; d++) gather(&w, to, d);
  for (int round = 0; round < m->n; round++)
    for (int d = 0; d < to->rank; d++)
      for (int partial = 0; partial < 2; partial++) cut(&w, to, d, partial);
  /* What is still partial is added up, then cut. */
  const uint32_t rest = w.at.partial & ~(uint32_t)to->partial;
  if (rest) {
    w.at.partial &= (uint8_t)~rest;
    move(&w, G_ALL_REDUCE, rest, 0, 0, (dist_how)from->how);
    for (int round = 0; round < m->n; round++)
      for (int d = 0; d < to->rank; d++) cut(&w, to, d, false);
  }
  return dist_spec_same(&w.at, to) ? w.n : -1;
}

tsr_dtype dist_part_dtype(const ir_value *v, const dist_spec *s) {
  const tsr_dtype t = v->type->dtype;
  const ir_op *op = v->def;
  const bool narrow = dtype_is_float(t) && tsr_dtype_size(t) < tsr_dtype_size(TSR_F32);
  if (!narrow || !op || op->n_results != 1 || !s->partial || s->how != DIST_SUM) return t;
  const bool sums = graph_is(op, G_REDUCE_SUM) || graph_is(op, G_REDUCE_MEAN);
  return sums || (graph_is_kind(op, GRAPH_CONTRACTION) && !ir_get_attr(op, "accum_dtype")) ? TSR_F32 : t;
}

double dist_move_bytes(const dist_mesh *m, const dist_move *v, const dist_spec *before, const ir_type *whole,
                       tsr_dtype t) {
  double bytes = (double)tsr_dtype_size(t);
  const dist_spec *s = v->code == G_ALL_GATHER ? &v->after : before;
  for (int i = 0; i < whole->rank; i++) bytes *= (double)dist_spec_extent(m, s, i, whole->dims[i]);
  return v->code == G_SHARD_SLICE ? 0 : bytes;
}
