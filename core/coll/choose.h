/* core/coll/choose.h - the algorithm of a call that names none: a table by operation, ranks and size. */
#ifndef CORE_COLL_CHOOSE_H
#define CORE_COLL_CHOOSE_H
#include "core/coll/call.h"

/* A row holds for calls of its operation with at most so many ranks and bytes of the whole vector; the first that fits
 * is taken. */
typedef struct coll_choice {
  coll_op op;
  int32_t most_ranks;
  int64_t most_bytes;
  const char *algorithm;
} coll_choice;

/* `apart`: ranks don't read each other's memory. Rows of `own` (n of them, may be none) come first. */
const char *coll_choose(const coll_choice *own, size_t n, const coll_call *c, int32_t n_ranks, bool apart);
#endif
