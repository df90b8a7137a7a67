/* tests/fuzz/fuzz_coll_table.c - libFuzzer target of measured tables of collectives' algorithms. */
#include "core/coll/table.h"
#include "tests/fuzz/fuzz_check.h"

#define KEY "mpi 4 2 shared memory"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  coll_table t, again;
  char one[COLL_TABLE_TEXT], two[COLL_TABLE_TEXT];
  if (!coll_table_parse((const char *)data, size, KEY, 4, &t)) return 0;
  size_t n = coll_table_print(&t, KEY, one, sizeof one);
  if (!n || !coll_table_parse(one, n, KEY, 4, &again)) abort();
  if (coll_table_print(&again, KEY, two, sizeof two) != n || memcmp(one, two, n)) abort();
  return 0;
}
