/* backends/vulkan/heap.c - buffers as parts of larger VkBuffers, for devices that bind fewer storage buffers than
 * kernels have: what lies in one VkBuffer takes one descriptor (descriptors.c). First fit; a chunk that is empty goes.
 * */
#include <string.h>

#include "backends/vulkan/vk.h"

enum { CHUNK_BYTES = 32 << 20, PART_ALIGN = 256 };

typedef struct part {
  size_t at, bytes;
} part;
typedef struct vk_chunk {
  struct vk_chunk *next;
  be_buffer *whole;
  be_memory kind;
  part *parts; /* taken, in order */
  size_t n, cap, bytes;
} vk_chunk;

/* Where `bytes` fit, and behind how many parts; false: nowhere. */
static bool find_gap(const vk_chunk *c, size_t bytes, size_t *at, size_t *behind) {
  *at = 0;
  for (*behind = 0; *behind < c->n && c->parts[*behind].at - *at < bytes; ++*behind)
    *at = c->parts[*behind].at + c->parts[*behind].bytes;
  return c->bytes - *at >= bytes;
}

static void chunk_destroy(be_device *d, vk_chunk *c) {
  vk_buffer_destroy(c->whole);
  al_free_array(d->env->al, c->parts, c->cap);
  al_delete(d->env->al, c);
}

static tsr_status add_chunk(be_device *d, size_t bytes, be_memory kind) {
  vk_chunk *c = al_new(d->env->al, vk_chunk);
  if (!c) return st_oom();
  *c = (vk_chunk){.kind = kind, .bytes = bytes, .whole = al_new(d->env->al, be_buffer)};
  if (!c->whole) {
    al_delete(d->env->al, c);
    return st_oom();
  }
  *c->whole = (be_buffer){.d = d, .bytes = bytes};
  atomic_fetch_add(&d->n_live, 1);
  tsr_status st = vk_buffer_allocate(d, c->whole, bytes, kind);
  if (st) {
    chunk_destroy(d, c);
    return st;
  }
  c->next = d->heap.chunks;
  d->heap.chunks = c;
  return NULL;
}

/* No more than the driver takes for a descriptor, an allocation and a buffer. */
static size_t chunk_bytes(const vk_limits *l) {
  uint64_t n = CHUNK_BYTES;
  if (n > l->max_range) n = l->max_range;
  if (n > l->max_allocation) n = l->max_allocation;
  if (l->max_buffer && n > l->max_buffer) n = l->max_buffer;
  return (size_t)n;
}

static tsr_status take(be_device *d, be_buffer *b, size_t bytes, be_memory kind) {
  size_t at = 0, behind = 0, usual = chunk_bytes(&d->limits);
  vk_chunk *c = d->heap.chunks;
  while (c && (c->kind != kind || !find_gap(c, bytes, &at, &behind))) c = c->next;
  if (!c) {
    TSR_TRY(add_chunk(d, bytes > usual ? bytes : usual, kind));
    c = d->heap.chunks, at = behind = 0;
  }
  if (!al_grow(d->env->al, &c->parts, &c->cap, c->n + 1, sizeof *c->parts)) return st_oom();
  memmove(c->parts + behind + 1, c->parts + behind, (c->n++ - behind) * sizeof *c->parts);
  c->parts[behind] = (part){at, bytes};
  const be_buffer *w = c->whole;
  b->chunk = c;
  b->vk[0] = w->vk[0], b->n_pieces = 1, b->piece = SIZE_MAX;
  b->offset = at, b->whole = w->whole;
  b->address = w->address + at;
  b->host = w->host ? (char *)w->host + at : NULL;
  return NULL;
}

tsr_status vk_heap_take(be_device *d, be_buffer *b, size_t size, be_memory kind, bool *taken) {
  const size_t part = (size + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
  *taken = !d->features.bda && d->limits.n_bindings < 16 && size <= d->limits.max_range / 4 &&
           part <= d->limits.max_allocation;
  if (!*taken) return NULL;
  if (vk_fault(&d->fault_oom))
    return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("vulkan", "buffer", "use smaller tensors or free others"),
                   "out of device memory for %zu bytes", b->bytes);
  pthread_mutex_lock(&d->heap.mutex);
  tsr_status st = take(d, b, part, kind);
  pthread_mutex_unlock(&d->heap.mutex);
  return st;
}

void vk_heap_give(be_buffer *b) {
  be_device *d = b->d;
  pthread_mutex_lock(&d->heap.mutex);
  vk_chunk *c = b->chunk, **link = &d->heap.chunks;
  size_t i = 0;
  while (c->parts[i].at != b->offset) i++;
  memmove(c->parts + i, c->parts + i + 1, (--c->n - i) * sizeof *c->parts);
  bool empty = !c->n;
  while (empty && *link != c) link = &(*link)->next;
  if (empty) *link = c->next;
  pthread_mutex_unlock(&d->heap.mutex);
  if (empty) chunk_destroy(d, c);
}
