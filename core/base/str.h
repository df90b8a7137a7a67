/* core/base/str.h - a growing string. Out of memory is sticky: appends become no-ops and strb_ok tells at the end. */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H
#include <stdarg.h>

#include "core/base/alloc.h"

typedef struct strb {
  const tsr_allocator *al;
  char *p; /* zero-terminated once anything was appended */
  size_t n, cap;
  bool failed;
} strb;

void strb_init(strb *b, const tsr_allocator *al);
void strb_clear(strb *b);
void strb_put(strb *b, const char *s, size_t n);
void strb_puts(strb *b, const char *s);
void strb_putc(strb *b, char c);
void strb_vprintf(strb *b, const char *fmt, va_list ap);
void strb_printf(strb *b, const char *fmt, ...) TSR_PRINTF(2, 3);
/* JSON string with quotes and escapes; bytes that are no UTF-8 become U+FFFD. */
void strb_json(strb *b, const char *s);
static inline bool strb_ok(const strb *b) { return !b->failed; }
/* Characters of names and numbers, whatever the application's locale takes for some. */
static inline bool ascii_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static inline bool ascii_alnum(char c) { return ascii_letter(c) || ascii_digit(c); }
/* The text so far; "" when empty. */
static inline const char *strb_text(const strb *b) { return b->p ? b->p : ""; }
#endif
