/* core/ir/lex.c - characters and literals; see lex.h. */
#include "core/ir/lex.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/utf8.h"

ir_loc lex_loc(lexer *x, const char *at) {
  if (!x->loc_at || at < x->loc_at) x->loc_at = x->text, x->loc = (ir_loc){1, 1};
  for (; x->loc_at < at && x->loc_at < x->end; x->loc_at++) {
    if (*x->loc_at == '\n') x->loc.line++, x->loc.col = 1;
    else x->loc.col++;
  }
  return x->loc;
}

tsr_status lex_error(lexer *x, const char *at, const char *fmt, ...) {
  char cause[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(cause, sizeof cause, fmt, ap);
  va_end(ap);
  ir_loc l = lex_loc(x, at);
  return st_make(x->al, TSR_PARSE_ERROR, ST_WHERE(NULL, NULL, NULL), "%s:%d:%d: %s", x->file ? x->file : "<text>",
                 l.line, l.col, cause);
}

void lex_skip(lexer *x) {
  for (; x->p < x->end; x->p++) {
    if (*x->p == '/' && x->p + 1 < x->end && x->p[1] == '/') {
      while (x->p < x->end && *x->p != '\n') x->p++;
      if (x->p == x->end) return;
    } else if (!memchr(" \t\n\v\f\r", *x->p, 6)) {
      return;
    }
  }
}

static bool ident_char(char c) { return ascii_alnum(c) || c == '_' || c == '.' || c == '$'; }

bool lex_eat(lexer *x, const char *word) {
  lex_skip(x);
  size_t n = strlen(word);
  if ((size_t)(x->end - x->p) < n || memcmp(x->p, word, n)) return false;
  if (ident_char(word[n - 1]) && x->p + n < x->end && ident_char(x->p[n])) return false;
  x->p += n;
  return true;
}

bool lex_peek(lexer *x, char c) {
  lex_skip(x);
  return x->p < x->end && *x->p == c;
}

tsr_status lex_expect(lexer *x, const char *word) {
  if (lex_eat(x, word)) return NULL;
  if (x->p == x->end) return lex_error(x, x->p, "expected '%s', found the end of the text", word);
  int n = 0;
  while (x->p + n < x->end && n < 20 && (unsigned char)x->p[n] > ' ' && (unsigned char)x->p[n] < 0x7f) n++;
  return lex_error(x, x->p, "expected '%s', found '%.*s'", word, n, x->p);
}

tsr_status lex_ident(lexer *x, bool digits_first, const char **out) {
  const char *s = x->p;
  if (s < x->end && (ascii_letter(*s) || *s == '_' || (digits_first && ascii_digit(*s))))
    while (x->p < x->end && (ident_char(*x->p) || (digits_first && *x->p == '-'))) x->p++;
  if (x->p == s) return lex_error(x, s, "expected a name");
  *out = arena_strn(&x->m->arena, s, (size_t)(x->p - s));
  return *out ? NULL : st_oom();
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

tsr_status lex_string(lexer *x, const char **out) {
  lex_skip(x);
  const char *start = x->p;
  if (x->p == x->end || *x->p != '"') return lex_error(x, x->p, "expected a string");
  const char *q = ++x->p;
  while (q < x->end && *q != '"' && *q != '\n') q += *q == '\\' && q + 1 < x->end ? 2 : 1;
  if (q >= x->end || *q != '"') return lex_error(x, start, "unterminated string");
  char *s = arena_alloc(&x->m->arena, (size_t)(q - x->p) + 1), *w = s;
  if (!s) return st_oom();
  for (const char *p = x->p; p < q; p++) {
    if (*p != '\\') {
      *w++ = *p;
      continue;
    }
    p++;
    if (*p == 'n') *w++ = '\n';
    else if (*p == 't') *w++ = '\t';
    else if (*p == '"' || *p == '\\') *w++ = *p;
    else if (p + 1 < q && hex_digit(p[0]) >= 0 && hex_digit(p[1]) >= 0) {
      char c = (char)(hex_digit(p[0]) * 16 + hex_digit(p[1]));
      if (!c) return lex_error(x, p, "a zero byte in a string");
      *w++ = c;
      p++;
    } else {
      return lex_error(x, p, "unknown escape in a string");
    }
  }
  x->p = q + 1;
  *out = s;
  return NULL;
}

/* What floats are beside numbers. Printed as their bits, as MLIR does. */
static bool word_number(lexer *x, double *f) {
  static const struct { const char *word; double v; } words[] = {
      {"inf", INFINITY}, {"+inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (lex_eat(x, words[k].word)) return *f = words[k].v, true;
  return false;
}

bool lex_at_number(lexer *x) {
  lexer ahead = *x;
  double f;
  return x->p < x->end && (ascii_digit(*x->p) || *x->p == '-' || *x->p == '+' || word_number(&ahead, &f));
}

tsr_status lex_number(lexer *x, bool *is_int, bool *is_hex, int64_t *i, double *f) {
  lex_skip(x);
  *is_int = *is_hex = false, *i = 0;
  if (word_number(x, f)) return NULL;
  const char *s = x->p;
  char buf[64];
  size_t n = 0;
  bool hex = x->end - s > 2 && s[0] == '0' && s[1] == 'x', point = false;
  while (x->p < x->end && n + 1 < sizeof buf) {
    char c = *x->p;
    bool sign = (c == '-' || c == '+') && (n == 0 || (!hex && (buf[n - 1] == 'e' || buf[n - 1] == 'E')));
    bool exp = !hex && (c == 'e' || c == 'E') && n && point;
    if (!(ascii_digit(c) || sign || exp || (!hex && c == '.') ||
          (hex && (hex_digit(c) >= 0 || (n == 1 && c == 'x')))))
      break;
    if (c == '.') point = true;
    buf[n++] = c;
    x->p++;
  }
  buf[n] = 0;
  if (!n || (n == 1 && !ascii_digit(buf[0]))) return lex_error(x, s, "expected a number");
  char *end;
  errno = 0;
  *is_hex = hex;
  *is_int = !point;
  if (point) {
    *f = number_read(buf, &end);
    *i = 0;
  } else {
    *i = hex ? (int64_t)strtoull(buf, &end, 16) : strtoll(buf, &end, 10);
    *f = (double)*i;
    if (errno == ERANGE && !hex && *buf != '-') { /* of u64 */
      errno = 0;
      const uint64_t v = strtoull(buf, &end, 10);
      *i = (int64_t)v, *f = (double)v;
    }
    if (errno == ERANGE) return lex_error(x, s, "integer out of range");
  }
  return *end ? lex_error(x, s, "malformed number '%s'", buf) : NULL;
}

tsr_status lex_int(lexer *x, int64_t *out) {
  lex_skip(x);
  const char *s = x->p;
  bool is_int, hex;
  double f;
  TSR_TRY(lex_number(x, &is_int, &hex, out, &f));
  if (lex_is_beyond(is_int, *out, f)) return lex_error(x, s, "integer out of range");
  return is_int && !hex ? NULL : lex_error(x, s, "expected an integer");
}

tsr_status lex_check_utf8(lexer *x) {
  for (const char *p = x->text; p < x->end;) {
    const int n = utf8_length(p, (size_t)(x->end - p));
    if (!*p) return lex_error(x, p, "a zero byte: text has none");
    if (!n) return lex_error(x, p, "byte 0x%02x is not valid UTF-8", (unsigned char)*p);
    p += n;
  }
  return NULL;
}
