/* tests/conformance/test_precision.c - the scalar functions of a device over special values and beyond, against the f64
 * oracle: NaN, infinities and signs of zeros in their places for every op and type, integers exact, and the errors
 * within the bounds that docs/precision.md commits, where it has none within the oracle's tolerance. All values of 8
 * and 16-bit types, fewer of f32 than the table was made from.
 *   TSR_TEST_DEVICE (cpu:0), TSR_CPU_ISA names the table's column. Exit 77: the device is not here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/kernels/precision.h"
#include "core/base/dtype.h"

enum { N = 20000, MAX_DOC = 1 << 18 };
static char doc[MAX_DOC];

/* Field `i` (from 0) of a table's row, without its blanks. */
static bool field(const char *row, int i, char *out, size_t cap) {
  for (; i >= 0 && row; i--) row = memchr(row, '|', strcspn(row, "\n")), row = row ? row + 1 : NULL;
  if (!row) return false;
  row += strspn(row, " ");
  size_t n = strcspn(row, "|\n");
  while (n && row[n - 1] == ' ') n--;
  snprintf(out, cap, "%.*s", (int)(n < cap ? n : cap - 1), row);
  return true;
}

static const char *table(void) {
  FILE *f = fopen("docs/precision.md", "rb");
  size_t n = f ? fread(doc, 1, sizeof doc - 1, f) : 0;
  if (f) fclose(f);
  doc[n] = 0;
  return strstr(doc, "| op | type |");
}

static int column_of(const char *head, const char *name) {
  char f[64];
  for (int i = 2; field(head, i, f, sizeof f) && *f; i++)
    if (!strcmp(f, name)) return i;
  return -1;
}

/* The committed bound; -1 where there is none. */
static double bound(const char *head, int column, const precision_op *op, tsr_dtype t) {
  char want[64], f[64];
  snprintf(want, sizeof want, "%s%s", op->name, op->attrs);
  for (const char *row = head; row && *row == '|'; row = strchr(row, '\n'), row = row ? row + 1 : NULL) {
    if (!field(row, 0, f, sizeof f) || strcmp(f, want)) continue;
    if (!field(row, 1, f, sizeof f) || strcmp(f, tsr_dtype_name(t))) continue;
    return field(row, column, f, sizeof f) && *f != '-' ? strtod(f, NULL) : -1;
  }
  return -1;
}

typedef struct suite {
  tsr_context *ctx;
  tsr_device *dev;
  const char *head;
  int column, measured, bounded, unsupported, bad;
} suite;

static void one(suite *s, const precision_op *op, tsr_dtype t, bool is_float) {
  precision_result r;
  tsr_status st = precision_measure(s->ctx, s->dev, op, t, N, &r);
  double most = is_float && s->column > 0 ? bound(s->head, s->column, op, t) : -1;
  if (tsr_status_code(st) == TSR_UNSUPPORTED) {
    s->unsupported++;
    printf("unsupported: %s\n", tsr_status_message(st));
  } else if (st) {
    s->bad++;
    printf("FAIL %s\n", tsr_status_message(st));
  } else {
    bool over = most >= 0 && r.ulp > most;
    s->measured++, s->bounded += most >= 0;
    if (r.wrong)
      printf("FAIL %s%s of %s: %ld of %ld wrong, first (%.17g, %.17g) is %.17g, not %.17g\n", op->name, op->attrs,
             tsr_dtype_name(t), r.wrong, r.n, r.wrong_at[0], r.wrong_at[1], r.got, r.want);
    if (over)
      printf("FAIL %s%s of %s: %.3f ulp at (%.17g, %.17g), docs/precision.md says %.2f\n", op->name, op->attrs,
             tsr_dtype_name(t), r.ulp, r.at[0], r.at[1], most);
    bool beyond = most < 0 && r.beyond;
    if (beyond)
      printf("FAIL %s%s of %s: %ld of %ld beyond the tolerance, first (%.17g, %.17g) is %.17g, not %.17g\n", op->name,
             op->attrs, tsr_dtype_name(t), r.beyond, r.n, r.beyond_at[0], r.beyond_at[1], r.beyond_got, r.beyond_want);
    s->bad += r.wrong || over || beyond;
  }
  tsr_status_free(st);
}

int main(void) {
  static const tsr_dtype floats[] = {TSR_F64, TSR_F32, TSR_TF32, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_F8E5M2},
                         integers[] = {TSR_I64, TSR_I32, TSR_I16, TSR_I8, TSR_I4,
                                       TSR_U64, TSR_U32, TSR_U16, TSR_U8, TSR_U4};
  enum { N_FLOATS = sizeof floats / sizeof *floats, N_INTEGERS = sizeof integers / sizeof *integers };
  const char *device = getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0", *isa = getenv("TSR_CPU_ISA");
  char name[64];
  suite s = {.head = table()};
  snprintf(name, sizeof name, "%s%s%s", device, isa && !strncmp(device, "cpu", 3) ? "/" : "",
           isa && !strncmp(device, "cpu", 3) ? isa : "");
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &s.ctx);
  if (!st) st = tsr_device_open(s.ctx, device, &s.dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    int rc = tsr_status_code(st) == TSR_UNAVAILABLE ? 77 : 1;
    tsr_status_free(st);
    tsr_context_destroy(&s.ctx);
    return rc;
  }
  if (!s.head) printf("FAIL docs/precision.md has no table (run in the repository's root)\n"), s.bad++;
  else s.column = column_of(s.head, name);
  for (int o = 0; o < n_precision_ops; o++) {
    for (int t = 0; t < N_FLOATS && precision_ops[o].kind != 'i'; t++) one(&s, &precision_ops[o], floats[t], true);
    for (int t = 0; t < N_INTEGERS && precision_ops[o].kind != 'f'; t++)
      if (dtype_get(integers[t])->is_signed || strcmp(precision_ops[o].name, "neg"))
        one(&s, &precision_ops[o], integers[t], false);
  }
  tsr_device_close(&s.dev);
  tsr_context_destroy(&s.ctx);
  printf("%s: %d measured, %d of them against bounds, %d unsupported, %d bad\n", name, s.measured, s.bounded,
         s.unsupported, s.bad);
  return s.bad || !s.measured;
}
