/* tests/support/tile_text.h - Tile IR as text in tests: its spelling, read and printed. Include after cmocka.h. */
#ifndef TESTS_SUPPORT_TILE_TEXT_H
#define TESTS_SUPPORT_TILE_TEXT_H
#include <stdlib.h>
#include <string.h>

#include "core/ir/ir.h"

#define T(op) "\"tessera.tile." op "\""
#define YIELD(x) T("yield") "(" x ")\n"
/* Both prologues of a contraction of t, without anything in them; the epilogue begins. */
#define PLAIN(t) "({\n^bb0(%p: " t "):\n" YIELD("%p") "}, {\n^bb0(%p: " t "):\n" YIELD("%p") "}, {\n"

static inline ir_module *parse(const char *text, const char *name) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), "test", &m);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  return m;
}

static inline char *printed(const ir_module *m) {
  strb b;
  strb_init(&b, NULL);
  ir_print(&b, m);
  char *s = strdup(strb_text(&b));
  strb_clear(&b);
  return s;
}
#endif
