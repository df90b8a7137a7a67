/* core/base/alloc.c - see alloc.h. */
#include "core/base/alloc.h"

#include <stdlib.h>
#include <string.h>

static void *default_alloc(void *user, size_t size, size_t align) {
  void *p = NULL;
  if (align < sizeof(void *)) align = sizeof(void *);
  return posix_memalign(&p, align, size ? size : 1) == 0 ? p : NULL;
}

static void default_free(void *user, void *p, size_t size, size_t align) { free(p); }

const tsr_allocator al_default = {default_alloc, default_free, NULL};

static _Thread_local uint64_t failures;

uint64_t al_failures(void) { return failures; }

void *al_too_large(void) {
  failures++;
  return NULL;
}

void *al_alloc(const tsr_allocator *al, size_t size, size_t align) {
  if (!al || !al->alloc) al = &al_default;
  void *p = al->alloc(al->user, size ? size : 1, align);
  failures += !p;
  return p;
}

void *al_zalloc(const tsr_allocator *al, size_t size) {
  void *p = al_alloc(al, size, 16);
  if (p) memset(p, 0, size);
  return p;
}

void al_free(const tsr_allocator *al, void *p, size_t size, size_t align) {
  if (!p) return;
  if (!al || !al->alloc) al = &al_default;
  al->free(al->user, p, size ? size : 1, align);
}

bool al_grow(const tsr_allocator *al, void *array_ptr, size_t *cap, size_t need, size_t size) {
  if (need <= *cap) return true;
  size_t want = *cap ? *cap * 2 : 8;
  if (want < need) want = need;
  if (want > SIZE_MAX / size) return al_too_large() != NULL;
  void *old;
  memcpy(&old, array_ptr, sizeof old);
  void *p = al_alloc(al, want * size, 16);
  if (!p) return false;
  if (old) memcpy(p, old, *cap * size);
  al_free(al, old, *cap * size, 16);
  memcpy(array_ptr, &p, sizeof p);
  *cap = want;
  return true;
}
