/* core/base/json.h - reads JSON (RFC 8259) into a tree in an arena. Writing is strb_printf with strb_json.
 * Limits: 64 levels of nesting; numbers become double; the text must be UTF-8 and is not kept. */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H
#include "core/base/arena.h"
#include "core/base/status.h"

typedef enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_type;

typedef struct json {
  json_type type;
  bool boolean;
  double number;
  const char *string;      /* zero-terminated; a \u0000 inside is refused */
  const char *key;         /* in an object */
  struct json *first, *next; /* children of arrays and objects; the next sibling */
  size_t n;                /* number of children */
} json;

/* The whole text must be one value. `file` is for messages: file:line:column. */
TSR_MUST_USE tsr_status json_parse(arena *a, const char *text, size_t n, const char *file, json **out);
/* The same, of at most so many values: each takes 64 to 100 bytes of memory. */
TSR_MUST_USE tsr_status json_parse_most(arena *a, const char *text, size_t n, const char *file, size_t most,
                                        json **out);
/* Member of an object, or NULL (also for a NULL or other value). Keys that appear twice: the last one. */
const json *json_get(const json *object, const char *key);
/* What a file that a user writes may have in an object. */
typedef struct json_field {
  const char *name;
  json_type type;
} json_field;
/* The first member that is none of these, or is there and of another type, in one line that names it; NULL: none is. In
 * the arena, or a constant string where that has no memory. */
const char *json_stray(arena *a, const json *object, const char *what, const json_field *fields, size_t n);
/* With a default where the member is missing or of another type. */
double json_num(const json *object, const char *key, double dflt);
/* Towards zero, and at most what the type holds. */
int32_t json_i32(const json *object, const char *key, int32_t dflt);
int64_t json_i64(const json *object, const char *key, int64_t dflt);
const char *json_str(const json *object, const char *key, const char *dflt);
/* The same copied to out; false where it is cut. */
bool json_copy_str(const json *object, const char *key, const char *dflt, char *out, size_t size);
#endif
