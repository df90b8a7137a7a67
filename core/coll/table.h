/* core/coll/table.h - a table of choices (choose.h) that was measured: as text, for one transport, number of ranks and
 * machine. What doesn't fit is no table: callers go on without one. */
#ifndef CORE_COLL_TABLE_H
#define CORE_COLL_TABLE_H
#include "core/coll/choose.h"

enum { COLL_TABLE_ROWS = 64, COLL_TABLE_TEXT = 8192 };

typedef struct coll_table {
  int32_t n;
  coll_choice rows[COLL_TABLE_ROWS]; /* algorithms are the library's names */
} coll_table;

/* One line, "transport ranks cores path": what a table holds for. */
void coll_table_key(char *out, size_t cap, const char *transport, int32_t ranks, int cores, const char *path);
/* False, and no rows: the text is no table, or holds for something else. */
bool coll_table_parse(const char *text, size_t bytes, const char *key, int32_t ranks, coll_table *out);
/* Bytes written, 0 where they don't fit. */
size_t coll_table_print(const coll_table *t, const char *key, char *out, size_t cap);
/* Adds what was measured: `algorithm` is the fastest at `bytes`; sizes of an operation come in ascending order. It
 * holds up to the geometric middle between two sizes with different winners. */
void coll_table_add(coll_table *t, coll_op op, int32_t ranks, int64_t bytes, const char *algorithm);
/* The last row of each operation holds for all larger sizes. */
void coll_table_finish(coll_table *t);
#endif
