/* core/runtime/routine_linalg.c - the routines of matrices: tri_solve, cholesky, qr, svd for f32 and f64
 * (routine_linalg_body.h), and how matrices go to cores: those of a batch one by one, of a single one its panels. */
#include <math.h>
#include <string.h>

#include "core/runtime/routine_call.h"

enum { FEW = 4 };

/* What bodies get: matrix number `item` of each tensor, and memory of their own. */
typedef struct matrices {
  const routine_call *c;
  void *data[ROUTINE_MOST_TENSORS];
  int64_t m, n; /* of the first tensor */
  void *scratch;
} matrices;

typedef struct linalg_job {
  routine_call *c;
  void (*body)(const matrices *x);
  char *scratch;
  size_t scratch_bytes; /* of each worker */
} linalg_job;

static int64_t row_count(const routine_call *c) { return c->tensor[0].dims[c->tensor[0].rank - 2]; }
static int64_t column_count(const routine_call *c) { return c->tensor[0].dims[c->tensor[0].rank - 1]; }

static size_t matrix_bytes(const routine_call *c, int tensor) {
  size_t n = tsr_dtype_size(c->type);
  for (int i = c->tensor[0].rank - 2; i < c->tensor[tensor].rank; i++) n *= (size_t)c->tensor[tensor].dims[i];
  return n;
}

static void one_matrix(void *arg, int64_t item, int worker) {
  linalg_job *j = arg;
  matrices x = {.c = j->c, .m = row_count(j->c), .n = column_count(j->c)};
  for (int i = 0; i < j->c->n_tensors; i++)
    x.data[i] = (char *)j->c->tensor[i].data + (size_t)item * matrix_bytes(j->c, i);
  x.scratch = j->scratch + (size_t)worker * j->scratch_bytes;
  j->body(&x);
}

/* Matrices of a batch on all cores; few of them one after the other, each of which spreads what it can. */
static tsr_status each_matrix(routine_call *c, void (*body)(const matrices *x), size_t scratch_bytes) {
  const int workers = c->batch >= FEW && c->dev && c->dev->caps.n_cores > 1 ? c->dev->caps.n_cores : 1;
  linalg_job j = {.c = c, .body = body, .scratch_bytes = (scratch_bytes + 63) & ~(size_t)63};
  const size_t bytes = j.scratch_bytes * (size_t)workers;
  if (bytes && !(j.scratch = al_alloc(c->al, bytes, 64))) return st_oom();
  if (c->batch >= FEW) routine_spread(c, one_matrix, &j, c->batch);
  else
    for (int64_t i = 0; i < c->batch; i++) one_matrix(&j, i, 0);
  if (bytes) al_free(c->al, j.scratch, bytes, 64);
  return NULL;
}

/* Does a matrix spread its own parts? Not where whole ones are spread already: a core waits for no other. */
static bool splits(const matrices *x) { return x->c->batch < FEW; }

#define T float
#define NAME(x) x##_f32
#define SQRT sqrtf
#define ABS fabsf
#define EPS 0x1p-24f
#include "core/runtime/routine_linalg_body.h"
#undef T
#undef NAME
#undef SQRT
#undef ABS
#undef EPS
#define T double
#define NAME(x) x##_f64
#define SQRT sqrt
#define ABS fabs
#define EPS 0x1p-53
#include "core/runtime/routine_linalg_body.h"

#define EACH(c, name, bytes) each_matrix(c, (c)->type == TSR_F64 ? name##_f64 : name##_f32, bytes)

tsr_status routine_tri_solve(routine_call *c) { return EACH(c, tri_solve, 0); }
tsr_status routine_cholesky(routine_call *c) { return EACH(c, cholesky, 0); }

/* The factors' product as it is reduced, a row of it, and a number for each reflection. */
tsr_status routine_qr(routine_call *c) {
  const size_t m = (size_t)row_count(c), n = (size_t)column_count(c), size = tsr_dtype_size(c->type);
  return EACH(c, qr, (m * n + (m > n ? m : n) + (m < n ? m : n) + 64) * size);
}

/* The vectors that are rotated, the rotations, the vectors' lengths and order. */
tsr_status routine_svd(routine_call *c) {
  const size_t m = (size_t)row_count(c), n = (size_t)column_count(c), size = tsr_dtype_size(c->type);
  const size_t k = m < n ? m : n, longer = m < n ? n : m;
  return EACH(c, svd, (k * longer + k * k + k + 64) * size + k * sizeof(int64_t));
}
