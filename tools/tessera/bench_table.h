/* tools/tessera/bench_table.h - how `tessera bench` prints a result: lines of one table, numbers of JSON. */
#ifndef TOOLS_TESSERA_BENCH_TABLE_H
#define TOOLS_TESSERA_BENCH_TABLE_H
#include "tools/tessera/bench_env.h"

/* Rates: negative: n/a. Peaks: 0: n/a. */
typedef struct bench_cells {
  const char *device, *op, *shape, *dtype;
  double median_us, gflops, gbytes_per_s;
  bench_peaks peaks;
  const char *check; /* "ok", "WRONG", "n/a" */
} bench_cells;

/* The machine in one line, then the columns. */
void bench_table_head(const bench_env *e);
/* Without the line's end. */
void bench_table_row(const bench_cells *c);
/* A whole line about a case without a result: `kind` is "unsupported" (the device lacks something) or "failed". */
void bench_table_none(const bench_cells *c, const char *kind, const char *why);
/* A member behind others. */
void bench_json_number(const char *name, double v, bool known);
/* Of two exit statuses the one that says more: a failure, the first of several, before what is only not supported. */
int bench_worse(int a, int b);
#endif
