/* core/llm/tokenizer_parts.h - what the kinds of tokenizers share. A kind is one row: how its tables are made, how a
 * stretch of plain text becomes tokens, how a token becomes bytes. */
#ifndef CORE_LLM_TOKENIZER_PARTS_H
#define CORE_LLM_TOKENIZER_PARTS_H
#include "core/base/str.h"
#include "core/llm/merge.h"
#include "core/llm/token_list.h"
#include "core/llm/vocab.h"

typedef struct tokenizer tokenizer;

typedef struct tokenizer_kind {
  const char *model; /* tokenizer.ggml.model */
  bool adds_bos;     /* where the file doesn't say */
  tsr_status (*make)(tokenizer *t, const weights *w);
  /* Text without control tokens; first: it begins the text, or follows a control token. */
  tsr_status (*encode)(const tokenizer *t, const char *text, size_t n, bool first, token_list *out);
  void (*decode)(const tokenizer *t, int32_t id, strb *out);
} tokenizer_kind;

extern const tokenizer_kind tokenizer_byte_level, tokenizer_by_score, tokenizer_unigram;

struct tokenizer {
  arena a;
  const char *file;
  vocab v;
  const tokenizer_kind *kind;
  int32_t bos, eos, unknown;
  bool adds_bos, adds_space; /* a space before the text */
  const char *bos_text, *eos_text;
  int32_t byte_token[256];   /* NO_TOKEN: none */
  struct byte_level *bpe;    /* tables of the kind */
  /* Tokens that are looked for in texts as they stand, by their first byte, the longest first. */
  int32_t *specials;
  int32_t first_special[257];
};

/* The token of a byte, else the unknown one, appended. TSR_INVALID_ARGUMENT where there is neither. */
TSR_MUST_USE tsr_status tokenizer_add_byte(const tokenizer *t, unsigned char byte, token_list *out);
#endif
