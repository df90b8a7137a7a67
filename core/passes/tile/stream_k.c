/* core/passes/tile/stream_k.c - a contraction whose k steps, those of all tiles in a row, are shared out evenly among a
 * fixed number of blocks (stream-k; Osama et al., PPoPP 2023). Needs at least as many blocks as tiles, so that a
 * block's share reaches over two tiles at most; each piece goes to a workspace [blocks, 2, bm, bn], and a second kernel
 * adds those of a tile in the order of k, whoever finished first, and does the epilogue. With s = steps of a tile and e
 * = steps of a block: block g has the steps [g e, g e + e), which begin in tile g e / s; tile t belongs to the blocks t
 * s / e to (t s + s - 1) / e. */
#include <string.h>

#include "core/passes/schedule/gemm_heuristics.h"
#include "core/passes/tile/contraction.h"

static ir_value *op2(kb_kernel *k, const char *name, ir_value *a, ir_value *b) {
  char full[48] = "tessera.tile.";
  strncat(full, name, sizeof full - strlen(full) - 1);
  return kb_op2(k, full, a, b);
}
static ir_value *by(kb_kernel *k, const char *name, ir_value *a, int64_t b) { return op2(k, name, a, kb_index(k, b)); }

const ir_type *mm_stream_k_type(ir_module *m, const ir_op *product, const tsr_caps *caps, const sched_params *p) {
  sched_shares s;
  if (sched_stream_k(product, caps, p, &s)) return NULL;
  ir_type t = {
      .kind = IR_T_TENSOR, .dtype = graph_contract_get(product).accum, .rank = 4, .dims = {s.blocks, 2, p->m, p->n}};
  return ir_type_get(m, &t);
}

static kb_mem workspace(const kb_kernel *k, const contraction *x, const sched_shares *s) {
  kb_mem m = {.arg = k->workspace, .dtype = x->g.accum, .rank = 4, .dims = {s->blocks, 2, k->params.m, k->params.n}};
  for (int64_t d = 3, stride = 1; d >= 0; stride *= m.dims[d--]) m.strides[d] = stride;
  return m;
}

/* The window of tm x tn elements at (row, col) of a block's piece. */
static tsr_status piece(kb_kernel *k, const kb_mem *m, int64_t tm, int64_t tn, ir_value *const at[4], ir_value **out) {
  kb_space s = {.rank = 4, .tm = tm, .tn = tn, .orig_rank = 4, .from = {0, 1, 2, 3}, .plain = true};
  memcpy(s.dims, m->dims, sizeof m->dims);
  memcpy(s.at, at, 4 * sizeof *at);
  return kb_window(k, m, &s, m->strides, NULL, out);
}

/* The corner of tile t: columns fastest, then rows, then the outer dimensions. */
static void place_tile(kb_kernel *k, contraction *x, const sched_shares *s, ir_value *t) {
  int r = x->c.rank;
  ir_value *rest = by(k, "div", t, s->columns);
  x->c.at[r - 1] = by(k, "mul", by(k, "rem", t, s->columns), x->bn);
  x->c.at[r - 2] = by(k, "mul", by(k, "rem", rest, s->rows), x->bm);
  rest = by(k, "div", rest, s->rows);
  for (int i = r - 3; i >= 0; i--) {
    x->c.at[i] = i ? by(k, "rem", rest, x->c.dims[i]) : rest;
    rest = by(k, "div", rest, x->c.dims[i]);
  }
}

tsr_status mm_stream_k_parts(kb_kernel *k, contraction *x) {
  sched_shares s;
  const char *why = sched_stream_k(x->op, k->opts->caps, &k->params, &s);
  if (why) return ir_error(k->src, NULL, "stream_k: %s", why);
  if (!ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){s.blocks, 1, 1}, 3))) return st_oom();
  ir_value *block = kb_block_id(k, 0), *first = by(k, "mul", block, s.each),
           *last = by(k, "min", by(k, "add", first, s.each), s.tiles * s.steps);
  ir_value *tile = by(k, "div", first, s.steps), *end = by(k, "div", by(k, "add", last, s.steps - 1), s.steps);
  ir_op *tiles =
      ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3, (ir_value *[]){tile, end, kb_index(k, 1)}, 0, NULL, 1);
  ir_value *t = tiles ? ir_block_arg(k->m, tiles->regions[0], ir_type_index(k->m), NULL) : NULL, *window;
  if (!t) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, tiles->regions[0]);
  ir_value *begin = by(k, "mul", t, s.steps);
  x->from = by(k, "mul", op2(k, "sub", op2(k, "max", first, begin), begin), x->bk);
  x->to = by(k, "mul", op2(k, "sub", op2(k, "min", last, by(k, "add", begin, s.steps)), begin), x->bk);
  place_tile(k, x, &s, t);
  kb_mem m = workspace(k, x, &s);
  TSR_TRY(piece(k, &m, x->bm, x->bn, (ir_value *[]){block, op2(k, "sub", t, tile), k->zero, k->zero}, &window));
  TSR_TRY(mm_contract(k, x, &window));
  if (!ir_build0(&k->b, "tessera.tile.yield", 0, NULL) || k->b.failed) return st_oom();
  k->b = outside;
  return NULL;
}

void mm_stream_k_tile(const kb_kernel *k, contraction *x) {
  x->bn = k->params.n;
  x->bm = k->params.m;
  while (x->bm > 1 && (x->bm * x->bn > 1024 || k->params.m % x->bm)) x->bm--;
}

tsr_status mm_stream_k_sum(kb_kernel *k, contraction *x, ir_value **out) {
  sched_shares s;
  const char *why = sched_stream_k(x->op, k->opts->caps, &k->params, &s);
  if (why) return ir_error(k->src, NULL, "stream_k: %s", why);
  int r = x->c.rank;
  ir_value *outer = k->zero, *window, *row = x->c.at[r - 2], *col = x->c.at[r - 1];
  for (int i = 0; i < r - 2; i++) outer = op2(k, "add", by(k, "mul", outer, x->c.dims[i]), x->c.at[i]);
  ir_value *t =
      op2(k, "add", by(k, "mul", op2(k, "add", by(k, "mul", outer, s.rows), by(k, "div", row, k->params.m)), s.columns),
          by(k, "div", col, k->params.n));
  ir_value *begin = by(k, "mul", t, s.steps), *first = by(k, "div", begin, s.each),
           *last = by(k, "div", by(k, "add", begin, s.steps - 1), s.each);
  ir_value *acc = kb_fill(&k->b, kb_frag(k, x->g.accum, x->bm, x->bn), 0);
  if (!acc) return st_oom();
  ir_op *loop = ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 4,
                          (ir_value *[]){first, by(k, "add", last, 1), kb_index(k, 1), acc}, 1, &acc->type, 1);
  ir_value *g = loop ? ir_block_arg(k->m, loop->regions[0], ir_type_index(k->m), NULL) : NULL,
           *sum = g ? ir_block_arg(k->m, loop->regions[0], acc->type, NULL) : NULL;
  if (!sum) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, loop->regions[0]);
  ir_value *part = op2(k, "sub", t, by(k, "div", by(k, "mul", g, s.each), s.steps));
  kb_mem m = workspace(k, x, &s);
  TSR_TRY(piece(k, &m, x->bm, x->bn,
                (ir_value *[]){g, part, by(k, "rem", row, k->params.m), by(k, "rem", col, k->params.n)}, &window));
  ir_value *v = ir_build1(&k->b, "tessera.tile.load", acc->type, 1, &window),
           *next = v ? kb_map2(k, SC_ADD, sum, v) : NULL;
  if (!next || !ir_build0(&k->b, "tessera.tile.yield", 1, &next) || k->b.failed) return st_oom();
  k->b = outside;
  *out = loop->results[0];
  return NULL;
}
