/* core/base/number.c - see number.h. Only where the decimal sign is another one, this thread's locale is changed for
 * the call; the application's stays what it is. */
#include "core/base/number.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* The locale to come back to; 0: nothing was changed. */
static locale_t enter(void) {
  if (*nl_langinfo(RADIXCHAR) == '.') return (locale_t)0;
  locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* takes no memory in the C libraries that we know */
  return c ? uselocale(c) : (locale_t)0;
}

static void leave(locale_t before) {
  if (before) freelocale(uselocale(before));
}

/* Formats of texts and whole numbers alone are most of a source's, and faster done than by the C library. */

typedef struct sink { char *to; size_t room, n; } sink; /* n: characters, whether they fit or not */

static void put(sink *s, const char *text, size_t n) {
  const size_t left = s->n < s->room ? s->room - s->n : 0;
  memcpy(s->to + (left ? s->n : 0), text, n < left ? n : left);
  s->n += n;
}

static void put_whole(sink *s, long long v) {
  char digits[24], *p = digits + sizeof digits;
  unsigned long long u = v < 0 ? 0 - (unsigned long long)v : (unsigned long long)v;
  do *--p = (char)('0' + u % 10);
  while (u /= 10);
  if (v < 0) *--p = '-';
  put(s, p, (size_t)(digits + sizeof digits - p));
}

/* Takes %s, %c, %d, %lld and %%; false at anything else. */
static bool print_plain(sink *s, const char *fmt, va_list ap) {
  for (const char *p; (p = strchr(fmt, '%')); fmt = p + 1) {
    put(s, fmt, (size_t)(p - fmt));
    if (*++p == 's') {
      const char *text = va_arg(ap, const char *);
      if (!text) return false;
      put(s, text, strlen(text));
    } else if (*p == 'd') {
      put_whole(s, va_arg(ap, int));
    } else if (*p == 'c') {
      put(s, &(char){(char)va_arg(ap, int)}, 1);
    } else if (*p == '%') {
      put(s, p, 1);
    } else if (!strncmp(p, "lld", 3)) {
      put_whole(s, va_arg(ap, long long));
      p += 2;
    } else {
      return false;
    }
  }
  put(s, fmt, strlen(fmt));
  return s->n < INT_MAX;
}

int number_vprint(char *out, size_t n, const char *fmt, va_list ap) {
  char none;
  va_list again;
  sink s = {n ? out : &none, n ? n - 1 : 0, 0};
  va_copy(again, ap);
  const bool plain = print_plain(&s, fmt, again);
  va_end(again);
  if (plain) {
    if (n) out[s.n < n ? s.n : n - 1] = 0;
    return (int)s.n;
  }
  locale_t before = enter();
  int written = vsnprintf(out, n, fmt, ap);
  leave(before);
  return written;
}

int number_print(char *out, size_t n, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int written = number_vprint(out, n, fmt, ap);
  va_end(ap);
  return written;
}

double number_read(const char *text, char **end) {
  locale_t before = enter();
  double v = strtod(text, end);
  leave(before);
  return v;
}
