/* core/passes/tile/gemv.c - a product of a few rows (m <= MM_GEMV_ROWS): b is read once, in wide accesses and
 * straight to registers, by all threads of the block: k is divided over lanes and warps, each thread keeps its own
 * sums, and these meet in one reduction after the loop. No matrix instruction, no shared tiles: the time is that of
 * reading b. bn columns and bk rows of b a step; one accumulator of that shape for each row of a. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/tile/contraction.h"

bool mm_is_gemv(const contraction *x) {
  tsr_dtype a = x->a.value->type->dtype, b = x->b.value->type->dtype;
  return x->g.m >= 1 && x->g.m <= MM_GEMV_ROWS && kb_compute(a) == x->g.accum && kb_compute(b) == x->g.accum;
}

typedef struct gemv {
  contraction *x;
  bool along_k;                /* b lies [n, k] */
  mm_operand a[MM_GEMV_ROWS];  /* one row of a each: [k, 1], or [1, k] if b lies along k */
  kb_space c[MM_GEMV_ROWS];    /* one row of the result each */
  const ir_type *shape;        /* of an accumulator */
} gemv;

/* Row i of a, with the axes in the order of b's tile. */
static void row_of_a(kb_kernel *k, gemv *s, int i) {
  contraction *x = s->x;
  mm_operand *a = &s->a[i];
  int r = x->c.rank;
  bool stored_along_k = !x->g.transpose_a;
  mm_side(x, a, x->op->operands[0], x->g.transpose_a, x->g.m, x->g.k, 1, x->bk);
  a->s.at[r - 2 + x->g.transpose_a] = kb_index(k, i);
  if (stored_along_k == s->along_k) return;
  kb_space t = a->s; /* transposed */
  a->s.dims[r - 2] = t.dims[r - 1], a->s.dims[r - 1] = t.dims[r - 2];
  a->s.from[r - 2] = t.from[r - 1], a->s.from[r - 1] = t.from[r - 2];
  a->s.at[r - 2] = t.at[r - 1], a->s.at[r - 1] = t.at[r - 2];
  a->s.tm = t.tn, a->s.tn = t.tm;
}

static ir_value *multiply_add(kb_kernel *k, ir_value *a, ir_value *b, ir_value *acc) {
  return kb_map2(k, SC_ADD, kb_map2(k, SC_MUL, a, b), acc);
}

/* The loop over k; sums[i] receives row i's accumulator. */
static tsr_status gemv_loop(kb_kernel *k, gemv *s, ir_value **sums) {
  contraction *x = s->x;
  int m = (int)x->g.m, r = x->c.rank;
  ir_value *operands[3 + MM_GEMV_ROWS], *next[MM_GEMV_ROWS], *b, *a;
  const ir_type *types[MM_GEMV_ROWS];
  mm_bounds(k, x, operands);
  for (int i = 0; i < m; i++) {
    types[i] = s->shape;
    if (!(operands[3 + i] = kb_fill(&k->b, s->shape, 0))) return st_oom();
  }
  ir_op *loop = ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3 + m, operands, m, types, 1);
  ir_value *kk = loop ? ir_block_arg(k->m, loop->regions[0], ir_type_index(k->m), NULL) : NULL;
  for (int i = 0; i < m && kk; i++)
    if (!(next[i] = ir_block_arg(k->m, loop->regions[0], s->shape, NULL))) return st_oom();
  if (!kk) return st_oom();
  ir_builder outside = k->b;
  k->b = ir_at_end(k->m, loop->regions[0]);
  x->b.s.at[r - 2 + s->along_k] = kk;
  TSR_TRY(kb_value(k, x->b.value, &x->b.s, x->b.orig, FORM_FULL, &b));
  for (int i = 0; i < m; i++) {
    s->a[i].s.at[r - 2 + s->along_k] = kk;
    TSR_TRY(kb_value(k, s->a[i].value, &s->a[i].s, s->a[i].orig, FORM_FULL, &a));
    if (!(next[i] = multiply_add(k, a, b, next[i]))) return st_oom();
  }
  if (!ir_build0(&k->b, "tessera.tile.yield", m, next) || k->b.failed) return st_oom();
  k->b = outside;
  for (int i = 0; i < m; i++) sums[i] = loop->results[i];
  return NULL;
}

/* [bk, bn] or [bn, bk] to [1, bn]. */
static ir_value *total(kb_kernel *k, const gemv *s, ir_value *x) {
  ir_op *op = ir_op_new(&k->b, ir_find_op("tessera.tile.reduce"), 1, &x, 1, NULL, 0);
  if (!op || !ir_set_attr(op, "axis", ir_attr_int(k->m, s->along_k)) ||
      !ir_set_attr(op, "op", ir_attr_str(k->m, "sum")) ||
      !ir_set_attr(op, "policy", ir_attr_str(k->m, k->opts->policy)))
    return NULL;
  int64_t bn = s->x->bn;
  ir_value *v = op->results[0];
  v->type = s->along_k ? kb_frag(k, x->type->dtype, bn, 1) : kb_frag(k, x->type->dtype, 1, bn);
  if (!s->along_k || !v->type) return v->type ? v : NULL;
  op = ir_op_new(&k->b, ir_find_op("tessera.tile.transpose"), 1, &v, 1, NULL, 0);
  if (!op || !ir_set_attr(op, "perm", ir_attr_ints(k->m, (int64_t[]){1, 0}, 2)) ||
      !(op->results[0]->type = kb_frag(k, x->type->dtype, 1, bn)))
    return NULL;
  return op->results[0];
}

static tsr_status store_row(kb_kernel *k, gemv *s, int i, ir_value *sum) {
  ir_value *windows[MAX_LEAVES];
  if (k->split == SPLIT_PARTS) {
    TSR_TRY(mm_part_window(k, s->x, &s->c[i], &windows[0]));
    return ir_build0(&k->b, "tessera.tile.store", 2, (ir_value *[]){sum, windows[0]}) ? NULL : st_oom();
  }
  kb_node *n = kb_node_of(k, s->x->op->results[0]);
  if (!n) return st_oom();
  TSR_TRY(kb_result_windows(k, &s->c[i], s->x->orig, windows));
  if (!(sum = kb_wrap(k, sum, s->x->orig->dtype))) return st_oom();
  n->n_frags = 1;
  n->frags[0].s = &s->c[i];
  n->frags[0].f = FORM_FULL;
  n->frags[0].frag = sum;
  return kb_store_results(k, &s->c[i], s->x->orig, windows);
}

tsr_status mm_gemv(kb_kernel *k, contraction *x) {
  gemv *s = arena_new(&k->m->arena, gemv);
  ir_value *sums[MM_GEMV_ROWS], *sum;
  int r = x->c.rank;
  if (!s) return st_oom();
  s->x = x;
  s->along_k = x->g.transpose_b;
  x->c.tm = x->g.m;
  TSR_TRY(k->split == SPLIT_PARTS ? mm_split_grid(k, x) : kb_space_grid(k, &x->c));
  mm_side(x, &x->b, x->op->operands[1], x->g.transpose_b, x->g.k, x->g.n, x->bk, x->bn);
  x->b.s.at[r - 1 - s->along_k] = x->c.at[r - 1];
  s->shape = s->along_k ? kb_frag(k, x->g.accum, x->bn, x->bk) : kb_frag(k, x->g.accum, x->bk, x->bn);
  for (int i = 0; i < x->g.m; i++) {
    row_of_a(k, s, i);
    s->c[i] = x->c;
    s->c[i].tm = 1;
    s->c[i].at[r - 2] = kb_index(k, i);
  }
  TSR_TRY(gemv_loop(k, s, sums));
  for (int i = 0; i < x->g.m; i++) {
    if (!(sum = total(k, s, sums[i]))) return st_oom();
    TSR_TRY(store_row(k, s, i, sum));
  }
  return NULL;
}
