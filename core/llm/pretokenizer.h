/* core/llm/pretokenizer.h - the rules by which byte-level tokenizers divide a text before they merge, one row for each
 * name that tokenizer.ggml.pre may have. */
#ifndef CORE_LLM_PRETOKENIZER_H
#define CORE_LLM_PRETOKENIZER_H
#include "core/llm/pattern.h"

enum { PRETOKENIZER_MOST_RULES = 6 };

typedef struct pretokenizer {
  const char *name;
  bool whole_first; /* a piece that is a token is that token, whatever the merges say */
  bool adds_bos;
  /* Each divides the pieces that those before it left; its matches are pieces, and so is what lies between. */
  const char *rules[PRETOKENIZER_MOST_RULES];
} pretokenizer;

/* NULL: none of that name. */
const pretokenizer *pretokenizer_find(const char *name);
/* The i-th row; NULL behind the last. */
const pretokenizer *pretokenizer_at(size_t i);

/* Lengths in code points of the pieces of a text of n, into memory from al: *n_pieces of them, to be freed with
 * al_free_array and *cap. */
TSR_MUST_USE tsr_status pretokenizer_divide(pattern *const *rules, int n_rules, const uint32_t *text, int64_t n,
                                            const tsr_allocator *al, int64_t **pieces, size_t *n_pieces, size_t *cap);
#endif
