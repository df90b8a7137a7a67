/* tools/tessera/bench_table.h - what measuring of operations and of models shares: lines of one table, numbers of
 * JSON, the list of peers, all devices in turn. */
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
/* run for each device but those that compute nothing; the exit status. */
int bench_each_device(tsr_context *ctx, int (*run)(void *user, const char *id), void *user);
/* The places in name_at, which gives NULL past its end, of a comma list of peers (NULL: none), at most `most`; their
 * number in *n. `of`: what the peers are for, behind "no peer NAME". Else the exit status, when all has been said. */
int bench_find_peers(const char *list, const char *of, const char *(*name_at)(size_t i), int most, size_t *found,
                     int *n);
#endif
