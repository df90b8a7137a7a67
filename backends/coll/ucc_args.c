/* backends/coll/ucc_args.c - a collective as UCC has it: what only moves goes as bytes, blocks of different lengths by
 * the operations with counts, a send to the next rank as an exchange in which all other counts are 0. */
#include <string.h>

#include "backends/coll/ucc.h"

/* Of types that are reduced; -1: UCC hasn't it. bool's "or" and "and" are the maximum and minimum of 0 and 1. */
static int type_of(tsr_dtype t) {
  static const struct {
    tsr_dtype t;
    int ucc;
  } rows[] = {{TSR_I8, 0},           {TSR_I16, 1},   {TSR_I32, 2},  {TSR_I64, 3},  {TSR_U8, UCC_UINT8},
              {TSR_BOOL, UCC_UINT8}, {TSR_U16, 6},   {TSR_U32, 7},  {TSR_U64, 8},  {TSR_F16, 10},
              {TSR_F32, 11},         {TSR_TF32, 11}, {TSR_F64, 12}, {TSR_BF16, 13}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].t == t) return rows[i].ucc;
  return -1;
}

static int redop_of(const coll_call *c) {
  static const int ops[N_COLL_REDOPS] = {
      [COLL_SUM] = UCC_SUM, [COLL_PROD] = UCC_PROD, [COLL_MAX] = UCC_MAX, [COLL_MIN] = UCC_MIN, [COLL_MEAN] = UCC_AVG};
  if (c->dtype == TSR_BOOL && c->redop == COLL_SUM) return UCC_MAX;
  if (c->dtype == TSR_BOOL && c->redop == COLL_PROD) return UCC_MIN;
  return ops[c->redop];
}

const char *ucc_refusal(const coll_call *c) {
  if (!coll_op_get(c->op)->reduces) return NULL;
  if (!coll_partial_type(c->dtype, c->redop)) return "the reduction isn't defined for the type";
  if (type_of(c->dtype) < 0) return "the library doesn't add up the type";
  if (!c->any_order && !coll_is_exact(c->dtype, c->redop))
    return "its sums have an order of their own: ask for any_order";
  if (!dtype_is_float(c->dtype) && c->redop == COLL_MEAN) return "it has no mean of integers";
  return NULL;
}

static ucc_memory flat(const void *data, int64_t n, uint64_t size, uint64_t type) {
  return (ucc_memory){.info = {(void *)data, (uint64_t)n * size, type, 0}};
}

/* Blocks one after the other, of the ranks' lengths or all of one; `only` >= 0: that rank's alone, with all of `count`.
 */
static ucc_memory blocks(const void *data, int64_t count, int32_t n, int32_t only, int64_t each, uint64_t size,
                         uint64_t type, uint64_t *counts) {
  uint64_t at = 0;
  for (int32_t r = 0; r < n; r++) {
    int64_t len = only >= 0 ? (r == only ? count : 0) : each >= 0 ? each : coll_split(count, n, r).n;
    counts[r] = (uint64_t)len * size, counts[n + r] = at, at += counts[r];
  }
  return (ucc_memory){.v = {(void *)data, counts, counts + n, type, 0}};
}

void ucc_args_fill(const coll_call *c, int32_t rank, int32_t n, uint64_t *counts, ucc_args *a) {
  const bool reduces = coll_op_get(c->op)->reduces, even = c->count % n == 0;
  const uint64_t type = (uint64_t)(reduces ? type_of(c->dtype) : UCC_UINT8) << UCC_TYPE_SHIFT;
  const uint64_t size = reduces ? 1 : dtype_get(c->dtype)->size; /* of an element, in UCC's */
  const int64_t mine = coll_split(c->count, n, rank).n, none = -1;
  const bool same = c->in == c->out;
  memset(a, 0, sizeof *a);
  a->mask = UCC_FIELD_FLAGS;
  a->flags = UCC_COUNT_64 | UCC_DISPLACEMENTS_64;
  a->op = reduces ? redop_of(c) : UCC_SUM;
  a->root = (uint64_t)c->root;
  switch (c->op) {
    case COLL_ALL_REDUCE: a->kind = UCC_ALLREDUCE; break;
    case COLL_REDUCE: a->kind = UCC_REDUCE; break;
    case COLL_BROADCAST: a->kind = UCC_BCAST; break;
    case COLL_ALL_GATHER: a->kind = even ? UCC_ALLGATHER : UCC_ALLGATHERV; break;
    case COLL_REDUCE_SCATTER: a->kind = even ? UCC_REDUCE_SCATTER : UCC_REDUCE_SCATTERV; break;
    case COLL_ALL_TO_ALL: a->kind = even ? UCC_ALLTOALL : UCC_ALLTOALLV; break;
    case COLL_SEND_RECV: a->kind = UCC_ALLTOALLV; break;
    default: a->kind = UCC_BARRIER; return;
  }
  if (c->op == COLL_SEND_RECV) {
    a->src = blocks(c->in, c->count, n, coll_mod(rank + 1, n), none, size, type, counts);
    a->dst = blocks(c->out, c->count, n, coll_mod(rank - 1, n), none, size, type, counts + 2 * n);
    return;
  }
  if (c->op == COLL_BROADCAST) {
    a->src = flat(c->out, c->count, size, type); /* the root has copied what it gives */
    return;
  }
  const bool in_blocks = a->kind == UCC_ALLTOALLV, out_blocks = in_blocks || a->kind == UCC_ALLGATHERV;
  const int64_t in = c->op == COLL_ALL_GATHER ? mine : c->count;
  const int64_t out = c->op == COLL_REDUCE_SCATTER ? mine : c->count;
  a->src = in_blocks ? blocks(c->in, c->count, n, -1, none, size, type, counts) : flat(c->in, in, size, type);
  if (a->kind == UCC_REDUCE_SCATTERV || out_blocks)
    a->dst = blocks(c->out, c->count, n, -1, in_blocks ? mine : none, size, type, counts + 2 * n);
  else a->dst = flat(c->out, out, size, type);
  if (same && (c->op == COLL_ALL_REDUCE || (c->op == COLL_REDUCE && rank == c->root))) {
    a->flags |= UCC_IN_PLACE;
    a->src = a->dst;
  }
}
