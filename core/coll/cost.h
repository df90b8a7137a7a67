/* core/coll/cost.h - the time of a collective in closed form (alpha-beta-gamma over two levels of links), with the
 * symmetric ranks of a machine folded into one: as cheap for 16,384 ranks as for two. */
#ifndef CORE_COLL_COST_H
#define CORE_COLL_COST_H
#include "core/coll/topology.h"

/* By level: rounds that follow each other, messages that a rank has under way besides, and what leaves through a rank's
 * link, as a multiple of the vector. */
typedef struct coll_terms {
  double rounds[COLL_LEVELS], messages[COLL_LEVELS], bytes[COLL_LEVELS];
  double reduced; /* what a rank combines, as a multiple of the vector */
  bool together;  /* both levels are busy at once; else one after the other */
} coll_terms;

typedef struct coll_place {
  int64_t n, k, nodes; /* ranks in all, in a domain of the first level, domains */
} coll_place;

/* False with a sentence where the machine hasn't so many ranks. */
bool coll_place_of(const coll_topology *t, int64_t ranks, coll_place *out, const char **why);
/* False with a sentence where the algorithm isn't for this. */
bool coll_terms_of(const char *algorithm, coll_op op, const coll_place *p, coll_terms *out, const char **why);
/* Microseconds for a vector of so many bytes (the whole one, for reduce_scatter and all_gather). */
double coll_time_us(const coll_topology *t, const coll_terms *x, double bytes);
#endif
