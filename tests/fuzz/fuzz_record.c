/* tests/fuzz/fuzz_record.c - libFuzzer target of recorded search spaces (bench/tune, `tessera tune --replay`). */
#include "core/tune/record.h"
#include "tests/fuzz/fuzz_check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  record r, again;
  strb one, two;
  record_init(&r, NULL);
  if (!fuzz_refused(record_parse((const char *)data, size, "fuzz", &r))) {
    record_init(&again, NULL);
    strb_init(&one, NULL);
    strb_init(&two, NULL);
    record_print(&r, &one);
    fuzz_reads_back(record_parse(strb_text(&one), one.n, "printed", &again), &one);
    record_print(&again, &two);
    fuzz_same(&one, &two);
    strb_clear(&one);
    strb_clear(&two);
    record_clear(&again);
  }
  record_clear(&r);
  return 0;
}
