/* core/llm/merge.h - byte-pair merging: neighbouring symbols of a text become one, always the pair of the lowest cost
 * first (of several the leftmost), until no pair is left that may. Takes n log n steps whatever the text. */
#ifndef CORE_LLM_MERGE_H
#define CORE_LLM_MERGE_H
#include "core/base/alloc.h"
#include "core/base/status.h"

/* A piece of the text. Symbols that became part of another have no bytes. */
typedef struct merge_symbol {
  const char *p;
  uint32_t n;
  int32_t id; /* token, or -1 */
  int32_t before, after;
} merge_symbol;

typedef struct merge_pair { double cost; int32_t left, right; uint32_t n; } merge_pair;

typedef struct merger {
  const tsr_allocator *al;
  merge_symbol *s;
  size_t n, cap;
  merge_pair *heap;
  size_t n_heap, cap_heap;
  /* Whether two may become one: what it costs and the token they become. */
  bool (*join)(const void *user, const merge_symbol *left, const merge_symbol *right, double *cost, int32_t *id);
  const void *user;
} merger;

/* Appends a symbol; false: out of memory. */
bool merge_add(merger *m, const char *p, size_t n, int32_t id);
/* Merges what was added. The symbols with bytes are what came of it, in order; merge_clear empties them. */
TSR_MUST_USE tsr_status merge_run(merger *m);
static inline void merge_clear(merger *m) { m->n = m->n_heap = 0; }
void merge_free(merger *m);
#endif
