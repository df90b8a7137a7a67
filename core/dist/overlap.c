/* core/dist/overlap.c - see overlap.h. */
#include "core/dist/overlap.h"

/* Both streams' spans are in order: what ended before a step of `mine` began ended before the later ones, too. */
static int64_t beside(const dist_schedule *s, const dist_span *spans, int mine, int other, double *us) {
  const int *theirs = s->of_stream[other], n = s->n_of_stream[other];
  int64_t looked = 0;
  for (int i = 0, first = 0; i < s->n_of_stream[mine]; i++) {
    const dist_span *x = &spans[s->of_stream[mine][i]];
    for (; first < n && spans[theirs[first]].to <= x->from; first++) looked++;
    for (int k = first; k < n && spans[theirs[k]].from < x->to; k++, looked++) {
      const dist_span *y = &spans[theirs[k]];
      const double from = x->from > y->from ? x->from : y->from, to = x->to < y->to ? x->to : y->to;
      if (to > from) us[s->of_stream[mine][i]] += to - from;
    }
  }
  return looked;
}

int64_t dist_overlap(const dist_schedule *s, const dist_span *spans, double *us) {
  int64_t looked = 0;
  for (int i = 0; i < s->n_steps; i++) us[i] = 0;
  for (int mine = 0; mine < DIST_STREAMS; mine++)
    for (int other = 0; other < DIST_STREAMS; other++)
      if (mine != other) looked += beside(s, spans, mine, other, us);
  return looked;
}
