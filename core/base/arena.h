/* core/base/arena.h - bump allocation: everything dies at once. Pointers never move. Not thread-safe. */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H
#include <stdarg.h>

#include "core/base/alloc.h"

typedef struct arena_chunk arena_chunk;
typedef struct arena {
  tsr_allocator al;
  arena_chunk *chunks;
  size_t used, cap;
  size_t clear; /* bytes of the newest chunk that were set to 0, or handed out */
} arena;

void arena_init(arena *a, const tsr_allocator *al);
void arena_clear(arena *a);
/* Zeroed memory aligned to 16, or NULL. */
void *arena_alloc(arena *a, size_t size);
/* A copy of n bytes (arena_strn adds a zero). NULL when out of memory. */
void *arena_dup(arena *a, const void *p, size_t n);
char *arena_strn(arena *a, const char *s, size_t n);
char *arena_str(arena *a, const char *s);
/* Bytes handed out, with what was left over at the ends of chunks. */
size_t arena_bytes(const arena *a);
char *arena_vfmt(arena *a, const char *fmt, va_list ap);
char *arena_fmt(arena *a, const char *fmt, ...) TSR_PRINTF(2, 3);

#define arena_new(a, T) ((T *)arena_alloc(a, sizeof(T)))
#define arena_array(a, T, n) ((T *)arena_alloc(a, sizeof(T) * (size_t)(n)))
#endif
