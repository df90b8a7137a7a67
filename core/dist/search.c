/* core/dist/search.c - see search.h. */
#include "core/dist/search.h"

#include <math.h>
#include <string.h>

#include "core/base/hash.h"

enum { BEGINNINGS = 6, ROUNDS = 4, MOST_OPTIONS = 512, MOST_WORK = 4000000 };

typedef struct search {
  dist_problem *p;
  dist_found *out;
  dist_spec *now;
  double best;
  int most; /* solutions that are tried */
} search;

/* Time, with what doesn't fit counting as ever slower, and memory to tell equals apart. */
static double score_of(const dist_problem *p) {
  const double room = p->links.machine->device.memory_gbytes * 1e9, over = p->memory / room;
  return (over > 1 ? p->us * over * 100 : p->us) + p->memory * 1e-9;
}

static bool try_now(search *s, double *score) {
  tsr_status st = dist_solve(s->p, s->now);
  s->out->n_tried++;
  if (st) return tsr_status_free(st), false;
  *score = score_of(s->p);
  if (*score >= s->best) return true;
  s->best = *score;
  s->out->us = s->p->us, s->out->memory = s->p->memory;
  memcpy(s->out->args, s->now, sizeof *s->now * (size_t)s->p->n_args);
  return true;
}

/* Option number `code` of an input: by axis none, or one of its dimensions. False where that isn't cut evenly. */
static bool option(const dist_problem *p, const ir_type *t, int64_t code, dist_spec *out) {
  *out = (dist_spec){.rank = t->rank};
  for (int a = 0; a < p->mesh.n; a++, code /= t->rank + 1) {
    const int d = (int)(code % (t->rank + 1)) - 1;
    if (d < 0) continue;
    if (p->mesh.size[a] == 1 || p->rules.spared >> a & 1) return false;
    out->dim[d] |= (uint8_t)(1u << a);
  }
  return dist_spec_uneven(&p->mesh, out, t->dims) < 0 && ir_type_count(t) > 0;
}

static int64_t n_options(const dist_problem *p, const ir_type *t) {
  int64_t n = 1;
  for (int a = 0; a < p->mesh.n && n <= MOST_OPTIONS; a++) n *= t->rank + 1;
  return n < MOST_OPTIONS ? n : MOST_OPTIONS;
}

/* The best way to cut input i, the others staying as they are. True if it changed. */
static bool descend(search *s, int i, double *at) {
  const dist_value *v = &s->p->values[i];
  dist_spec best = s->now[i];
  bool changed = false;
  for (int64_t k = 0; k < n_options(s->p, v->v->type) && s->out->n_tried < s->most; k++) {
    double score;
    dist_spec was = s->now[i];
    if (!option(s->p, v->v->type, k, &s->now[i]) || !try_now(s, &score)) s->now[i] = was;
    else if (score < *at * (1 - 1e-9)) *at = score, best = s->now[i], changed = true;
  }
  s->now[i] = best;
  return changed;
}

static void by_size(const dist_problem *p, int *order) {
  for (int i = 0; i < p->n_args; i++) {
    const int64_t n = ir_type_count(p->values[i].v->type);
    int at = i;
    while (at > 0 && ir_type_count(p->values[order[at - 1]].v->type) < n) order[at] = order[at - 1], at--;
    order[at] = i;
  }
}

static void begin_at(search *s, int beginning) {
  for (int i = 0; i < s->p->n_args; i++) {
    const dist_value *v = &s->p->values[i];
    if (v->wanted) continue;
    s->now[i] = (dist_spec){.rank = v->v->type->rank};
    const uint64_t h = hash_mix(hash_word(hash_word(HASH_SEED, (uint64_t)beginning), (uint64_t)i));
    if (beginning && !option(s->p, v->v->type, (int64_t)(h % (uint64_t)n_options(s->p, v->v->type)), &s->now[i]))
      s->now[i] = (dist_spec){.rank = v->v->type->rank};
  }
}

tsr_status dist_search(dist_problem *p, dist_found *out) {
  search s = {.p = p, .out = out, .best = INFINITY};
  *out = (dist_found){0};
  const size_t n = (size_t)p->n_args + 1;
  int *order = arena_array(&p->arena, int, n);
  s.now = arena_array(&p->arena, dist_spec, n);
  out->args = arena_array(&p->arena, dist_spec, n);
  if (!order || !s.now || !out->args) return st_oom();
  TSR_TRY(dist_solve(p, NULL));
  for (int i = 0; i < p->n_args; i++) s.now[i] = out->args[i] = p->values[i].spec;
  out->whole_us = p->us, out->whole_memory = p->memory;
  s.most = MOST_WORK / (p->n_nodes + 1) + 8;
  if (s.most > 6000) s.most = 6000;
  by_size(p, order);
  for (int b = 0; b < BEGINNINGS; b++) {
    double at;
    begin_at(&s, b);
    if (!try_now(&s, &at)) continue;
    for (int r = 0; r < ROUNDS; r++) {
      bool changed = false;
      for (int i = 0; i < p->n_args; i++)
        if (!p->values[order[i]].wanted) changed |= descend(&s, order[i], &at);
      if (!changed) break;
    }
  }
  out->fits = out->memory <= p->links.machine->device.memory_gbytes * 1e9;
  return dist_solve(p, out->args);
}
