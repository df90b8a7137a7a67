/* core/tune/bucket.c - see bucket.h. */
#include "core/tune/bucket.h"

#include "core/tune/families.h"

#include <stdio.h>

int64_t tune_bucket(int64_t extent) {
  int64_t step = BUCKET_EXACT;
  if (extent <= BUCKET_EXACT) return extent;
  while (step < extent && step <= INT64_MAX / 4) step *= 2;
  return step < extent ? extent : extent <= step / 4 * 3 ? step / 4 * 3 : step;
}

static bool holds(const int64_t *v, int n, int64_t x) {
  for (int i = 0; i < n; i++)
    if (v[i] == x) return true;
  return false;
}

bool bucket_note(ir_op *op, const ir_type *before, const ir_type *now) {
  int64_t v[BUCKET_MAX_EXTENTS];
  int n = ir_get_ints(op, "symbolic", v, BUCKET_MAX_EXTENTS), had = n;
  if (n < 0 || n > BUCKET_MAX_EXTENTS || !before || before->rank != now->rank) return true;
  for (int from = 0; from < now->rank; from++) {
    int64_t extent = 1;
    bool unknown = false;
    for (int to = from; to < now->rank; to++) {
      unknown |= before->dims[to] == IR_DYNAMIC;
      if (now->dims[to] < 1 || extent > INT64_MAX / now->dims[to]) break;
      extent *= now->dims[to];
      if (unknown && extent > BUCKET_EXACT && n < BUCKET_MAX_EXTENTS && !holds(v, n, extent)) v[n++] = extent;
    }
  }
  return n == had || ir_set_attr(op, "symbolic", ir_attr_ints(op->module, v, n));
}

bool bucket_shape(const ir_op *program, const tune_problem *p, char *out, size_t out_bytes) {
  int64_t v[BUCKET_MAX_EXTENTS];
  int64_t extents[4];
  int n = program ? ir_get_ints(program, "symbolic", v, BUCKET_MAX_EXTENTS) : 0;
  int n_extents = tune_problem_extents(p, extents);
  bool rounded = false;
  size_t at = 0;
  out[0] = 0;
  if (n < 1) return false;
  if (n > BUCKET_MAX_EXTENTS) n = BUCKET_MAX_EXTENTS;
  for (int i = 0; i < n_extents && at < out_bytes; i++) {
    bool unknown = extents[i] > BUCKET_EXACT && holds(v, n, extents[i]);
    rounded |= unknown;
    at += (size_t)snprintf(out + at, out_bytes - at, "%s%s%lld", i > 0 ? "x" : "", unknown ? "~" : "",
                           (long long)(unknown ? tune_bucket(extents[i]) : extents[i]));
  }
  if (!rounded || at >= out_bytes) out[0] = 0;
  return out[0] != 0;
}
