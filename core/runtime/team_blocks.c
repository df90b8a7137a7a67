/* core/runtime/team_blocks.c - see tsr_coll.wire: data of f32 and f64 as int8 with a scale for each block of 32
 * elements. Such numbers can't be added up as they are: what is reduced goes to the rank whose block of the vector it
 * is, is added up there in the order of the ranks, and goes on from there; so the bits are the same on every rank. */
#include <math.h>
#include <string.h>

#include "core/coll/state.h"
#include "core/runtime/team_blocks.h"

enum { BLOCK = 32, BLOCK_BYTES = BLOCK + sizeof(float) };

static size_t coded_bytes(int64_t n) { return (size_t)((n + BLOCK - 1) / BLOCK) * BLOCK_BYTES; }

/* A block with an element that isn't finite becomes NaN. */
static void encode(tsr_dtype t, const void *from, int64_t at, int64_t n, char *to) {
  for (int64_t b = 0; b < n; b += BLOCK, to += BLOCK_BYTES) {
    const int64_t len = n - b < BLOCK ? n - b : BLOCK;
    double v[BLOCK], most = 0;
    bool finite = true;
    for (int64_t i = 0; i < len; i++) {
      v[i] = dtype_load(t, from, (size_t)(at + b + i));
      finite &= fabs(v[i]) <= 3.4e38; /* a scale is f32 */
      if (fabs(v[i]) > most) most = fabs(v[i]);
    }
    const float scale = finite ? (float)(most / 127) : NAN;
    memcpy(to, &scale, sizeof scale);
    memset(to + sizeof scale, 0, BLOCK);
    for (int64_t i = 0; i < len && scale > 0; i++) {
      const double q = nearbyint(v[i] / (double)scale);
      ((int8_t *)to)[sizeof scale + (size_t)i] = (int8_t)(q > 127 ? 127 : q < -127 ? -127 : q);
    }
  }
}

static double decoded(const char *from, int64_t i) {
  float scale;
  from += i / BLOCK * BLOCK_BYTES;
  memcpy(&scale, from, sizeof scale);
  return (double)scale * ((const int8_t *)from)[sizeof scale + (size_t)(i % BLOCK)];
}

static void decode(tsr_dtype t, const char *from, int64_t n, void *to, int64_t at) {
  for (int64_t i = 0; i < n; i++) dtype_store(t, to, (size_t)(at + i), decoded(from, i));
}

typedef struct blocks_call {
  const tsr_allocator *al;
  coll_team *team;
  const coll_call *c;
  int rank, n;
  int64_t mine; /* elements of this rank's block of the vector */
  size_t each;  /* bytes of a block of it, coded */
  char *in, *out;
} blocks_call;

static tsr_status move_bytes(const blocks_call *x, coll_op op, size_t count) {
  const coll_call bytes = {.op = op,
                           .dtype = TSR_U8,
                           .count = (int64_t)count,
                           .root = op == COLL_BROADCAST ? x->c->root : 0,
                           .team = x->c->team,
                           .in = x->in,
                           .out = x->out,
                           .deadline_ms = x->c->deadline_ms};
  return coll_run_rank(x->team, x->rank, &bytes);
}

static void encode_all(const blocks_call *x) {
  for (int r = 0; r < x->n; r++) {
    const coll_range b = coll_split(x->c->count, x->n, r);
    encode(x->c->dtype, x->c->in, b.first, b.n, x->in + (size_t)r * x->each);
  }
}

static void decode_all(const blocks_call *x) {
  for (int r = 0; r < x->n; r++) {
    const coll_range b = coll_split(x->c->count, x->n, r);
    decode(x->c->dtype, x->out + (size_t)r * x->each, b.n, x->c->out, b.first);
  }
}

static double reduced(const blocks_call *x, int64_t i) {
  double v = decoded(x->out, i);
  for (int r = 1; r < x->n; r++) {
    const double y = decoded(x->out + (size_t)r * x->each, i);
    switch (x->c->redop) {
      case COLL_PROD: v *= y; break;
      case COLL_MAX: v = isnan(v) || isnan(y) ? NAN : y > v ? y : v; break;
      case COLL_MIN: v = isnan(v) || isnan(y) ? NAN : y < v ? y : v; break;
      default: v += y;
    }
  }
  return x->c->redop == COLL_MEAN ? v / x->n : v;
}

/* This rank's block of the result, at `to` from its element `at` on. */
static tsr_status reduce_own(const blocks_call *x, void *to) {
  encode_all(x);
  TSR_TRY(move_bytes(x, COLL_ALL_TO_ALL, (size_t)x->n * x->each));
  for (int64_t i = 0; i < x->mine; i++) dtype_store(x->c->dtype, to, (size_t)i, reduced(x, i));
  return NULL;
}

static tsr_status reduce_all(const blocks_call *x, bool writes) {
  void *own = al_alloc(x->al, ((size_t)x->mine + 1) * dtype_get(x->c->dtype)->size, 64);
  tsr_status st = own ? reduce_own(x, own) : st_oom();
  if (!st) {
    encode(x->c->dtype, own, 0, x->mine, x->in);
    st = move_bytes(x, COLL_ALL_GATHER, (size_t)x->n * x->each);
  } else if (!own) {
    tsr_status_free(move_bytes(x, N_COLL_OPS, 0)); /* the others are told at once */
  }
  if (!st && writes) decode_all(x);
  if (own) al_free(x->al, own, ((size_t)x->mine + 1) * dtype_get(x->c->dtype)->size, 64);
  return st;
}

static tsr_status run(const blocks_call *x) {
  const coll_call *c = x->c;
  const size_t whole = coded_bytes(c->count);
  const bool root = x->rank == c->root;
  tsr_status st = NULL;
  switch (c->op) {
    case COLL_ALL_REDUCE: return reduce_all(x, true);
    case COLL_REDUCE: return reduce_all(x, root);
    case COLL_REDUCE_SCATTER: return reduce_own(x, c->out);
    case COLL_ALL_GATHER:
      encode(c->dtype, c->in, 0, x->mine, x->in);
      st = move_bytes(x, COLL_ALL_GATHER, (size_t)x->n * x->each);
      if (!st) decode_all(x);
      return st;
    case COLL_ALL_TO_ALL:
      encode_all(x);
      st = move_bytes(x, COLL_ALL_TO_ALL, (size_t)x->n * x->each);
      for (int r = 0; r < x->n && !st; r++)
        decode(c->dtype, x->out + (size_t)r * x->each, x->mine, c->out, r * x->mine);
      return st;
    default:
      if (c->op != COLL_BROADCAST || root) encode(c->dtype, c->in, 0, c->count, x->in);
      st = move_bytes(x, c->op, whole);
      if (!st) decode(c->dtype, x->out, c->count, c->out, 0);
      return st;
  }
}

typedef struct asked {
  int64_t count;
  int32_t op, dtype, redop, root;
} asked;

/* The exchanges are of bytes: what they are for is compared first. */
static tsr_status agree(const blocks_call *x) {
  const coll_call *c = x->c;
  const asked mine = {c->count, (int32_t)c->op, (int32_t)c->dtype, coll_op_get(c->op)->reduces ? (int32_t)c->redop : 0,
                      c->root};
  asked all[COLL_MAX_RANKS];
  const coll_call tell = {.op = COLL_ALL_GATHER,
                          .dtype = TSR_U8,
                          .count = (int64_t)sizeof mine * x->n,
                          .team = c->team,
                          .in = &mine,
                          .out = all,
                          .deadline_ms = c->deadline_ms};
  TSR_TRY(coll_run_rank(x->team, x->rank, &tell));
  for (int r = 1; r < x->n; r++) {
    char one[COLL_CALL_TEXT], other[COLL_CALL_TEXT];
    if (!memcmp(&all[0], &all[r], sizeof mine)) continue;
    coll_call a = {.op = (coll_op)all[0].op, .dtype = (tsr_dtype)all[0].dtype, .redop = (coll_redop)all[0].redop};
    coll_call b = {.op = (coll_op)all[r].op, .dtype = (tsr_dtype)all[r].dtype, .redop = (coll_redop)all[r].redop};
    a.count = all[0].count, b.count = all[r].count;
    return st_make(x->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("runtime", "team_run", NULL),
                   "rank 0 calls %s (root %d), rank %d calls %s (root %d), both as i8 on their way",
                   coll_call_describe(&a, one, sizeof one), all[0].root, r, coll_call_describe(&b, other, sizeof other),
                   all[r].root);
  }
  return NULL;
}

tsr_status team_run_blocks(const tsr_allocator *al, coll_team *t, int rank, const coll_call *c) {
  const int n = coll_team_size(t);
  if (c->op == COLL_BARRIER || c->root < 0 || c->root >= n || (c->root && !coll_op_get(c->op)->has_root))
    return coll_run_rank(t, rank, c); /* nothing to narrow; or it says what is wrong */
  blocks_call x = {.al = al,
                   .team = t,
                   .c = c,
                   .rank = rank,
                   .n = n,
                   .mine = coll_split(c->count, n, rank).n,
                   .each = coded_bytes(coll_split(c->count, n, 0).n)};
  const size_t bytes = (size_t)n * x.each + coded_bytes(c->count) + 1;
  x.in = al_zalloc(al, bytes), x.out = al_zalloc(al, bytes);
  tsr_status st = x.in && x.out ? agree(&x) : st_oom();
  if (!st) st = run(&x);
  if (!x.in || !x.out) tsr_status_free(move_bytes(&x, N_COLL_OPS, 0)); /* the others are told at once */
  if (x.in) al_free(al, x.in, bytes, 16);
  if (x.out) al_free(al, x.out, bytes, 16);
  return st;
}
