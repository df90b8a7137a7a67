/* core/base/str.c - see str.h. */
#include "core/base/str.h"

#include <stdarg.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/utf8.h"

void strb_init(strb *b, const tsr_allocator *al) { *b = (strb){.al = al}; }

void strb_clear(strb *b) {
  al_free_array(b->al, b->p, b->cap);
  b->p = NULL;
  b->n = b->cap = 0;
  b->failed = false;
}

static bool reserve(strb *b, size_t more) {
  if (b->failed) return false;
  if (!al_grow(b->al, &b->p, &b->cap, b->n + more + 1, 1)) b->failed = true;
  return !b->failed;
}

void strb_put(strb *b, const char *s, size_t n) {
  if (!reserve(b, n)) return;
  memcpy(b->p + b->n, s, n);
  b->n += n;
  b->p[b->n] = 0;
}

void strb_puts(strb *b, const char *s) { strb_put(b, s, strlen(s)); }
void strb_putc(strb *b, char c) { strb_put(b, &c, 1); }

/* Into the room that is there, and again where that was too little. */
void strb_vprintf(strb *b, const char *fmt, va_list ap) {
  const size_t room = b->cap - b->n;
  va_list again;
  if (b->failed) return;
  va_copy(again, ap);
  int n = number_vprint(room ? b->p + b->n : NULL, room, fmt, ap);
  if (n >= 0 && (size_t)n >= room)
    n = reserve(b, (size_t)n) ? number_vprint(b->p + b->n, (size_t)n + 1, fmt, again) : -1;
  va_end(again);
  if (n >= 0) b->n += (size_t)n;
  else if (b->p) b->p[b->n] = 0;
}

void strb_printf(strb *b, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  strb_vprintf(b, fmt, ap);
  va_end(ap);
}

void strb_json(strb *b, const char *s) {
  strb_putc(b, '"');
  for (int n; *s; s += n) {
    const unsigned char c = (unsigned char)*s;
    if (!(n = utf8_length(s, 4))) n = 1, strb_puts(b, "\xef\xbf\xbd");
    else if (c == '"' || c == '\\') strb_printf(b, "\\%c", c);
    else if (c == '\n') strb_puts(b, "\\n");
    else if (c < 0x20 || c == 0x7f) strb_printf(b, "\\u%04x", c);
    else strb_put(b, s, (size_t)n);
  }
  strb_putc(b, '"');
}
