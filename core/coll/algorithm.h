/* core/coll/algorithm.h - the table of algorithms, with rows of the caller's behind it, and the schedules they make. */
#ifndef CORE_COLL_ALGORITHM_H
#define CORE_COLL_ALGORITHM_H
#include "core/coll/schedule.h"

/* Rows of the caller's, looked up after the library's; NULL or none: the library's alone. Not copied. */
typedef struct coll_set {
  const coll_algorithm *rows;
  int32_t n;
} coll_set;

/* The i-th algorithm; NULL past the last. */
const coll_algorithm *coll_algorithm_at(const coll_set *more, int32_t i);
const coll_algorithm *coll_algorithm_find(const coll_set *more, const char *name);
/* Why the algorithm doesn't do this, as a sentence; NULL: it does. */
const char *coll_refusal(const coll_algorithm *a, const coll_request *q);
/* TSR_INVALID_ARGUMENT for impossible requests, TSR_UNSUPPORTED with the row's sentence for refused ones. Schedules of
 * users' rows are held against the checker before they are given out; those of the library by the tests. */
TSR_MUST_USE tsr_status coll_generate(const tsr_allocator *al, const coll_algorithm *a, const coll_request *q,
                                      coll_schedule **out);
/* Is it a row of the library's? */
bool coll_is_own(const coll_algorithm *a);
#endif
