/* core/runtime/routine_call.h - what a routine gets, and the routines: routine.h makes the calls. */
#ifndef CORE_RUNTIME_ROUTINE_CALL_H
#define CORE_RUNTIME_ROUTINE_CALL_H
#include "core/runtime/internal.h"

enum { ROUTINE_MOST_TENSORS = 16, ROUTINE_MOST_FLAGS = 4, ROUTINE_MOST_WORDS = 2,
       ROUTINE_MOST_NUMBERS = 1 };

/* One call: inputs, then results, each of its own memory, row-major. */
typedef struct routine_call {
  const struct routine_row *row;
  tsr_dtype type; /* of all of them but indices */
  int n_tensors, n_results;
  struct {
    int rank;
    int64_t dims[TSR_MAX_RANK];
    tsr_dtype type;
    void *data;
  } tensor[ROUTINE_MOST_TENSORS];
  bool flag[ROUTINE_MOST_FLAGS]; /* attributes that the row names */
  char word[ROUTINE_MOST_WORDS][16];
  int64_t number[ROUTINE_MOST_NUMBERS];
  int64_t batch;                 /* matrices: the product of all dimensions of the first tensor but the last two */
  double flops;
  tsr_device *dev;               /* on whose cores it runs, if it lends them */
  const tsr_allocator *al;
} routine_call;

typedef struct routine_row {
  const char *name; /* of the op, without the dialect */
  const char *flags[ROUTINE_MOST_FLAGS]; /* attributes that are bool */
  tsr_status (*run)(routine_call *c);
  const char *words[ROUTINE_MOST_WORDS]; /* that are strings */
  const char *numbers[ROUTINE_MOST_NUMBERS]; /* that are integers */
} routine_row;

/* Items 0..n-1 of fn, on all cores where they lend themselves. */
void routine_spread(const routine_call *c, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n);

/* routine_linalg.c */
tsr_status routine_tri_solve(routine_call *c);
tsr_status routine_cholesky(routine_call *c);
tsr_status routine_qr(routine_call *c);
tsr_status routine_svd(routine_call *c);
/* routine_order.c */
tsr_status routine_sort(routine_call *c);
tsr_status routine_topk(routine_call *c);
/* routine_scan.c */
tsr_status routine_cumsum(routine_call *c);
tsr_status routine_cumprod(routine_call *c);
/* routine_blocks.c */
tsr_status routine_dequantize(routine_call *c);
tsr_status routine_block_matmul(routine_call *c);
/* routine_recurrence.c */
tsr_status routine_recurrence(routine_call *c);
#endif
