/* core/llm/unicode.h - what tokenizers ask of code points: their class, whether they are white space, their bytes. */
#ifndef CORE_LLM_UNICODE_H
#define CORE_LLM_UNICODE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* General categories, by their letter; letters by their case. */
typedef enum unicode_class {
  UNICODE_OTHER, /* Z, C and what isn't assigned */
  UNICODE_UPPER, /* Lu, Lt */
  UNICODE_LOWER, /* Ll */
  UNICODE_LETTER, /* Lm, Lo */
  UNICODE_MARK,
  UNICODE_NUMBER,
  UNICODE_PUNCTUATION,
  UNICODE_SYMBOL
} unicode_class;

/* The generated table, llm/unicode_data.c. */
extern const uint32_t unicode_changes[];
extern const size_t unicode_n_changes;

unicode_class unicode_class_of(uint32_t c);
/* The property White_Space. */
bool unicode_is_space(uint32_t c);
/* The code point at s and its bytes; of bytes that are no UTF-8 U+FFFD, one byte each. n > 0. */
uint32_t unicode_decode(const char *s, size_t n, int *bytes);
/* Its bytes, 1 to 4. */
int unicode_encode(uint32_t c, char out[4]);
#endif
