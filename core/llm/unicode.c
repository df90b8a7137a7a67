/* core/llm/unicode.c - see unicode.h. */
#include "core/llm/unicode.h"

#include "core/base/utf8.h"

unicode_class unicode_class_of(uint32_t c) {
  size_t from = 0, to = unicode_n_changes; /* the last change at or before c is in [from, to) */
  while (to - from > 1) {
    const size_t mid = (from + to) / 2;
    if (unicode_changes[mid] >> 3 <= c) from = mid;
    else to = mid;
  }
  return (unicode_class)(unicode_changes[from] & 7);
}

bool unicode_is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
         c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

uint32_t unicode_decode(const char *s, size_t n, int *bytes) {
  static const unsigned char lead[5] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  const int len = *s ? utf8_length(s, n) : 1;
  *bytes = len ? len : 1;
  if (!len) return 0xfffd;
  uint32_t c = (unsigned char)s[0] & lead[len];
  for (int i = 1; i < len; i++) c = c << 6 | ((unsigned char)s[i] & 0x3f);
  return c;
}

int unicode_encode(uint32_t c, char out[4]) {
  static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
  const int len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (int i = len - 1; i > 0; i--, c >>= 6) out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)(lead[len] | c);
  return len;
}
