/* core/passes/tile/attention.c - the family of attention: a block has some queries of one head and takes the keys that
 * they see a tile at a time (FlashAttention-2, arXiv 2307.08691). What is kept of the keys so far, for each query:
 *   t = max s + c,  l = sum exp(s - t),  acc = sum exp(s - t) v
 * and a new tile scales l and acc by exp(t - t'). With c = log 2n no sum leaves the range of the values, whose mean the
 * result is; f16, whose weights would leave its range, has c = 0 and sums in f32. Scores never leave the block. GPUs
 * stage queries once, keys and values in a pipelined loop, through shared memory; the CPU reads them where they are,
 * and has the tiles that all queries of the block see whole in a loop without masks. See tile/attention_scores.h. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/schedule/family_attention.h"
#include "core/passes/tile/attention_parts.h"
#include "core/passes/tile/map.h"

/* ---- tiles of memory --------------------------------------------------------------------------------------------- */

static ir_value *alloc_like(attend *a, const ir_type *window) {
  ir_type t = {.kind = IR_T_SHARED,
               .dtype = a->t,
               .rank = 2,
               .dims = {window->dims[0], window->dims[1]},
               .pad = a->k->params.padding > 0   ? a->k->params.padding
                      : a->k->params.padding < 0 ? 0
                                                 : 16 / (int64_t)tsr_dtype_size(a->t)};
  return ir_build1(&a->k->b, "tessera.tile.alloc", ir_type_get(a->k->m, &t), 0, NULL);
}

/* Through the shared tile, which is made before the loop. */
static tsr_status stage(attend *a, attend_side *x, ir_value *shared, bool async) {
  ir_op *c = ir_build0(&a->k->b, "tessera.tile.copy", 2, (ir_value *[]){x->v, shared});
  if (!c || (async && !ir_set_attr(c, "async", ir_attr_bool(a->k->m, true)))) return st_oom();
  x->v = shared;
  return NULL;
}

/* scale q, rounded as q is; where that leaves nothing q itself, so that its products with infinity stay what they are.
 */
static ir_value *scaled_queries(attend *a, ir_value *window) {
  kb_kernel *k = a->k;
  ir_value *arg, *q = ir_build1(&k->b, "tessera.tile.load",
                                kb_frag(k, a->x.accum, window->type->dims[0], window->type->dims[1]), 1, &window);
  ir_builder r;
  ir_op *map = q ? kb_map_open(k, 1, &q, &arg, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *y =
      ir_build1(&r, "tessera.tile.mul", NULL, 2, (ir_value *[]){arg, kb_number(k, &r, a->x.accum, a->x.scale)});
  ir_value *narrow = kb_cast_to(k, &r, y, a->t), *zero = kb_number(k, &r, a->t, 0);
  ir_value *none =
      ir_build1(&r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){narrow, zero});
  if (!none || !ir_set_attr(none->def, "predicate", ir_attr_str(k->m, "eq"))) return NULL;
  ir_value *kept = kb_cast_to(k, &r, arg, a->t);
  return kb_map_close(k, map, &r,
                      ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){none, kept, narrow}));
}

static tsr_status load_queries(attend *a) {
  kb_kernel *k = a->k;
  kb_space s = attend_space(a, a->x.heads, a->x.m, a->x.k, a->bm, a->x.k);
  memcpy(s.at, a->rows.at, sizeof s.at);
  s.at[ATTEND_WIDTH] = k->zero;
  TSR_TRY(attend_window(a, ATTEND_Q, &s, &a->q));
  if (a->scales_queries && !(a->q.v = scaled_queries(a, a->q.v))) return st_oom();
  if (a->direct) return NULL;
  ir_value *shared = alloc_like(a, a->q.v->type);
  return shared ? stage(a, &a->q, shared, false) : st_oom();
}

/* ---- the online softmax ------------------------------------------------------------------------------------------ */

/* One tile of keys and values: from[] -> to[]. */
static tsr_status step(attend *a, const attend_side *keys, const attend_side *values, ir_value *at, bool all_seen,
                       ir_value *const *from, ir_value **to) {
  kb_kernel *k = a->k;
  ir_value *s = attend_gemm(a, kb_fill(&k->b, kb_frag(k, a->x.accum, a->bm, a->bn), 0), &a->q, keys, true);
  if (!s) return st_oom();
  TSR_TRY(attend_adjust(a, at, all_seen, &s));
  to[ATTEND_TOP] = attend_raised(a, from[ATTEND_TOP], kb_row_of(k, "reduce_max", s, NULL));
  ir_value *base = attend_base(a, to[ATTEND_TOP]), *shrink = attend_exp_below(k, from[ATTEND_TOP], base),
           *p = attend_exp_below(k, s, base), *sum = kb_row_of(k, "reduce_sum", p, &p);
  to[ATTEND_SUM] = attend_fused_sum(k, from[ATTEND_SUM], shrink, sum);
  to[ATTEND_ACC] = attend_gemm(a, kb_map2(k, SC_MUL, from[ATTEND_ACC], shrink),
                               &(attend_side){attend_narrowed(a, p), false}, values, false);
  return to[ATTEND_TOP] && to[ATTEND_SUM] && to[ATTEND_ACC] ? NULL : st_oom();
}

/* ---- the loop over keys ------------------------------------------------------------------------------------------ */

static tsr_status windows_at(attend *a, ir_value *at, attend_side *keys, attend_side *values) {
  attend_side *const out[] = {keys, values};
  for (int i = 0; i < 2; i++) {
    const int64_t width = i ? a->x.v : a->x.k;
    kb_space s = attend_space(a, a->x.kv_heads, a->x.n, width, a->bn, width);
    s.at[ATTEND_BATCH] = a->rows.at[ATTEND_BATCH];
    s.at[ATTEND_HEAD] = a->kv_head;
    s.at[ATTEND_PLACE] = at;
    s.at[ATTEND_WIDTH] = a->k->zero;
    TSR_TRY(attend_window(a, ATTEND_K + i, &s, out[i]));
  }
  return NULL;
}

/* Shared tiles of the loop's windows, found by a trial: how they lie is known once the windows are. */
static tsr_status shared_tiles(attend *a, ir_value *tiles[2]) {
  attend_side trial[2];
  TSR_TRY(windows_at(a, a->k->zero, &trial[0], &trial[1]));
  for (int i = 0; i < 2; i++)
    if (!(tiles[i] = alloc_like(a, trial[i].v->type))) return st_oom();
  return NULL;
}

/* Which keys a loop takes, and their shared tiles. */
typedef struct some_keys {
  bool all_seen;
  ir_value *const *tiles;
} some_keys;

static tsr_status body(attend *a, ir_value *at, const void *user, ir_value *const *from, ir_value **to) {
  kb_kernel *k = a->k;
  const some_keys *keys = user;
  attend_side s[2];
  TSR_TRY(windows_at(a, at, &s[0], &s[1]));
  if (!a->direct) {
    for (int i = 0; i < 2; i++) TSR_TRY(stage(a, &s[i], keys->tiles[i], true));
    if (!ir_build0(&k->b, "tessera.tile.wait", 0, NULL)) return st_oom();
  }
  return step(a, &s[0], &s[1], at, keys->all_seen, from, to);
}

static tsr_status loop(attend *a, ir_value *from, ir_value *to, bool all_seen, ir_value *const *tiles,
                       ir_value **carried) {
  const some_keys keys = {all_seen, tiles};
  const attend_loop l = {from, to, a->bn, ATTEND_N_CARRIED, !a->direct, body, &keys};
  TSR_TRY(attend_for(a, &l, carried));
  if (a->direct) return NULL;
  return ir_set_attr(carried[ATTEND_ACC]->def, "overlap", ir_attr_int(a->k->m, ATTEND_ACC)) ? NULL : st_oom();
}

static ir_value *down_to_tile(attend *a, ir_value *x) {
  kb_kernel *k = a->k;
  ir_value *n = kb_index(k, a->bn);
  x = kb_op2(k, "tessera.tile.max", x, k->zero);
  return kb_op2(k, "tessera.tile.mul", kb_op2(k, "tessera.tile.div", x, n), n);
}

static ir_value *after_first(attend *a, int64_t n) {
  return kb_op2(a->k, "tessera.tile.add", a->first, kb_index(a->k, n));
}

/* The keys that some query of the block sees by its place, of this part: from the tile that has the first of them. */
static void range(attend *a, ir_value **from, ir_value **to) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  const int64_t places = a->one_place ? 1 : a->bm;
  *from = a->parts > 1 ? kb_op2(k, "tessera.tile.mul", a->part, kb_index(k, a->per_part)) : k->zero;
  *to = a->keys;
  if (a->parts > 1)
    *to = kb_op2(k, "tessera.tile.min", *to, kb_op2(k, "tessera.tile.add", *from, kb_index(k, a->per_part)));
  if (x->window) {
    ir_value *seen = down_to_tile(a, after_first(a, 1 - x->window));
    *from = a->parts > 1 ? kb_op2(k, "tessera.tile.max", *from, seen) : seen;
  }
  if (x->causal || x->window)
    *to = kb_op2(k, "tessera.tile.min", *to, after_first(a, x->causal ? places : places - 1 + x->window));
}

static tsr_status all_keys(attend *a, ir_value **carried) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  const bool tail = attend_has_tail(a), band = graph_attention_is_banded(x);
  ir_value *from, *to, *tiles[2] = {NULL, NULL};
  range(a, &from, &to);
  if (!a->direct) TSR_TRY(shared_tiles(a, tiles));
  if (!a->cpu || x->window || (!tail && !band)) return loop(a, from, to, !tail && !band, tiles, carried);
  ir_value *whole = down_to_tile(a, a->keys);
  if (band) whole = kb_op2(k, "tessera.tile.min", whole, down_to_tile(a, after_first(a, 1)));
  if (a->parts > 1) whole = kb_op2(k, "tessera.tile.max", from, kb_op2(k, "tessera.tile.min", whole, to));
  if (band || x->n >= a->bn) TSR_TRY(loop(a, from, whole, true, tiles, carried));
  return loop(a, whole, to, false, tiles, carried);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* The CPU's tiles: what a block works on stays in the second-level cache, every thread gets some blocks, and the last
 * tile of keys is as long as the others, a multiple of what vectors and matrix instructions take. Few queries take many
 * keys at a time, but not where a number says how many count: a tile is read whole. */
static int64_t keys_of_tile(const attend *a) {
  enum { FEW = 16 };
  if (a->x.m <= FEW) return a->mem[ATTEND_LENGTHS].arg ? 128 : 512;
  return tsr_dtype_size(a->t) < 4 ? 256 : 128;
}

static void choose_tile(attend *a) {
  enum { ROWS = 128, STEP = 16 };
  const tsr_caps *c = a->k->opts->caps;
  const sched_params *p = &a->k->params;
  const int64_t m = a->x.m, n = a->x.n, each = a->parts > 1 ? a->per_part : n, keys = keys_of_tile(a),
                blocks = 2 * (a->cpu && c->n_cores > 0 ? c->n_cores : 1);
  a->bm = p->m > 0 ? p->m : ROWS;
  while (p->m <= 0 && a->bm > STEP && a->x.batch * a->x.heads * ceil_div(m, a->bm) < blocks) a->bm /= 2;
  a->bn = p->n > 0 ? p->n : round_up(ceil_div(each, ceil_div(each, keys)), STEP);
  a->bm = min64(a->bm, a->cpu ? m : round_up(m, sched_attention_step(&a->x, a->t, c)));
  a->bn = min64(a->bn, a->cpu ? n : round_up(n, STEP));
  a->per_part = a->parts > 1 ? round_up(a->per_part, a->bn) : n;
}

static tsr_status begin(kb_kernel *k, attend *a) {
  const ir_op *op = graph_first_of(k->src->regions[0], GRAPH_ATTENTION);
  if (!op || op->next != k->src->regions[0]->last)
    return ir_error(k->src, NULL, "holds one attention and nothing that reads it");
  *a = (attend){.k = k, .x = graph_attention_get(op), .t = op->operands[ATTEND_Q]->type->dtype};
  int exponent;
  TSR_TRY(attend_find_memory(a, op));
  if (k->workspace) attend_choose_parts(a);
  else a->parts = 1;
  const bool hides = graph_attention_may_hide_rows(&a->x);
  a->hides_rows = hides || k->split == SPLIT_PARTS; /* a part may show nothing; their sum is as a kernel without */
  a->may_miss = hides || a->parts > 1 || a->x.window;
  if (a->x.m == 1) a->x.causal = false; /* it stands at the last key */
  a->places = a->x.m;
  attend_group_heads(a);
  a->room = a->t == TSR_F16 || a->x.n < 2 ? 0 : log(2.0 * (double)a->x.n);
  a->cpu = k->opts->caps->dialect == DIALECT_CPU;
  a->direct = a->cpu || k->params.use_shared < 0;
  a->scales_queries = a->cpu && a->x.scale != 1 && fabs(a->x.scale) >= 1.0 / 16 &&
                      (a->t == TSR_F32 || (a->t != TSR_F64 && frexp(a->x.scale, &exponent) == 0.5));
  choose_tile(a);
  a->rows = attend_space(a, a->x.heads, a->x.m, a->x.v, a->bm, a->x.v);
  return kb_note_tile(k, a->bm, a->bn, a->x.k) ? NULL : st_oom();
}

/* The grid: of a split kernel all rows of one part, then those of the next. */
static tsr_status open_grid(attend *a) {
  kb_kernel *k = a->k;
  const bool parts = k->split == SPLIT_PARTS;
  a->rows.dims[ATTEND_BATCH] *= parts ? a->parts : 1;
  TSR_TRY(kb_space_grid(k, &a->rows));
  a->rows.dims[ATTEND_BATCH] = a->x.batch;
  if (!parts) return NULL;
  ir_value *batch = kb_index(k, a->x.batch), *at = a->rows.at[ATTEND_BATCH];
  a->part = kb_op2(k, "tessera.tile.div", at, batch);
  a->rows.at[ATTEND_BATCH] = kb_op2(k, "tessera.tile.rem", at, batch);
  return a->part && a->rows.at[ATTEND_BATCH] ? NULL : st_oom();
}

static tsr_status attend_to_keys(attend *a, ir_value **carried) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  a->kv_head = a->rows.at[ATTEND_HEAD];
  if (x->kv_heads < x->heads)
    a->kv_head = kb_op2(k, "tessera.tile.div", a->kv_head, kb_index(k, x->heads / x->kv_heads));
  if (!a->kv_head || !(a->keys = attend_key_count(a))) return st_oom();
  a->first = kb_op2(k, "tessera.tile.sub", a->keys, kb_index(k, a->places));
  if (!a->one_place) a->first = kb_op2(k, "tessera.tile.add", a->rows.at[ATTEND_PLACE], a->first);
  if (!a->first) return st_oom();
  TSR_TRY(load_queries(a));
  return all_keys(a, carried);
}

tsr_status family_attention(kb_kernel *k) {
  attend a;
  TSR_TRY(begin(k, &a));
  TSR_TRY(open_grid(&a));
  const ir_type *column = kb_frag(k, a.x.accum, a.bm, 1);
  ir_value *carried[ATTEND_N_CARRIED] = {kb_fill(&k->b, column, -INFINITY), kb_fill(&k->b, column, 0),
                                         kb_fill(&k->b, kb_frag(k, a.x.accum, a.bm, a.x.v), 0)};
  for (int i = 0; i < ATTEND_N_CARRIED; i++)
    if (!carried[i]) return st_oom();
  TSR_TRY(k->split == SPLIT_SUM ? attend_sum_parts(&a, carried) : attend_to_keys(&a, carried));
  return attend_store(&a, carried);
}
