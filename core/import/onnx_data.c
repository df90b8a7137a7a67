/* core/import/onnx_data.c - see onnx_data.h. */
#include "core/import/onnx_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/file.h"
#include "core/import/onnx_value.h"

tsr_dtype onnx_dtype(const char *type) {
  if (onnx_narrow_bits(type) == 2) return *type == 'u' ? TSR_U8 : TSR_I8;
  if (onnx_small_float_of(type)) return onnx_small_float_of(type) == ONNX_F8E8M0 ? TSR_F32 : TSR_F16;
  return dtype_parse_real(type);
}

/* By onnx_small_float: a sign, an exponent with this bias, and so many bits of a fraction. The fnuz types have no -0,
 * whose code is NaN; float8e8m0 is an exponent alone. */
static const struct {
  const char *name;
  int bits, fraction, bias;
  bool fnuz;
} small_floats[] = {[ONNX_F8E4M3FNUZ] = {"float8e4m3fnuz", 8, 3, 8, true},
                    [ONNX_F8E5M2FNUZ] = {"float8e5m2fnuz", 8, 2, 16, true},
                    [ONNX_F4E2M1] = {"float4e2m1", 4, 1, 1, false},
                    [ONNX_F8E8M0] = {"float8e8m0", 8, 0, 127, false}};

onnx_small_float onnx_small_float_of(const char *type) {
  for (size_t i = 0; i < sizeof small_floats / sizeof *small_floats; i++)
    if (small_floats[i].name && !strcmp(type, small_floats[i].name)) return (onnx_small_float)i;
  return ONNX_NO_SMALL_FLOAT;
}

static double small_float(onnx_small_float t, unsigned code) {
  if (t == ONNX_F8E8M0) return code == 255 ? NAN : ldexp(1, (int)code - small_floats[t].bias);
  const int fraction = small_floats[t].fraction, bias = small_floats[t].bias;
  const unsigned sign = 1u << (small_floats[t].bits - 1), one = 1u << fraction;
  const unsigned exponent = (code & (sign - 1)) >> fraction, low = code & (one - 1);
  if (small_floats[t].fnuz && code == sign) return NAN;
  const double v = exponent ? ldexp(one + low, (int)exponent - bias - fraction) : ldexp(low, 1 - bias - fraction);
  return code & sign ? -v : v;
}

/* Two elements of 4 bits a byte, the first in the low ones. */
static void widen(const onnx_tensor *t, const unsigned char *from, unsigned char *to) {
  const onnx_small_float type = onnx_small_float_of(t->type);
  const bool halves = small_floats[type].bits == 4;
  const tsr_dtype wide = onnx_dtype(t->type);
  for (uint64_t i = 0; i < t->elements; i++) {
    const unsigned code = halves ? from[i / 2] >> (i % 2 * 4) & 15u : from[i];
    dtype_store(wide, to, i, small_float(type, code));
  }
}

int onnx_narrow_bits(const char *type) {
  if (!strcmp(type, "uint4") || !strcmp(type, "int4")) return 4;
  return !strcmp(type, "uint2") || !strcmp(type, "int2") ? 2 : 0;
}

tsr_dtype onnx_dtype_of(int64_t type) { return type < 0 ? TSR_DTYPE_NONE : onnx_dtype(onnx_type_name((uint64_t)type)); }

/* Several elements a byte, the first in the low bits. */
static void unpack(const onnx_tensor *t, const unsigned char *from, unsigned char *to) {
  const unsigned bits = (unsigned)onnx_narrow_bits(t->type), per = 8 / bits, mask = (1u << bits) - 1;
  const bool is_signed = *t->type == 'i';
  for (uint64_t i = 0; i < t->elements; i++) {
    const unsigned v = from[i / per] >> (i % per * bits) & mask;
    to[i] = (unsigned char)(is_signed && v > mask / 2 ? v | ~mask : v);
  }
}

/* The typed lists of TensorProto: 4 floats, 5 integers of up to 32 bits, 7 of 64, 10 doubles, 11 unsigned. A number of
 * `size` bytes each, or a varint of which the low `size` bytes count. */
typedef struct typed_list {
  unsigned char *to;
  size_t size;
  uint64_t n, most;
} typed_list;

static void put(typed_list *l, uint64_t v) {
  if (l->n < l->most) memcpy(l->to + l->n * l->size, &v, l->size); /* little-endian */
  l->n++;
}

static tsr_status put_field(const onnx_model *m, const wire_field *x, typed_list *l) {
  wire_message list = x->bytes;
  const size_t fixed = x->number == 4 ? 4 : x->number == 10 ? 8 : 0;
  if (x->kind != WIRE_BYTES) return put(l, x->value), NULL;
  while (list.at < list.end) {
    uint64_t v = 0;
    if (!fixed) TSR_TRY(wire_varint(&m->file, &list, &v));
    else if (list.at + fixed > list.end) return wire_bad(&m->file, list.at, "part of a number");
    else memcpy(&v, m->file.p + list.at, fixed), list.at += fixed;
    put(l, v);
  }
  return NULL;
}

static tsr_status read_typed(const onnx_model *m, const onnx_tensor *t, size_t size, uint64_t n, void *to) {
  typed_list l = {to, size, 0, n};
  wire_message whole = t->whole;
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &whole, &x, &st))
    if (x.number == 4 || x.number == 5 || x.number == 7 || x.number == 10 || x.number == 11)
      TSR_TRY(put_field(m, &x, &l));
  TSR_TRY(st);
  return l.n == n ? NULL
                  : wire_bad(&m->file, t->whole.at, "tensor \"%s\" has %llu numbers, its shape needs %llu", t->name,
                             (unsigned long long)l.n, (unsigned long long)n);
}

/* Is path, with all links followed, inside of folder? */
static bool lies_in(const char *folder, const char *path) {
  char *a = realpath(folder, NULL), *b = realpath(path, NULL);
  const size_t n = a ? strlen(a) : 0;
  const bool inside = a && b && !strncmp(a, b, n) && (b[n] == '/' || (n && a[n - 1] == '/'));
  free(a);
  free(b);
  return inside;
}

static tsr_status map_external(onnx_model *m, const onnx_tensor *t, const onnx_file **out) {
  for (size_t i = 0; i < m->external.n; i++)
    if (!strcmp(m->external.v[i].location, t->location)) return *out = &m->external.v[i], NULL;
  const char *slash = strrchr(m->file.name, '/'), *why = NULL;
  const int n = slash ? (int)(slash - m->file.name) : 1;
  const char *folder = slash == m->file.name ? "/" : arena_fmt(&m->a, "%.*s", n, slash ? m->file.name : ".");
  onnx_file f = {.location = t->location, .path = arena_fmt(&m->a, "%s/%s", folder ? folder : "", t->location)};
  if (!folder || !f.path) return st_oom();
  if (!m->mapped) return wire_bad(&m->file, t->whole.at, "external data of a model that isn't a file");
  f.p = file_map(f.path, &f.bytes, &why);
  if (!f.p) return wire_bad(&m->file, t->whole.at, "external data \"%s\" can't be opened: %s", t->location, why);
  onnx_file *listed = lies_in(folder, f.path) ? ONNX_ADD(m, external) : NULL;
  if (!listed) {
    file_unmap(f.p, f.bytes);
    return wire_bad(&m->file, t->whole.at, "external data \"%s\" leads outside of the model's folder", t->location);
  }
  *listed = f;
  *out = listed;
  return NULL;
}

static tsr_status find_bytes(onnx_model *m, const onnx_tensor *t, onnx_elements *out) {
  if (!t->location) {
    *out = (onnx_elements){m->file.p + t->raw.at, (size_t)t->bytes, m->mapped ? m->file.name : NULL, t->raw.at};
    return NULL;
  }
  const onnx_file *f = NULL;
  TSR_TRY(map_external(m, t, &f));
  if (t->offset > f->bytes || t->bytes > f->bytes - t->offset)
    return wire_bad(&m->file, t->whole.at, "tensor \"%s\": %llu bytes at %llu of \"%s\", which has %zu", t->name,
                    (unsigned long long)t->bytes, (unsigned long long)t->offset, t->location, f->bytes);
  *out = (onnx_elements){(const char *)f->p + t->offset, (size_t)t->bytes, f->path, t->offset};
  return NULL;
}

tsr_status onnx_tensor_elements(onnx_model *m, const onnx_tensor *t, onnx_elements *out) {
  const tsr_dtype type = onnx_dtype(t->type);
  const bool packed = onnx_narrow_bits(t->type) == 2 || onnx_small_float_of(t->type);
  const bool typed = !t->location && t->raw.end == t->raw.at;
  const size_t size = dtype_unit(type); /* i4 and u4 are as ONNX has them, in whole bytes */
  *out = (onnx_elements){.p = ""};
  if (!type) return wire_bad(&m->file, t->whole.at, "tensor \"%s\" is of type %s, which isn't read", t->name, t->type);
  if (t->elements > SIZE_MAX / 2 / size) return st_oom();
  if (!t->elements) return NULL;
  if (!typed) {
    TSR_TRY(find_bytes(m, t, out));
    if (!packed && type != TSR_BOOL) return NULL;
  } else if ((uint64_t)(t->whole.end - t->whole.at) < t->elements / 2) {
    return wire_bad(&m->file, t->whole.at, "tensor \"%s\" has fewer numbers than its shape", t->name);
  }
  const onnx_elements there = *out;
  const size_t bytes = tsr_dtype_bytes(type, (size_t)t->elements);
  unsigned char *copy = arena_alloc(&m->a, bytes + 8);
  if (!copy) return st_oom();
  *out = (onnx_elements){.p = copy, .bytes = bytes};
  if (typed && packed) {
    unsigned char *list = arena_alloc(&m->a, (size_t)t->bytes + 8);
    if (!list) return st_oom();
    TSR_TRY(read_typed(m, t, 1, t->bytes, list));
    (onnx_small_float_of(t->type) ? widen : unpack)(t, list, copy);
  } else if (typed) TSR_TRY(read_typed(m, t, size, bytes / size, copy));
  else if (packed) (onnx_small_float_of(t->type) ? widen : unpack)(t, there.p, copy);
  else memcpy(copy, there.p, out->bytes);
  if (type == TSR_BOOL)
    for (size_t i = 0; i < out->bytes; i++) copy[i] = copy[i] != 0;
  return NULL;
}
