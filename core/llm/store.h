/* core/llm/store.h - one piece of a host device's memory for many tensors, one behind the other: large enough for huge
 * pages, through which a core reads memory half as fast again as through pages of 4 KiB. */
#ifndef CORE_LLM_STORE_H
#define CORE_LLM_STORE_H
#include "tessera/tessera.h"

typedef struct llm_store {
  tsr_buffer *whole; /* NULL: there is none */
  size_t used;
} llm_store;

/* What a tensor of `bytes` takes up. */
size_t llm_store_room(size_t bytes);
/* `bytes`: the sum of the tensors' rooms. */
TSR_MUST_USE tsr_status llm_store_create(tsr_device *dev, size_t bytes, llm_store *s);
/* The next `bytes` as a buffer, which the store must outlive. */
TSR_MUST_USE tsr_status llm_store_take(tsr_device *dev, llm_store *s, size_t bytes, tsr_buffer **out);
void llm_store_destroy(llm_store *s);
#endif
