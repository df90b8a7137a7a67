/* core/import/wire.c - see wire.h. */
#include "core/import/wire.h"

#include <stdarg.h>
#include <stdio.h>

tsr_status wire_bad(const wire_file *f, uint64_t offset, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return st_make(NULL, TSR_PARSE_ERROR, ST_WHERE("onnx", NULL, NULL), "%s: offset %llu: %s", f->name,
                 (unsigned long long)offset, text);
}

tsr_status wire_varint(const wire_file *f, wire_message *m, uint64_t *out) {
  uint64_t from = m->at;
  *out = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (m->at == m->end) return wire_bad(f, from, "the message ends in a number");
    unsigned char c = f->p[m->at++];
    if (shift == 63 && c > 1) break;
    *out |= (uint64_t)(c & 127) << shift;
    if (c < 128) return NULL;
  }
  return wire_bad(f, from, "a number of more than 64 bits");
}

static tsr_status fixed(const wire_file *f, wire_message *m, unsigned bytes, uint64_t *out) {
  if (m->end - m->at < bytes) return wire_bad(f, m->at, "the message ends in a number of %u bytes", bytes);
  *out = 0;
  for (unsigned i = 0; i < bytes; i++) *out |= (uint64_t)f->p[m->at++] << 8 * i;
  return NULL;
}

static tsr_status read_field(const wire_file *f, wire_message *m, wire_field *x) {
  uint64_t tag = 0, n = 0;
  *x = (wire_field){.at = m->at};
  TSR_TRY(wire_varint(f, m, &tag));
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return wire_bad(f, x->at, "a field of number %llu", (unsigned long long)(tag >> 3));
  x->number = (uint32_t)(tag >> 3);
  x->kind = (wire_kind)(tag & 7);
  switch (tag & 7) {
  case WIRE_VARINT: return wire_varint(f, m, &x->value);
  case WIRE_EIGHT: return fixed(f, m, 8, &x->value);
  case WIRE_FOUR: return fixed(f, m, 4, &x->value);
  case WIRE_BYTES: break;
  default: return wire_bad(f, x->at, "a field of the unknown kind %u", (unsigned)(tag & 7));
  }
  TSR_TRY(wire_varint(f, m, &n));
  if (n > m->end - m->at)
    return wire_bad(f, x->at, "field %u has %llu bytes; its message has %llu more", x->number, (unsigned long long)n,
                    (unsigned long long)(m->end - m->at));
  x->bytes = (wire_message){m->at, m->at + n};
  m->at += n;
  return NULL;
}

bool wire_more(const wire_file *f, wire_message *m, wire_field *x, tsr_status *st) {
  if (m->at >= m->end) return false;
  *st = read_field(f, m, x);
  return !*st;
}

tsr_status wire_expect(const wire_file *f, const wire_field *x, wire_kind kind, const char *what) {
  return x->kind == kind ? NULL : wire_bad(f, x->at, "%s is of another kind of field", what);
}
