/* core/passes/tile/attention_parts.c - attention of few queries (decoding): heads that share keys become rows of one
 * block, so that keys are read once, and the keys are split over blocks (Flash-Decoding). Each part leaves its average
 * and log-sum-exp, and a second kernel weighs the averages. How many parts there are follows from the shape and, under
 * the policy `fast`, from the device's number of cores. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/passes/tile/attention_parts.h"
#include "core/passes/tile/map.h"

/* Queries, blocks that are wanted (some more of the CPU, whose threads take them as they come), the least keys of a
 * part, and what it has a multiple of. */
enum { FEW = 16, BLOCKS = 8, CPU_BLOCKS = 12, LEAST = 512, CPU_STEP = 128 };

/* ---- choice ------------------------------------------------------------------------------------------------------ */

static bool shares_one_query(const graph_attention *x) { return x->m == 1 && x->kv_heads && x->heads > x->kv_heads; }

/* Keys of a part. */
static int64_t part_keys(const graph_attention *x, const tile_options *o) {
  const bool rows = shares_one_query(x), cpu = o->caps->dialect == DIALECT_CPU;
  const int64_t heads = rows ? x->kv_heads : x->heads, queries = rows ? x->heads / x->kv_heads : x->m,
                least = cpu ? CPU_BLOCKS : BLOCKS, step = cpu ? CPU_STEP : LEAST,
                wanted = strcmp(o->policy, "fast") ? least : max64(least, o->caps->n_cores);
  if (queries > FEW || x->batch * heads <= 0) return x->n;
  const int64_t parts = min64(ceil_div(wanted, x->batch * heads), x->n / LEAST);
  return parts > 1 ? round_up(ceil_div(x->n, parts), step) : x->n;
}

const ir_type *attend_parts_type(ir_module *m, const ir_op *kernel, const tile_options *opts) {
  const ir_op *op = graph_first_of(kernel->regions[0], GRAPH_ATTENTION);
  if (!op) return NULL;
  const graph_attention x = graph_attention_get(op);
  const int64_t parts = x.n > 0 ? ceil_div(x.n, part_keys(&x, opts)) : 0;
  const int64_t dims[] = {parts, x.batch, x.heads, x.m, x.v + 1};
  return parts > 1 ? ir_type_tensor(m, x.accum, 5, dims) : NULL;
}

void attend_choose_parts(attend *a) {
  a->per_part = part_keys(&a->x, a->k->opts);
  a->parts = a->x.n > 0 ? ceil_div(a->x.n, a->per_part) : 1;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* [batch, heads, 1, ..] as [batch, kv_heads, heads / kv_heads, ..]. */
static void regroup(kb_mem *m, const graph_attention *x, int rank) {
  const int64_t group = x->heads / x->kv_heads, last = m->rank ? m->dims[m->rank - 1] : 1;
  int64_t s[ATTEND_RANK];
  if (!m->arg) return;
  kb_mem_align(m, FORM_FULL, rank, s);
  m->rank = rank;
  memcpy(m->dims, (int64_t[]){x->batch, x->kv_heads, group, last}, sizeof *m->dims * (size_t)rank);
  memcpy(m->strides, (int64_t[]){s[0], s[1] * group, s[1], s[ATTEND_WIDTH]}, sizeof *s * (size_t)rank);
}

void attend_group_heads(attend *a) {
  graph_attention *x = &a->x;
  if (!shares_one_query(x)) return;
  regroup(&a->mem[ATTEND_Q], x, ATTEND_RANK);
  regroup(&a->mem[ATTEND_BIAS], x, ATTEND_RANK);
  regroup(&a->mem[ATTEND_OUT], x, ATTEND_RANK);
  regroup(&a->mem[ATTEND_LSE], x, ATTEND_RANK - 1);
  x->m = x->heads / x->kv_heads, x->heads = x->kv_heads;
  a->one_place = true;
}

/* The workspace's averages, or its last column. */
static kb_mem left_by_parts(const attend *a, bool average) {
  const graph_attention *x = &a->x;
  const int64_t width = x->v + 1;
  kb_mem m = {.arg = a->k->workspace,
              .dtype = x->accum,
              .rank = average ? ATTEND_RANK : ATTEND_RANK - 1,
              .dims = {a->parts * x->batch, x->heads, x->m, x->v},
              .strides = {x->heads * x->m * width, x->m * width, width, 1},
              .offset = average ? 0 : x->v};
  return m;
}

/* The space of the parts' rows: part by part all of the batch. */
static kb_space rows_of_part(attend *a, ir_value *part) {
  kb_kernel *k = a->k;
  kb_space s = a->rows;
  ir_value *first = kb_op2(k, "tessera.tile.mul", part, kb_index(k, a->x.batch));
  s.dims[ATTEND_BATCH] = a->parts * a->x.batch;
  s.at[ATTEND_BATCH] = kb_op2(k, "tessera.tile.add", first, a->rows.at[ATTEND_BATCH]);
  return s;
}

static tsr_status store(attend *a, ir_value *y, const kb_mem *m, kb_space s, kb_form form) {
  int64_t strides[TSR_MAX_RANK + 2];
  if (!y) return st_oom();
  if (form == FORM_ROW0) s.dims[ATTEND_WIDTH] = s.tn = 1, s.at[ATTEND_WIDTH] = a->k->zero;
  kb_space_strides(m, &s, form, strides);
  return kb_store(a->k, y, m, &s, strides);
}

tsr_status attend_store(attend *a, ir_value *const *carried) {
  if (a->k->split == SPLIT_PARTS) {
    const kb_mem average = left_by_parts(a, true), log_sum = left_by_parts(a, false);
    const kb_space s = rows_of_part(a, a->part);
    TSR_TRY(store(a, attend_average(a, carried), &average, s, FORM_FULL));
    return store(a, attend_log_sum(a, carried), &log_sum, s, FORM_ROW0);
  }
  if (a->mem[ATTEND_OUT].arg)
    TSR_TRY(store(a, attend_average(a, carried), &a->mem[ATTEND_OUT], a->rows, FORM_FULL));
  if (!a->mem[ATTEND_LSE].arg) return NULL;
  return store(a, attend_log_sum(a, carried), &a->mem[ATTEND_LSE], a->rows, FORM_ROW0);
}

/* ---- the sum of the parts ---------------------------------------------------------------------------------------- */

static tsr_status load(attend *a, kb_space s, bool average, ir_value **out) {
  const kb_mem m = left_by_parts(a, average);
  int64_t strides[TSR_MAX_RANK + 2];
  ir_value *w;
  if (!average) s.dims[ATTEND_WIDTH] = s.tn = 1, s.at[ATTEND_WIDTH] = a->k->zero;
  kb_space_strides(&m, &s, average ? FORM_FULL : FORM_ROW0, strides);
  TSR_TRY(kb_window(a->k, &m, &s, strides, NULL, &w));
  *out = ir_build1(&a->k->b, "tessera.tile.load", kb_frag(a->k, a->x.accum, w->type->dims[0], w->type->dims[1]), 1, &w);
  return *out ? NULL : st_oom();
}

static tsr_status add_part(attend *a, ir_value *part, const void *user, ir_value *const *from, ir_value **to) {
  kb_kernel *k = a->k;
  ir_value *average, *log_sum;
  const kb_space s = rows_of_part(a, part);
  TSR_TRY(load(a, s, true, &average));
  TSR_TRY(load(a, s, false, &log_sum));
  to[ATTEND_TOP] = attend_raised(a, from[ATTEND_TOP], log_sum);
  ir_value *base = attend_base(a, to[ATTEND_TOP]), *shrink = attend_exp_below(k, from[ATTEND_TOP], base),
           *weight = attend_exp_below(k, log_sum, base);
  to[ATTEND_SUM] = attend_fused_sum(k, from[ATTEND_SUM], shrink, weight);
  to[ATTEND_ACC] = weight ? attend_fused_sum(k, from[ATTEND_ACC], shrink, kb_map2(k, SC_MUL, average, weight)) : NULL;
  return to[ATTEND_TOP] && to[ATTEND_SUM] && to[ATTEND_ACC] ? NULL : st_oom();
}

tsr_status attend_sum_parts(attend *a, ir_value **carried) {
  a->room = log(2.0 * (double)a->parts); /* weights are of the sums' type here */
  const attend_loop l = {
      .from = a->k->zero, .to = kb_index(a->k, a->parts), .step = 1, .n_carried = ATTEND_N_CARRIED, .body = add_part};
  return attend_for(a, &l, carried);
}
