/* tests/support/coll_case.h - one collective on exact inputs and what each rank must have afterwards, for tests of any
 * transport: the inputs are small, so that all sums and products are exact in every type. */
#ifndef TESTS_SUPPORT_COLL_CASE_H
#define TESTS_SUPPORT_COLL_CASE_H
#include "core/coll/team.h"

/* Bytes of memory that a rank's input and its result each need. */
size_t coll_case_bytes(const coll_call *like, int32_t n);
/* Fills the memory of rank r (the result's with a pattern) and says where input and result lie. */
void coll_case_fill(coll_call *c, int32_t n, int32_t r, bool in_place, char *in, char *out);
/* Elements of the result that are not what they should be to the bit. */
int64_t coll_case_wrong(const coll_call *c, int32_t n, int32_t r);
/* Real numbers of rank r, for sums whose bits depend on the order. */
void coll_case_reals(tsr_dtype t, void *to, size_t n, int32_t r);
#endif
