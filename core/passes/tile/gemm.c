/* core/passes/tile/gemm.c - the matmul family: its tiles, which of the lowerings it takes, and the epilogue on the
 * sum of a split contraction's parts. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/passes/tile/contraction.h"
#include "core/passes/tile/unfold.h"

/* Tiles are no larger than the problem, in steps that matrix instructions can fill; CPU kernels take any size. */
static int64_t step_of(const kb_kernel *k) { return k->opts->caps->dialect == DIALECT_CPU ? 1 : 16; }

/* Leaves of a prologue, aligned to the batch of the result. */
static tsr_status side_leaves(kb_kernel *k, ir_value *v, int rank, kb_stride_rows *rows) {
  kb_node *n = kb_node_of(k, v);
  if (!n) return st_oom();
  if (n->is_mem) kb_rows_add(rows, &n->m, FORM_FULL, rank);
  if (n->is_mem || n->is_imm || !v->def || graph_is_kind(v->def, GRAPH_WINDOWS)) return NULL;
  for (int i = 0; i < v->def->n_operands; i++) TSR_TRY(side_leaves(k, v->def->operands[i], rank, rows));
  return NULL;
}

static tsr_status all_leaves(kb_kernel *k, contraction *x, kb_stride_rows *rows) {
  int rank = x->orig->rank;
  kb_rows_clear(rows);
  TSR_TRY(side_leaves(k, x->a.value, rank, rows));
  TSR_TRY(side_leaves(k, x->b.value, rank, rows));
  for (const ir_op *o = k->src->regions[0]->first; o; o = o->next)
    for (int i = 0; i < o->n_operands && o != x->op && !graph_is_kind(o, GRAPH_WINDOWS); i++) {
      kb_node *n = kb_node_of(k, o->operands[i]);
      if (!n) return st_oom();
      if (n->is_mem) kb_rows_add(rows, &n->m, FORM_FULL, rank);
    }
  kb_mem out = {.rank = rank};
  memcpy(out.dims, x->orig->dims, sizeof out.dims);
  ir_type_strides(x->orig, out.strides);
  kb_rows_add(rows, &out, FORM_FULL, rank);
  return NULL;
}

/* The CPU reads windows over an image in place, or collects all of k of them: into a tile that stays in a cache. Many
 * matrices, as of depthwise convolutions, are blocks enough. */
static void bound_collected(contraction *x, int64_t batch, int64_t cores) {
  enum { BYTES = 1 << 20, STEP = 16, LEAST = 32, MANY = 16 };
  const bool a = graph_is_kind(x->a.value->def, GRAPH_WINDOWS), b = graph_is_kind(x->b.value->def, GRAPH_WINDOWS);
  const int64_t bytes = (int64_t)tsr_dtype_size(x->a.value->type->dtype) * max64(1, x->g.k),
                most = max64(LEAST, BYTES / bytes / STEP * STEP),
                places = b && !a && x->g.transpose_b
                             ? kb_unfold_places(x->b.value->def, batch < MANY ? x->bn : x->g.n)
                             : 0;
  if (b && !a && x->g.transpose_b && ir_get_int(x->b.value->def, "winograd", 0)) {
    x->bm = x->g.m;
    kb_winograd_block(x->b.value->def, batch, cores, &x->bm, &x->bn);
    return;
  }
  if (a) x->bm = min64(x->bm, most);
  if (b) x->bn = places ? places : min64(x->bn, most);
}

static void choose_tile(kb_kernel *k, contraction *x) {
  int64_t tile[3] = {k->params.m, k->params.n, k->params.k}, own[3];
  be_matmul d = {.batch = 1,
                 .m = x->g.m,
                 .n = x->g.n,
                 .k = x->g.k,
                 .a = x->a.value->type->dtype,
                 .b = x->b.value->type->dtype,
                 .acc = x->g.accum,
                 .transpose_a = x->g.transpose_a,
                 .transpose_b = x->g.transpose_b,
                 .constant_b = sched_is_constant(k->src, x->b.value)};
  for (int i = 0; i < x->g.n_batch; i++) d.batch *= x->g.batch[i];
  bool asked = tile[0] > 0;
  if (!asked && k->opts->suggest && k->opts->suggest(k->opts->user, &d, own)) memcpy(tile, own, sizeof tile);
  static const int64_t table[3] = {128, 128, 64};
  for (int i = 0; i < 3; i++)
    if (tile[i] <= 0) tile[i] = table[i];
  x->bm = asked ? tile[0] : min64(tile[0], round_up(x->g.m > 0 ? x->g.m : 1, step_of(k)));
  x->bn = asked ? tile[1] : min64(tile[1], round_up(x->g.n > 0 ? x->g.n : 1, step_of(k)));
  x->bk = asked ? tile[2] : min64(tile[2], round_up(x->g.k > 0 ? x->g.k : 1, step_of(k)));
  if (k->opts->caps->dialect == DIALECT_CPU && !asked) bound_collected(x, d.batch, max64(1, k->opts->caps->n_cores));
}

static tsr_status sum_parts(kb_kernel *k, contraction *x, ir_value **acc) {
  *acc = NULL;
  for (int64_t i = 0; i < k->params.split_k; i++) {
    kb_mem m = mm_workspace(k, x, i);
    int64_t strides[TSR_MAX_RANK + 2];
    ir_value *w, *v;
    kb_space_strides(&m, &x->c, FORM_FULL, strides);
    TSR_TRY(kb_window(k, &m, &x->c, strides, NULL, &w));
    v = ir_build1(&k->b, "tessera.tile.load", kb_frag(k, x->g.accum, x->bm, x->bn), 1, &w);
    *acc = *acc ? kb_map2(k, SC_ADD, *acc, v) : v;
    if (!*acc) return st_oom();
  }
  return NULL;
}

static tsr_status prepare(kb_kernel *k, contraction *x) {
  kb_stride_rows rows;
  x->op = graph_contraction(k->src->regions[0]);
  if (!x->op) return ir_error(k->src, NULL, "a matmul kernel needs a contraction");
  x->g = graph_contract_get(x->op);
  x->orig = x->op->results[0]->type;
  x->a.value = x->op->operands[0];
  x->b.value = x->op->operands[1];
  TSR_TRY(all_leaves(k, x, &rows));
  kb_space_make(&x->c, x->orig, x->orig->rank - 2, &rows);
  x->c.plain = true;
  choose_tile(k, x);
  if (k->split == SPLIT_SUM && k->stream_k) {
    mm_stream_k_tile(k, x);
  } else if (k->split == SPLIT_SUM &&
             k->opts->caps->dialect != DIALECT_CPU) { /* an elementwise kernel: enough blocks for the device */
    x->bn = min64(x->bn, 256);
    x->bm = min64(x->bm, x->bn < 1024 ? 1024 / x->bn : 1);
  }
  x->c.tm = x->bm;
  x->c.tn = x->bn;
  x->chunk = k->split == SPLIT_PARTS && !k->stream_k
                 ? round_up((x->g.k + k->params.split_k - 1) / k->params.split_k, x->bk)
                 : x->g.k;
  return kb_note_tile(k, x->bm, x->bn, x->bk) ? NULL : st_oom();
}

/* A product of a few rows, read straight to registers (tile/expand_gemv.c): sums are kept in the type that elements are
 * computed in. */
static bool is_gemv(const kb_kernel *k, const contraction *x) {
  enum { MOST_ROWS = 4 };
  const tsr_dtype a = x->a.value->type->dtype, b = x->b.value->type->dtype;
  if (graph_is_kind(x->a.value->def, GRAPH_WINDOWS) || graph_is_kind(x->b.value->def, GRAPH_WINDOWS)) return false;
  return !sched_path_of(&k->params)->has_tiles && k->split != SPLIT_SUM && !k->stream_k &&
         x->g.m >= 1 && x->g.m <= MOST_ROWS && kb_compute(a) == x->g.accum && kb_compute(b) == x->g.accum;
}

tsr_status family_matmul(kb_kernel *k) {
  contraction x = {0};
  ir_value *windows[MAX_LEAVES], *acc = NULL;
  TSR_TRY(prepare(k, &x));
  if ((x.by_rows = is_gemv(k, &x))) x.bm = x.c.tm = x.g.m;
  if (k->split == SPLIT_PARTS && k->stream_k) return mm_stream_k_parts(k, &x);
  if (k->split == SPLIT_PARTS) {
    TSR_TRY(mm_split_grid(k, &x));
    TSR_TRY(mm_part_window(k, &x, &x.c, &windows[0]));
    return mm_contract(k, &x, windows);
  }
  TSR_TRY(kb_space_grid(k, &x.c));
  kb_node *n = kb_node_of(k, x.op->results[0]);
  if (!n) return st_oom();
  TSR_TRY(kb_result_windows(k, &x.c, x.orig, windows));
  if (k->split == SPLIT_NONE) return mm_contract(k, &x, windows);
  TSR_TRY(k->stream_k ? mm_stream_k_sum(k, &x, &acc) : sum_parts(k, &x, &acc));
  n->n_frags = 1;
  n->frags[0].s = &x.c;
  n->frags[0].f = FORM_FULL;
  n->frags[0].frag = kb_wrap(k, acc, x.orig->dtype);
  if (!n->frags[0].frag) return st_oom();
  return kb_store_results(k, &x.c, x.orig, windows);
}
