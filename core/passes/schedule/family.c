/* core/passes/schedule/family.c - see schedule/family.h; the table of families is in schedule/legalize.c. */
#include "core/passes/schedule/family.h"

#include <stdarg.h>
#include <stdio.h>

sched_limit sched_breaks(sched_limit limit, char *why, size_t size, const char *fmt, ...) {
#define NAME(code, name) [SCHED_LIMIT_##code] = name,
  static const char *const names[N_SCHED_LIMITS] = {SCHED_LIMITS(NAME)};
#undef NAME
  va_list ap;
  int n = snprintf(why, size, "%s: ", names[limit]);
  if (n < 0 || (size_t)n >= size) return limit;
  va_start(ap, fmt);
  vsnprintf(why + n, size - (size_t)n, fmt, ap);
  va_end(ap);
  return limit;
}
