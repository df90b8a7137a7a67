/* tools/tessera/bench_table.c - see bench_table.h. */
#include "tools/tessera/bench_table.h"

static void print_environment(const bench_env *e) {
  strb line;
  strb_init(&line, NULL);
  bench_env_text(e, &line);
  printf("%s\n", strb_text(&line));
  strb_clear(&line);
}

void bench_table_head(const bench_env *e) {
  print_environment(e);
  printf("%-9s %-17s %-18s %-5s %10s %9s %8s %6s %6s  %s\n", "device", "op", "shape", "dtype", "median us", "GFLOP/s",
         "GB/s", "fma", "copy", "check");
}

static void print_rate(int width, double v) {
  if (v >= 0) printf(" %*.1f", width, v);
  else printf(" %*s", width, "n/a");
}

/* Of a measured peak; "*": above it. For fma the peak was too low although measured again; above a copy's rate are
 * operands that stay in a cache. */
static void print_percent(double of, double peak) {
  if (peak > 0 && of >= 0) printf(" %5.0f%%%s", 100 * of / peak, of > peak ? "*" : "");
  else printf("   n/a");
}

void bench_table_row(const bench_cells *c) {
  printf("%-9s %-17s %-18s %-5s", c->device, c->op, c->shape, c->dtype);
  print_rate(10, c->median_us);
  print_rate(9, c->gflops);
  print_rate(8, c->gbytes_per_s);
  print_percent(c->gflops, c->peaks.gflops);
  print_percent(c->gbytes_per_s, c->peaks.gbytes_per_s);
  printf("  %-5s", c->check);
}

void bench_table_none(const bench_cells *c, const char *kind, const char *why) {
  printf("%-9s %-17s %-18s %-5s %10s %9s %8s %6s %6s  %s: %s\n", c->device, c->op, c->shape, c->dtype, "n/a", "n/a",
         "n/a", "n/a", "n/a", kind, why);
}

void bench_json_number(const char *name, double v, bool known) {
  if (known) printf(", \"%s\": %.6g", name, v);
  else printf(", \"%s\": null", name);
}

int bench_worse(int a, int b) { return !a || (a == EXIT_UNSUPPORTED && b) ? b : a; }

int bench_each_device(tsr_context *ctx, int (*run)(void *user, const char *id), void *user) {
  const tsr_device_info *d;
  int n, rc = EXIT_OK;
  tsr_status st = tsr_devices(ctx, &d, &n);
  if (st) return cli_fail(st);
  for (int i = 0; i < n; i++)
    if (strcmp(d[i].backend, "null")) rc = bench_worse(rc, run(user, d[i].id));
  return rc;
}

int bench_find_peers(const char *list, const char *of, const char *(*name_at)(size_t i), int most, size_t *found,
                     int *n) {
  *n = 0;
  for (const char *p = list; p && *p;) {
    const size_t length = strcspn(p, ",");
    char known[256] = "";
    size_t at = 0;
    const char *name;
    while ((name = name_at(at)) && (strlen(name) != length || strncmp(name, p, length))) at++;
    if (!name) {
      for (size_t i = 0; (name = name_at(i)); i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", name);
      return cli_usage("bench", "no peer \"%.*s\"%s; there are %s", (int)(length < 63 ? length : 63), p, of, known);
    }
    if (*n == most) return cli_usage("bench", "--against takes at most %d", most);
    found[(*n)++] = at;
    p += length + (p[length] == ',');
  }
  return EXIT_OK;
}
