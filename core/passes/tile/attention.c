/* core/passes/tile/attention.c - the family of attention: a block has some queries of one head and takes the keys that
 * they see a tile at a time (FlashAttention-2, arXiv 2307.08691). What is kept of the keys so far, for each query:
 *   t = max s + c,  l = sum exp(s - t),  acc = sum exp(s - t) v
 * and a new tile scales l and acc by exp(t - t'). With c = log 2n no sum leaves the range of the values, whose mean the
 * result is; f16, whose weights would leave its range, has c = 0 and sums in f32. Scores never leave the block. GPUs
 * stage queries once, keys and values in a pipelined loop, through shared memory; the CPU reads them where they are,
 * and has the tiles that all queries of the block see whole in a loop without masks. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/map.h"

/* Of the op's operands, then the result. */
enum { Q, K, V, BIAS, OUT, N_MEMORIES };
enum { BATCH, HEAD, PLACE, WIDTH, RANK };

/* A tile of an operand as a product reads it. */
typedef struct side {
  ir_value *v;
  bool flipped; /* its columns are neighbours in memory, and so the tile's rows */
} side;

typedef struct attend {
  kb_kernel *k;
  graph_attention x;
  tsr_dtype t; /* of q, k and v */
  kb_mem mem[N_MEMORIES];
  bool cpu, direct, scales_queries; /* direct: products read q, k and v where they are */
  int64_t bm, bn;
  kb_space rows; /* of the result: where the block's queries stand */
  ir_value *kv_head, *first; /* the place of the block's first query among the keys; may be negative */
  double room; /* c */
  side q;
} attend;

/* What is carried from tile to tile. */
enum { TOP, SUM, ACC, N_CARRIED };

/* ---- tiles of memory --------------------------------------------------------------------------------------------- */

static kb_space space_of(const attend *a, int64_t heads, int64_t places, int64_t width, int64_t tm, int64_t tn) {
  kb_space s = {.rank = RANK, .dims = {a->x.batch, heads, places, width}, .tm = tm, .tn = tn, .orig_rank = RANK,
                .plain = true};
  for (int i = 0; i < RANK; i++) s.from[i] = i;
  return s;
}

static tsr_status window(attend *a, int operand, const kb_space *s, side *out) {
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&a->mem[operand], s, FORM_FULL, strides);
  return kb_window(a->k, &a->mem[operand], s, strides, operand == BIAS ? NULL : &out->flipped, &out->v);
}

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
static tsr_status stage(attend *a, side *x, ir_value *shared, bool async) {
  ir_op *c = ir_build0(&a->k->b, "tessera.tile.copy", 2, (ir_value *[]){x->v, shared});
  if (!c || (async && !ir_set_attr(c, "async", ir_attr_bool(a->k->m, true)))) return st_oom();
  x->v = shared;
  return NULL;
}

static tsr_status load_queries(attend *a) {
  kb_kernel *k = a->k;
  kb_space s = space_of(a, a->x.heads, a->x.m, a->x.k, a->bm, a->x.k);
  memcpy(s.at, a->rows.at, sizeof s.at);
  s.at[WIDTH] = k->zero;
  TSR_TRY(window(a, Q, &s, &a->q));
  ir_value *scaled = NULL;
  if (a->scales_queries) {
    const ir_type *t = a->q.v->type;
    scaled = ir_build1(&k->b, "tessera.tile.load", kb_frag(k, a->x.accum, t->dims[0], t->dims[1]), 1, &a->q.v);
    if (!(scaled = kb_map2_imm(k, SC_MUL, scaled, a->x.scale))) return st_oom();
    if (a->x.accum != a->t) {
      ir_value *arg;
      ir_builder r;
      ir_op *map = kb_map_open(k, 1, &scaled, &arg, &r, NULL, 0);
      if (!map || !(scaled = kb_map_close(k, map, &r, kb_cast_to(k, &r, arg, a->t)))) return st_oom();
    }
  }
  if (scaled) a->q.v = scaled;
  if (a->direct) return NULL;
  ir_value *shared = alloc_like(a, a->q.v->type);
  return shared ? stage(a, &a->q, shared, false) : st_oom();
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

static ir_value *scalar2(ir_builder *r, const char *name, ir_value *x, ir_value *y) {
  return ir_build1(r, name, NULL, 2, (ir_value *[]){x, y});
}

static ir_value *compare(kb_kernel *k, ir_builder *r, const char *predicate, ir_value *x, ir_value *y) {
  ir_value *c = ir_build1(r, "tessera.tile.compare", ir_type_scalar(k->m, TSR_BOOL), 2, (ir_value *[]){x, y});
  return c && ir_set_attr(c->def, "predicate", ir_attr_str(k->m, predicate)) ? c : NULL;
}

static ir_value *number_at(kb_kernel *k, ir_builder *r, int64_t v) {
  ir_value *x = ir_build1(r, "tessera.tile.const", ir_type_index(k->m), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_int(k->m, v)) ? x : NULL;
}

/* The element's row or column, `from` further. */
static ir_value *place(kb_kernel *k, ir_builder *r, int dim, ir_value *from) {
  ir_value *i = ir_build1(r, "tessera.tile.index", ir_type_index(k->m), 0, NULL);
  return i && ir_set_attr(i->def, "dim", ir_attr_int(k->m, dim)) ? scalar2(r, "tessera.tile.add", from, i) : NULL;
}

static ir_value *also(ir_builder *r, ir_value *seen, ir_value *c) {
  return seen ? scalar2(r, "tessera.tile.and", seen, c) : c;
}

/* Is the key of this element one that its query sees by its place, and is it one at all? NULL: both are certain. */
static ir_value *by_place(attend *a, ir_builder *r, ir_value *keys) {
  kb_kernel *k = a->k;
  ir_value *seen = NULL, *key = place(k, r, 1, keys);
  if (a->x.n % a->bn) seen = compare(k, r, "lt", key, number_at(k, r, a->x.n));
  if (!graph_attention_is_banded(&a->x)) return seen;
  ir_value *query = place(k, r, 0, a->first), *window = number_at(k, r, a->x.window);
  if (a->x.causal) seen = also(r, seen, compare(k, r, "le", key, query));
  if (a->x.window) seen = also(r, seen, compare(k, r, "gt", scalar2(r, "tessera.tile.add", key, window), query));
  if (a->x.window && !a->x.causal)
    seen = also(r, seen, compare(k, r, "lt", key, scalar2(r, "tessera.tile.add", query, window)));
  return seen;
}

static tsr_status load_bias(attend *a, ir_value *keys, ir_value **out) {
  kb_space s = space_of(a, a->x.heads, a->x.m, a->x.n, a->bm, a->bn);
  side w;
  memcpy(s.at, a->rows.at, sizeof s.at);
  s.at[WIDTH] = keys;
  TSR_TRY(window(a, BIAS, &s, &w));
  const tsr_dtype t = a->x.has_mask ? TSR_BOOL : a->x.accum;
  *out = ir_build1(&a->k->b, "tessera.tile.load", kb_frag(a->k, t, w.v->type->dims[0], w.v->type->dims[1]), 1, &w.v);
  return *out ? NULL : st_oom();
}

/* What becomes of the products s of the queries with the keys from `keys` on. all_seen: no place hides one. */
static tsr_status adjust(attend *a, ir_value *keys, bool all_seen, ir_value **s) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  ir_value *frags[2] = {*s, NULL}, *args[2], *seen = NULL;
  const bool bias = x->has_bias || x->has_mask, tail = x->n % a->bn != 0;
  const bool hides = !all_seen && (tail || graph_attention_is_banded(x)), scales = x->scale != 1 && !a->scales_queries;
  if (!scales && !x->softcap && !bias && !hides) return NULL;
  if (bias) TSR_TRY(load_bias(a, keys, &frags[1]));
  ir_builder r;
  ir_op *map = kb_map_open(k, bias ? 2 : 1, frags, args, &r, NULL, 0);
  if (!map) return st_oom();
  ir_value *y = args[0];
  if (scales) y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, x->scale));
  if (x->softcap > 0) {
    y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, 1 / x->softcap));
    y = ir_build1(&r, "tessera.tile.tanh", NULL, 1, &y);
    y = scalar2(&r, "tessera.tile.mul", y, kb_number(k, &r, x->accum, x->softcap));
  }
  if (x->has_bias) y = scalar2(&r, "tessera.tile.add", y, args[1]);
  if (hides) seen = by_place(a, &r, keys);
  if (x->has_mask) seen = also(&r, seen, args[1]);
  if (seen)
    y = ir_build1(&r, "tessera.tile.select", NULL, 3,
                  (ir_value *[]){seen, y, kb_number(k, &r, x->accum, -INFINITY)});
  return (*s = kb_map_close(k, map, &r, y)) ? NULL : st_oom();
}

/* ---- the online softmax ------------------------------------------------------------------------------------------ */

/* exp(x - top) */
static ir_value *exp_below(kb_kernel *k, ir_value *x, ir_value *top) {
  ir_value *args[2], *frags[2] = {x, top};
  ir_builder r;
  ir_op *map = x && top ? kb_map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *d = scalar2(&r, "tessera.tile.sub", args[0], args[1]);
  return kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.exp", NULL, 1, &d));
}

/* max(top, more + c) */
static ir_value *raised(attend *a, ir_value *top, ir_value *more) {
  kb_kernel *k = a->k;
  ir_value *args[2], *frags[2] = {top, more};
  ir_builder r;
  ir_op *map = more ? kb_map_open(k, 2, frags, args, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  if (a->room > 0) args[1] = scalar2(&r, "tessera.tile.add", args[1], kb_number(k, &r, a->x.accum, a->room));
  return kb_map_close(k, map, &r, scalar2(&r, "tessera.tile.max", args[0], args[1]));
}

/* What is subtracted from scores: of queries that saw no key yet 0, so that exp(-inf - it) is 0. Key 0 is in the first
 * tile of those that see any, but for a window. */
static ir_value *base_of(attend *a, ir_value *top) {
  kb_kernel *k = a->k;
  if (!graph_attention_may_hide_rows(&a->x) && !a->x.window) return top;
  ir_value *arg;
  ir_builder r;
  ir_op *map = top ? kb_map_open(k, 1, &top, &arg, &r, NULL, 0) : NULL;
  if (!map) return NULL;
  ir_value *none = compare(k, &r, "eq", arg, kb_number(k, &r, a->x.accum, -INFINITY));
  return kb_map_close(k, map, &r,
                      ir_build1(&r, "tessera.tile.select", NULL, 3,
                                (ir_value *[]){none, kb_number(k, &r, a->x.accum, 0), arg}));
}

static ir_value *fused_sum(kb_kernel *k, ir_value *old, ir_value *shrink, ir_value *more) {
  ir_value *args[3], *frags[3] = {old, shrink, more};
  ir_builder r;
  ir_op *map = old && shrink && more ? kb_map_open(k, 3, frags, args, &r, NULL, 0) : NULL;
  return map ? kb_map_close(k, map, &r, ir_build1(&r, "tessera.tile.fma", NULL, 3, args)) : NULL;
}

static ir_value *narrowed(attend *a, ir_value *p) {
  ir_value *arg;
  ir_builder r;
  if (!p || a->t == a->x.accum) return p;
  ir_op *map = kb_map_open(a->k, 1, &p, &arg, &r, NULL, 0);
  return map ? kb_map_close(a->k, map, &r, kb_cast_to(a->k, &r, arg, a->t)) : NULL;
}

static ir_value *gemm(attend *a, ir_value *acc, const side *x, const side *y, bool by_rows) {
  kb_kernel *k = a->k;
  if (!acc || !x->v || !y->v) return NULL;
  ir_op *g = ir_op_new(&k->b, ir_find_op("tessera.tile.gemm"), 3, (ir_value *[]){acc, x->v, y->v}, 1, &acc->type, 0);
  return g && ir_set_attr(g, "transpose_a", ir_attr_bool(k->m, x->flipped)) &&
                 ir_set_attr(g, "transpose_b", ir_attr_bool(k->m, y->flipped != by_rows)) &&
                 ir_set_attr(g, "policy", ir_attr_str(k->m, k->opts->policy))
             ? g->results[0]
             : NULL;
}

/* One tile of keys and values: from[] -> to[]. */
static tsr_status step(attend *a, const side *keys, const side *values, ir_value *at, bool all_seen,
                       ir_value *const *from, ir_value **to) {
  kb_kernel *k = a->k;
  ir_value *s = gemm(a, kb_fill(&k->b, kb_frag(k, a->x.accum, a->bm, a->bn), 0), &a->q, keys, true);
  if (!s) return st_oom();
  TSR_TRY(adjust(a, at, all_seen, &s));
  to[TOP] = raised(a, from[TOP], kb_reduce(k, "max", s));
  ir_value *base = base_of(a, to[TOP]), *shrink = exp_below(k, from[TOP], base), *p = exp_below(k, s, base);
  to[SUM] = fused_sum(k, from[SUM], shrink, kb_reduce(k, "sum", p));
  to[ACC] = gemm(a, kb_map2(k, SC_MUL, from[ACC], shrink), &(side){narrowed(a, p), false}, values, false);
  return to[TOP] && to[SUM] && to[ACC] ? NULL : st_oom();
}

/* ---- the loop over keys ------------------------------------------------------------------------------------------ */

static tsr_status windows_at(attend *a, ir_value *at, side *keys, side *values) {
  side *const out[] = {keys, values};
  for (int i = 0; i < 2; i++) {
    const int64_t width = i ? a->x.v : a->x.k;
    kb_space s = space_of(a, a->x.kv_heads, a->x.n, width, a->bn, width);
    s.at[BATCH] = a->rows.at[BATCH];
    s.at[HEAD] = a->kv_head;
    s.at[PLACE] = at;
    s.at[WIDTH] = a->k->zero;
    TSR_TRY(window(a, K + i, &s, out[i]));
  }
  return NULL;
}

/* Shared tiles of the loop's windows, found by a trial: how they lie is known once the windows are. */
static tsr_status shared_tiles(attend *a, ir_value *tiles[2]) {
  side trial[2];
  TSR_TRY(windows_at(a, a->k->zero, &trial[0], &trial[1]));
  for (int i = 0; i < 2; i++)
    if (!(tiles[i] = alloc_like(a, trial[i].v->type))) return st_oom();
  return NULL;
}

static tsr_status body(attend *a, ir_value *at, bool all_seen, ir_value *const *tiles, ir_value *const *from,
                       ir_value **to) {
  kb_kernel *k = a->k;
  side s[2];
  TSR_TRY(windows_at(a, at, &s[0], &s[1]));
  if (!a->direct) {
    for (int i = 0; i < 2; i++) TSR_TRY(stage(a, &s[i], tiles[i], true));
    if (!ir_build0(&k->b, "tessera.tile.wait", 0, NULL)) return st_oom();
  }
  return step(a, &s[0], &s[1], at, all_seen, from, to);
}

static tsr_status loop(attend *a, ir_value *from, ir_value *to, bool all_seen, ir_value *const *tiles,
                       ir_value **carried) {
  kb_kernel *k = a->k;
  ir_value *operands[3 + N_CARRIED] = {from, to, kb_index(k, a->bn)}, *args[N_CARRIED], *next[N_CARRIED];
  const ir_type *types[N_CARRIED];
  for (int i = 0; i < N_CARRIED; i++) operands[3 + i] = carried[i], types[i] = carried[i]->type;
  ir_op *f = operands[0] && operands[1] && operands[2]
                 ? ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3 + N_CARRIED, operands, N_CARRIED, types, 1)
                 : NULL;
  ir_value *at = f ? ir_block_arg(k->m, f->regions[0], ir_type_index(k->m), NULL) : NULL;
  if (!at) return st_oom();
  for (int i = 0; i < N_CARRIED; i++)
    if (!(args[i] = ir_block_arg(k->m, f->regions[0], types[i], NULL))) return st_oom();
  if (!a->direct && (!ir_set_attr(f, "pipelined", ir_attr_bool(k->m, true)) ||
                     !ir_set_attr(f, "stages", ir_attr_int(k->m, k->params.pipeline_stages))))
    return st_oom();
  const ir_builder outside = k->b;
  k->b = ir_at_end(k->m, f->regions[0]);
  tsr_status st = body(a, at, all_seen, tiles, args, next);
  const bool ok = !st && ir_build0(&k->b, "tessera.tile.yield", N_CARRIED, next) && !k->b.failed;
  k->b = outside;
  if (st || !ok) return st ? st : st_oom();
  memcpy(carried, f->results, sizeof *carried * N_CARRIED);
  return NULL;
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

/* The keys that some query of the block sees by its place: from the tile that has the first of them. */
static void range(attend *a, ir_value **from, ir_value **to) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  *from = k->zero;
  *to = kb_index(k, x->n);
  if (x->window) *from = down_to_tile(a, after_first(a, 1 - x->window));
  if (x->causal || x->window)
    *to = kb_op2(k, "tessera.tile.min", *to, after_first(a, x->causal ? a->bm : a->bm - 1 + x->window));
}

static tsr_status all_keys(attend *a, ir_value **carried) {
  kb_kernel *k = a->k;
  const graph_attention *x = &a->x;
  const bool tail = x->n % a->bn != 0, band = graph_attention_is_banded(x);
  ir_value *from, *to, *tiles[2] = {NULL, NULL};
  range(a, &from, &to);
  if (!a->direct) TSR_TRY(shared_tiles(a, tiles));
  if (!a->cpu || x->window || (!tail && !band)) return loop(a, from, to, !tail && !band, tiles, carried);
  ir_value *whole = kb_index(k, x->n / a->bn * a->bn);
  if (band) whole = kb_op2(k, "tessera.tile.min", whole, down_to_tile(a, after_first(a, 1)));
  if (band || x->n >= a->bn) TSR_TRY(loop(a, from, whole, true, tiles, carried));
  return loop(a, whole, to, false, tiles, carried);
}

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* acc / l; of queries that saw no key 0. */
static ir_value *finish(attend *a, ir_value *const *carried) {
  kb_kernel *k = a->k;
  ir_value *args[2], *frags[2] = {carried[ACC], carried[SUM]};
  ir_builder r;
  ir_op *map = kb_map_open(k, 2, frags, args, &r, NULL, 0);
  if (!map) return NULL;
  ir_value *y = scalar2(&r, "tessera.tile.div", args[0], args[1]);
  if (graph_attention_may_hide_rows(&a->x)) {
    ir_value *zero = kb_number(k, &r, a->x.accum, 0), *none = compare(k, &r, "eq", args[1], zero);
    y = ir_build1(&r, "tessera.tile.select", NULL, 3, (ir_value *[]){none, zero, y});
  }
  return kb_map_close(k, map, &r, y);
}

/* The CPU's tiles: what a block works on stays in the second-level cache, every thread gets some blocks, and the last
 * tile of keys is as long as the others, a multiple of what vectors and matrix instructions take. */
static void choose_tile(attend *a) {
  enum { ROWS = 128, STEP = 16 };
  const sched_params *p = &a->k->params;
  const int64_t m = a->x.m, n = a->x.n,
                blocks = 2 * (a->cpu && a->k->opts->caps->n_cores > 0 ? a->k->opts->caps->n_cores : 1);
  a->bm = p->m > 0 ? p->m : ROWS;
  while (p->m <= 0 && a->bm > STEP && a->x.batch * a->x.heads * ceil_div(m, a->bm) < blocks) a->bm /= 2;
  a->bn = p->n > 0 ? p->n : round_up(ceil_div(n, ceil_div(n, tsr_dtype_size(a->t) < 4 ? 256 : 128)), STEP);
  a->bm = min64(a->bm, a->cpu ? m : round_up(m, STEP));
  a->bn = min64(a->bn, a->cpu ? n : round_up(n, STEP));
}

static kb_mem result_of(const kb_kernel *k) {
  ir_value *arg = k->op->regions[0]->args[k->src->n_operands];
  kb_mem m = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(m.dims, arg->type->dims, sizeof m.dims);
  ir_type_strides(arg->type, m.strides);
  return m;
}

static tsr_status begin(kb_kernel *k, attend *a) {
  const ir_op *op = graph_first_of(k->src->regions[0], GRAPH_ATTENTION);
  if (!op || op->next != k->src->regions[0]->last || k->src->n_results != 1)
    return ir_error(k->src, NULL, "holds one attention and nothing that reads it");
  *a = (attend){.k = k, .x = graph_attention_get(op), .t = op->operands[Q]->type->dtype};
  int exponent;
  a->room = a->t == TSR_F16 || a->x.n < 2 ? 0 : log(2.0 * (double)a->x.n);
  a->cpu = k->opts->caps->dialect == DIALECT_CPU;
  a->direct = a->cpu || k->params.use_shared < 0;
  a->scales_queries =
      a->cpu && a->x.scale != 1 && (a->t == TSR_F32 || (a->t != TSR_F64 && frexp(a->x.scale, &exponent) == 0.5));
  for (int i = 0; i < op->n_operands; i++) {
    const kb_node *n = kb_node_of(k, op->operands[i]);
    if (!n) return st_oom();
    if (!n->is_mem || !n->m.arg) return ir_error(op, NULL, "operand %d must lie in memory", i);
    a->mem[i] = n->m;
  }
  a->mem[OUT] = result_of(k);
  choose_tile(a);
  a->rows = space_of(a, a->x.heads, a->x.m, a->x.v, a->bm, a->x.v);
  return kb_note_tile(k, a->bm, a->bn, a->x.k) ? NULL : st_oom();
}

tsr_status family_attention(kb_kernel *k) {
  attend a;
  TSR_TRY(begin(k, &a));
  TSR_TRY(kb_space_grid(k, &a.rows));
  const graph_attention *x = &a.x;
  a.kv_head = a.rows.at[HEAD];
  if (x->kv_heads < x->heads)
    a.kv_head = kb_op2(k, "tessera.tile.div", a.kv_head, kb_index(k, x->heads / x->kv_heads));
  a.first = kb_op2(k, "tessera.tile.add", a.rows.at[PLACE], kb_index(k, x->n - x->m));
  if (!a.kv_head || !a.first) return st_oom();
  TSR_TRY(load_queries(&a));
  const ir_type *column = kb_frag(k, x->accum, a.bm, 1);
  ir_value *carried[N_CARRIED] = {kb_fill(&k->b, column, -INFINITY), kb_fill(&k->b, column, 0),
                                  kb_fill(&k->b, kb_frag(k, x->accum, a.bm, x->v), 0)};
  for (int i = 0; i < N_CARRIED; i++)
    if (!carried[i]) return st_oom();
  TSR_TRY(all_keys(&a, carried));
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&a.mem[OUT], &a.rows, FORM_FULL, strides);
  ir_value *y = finish(&a, carried);
  return y ? kb_store(k, y, &a.mem[OUT], &a.rows, strides) : st_oom();
}
