/* core/passes/tile/attention_backward.c - the family of attention's gradients: a block has one head of keys, or some of
 * its keys, and takes them a tile at a time; against each tile go the queries that see it, of all heads that share the
 * keys (FlashAttention-2, arXiv 2307.08691, algorithm 2). With p = exp(score - log-sum-exp), which is computed again,
 *   dv += p^T dy,  ds = scale p (dy v^T - shift),  dk += ds^T q,  dq += ds k
 * dk and dv of a tile stay in the block; dq is added to in memory, by this block alone and in the order of the keys, so
 * that its bits don't depend on who runs the block. Where heads are too few to keep cores busy, the keys go by in
 * parts: each leaves its own dq in a workspace, and a second kernel adds these in order. Five products a tile instead
 * of the seven of one kernel for dq and one for dk and dv. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/tile/attention_backward.h"
#include "core/passes/tile/attention_scores.h"
#include "core/passes/tile/map.h"

enum { TILE = 128, STEP = 16, BLOCKS = 16, TILES = 2 }; /* BLOCKS: wanted; TILES: the least of a part */

static const ir_op *op_of(const ir_op *kernel) { return graph_first_of(kernel->regions[0], GRAPH_ATTENTION_BACKWARD); }

/* ---- choice ------------------------------------------------------------------------------------------------------ */

/* About `wanted` of n, so that the last tile is as long as the others. */
static int64_t tile_of(int64_t n, int64_t wanted) { return min64(n, round_up(ceil_div(n, ceil_div(n, wanted)), STEP)); }

static int64_t keys_of_tile(const graph_attention *x, const sched_params *p) {
  return p->n > 0 ? min64(p->n, x->n) : tile_of(x->n, TILE);
}

/* By the shape alone: the bits of a sum follow from it. */
static int64_t keys_of_part(const graph_attention *x, const sched_params *p) {
  const int64_t tile = keys_of_tile(x, p),
                parts = min64(ceil_div(BLOCKS, x->batch * x->kv_heads), ceil_div(x->n, TILES * tile));
  return round_up(ceil_div(x->n, max64(parts, 1)), tile);
}

const ir_type *attend_backward_parts_type(ir_module *m, const ir_op *kernel, const sched_params *p) {
  const ir_op *op = op_of(kernel);
  bool reads_dq = false;
  const ir_op *yield = kernel->regions[0]->last;
  for (int i = 0; op && i < yield->n_operands; i++) reads_dq |= yield->operands[i] == op->results[0];
  if (!reads_dq || graph_attention_refusal(op)) return NULL;
  const graph_attention x = graph_attention_get(op);
  const int64_t parts = ceil_div(x.n, keys_of_part(&x, p)), dims[] = {parts, x.batch, x.heads, x.m, x.k};
  return parts > 1 ? ir_type_tensor(m, x.accum, 5, dims) : NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* A kernel under construction: where its block stands besides. */
typedef struct back {
  attend a;                    /* first */
  ir_value *place;             /* of the block's query 0 among the keys; a.first is that of the tile's first query */
  ir_value *first_key, *group; /* of the tile; head of queries among those that share keys */
  attend_side keys, values;
  bool widens; /* products read what is narrower than sums in their type: converted once a tile, not once a product */
  kb_mem dq; /* in parts where there are several */
} back;

/* Tensors by part and entry of the batch, as memory of rank 4. */
static kb_mem parts_of_dq(const attend *a) {
  const graph_attention *x = &a->x;
  return (kb_mem){.arg = a->k->workspace,
                  .dtype = x->accum,
                  .rank = ATTEND_RANK,
                  .dims = {a->parts * x->batch, x->heads, x->m, x->k},
                  .strides = {x->heads * x->m * x->k, x->m * x->k, x->k, 1}};
}

/* The window of m that holds the tile of s; form: FORM_ROW0 where m has no width. */
static tsr_status window(attend *a, const kb_mem *m, kb_space s, kb_form form, ir_value **out) {
  int64_t strides[TSR_MAX_RANK + 2];
  if (form == FORM_ROW0) s.dims[ATTEND_WIDTH] = s.tn = 1, s.at[ATTEND_WIDTH] = a->k->zero;
  kb_space_strides(m, &s, form, strides);
  return kb_window(a->k, m, &s, strides, NULL, out);
}

static ir_value *load(attend *a, ir_value *w) {
  return ir_build1(&a->k->b, "tessera.tile.load", kb_frag(a->k, a->x.accum, w->type->dims[0], w->type->dims[1]), 1, &w);
}

/* The tile of an operand, as products read it. */
static tsr_status tile(back *x, int memory, const kb_space *s, attend_side *out) {
  TSR_TRY(attend_window(&x->a, memory, s, out));
  if (x->widens && !(out->v = load(&x->a, out->v))) return st_oom();
  return NULL;
}

static ir_value *narrowed(back *x, ir_value *v) { return x->widens ? v : attend_narrowed(&x->a, v); }

static bool store(attend *a, ir_value *v, ir_value *w) {
  return v && ir_build0(&a->k->b, "tessera.tile.store", 2, (ir_value *[]){v, w});
}

/* The tile of queries, of this width. */
static kb_space query_space(const back *x, int64_t width) {
  kb_space s = attend_space(&x->a, x->a.x.heads, x->a.x.m, width, x->a.bm, width);
  memcpy(s.at, x->a.rows.at, sizeof s.at);
  return s;
}

static kb_space key_space(const back *x, int64_t width) {
  kb_space s = attend_space(&x->a, x->a.x.kv_heads, x->a.x.n, width, x->a.bn, width);
  s.at[ATTEND_BATCH] = x->a.rows.at[ATTEND_BATCH];
  s.at[ATTEND_HEAD] = x->a.kv_head;
  s.at[ATTEND_PLACE] = x->first_key;
  s.at[ATTEND_WIDTH] = x->a.k->zero;
  return s;
}

static tsr_status dq_window(back *x, ir_value *part, ir_value **out) {
  attend *a = &x->a;
  kb_space s = query_space(x, a->x.k);
  if (!a->k->workspace) return window(a, &x->dq, s, FORM_FULL, out);
  ir_value *first = kb_op2(a->k, "tessera.tile.mul", part, kb_index(a->k, a->x.batch));
  s.dims[ATTEND_BATCH] = a->parts * a->x.batch;
  s.at[ATTEND_BATCH] = kb_op2(a->k, "tessera.tile.add", first, a->rows.at[ATTEND_BATCH]);
  return window(a, &x->dq, s, FORM_FULL, out);
}

/* The block's queries from `at` on, of the head at hand. */
static tsr_status stand_at(back *x, ir_value *at) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  const int64_t group = a->x.heads / a->x.kv_heads;
  a->rows.at[ATTEND_HEAD] = a->kv_head;
  if (group > 1)
    a->rows.at[ATTEND_HEAD] =
        kb_op2(k, "tessera.tile.add", kb_op2(k, "tessera.tile.mul", a->kv_head, kb_index(k, group)), x->group);
  a->rows.at[ATTEND_PLACE] = at;
  a->rows.at[ATTEND_WIDTH] = k->zero;
  a->first = kb_op2(k, "tessera.tile.add", at, x->place);
  return a->first && a->rows.at[ATTEND_HEAD] ? NULL : st_oom();
}

/* ---- one tile of queries against one of keys --------------------------------------------------------------------- */

enum { DK, DV, N_SUMS };

/* The gradients of the products q k^T: p (dp - shift) scale, times 1 - tanh^2 of a capped score. */
static ir_value *score_gradients(attend *a, ir_value *p, ir_value *dp, ir_value *shift, ir_value *products) {
  kb_kernel *k = a->k;
  const bool capped = a->x.softcap > 0;
  ir_value *args[4], *frags[4] = {p, dp, shift, products};
  ir_builder r;
  ir_op *map = p && dp && shift ? kb_map_open(k, capped ? 4 : 3, frags, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
#define OP2(name, x, y) ir_build1(&r, "tessera.tile." name, NULL, 2, (ir_value *[]){x, y})
#define NUMBER(v)       kb_number(k, &r, a->x.accum, v)
  ir_value *y = OP2("mul", OP2("sub", args[1], args[2]), args[0]);
  if (a->x.scale != 1) y = OP2("mul", y, NUMBER(a->x.scale));
  if (capped) {
    ir_value *t = OP2("mul", args[3], NUMBER(a->x.scale / a->x.softcap));
    t = ir_build1(&r, "tessera.tile.tanh", NULL, 1, &t);
    y = OP2("mul", y, OP2("sub", NUMBER(1), OP2("mul", t, t)));
  }
#undef OP2
#undef NUMBER
  return kb_map_close(k, map, &r, y);
}

static tsr_status add_to_dq(back *x, const attend_side *ds) {
  attend *a = &x->a;
  ir_value *w, *old;
  if (!x->dq.arg) return NULL;
  TSR_TRY(dq_window(x, a->part, &w));
  if (!(old = load(a, w)) || !ir_set_attr(old->def, "owned", ir_attr_bool(a->k->m, true))) return st_oom();
  return store(a, attend_gemm(a, old, ds, &x->keys, false), w) ? NULL : st_oom();
}

static ir_value *zeros(attend *a, int64_t m, int64_t n) {
  return kb_fill(&a->k->b, kb_frag(a->k, a->x.accum, m, n), 0);
}

static tsr_status column(back *x, int memory, ir_value **out) {
  ir_value *w;
  TSR_TRY(window(&x->a, &x->a.mem[memory], query_space(x, 1), FORM_ROW0, &w));
  return (*out = load(&x->a, w)) ? NULL : st_oom();
}

static tsr_status queries(attend *a, ir_value *at, const void *user, ir_value *const *from, ir_value **to) {
  back *x = (back *)a;
  attend_side q, dy;
  ir_value *lse, *shift;
  TSR_TRY(stand_at(x, at));
  const kb_space sq = query_space(x, a->x.k), sy = query_space(x, a->x.v);
  TSR_TRY(tile(x, ATTEND_Q, &sq, &q));
  TSR_TRY(tile(x, ATTEND_DY, &sy, &dy));
  TSR_TRY(column(x, ATTEND_LSE, &lse));
  TSR_TRY(column(x, ATTEND_SHIFT, &shift));
  ir_value *products = attend_gemm(a, zeros(a, a->bm, a->bn), &q, &x->keys, true), *s = products;
  if (!s) return st_oom();
  TSR_TRY(attend_adjust(a, x->first_key, *(const bool *)user, &s));
  ir_value *p = attend_exp_below(a->k, s, attend_base(a, lse));
  const attend_side weights = {narrowed(x, p), true};
  to[DV] = attend_gemm(a, from[DV], &weights, &dy, false);
  ir_value *dp = attend_gemm(a, zeros(a, a->bm, a->bn), &dy, &x->values, true);
  const attend_side ds = {narrowed(x, score_gradients(a, p, dp, shift, products)), false}, turned = {ds.v, true};
  if (!to[DV] || !ds.v || !(to[DK] = attend_gemm(a, from[DK], &turned, &q, false))) return st_oom();
  return add_to_dq(x, &ds);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

static ir_value *down_to_tile(attend *a, ir_value *v) {
  kb_kernel *k = a->k;
  ir_value *n = kb_index(k, a->bm);
  v = kb_op2(k, "tessera.tile.max", v, k->zero);
  return kb_op2(k, "tessera.tile.mul", kb_op2(k, "tessera.tile.div", v, n), n);
}

/* The queries of which some see a key of the tile: from the tile that has the first of them. */
static void range(back *x, ir_value **from, ir_value **to) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  const graph_attention *g = &a->x;
  ir_value *at = kb_op2(k, "tessera.tile.sub", x->first_key, x->place); /* the query that stands at the first key */
  *from = k->zero;
  *to = kb_index(k, g->m);
  if (g->causal) *from = down_to_tile(a, at);
  else if (g->window) *from = down_to_tile(a, kb_op2(k, "tessera.tile.add", at, kb_index(k, 1 - g->window)));
  if (g->window) {
    ir_value *end = kb_op2(k, "tessera.tile.add", at, kb_index(k, a->bn - 1 + g->window));
    *to = kb_op2(k, "tessera.tile.min", *to, end);
  }
  if (!a->mem[ATTEND_LENGTHS].arg) return;
  ir_value *left = kb_op2(k, "tessera.tile.sub", a->keys, x->first_key); /* none: no query sees any */
  left = kb_op2(k, "tessera.tile.max", left, k->zero);
  *to = kb_op2(k, "tessera.tile.min", *to, kb_op2(k, "tessera.tile.mul", left, kb_index(k, g->m)));
}

/* The first tile of queries from which on all see the whole tile of keys, in from..to. */
static ir_value *first_whole(back *x, ir_value *from, ir_value *to) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  ir_value *end = kb_op2(k, "tessera.tile.add", x->first_key, kb_index(k, a->bn)), *mid = from;
  if (a->x.causal) {
    ir_value *last = kb_op2(k, "tessera.tile.sub", end, x->place); /* its last key is that of the query before */
    mid = down_to_tile(a, kb_op2(k, "tessera.tile.add", last, kb_index(k, a->bm - 2)));
    mid = kb_op2(k, "tessera.tile.max", mid, from);
  }
  if (attend_has_tail(a)) { /* any key too many, and no tile is whole */
    ir_value *over = kb_op2(k, "tessera.tile.max", kb_op2(k, "tessera.tile.sub", end, a->keys), k->zero);
    mid = kb_op2(k, "tessera.tile.max", mid, kb_op2(k, "tessera.tile.mul", over, kb_index(k, a->x.m)));
  }
  return kb_op2(k, "tessera.tile.min", mid, to);
}

/* The tiles of queries that a place may hide keys from, then those that see all. */
static tsr_status of_head(attend *a, ir_value *group, const void *user, ir_value *const *from, ir_value **to) {
  static const bool some = false, all = true;
  back *x = (back *)a;
  attend_loop l = {.step = a->bm, .n_carried = N_SUMS, .body = queries, .user = &some};
  x->group = group;
  range(x, &l.from, &l.to);
  memmove(to, from, sizeof *to * N_SUMS);
  if (!a->x.window && (a->x.causal || attend_has_tail(a))) {
    attend_loop masked = l;
    if (!(masked.to = first_whole(x, l.from, l.to))) return st_oom();
    TSR_TRY(attend_for(a, &masked, to));
    l.from = masked.to;
  }
  if (!a->x.window) l.user = &all;
  return attend_for(a, &l, to);
}

static tsr_status keys(attend *a, ir_value *at, const void *user, ir_value *const *from, ir_value **to) {
  back *x = (back *)a;
  kb_kernel *k = a->k;
  const int64_t group = a->x.heads / a->x.kv_heads, widths[] = {a->x.k, a->x.v};
  attend_side *const sides[] = {&x->keys, &x->values};
  ir_value *sums[N_SUMS];
  x->first_key = at;
  for (int i = 0; i < N_SUMS; i++) {
    const kb_space s = key_space(x, widths[i]);
    TSR_TRY(tile(x, ATTEND_K + i, &s, sides[i]));
    if (!(sums[i] = zeros(a, a->bn, widths[i]))) return st_oom();
  }
  const attend_loop heads = {k->zero, kb_index(k, group), 1, .n_carried = N_SUMS, .body = of_head};
  if (group > 1) TSR_TRY(attend_for(a, &heads, sums));
  else TSR_TRY(of_head(a, k->zero, NULL, sums, sums));
  for (int i = 0; i < N_SUMS; i++) {
    ir_value *w;
    if (!a->mem[ATTEND_DK + i].arg) continue;
    TSR_TRY(window(a, &a->mem[ATTEND_DK + i], key_space(x, widths[i]), FORM_FULL, &w));
    if (!store(a, sums[i], w)) return st_oom();
  }
  return NULL;
}

static tsr_status clear_tile(attend *a, ir_value *at, const void *user, ir_value *const *from, ir_value **to) {
  back *x = (back *)a;
  ir_value *w;
  TSR_TRY(stand_at(x, at));
  TSR_TRY(dq_window(x, a->part, &w));
  return store(a, zeros(a, a->bm, a->x.k), w) ? NULL : st_oom();
}

static tsr_status clear_head(attend *a, ir_value *group, const void *user, ir_value *const *from, ir_value **to) {
  kb_kernel *k = a->k;
  const attend_loop l = {k->zero, kb_index(k, a->x.m), a->bm, .body = clear_tile};
  ((back *)a)->group = group;
  return attend_for(a, &l, NULL);
}

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

/* Has the CPU no products of t, whose steps take several elements along k, but converts what it packs? */
static bool widens(const tsr_caps *c, tsr_dtype t, tsr_dtype sums) {
  const int i = t != sums ? caps_find_matrix(c, t, t, sums) : -1;
  return t != sums && (i < 0 || c->matrix[i].k == 1);
}

static tsr_status begin(kb_kernel *k, back *x) {
  attend *a = &x->a;
  const ir_op *op = op_of(k->src);
  if (!op || op->next != k->src->regions[0]->last)
    return ir_error(k->src, NULL, "holds the gradients of one attention and nothing that reads them");
  *x = (back){.a = {.k = k, .x = graph_attention_get(op), .t = op->operands[ATTEND_Q]->type->dtype, .direct = true}};
  TSR_TRY(attend_find_memory(a, op));
  a->cpu = k->opts->caps->dialect == DIALECT_CPU;
  if (!a->cpu) return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "other ops say the same", "only the CPU has a kernel");
  x->widens = widens(k->opts->caps, a->t, a->x.accum);
  a->hides_rows = a->may_miss = graph_attention_may_hide_rows(&a->x);
  a->bm = k->params.m > 0 ? min64(k->params.m, a->x.m) : tile_of(a->x.m, TILE);
  a->bn = keys_of_tile(&a->x, &k->params);
  a->rows_end = x->widens && a->x.m % a->bm; /* else products end with the operands in memory */
  a->per_part = keys_of_part(&a->x, &k->params);
  a->parts = ceil_div(a->x.n, a->per_part);
  x->dq = k->workspace ? parts_of_dq(a) : a->mem[ATTEND_DQ];
  return kb_note_tile(k, a->bm, a->bn, a->x.k) ? NULL : st_oom();
}

/* A block for each head of keys and part. */
static tsr_status open_grid(back *x) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  kb_space s = attend_space(a, a->x.kv_heads, 1, 1, 1, 1);
  s.dims[ATTEND_BATCH] *= a->parts;
  TSR_TRY(kb_space_grid(k, &s));
  a->rows = attend_space(a, a->x.heads, a->x.m, a->x.v, a->bm, a->x.v);
  a->kv_head = s.at[ATTEND_HEAD];
  a->rows.at[ATTEND_BATCH] = s.at[ATTEND_BATCH];
  a->part = k->zero;
  if (a->parts > 1) {
    ir_value *batch = kb_index(k, a->x.batch);
    a->part = kb_op2(k, "tessera.tile.div", s.at[ATTEND_BATCH], batch);
    a->rows.at[ATTEND_BATCH] = kb_op2(k, "tessera.tile.rem", s.at[ATTEND_BATCH], batch);
  }
  if (!a->kv_head || !a->part || !a->rows.at[ATTEND_BATCH] || !(a->keys = attend_key_count(a))) return st_oom();
  x->place = kb_op2(k, "tessera.tile.sub", a->keys, kb_index(k, a->x.m));
  return x->place ? NULL : st_oom();
}

static tsr_status gradients(back *x) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  const int64_t group = a->x.heads / a->x.kv_heads;
  ir_value *size = kb_index(k, a->per_part), *from = kb_op2(k, "tessera.tile.mul", a->part, size),
           *to = kb_op2(k, "tessera.tile.min", kb_op2(k, "tessera.tile.add", from, size), kb_index(k, a->x.n));
  const attend_loop all = {from, to, a->bn, .body = keys}, heads = {k->zero, kb_index(k, group), 1, .body = clear_head};
  if (x->dq.arg && group > 1) TSR_TRY(attend_for(a, &heads, NULL));
  else if (x->dq.arg) TSR_TRY(clear_head(a, k->zero, NULL, NULL, NULL));
  return attend_for(a, &all, NULL);
}

/* dq, of the parts in order. */
static tsr_status sum_parts(back *x) {
  attend *a = &x->a;
  kb_kernel *k = a->k;
  ir_value *sum = NULL, *w;
  a->rows = attend_space(a, a->x.heads, a->x.m, a->x.k, a->bm, a->x.k);
  TSR_TRY(kb_space_grid(k, &a->rows));
  for (int64_t i = 0; i < a->parts; i++) {
    TSR_TRY(dq_window(x, kb_index(k, i), &w));
    ir_value *part = load(a, w);
    sum = sum ? kb_map2(k, SC_ADD, sum, part) : part;
    if (!sum) return st_oom();
  }
  TSR_TRY(window(a, &a->mem[ATTEND_DQ], a->rows, FORM_FULL, &w));
  return store(a, sum, w) ? NULL : st_oom();
}

tsr_status family_attention_backward(kb_kernel *k) {
  back x;
  TSR_TRY(begin(k, &x));
  if (k->split == SPLIT_SUM) return sum_parts(&x);
  TSR_TRY(open_grid(&x));
  return gradients(&x);
}
