/* core/passes/tile/copy.c - the copy family: boxes of the result, each a copy of an operand or, where operands don't
 * cover it, filled; a range of blocks for each. Where operands begin says the op's row (graph_row.start). */
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/build.h"

static kb_mem whole(ir_value *arg) {
  kb_mem m = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(m.dims, arg->type->dims, sizeof m.dims);
  ir_type_strides(arg->type, m.strides);
  return m;
}

static int64_t elements(const kb_kernel *k) {
  return k->params.m > 0 ? k->params.m * max64(1, k->params.n) : sched_block_elements(k->opts->caps);
}

/* Small planes, of which the CPU would spend more on a block than on its copy: a tile is the same row of many. */
static bool same_row_of_planes(const kb_kernel *k, kb_space *s) {
  enum { SMALL = 256 }; /* elements: 14x14 places of late layers of CNNs, and less */
  const int plane = s->rank - 3, row = s->rank - 2;
  if (k->opts->caps->dialect != DIALECT_CPU || plane < 0 || s->dims[plane] <= s->dims[row]) return false;
  if (s->dims[row] * s->dims[row + 1] > SMALL) return false;
  const int64_t d = s->dims[plane];
  const int from = s->from[plane];
  s->dims[plane] = s->dims[row], s->from[plane] = s->from[row];
  s->dims[row] = d, s->from[row] = from;
  return true;
}

static void cut(kb_kernel *k, kb_space *s) {
  enum { PLANES = 64 }; /* so that all threads get some */
  const int64_t most = same_row_of_planes(k, s) ? PLANES : s->dims[s->rank - 2];
  s->tn = max64(1, min64(s->dims[s->rank - 1], elements(k)));
  s->tm = max64(1, min64(min64(most, s->dims[s->rank - 2]), elements(k) / s->tn));
}

/* Corner of tile number `t` of s, n fastest. */
static void corner(kb_kernel *k, kb_space *s, ir_value *t) {
  int64_t size[TSR_MAX_RANK + 2];
  for (int i = s->rank - 1; i >= 0; i--) {
    size[i] = i == s->rank - 1 ? s->tn : i == s->rank - 2 ? s->tm : 1;
    int64_t n = ceil_div(s->dims[i], size[i]);
    ir_value *c = kb_index(k, n), *r = i ? kb_op2(k, "tessera.tile.rem", t, c) : t;
    s->at[i] = size[i] == 1 ? r : kb_op2(k, "tessera.tile.mul", r, kb_index(k, size[i]));
    if (i) t = kb_op2(k, "tessera.tile.div", t, c);
  }
}

static int64_t n_tiles(const kb_space *s) {
  int64_t n = ceil_div(s->dims[s->rank - 1], s->tn) * ceil_div(s->dims[s->rank - 2], s->tm);
  for (int i = 0; i < s->rank - 2; i++) n *= s->dims[i];
  return n;
}

/* A box of the result. */
typedef struct part {
  const kb_mem *in; /* what it is a copy of; NULL: it is filled */
  double value;
  const ir_type *shape;
  int64_t start[TSR_MAX_RANK]; /* in the result */
} part;

/* The blocks of a kernel so far. */
typedef struct blocks {
  ir_value *id;
  int64_t n;
} blocks;

/* The block is one of n from `first` on. */
static ir_value *is_between(kb_kernel *k, ir_value *block, int64_t first, int64_t n) {
  static const char *const preds[2] = {"ge", "lt"};
  const ir_type *t = ir_type_scalar(k->m, TSR_BOOL);
  ir_value *bounds[2] = {kb_index(k, first), kb_index(k, first + n)}, *cond[2];
  for (int c = 0; c < 2; c++) {
    ir_op *cmp = bounds[c] && t ? ir_op_new(&k->b, ir_find_op("tessera.tile.compare"), 2,
                                            (ir_value *[]){block, bounds[c]}, 1, &t, 0)
                                : NULL;
    if (!cmp || !ir_set_attr(cmp, "predicate", ir_attr_str(k->m, preds[c]))) return NULL;
    cond[c] = cmp->results[0];
  }
  return kb_op2(k, "tessera.tile.and", cond[0], cond[1]);
}

static tsr_status tile_of(kb_kernel *k, const part *p, const kb_space *s, ir_value **out) {
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  if (!p->in) {
    *out = kb_fill(&k->b, kb_frag(k, kb_compute(p->shape->dtype), s->tm, s->tn), p->value);
    return *out ? NULL : st_oom();
  }
  kb_space_strides(p->in, s, FORM_FULL, strides);
  TSR_TRY(kb_window(k, p->in, s, strides, NULL, &w));
  *out = ir_build1(&k->b, "tessera.tile.load",
                   kb_frag(k, kb_compute(p->in->dtype), w->type->dims[0], w->type->dims[1]), 1, &w);
  return *out ? NULL : st_oom();
}

/* Blocks of its own, in a space of its own. */
static tsr_status write_part(kb_kernel *k, const part *p, blocks *b) {
  kb_mem out = whole(k->op->regions[0]->args[k->src->n_operands]);
  kb_stride_rows rows = {.n = p->in ? 2 : 1};
  kb_space s;
  kb_mem_align(&out, FORM_FULL, out.rank, rows.v[0]);
  if (p->in) kb_mem_align(p->in, FORM_FULL, out.rank, rows.v[1]);
  kb_space_make(&s, p->shape, out.rank, &rows);
  cut(k, &s);
  const int64_t tiles = n_tiles(&s), first = b->n;
  if (!tiles) return NULL;
  b->n += tiles;
  ir_value *mine = is_between(k, b->id, first, tiles);
  ir_op *branch = mine ? ir_op_new(&k->b, ir_find_op("tessera.tile.if"), 1, &mine, 0, NULL, 1) : NULL;
  if (!branch) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, branch->regions[0]);
  corner(k, &s, kb_op2(k, "tessera.tile.sub", b->id, kb_index(k, first)));
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *v;
  TSR_TRY(tile_of(k, p, &s, &v));
  /* The part of the result as memory of its own. */
  for (int d = 0; d < out.rank; d++) {
    out.dims[d] = p->shape->dims[d];
    out.offset += p->start[d] * out.strides[d];
  }
  kb_space_strides(&out, &s, FORM_FULL, strides);
  TSR_TRY(kb_expand(k, &v, kb_frag(k, v->type->dtype, s.tm, s.tn))); /* an input that repeats itself */
  TSR_TRY(kb_store(k, v, &out, &s, strides));
  if (!ir_build0(&k->b, "tessera.tile.yield", 0, NULL)) return st_oom();
  k->b = outside;
  return NULL;
}

static tsr_status copy_operand(kb_kernel *k, const ir_op *op, int i, const int64_t *start, blocks *b) {
  const kb_node *n = kb_node_of(k, op->operands[i]);
  part p = {.shape = op->operands[i]->type};
  if (!n || !n->is_mem || !n->m.arg) return ir_error(op, NULL, "operand %d must lie in memory", i);
  p.in = &n->m;
  memcpy(p.start, start, sizeof *start * (size_t)p.shape->rank);
  return write_part(k, &p, b);
}

/* What lies before (or behind) the only operand along axis d: as long as the operand along the axes before d, as the
 * result along those behind it. */
static tsr_status fill_side(kb_kernel *k, const ir_op *op, int d, const int64_t *start, bool before, blocks *b) {
  const ir_type *x = op->operands[0]->type, *y = op->results[0]->type;
  const int64_t end = start[d] + x->dims[d];
  part p = {.value = ir_get_float(op, "value", 0)};
  int64_t dims[TSR_MAX_RANK];
  for (int i = 0; i < y->rank; i++) {
    dims[i] = i < d ? x->dims[i] : y->dims[i];
    p.start[i] = i < d ? start[i] : 0;
  }
  dims[d] = before ? start[d] : y->dims[d] - end;
  p.start[d] = before ? 0 : end;
  if (!(p.shape = ir_type_tensor(k->m, y->dtype, y->rank, dims))) return st_oom();
  return write_part(k, &p, b);
}

/* No element of the result is left to the attribute `value`: operands don't overlap. */
static bool covers(const ir_op *op) {
  int64_t n = 0;
  for (int i = 0; i < op->n_operands; i++) n += ir_type_count(op->operands[i]->type);
  return n == ir_type_count(op->results[0]->type);
}

tsr_status family_copy(kb_kernel *k) {
  const ir_op *op = k->src->regions[0]->first;
  int64_t start[TSR_MAX_RANK] = {0};
  while (op && !graph_is_kind(op, GRAPH_COPY)) op = op->next;
  if (!op) return ir_error(k->src, NULL, "a copy kernel needs a concat or a pad");
  blocks b = {.id = kb_block_id(k, 0)};
  for (int i = 0; i < op->n_operands; i++) {
    graph_ext(op)->start(op, i, start);
    TSR_TRY(copy_operand(k, op, i, start, &b));
  }
  for (int d = 0; d < op->results[0]->type->rank && !covers(op); d++)
    for (int before = 1; before >= 0; before--) TSR_TRY(fill_side(k, op, d, start, before, &b));
  return ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){b.n, 1, 1}, 3)) ? NULL : st_oom();
}
