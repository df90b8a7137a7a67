/* core/llm/byte_level.c - byte-level BPE, the tokenizers of the GPT-2 family. Texts of tokens spell each byte as a
 * character that can be seen: printable ones of Latin-1 as themselves, the others in order from U+0100 on. The text is
 * divided by the pre-tokenization rules; in each piece neighbouring tokens merge by their rank among the merges. */
#include <string.h>

#include "core/base/hash.h"
#include "core/llm/pretokenizer.h"
#include "core/llm/tokenizer_parts.h"
#include "core/llm/unicode.h"

typedef struct merge_slot { int32_t left, right, rank, id; } merge_slot; /* rank -1: empty */

typedef struct byte_level {
  const pretokenizer *pre;
  pattern *rules[PRETOKENIZER_MOST_RULES];
  int n_rules;
  merge_slot *slots;
  size_t n_slots;
} byte_level;

/* The character that spells a byte, and the byte that a character spells (-1: none). */
static uint32_t spelling(unsigned b) {
  if (b <= 0x20) return 0x100 + b;
  if (b <= 0x7e) return b;
  if (b <= 0xa0) return 0x100 + 0x21 + (b - 0x7f);
  return b == 0xad ? 0x143 : b;
}

static int spelled_byte(uint32_t c) {
  if (c >= 0x100 && c <= 0x120) return (int)c - 0x100;
  if (c >= 0x121 && c <= 0x142) return (int)c - 0x121 + 0x7f;
  if (c == 0x143) return 0xad;
  return c < 0x100 && spelling((unsigned)c) == c ? (int)c : -1;
}

/* ---- merges ------------------------------------------------------------------------------------------------------ */

static size_t slot_of(const byte_level *b, int32_t left, int32_t right) {
  return (size_t)hash_mix(hash_word(HASH_SEED, (uint64_t)(uint32_t)left << 32 | (uint32_t)right)) & (b->n_slots - 1);
}

static const merge_slot *find_merge(const byte_level *b, int32_t left, int32_t right) {
  for (size_t i = slot_of(b, left, right); b->slots[i].rank >= 0; i = (i + 1) & (b->n_slots - 1))
    if (b->slots[i].left == left && b->slots[i].right == right) return &b->slots[i];
  return NULL;
}

static bool join(const void *user, const merge_symbol *left, const merge_symbol *right, double *cost, int32_t *id) {
  const merge_slot *m = left->id < 0 || right->id < 0 ? NULL : find_merge(user, left->id, right->id);
  if (!m) return false;
  *cost = m->rank;
  *id = m->id;
  return true;
}

static tsr_status bad_merge(const weights *w, const weights_meta *m, size_t i, const gguf_text *t, const char *why) {
  return weights_bad(w, m->at, "merge %zu, \"%.*s\", %s", i, (int)(t->n < 100 ? t->n : 100), t->p, why);
}

/* "left right": a blank is no byte's character. */
static tsr_status add_merge(tokenizer *t, const weights *w, const weights_meta *m, size_t i, const gguf_text *text) {
  byte_level *b = t->bpe;
  const char *blank = text->n > 2 ? memchr(text->p + 1, ' ', text->n - 2) : NULL;
  char joined[512];
  if (!blank || text->n > sizeof joined) return bad_merge(w, m, i, text, "is no pair of texts");
  const size_t n = (size_t)(blank - text->p), rest = text->n - n - 1;
  memcpy(joined, text->p, n);
  memcpy(joined + n, blank + 1, rest);
  merge_slot made = {vocab_find(&t->v, text->p, n), vocab_find(&t->v, blank + 1, rest), (int32_t)i,
                     vocab_find(&t->v, joined, n + rest)};
  if (made.left < 0 || made.right < 0 || made.id < 0)
    return bad_merge(w, m, i, text,
                     made.left < 0 || made.right < 0 ? "has a part that is no token" : "makes a text that is no token");
  if (find_merge(b, made.left, made.right)) return NULL;
  size_t at = slot_of(b, made.left, made.right);
  while (b->slots[at].rank >= 0) at = (at + 1) & (b->n_slots - 1);
  b->slots[at] = made;
  return NULL;
}

static tsr_status read_merges(tokenizer *t, const weights *w) {
  const weights_meta *m = weights_get_meta(w, "tokenizer.ggml.merges");
  byte_level *b = t->bpe;
  gguf_text *merges;
  size_t n;
  TSR_TRY(gguf_texts(w, m, &t->a, &merges, &n));
  if (!m) return weights_bad(w, 0, "the tokenizer has no merges (tokenizer.ggml.merges)");
  if (n > INT32_MAX / 4) return weights_bad(w, m->at, "%zu merges", n);
  for (b->n_slots = 16; b->n_slots < 2 * n;) b->n_slots *= 2;
  b->slots = arena_array(&t->a, merge_slot, b->n_slots);
  if (!b->slots) return st_oom();
  for (size_t i = 0; i < b->n_slots; i++) b->slots[i].rank = -1;
  for (size_t i = 0; i < n; i++) TSR_TRY(add_merge(t, w, m, i, &merges[i]));
  return NULL;
}

static tsr_status read_rules(tokenizer *t, const weights *w) {
  const weights_meta *m = weights_get_meta(w, "tokenizer.ggml.pre");
  byte_level *b = t->bpe;
  if (m && m->kind != WEIGHTS_STRING) return weights_bad(w, m->at, "\"tokenizer.ggml.pre\" is no text");
  b->pre = pretokenizer_find(m ? m->v.s : "default");
  if (!b->pre)
    return st_make(&t->a.al, TSR_UNSUPPORTED, ST_WHERE("tokenizer", NULL, NULL),
                   "%s: the pre-tokenization rules \"%s\" are not known", w->file, m->v.s);
  for (; b->n_rules < PRETOKENIZER_MOST_RULES && b->pre->rules[b->n_rules]; b->n_rules++)
    TSR_TRY(pattern_make(&t->a, b->pre->rules[b->n_rules], &b->rules[b->n_rules]));
  return NULL;
}

static tsr_status make(tokenizer *t, const weights *w) {
  t->bpe = arena_new(&t->a, byte_level);
  if (!t->bpe) return st_oom();
  TSR_TRY(read_rules(t, w));
  t->adds_bos = t->bpe->pre->adds_bos;
  for (unsigned b = 0; b < 256; b++) {
    char text[4];
    t->byte_token[b] = vocab_find(&t->v, text, (size_t)unicode_encode(spelling(b), text));
  }
  return read_merges(t, w);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* A text on its way. */
typedef struct piece_work {
  const tokenizer *t;
  merger m;
  strb spelled;
  token_list *out;
} piece_work;

static tsr_status encode_piece(piece_work *k, const char *text, size_t n) {
  const tokenizer *t = k->t;
  if (t->bpe->pre->whole_first) {
    k->spelled.n = 0;
    for (size_t i = 0; i < n; i++) {
      char c[4];
      strb_put(&k->spelled, c, (size_t)unicode_encode(spelling((unsigned char)text[i]), c));
    }
    if (!strb_ok(&k->spelled)) return st_oom();
    const int32_t id = vocab_find(&t->v, strb_text(&k->spelled), k->spelled.n);
    if (id >= 0) return token_list_add(k->out, id) ? NULL : st_oom();
  }
  merge_clear(&k->m);
  for (size_t i = 0; i < n; i++)
    if (!merge_add(&k->m, text + i, 1, t->byte_token[(unsigned char)text[i]])) return st_oom();
  TSR_TRY(merge_run(&k->m));
  for (size_t i = 0; i < k->m.n; i++) {
    const merge_symbol *s = &k->m.s[i];
    if (!s->n) continue;
    if (s->id < 0) TSR_TRY(tokenizer_add_byte(t, (unsigned char)*s->p, k->out));
    else if (!token_list_add(k->out, s->id)) return st_oom();
  }
  return NULL;
}

/* Code points of the text and where each begins, one more for the end. */
static void read_code_points(const char *text, size_t n, uint32_t *points, size_t *at, int64_t *count) {
  size_t i = 0;
  for (*count = 0; i < n; (*count)++) {
    int bytes;
    points[*count] = unicode_decode(text + i, n - i, &bytes);
    at[*count] = i;
    i += (size_t)bytes;
  }
  at[*count] = n;
}

static tsr_status encode(const tokenizer *t, const char *text, size_t n, bool first, token_list *out) {
  const tsr_allocator *al = out->al;
  piece_work k = {.t = t, .m = {.al = al, .join = join, .user = t->bpe}, .out = out};
  uint32_t *points = al_alloc(al, (n + 1) * sizeof *points, 16);
  size_t *at = al_alloc(al, (n + 1) * sizeof *at, 16), n_pieces = 0, cap = 0;
  int64_t *pieces = NULL, count = 0, from = 0;
  tsr_status st = points && at ? NULL : st_oom();
  (void)first;
  strb_init(&k.spelled, al);
  if (!st) read_code_points(text, n, points, at, &count);
  if (!st) st = pretokenizer_divide(t->bpe->rules, t->bpe->n_rules, points, count, al, &pieces, &n_pieces, &cap);
  for (size_t i = 0; !st && i < n_pieces; from += pieces[i++])
    st = encode_piece(&k, text + at[from], at[from + pieces[i]] - at[from]);
  al_free_array(al, pieces, cap);
  al_free(al, points, (n + 1) * sizeof *points, 16);
  al_free(al, at, (n + 1) * sizeof *at, 16);
  merge_free(&k.m);
  strb_clear(&k.spelled);
  return st;
}

static void decode(const tokenizer *t, int32_t id, strb *out) {
  const gguf_text *x = &t->v.text[id];
  for (size_t i = 0; i < x->n;) {
    int bytes;
    const int b = spelled_byte(unicode_decode(x->p + i, x->n - i, &bytes));
    if (b >= 0) strb_putc(out, (char)b);
    else strb_put(out, x->p + i, (size_t)bytes);
    i += (size_t)bytes;
  }
}

const tokenizer_kind tokenizer_byte_level = {
    .model = "gpt2", .make = make, .encode = encode, .decode = decode};
