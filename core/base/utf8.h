/* core/base/utf8.h - what is text: of files that others wrote, of names, of what goes into JSON. */
#ifndef CORE_BASE_UTF8_H
#define CORE_BASE_UTF8_H
#include <stdbool.h>
#include <stddef.h>

/* Bytes of the UTF-8 sequence at s, of which n can be read; 0: there is none, as of a zero byte. Of text with an end n
 * may be any number from 4 on. */
int utf8_length(const char *s, size_t n);
/* UTF-8; without control characters, or with those too that a text of several lines has. */
bool utf8_is_text(const char *text, bool lines);
#endif
