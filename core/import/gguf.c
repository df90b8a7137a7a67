/* core/import/gguf.c - see gguf.h. Format: "GGUF", version (u32), number of tensors and of key-values (u64 each); the
 * key-values: key, type (u32), value; the tensors: name, number of dimensions (u32), dimensions (u64, innermost first),
 * type (u32), offset from the start of the data (u64); data, aligned to general.alignment (32). A string is its length
 * (u64) and bytes. All little-endian. */
#include "core/import/gguf.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DIMS = 4, MAX_NAME = 65535 };

const unsigned gguf_sizes[GGUF_N_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

typedef struct reader {
  weights *w;
  uint64_t at;
} reader;

static uint64_t left(const reader *r) { return r->w->size - r->at; }

uint64_t gguf_little(const unsigned char *p, unsigned n) {
  uint64_t v = 0;
  while (n--) v = v << 8 | p[n];
  return v;
}

static tsr_status take(reader *r, unsigned bytes, const char *what, uint64_t *out) {
  *out = 0;
  if (left(r) < bytes) return weights_bad(r->w, r->at, "the file ends where %s should be", what);
  *out = gguf_little(r->w->p + r->at, bytes);
  r->at += bytes;
  return NULL;
}

/* The length of a string, whose bytes are there. */
static tsr_status take_length(reader *r, const char *what, uint64_t *n) {
  TSR_TRY(take(r, 8, what, n));
  if (*n <= left(r)) return NULL;
  return weights_bad(r->w, r->at - 8, "%s of %llu bytes; the file has %llu more", what, (unsigned long long)*n,
                     (unsigned long long)left(r));
}

static tsr_status take_string(reader *r, const char *what, uint64_t most, const char **out) {
  uint64_t n;
  TSR_TRY(take_length(r, what, &n));
  if (n > most) return weights_bad(r->w, r->at - 8, "%s of %llu bytes", what, (unsigned long long)n);
  const char *s = (const char *)r->w->p + r->at;
  if (memchr(s, 0, (size_t)n)) return weights_bad(r->w, r->at, "%s has a zero byte in it", what);
  *out = arena_strn(&r->w->a, s, (size_t)n);
  r->at += n;
  return *out ? NULL : st_oom();
}

/* Goes over the elements; each is looked at, so that whoever reads them later needn't. */
static tsr_status take_array(reader *r, weights_meta *m) {
  uint64_t type, n, length;
  TSR_TRY(take(r, 4, "an array's type", &type));
  if (type >= GGUF_N_TYPES || type == GGUF_ARRAY)
    return weights_bad(r->w, r->at - 4, "\"%s\": an array of elements of type %llu", m->key, (unsigned long long)type);
  TSR_TRY(take(r, 8, "an array's length", &n));
  if (n > left(r) / gguf_sizes[type])
    return weights_bad(r->w, r->at - 8, "\"%s\": an array of %llu elements; the file has %llu more bytes", m->key,
                       (unsigned long long)n, (unsigned long long)left(r));
  m->v.array.type = (uint32_t)type;
  m->v.array.n = n;
  m->v.array.offset = r->at;
  if (type != GGUF_STRING) r->at += n * gguf_sizes[type];
  else
    for (uint64_t i = 0; i < n; i++) {
      TSR_TRY(take_length(r, "a text in an array", &length));
      r->at += length;
    }
  return NULL;
}

static tsr_status take_number(reader *r, gguf_type type, weights_meta *m) {
  static const weights_kind kinds[GGUF_N_TYPES] = {
      [GGUF_I8] = WEIGHTS_INT,    [GGUF_I16] = WEIGHTS_INT,   [GGUF_I32] = WEIGHTS_INT,  [GGUF_I64] = WEIGHTS_INT,
      [GGUF_F32] = WEIGHTS_FLOAT, [GGUF_F64] = WEIGHTS_FLOAT, [GGUF_BOOL] = WEIGHTS_BOOL};
  uint64_t v;
  TSR_TRY(take(r, gguf_sizes[type], m->key, &v));
  m->kind = kinds[type];
  if (m->kind == WEIGHTS_INT) {
    unsigned up = 64 - 8 * gguf_sizes[type];
    m->v.i = (int64_t)(v << up) >> up;
  } else if (type == GGUF_F32) {
    uint32_t bits = (uint32_t)v;
    float f;
    memcpy(&f, &bits, sizeof f);
    m->v.f = (double)f;
  } else if (type == GGUF_F64) memcpy(&m->v.f, &v, sizeof v);
  else m->v.u = v;
  if (type == GGUF_BOOL && v > 1)
    return weights_bad(r->w, r->at - 1, "\"%s\": a bool that is %llu", m->key, (unsigned long long)v);
  return NULL;
}

static tsr_status take_meta(reader *r) {
  weights_meta *m = weights_add_meta(r->w);
  uint64_t type;
  if (!m) return st_oom();
  TSR_TRY(take_string(r, "a key", MAX_NAME, &m->key));
  TSR_TRY(take(r, 4, "a value's type", &type));
  m->at = r->at;
  if (type >= GGUF_N_TYPES)
    return weights_bad(r->w, r->at - 4, "\"%s\": a value of the unknown type %llu", m->key, (unsigned long long)type);
  if (type == GGUF_STRING) {
    m->kind = WEIGHTS_STRING;
    return take_string(r, "a text", UINT64_MAX, &m->v.s);
  }
  m->kind = WEIGHTS_ARRAY;
  return type == GGUF_ARRAY ? take_array(r, m) : take_number(r, (gguf_type)type, m);
}

static tsr_status take_shape(reader *r, weights_tensor *t) {
  uint64_t rank, dim;
  TSR_TRY(take(r, 4, "a number of dimensions", &rank));
  if (rank > MAX_DIMS)
    return weights_bad(r->w, r->at - 4, "tensor \"%s\" has %llu dimensions, more than %d", t->name,
                       (unsigned long long)rank, MAX_DIMS);
  t->shape.rank = (int)rank;
  for (int i = t->shape.rank - 1; i >= 0; i--) {
    TSR_TRY(take(r, 8, "a dimension", &dim));
    if (dim > INT64_MAX)
      return weights_bad(r->w, r->at - 8, "tensor \"%s\": a dimension of %llu", t->name, (unsigned long long)dim);
    t->shape.dims[i] = (int64_t)dim;
  }
  return NULL;
}

/* Type and bytes. Of an unknown type the bytes stay 0: the tensor can be listed, not read. */
static tsr_status take_type(reader *r, weights_tensor *t) {
  uint64_t code, n;
  TSR_TRY(take(r, 4, "a tensor's type", &code));
  if (!weights_count(&t->shape, &n))
    return weights_bad(r->w, r->at - 4, "tensor \"%s\": the number of elements overflows", t->name);
  const block_format *f = block_format_by_code((uint32_t)code);
  if (!f) {
    char name[32];
    snprintf(name, sizeof name, "type %llu", (unsigned long long)code);
    return (t->type = arena_str(&r->w->a, name)) ? NULL : st_oom();
  }
  uint64_t row = t->shape.rank ? (uint64_t)t->shape.dims[t->shape.rank - 1] : 1;
  if (row % f->elements)
    return weights_bad(r->w, r->at - 4, "tensor \"%s\": rows of %llu elements are no whole blocks of %s", t->name,
                       (unsigned long long)row, f->name);
  if (__builtin_mul_overflow(n / f->elements, (uint64_t)f->bytes, &t->bytes))
    return weights_bad(r->w, r->at - 4, "tensor \"%s\": the number of bytes overflows", t->name);
  t->type = f->name;
  t->dtype = f->dtype;
  t->block = f->dtype ? NULL : f;
  return NULL;
}

/* t->offset is from the start of the data until `place`. */
static tsr_status take_tensor(reader *r) {
  weights_tensor *t = weights_add(r->w);
  if (!t) return st_oom();
  TSR_TRY(take_string(r, "a tensor's name", MAX_NAME, &t->name));
  TSR_TRY(take_shape(r, t));
  TSR_TRY(take_type(r, t));
  return take(r, 8, "a tensor's offset", &t->offset);
}

static tsr_status alignment_of(const weights *w, uint64_t *out) {
  *out = 32;
  for (size_t i = 0; i < w->n_meta; i++) {
    const weights_meta *m = &w->meta[i];
    if (strcmp(m->key, "general.alignment")) continue;
    if (m->kind != WEIGHTS_UINT || !m->v.u || m->v.u & (m->v.u - 1) || m->v.u > UINT32_MAX)
      return weights_bad(w, m->at, "general.alignment is no power of two");
    *out = m->v.u;
  }
  return NULL;
}

static tsr_status place(const weights *w, uint64_t data, uint64_t alignment, weights_tensor *t) {
  uint64_t there = w->size > data ? w->size - data : 0;
  if (t->offset % alignment)
    return weights_bad(w, data, "tensor \"%s\" is %llu bytes into the data, no multiple of the alignment %llu", t->name,
                       (unsigned long long)t->offset, (unsigned long long)alignment);
  if (t->offset > there || t->bytes > there - t->offset)
    return weights_bad(w, data, "tensor \"%s\" has %llu bytes from byte %llu of the data, of which there are %llu",
                       t->name, (unsigned long long)t->bytes, (unsigned long long)t->offset, (unsigned long long)there);
  t->offset = t->offset + data < w->size ? t->offset + data : w->size; /* no bytes behind the padding: it may lack */
  return NULL;
}

bool gguf_is(const unsigned char *p, uint64_t n) { return n >= 4 && !memcmp(p, "GGUF", 4); }

tsr_status gguf_read(weights *w) {
  reader r = {w, 4};
  uint64_t version, n_tensors, n_meta, alignment;
  TSR_TRY(take(&r, 4, "the version", &version));
  if (version && !(version & 0xffff)) return weights_bad(w, 4, "a big-endian GGUF file, which is not read");
  if (version != 2 && version != 3)
    return weights_bad(w, 4, "GGUF version %llu; versions 2 and 3 are read", (unsigned long long)version);
  TSR_TRY(take(&r, 8, "the number of tensors", &n_tensors));
  TSR_TRY(take(&r, 8, "the number of key-values", &n_meta));
  if (n_tensors > left(&r) / 24) /* name's length, rank, type, offset */
    return weights_bad(w, 8, "%llu tensors in %llu bytes", (unsigned long long)n_tensors, (unsigned long long)w->size);
  if (n_meta > left(&r) / 13) /* key's length, type, a byte */
    return weights_bad(w, 16, "%llu key-values in %llu bytes", (unsigned long long)n_meta, (unsigned long long)w->size);
  for (uint64_t i = 0; i < n_meta; i++) TSR_TRY(take_meta(&r));
  for (uint64_t i = 0; i < n_tensors; i++) TSR_TRY(take_tensor(&r));
  TSR_TRY(alignment_of(w, &alignment));
  uint64_t data = (r.at + alignment - 1) / alignment * alignment;
  for (size_t i = 0; i < w->n_tensors; i++) TSR_TRY(place(w, data, alignment, &w->tensors[i]));
  return NULL;
}
