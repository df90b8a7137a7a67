/* core/dist/search.h - shards for the inputs of a function that says nothing about some of them: coordinate descent
 * over how each is cut, from several beginnings, with the modelled time of the whole program as what is minimised. */
#ifndef CORE_DIST_SEARCH_H
#define CORE_DIST_SEARCH_H
#include "core/dist/solve.h"

typedef struct dist_found {
  dist_spec *args;               /* in p's arena */
  double us, memory;             /* of the best; bytes of inputs on a rank */
  double whole_us, whole_memory; /* with all inputs that are free whole */
  int n_tried;
  bool fits; /* into the device's memory */
} dist_found;

/* Inputs with shards keep them. */
TSR_MUST_USE tsr_status dist_search(dist_problem *p, dist_found *out);
#endif
