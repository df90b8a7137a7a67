/* core/llm/token_list.c - see token_list.h. */
#include "core/llm/token_list.h"

bool token_list_add(token_list *l, int32_t id) {
  if (!al_grow(l->al, &l->v, &l->cap, l->n + 1, sizeof *l->v)) return false;
  l->v[l->n++] = id;
  return true;
}

void token_list_clear(token_list *l) {
  al_free_array(l->al, l->v, l->cap);
  *l = (token_list){.al = l->al};
}
