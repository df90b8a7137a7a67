/* core/import/text.c - see text.h. */
#include "core/import/text.h"

#include <stdint.h>

/* The bytes of a UTF-8 sequence, 0: none. Of control characters those alone that a text of several lines has. */
static int sequence(const unsigned char *s, bool lines) {
  uint32_t c = s[0];
  int n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 1) return (c >= 0x20 && c != 0x7f) || (lines && c);
  c &= 0xffu >> (n + 1);
  for (int i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    c = c << 6 | (s[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  return n && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) && (n > 2 || c >= 0xa0 || lines) ? n : 0;
}

bool import_is_text(const char *text, bool lines) {
  const unsigned char *s = (const unsigned char *)text;
  for (int n; *s; s += n)
    if (!(n = sequence(s, lines))) return false;
  return true;
}
