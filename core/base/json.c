/* core/base/json.c - see json.h. Recursive descent; every error is made in fail(). */
#include "core/base/json.h"

#include <math.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/str.h"
#include "core/base/utf8.h"

enum { MAX_DEPTH = 64 };

typedef struct reader {
  arena *a;
  const char *text, *p, *end, *file;
  size_t left; /* values that may still come */
} reader;

static tsr_status fail(const reader *r, const char *what) {
  int line = 1, column = 1;
  for (const char *c = r->text; c < r->p; c++) {
    column = *c == '\n' ? 1 : column + 1;
    line += *c == '\n';
  }
  return st_make(&r->a->al, TSR_PARSE_ERROR, ST_WHERE("json", NULL, NULL), "%s:%d:%d: expected %s", r->file, line,
                 column, what);
}

static void skip_space(reader *r) {
  while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')) r->p++;
}

static bool take(reader *r, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n)) return false;
  r->p += n;
  return true;
}

static char *put_utf8(char *o, uint32_t c) {
  if (c < 0x80) *o++ = (char)c;
  else if (c < 0x800) *o++ = (char)(0xc0 | c >> 6), *o++ = (char)(0x80 | (c & 63));
  else if (c < 0x10000)
    *o++ = (char)(0xe0 | c >> 12), *o++ = (char)(0x80 | (c >> 6 & 63)), *o++ = (char)(0x80 | (c & 63));
  else
    *o++ = (char)(0xf0 | c >> 18), *o++ = (char)(0x80 | (c >> 12 & 63)), *o++ = (char)(0x80 | (c >> 6 & 63)),
    *o++ = (char)(0x80 | (c & 63));
  return o;
}

static bool hex4(reader *r, uint32_t *out) {
  *out = 0;
  if (r->end - r->p < 4) return false;
  for (int i = 0; i < 4; i++, r->p++) {
    char c = *r->p;
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : -1;
    if (d < 0) return false;
    *out = *out * 16 + (uint32_t)d;
  }
  return true;
}

static bool unescape(reader *r, char **o) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->p == r->end) return false;
  char c = *r->p++;
  if (c != 'u') {
    const char *at = c ? strchr(from, c) : NULL;
    if (!at) return false;
    *(*o)++ = to[at - from];
    return true;
  }
  uint32_t u, low;
  if (!hex4(r, &u) || !u || (u >= 0xdc00 && u < 0xe000)) return false;
  if (u >= 0xd800 && u < 0xdc00) {
    if (!take(r, "\\u") || !hex4(r, &low) || low < 0xdc00 || low > 0xdfff) return false;
    u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
  }
  *o = put_utf8(*o, u);
  return true;
}

static tsr_status read_string(reader *r, const char **out) {
  const char *close = ++r->p;
  while (close < r->end && *close != '"') close += *close == '\\' ? 2 : 1;
  if (close >= r->end) return fail(r, "a closing quote");
  char *s = arena_alloc(r->a, (size_t)(close - r->p) + 1), *o = s; /* unescaped text is never longer */
  if (!s) return st_oom();
  while (r->p < close) {
    if ((unsigned char)*r->p < 0x20) return fail(r, "an escape instead of a control character");
    if (*r->p != '\\') {
      const int n = utf8_length(r->p, (size_t)(close - r->p));
      if (!n) return fail(r, "UTF-8");
      memcpy(o, r->p, (size_t)n);
      o += n, r->p += n;
      continue;
    }
    r->p++;
    if (!unescape(r, &o)) return fail(r, "a valid escape");
  }
  *o = 0;
  r->p = close + 1;
  *out = s;
  return NULL;
}

static tsr_status read_number(reader *r, double *out) {
  char buf[64];
  size_t n = 0;
  while (r->p + n < r->end && n < sizeof buf - 1 && strchr("+-.0123456789eE", r->p[n]) && r->p[n]) n++;
  memcpy(buf, r->p, n);
  buf[n] = 0;
  const char *digits = buf + (buf[0] == '-');
  char *stop;
  *out = number_read(buf, &stop);
  bool leading_zero = digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
  if (!n || *stop || digits[0] < '0' || digits[0] > '9' || leading_zero || stop[-1] == '.' || !isfinite(*out))
    return fail(r, "a value");
  r->p += n;
  return NULL;
}

static tsr_status read_value(reader *r, int depth, json *out);

static tsr_status read_children(reader *r, int depth, json *out, char close) {
  json **tail = &out->first;
  r->p++;
  skip_space(r);
  if (r->p < r->end && *r->p == close) return r->p++, NULL;
  for (;;) {
    json *child = arena_new(r->a, json);
    if (!child) return st_oom();
    skip_space(r);
    if (close == '}') {
      if (r->p == r->end || *r->p != '"') return fail(r, "a key in quotes");
      TSR_TRY(read_string(r, &child->key));
      skip_space(r);
      if (!take(r, ":")) return fail(r, "`:`");
    }
    TSR_TRY(read_value(r, depth + 1, child));
    *tail = child;
    tail = &child->next;
    out->n++;
    skip_space(r);
    if (take(r, ",")) continue;
    if (r->p < r->end && *r->p == close) return r->p++, NULL;
    return fail(r, close == '}' ? "`,` or `}`" : "`,` or `]`");
  }
}

static tsr_status read_value(reader *r, int depth, json *out) {
  skip_space(r);
  if (depth > MAX_DEPTH) return fail(r, "at most 64 levels");
  if (r->p == r->end) return fail(r, "a value");
  if (!r->left--) return fail(r, "fewer values");
  switch (*r->p) {
  case '{': out->type = JSON_OBJECT; return read_children(r, depth, out, '}');
  case '[': out->type = JSON_ARRAY; return read_children(r, depth, out, ']');
  case '"': out->type = JSON_STRING; return read_string(r, &out->string);
  default: break;
  }
  if (take(r, "null")) return out->type = JSON_NULL, NULL;
  out->boolean = take(r, "true");
  if (out->boolean || take(r, "false")) return out->type = JSON_BOOL, NULL;
  out->type = JSON_NUMBER;
  return read_number(r, &out->number);
}

tsr_status json_parse(arena *a, const char *text, size_t n, const char *file, json **out) {
  return json_parse_most(a, text, n, file, SIZE_MAX, out);
}

tsr_status json_parse_most(arena *a, const char *text, size_t n, const char *file, size_t most, json **out) {
  reader r = {a, text, text, text + n, file, most};
  *out = NULL;
  json *v = arena_new(a, json);
  if (!v) return st_oom();
  TSR_TRY(read_value(&r, 0, v));
  skip_space(&r);
  if (r.p != r.end) return fail(&r, "the end of the text");
  *out = v;
  return NULL;
}

const json *json_get(const json *object, const char *key) {
  const json *found = NULL;
  if (!object || object->type != JSON_OBJECT) return NULL;
  for (const json *c = object->first; c; c = c->next)
    if (!strcmp(c->key, key)) found = c;
  return found;
}

const char *json_stray(arena *a, const json *object, const char *what, const json_field *fields, size_t n) {
  static const char *const kinds[] = {[JSON_NULL] = "null",     [JSON_BOOL] = "true or false", [JSON_NUMBER] = "a number",
                                      [JSON_STRING] = "a text", [JSON_ARRAY] = "an array",     [JSON_OBJECT] = "an object"};
  for (const json *c = object->first; c; c = c->next) {
    size_t i = 0;
    while (i < n && strcmp(fields[i].name, c->key)) i++;
    if (i < n && fields[i].type == c->type) continue;
    strb why;
    strb_init(&why, &a->al);
    strb_json(&why, c->key);
    if (i < n) strb_printf(&why, " of %s is not %s", what, kinds[fields[i].type]);
    else strb_printf(&why, " is nothing that %s has; there are ", what);
    for (size_t k = 0; i == n && k < n; k++) strb_printf(&why, "%s%s", k ? ", " : "", fields[k].name);
    const char *said = strb_ok(&why) ? arena_str(a, strb_text(&why)) : NULL;
    strb_clear(&why);
    return said ? said : "a member that is unknown or of another type";
  }
  return NULL;
}

double json_num(const json *object, const char *key, double dflt) {
  const json *v = json_get(object, key);
  return v && v->type == JSON_NUMBER ? v->number : dflt;
}

int32_t json_i32(const json *object, const char *key, int32_t dflt) {
  int64_t v = json_i64(object, key, dflt);
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v;
}

int64_t json_i64(const json *object, const char *key, int64_t dflt) {
  const json *v = json_get(object, key);
  if (!v || v->type != JSON_NUMBER) return dflt;
  return v->number >= 0x1p63 ? INT64_MAX : v->number < -0x1p63 ? INT64_MIN : (int64_t)v->number;
}

const char *json_str(const json *object, const char *key, const char *dflt) {
  const json *v = json_get(object, key);
  return v && v->type == JSON_STRING ? v->string : dflt;
}

bool json_copy_str(const json *object, const char *key, const char *dflt, char *out, size_t size) {
  const char *text = json_str(object, key, dflt);
  const size_t n = strlen(text), kept = n < size ? n : size - 1;
  memcpy(out, text, kept);
  out[kept] = 0;
  return kept == n;
}
