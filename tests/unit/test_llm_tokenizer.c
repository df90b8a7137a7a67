/* tests/unit/test_llm_tokenizer.c - pre-tokenization rules on texts whose pieces are known, the three kinds of
 * tokenizers on small vocabularies, every byte there and back, and vocabularies with holes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/llm/pretokenizer.h"
#include "core/llm/tokenizer.h"
#include "core/llm/unicode.h"
#include "tests/support/llm_file.h"
#include "tests/support/weights_build.h"

static void ok(tsr_status st) {
  if (st) fail_msg("%s", tsr_status_message(st));
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* Pieces with | between them. */
static void pieces(const char *rules, const char *text, const char *want) {
  const pretokenizer *p = pretokenizer_find(rules);
  arena a;
  pattern *made[PRETOKENIZER_MOST_RULES];
  uint32_t points[256];
  size_t at[257], n = 0, i = 0, n_pieces, cap;
  int64_t *lengths;
  int n_rules = 0;
  assert_non_null(p);
  arena_init(&a, NULL);
  for (; n_rules < PRETOKENIZER_MOST_RULES && p->rules[n_rules]; n_rules++)
    ok(pattern_make(&a, p->rules[n_rules], &made[n_rules]));
  for (int bytes; i < strlen(text); i += (size_t)bytes) {
    at[n] = i;
    points[n++] = unicode_decode(text + i, strlen(text) - i, &bytes);
  }
  at[n] = i;
  ok(pretokenizer_divide(made, n_rules, points, (int64_t)n, NULL, &lengths, &n_pieces, &cap));
  strb got;
  strb_init(&got, NULL);
  size_t from = 0;
  for (size_t k = 0; k < n_pieces; from += (size_t)lengths[k++]) {
    if (k) strb_putc(&got, '|');
    strb_put(&got, text + at[from], at[from + (size_t)lengths[k]] - at[from]);
  }
  assert_string_equal(strb_text(&got), want);
  strb_clear(&got);
  al_free_array(NULL, lengths, cap);
  arena_clear(&a);
}

static void rules_divide_texts_as_published(void **state) {
  (void)state;
  pieces("gpt-2", "Hello world's 123  x", "Hello| world|'s| 123| | x");
  pieces("gpt-2", "a\n\n b   ", "a|\n\n| b|   ");
  pieces("gpt-2", "caf\xc3\xa9!?...", "caf\xc3\xa9|!?...");
  pieces("smollm", "in 2024: ok", "in| |2|0|2|4|:| ok");
  pieces("llama-bpe", "I'M 12345\n\n(x)", "I|'M| |123|45|\n\n|(x|)");
  pieces("qwen2", "it'S 12 \n y", "it|'S| |1|2| \n| y");
  pieces("gpt-4o", "HelloWorld it's", "Hello|World| it's");
  pieces("tekken", "HTTPServer isOn", "HTTPServer| is|On");
  pieces("default", "a+b 12345", "a|+|b| |123|45");
  pieces("falcon", "x<=1234", "x|<=|123|4");
  pieces("deepseek-v3", "\xe4\xb8\xad\xe6\x96\x87" "ab 1234.", "\xe4\xb8\xad\xe6\x96\x87|ab| |123|4|.");
  pieces("bailingmoe", "we'll  go", "we|'ll| | go");
  pieces("gpt-2", "", "");
}

static void every_row_of_rules_is_understood(void **state) {
  (void)state;
  arena a;
  arena_init(&a, NULL);
  size_t n = 0;
  for (const pretokenizer *p; (p = pretokenizer_at(n)); n++)
    for (int r = 0; r < PRETOKENIZER_MOST_RULES && p->rules[r]; r++) {
      pattern *made;
      ok(pattern_make(&a, p->rules[r], &made));
    }
  assert_true(n > 30);
  static const char *const wrong[] = {"(a", "a)", "[a", "a**", "\\q", "\\p{Zz}", "(?<a)", "a{2", "(ab)*", "a*?", "[b-a]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    pattern *made;
    tsr_status st = pattern_make(&a, wrong[i], &made);
    if (tsr_status_code(st) != TSR_UNSUPPORTED) fail_msg("%s is taken", wrong[i]);
    tsr_status_free(st);
  }
  arena_clear(&a);
}

static void classes_are_those_of_unicode(void **state) {
  (void)state;
  static const struct {
    uint32_t c;
    unicode_class is;
  } rows[] = {{'a', UNICODE_LOWER}, {'Z', UNICODE_UPPER}, {'7', UNICODE_NUMBER}, {' ', UNICODE_OTHER},
              {'$', UNICODE_SYMBOL}, {'!', UNICODE_PUNCTUATION}, {0xe9, UNICODE_LOWER}, {0x301, UNICODE_MARK},
              {0x4e2d, UNICODE_LETTER}, {0x661, UNICODE_NUMBER}, {0, UNICODE_OTHER}, {0x10ffff, UNICODE_OTHER},
              {0x1d7ce, UNICODE_NUMBER}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) assert_int_equal(unicode_class_of(rows[i].c), rows[i].is);
  assert_true(unicode_is_space(0x3000) && unicode_is_space('\n') && !unicode_is_space(0x200b));
  for (uint32_t c = 1; c < 0x110000; c += c < 0xd800 || c > 0xdfff ? 977 : 0x800) {
    char text[4];
    int bytes, n = unicode_encode(c, text);
    if (c >= 0xd800 && c <= 0xdfff) continue;
    assert_int_equal(unicode_decode(text, (size_t)n, &bytes), c);
    assert_int_equal(bytes, n);
  }
}

/* ---- tokenizers -------------------------------------------------------------------------------------------------- */

static void encodes(const tokenizer *t, const char *text, size_t n, const int32_t *want, size_t n_want) {
  token_list l = {.al = NULL};
  ok(tokenizer_encode(t, text, n, &l));
  if (l.n != n_want || (n_want && memcmp(l.v, want, n_want * sizeof *want))) {
    for (size_t i = 0; i < l.n; i++) print_message("%d ", (int)l.v[i]);
    fail_msg("other tokens of \"%s\"", text);
  }
  token_list_clear(&l);
}

#define ENCODES(t, text, ...) \
  encodes(t, text, sizeof(text) - 1, (int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void same_again(const tokenizer *t, const char *text, size_t n, const char *prefix) {
  token_list l = {.al = NULL};
  strb b;
  strb_init(&b, NULL);
  ok(tokenizer_encode(t, text, n, &l));
  for (size_t i = 0; i < l.n; i++) tokenizer_decode(t, l.v[i], &b);
  assert_int_equal(b.n, n + strlen(prefix));
  assert_memory_equal(b.p, prefix, strlen(prefix));
  assert_memory_equal(b.p + strlen(prefix), text, n);
  strb_clear(&b);
  token_list_clear(&l);
}

static tsr_status tokenizer_of(const strb *file, weights **w, tokenizer **t) {
  *t = NULL;
  TSR_TRY(weights_parse(NULL, file->p, file->n, "t.gguf", w));
  return tokenizer_create(*w, t);
}

static void byte_level_texts_merge_by_rank(void **state) {
  (void)state;
  static llm_file f;
  llm_file_make(&f, &(llm_file_options){.arch = "llama"});
  strb file;
  weights *w;
  tokenizer *t;
  strb_init(&file, NULL);
  llm_file_bytes(&f, &file);
  ok(tokenizer_of(&file, &w, &t));
  ENCODES(t, "the", 258);
  ENCODES(t, "a the", 'a', 259);
  ENCODES(t, "them he th", 258, 'm', ' ', 257, ' ', 256);
  ENCODES(t, "<|im_start|>the<|im_end|>", 260, 258, 261);
  ENCODES(t, "<|im_star|>", '<', '|', 'i', 'm', '_', 's', 't', 'a', 'r', '|', '>');
  encodes(t, "", 0, NULL, 0);
  assert_true(tokenizer_is_end(t, 261) && !tokenizer_is_end(t, 260) && !tokenizer_is_end(t, -1));
  assert_string_equal(tokenizer_eos_text(t), "<|im_end|>");
  assert_string_equal(tokenizer_bos_text(t), "");
  char all[512];
  for (int i = 0; i < 512; i++) all[i] = (char)(i * 7 + i / 256);
  same_again(t, all, sizeof all, "");
  static char longer[100000];
  memset(longer, ' ', sizeof longer);
  same_again(t, longer, sizeof longer, "");
  tokenizer_destroy(&t);
  weights_close(&w);
  strb_clear(&file);
  llm_file_clear(&f);
}

/* Tokens with scores; of the types, "<0x..>" is a byte and <...> else control. */
static const struct {
  const char *text;
  float score;
} sentence_tokens[] = {{"<unk>", 0},     {"<s>", 0},       {"</s>", 0},   {"\xe2\x96\x81", -5}, {"a", -6}, {"b", -7},
                       {"ab", -3},       {"\xe2\x96\x81" "a", -4}, {"ba", -2},    {"abab", -1},  {"c", -8}};
enum { SENTENCE_TOKENS = sizeof sentence_tokens / sizeof *sentence_tokens };

static bytes_buf built;

static void sentence_file(const char *model, int n_bytes, strb *out) {
  gguf_begin(&built, 3, 0, 6);
  gguf_text(&built, "tokenizer.ggml.model");
  put_le(&built, 8, 4);
  gguf_text(&built, model);
  for (int what = 0; what < 3; what++) {
    static const char *const keys[3] = {"tokenizer.ggml.tokens", "tokenizer.ggml.scores", "tokenizer.ggml.token_type"};
    static const unsigned types[3] = {8, 6, 5};
    gguf_text(&built, keys[what]);
    put_le(&built, 9, 4);
    put_le(&built, types[what], 4);
    put_le(&built, (uint64_t)(SENTENCE_TOKENS + n_bytes), 8);
    for (int i = 0; i < SENTENCE_TOKENS + n_bytes; i++) {
      char byte[8];
      uint32_t bits;
      snprintf(byte, sizeof byte, "<0x%02X>", (unsigned)(i - SENTENCE_TOKENS) & 255);
      const bool is_byte = i >= SENTENCE_TOKENS;
      const float score = is_byte ? 0 : sentence_tokens[i].score;
      memcpy(&bits, &score, sizeof bits);
      if (what == 0) gguf_text(&built, is_byte ? byte : sentence_tokens[i].text);
      else put_le(&built, what == 1 ? bits : is_byte ? 6 : i == 0 ? 2 : i < 3 ? 3 : 1, 4);
    }
  }
  gguf_key(&built, "tokenizer.ggml.bos_token_id", 4, 1, 4);
  gguf_key(&built, "tokenizer.ggml.unknown_token_id", 4, 0, 4);
  strb_put(out, (const char *)built.p, built.n);
}

static void sentence_pieces_merge_by_score(void **state) {
  (void)state;
  strb file;
  weights *w;
  tokenizer *t;
  strb_init(&file, NULL);
  sentence_file("llama", 256, &file);
  ok(tokenizer_of(&file, &w, &t));
  ENCODES(t, "ba", 1, 3, 8);          /* _ b a: "ba" scores -2 */
  ENCODES(t, "abab", 1, 7, 8, 5);     /* _ a b a b: first "ba", then "_a" */
  ENCODES(t, "a d", 1, 7, 3, SENTENCE_TOKENS + 'd');
  ENCODES(t, "\xc3\xa9", 1, 3, SENTENCE_TOKENS + 0xc3, SENTENCE_TOKENS + 0xa9);
  ENCODES(t, "</s>ba", 1, 2, 3, 8);
  same_again(t, "abc d\xff\n", 7, " ");
  tokenizer_destroy(&t);
  weights_close(&w);
  strb_clear(&file);
}

static void unigram_takes_the_way_of_the_highest_score(void **state) {
  (void)state;
  strb file;
  weights *w;
  tokenizer *t;
  strb_init(&file, NULL);
  sentence_file("t5", 256, &file);
  ok(tokenizer_of(&file, &w, &t));
  ENCODES(t, "abab", 3, 9);             /* -5 - 1 against -4 - 2 - 7 and others */
  ENCODES(t, "ab", 3, 6);               /* -5 - 3 against -4 - 7 */
  ENCODES(t, "aba", 7, 8);              /* -4 - 2 against -5 - 3 - 6 and -5 - 6 - 2 */
  ENCODES(t, "ad", 7, SENTENCE_TOKENS + 'd');
  encodes(t, "", 0, NULL, 0);
  tokenizer_destroy(&t);
  weights_close(&w);
  strb_clear(&file);
}

static void refused(const strb *file, const char *says) {
  weights *w = NULL;
  tokenizer *t;
  tsr_status st = tokenizer_of(file, &w, &t);
  if (!st || !strstr(tsr_status_message(st), says))
    fail_msg("expected \"%s\", got: %s", says, st ? tsr_status_message(st) : "no error");
  assert_null(t);
  tsr_status_free(st);
  weights_close(&w);
}

/* The file with one text put in place of another of its length. */
#define WITH(from, to, says) with(from, to, sizeof(from) - 1, says)

static void with(const char *from, const char *to, size_t n, const char *says) {
  static llm_file f;
  strb file;
  strb_init(&file, NULL);
  llm_file_make(&f, &(llm_file_options){.arch = "llama"});
  llm_file_bytes(&f, &file);
  bool found = false;
  for (size_t i = 0; i + n <= file.n && !found; i++)
    if (!memcmp(file.p + i, from, n)) memcpy(file.p + i, to, n), found = true;
  assert_true(found);
  refused(&file, says);
  strb_clear(&file);
  llm_file_clear(&f);
}

static void vocabulary_with_holes_is_refused(void **state) {
  (void)state;
  WITH("th e", "tq e", "merge 2, \"tq e\", has a part that is no token");
  WITH("t h", "t z", "merge 0, \"t z\", makes a text that is no token");
  WITH("t h", "txh", "is no pair of texts");
  /* A message is text, whatever a file has. */
  WITH("th e", "t\xff e", "merge 2, \"t? e\", has a part that is no token");
  WITH("gpt-2", "gpt-9", "rules \"gpt-9\" are not known");
  WITH("gpt2", "gpt3", "tokenizers \"gpt3\" are not read");
  WITH("eos_token_id\4\0\0\0\5", "eos_token_id\4\0\0\0\xff", "none of the 262 tokens");
}

static void byte_without_token_is_unknown_or_an_error(void **state) {
  (void)state;
  strb file;
  weights *w;
  tokenizer *t;
  strb_init(&file, NULL);
  sentence_file("llama", 0, &file);
  ok(tokenizer_of(&file, &w, &t));
  ENCODES(t, "ad", 1, 7, 0);
  tokenizer_destroy(&t);
  weights_close(&w);
  const size_t at = file.n - 4; /* without the unknown token */
  file.p[at - 12] = 'x';
  ok(tokenizer_of(&file, &w, &t));
  token_list l = {.al = NULL};
  tsr_status st = tokenizer_encode(t, "ad", 2, &l);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  assert_non_null(strstr(tsr_status_message(st), "no token for the byte 0x64"));
  tsr_status_free(st);
  token_list_clear(&l);
  tokenizer_destroy(&t);
  weights_close(&w);
  strb_clear(&file);
}

/* A type between two would be taken for one of them. */
static void token_type_that_is_no_whole_number_is_refused(void **state) {
  (void)state;
  strb file;
  static const uint32_t one_and_a_half = 0x3fc00000;
  gguf_begin(&built, 3, 0, 3);
  gguf_text(&built, "tokenizer.ggml.model");
  put_le(&built, 8, 4);
  gguf_text(&built, "llama");
  for (int what = 0; what < 2; what++) {
    gguf_text(&built, what ? "tokenizer.ggml.token_type" : "tokenizer.ggml.tokens");
    put_le(&built, 9, 4);
    put_le(&built, what ? 6 : 8, 4);
    put_le(&built, 1, 8);
    if (what) put_le(&built, one_and_a_half, 4);
    else gguf_text(&built, "a");
  }
  strb_init(&file, NULL);
  strb_put(&file, (const char *)built.p, built.n);
  refused(&file, "token 0 has the type 1.5");
  strb_clear(&file);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rules_divide_texts_as_published),
                                     cmocka_unit_test(every_row_of_rules_is_understood),
                                     cmocka_unit_test(classes_are_those_of_unicode),
                                     cmocka_unit_test(byte_level_texts_merge_by_rank),
                                     cmocka_unit_test(sentence_pieces_merge_by_score),
                                     cmocka_unit_test(unigram_takes_the_way_of_the_highest_score),
                                     cmocka_unit_test(vocabulary_with_holes_is_refused),
                                     cmocka_unit_test(byte_without_token_is_unknown_or_an_error),
                                     cmocka_unit_test(token_type_that_is_no_whole_number_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
