/* core/llm/token_list.h - a growing list of tokens. */
#ifndef CORE_LLM_TOKEN_LIST_H
#define CORE_LLM_TOKEN_LIST_H
#include "core/base/alloc.h"

typedef struct token_list {
  const tsr_allocator *al;
  int32_t *v;
  size_t n, cap;
} token_list;

/* False: out of memory. */
bool token_list_add(token_list *l, int32_t id);
void token_list_clear(token_list *l);
#endif
