/* core/llm/pattern.h - regular expressions over code points, as tokenizers' pre-tokenization rules are published: the
 * subset that they use. Alternatives, groups (?:..) and (..), (?i:..) for ASCII letters, lookahead (?!..) and (?=..),
 * sets with ranges, \s \S \d \r \n \t \p{..} \P{..} of the general categories and letters' cases, and the quantifiers
 * ? * + {n} {n,} {n,m} with possessive forms; of these groups take ? alone. What isn't of the subset is refused when
 * the pattern is made. */
#ifndef CORE_LLM_PATTERN_H
#define CORE_LLM_PATTERN_H
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/status.h"

typedef struct pattern pattern;

/* In the arena, of which it keeps what it needs. TSR_UNSUPPORTED with the place in the text. */
TSR_MUST_USE tsr_status pattern_make(arena *a, const char *text, pattern **out);
/* Code points of the match that begins at `at` of n; -1: there is none. The first alternative that matches counts, as
 * in the languages that these rules were written for. */
int64_t pattern_match(const pattern *p, const uint32_t *text, int64_t n, int64_t at);
#endif
