/* core/coll/algorithm.c - see algorithm.h. */
#include "core/coll/algorithm.h"

#include <string.h>

#include "core/coll/check.h"
#include "core/coll/rows.h"

static const coll_algorithm *const own[] = {&coll_ring,   &coll_tree,  &coll_double_tree,  &coll_halving,
                                            &coll_direct, &coll_bruck, &coll_hierarchical, &coll_one_shot};
enum { N_OWN = sizeof own / sizeof *own };

const coll_algorithm *coll_algorithm_at(const coll_set *more, int32_t i) {
  if (i < N_OWN) return own[i];
  return more && i - N_OWN < more->n ? &more->rows[i - N_OWN] : NULL;
}

const coll_algorithm *coll_algorithm_find(const coll_set *more, const char *name) {
  const coll_algorithm *a = NULL;
  for (int32_t i = 0; (a = coll_algorithm_at(more, i)) && strcmp(a->name, name); i++) {}
  return a;
}

bool coll_is_own(const coll_algorithm *a) {
  int i = 0;
  while (i < N_OWN && own[i] != a) i++;
  return i < N_OWN;
}

const char *coll_refusal(const coll_algorithm *a, const coll_request *q) {
  coll_request of = *q;
  of.user = a->user;
  if (!(a->ops >> q->op & 1)) return a->others;
  return a->limit ? a->limit(&of) : NULL;
}

tsr_status coll_generate(const tsr_allocator *al, const coll_algorithm *a, const coll_request *q, coll_schedule **out) {
  *out = NULL;
  st_where where = ST_WHERE("collective", coll_op_get(q->op)->name, NULL);
  if (q->n_ranks < 1 || q->n_ranks > COLL_MAX_RANKS)
    return st_make(al, TSR_INVALID_ARGUMENT, where, "%d ranks: a schedule has 1 to %d", q->n_ranks, COLL_MAX_RANKS);
  if (q->root < 0 || q->root >= q->n_ranks || (q->root && !coll_op_get(q->op)->has_root))
    return st_make(al, TSR_INVALID_ARGUMENT, where, "root %d of %d ranks", q->root, q->n_ranks);
  const char *no = coll_refusal(a, q);
  if (no) return st_make(al, TSR_UNSUPPORTED, where, "not by %s on %d ranks: %s", a->name, q->n_ranks, no);
  coll_schedule *s = al_new(al, coll_schedule);
  if (!s) return st_oom();
  s->al = al && al->alloc ? *al : al_default;
  s->op = q->op, s->algorithm = a->name, s->n_ranks = q->n_ranks, s->root = q->root, s->group = q->group;
  coll_request of = *q;
  of.user = a->user;
  s->n_chunks = a->chunks(&of);
  if (s->n_chunks >= 1) a->generate(&of, s);
  coll_schedule_sort(s);
  tsr_status st = NULL;
  if (s->failed) st = st_oom();
  else if (s->n_chunks < 1 || !coll_is_own(a)) st = coll_check(s, a, q);
  if (st) coll_schedule_free(&s);
  *out = s;
  return st;
}
