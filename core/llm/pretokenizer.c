/* core/llm/pretokenizer.c - see pretokenizer.h. The rules are those that the models' tokenizer.json files publish. */
#include "core/llm/pretokenizer.h"

#include <string.h>

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define LLAMA3 \
  CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES
#define QWEN2 CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(end)                                                                                     \
  "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "*" SMALLS "+" end "|[^\\r\\n\\p{L}\\p{N}]?" CAPITALS "+" SMALLS "*" end
#define DEEPSEEK3                                                                                           \
  "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|" \
  " ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES

static const pretokenizer rows[] = {
    {"default", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"gpt-2", false, false, {GPT2}},
    {"phi-2", false, false, {GPT2}},
    {"mpt", false, false, {GPT2}},
    {"olmo", false, false, {GPT2}},
    {"jais", false, false, {GPT2}},
    {"exaone4", false, false, {GPT2}},
    {"trillion", false, false, {GPT2}},
    {"granite-docling", false, false, {GPT2}},
    {"smollm", false, false, {"\\p{N}", GPT2}},
    {"starcoder", false, false, {"\\p{N}", GPT2}},
    {"refact", false, false, {"\\p{N}", GPT2}},
    {"command-r", false, false, {"\\p{N}", GPT2}},
    {"codeshell", false, false, {"\\p{N}", GPT2}},
    {"exaone", false, false, {"\\p{N}", GPT2}},
    {"minerva-7b", false, false, {"\\p{N}", GPT2}},
    {"falcon", false, false, {"[\\p{P}\\$\\+<=>\\^~\\|`]+", GPT2, "[0-9][0-9][0-9]"}},
    {"llama3", true, true, {LLAMA3}},
    {"llama-v3", true, true, {LLAMA3}},
    {"llama-bpe", true, true, {LLAMA3}},
    {"falcon3", true, true, {LLAMA3}},
    {"pixtral", true, true, {LLAMA3}},
    {"lfm2", true, true, {LLAMA3}},
    {"dbrx", false, false, {LLAMA3}},
    {"smaug-bpe", false, false, {LLAMA3}},
    {"chatglm-bpe", false, false, {LLAMA3}},
    {"glm4", true, false, {LLAMA3}},
    {"qwen2", false, false, {QWEN2}},
    {"deepseek-r1-qwen", false, false, {QWEN2}},
    {"stablelm2", false, false, {QWEN2}},
    {"megrez", false, false, {QWEN2}},
    {"hunyuan", false, false, {QWEN2}},
    {"grok-2", false, false, {QWEN2}},
    {"qwen35",
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES}},
    {"tekken", true, true, {CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES}},
    {"gpt-4o", false, false, {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES}},
    {"llama4", false, false, {CASED(CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES}},
    {"seed-coder",
     false,
     false,
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES}},
    {"bailingmoe",
     false,
     false,
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"
      "\\s+(?!\\S)|\\s+"}},
    {"deepseek-coder",
     false,
     false,
     {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", "\\p{N}"}},
    {"deepseek-v3", false, false, {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK3}},
    {"hunyuan-dense", false, false, {"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK3}},
};

const pretokenizer *pretokenizer_at(size_t i) { return i < sizeof rows / sizeof *rows ? &rows[i] : NULL; }

const pretokenizer *pretokenizer_find(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}

typedef struct piece_list {
  const tsr_allocator *al;
  int64_t *v;
  size_t n, cap;
} piece_list;

static bool add(piece_list *l, int64_t length) {
  if (length && !al_grow(l->al, &l->v, &l->cap, l->n + 1, sizeof *l->v)) return false;
  if (length) l->v[l->n++] = length;
  return true;
}

/* A piece divided further. */
static bool divide(const pattern *rule, const uint32_t *text, int64_t n, piece_list *out) {
  int64_t at = 0, begin = 0; /* of what matched nothing so far */
  while (at < n) {
    const int64_t length = pattern_match(rule, text, n, at);
    if (length <= 0) {
      at++;
      continue;
    }
    if (!add(out, at - begin) || !add(out, length)) return false;
    begin = at += length;
  }
  return add(out, n - begin);
}

tsr_status pretokenizer_divide(pattern *const *rules, int n_rules, const uint32_t *text, int64_t n,
                               const tsr_allocator *al, int64_t **pieces, size_t *n_pieces, size_t *cap) {
  piece_list now = {.al = al}, next = {.al = al};
  bool ok = add(&now, n);
  for (int r = 0; ok && r < n_rules; r++) {
    const uint32_t *at = text;
    next.n = 0;
    for (size_t i = 0; ok && i < now.n; at += now.v[i++]) ok = divide(rules[r], at, now.v[i], &next);
    const piece_list other = now;
    now = next;
    next = other;
  }
  al_free_array(al, next.v, next.cap);
  *pieces = now.v;
  *n_pieces = now.n;
  *cap = now.cap;
  if (ok) return NULL;
  al_free_array(al, now.v, now.cap);
  *pieces = NULL;
  *cap = *n_pieces = 0;
  return st_oom();
}
