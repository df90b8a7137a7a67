/* core/base/utf8.c - see utf8.h. */
#include "core/base/utf8.h"

#include <stdint.h>

int utf8_length(const char *text, size_t n) {
  const unsigned char *s = (const unsigned char *)text;
  static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* no longer forms than needed, nor surrogates */
  uint32_t c = n ? s[0] : 0;
  int k = c < 0x80 ? c != 0 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (k < 2) return k;
  if (n < (size_t)k) return 0;
  c &= 0xffu >> (k + 1);
  for (int i = 1; i < k; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3fu);
  }
  return c >= least[k] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? k : 0;
}

bool utf8_is_text(const char *text, bool lines) {
  for (int n; *text; text += n) {
    const unsigned char c = (unsigned char)*text, next = (unsigned char)text[1];
    if (!(n = utf8_length(text, 4))) return false;
    if (!lines && (c < 0x20 || c == 0x7f || (c == 0xc2 && next < 0xa0))) return false;
  }
  return true;
}
