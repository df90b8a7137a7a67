/* core/emit/spirv/words.c - see emit/spirv/words.h. */
#include "core/emit/spirv/words.h"

#include <string.h>

#include "core/base/hash.h"

enum { MAGIC = 0x07230203, VERSION_1 = 0x00010000, GENERATOR = 0 };

void spv_init(spv *s, const tsr_allocator *al) { *s = (spv){.al = al, .body = SEC_BODY, .next_id = 1}; }

void spv_clear(spv *s) {
  for (int i = 0; i < N_SECTIONS; i++) al_free_array(s->al, s->sec[i].w, s->sec[i].cap);
  al_free_array(s->al, s->keys, s->cap_keys);
  *s = (spv){.al = s->al};
}

/* Room for n more; the body is most of a module, and begins with what a small one takes. */
static bool grow(spv *s, spv_section sec, size_t n) {
  enum { SMALL_BODY = 4096 };
  spv_words *b = &s->sec[sec];
  if (b->n + n <= b->cap) return true;
  return al_grow(s->al, &b->w, &b->cap, sec == SEC_BODY && !b->cap && n < SMALL_BODY ? SMALL_BODY : b->n + n,
                 sizeof *b->w);
}

static uint32_t *reserve(spv *s, spv_section sec, size_t n) {
  spv_words *b = &s->sec[sec];
  if (s->failed || !grow(s, sec, n)) {
    s->failed = true;
    return NULL;
  }
  uint32_t *p = b->w + b->n;
  b->n += n;
  return p;
}

/* Instructions have few operands, mostly: no call for these. */
static void put_words(uint32_t *p, const uint32_t *w, int n) {
  switch (n) {
  case 4: p[3] = w[3]; /* fall through */
  case 3: p[2] = w[2]; /* fall through */
  case 2: p[1] = w[1]; /* fall through */
  case 1: p[0] = w[0]; /* fall through */
  case 0: break;
  default: memcpy(p, w, (size_t)n * sizeof *p);
  }
}

void spv_put(spv *s, spv_section sec, int op, const uint32_t *w, int n) {
  uint32_t *p = reserve(s, sec, (size_t)n + 1);
  if (!p) return;
  p[0] = (uint32_t)(n + 1) << 16 | (uint32_t)op;
  put_words(p + 1, w, n);
}

uint32_t spv_val_n(spv *s, int op, uint32_t type, const uint32_t *w, int n) {
  uint32_t id = spv_id(s), *p = reserve(s, s->body, (size_t)n + 3);
  if (!p) return id;
  p[0] = (uint32_t)(n + 3) << 16 | (uint32_t)op;
  p[1] = type;
  p[2] = id;
  put_words(p + 3, w, n);
  return id;
}

static bool grow_keys(spv *s) {
  size_t cap = s->cap_keys ? 2 * s->cap_keys : 128;
  struct spv_key *k = al_zalloc(s->al, cap * sizeof *k);
  if (!k) return false;
  for (size_t i = 0; i < s->cap_keys; i++) {
    if (!s->keys[i].id) continue;
    size_t at = s->keys[i].hash & (cap - 1);
    while (k[at].id) at = (at + 1) & (cap - 1);
    k[at] = s->keys[i];
  }
  al_free_array(s->al, s->keys, s->cap_keys);
  s->keys = k;
  s->cap_keys = cap;
  return true;
}

/* Does the instruction at word `at` of SEC_TYPES equal (op, w) but for its result id? */
static bool same(const spv *s, const struct spv_key *k, int op, const uint32_t *w, int n, bool typed) {
  const uint32_t *p = s->sec[SEC_TYPES].w + k->at;
  if (p[0] != ((uint32_t)(n + 2) << 16 | (uint32_t)op)) return false;
  if (!typed) return !n || !memcmp(p + 2, w, (size_t)n * 4);
  return p[1] == w[0] && (n == 1 || !memcmp(p + 3, w + 1, (size_t)(n - 1) * 4));
}

/* By words: constants and types are looked up several times an instruction. */
static uint64_t hash_words(int op, const uint32_t *w, int n) {
  uint64_t h = HASH_SEED ^ (uint64_t)op;
  for (int i = 0; i < n; i++) h = hash_word(h, w[i]);
  return h;
}

uint32_t spv_once(spv *s, int op, const uint32_t *w, int n, bool typed) {
  uint64_t h = hash_words(op, w, n);
  if (2 * (s->n_keys + 1) > s->cap_keys && !grow_keys(s)) {
    s->failed = true;
    return 1;
  }
  size_t at = h & (s->cap_keys - 1);
  for (; s->keys[at].id; at = (at + 1) & (s->cap_keys - 1))
    if (s->keys[at].hash == h && same(s, &s->keys[at], op, w, n, typed)) return s->keys[at].id;
  uint32_t start = (uint32_t)s->sec[SEC_TYPES].n, *p = reserve(s, SEC_TYPES, (size_t)n + 2);
  if (!p) return 1;
  uint32_t id = spv_id(s);
  p[0] = (uint32_t)(n + 2) << 16 | (uint32_t)op;
  p[1] = typed ? w[0] : id;
  if (typed) {
    p[2] = id;
    put_words(p + 3, w + 1, n - 1);
  } else {
    put_words(p + 2, w, n);
  }
  s->keys[at] = (struct spv_key){h, start, (uint32_t)n, id};
  s->n_keys++;
  return id;
}

void spv_string(spv *s, spv_section sec, int op, const uint32_t *before, int n_before, const char *text,
                const uint32_t *after, int n_after) {
  size_t len = strlen(text), words = len / 4 + 1, n = 1 + (size_t)n_before + words + (size_t)n_after;
  uint32_t *p = reserve(s, sec, n);
  if (!p) return;
  *p++ = (uint32_t)n << 16 | (uint32_t)op;
  for (int i = 0; i < n_before; i++) *p++ = before[i];
  memset(p, 0, words * 4);
  for (size_t i = 0; i < len; i++) p[i / 4] |= (uint32_t)(unsigned char)text[i] << 8 * (i % 4);
  p += words;
  for (int i = 0; i < n_after; i++) *p++ = after[i];
}

void spv_capability(spv *s, uint32_t cap) {
  const spv_words *b = &s->sec[SEC_CAPS];
  for (size_t i = 1; i < b->n; i += 2)
    if (b->w[i] == cap) return;
  SPV(s, SEC_CAPS, OpCapability, cap);
}

void spv_extension(spv *s, const char *name) {
  const spv_words *b = &s->sec[SEC_EXTENSIONS];
  size_t words = strlen(name) / 4 + 1;
  for (size_t i = 0; i < b->n; i += b->w[i] >> 16) {
    if ((b->w[i] >> 16) != words + 1) continue;
    bool eq = true;
    for (size_t c = 0; name[c]; c++) eq &= (b->w[i + 1 + c / 4] >> 8 * (c % 4) & 0xff) == (unsigned char)name[c];
    if (eq) return;
  }
  spv_string(s, SEC_EXTENSIONS, OpExtension, NULL, 0, name, NULL, 0);
}

uint32_t *spv_finish(const spv *s, arena *a, size_t *n_words) {
  size_t n = 5;
  for (int i = 0; i < N_SECTIONS; i++) n += s->sec[i].n;
  uint32_t *w = s->failed ? NULL : arena_array(a, uint32_t, n);
  if (!w) return NULL;
  w[0] = MAGIC;
  w[1] = VERSION_1 | (uint32_t)(s->minor ? s->minor : 6) << 8;
  w[2] = GENERATOR;
  w[3] = s->next_id;
  w[4] = 0;
  size_t at = 5;
  for (int i = 0; i < N_SECTIONS; i++) {
    if (s->sec[i].n) memcpy(w + at, s->sec[i].w, s->sec[i].n * 4);
    at += s->sec[i].n;
  }
  *n_words = n;
  return w;
}
