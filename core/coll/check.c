/* core/coll/check.c - see check.h. For every rank and chunk there is the set of contributions in it: a bit a rank where
 * the operation reduces, else one bit: there or not. Steps of a round read the sets as they were when it began. */
#include "core/coll/check.h"

#include <stdio.h>
#include <string.h>

#include "core/coll/program.h"

typedef struct sets {
  const coll_schedule *s;
  int32_t words; /* of a set */
  size_t bytes;
  uint64_t *bits;
} sets;

typedef tsr_status (*visit_fn)(void *user, const sets *w, const coll_step *step, const uint64_t *set);

static uint64_t *set_of(const sets *w, int32_t rank, int32_t chunk) {
  return w->bits + ((size_t)rank * (size_t)w->s->n_chunks + (size_t)chunk) * (size_t)w->words;
}

static bool has(const uint64_t *set, int32_t i) { return set[i / 64] >> (i % 64) & 1; }
static bool reduces(const sets *w) { return coll_op_get(w->s->op)->reduces; }

static bool is_full(const sets *w, const uint64_t *set) {
  for (int32_t i = 0; i < (reduces(w) ? w->s->n_ranks : 1); i++)
    if (!has(set, i)) return false;
  return true;
}

static tsr_status wrong(const sets *w, const coll_step *x, const char *what, int32_t number) {
  char text[160];
  snprintf(text, sizeof text, what, number);
  return st_make(&w->s->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("collective", coll_op_get(w->s->op)->name, NULL),
                 "%s: round %d, chunk %d from rank %d to rank %d: %s", w->s->algorithm, x->round, x->chunk, x->src,
                 x->dst, text);
}

static tsr_status begin(sets *w, const coll_schedule *s) {
  bool bits = coll_op_get(s->op)->reduces;
  *w = (sets){.s = s, .words = bits ? (s->n_ranks + 63) / 64 : 1};
  w->bytes = (size_t)s->n_ranks * (size_t)s->n_chunks * (size_t)w->words * sizeof *w->bits;
  if (!(w->bits = al_zalloc(&s->al, w->bytes))) return st_oom();
  for (int32_t r = 0; r < s->n_ranks; r++)
    for (int32_t c = 0; c < s->n_chunks; c++)
      if (coll_starts_with(s, r, c)) set_of(w, r, c)[bits ? r / 64 : 0] |= (uint64_t)1 << (bits ? r % 64 : 0);
  return NULL;
}

static tsr_status bad_shape(const sets *w, const coll_step *x, int32_t last_round) {
  const coll_schedule *s = w->s;
  if (x->src < 0 || x->src >= s->n_ranks || x->dst < 0 || x->dst >= s->n_ranks || x->src == x->dst)
    return wrong(w, x, "there are %d ranks, and nobody sends to itself", s->n_ranks);
  if (x->chunk < 0 || x->chunk >= s->n_chunks) return wrong(w, x, "there are %d chunks", s->n_chunks);
  if (x->round < last_round || x->round < 0) return wrong(w, x, "it stands behind round %d", last_round);
  return NULL;
}

static tsr_status apply(const sets *w, const coll_step *x, const uint64_t *from) {
  uint64_t *to = set_of(w, x->dst, x->chunk);
  if (!x->reduce) {
    if (!is_full(w, from)) return wrong(w, x, "the sender doesn't hold all of it", 0);
    memcpy(to, from, (size_t)w->words * sizeof *to);
    return NULL;
  }
  if (!reduces(w)) return wrong(w, x, "the operation reduces nothing", 0);
  bool any = false;
  for (int32_t i = 0; i < w->s->n_ranks; i++) {
    any |= has(from, i);
    if (has(from, i) && has(to, i)) return wrong(w, x, "the contribution of rank %d would be in it twice", i);
  }
  if (!any) return wrong(w, x, "the sender holds nothing", 0);
  for (int32_t i = 0; i < w->words; i++) to[i] |= from[i];
  return NULL;
}

/* Every step with the set that is sent; then the sets at the end. */
static tsr_status walk(sets *w, visit_fn visit, void *user) {
  const coll_schedule *s = w->s;
  uint64_t *sent = NULL;
  size_t cap = 0, words = (size_t)w->words;
  tsr_status st = NULL;
  for (size_t i = 0; i < s->n_steps && !st; i++)
    st = bad_shape(w, &s->steps[i], i ? s->steps[i - 1].round : 0);
  for (size_t from = 0, to; from < s->n_steps && !st; from = to) {
    for (to = from; to < s->n_steps && s->steps[to].round == s->steps[from].round; to++) {}
    if (!al_grow(&s->al, &sent, &cap, (to - from) * words, sizeof *sent)) st = st_oom();
    for (size_t i = from; i < to && !st; i++)
      memcpy(sent + (i - from) * words, set_of(w, s->steps[i].src, s->steps[i].chunk), words * sizeof *sent);
    for (size_t i = from; i < to && !st; i++) {
      if (visit) st = visit(user, w, &s->steps[i], sent + (i - from) * words);
      if (!st) st = apply(w, &s->steps[i], sent + (i - from) * words);
    }
  }
  if (sent) al_free_array(&s->al, sent, cap);
  return st;
}

static tsr_status check_results(const sets *w) {
  const coll_schedule *s = w->s;
  for (int32_t r = 0; r < s->n_ranks; r++)
    for (int32_t c = 0; c < s->n_chunks; c++) {
      const uint64_t *set = set_of(w, r, c);
      if (!coll_ends_with(s, r, c) || is_full(w, set)) continue;
      int32_t missing = 0;
      while (reduces(w) && has(set, missing)) missing++;
      return st_make(&s->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("collective", coll_op_get(s->op)->name, NULL),
                     "%s: at the end rank %d has chunk %d without what rank %d put in", s->algorithm, r, c,
                     reduces(w)                 ? missing
                     : s->op == COLL_ALL_TO_ALL ? c / s->n_ranks
                     : s->op == COLL_BROADCAST  ? s->root
                                                : c);
    }
  return NULL;
}

static tsr_status check_links(const coll_schedule *s, const coll_algorithm *a, const coll_request *q) {
  size_t n = (size_t)s->n_ranks, bytes = n * n * sizeof(int64_t);
  int64_t *sent = al_zalloc(&s->al, bytes);
  if (!sent) return st_oom();
  tsr_status st = NULL;
  for (size_t i = 0; i < s->n_steps; i++) sent[(size_t)s->steps[i].src * n + (size_t)s->steps[i].dst]++;
  for (int32_t r = 0; r < s->n_ranks && !st; r++)
    for (int32_t d = 0; d < s->n_ranks && !st; d++) {
      int64_t is = sent[(size_t)r * n + (size_t)d], formula = a->link(q, r, d);
      if (is != formula)
        st = st_make(&s->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("collective", coll_op_get(s->op)->name, NULL),
                     "%s: %lld chunks go from rank %d to rank %d, its closed form says %lld", s->algorithm,
                     (long long)is, r, d, (long long)formula);
    }
  al_free(&s->al, sent, bytes, 16);
  return st;
}

tsr_status coll_check(const coll_schedule *s, const coll_algorithm *a, const coll_request *q) {
  sets w = {0};
  coll_programs p = {0};
  if (s->n_ranks < 1 || s->n_chunks < 1 || s->n_chunks > COLL_MAX_RANKS * COLL_MAX_RANKS)
    return st_make(&s->al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", s->algorithm, NULL), "%d ranks, %d chunks",
                   s->n_ranks, s->n_chunks);
  tsr_status st = begin(&w, s);
  if (!st) st = walk(&w, NULL, NULL);
  if (!st) st = check_results(&w);
  if (w.bits) al_free(&s->al, w.bits, w.bytes, 16);
  if (!st && a && a->link) st = check_links(s, a, q);
  if (!st) st = coll_programs_make(s, &p);
  if (!st) st = coll_programs_check(&p);
  coll_programs_clear(&p);
  return st;
}

/* ---- bytes ----------------------------------------------------------------------------------------------------- */

typedef struct counter {
  const coll_traffic *t;
  size_t element, partial;
  uint64_t *sent;
} counter;

/* The largest nodes of the fixed tree within a set: single contributions and partial results. */
static void nodes_of(const uint64_t *set, coll_node at, int64_t *leaves, int64_t *inner) {
  int32_t n = 0;
  for (int32_t i = 0; i < at.n; i++) n += has(set, at.first + i);
  if (n == at.n) {
    *(n == 1 ? leaves : inner) += 1;
  } else if (n) {
    int32_t left = coll_order_left(at.n);
    nodes_of(set, (coll_node){at.first, left}, leaves, inner);
    nodes_of(set, (coll_node){at.first + left, at.n - left}, leaves, inner);
  }
}

static tsr_status count_step(void *user, const sets *w, const coll_step *x, const uint64_t *set) {
  counter *c = user;
  int64_t leaves = 0, inner = 0, n = coll_chunk_elements(w->s, c->t->count, x->chunk);
  uint64_t *sent = &c->sent[(size_t)x->src * (size_t)w->s->n_ranks + (size_t)x->dst];
  if (!x->reduce) {
    *sent += (uint64_t)n * c->element;
    return NULL;
  }
  nodes_of(set, (coll_node){0, w->s->n_ranks}, &leaves, &inner);
  bool one = !c->t->ordered || coll_is_exact(c->t->dtype, c->t->redop);
  if (one && leaves + inner > 1) leaves = 0, inner = 1;
  *sent += (uint64_t)n * ((uint64_t)leaves * c->element + (uint64_t)inner * c->partial);
  return NULL;
}

tsr_status coll_count_bytes(const coll_schedule *s, const coll_traffic *t, uint64_t *sent) {
  sets w = {0};
  counter c = {t, dtype_get(t->dtype)->size, dtype_get(coll_partial_type(t->dtype, t->redop))->size, sent};
  tsr_status st = begin(&w, s);
  if (!st) st = walk(&w, count_step, &c);
  if (w.bits) al_free(&s->al, w.bits, w.bytes, 16);
  return st;
}

/* ---- what messages hold ------------------------------------------------------------------------------------------ */

typedef struct tracer { coll_flow *f; int32_t rank; bool ordered; } tracer;

static bool put_node(coll_flow *f, int32_t first, int32_t n) {
  if (!al_grow(&f->al, &f->nodes, &f->cap, f->n + 1, sizeof *f->nodes)) return false;
  f->nodes[f->n++] = (coll_node){first, n};
  return true;
}

static bool put_nodes(coll_flow *f, const uint64_t *set, coll_node at) {
  int32_t n = 0, left = at.n > 1 ? coll_order_left(at.n) : 0;
  for (int32_t i = 0; i < at.n; i++) n += has(set, at.first + i);
  if (!n) return true;
  if (n == at.n) return put_node(f, at.first, at.n);
  return put_nodes(f, set, (coll_node){at.first, left}) && put_nodes(f, set, (coll_node){at.first + left, at.n - left});
}

static tsr_status trace_step(void *user, const sets *w, const coll_step *x, const uint64_t *set) {
  const tracer *t = user;
  coll_flow *f = t->f;
  int32_t ranks = reduces(w) ? w->s->n_ranks : 1, n = 0;
  bool ok = true;
  f->first[x - w->s->steps] = f->n;
  if (x->src == t->rank || x->dst == t->rank) {
    for (int32_t i = 0; i < ranks; i++) n += has(set, i);
    ok = t->ordered ? put_nodes(f, set, (coll_node){0, ranks}) : put_node(f, 0, n);
  }
  f->first[x - w->s->steps + 1] = f->n;
  return ok ? NULL : st_oom();
}

tsr_status coll_flow_make(const coll_schedule *s, int32_t rank, bool ordered, coll_flow *f) {
  sets w = {0};
  tracer t = {f, rank, ordered};
  *f = (coll_flow){.al = s->al, .n_steps = s->n_steps, .kind = ordered ? 1 : 2};
  f->first = al_zalloc(&f->al, (s->n_steps + 1) * sizeof *f->first);
  tsr_status st = f->first ? begin(&w, s) : st_oom();
  if (!st) st = walk(&w, trace_step, &t);
  if (w.bits) al_free(&s->al, w.bits, w.bytes, 16);
  if (st) coll_flow_clear(f);
  return st;
}

void coll_flow_clear(coll_flow *f) {
  if (f->first) al_free(&f->al, f->first, (f->n_steps + 1) * sizeof *f->first, 16);
  if (f->nodes) al_free_array(&f->al, f->nodes, f->cap);
  *f = (coll_flow){.kind = 0};
}
