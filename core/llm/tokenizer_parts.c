/* core/llm/tokenizer_parts.c - see tokenizer_parts.h. */
#include "core/llm/tokenizer_parts.h"

tsr_status tokenizer_add_byte(const tokenizer *t, unsigned char byte, token_list *out) {
  const int32_t id = t->byte_token[byte] >= 0 ? t->byte_token[byte] : t->unknown;
  if (id >= 0) return token_list_add(out, id) ? NULL : st_oom();
  return st_make(out->al, TSR_INVALID_ARGUMENT, ST_WHERE("tokenizer", NULL, NULL),
                 "%s: the vocabulary has no token for the byte 0x%02x of the text", t->file, byte);
}
