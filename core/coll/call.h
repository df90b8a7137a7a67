/* core/coll/call.h - what a rank asks for. */
#ifndef CORE_COLL_CALL_H
#define CORE_COLL_CALL_H
#include "core/coll/algorithm.h"
#include "core/coll/reduce.h"

typedef struct coll_team coll_team;

typedef struct coll_call {
  coll_op op;
  tsr_dtype dtype;
  tsr_dtype wire;        /* of who makes the call: what its data is rounded to first; the executor takes no notice */
  coll_redop redop;
  int64_t count;         /* elements, as coll_chunk_elements has them */
  int32_t root, group;
  const char *algorithm; /* NULL: chosen (choose.h) */
  bool any_order;
  const char *team;      /* for messages: whose ranks the numbers are; NULL: nothing more to say */
  const void *in;        /* coll_in_elements; may be NULL for none */
  void *out;             /* coll_out_elements; may be `in`, or hold it anywhere */
  int64_t deadline_ms;   /* from the start of the call; 0: 30,000 */
  void (*pause)(void *user, int32_t rank); /* for tests: called between any two steps of the rank */
  void *user;
} coll_call;
#endif
