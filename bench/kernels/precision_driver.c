/* Writes docs/precision.md's table: for each op and type, the largest error on each device (precision.h). A column is a
 * device, or cpu:0 with an instruction set: precision_driver [-n VALUES] [-o OP] [cpu:0/avx2 vulkan:0 ...]. Wrong
 * classes of results go to stderr and make the exit status 1. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/precision.h"

enum { MAX_COLUMNS = 8 };
static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2};
enum { N_TYPES = sizeof types / sizeof *types };

typedef struct cell { bool there; double ulp; } cell;
static cell cells[PRECISION_MAX_OPS][N_TYPES][MAX_COLUMNS];

static const char *only; /* the one op that is measured; NULL: all */

static void report(const char *column, const precision_op *op, tsr_dtype t, const precision_result *r) {
  fprintf(stderr, "%s %s%s %s: %.3f ulp at %.9g %.9g; %ld wrong", column, op->name, op->attrs, tsr_dtype_name(t),
          r->ulp, r->at[0], r->at[1], r->wrong);
  if (r->wrong)
    fprintf(stderr, ", first (%.9g, %.9g) is %.9g, not %.9g", r->wrong_at[0], r->wrong_at[1], r->got, r->want);
  fprintf(stderr, "\n");
}

static tsr_status column(int at, const char *name, long n, long *wrong) {
  char id[64];
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  snprintf(id, sizeof id, "%.*s", (int)strcspn(name, "/"), name);
  const char *isa = strchr(name, '/');
  if (isa) setenv("TSR_CPU_ISA", isa + 1, 1);
  else unsetenv("TSR_CPU_ISA");
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, id, &dev);
  for (int o = 0; !st && o < n_precision_ops; o++)
    for (int t = 0; !st && t < N_TYPES; t++) {
      precision_result r;
      if (precision_ops[o].kind == 'i' || (only && strcmp(only, precision_ops[o].name))) continue;
      st = precision_measure(ctx, dev, &precision_ops[o], types[t], n, &r);
      if (st) continue;
      cells[o][t][at] = (cell){true, r.ulp};
      *wrong += r.wrong;
      report(name, &precision_ops[o], types[t], &r);
    }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return st;
}

int main(int argc, char **argv) {
  static char *standard[] = {"cpu:0/avx512", "cpu:0/avx2", "cpu:0/portable", "vulkan:0"};
  long n = 1000000, wrong = 0;
  if (argc > 2 && !strcmp(argv[1], "-n")) n = strtol(argv[2], NULL, 10), argc -= 2, argv += 2;
  if (argc > 2 && !strcmp(argv[1], "-o")) only = argv[2], argc -= 2, argv += 2;
  char **names = argc > 1 ? argv + 1 : standard;
  int n_columns = argc > 1 ? argc - 1 : 4;
  if (n < 0 || n_columns > MAX_COLUMNS)
    return fprintf(stderr, "precision_driver: at most %d columns, and a positive number of values\n", MAX_COLUMNS), 2;
  for (int c = 0; c < n_columns; c++) {
    tsr_status st = column(c, names[c], n, &wrong);
    if (st) return fprintf(stderr, "precision_driver: %s\n", tsr_status_message(st)), 1;
  }
  printf("| op | type |");
  for (int c = 0; c < n_columns; c++) printf(" %s |", names[c]);
  printf("\n| --- | --- |");
  for (int c = 0; c < n_columns; c++) printf(" ---: |");
  for (int o = 0; o < n_precision_ops; o++)
    for (int t = 0; t < N_TYPES && precision_ops[o].kind != 'i'; t++) {
      printf("\n| %s%s | %s |", precision_ops[o].name, precision_ops[o].attrs, tsr_dtype_name(types[t]));
      for (int c = 0; c < n_columns; c++) {
        double up = ceil(cells[o][t][c].ulp * 100) / 100; /* a bound */
        printf(!cells[o][t][c].there ? " - |" : up > 0 ? " %.2f |" : " 0 |", up);
      }
    }
  printf("\n");
  return wrong != 0;
}
