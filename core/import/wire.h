/* core/import/wire.h - the wire format of protocol buffers, read in place: a message is a row of fields, each a number
 * with an integer, four or eight bytes, or a slice of the file. Nothing is copied; no slice reaches outside of its
 * message. Format: protobuf.dev, "Encoding"; groups, which proto3 doesn't have, are refused. */
#ifndef CORE_IMPORT_WIRE_H
#define CORE_IMPORT_WIRE_H
#include "core/base/status.h"

typedef struct wire_file {
  const unsigned char *p;
  uint64_t size;
  const char *name; /* for messages */
} wire_file;

/* A message: the bytes from `at` to `end` of the file. */
typedef struct wire_message { uint64_t at, end; } wire_message;

typedef enum wire_kind { WIRE_VARINT, WIRE_EIGHT, WIRE_BYTES, WIRE_FOUR = 5 } wire_kind;

typedef struct wire_field {
  uint32_t number;
  wire_kind kind;
  uint64_t value;     /* of VARINT, EIGHT, FOUR */
  wire_message bytes; /* of BYTES */
  uint64_t at;        /* of the field's tag */
} wire_field;

/* TSR_PARSE_ERROR with file and offset. */
tsr_status wire_bad(const wire_file *f, uint64_t offset, const char *fmt, ...) TSR_PRINTF(3, 4);
/* The next field of *m, which moves on. False at its end, and where *st, NULL before, is what was wrong:
 *   while (wire_more(f, &m, &x, &st)) ..;  if (st) .. */
bool wire_more(const wire_file *f, wire_message *m, wire_field *out, tsr_status *st);
/* The next integer of a packed list, whose bytes are *m. */
TSR_MUST_USE tsr_status wire_varint(const wire_file *f, wire_message *m, uint64_t *out);
/* The field's kind must be the one that its number has. */
TSR_MUST_USE tsr_status wire_expect(const wire_file *f, const wire_field *x, wire_kind kind, const char *what);
#endif
