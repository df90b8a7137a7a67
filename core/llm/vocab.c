/* core/llm/vocab.c - see vocab.h. */
#include "core/llm/vocab.h"

#include <math.h>
#include <string.h>

#include "core/base/hash.h"

enum { MOST_TOKENS = 1 << 24 };

static size_t slot_of(const vocab *v, const char *text, size_t n) {
  return (size_t)hash_mix(hash_bytes(HASH_SEED, text, n)) & (v->n_slots - 1);
}

int32_t vocab_find(const vocab *v, const char *text, size_t n) {
  for (size_t i = slot_of(v, text, n); v->slots[i] != NO_TOKEN; i = (i + 1) & (v->n_slots - 1)) {
    const gguf_text *t = &v->text[v->slots[i]];
    if (t->n == n && !memcmp(t->p, text, n)) return v->slots[i];
  }
  return NO_TOKEN;
}

static tsr_status index_texts(vocab *v, arena *a) {
  v->n_slots = 16;
  while (v->n_slots < 2 * (size_t)v->n) v->n_slots *= 2;
  v->slots = arena_array(a, int32_t, v->n_slots);
  if (!v->slots) return st_oom();
  memset(v->slots, 0xff, v->n_slots * sizeof *v->slots);
  for (int32_t id = 0; id < v->n; id++) {
    const gguf_text *t = &v->text[id];
    if (t->n > v->longest) v->longest = t->n;
    if (vocab_find(v, t->p, t->n) != NO_TOKEN) continue;
    size_t i = slot_of(v, t->p, t->n);
    while (v->slots[i] != NO_TOKEN) i = (i + 1) & (v->n_slots - 1);
    v->slots[i] = id;
  }
  return NULL;
}

/* Numbers by token. */
static tsr_status read_numbers(const weights *w, arena *a, const char *key, size_t want, const double **out) {
  const weights_meta *m = weights_get_meta(w, key);
  double *v;
  size_t n;
  TSR_TRY(gguf_numbers(w, m, a, &v, &n));
  if (m && n != want) return weights_bad(w, m->at, "\"%s\" has %zu elements for %zu tokens", key, n, want);
  *out = m ? v : NULL;
  return NULL;
}

tsr_status vocab_read(const weights *w, arena *a, vocab *out) {
  const weights_meta *m = weights_get_meta(w, "tokenizer.ggml.tokens");
  gguf_text *text;
  size_t n;
  *out = (vocab){.n = 0};
  TSR_TRY(gguf_texts(w, m, a, &text, &n));
  if (!n) return weights_bad(w, m ? m->at : 0, "the file has no tokens (tokenizer.ggml.tokens)");
  if (n > MOST_TOKENS) return weights_bad(w, m->at, "%zu tokens", n);
  out->text = text;
  out->n = (int32_t)n;
  TSR_TRY(read_numbers(w, a, "tokenizer.ggml.scores", n, &out->scores));
  TSR_TRY(read_numbers(w, a, "tokenizer.ggml.token_type", n, &out->types));
  for (size_t i = 0; i < n && out->scores; i++)
    if (!(out->scores[i] >= -1e30 && out->scores[i] <= 1e30))
      return weights_bad(w, weights_get_meta(w, "tokenizer.ggml.scores")->at, "token %zu has no finite score", i);
  for (size_t i = 0; i < n && out->types; i++)
    if (!(out->types[i] >= 1 && out->types[i] < (double)TOKEN_N_TYPES && out->types[i] == floor(out->types[i])))
      return weights_bad(w, weights_get_meta(w, "tokenizer.ggml.token_type")->at, "token %zu has the type %g", i,
                         out->types[i]);
  return index_texts(out, a);
}

tsr_status vocab_read_id(const weights *w, const vocab *v, const char *key, int32_t *out) {
  const weights_meta *m = weights_get_meta(w, key);
  *out = NO_TOKEN;
  if (!m) return NULL;
  const bool whole = m->kind == WEIGHTS_UINT || (m->kind == WEIGHTS_INT && m->v.i >= 0);
  const uint64_t id = whole ? m->v.u : UINT64_MAX;
  if (id >= (uint64_t)v->n) return weights_bad(w, m->at, "\"%s\" is none of the %d tokens", key, (int)v->n);
  *out = (int32_t)id;
  return NULL;
}
