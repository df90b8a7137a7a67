/* core/llm/tokenizer.h - text to tokens and back, by what a GGUF file says: byte-level BPE ("gpt2"),
 * SentencePiece's merges by score ("llama") and its unigram model ("t5"). A tokenizer is made once
 * and then only read, by any thread. */
#ifndef CORE_LLM_TOKENIZER_H
#define CORE_LLM_TOKENIZER_H
#include "core/base/str.h"
#include "core/import/weights.h"
#include "core/llm/token_list.h"

typedef struct tokenizer tokenizer;

/* The file must stay open. TSR_PARSE_ERROR or TSR_UNSUPPORTED names what is missing or not known. */
TSR_MUST_USE tsr_status tokenizer_create(const weights *w, tokenizer **out);
void tokenizer_destroy(tokenizer **t);
/* Appends the tokens of n bytes, behind the beginning-of-text token where the model wants one. Texts of control tokens
 * become these tokens. TSR_INVALID_ARGUMENT where the vocabulary has nothing for a byte. */
TSR_MUST_USE tsr_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, token_list *out);
/* Appends the token's bytes, which need not be whole characters; of control tokens none. */
void tokenizer_decode(const tokenizer *t, int32_t id, strb *out);
int32_t tokenizer_count(const tokenizer *t);
/* Whether a model that gives this token has come to its end. */
bool tokenizer_is_end(const tokenizer *t, int32_t id);
/* Whether tokenizer_encode puts the beginning-of-text token before a text. */
bool tokenizer_adds_bos(const tokenizer *t);
/* The texts of the beginning and end tokens, which chat templates name; "" where there is none. */
const char *tokenizer_bos_text(const tokenizer *t);
const char *tokenizer_eos_text(const tokenizer *t);
#endif
