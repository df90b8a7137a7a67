/* core/coll/choose.c - see choose.h. Between the ranks of one process nothing is copied on the way, and direct is ahead
 * throughout. Over a link each message costs a wake-up of its receiver: small vectors take few rounds, large ones few
 * bytes (docs/performance-log.md). */
#include "core/coll/choose.h"

static const coll_choice apart_rows[] = {
    {COLL_ALL_REDUCE, 8, 1 << 15, "one_shot"},
    {COLL_ALL_REDUCE, 32, 1 << 12, "one_shot"},
    {COLL_ALL_REDUCE, COLL_MAX_RANKS, 1 << 14, "tree"},
    {COLL_BROADCAST, 8, INT64_MAX, "direct"},
    {COLL_BROADCAST, COLL_MAX_RANKS, 1 << 18, "tree"},
    {COLL_BROADCAST, COLL_MAX_RANKS, INT64_MAX, "ring"},
    {COLL_REDUCE, 8, INT64_MAX, "direct"},
    {COLL_REDUCE, COLL_MAX_RANKS, INT64_MAX, "tree"},
    {COLL_BARRIER, 8, INT64_MAX, "direct"},
    {COLL_BARRIER, COLL_MAX_RANKS, INT64_MAX, "bruck"},
};

static const char *find(const coll_choice *rows, size_t n, const coll_call *c, int32_t n_ranks) {
  int64_t bytes = c->count * (int64_t)dtype_get(c->dtype)->size;
  for (size_t i = 0; i < n; i++)
    if (rows[i].op == c->op && n_ranks <= rows[i].most_ranks && bytes <= rows[i].most_bytes) return rows[i].algorithm;
  return NULL;
}

const char *coll_choose(const coll_choice *own, size_t n, const coll_call *c, int32_t n_ranks, bool apart) {
  const char *a = find(own, n, c, n_ranks);
  if (!a && apart) a = find(apart_rows, sizeof apart_rows / sizeof *apart_rows, c, n_ranks);
  return a ? a : "direct";
}
