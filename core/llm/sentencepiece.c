/* core/llm/sentencepiece.c - SentencePiece's tokenizers. A blank is written U+2581, and one is put before the text
 * where the model wants it. By score ("llama"): neighbouring pieces whose text is a token merge, the highest score
 * first. Unigram ("t5"): of all ways to divide the text the one with the highest sum of scores. What no token covers
 * becomes tokens of bytes. */
#include <string.h>

#include "core/llm/tokenizer_parts.h"
#include "core/llm/unicode.h"

static const char blank[] = "\xe2\x96\x81";

static tsr_status make(tokenizer *t, const weights *w) {
  if (!t->v.scores) return weights_bad(w, 0, "the tokenizer has no scores (tokenizer.ggml.scores)");
  for (unsigned b = 0; b < 256; b++) {
    static const char digits[] = "0123456789ABCDEF";
    const char text[6] = {'<', '0', 'x', digits[b >> 4], digits[b & 15], '>'};
    t->byte_token[b] = vocab_find(&t->v, text, sizeof text);
  }
  t->adds_space = true;
  return NULL;
}

static void spell(const tokenizer *t, const char *text, size_t n, bool first, strb *out) {
  if (first && t->adds_space && n) strb_puts(out, blank);
  for (size_t i = 0; i < n; i++)
    if (text[i] == ' ') strb_puts(out, blank);
    else strb_put(out, text + i, 1);
}

static tsr_status add_bytes(const tokenizer *t, const char *p, size_t n, token_list *out) {
  bool any = true;
  for (size_t i = 0; i < n; i++) any &= t->byte_token[(unsigned char)p[i]] >= 0;
  if (!any && t->unknown >= 0) return token_list_add(out, t->unknown) ? NULL : st_oom();
  for (size_t i = 0; i < n; i++) TSR_TRY(tokenizer_add_byte(t, (unsigned char)p[i], out));
  return NULL;
}

/* ---- by score ---------------------------------------------------------------------------------------------------- */

static bool join(const void *user, const merge_symbol *left, const merge_symbol *right, double *cost, int32_t *id) {
  const vocab *v = user;
  const size_t n = (size_t)left->n + right->n;
  *id = n <= v->longest ? vocab_find(v, left->p, n) : NO_TOKEN;
  if (*id < 0) return false;
  *cost = -v->scores[*id];
  return true;
}

static tsr_status merge(const tokenizer *t, const char *p, size_t n, merger *m, token_list *out) {
  for (size_t i = 0; i < n;) {
    int bytes;
    unicode_decode(p + i, n - i, &bytes);
    if (!merge_add(m, p + i, (size_t)bytes, vocab_find(&t->v, p + i, (size_t)bytes))) return st_oom();
    i += (size_t)bytes;
  }
  TSR_TRY(merge_run(m));
  for (size_t i = 0; i < m->n; i++) {
    const merge_symbol *s = &m->s[i];
    if (s->n && s->id < 0) TSR_TRY(add_bytes(t, s->p, s->n, out));
    else if (s->n && !token_list_add(out, s->id)) return st_oom();
  }
  return NULL;
}

static tsr_status encode_by_score(const tokenizer *t, const char *text, size_t n, bool first, token_list *out) {
  merger m = {.al = out->al, .join = join, .user = &t->v};
  strb spelled;
  strb_init(&spelled, out->al);
  spell(t, text, n, first, &spelled);
  tsr_status st = strb_ok(&spelled) ? merge(t, strb_text(&spelled), spelled.n, &m, out) : st_oom();
  merge_free(&m);
  strb_clear(&spelled);
  return st;
}

/* ---- unigram ----------------------------------------------------------------------------------------------------- */

/* The best way to the end of a character: its sum of scores, and the last token on it with its bytes. */
typedef struct way { double score; int32_t id; uint32_t n; } way;

static bool is_piece(const vocab *v, int32_t id) {
  const token_type type = id < 0 ? TOKEN_UNUSED : vocab_type(v, id);
  return type == TOKEN_NORMAL || type == TOKEN_USER;
}

static void best_ways(const tokenizer *t, const char *p, size_t n, double unknown, way *ways) {
  for (size_t i = 0; i <= n; i++) ways[i] = (way){i ? -1e300 : 0, NO_TOKEN, 0};
  for (size_t i = 0; i < n; i++) {
    int bytes;
    if (ways[i].score <= -1e299) continue;
    unicode_decode(p + i, n - i, &bytes);
    for (size_t k = 1; k <= t->v.longest && i + k <= n; k++) {
      const int32_t id = vocab_find(&t->v, p + i, k);
      const double score = is_piece(&t->v, id) ? ways[i].score + t->v.scores[id] : -1e300;
      if (score > ways[i + k].score) ways[i + k] = (way){score, id, (uint32_t)k};
    }
    const double score = ways[i].score + unknown;
    if (score > ways[i + (size_t)bytes].score) ways[i + (size_t)bytes] = (way){score, NO_TOKEN, (uint32_t)bytes};
  }
}

/* From the end; what was found is then put in order. */
static tsr_status take_way(const tokenizer *t, const char *p, size_t n, way *ways, token_list *out) {
  size_t count = 0;
  for (size_t i = n; i > 0;) {
    const way w = ways[i];
    i -= w.n;
    ways[n - count++] = w; /* behind what is still to be read: a step takes at least a byte */
  }
  size_t at = 0;
  for (size_t i = count; i-- > 0;) {
    const way w = ways[n - i];
    if (w.id < 0) TSR_TRY(add_bytes(t, p + at, w.n, out));
    else if (!token_list_add(out, w.id)) return st_oom();
    at += w.n;
  }
  return NULL;
}

static tsr_status encode_unigram(const tokenizer *t, const char *text, size_t n, bool first, token_list *out) {
  double lowest = 0;
  strb spelled;
  for (int32_t i = 0; i < t->v.n; i++)
    if (t->v.scores[i] < lowest) lowest = t->v.scores[i];
  strb_init(&spelled, out->al);
  spell(t, text, n, first, &spelled);
  const size_t bytes = (spelled.n + 1) * sizeof(way);
  way *ways = strb_ok(&spelled) ? al_alloc(out->al, bytes, 16) : NULL;
  tsr_status st = ways ? NULL : st_oom();
  if (!st) {
    best_ways(t, strb_text(&spelled), spelled.n, lowest - 10, ways);
    st = take_way(t, strb_text(&spelled), spelled.n, ways, out);
  }
  al_free(out->al, ways, bytes, 16);
  strb_clear(&spelled);
  return st;
}

/* ---- back -------------------------------------------------------------------------------------------------------- */

static void decode(const tokenizer *t, int32_t id, strb *out) {
  const gguf_text *x = &t->v.text[id];
  for (unsigned b = 0; b < 256 && vocab_type(&t->v, id) == TOKEN_BYTE; b++)
    if (t->byte_token[b] == id) return strb_putc(out, (char)b);
  for (size_t i = 0; i < x->n;)
    if (x->n - i >= 3 && !memcmp(x->p + i, blank, 3)) strb_putc(out, ' '), i += 3;
    else strb_put(out, x->p + i++, 1);
}

const tokenizer_kind tokenizer_by_score = {"llama", true, make, encode_by_score, decode};
const tokenizer_kind tokenizer_unigram = {"t5", false, make, encode_unigram, decode};
