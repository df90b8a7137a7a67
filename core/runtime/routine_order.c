/* core/runtime/routine_order.c - the routines sort and topk: the elements of each row along an axis get keys, integers
 * that are in order where the elements are (NaN is the greatest, 0 and -0 are equal), and a radix sort, which keeps the
 * order of equal ones, orders keys with their places. Of the first few of a row only those are sorted that may be
 * among them. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/runtime/routine_call.h"

enum {
  DIGITS = 256,
  INSERTED = 80, /* so many are inserted one by one */
  CHUNK = 256,   /* keys that are made at a time */
  SHARE = 4096,  /* elements that a core takes at least, where there are as many rows */
  LINE = 16,     /* neighbouring columns, which are in the same lines of the cache */
  LEAST_ROOM = 16,
};

typedef struct order {
  routine_call *c;
  tsr_dtype type;
  int64_t rows, n, k, room; /* room: for items that a row has collected */
  int64_t inner, step;      /* elements behind the axis; bytes from an element to the next */
  int64_t share;            /* rows that a core takes at a time */
  int key_bytes;
  bool descending;
  uint64_t infinite;        /* the magnitude beyond which a float is none */
  int32_t *places;          /* each worker's, k of them, */
  char *scratch;            /* and its items */
  size_t scratch_bytes;
} order;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* Of floats: a magnitude with a sign, of `bits` bits. Of integers the sign is all that stands the wrong way round. */
static uint64_t float_key(uint64_t v, int bits, uint64_t infinite) {
  const uint64_t sign = (uint64_t)1 << (bits - 1), all = sign - 1 + sign, magnitude = v & (sign - 1);
  if (magnitude > infinite) return all;
  return magnitude && v & sign ? v ^ all : magnitude | sign;
}

#define EACH_KEY(T, ...)                                  \
  for (int64_t i = 0; i < n; i++, p += q->step) {         \
    T v;                                                  \
    memcpy(&v, p, sizeof v);                              \
    keys[i] = (uint64_t)(__VA_ARGS__) ^ flip;             \
  }                                                       \
  break

/* Of n elements from p on; the least is the first of the order. */
static void keys_of(const order *q, const char *p, int64_t n, uint64_t *keys) {
  const uint64_t flip = !q->descending ? 0 : UINT64_MAX >> (64 - 8 * q->key_bytes);
  switch (q->type) {
  case TSR_F64: EACH_KEY(uint64_t, float_key(v, 64, q->infinite));
  case TSR_F32: EACH_KEY(uint32_t, float_key(v, 32, q->infinite));
  case TSR_F16:
  case TSR_BF16: EACH_KEY(uint16_t, float_key(v, 16, q->infinite));
  case TSR_F8E4M3:
  case TSR_F8E5M2: EACH_KEY(uint8_t, float_key(v, 8, q->infinite));
  case TSR_I64: EACH_KEY(uint64_t, v ^ (uint64_t)1 << 63);
  case TSR_I32: EACH_KEY(uint32_t, v ^ (uint32_t)1 << 31);
  case TSR_I16: EACH_KEY(uint16_t, v ^ 0x8000u);
  case TSR_I8: EACH_KEY(uint8_t, v ^ 0x80u);
  default: EACH_KEY(uint8_t, v);
  }
}

static uint64_t infinite_of(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return 0x7ff0000000000000;
  case TSR_F32: return 0x7f800000;
  case TSR_F16: return 0x7c00;
  case TSR_BF16: return 0x7f80;
  case TSR_F8E4M3: return 0x7e; /* the greatest number: it has no infinity */
  case TSR_F8E5M2: return 0x7c;
  default: return 0;
  }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct wide {
  uint64_t key;
  uint32_t at;
} wide;

#define NAME(x) x##_narrow
#define ITEM uint64_t
#define NEW(key, at) ((key) << 32 | (uint64_t)(at))
#define KEY(x) ((x) >> 32)
#define PLACE(x) ((x) & UINT32_MAX)
#define BEFORE(x, y) ((x) < (y))
#include "core/runtime/routine_order_body.h"
#undef NAME
#undef ITEM
#undef NEW
#undef KEY
#undef PLACE
#undef BEFORE
#define NAME(x) x##_wide
#define ITEM wide
#define NEW(k, i) ((wide){.key = (k), .at = (uint32_t)(i)})
#define KEY(x) ((x).key)
#define PLACE(x) ((x).at)
#define BEFORE(x, y) ((x).key != (y).key ? (x).key < (y).key : (x).at < (y).at)
#include "core/runtime/routine_order_body.h"

/* The elements at these places, and the places. */
static void put_row(const order *q, const char *row, char *values, char *indices, const int32_t *places) {
  const size_t size = tsr_dtype_size(q->type);
  const bool is_long = q->c->tensor[2].type == TSR_I64;
  for (int64_t i = 0; i < q->k; i++, values += q->step) memcpy(values, row + places[i] * q->step, size);
  for (int64_t i = 0; i < q->k; i++)
    if (is_long) ((int64_t *)indices)[i * q->inner] = places[i];
    else ((int32_t *)indices)[i * q->inner] = places[i];
}

static void some_rows(void *arg, int64_t item, int worker) {
  const order *q = arg;
  const int64_t last = min64(q->rows, (item + 1) * q->share);
  const size_t size = tsr_dtype_size(q->type), index = tsr_dtype_size(q->c->tensor[2].type);
  char *scratch = q->scratch + (size_t)worker * q->scratch_bytes;
  int32_t *places = q->places + (size_t)worker * (size_t)q->k;
  for (int64_t row = item * q->share; row < last; row++) {
    const int64_t outer = row / q->inner, column = row % q->inner;
    const char *x = (char *)q->c->tensor[0].data + (size_t)(outer * q->n * q->inner + column) * size;
    const size_t to = (size_t)(outer * q->k * q->inner + column);
    (q->key_bytes > 4 ? first_wide : first_narrow)(q, x, scratch, places);
    put_row(q, x, (char *)q->c->tensor[1].data + to * size, (char *)q->c->tensor[2].data + to * index, places);
  }
}

static order described(routine_call *c, bool descending) {
  order q = {.c = c, .type = c->type, .rows = 1, .inner = 1, .descending = descending};
  const int rank = c->tensor[0].rank, axis = (int)(c->number[0] < 0 ? c->number[0] + rank : c->number[0]);
  for (int i = 0; i < rank; i++)
    if (i != axis) q.rows *= c->tensor[0].dims[i];
  for (int i = axis + 1; i < rank; i++) q.inner *= c->tensor[0].dims[i];
  q.n = c->tensor[0].dims[axis], q.k = c->tensor[1].dims[axis];
  q.step = q.inner * (int64_t)tsr_dtype_size(q.type);
  q.room = min64(q.n, max64(LEAST_ROOM, 2 * q.k));
  q.key_bytes = (int)tsr_dtype_size(q.type);
  q.infinite = infinite_of(q.type);
  return q;
}

static tsr_status in_order(routine_call *c, bool descending) {
  order q = described(c, descending);
  if (!q.rows || !q.k) return NULL;
  const int64_t workers = c->dev && c->dev->caps.n_cores > 1 ? c->dev->caps.n_cores : 1;
  const int64_t most = ceil_div(q.rows, workers), wanted = q.inner > 1 ? LINE : ceil_div(SHARE, q.n);
  q.share = min64(most, wanted);
  q.scratch_bytes = 2 * (size_t)q.room * (q.key_bytes > 4 ? sizeof(wide) : sizeof(uint64_t));
  const size_t places = sizeof *q.places * (size_t)q.k, bytes = (q.scratch_bytes + places) * (size_t)workers;
  if (!(q.scratch = al_alloc(c->al, bytes, 64))) return st_oom();
  q.places = (int32_t *)(q.scratch + q.scratch_bytes * (size_t)workers);
  const int64_t items = ceil_div(q.rows, q.share);
  if (q.rows * q.n >= SHARE) routine_spread(c, some_rows, &q, items);
  else
    for (int64_t i = 0; i < items; i++) some_rows(&q, i, 0);
  al_free(c->al, q.scratch, bytes, 64);
  return NULL;
}

tsr_status routine_sort(routine_call *c) { return in_order(c, c->flag[0]); }
tsr_status routine_topk(routine_call *c) { return in_order(c, c->flag[0]); }
