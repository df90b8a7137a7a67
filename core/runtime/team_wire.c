/* core/runtime/team_wire.c - see tsr_coll.wire: f32 and f64 are rounded to a narrower type for their way, one scale for
 * the whole call where the type has little range. The narrow call is one like any other: its sums are f32 in the fixed
 * order, and rounded once more. */
#include <math.h>

#include "core/runtime/internal.h"
#include "core/runtime/team_base.h"
#include "core/runtime/team_blocks.h"

typedef struct wire_type {
  tsr_dtype type;
  double most; /* the largest number; 0: its range is f32's, no scale is needed */
} wire_type;

static const wire_type types[] = {{TSR_BF16, 0}, {TSR_F16, 65504}, {TSR_F8E4M3, 448}, {TSR_F8E5M2, 57344}};

static const wire_type *find(tsr_dtype t) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == t) return &types[i];
  return NULL;
}

const char *team_wire_refusal(const coll_call *c) {
  const wire_type *w = find(c->wire);
  if (!c->wire) return NULL;
  if (!w && c->wire != TSR_I8) return "the types of a wire are bf16, f16, fp8_e4m3, fp8_e5m2 and i8";
  if (c->dtype != TSR_F32 && c->dtype != TSR_F64) return "a wire's type is for data of f32 or f64";
  if (w && w->most > 0 && coll_op_get(c->op)->reduces && c->redop == COLL_PROD)
    return "products have no common scale: bf16 is the wire's type for them";
  return NULL;
}

/* A power of two, so that it rounds nothing: with it no number on any rank, and no sum of all, is out of range. */
static tsr_status agree_on_scale(tsr_team *t, int rank, const coll_call *c, const wire_type *w, int64_t n,
                                 double *scale) {
  float mine = 0, all = 0;
  int e = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = fabs(dtype_load(c->dtype, c->in, (size_t)i));
    if (v > mine && v <= 3e38) mine = nextafterf((float)v, INFINITY);
  }
  const coll_call most = {.op = COLL_ALL_REDUCE,
                          .dtype = TSR_F32,
                          .redop = COLL_MAX,
                          .count = 1,
                          .in = &mine,
                          .out = &all,
                          .deadline_ms = c->deadline_ms};
  TSR_TRY(coll_run_rank(t->team, rank, &most));
  bool adds = coll_op_get(c->op)->reduces && c->redop == COLL_SUM;
  *scale = 1;
  if (!(all > 0)) return NULL;
  frexp(w->most / ((double)all * (adds ? tsr_team_size(t) : 1)), &e);
  *scale = ldexp(1, e - 1);
  return NULL;
}

static void narrow(const coll_call *c, void *to, int64_t n, double scale) {
  for (int64_t i = 0; i < n; i++) dtype_store(c->wire, to, (size_t)i, dtype_load(c->dtype, c->in, (size_t)i) * scale);
}

static void widen(const coll_call *c, const void *from, int64_t n, double scale) {
  for (int64_t i = 0; i < n; i++)
    dtype_store(c->dtype, c->out, (size_t)i, dtype_load(c->wire, from, (size_t)i) / scale);
}

tsr_status team_execute(tsr_team *t, int rank, const coll_call *c) {
  if (!c->wire) return coll_run_rank(t->team, rank, c);
  const wire_type *w = find(c->wire);
  int n = tsr_team_size(t);
  double scale = 1;
  int64_t n_in = coll_in_elements(c->op, c->count, n, rank, c->root);
  int64_t n_out = coll_out_elements(c->op, c->count, n, rank, c->root);
  if ((n_in && !c->in) || (n_out && !c->out)) return coll_run_rank(t->team, rank, c); /* which says so */
  if (!w) return team_run_blocks(&t->al, t->team, rank, c);
  if (w->most > 0) TSR_TRY(agree_on_scale(t, rank, c, w, n_in, &scale));
  size_t size = dtype_get(c->wire)->size, in_bytes = ((size_t)n_in + 1) * size, out_bytes = ((size_t)n_out + 1) * size;
  void *in = al_alloc(&t->al, in_bytes, 64), *out = al_alloc(&t->al, out_bytes, 64);
  coll_call narrowed = *c;
  narrowed.dtype = c->wire, narrowed.wire = TSR_DTYPE_NONE, narrowed.in = in, narrowed.out = out;
  if (in && out) narrow(c, in, n_in, scale);
  else narrowed.op = N_COLL_OPS; /* the others are told at once: this call stops the team */
  tsr_status st = coll_run_rank(t->team, rank, &narrowed);
  if (!in || !out) tsr_status_free(st), st = st_oom();
  if (!st) widen(c, out, n_out, scale);
  if (in) al_free(&t->al, in, in_bytes, 64);
  if (out) al_free(&t->al, out, out_bytes, 64);
  return st;
}
