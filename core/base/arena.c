/* core/base/arena.c - see arena.h. */
#include "core/base/arena.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/number.h"

struct arena_chunk {
  arena_chunk *next;
  size_t bytes;
};

enum { CHUNK_MIN = 16 * 1024, HEAD = 32, AHEAD = 1024 };

void arena_init(arena *a, const tsr_allocator *al) {
  memset(a, 0, sizeof *a);
  a->al = al && al->alloc ? *al : al_default;
}

void arena_clear(arena *a) {
  for (arena_chunk *c = a->chunks, *next; c; c = next) {
    next = c->next;
    al_free(&a->al, c, c->bytes, 16);
  }
  a->chunks = NULL;
  a->used = a->cap = a->clear = 0;
}

/* A chunk with room for size bytes. */
static bool add_chunk(arena *a, size_t size) {
  size_t grow = a->chunks ? a->chunks->bytes * 2 : CHUNK_MIN;
  if (grow > (1u << 20)) grow = 1u << 20;
  if (grow < size + HEAD) grow = size + HEAD;
  arena_chunk *c = al_alloc(&a->al, grow, 16);
  if (!c) return false;
  c->next = a->chunks;
  c->bytes = grow;
  a->chunks = c;
  a->used = a->clear = HEAD;
  a->cap = grow;
  return true;
}

/* Bytes up to `to` and some beyond become 0: most of what is handed out is smaller than the call that clears it. */
static void clear_ahead(arena *a, size_t to) {
  size_t end = a->cap - to < AHEAD ? a->cap : to + AHEAD;
  memset((char *)a->chunks + a->clear, 0, end - a->clear);
  a->clear = end;
}

/* Where what is clear already doesn't do; apart, so that the other case saves no registers for it. */
__attribute__((noinline)) static void *alloc_more(arena *a, size_t size) {
  if (size > SIZE_MAX / 2) return al_too_large();
  size = (size + 15) & ~(size_t)15;
  if ((!a->chunks || a->cap - a->used < size) && !add_chunk(a, size)) return NULL;
  const size_t at = a->used;
  a->used += size;
  if (a->used > a->clear) clear_ahead(a, a->used);
  return (char *)a->chunks + at;
}

void *arena_alloc(arena *a, size_t size) {
  const size_t at = a->used, left = a->clear - at; /* multiples of 16, but for a chunk's end */
  if (size - 1 >= left || ((size + 15) & ~(size_t)15) > left) return alloc_more(a, size);
  a->used = at + ((size + 15) & ~(size_t)15);
  return (char *)a->chunks + at;
}

size_t arena_bytes(const arena *a) {
  size_t sum = a->used - a->cap;
  for (const arena_chunk *c = a->chunks; c; c = c->next) sum += c->bytes;
  return sum;
}

void *arena_dup(arena *a, const void *p, size_t n) {
  void *q = arena_alloc(a, n);
  if (q && n) memcpy(q, p, n);
  return q;
}

char *arena_strn(arena *a, const char *s, size_t n) {
  char *q = arena_alloc(a, n + 1);
  if (q && n) memcpy(q, s, n);
  return q;
}

char *arena_str(arena *a, const char *s) { return arena_strn(a, s, strlen(s)); }

/* Most texts fit at once: printing is much of what the making of a source costs. */
char *arena_vfmt(arena *a, const char *fmt, va_list ap) {
  char few[256], *p;
  va_list again;
  va_copy(again, ap);
  int n = number_vprint(few, sizeof few, fmt, ap);
  if (n < 0) p = NULL;
  else if ((size_t)n < sizeof few) p = arena_strn(a, few, (size_t)n);
  else if ((p = arena_alloc(a, (size_t)n + 1))) number_vprint(p, (size_t)n + 1, fmt, again);
  va_end(again);
  return p;
}

char *arena_fmt(arena *a, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *p = arena_vfmt(a, fmt, ap);
  va_end(ap);
  return p;
}
