/* tests/fuzz/fuzz_json.c - libFuzzer target of the JSON reader, which capabilities, recorded spaces and exported tuning
 * caches go through. */
#include "core/base/json.h"
#include "tests/fuzz/fuzz_check.h"

static void print(strb *b, const json *j) {
  switch (j->type) {
  case JSON_NULL: strb_puts(b, "null"); break;
  case JSON_BOOL: strb_puts(b, j->boolean ? "true" : "false"); break;
  case JSON_NUMBER: strb_printf(b, "%.17g", j->number); break;
  case JSON_STRING: strb_json(b, j->string); break;
  default:
    strb_putc(b, j->type == JSON_ARRAY ? '[' : '{');
    for (const json *c = j->first; c; c = c->next) {
      if (c != j->first) strb_putc(b, ',');
      if (j->type == JSON_OBJECT) {
        strb_json(b, c->key);
        strb_putc(b, ':');
      }
      print(b, c);
    }
    strb_putc(b, j->type == JSON_ARRAY ? ']' : '}');
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  arena a;
  json *j;
  strb one, two;
  arena_init(&a, NULL);
  if (!fuzz_refused(json_parse(&a, (const char *)data, size, "fuzz", &j))) {
    strb_init(&one, NULL);
    strb_init(&two, NULL);
    print(&one, j);
    fuzz_reads_back(json_parse(&a, strb_text(&one), one.n, "printed", &j), &one);
    print(&two, j);
    fuzz_same(&one, &two);
    strb_clear(&one);
    strb_clear(&two);
  }
  arena_clear(&a);
  return 0;
}
