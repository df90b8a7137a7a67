/* core/import/onnx_tensor.c - see onnx_tensor.h. */
#include "core/import/onnx_tensor.h"

#include <string.h>

#include "core/base/utf8.h"

enum { STRING = 8, TYPES = 27 };

/* By TensorProto.DataType. bits 0: of no fixed size. */
static const struct {
  const char *name;
  unsigned bits;
} types[TYPES] = {{"undefined", 0}, {"f32", 32},      {"u8", 8},          {"i8", 8},       {"u16", 16},
                  {"i16", 16},      {"i32", 32},      {"i64", 64},        {"string", 0},   {"bool", 8},
                  {"f16", 16},      {"f64", 64},      {"u32", 32},     {"u64", 64},  {"complex64", 64},
                  {"complex128", 128}, {"bf16", 16},  {"fp8_e4m3", 8},    {"float8e4m3fnuz", 8}, {"fp8_e5m2", 8},
                  {"float8e5m2fnuz", 8}, {"uint4", 4}, {"int4", 4},       {"float4e2m1", 4}, {"float8e8m0", 8}, {"uint2", 2}, {"int2", 2}};

const char *onnx_type_name(uint64_t type) { return type < TYPES ? types[type].name : "type?"; }

tsr_status onnx_text(onnx_model *m, const wire_field *x, const char *what, const char **out) {
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, what));
  const char *s = (const char *)m->file.p + x->bytes.at;
  size_t n = (size_t)(x->bytes.end - x->bytes.at);
  if (n && memchr(s, 0, n)) return wire_bad(&m->file, x->at, "%s has a zero byte in it", what);
  *out = n ? arena_strn(&m->a, s, n) : "";
  if (!*out) return st_oom();
  return utf8_is_text(*out, false) ? NULL
                                     : wire_bad(&m->file, x->at, "%s is not UTF-8 without control characters", what);
}

static tsr_status add_dim(const onnx_model *m, uint64_t at, uint64_t v, onnx_tensor *t) {
  if (t->rank == TSR_MAX_RANK) return wire_bad(&m->file, at, "a tensor of more than %d dimensions", TSR_MAX_RANK);
  if (v > INT64_MAX) return wire_bad(&m->file, at, "a tensor with a dimension of %lld", (long long)v);
  t->dims[t->rank++] = (int64_t)v;
  return NULL;
}

/* One dimension, or several packed. */
static tsr_status read_dims(const onnx_model *m, const wire_field *x, onnx_tensor *t) {
  wire_message list = x->bytes;
  uint64_t v = 0;
  if (x->kind == WIRE_VARINT) return add_dim(m, x->at, x->value, t);
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a dimension"));
  while (list.at < list.end) {
    TSR_TRY(wire_varint(&m->file, &list, &v));
    TSR_TRY(add_dim(m, x->at, v, t));
  }
  return NULL;
}

/* A file in the model's folder: no root, no way up, no drive. */
static bool stays_inside(const char *path) {
  if (!*path || *path == '/' || strchr(path, '\\') || strchr(path, ':')) return false;
  for (const char *part = path; part; part = strchr(part, '/')) {
    if (*part == '/') part++;
    if (strcspn(part, "/") == 2 && !strncmp(part, "..", 2)) return false;
  }
  return true;
}

static bool number(const char *s, uint64_t *out) {
  uint64_t v = 0;
  if (!*s) return false;
  for (; *s; s++)
    if (*s < '0' || *s > '9' || __builtin_mul_overflow(v, 10, &v) ||
        __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
      return false;
  *out = v;
  return true;
}

/* StringStringEntryProto: 1 key, 2 value */
static tsr_status read_external(onnx_model *m, const wire_field *entry, onnx_tensor *t) {
  wire_message e = entry->bytes;
  const char *key = "", *value = "";
  wire_field x;
  tsr_status st = NULL;
  TSR_TRY(wire_expect(&m->file, entry, WIRE_BYTES, "external data"));
  while (wire_more(&m->file, &e, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a key", &key));
    else if (x.number == 2) TSR_TRY(onnx_text(m, &x, "external data's value", &value));
  }
  TSR_TRY(st);
  if (!strcmp(key, "location")) {
    if (!stays_inside(value))
      return wire_bad(&m->file, entry->at, "external data at \"%s\", outside of the model's folder", value);
    t->location = value;
  }
  bool offset = !strcmp(key, "offset");
  if ((offset || !strcmp(key, "length")) && !number(value, offset ? &t->offset : &t->length))
    return wire_bad(&m->file, entry->at, "external data with the %s \"%s\"", key, value);
  return NULL;
}

/* What the shape needs against what is there. */
static tsr_status check_bytes(const onnx_model *m, uint64_t at, uint64_t type, bool typed, bool external,
                              onnx_tensor *t) {
  uint64_t bits = 0, raw = t->raw.end - t->raw.at;
  int64_t n = 1;
  bool none = false;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] && __builtin_mul_overflow(n, t->dims[i], &n))
      return wire_bad(&m->file, at, "tensor \"%s\": the number of elements overflows", t->name);
    none |= !t->dims[i];
  }
  t->elements = none ? 0 : (uint64_t)n;
  unsigned width = type < TYPES ? types[type].bits : 0;
  if (__builtin_mul_overflow(t->elements, (uint64_t)width, &bits) || bits > UINT64_MAX - 7)
    return wire_bad(&m->file, at, "tensor \"%s\": the number of bytes overflows", t->name);
  t->bytes = (bits + 7) / 8;
  if (raw && width && raw != t->bytes)
    return wire_bad(&m->file, t->raw.at, "tensor \"%s\" has %llu bytes, its shape and type need %llu", t->name,
                    (unsigned long long)raw, (unsigned long long)t->bytes);
  if (external && !t->location)
    return wire_bad(&m->file, at, "tensor \"%s\": external data without a location", t->name);
  if (t->location && t->length && width && t->length != t->bytes)
    return wire_bad(&m->file, at, "tensor \"%s\" has %llu bytes of external data, its shape and type need %llu",
                    t->name, (unsigned long long)t->length, (unsigned long long)t->bytes);
  if (t->elements && !raw && !typed && !t->location)
    return wire_bad(&m->file, at, "tensor \"%s\" has no data", t->name);
  return NULL;
}

/* TensorProto: 1 dims, 2 type, 4 to 7, 10, 11 data by type, 8 name, 9 raw data, 13 external data, 14 its place */
tsr_status onnx_read_tensor(onnx_model *m, wire_message t, onnx_tensor *out) {
  const wire_message whole = t;
  uint64_t at = t.at, type = 0;
  tsr_status st = NULL;
  bool typed = false, external = false;
  wire_field x;
  out->name = "";
  out->dims = arena_array(&m->a, int64_t, TSR_MAX_RANK);
  if (!out->dims) return st_oom();
  while (wire_more(&m->file, &t, &x, &st)) {
    switch (x.number) {
    case 1: TSR_TRY(read_dims(m, &x, out)); break;
    case 2: type = x.value; break;
    case 4: case 5: case 6: case 7: case 10: case 11: typed = true; break;
    case 8: TSR_TRY(onnx_text(m, &x, "a tensor's name", &out->name)); break;
    case 9:
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "raw data"));
      out->raw = x.bytes;
      break;
    case 13: TSR_TRY(read_external(m, &x, out)); break;
    case 14: external = x.value == 1; break;
    default: break;
    }
  }
  TSR_TRY(st);
  out->whole = whole;
  out->type = onnx_type_name(type);
  return check_bytes(m, at, type, typed, external, out);
}
