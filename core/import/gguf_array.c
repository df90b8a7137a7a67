/* core/import/gguf_array.c - see gguf_array.h. */
#include "core/import/gguf_array.h"

#include <string.h>

#include "core/import/gguf.h"

static tsr_status wanted(const weights *w, const weights_meta *m, const char *what) {
  return weights_bad(w, m->at, "\"%s\" is no array of %s", m->key, what);
}

tsr_status gguf_texts(const weights *w, const weights_meta *m, arena *a, gguf_text **out, size_t *n) {
  *out = NULL;
  *n = 0;
  if (!m) return NULL;
  if (m->kind != WEIGHTS_ARRAY || m->v.array.type != GGUF_STRING) return wanted(w, m, "texts");
  gguf_text *t = *out = arena_array(a, gguf_text, m->v.array.n);
  if (!t) return st_oom();
  uint64_t at = m->v.array.offset;
  for (uint64_t i = 0; i < m->v.array.n; i++) {
    const uint64_t length = gguf_little(w->p + at, 8);
    t[i] = (gguf_text){(const char *)w->p + at + 8, (size_t)length};
    at += 8 + length;
  }
  *n = (size_t)m->v.array.n;
  return NULL;
}

static double number(const unsigned char *p, gguf_type type, unsigned bytes) {
  const uint64_t v = gguf_little(p, bytes);
  float f;
  double d;
  switch (type) {
  case GGUF_F32: {
    const uint32_t bits = (uint32_t)v;
    return memcpy(&f, &bits, sizeof f), (double)f;
  }
  case GGUF_F64: return memcpy(&d, &v, sizeof d), d;
  case GGUF_I8: case GGUF_I16: case GGUF_I32: case GGUF_I64: {
    const unsigned up = 64 - 8 * bytes;
    return (double)((int64_t)(v << up) >> up);
  }
  default: return (double)v;
  }
}

tsr_status gguf_numbers(const weights *w, const weights_meta *m, arena *a, double **out, size_t *n) {
  *out = NULL;
  *n = 0;
  if (!m) return NULL;
  if (m->kind != WEIGHTS_ARRAY || m->v.array.type == GGUF_STRING) return wanted(w, m, "numbers");
  const gguf_type type = (gguf_type)m->v.array.type;
  const unsigned bytes = gguf_sizes[type];
  double *d = *out = arena_array(a, double, m->v.array.n);
  if (!d) return st_oom();
  for (uint64_t i = 0; i < m->v.array.n; i++) d[i] = number(w->p + m->v.array.offset + i * bytes, type, bytes);
  *n = (size_t)m->v.array.n;
  return NULL;
}
