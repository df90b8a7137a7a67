/* core/coll/reduce.h - how elements are combined: the type that partial results have, and loops over blocks.
 * Sums and products of f16, bf16 and fp8 are f32 until all contributions are in, then rounded once; integers wrap; a
 * mean of integers is summed in i64 and divided towards zero. max and min are exact: +0 is above -0, and one NaN makes
 * the result NaN. bool: sum and max are "or", prod and min are "and"; it has no mean. */
#ifndef CORE_COLL_REDUCE_H
#define CORE_COLL_REDUCE_H
#include "core/base/dtype.h"

typedef enum coll_redop { COLL_SUM, COLL_PROD, COLL_MAX, COLL_MIN, COLL_MEAN, N_COLL_REDOPS } coll_redop;

const char *coll_redop_name(coll_redop r);
/* The type of partial results; TSR_DTYPE_NONE where the operation isn't defined for the type. */
tsr_dtype coll_partial_type(tsr_dtype t, coll_redop r);
/* Is every order of combining the same to the bit? */
bool coll_is_exact(tsr_dtype t, coll_redop r);

/* out[i] = a[i] op b[i] in the partial type `t`; out may be a or b. */
void coll_combine(tsr_dtype t, coll_redop r, void *out, const void *a, const void *b, size_t n);
/* Elements of type t as elements of its partial type and, with `of` contributions, back. */
void coll_widen(tsr_dtype t, tsr_dtype partial, void *out, const void *in, size_t n);
void coll_finish(tsr_dtype t, coll_redop r, int32_t of, void *out, const void *partial, size_t n);
#endif
