/* core/llm/vocab.h - a model's tokens: their texts, scores and types as the file has them; the token of a text. */
#ifndef CORE_LLM_VOCAB_H
#define CORE_LLM_VOCAB_H
#include "core/import/gguf_array.h"

/* tokenizer.ggml.token_type. */
typedef enum token_type {
  TOKEN_NORMAL = 1, TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_USER, TOKEN_UNUSED, TOKEN_BYTE, TOKEN_N_TYPES
} token_type;

enum { NO_TOKEN = -1 };

typedef struct vocab {
  const gguf_text *text; /* in the file; by token */
  const double *scores;  /* NULL: none */
  const double *types;   /* NULL: all are normal */
  int32_t n;
  size_t longest;        /* bytes of a text */
  int32_t *slots;        /* open addressing: tokens, NO_TOKEN where there is none */
  size_t n_slots;
} vocab;

/* tokenizer.ggml.tokens, .scores and .token_type. The file must stay open, as must the arena. */
TSR_MUST_USE tsr_status vocab_read(const weights *w, arena *a, vocab *out);
/* The token with this text, the first where there are several; NO_TOKEN. */
int32_t vocab_find(const vocab *v, const char *text, size_t n);
static inline token_type vocab_type(const vocab *v, int32_t id) {
  return v->types ? (token_type)v->types[id] : TOKEN_NORMAL;
}
/* A token's number among the key-values, as tokenizer.ggml.eos_token_id; NO_TOKEN where the file has none. */
TSR_MUST_USE tsr_status vocab_read_id(const weights *w, const vocab *v, const char *key, int32_t *out);
#endif
