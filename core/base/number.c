/* core/base/number.c - see number.h. Only where the decimal sign is another one, this thread's locale is changed for
 * the call; the application's stays what it is. */
#include "core/base/number.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
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

int number_vprint(char *out, size_t n, const char *fmt, va_list ap) {
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
