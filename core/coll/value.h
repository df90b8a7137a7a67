/* core/coll/value.h - pieces of data on their way through a collective in one process. A value never changes once
 * another rank can see it, and is counted by references: ranks pass it on without copying, and read each other's
 * memory. It is a rank's own input ("lent": the lender counts who still reads it), memory of its own, or the sum of two
 * others that nobody has worked out yet; such a tree is worked out block by block, in one pass over what it is made of.
 */
#ifndef CORE_COLL_VALUE_H
#define CORE_COLL_VALUE_H
#include <stdatomic.h>

#include "core/base/alloc.h"
#include "core/coll/order.h"
#include "core/coll/reduce.h"

/* Memory of a rank that others may be reading; zero: nobody is. `freed` is called when it comes to zero. */
typedef struct coll_lender {
  atomic_int refs;
  void (*freed)(void *user);
  void *user;
} coll_lender;

typedef struct coll_value {
  atomic_int refs;
  coll_node node;        /* of the fixed tree; n = 0: any contributions */
  int32_t contributions;
  tsr_dtype type;        /* of the elements in data */
  size_t n;
  void *data;            /* NULL for what isn't worked out, and where n is 0 */
  coll_lender *lender;   /* whose memory data is; NULL: the value's own */
  struct coll_value *left, *right;
} coll_value;

/* How to work values out: the call's types, and when to stop. */
typedef struct coll_math {
  const tsr_allocator *al;
  tsr_dtype dtype, partial;
  coll_redop redop;
  int32_t n_ranks;
  const atomic_bool *stopped; /* looked at for every block */
} coll_math;

/* NULL: out of memory. */
coll_value *coll_value_lent(const coll_math *m, void *data, size_t n, int32_t rank, coll_lender *lender);
/* A value to receive into: elements of `node.n` contributions (`contributions` of them where the order is free), in
 * `into` (lent by `lender`) or, NULL, in new memory. */
coll_value *coll_value_blank(const coll_math *m, size_t n, coll_node node, int32_t contributions, void *into,
                             coll_lender *lender);
/* Takes over both references, also on failure. */
coll_value *coll_value_sum(const coll_math *m, coll_value *a, coll_value *b, coll_node node);
coll_value *coll_value_retain(coll_value *v);
void coll_value_release(const coll_math *m, coll_value *v);
/* Has it all contributions, so that its elements are of the call's type and final? */
static inline bool coll_value_is_full(const coll_math *m, const coll_value *v) {
  return v->contributions == m->n_ranks;
}
/* Works a value out that only the caller knows, into `into` (lent by `lender`; NULL: new memory). False: out of memory
 * or stopped. */
bool coll_value_work_out(const coll_math *m, coll_value *v, void *into, coll_lender *lender);
/* Copies what is worked out; false: stopped. */
bool coll_value_copy(const coll_math *m, const coll_value *v, void *out);
/* Bytes that it has on a wire. */
size_t coll_value_bytes(const coll_value *v);
#endif
