/* core/base/number.h - text with numbers, the same whatever locale the application has set: IR, sources of kernels,
 * JSON and stored files have a point before the fraction, and are read so. */
#ifndef CORE_BASE_NUMBER_H
#define CORE_BASE_NUMBER_H
#include <stdarg.h>
#include <stddef.h>

#include "core/base/alloc.h"

/* As snprintf, vsnprintf and strtod in the C locale. */
int number_print(char *out, size_t n, const char *fmt, ...) TSR_PRINTF(3, 4);
int number_vprint(char *out, size_t n, const char *fmt, va_list ap);
double number_read(const char *text, char **end);
#endif
