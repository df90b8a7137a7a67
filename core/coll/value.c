/* core/coll/value.c - see value.h. Blocks are small enough for the operands of one sum to stay in the first cache. */
#include "core/coll/value.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

enum { BLOCK = 1024, COPY_BYTES = 1 << 20, STREAM_BYTES = 1 << 21, MAX_DEPTH = 64, BLOCK_BYTES = BLOCK * 8 };

static coll_value *value_new(const coll_math *m, size_t n, int32_t contributions, coll_node node) {
  coll_value *v = al_new(m->al, coll_value);
  if (!v) return NULL;
  atomic_init(&v->refs, 1);
  v->n = n, v->contributions = contributions, v->node = node, v->type = m->dtype;
  return v;
}

coll_value *coll_value_lent(const coll_math *m, void *data, size_t n, int32_t rank, coll_lender *lender) {
  coll_value *v = value_new(m, n, 1, (coll_node){rank, 1});
  if (!v) return NULL;
  v->data = data, v->lender = lender;
  atomic_fetch_add(&lender->refs, 1);
  return v;
}

coll_value *coll_value_blank(const coll_math *m, size_t n, coll_node node, int32_t contributions, void *into,
                             coll_lender *lender) {
  coll_value *v = value_new(m, n, contributions, node);
  if (!v) return NULL;
  if (contributions > 1 && !coll_value_is_full(m, v)) v->type = m->partial;
  size_t bytes = coll_value_bytes(v);
  if (into && bytes) {
    v->data = into, v->lender = lender;
    atomic_fetch_add(&lender->refs, 1);
  } else if (bytes && !(v->data = al_alloc(m->al, bytes, 64))) {
    coll_value_release(m, v);
    return NULL;
  }
  return v;
}

coll_value *coll_value_retain(coll_value *v) {
  atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
  return v;
}

static void give_back(coll_lender *l) {
  void (*freed)(void *) = l->freed;
  void *user = l->user;
  if (atomic_fetch_sub(&l->refs, 1) == 1) freed(user);
}

/* Sums are at most MAX_DEPTH deep (coll_value_sum). */
void coll_value_release(const coll_math *m, coll_value *v) {
  if (!v || atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) != 1) return;
  coll_value_release(m, v->left);
  coll_value_release(m, v->right);
  if (v->lender) give_back(v->lender);
  else if (v->data) al_free(m->al, v->data, coll_value_bytes(v), 64);
  al_delete(m->al, v);
}

static int32_t depth_of(const coll_value *v) {
  int32_t d = 0;
  for (; v && v->left; d++) v = v->left;
  return d;
}

coll_value *coll_value_sum(const coll_math *m, coll_value *a, coll_value *b, coll_node node) {
  coll_value *v = value_new(m, a->n, a->contributions + b->contributions, node);
  bool deep = depth_of(a) >= MAX_DEPTH - 2 || depth_of(b) >= MAX_DEPTH - 2;
  if (v && deep && (!coll_value_work_out(m, a, NULL, NULL) || !coll_value_work_out(m, b, NULL, NULL))) {
    coll_value_release(m, v);
    v = NULL;
  }
  if (!v) {
    coll_value_release(m, a), coll_value_release(m, b);
    return NULL;
  }
  v->left = a, v->right = b;
  return v;
}

size_t coll_value_bytes(const coll_value *v) { return v->n * dtype_get(v->type)->size; }

/* Elements from..from + n in the partial type: where they lie, or in `out`. scratch: a block for each level below. */
static const void *block_of(const coll_math *m, const coll_value *v, size_t from, size_t n, void *out, char *scratch) {
  size_t size = dtype_get(v->type)->size;
  if (v->left) {
    const void *a = block_of(m, v->left, from, n, out, scratch + BLOCK_BYTES);
    const void *b = block_of(m, v->right, from, n, scratch, scratch + BLOCK_BYTES);
    coll_combine(m->partial, m->redop, out, a, b, n);
    return out;
  }
  const char *at = (const char *)v->data + from * size;
  if (v->type == m->partial || (v->type == TSR_TF32 && m->partial == TSR_F32)) return at;
  coll_widen(v->type, m->partial, out, at, n);
  return out;
}

static int32_t levels(const coll_value *v) {
  if (!v->left) return 0;
  int32_t a = levels(v->left), b = levels(v->right);
  return 1 + (a > b ? a : b);
}

static bool is_stopped(const coll_math *m) { return atomic_load_explicit(m->stopped, memory_order_relaxed); }

static bool fill(const coll_math *m, const coll_value *v, tsr_dtype type, char *data) {
  size_t depth = (size_t)levels(v) + 2, size = dtype_get(type)->size;
  char *scratch = al_alloc(m->al, depth * BLOCK_BYTES, 64);
  bool ok = scratch != NULL, full = coll_value_is_full(m, v);
  for (size_t from = 0; from < v->n && ok; from += BLOCK) {
    size_t n = v->n - from < BLOCK ? v->n - from : BLOCK;
    bool direct = type == m->partial && m->redop != COLL_MEAN;
    void *out = direct ? data + from * size : scratch;
    const void *got = block_of(m, v, from, n, out, scratch + BLOCK_BYTES);
    if (full && !direct) coll_finish(m->dtype, m->redop, m->n_ranks, data + from * size, got, n);
    else if (got != data + from * size) memcpy(data + from * size, got, n * size);
    ok = !is_stopped(m);
  }
  if (scratch) al_free(m->al, scratch, depth * BLOCK_BYTES, 64);
  return ok;
}

bool coll_value_work_out(const coll_math *m, coll_value *v, void *into, coll_lender *lender) {
  if (!v->left) return true;
  tsr_dtype type = coll_value_is_full(m, v) ? m->dtype : m->partial;
  size_t bytes = v->n * dtype_get(type)->size;
  void *data = into ? into : bytes ? al_alloc(m->al, bytes, 64) : NULL;
  if (bytes && (!data || !fill(m, v, type, data))) {
    if (data && !into) al_free(m->al, data, bytes, 64);
    return false;
  }
  coll_value_release(m, v->left), coll_value_release(m, v->right);
  v->left = v->right = NULL;
  v->type = type, v->data = data;
  if (into) v->lender = lender, atomic_fetch_add(&lender->refs, 1);
  return true;
}

/* Past the caches: what is larger than they are would be read in only to be overwritten. */
static void stream(char *to, const char *from, size_t bytes) {
#if defined(__x86_64__)
  size_t head = (16 - (uintptr_t)to % 16) % 16, i;
  if (head > bytes) head = bytes;
  i = head;
  memcpy(to, from, head);
  for (; i + 64 <= bytes; i += 64)
    for (size_t k = 0; k < 64; k += 16)
      _mm_stream_si128((__m128i *)(void *)(to + i + k), _mm_loadu_si128((const __m128i *)(const void *)(from + i + k)));
  memcpy(to + i, from + i, bytes - i);
  _mm_sfence();
#else
  memcpy(to, from, bytes);
#endif
}

bool coll_value_copy(const coll_math *m, const coll_value *v, void *out) {
  size_t bytes = coll_value_bytes(v);
  for (size_t at = 0; at < bytes && v->data != out; at += COPY_BYTES) {
    if (is_stopped(m)) return false;
    size_t n = bytes - at < COPY_BYTES ? bytes - at : COPY_BYTES;
    if (bytes >= STREAM_BYTES) stream((char *)out + at, (const char *)v->data + at, n);
    else memcpy((char *)out + at, (const char *)v->data + at, n);
  }
  return true;
}
