/* core/import/safetensors.c - see safetensors.h. Format: 8 bytes with the header's length, little-endian; the header,
 * {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [from, to]}, "__metadata__": {"key": "text"}}, offsets
 * from the header's end; the tensors' bytes, at any alignment. The JSON reader bounds depth and values. */
#include "core/import/safetensors.h"

#include <string.h>

#include "core/base/json.h"

enum { MAX_HEADER = 100000000, MAX_VALUES = 4000000 }; /* the format's own limit; 64 to 100 bytes of memory each */

static const struct {
  const char *name;
  tsr_dtype dtype; /* TSR_DTYPE_NONE: known by its size alone */
  unsigned bits;
} types[] = {{"F64", TSR_F64, 64},       {"F32", TSR_F32, 32},       {"F16", TSR_F16, 16},
             {"BF16", TSR_BF16, 16},     {"F8_E4M3", TSR_F8E4M3, 8}, {"F8_E5M2", TSR_F8E5M2, 8},
             {"I64", TSR_I64, 64},       {"I32", TSR_I32, 32},       {"I16", TSR_I16, 16},
             {"I8", TSR_I8, 8},          {"U64", TSR_U64, 64},       {"U32", TSR_U32, 32},
             {"U16", TSR_U16, 16},       {"U8", TSR_U8, 8},          {"BOOL", TSR_BOOL, 8},
             {"C64", TSR_DTYPE_NONE, 64}, {"F8_E8M0", TSR_DTYPE_NONE, 8}, {"F6_E2M3", TSR_DTYPE_NONE, 6},
             {"F6_E3M2", TSR_DTYPE_NONE, 6}, {"F4", TSR_DTYPE_NONE, 4}};

static uint64_t header_length(const unsigned char *p) {
  uint64_t n = 0;
  for (int i = 7; i >= 0; i--) n = n << 8 | p[i];
  return n;
}

/* The length's highest byte is no character of a text that happens to have a brace there. */
bool safetensors_is(const unsigned char *p, uint64_t n) {
  return n > 8 && p[8] == '{' && (p[7] < '\t' || p[7] > 0x7e);
}

/* A whole number that a double holds exactly. */
static bool whole(const json *j, uint64_t *out) {
  if (j->type != JSON_NUMBER || !(j->number >= 0 && j->number <= 0x1p53)) return false;
  *out = (uint64_t)j->number;
  return (double)*out == j->number;
}

static tsr_status read_shape(const weights *w, const json *j, weights_tensor *t) {
  if (!j || j->type != JSON_ARRAY) return weights_bad(w, 8, "tensor \"%s\" has no shape", t->name);
  if (j->n > TSR_MAX_RANK)
    return weights_bad(w, 8, "tensor \"%s\" has %zu dimensions, more than %d", t->name, j->n, TSR_MAX_RANK);
  for (const json *d = j->first; d; d = d->next) {
    uint64_t v;
    if (!whole(d, &v)) return weights_bad(w, 8, "tensor \"%s\": a dimension is no number from 0 to 2^53", t->name);
    t->shape.dims[t->shape.rank++] = (int64_t)v;
  }
  return NULL;
}

static tsr_status read_place(const weights *w, const json *j, uint64_t data, weights_tensor *t) {
  uint64_t from, to;
  if (!j || j->type != JSON_ARRAY || j->n != 2 || !whole(j->first, &from) || !whole(j->first->next, &to))
    return weights_bad(w, 8, "tensor \"%s\" has no data_offsets of two numbers", t->name);
  if (from > to || to > w->size - data)
    return weights_bad(w, data, "tensor \"%s\" has the data_offsets %llu to %llu, the file has %llu bytes of data",
                       t->name, (unsigned long long)from, (unsigned long long)to, (unsigned long long)(w->size - data));
  t->offset = data + from;
  t->bytes = to - from;
  return NULL;
}

static tsr_status read_type(const weights *w, const json *j, weights_tensor *t) {
  uint64_t n, bits;
  t->type = json_str(j, "dtype", NULL);
  if (!t->type) return weights_bad(w, 8, "tensor \"%s\" has no dtype", t->name);
  if (!weights_count(&t->shape, &n))
    return weights_bad(w, 8, "tensor \"%s\": the number of elements overflows", t->name);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strcmp(types[i].name, t->type)) continue;
    if (__builtin_mul_overflow(n, (uint64_t)types[i].bits, &bits) || bits % 8 || bits / 8 != t->bytes)
      return weights_bad(w, t->offset, "tensor \"%s\" has %llu bytes, its shape and type %s need another number",
                         t->name, (unsigned long long)t->bytes, t->type);
    t->dtype = types[i].dtype;
    if (t->dtype) t->type = tsr_dtype_name(t->dtype);
  }
  return NULL;
}

static tsr_status read_meta(weights *w, const json *j) {
  if (j->type != JSON_OBJECT) return weights_bad(w, 8, "__metadata__ is no object");
  for (const json *c = j->first; c; c = c->next) {
    if (c->type != JSON_STRING) return weights_bad(w, 8, "__metadata__: \"%s\" is no text", c->key);
    weights_meta *m = weights_add_meta(w);
    if (!m) return st_oom();
    *m = (weights_meta){.key = c->key, .at = 8, .kind = WEIGHTS_STRING, .v.s = c->string};
  }
  return NULL;
}

tsr_status safetensors_read(weights *w) {
  uint64_t n = header_length(w->p);
  json *j;
  if (n > MAX_HEADER) return weights_bad(w, 0, "a header of %llu bytes; the limit is 100 MB", (unsigned long long)n);
  if (n > w->size - 8)
    return weights_bad(w, 0, "a header of %llu bytes; the file has %llu after its length", (unsigned long long)n,
                       (unsigned long long)(w->size - 8));
  TSR_TRY(json_parse_most(&w->a, (const char *)w->p + 8, (size_t)n, w->file, MAX_VALUES, &j));
  if (j->type != JSON_OBJECT) return weights_bad(w, 8, "the header is no object");
  for (const json *c = j->first; c; c = c->next) {
    if (!strcmp(c->key, "__metadata__")) {
      TSR_TRY(read_meta(w, c));
      continue;
    }
    weights_tensor *t = weights_add(w);
    if (!t) return st_oom();
    t->name = c->key;
    TSR_TRY(read_shape(w, json_get(c, "shape"), t));
    TSR_TRY(read_place(w, json_get(c, "data_offsets"), 8 + n, t));
    TSR_TRY(read_type(w, c, t));
  }
  return NULL;
}
