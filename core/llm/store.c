/* core/llm/store.c - see store.h. */
#include "core/llm/store.h"

#include "core/base/status.h"

enum { ALIGN = 256 };

size_t llm_store_room(size_t bytes) { return (bytes + ALIGN - 1) / ALIGN * ALIGN; }

tsr_status llm_store_create(tsr_device *dev, size_t bytes, llm_store *s) {
  *s = (llm_store){.used = 0};
  return tsr_buffer_create(dev, bytes, TSR_MEMORY_HOST, &s->whole);
}

tsr_status llm_store_take(tsr_device *dev, llm_store *s, size_t bytes, tsr_buffer **out) {
  const char *at = (const char *)tsr_buffer_map(s->whole) + s->used;
  s->used += llm_store_room(bytes);
  return tsr_buffer_import(dev, at, bytes, out);
}

void llm_store_destroy(llm_store *s) {
  tsr_buffer_destroy(&s->whole);
  s->used = 0;
}
