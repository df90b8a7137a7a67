/* core/base/alloc.h - host memory through the caller's hooks. A NULL allocator means the C library's.
 * Sizes travel with every free so that hooks need no header. */
#ifndef CORE_BASE_ALLOC_H
#define CORE_BASE_ALLOC_H
#include "tessera/base.h"

extern const tsr_allocator al_default;

void *al_alloc(const tsr_allocator *al, size_t size, size_t align);
void *al_zalloc(const tsr_allocator *al, size_t size);
/* Allocations that failed on this thread so far, counted and never reset: what came to nothing while the count stayed
 * was refused, not out of memory (ir_cause). */
uint64_t al_failures(void);
/* For sizes that can't be asked for: counts, and returns NULL. */
void *al_too_large(void);
void al_free(const tsr_allocator *al, void *p, size_t size, size_t align);
/* Grows an array of `size`-byte elements to at least `need`; doubles. False when out of memory, array unchanged. */
bool al_grow(const tsr_allocator *al, void *array_ptr, size_t *cap, size_t need, size_t size);

#define al_new(al, T) ((T *)al_zalloc(al, sizeof(T)))
#define al_delete(al, p) al_free(al, p, sizeof *(p), 16)
#define al_free_array(al, p, cap) al_free(al, p, (cap) * sizeof *(p), 16)
#endif
