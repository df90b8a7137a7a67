/* core/llm/tokenizer.c - see tokenizer.h. What holds for all kinds: which one it is, tokens that stand in texts by
 * their names, beginning and end. */
#include "core/llm/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "core/llm/tokenizer_parts.h"

static const tokenizer_kind *const kinds[] = {&tokenizer_byte_level, &tokenizer_by_score, &tokenizer_unigram};

static tsr_status find_kind(tokenizer *t, const weights *w) {
  const weights_meta *m = weights_get_meta(w, "tokenizer.ggml.model");
  if (!m || m->kind != WEIGHTS_STRING)
    return weights_bad(w, m ? m->at : 0, "the file says no tokenizer (tokenizer.ggml.model)");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i]->model, m->v.s)) return (t->kind = kinds[i]), NULL;
  return st_make(&w->a.al, TSR_UNSUPPORTED, ST_WHERE("tokenizer", NULL, NULL),
                 "%s: tokenizers \"%s\" are not read; \"gpt2\", \"llama\" and \"t5\" are", w->file, m->v.s);
}

static tsr_status read_bool(const weights *w, const char *key, bool *out) {
  const weights_meta *m = weights_get_meta(w, key);
  if (!m) return NULL;
  if (m->kind != WEIGHTS_BOOL) return weights_bad(w, m->at, "\"%s\" is no bool", key);
  *out = m->v.u;
  return NULL;
}

/* ---- tokens by name in texts ------------------------------------------------------------------------------------- */

static bool is_special(const vocab *v, int32_t id) {
  const token_type type = vocab_type(v, id);
  return (type == TOKEN_CONTROL || type == TOKEN_USER || type == TOKEN_UNKNOWN) && v->text[id].n;
}

static int first_byte(const gguf_text *x) { return (unsigned char)x->p[0]; }

/* By first byte (a counting sort), then each group from the longest on. */
static tsr_status index_specials(tokenizer *t) {
  const vocab *v = &t->v;
  int32_t *first = t->first_special, n = 0;
  for (int32_t id = 0; id < v->n; id++)
    if (is_special(v, id)) first[first_byte(&v->text[id]) + 1]++, n++;
  for (int b = 0; b < 256; b++) first[b + 1] += first[b];
  t->specials = arena_array(&t->a, int32_t, n + 1);
  if (!t->specials) return st_oom();
  int32_t filled[256] = {0};
  for (int32_t id = 0; id < v->n; id++) {
    if (!is_special(v, id)) continue;
    const int b = first_byte(&v->text[id]);
    t->specials[first[b] + filled[b]++] = id;
  }
  for (int b = 0; b < 256; b++) { /* Shell's sort */
    int32_t *s = t->specials + first[b];
    for (int32_t gap = filled[b] / 2; gap > 0; gap /= 2)
      for (int32_t i = gap; i < filled[b]; i++)
        for (int32_t k = i; k >= gap && v->text[s[k]].n > v->text[s[k - gap]].n; k -= gap) {
          const int32_t other = s[k];
          s[k] = s[k - gap];
          s[k - gap] = other;
        }
  }
  return NULL;
}

/* The longest that stands at the text's beginning; NO_TOKEN. */
static int32_t special_at(const tokenizer *t, const char *text, size_t n) {
  const int b = (unsigned char)*text;
  for (int32_t i = t->first_special[b]; i < t->first_special[b + 1]; i++) {
    const gguf_text *x = &t->v.text[t->specials[i]];
    if (x->n <= n && !memcmp(x->p, text, x->n)) return t->specials[i];
  }
  return NO_TOKEN;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static const char *text_of(tokenizer *t, int32_t id) {
  return id < 0 ? "" : arena_strn(&t->a, t->v.text[id].p, t->v.text[id].n);
}

static tsr_status make(tokenizer *t, const weights *w) {
  t->file = arena_str(&t->a, w->file);
  if (!t->file) return st_oom();
  TSR_TRY(find_kind(t, w));
  TSR_TRY(vocab_read(w, &t->a, &t->v));
  TSR_TRY(vocab_read_id(w, &t->v, "tokenizer.ggml.bos_token_id", &t->bos));
  TSR_TRY(vocab_read_id(w, &t->v, "tokenizer.ggml.eos_token_id", &t->eos));
  TSR_TRY(vocab_read_id(w, &t->v, "tokenizer.ggml.unknown_token_id", &t->unknown));
  t->adds_bos = t->kind->adds_bos;
  TSR_TRY(t->kind->make(t, w));
  TSR_TRY(read_bool(w, "tokenizer.ggml.add_bos_token", &t->adds_bos));
  TSR_TRY(read_bool(w, "tokenizer.ggml.add_space_prefix", &t->adds_space));
  if (!(t->bos_text = text_of(t, t->bos)) || !(t->eos_text = text_of(t, t->eos))) return st_oom();
  return index_specials(t);
}

tsr_status tokenizer_create(const weights *w, tokenizer **out) {
  tokenizer *t = *out = al_new(&w->a.al, tokenizer);
  if (!t) return st_oom();
  arena_init(&t->a, &w->a.al);
  tsr_status st = make(t, w);
  if (st) tokenizer_destroy(out);
  return st;
}

void tokenizer_destroy(tokenizer **t) {
  if (!t || !*t) return;
  tsr_allocator al = (*t)->a.al;
  arena_clear(&(*t)->a);
  al_delete(&al, *t);
  *t = NULL;
}

/* ---- use --------------------------------------------------------------------------------------------------------- */

tsr_status tokenizer_encode(const tokenizer *t, const char *text, size_t n, token_list *out) {
  bool first = true;
  size_t from = 0;
  if (tokenizer_adds_bos(t) && !token_list_add(out, t->bos)) return st_oom();
  for (size_t i = 0; i < n;) {
    const int32_t id = special_at(t, text + i, n - i);
    if (id < 0) {
      i++;
      continue;
    }
    if (i > from) TSR_TRY(t->kind->encode(t, text + from, i - from, first, out));
    if (!token_list_add(out, id)) return st_oom();
    first = vocab_type(&t->v, id) == TOKEN_CONTROL;
    from = i += t->v.text[id].n;
  }
  return n > from ? t->kind->encode(t, text + from, n - from, first, out) : NULL;
}

void tokenizer_decode(const tokenizer *t, int32_t id, strb *out) {
  if (id < 0 || id >= t->v.n || vocab_type(&t->v, id) == TOKEN_CONTROL) return;
  if (vocab_type(&t->v, id) == TOKEN_USER) strb_put(out, t->v.text[id].p, t->v.text[id].n);
  else t->kind->decode(t, id, out);
}

int32_t tokenizer_count(const tokenizer *t) { return t->v.n; }

/* Chat models end a turn with a token of its own, which files don't always name. */
bool tokenizer_is_end(const tokenizer *t, int32_t id) {
  static const char *const ends[] = {"<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>",      "<end_of_turn>",
                                     "<|end_of_text|>", "</s>",     "<|eom_id|>", "<|return|>"};
  if (id < 0 || id >= t->v.n) return false;
  if (id == t->eos) return true;
  const gguf_text *x = &t->v.text[id];
  for (size_t i = 0; i < sizeof ends / sizeof *ends && vocab_type(&t->v, id) == TOKEN_CONTROL; i++)
    if (strlen(ends[i]) == x->n && !memcmp(ends[i], x->p, x->n)) return true;
  return false;
}

bool tokenizer_adds_bos(const tokenizer *t) { return t->adds_bos && t->bos >= 0; }
const char *tokenizer_bos_text(const tokenizer *t) { return t->bos_text; }
const char *tokenizer_eos_text(const tokenizer *t) { return t->eos_text; }
