/* core/base/name_set.h - names, each once: open addressing over borrowed strings. A zero value with `al` set is empty;
 * NULL is the default allocator. */
#ifndef CORE_BASE_NAME_SET_H
#define CORE_BASE_NAME_SET_H
#include "core/base/alloc.h"

typedef struct name_set {
  const tsr_allocator *al;
  const char **v;
  size_t n, cap;
  bool failed; /* out of memory */
} name_set;

/* False: it is there already, or there is no memory for it (`failed`). The string must outlive the set. */
bool name_set_add(name_set *s, const char *name);
bool name_set_has(const name_set *s, const char *name);
void name_set_clear(name_set *s);
#endif
