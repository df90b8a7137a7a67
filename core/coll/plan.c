/* core/coll/plan.c - see plan.h. */
#include "core/coll/plan.h"

#include <string.h>

typedef struct load { double out[COLL_LEVELS], in[COLL_LEVELS]; int32_t messages[COLL_LEVELS]; } load;

static double chunk_bytes(const coll_schedule *s, double bytes) {
  int32_t pieces = s->op == COLL_ALL_TO_ALL ? s->n_ranks : s->op == COLL_SEND_RECV ? 1 : s->n_chunks;
  return s->op == COLL_BARRIER ? 0 : bytes / pieces;
}

static double larger(double a, double b) { return a > b ? a : b; }

/* The busiest of the ranks, and of the domains for what leaves them, whose ports share it. */
static double round_time(const coll_schedule *s, const coll_topology *t, const load *x) {
  double worst = 0;
  for (int l = 0; l < t->n_levels; l++) {
    const coll_level *v = &t->levels[l];
    int32_t messages = 0, k = l ? (int32_t)t->levels[0].ranks : 1;
    double most = 0;
    for (int32_t r = 0; r < s->n_ranks; r += k) {
      double out = 0, in = 0;
      int32_t members = 0;
      for (int32_t i = r; i < r + k && i < s->n_ranks; i++, members++) {
        out += x[i].out[l], in += x[i].in[l];
        if (x[i].messages[l] > messages) messages = x[i].messages[l];
      }
      most = larger(most, larger(out, in) / members);
    }
    if (messages)
      worst = larger(worst, v->latency_us + (messages - 1) * v->overhead_us + most / v->gbytes_per_s * 1e-3);
  }
  return worst;
}

tsr_status coll_simulate(const coll_schedule *s, const coll_topology *t, double bytes, coll_simulation *out) {
  size_t n = (size_t)s->n_ranks;
  load *x = al_zalloc(&s->al, n * sizeof *x);
  double each = chunk_bytes(s, bytes);
  *out = (coll_simulation){0};
  if (!x) return st_oom();
  for (size_t i = 0; i < s->n_steps; i++) {
    const coll_step *a = &s->steps[i], *b = a - 1;
    int l = t->n_levels > 1 && a->src / t->levels[0].ranks != a->dst / t->levels[0].ranks;
    bool same = i && a->round == b->round && a->src == b->src && a->dst == b->dst;
    x[a->src].out[l] += each, x[a->dst].in[l] += each;
    x[a->src].messages[l] += !same;
    if (i + 1 < s->n_steps && s->steps[i + 1].round == a->round) continue;
    out->us += round_time(s, t, x);
    for (size_t r = 0; r < n; r++)
      for (int k = 0; k < COLL_LEVELS; k++) out->sent[k] += x[r].out[k], out->received[k] += x[r].in[k];
    memset(x, 0, n * sizeof *x);
  }
  al_free(&s->al, x, n * sizeof *x, 16);
  return NULL;
}

/* ---- plans ----------------------------------------------------------------------------------------------------- */

static tsr_status simulate_row(const coll_topology *t, const coll_algorithm *a, coll_op op, int64_t ranks, double bytes,
                               coll_estimate *e) {
  coll_request q = {op, (int32_t)ranks, 0, 0};
  coll_schedule *s;
  coll_simulation x;
  if (ranks > COLL_MAX_RANKS) e->refused = "simulated schedules have at most 256 ranks";
  else e->refused = coll_refusal(a, &q);
  if (e->refused) return NULL;
  TSR_TRY(coll_generate(NULL, a, &q, &s));
  tsr_status st = coll_simulate(s, t, bytes, &x);
  coll_schedule_free(&s);
  e->us = x.us;
  return st;
}

static bool is_extrapolated(const coll_topology *t, coll_op op, int64_t ranks, double bytes) {
  return t->anchor_ranks && (op != COLL_ALL_REDUCE || ranks != t->anchor_ranks || bytes < t->anchors[0].bytes ||
                             bytes > t->anchors[1].bytes);
}

tsr_status coll_plan_make(const coll_topology *t, const coll_set *more, coll_op op, int64_t ranks, double bytes,
                          const char *only, coll_plan *p) {
  coll_place place;
  const char *why;
  const coll_algorithm *a;
  st_where where = ST_WHERE("collective", coll_op_get(op)->name, NULL);
  *p = (coll_plan){.extrapolated = is_extrapolated(t, op, ranks, bytes)};
  if (!coll_place_of(t, ranks, &place, &why))
    return st_make(NULL, TSR_INVALID_ARGUMENT, where, "%lld ranks on %s: %s", (long long)ranks, t->name, why);
  if (only && !coll_algorithm_find(more, only))
    return st_make(NULL, TSR_NOT_FOUND, where, "no algorithm \"%s\"", only);
  const coll_estimate *best = NULL;
  for (int32_t i = 0; p->n < COLL_MOST_ALGORITHMS && (a = coll_algorithm_at(more, i)); i++) {
    coll_estimate *e = &p->all[p->n];
    coll_terms x;
    if (only && strcmp(only, a->name)) continue;
    p->n++;
    e->algorithm = a->name;
    if (!coll_is_own(a)) TSR_TRY(simulate_row(t, a, op, ranks, bytes, e));
    else if (coll_terms_of(a->name, op, &place, &x, &e->refused))
      e->us = coll_time_us(t, &x, op == COLL_BARRIER ? 0 : bytes);
    if (!e->refused && (!best || e->us < best->us)) best = e;
  }
  if (!best)
    return st_make(NULL, TSR_UNSUPPORTED, where, "not by %s on %lld ranks: %s", p->all[0].algorithm, (long long)ranks,
                   p->all[0].refused);
  p->algorithm = best->algorithm, p->us = best->us;
  if (best->us > 0 && op != COLL_BARRIER) p->algbw = bytes / best->us * 1e-3;
  p->busbw = p->algbw * coll_bus_factor(op, ranks);
  return NULL;
}
