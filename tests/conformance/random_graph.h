/* tests/conformance/random_graph.h - random graphs over include/tessera alone: every op, type and awkward shape. */
#ifndef TESTS_CONFORMANCE_RANDOM_GRAPH_H
#define TESTS_CONFORMANCE_RANDOM_GRAPH_H
#include "tessera/tessera.h"

typedef struct rng {
  uint64_t s;
  bool no_extremes;  /* random_fill: small floats only */
  bool no_denormals; /* random_fill: zeros in their place, for devices that don't say that they keep them */
} rng;
uint64_t rng_next(rng *r);
int64_t rng_range(rng *r, int64_t lo, int64_t hi); /* inclusive */
double rng_unit(rng *r);

/* Builds one random graph; `what` receives a line that describes it. The families are numbered
 * 0..random_graph_families()-1. */
int random_graph_families(void);
const char *random_graph_family_name(int family);
tsr_status random_graph(tsr_context *ctx, rng *r, int family, tsr_graph **out, char *what, size_t what_bytes);
/* n numbers (of complex elements two each) for an input of type t: integers from its whole range; floats small in
 * five of eight tensors, else of any exponent, or with NaN, infinities, zeros of both signs, denormals and the
 * largest numbers among them. positive: no negative numbers. */
void random_fill(rng *r, tsr_dtype t, void *data, size_t n, bool positive);
#endif
