/* tools/tessera/cmd_devices.c - `tessera devices` and `tessera ops`. */
#include <string.h>

#include "tessera/tune.h"
#include "tools/tessera/cli.h"

static const char *yes_no(bool b) { return b ? "true" : "false"; }

static void json_queues(const tsr_device_info *d) {
  printf(", \"queues\": [");
  for (int i = 0; i < d->n_queues; i++) {
    const tsr_queue_info *q = &d->queues[i];
    printf("%s{\"family\": %d, \"count\": %d, \"compute\": %s, \"transfer\": %s, \"graphics\": %s, "
           "\"timestamp_bits\": %d, \"used_for\": \"%s\"}",
           i ? ", " : "", i, q->count, yes_no(q->compute), yes_no(q->transfer), yes_no(q->graphics), q->timestamp_bits,
           q->used_for);
  }
  printf("], \"demotions\": [");
  for (int i = 0; i < d->n_demotions; i++) {
    printf("%s{\"step\": \"%s\", \"reason\": ", i ? ", " : "", d->demotions[i].step);
    cli_json_string(stdout, d->demotions[i].reason);
    printf(", \"instead\": ");
    cli_json_string(stdout, d->demotions[i].instead);
    printf("}");
  }
  printf("]");
}

static void print_queues(const tsr_device_info *d) {
  for (int i = 0; i < d->n_queues; i++) {
    const tsr_queue_info *q = &d->queues[i];
    const char *does[4];
    int n = 0;
    if (q->graphics) does[n++] = "graphics";
    if (q->compute) does[n++] = "compute";
    if (q->transfer) does[n++] = "transfer";
    if (!n) does[n++] = "other work";
    printf("           queue family %d: %d queue(s) for", i, q->count);
    for (int k = 0; k < n; k++) printf("%s %s", k ? "," : "", does[k]);
    printf("%s; %s%s\n", q->timestamp_bits ? "" : ", without timestamps", *q->used_for ? "used for " : "not used",
           q->used_for);
  }
  for (int i = 0; i < d->n_demotions; i++)
    printf("           self-test \"%s\": %s; instead: %s\n", d->demotions[i].step, d->demotions[i].reason,
           d->demotions[i].instead);
}

static void json_device(const tsr_device_info *d, bool last) {
  printf("  {\"id\": ");
  cli_json_string(stdout, d->id);
  printf(", \"backend\": ");
  cli_json_string(stdout, d->backend);
  printf(", \"name\": ");
  cli_json_string(stdout, d->name);
  printf(", \"driver\": ");
  cli_json_string(stdout, d->driver);
  printf(", \"arch\": ");
  cli_json_string(stdout, d->arch);
  printf(", \"available\": true, \"software\": %s, \"matrix\": [", d->software ? "true" : "false");
  for (int i = 0; i < d->n_matrix; i++) {
    const tsr_matrix_info *m = &d->matrix[i];
    printf("%s{\"m\": %d, \"n\": %d, \"k\": %d, \"a\": \"%s\", \"b\": \"%s\", \"c\": \"%s\", \"scope\": \"%s\", "
           "\"enabled\": %s, \"reason\": ",
           i ? ", " : "", m->m, m->n, m->k, tsr_dtype_name(m->a), tsr_dtype_name(m->b), tsr_dtype_name(m->c), m->scope,
           m->enabled ? "true" : "false");
    cli_json_string(stdout, m->reason);
    printf("}");
  }
  printf("], \"limits\": {\"cores\": ");
  if (d->n_cores > 0) printf("%d", d->n_cores);
  else printf("null");
  printf(", \"cores_from\": \"%s\", \"subgroup\": %d, \"max_threads\": %d, \"vector_bytes\": %d, "
         "\"shared_bytes\": %lld, \"max_buffer_bytes\": %lld, \"max_range_bytes\": %lld, \"memory_bytes\": %lld}, "
         "\"subnormals\": {\"f16\": %s, \"f32\": %s, \"f64\": %s}, \"fallbacks\": ",
         d->cores_from, d->subgroup, d->max_threads, d->vector_bytes, (long long)d->shared_bytes,
         (long long)d->max_buffer_bytes, (long long)d->max_range_bytes, (long long)d->memory_bytes,
         yes_no(d->subnormals_f16), yes_no(d->subnormals_f32), yes_no(d->subnormals_f64));
  cli_json_string(stdout, d->fallbacks);
  json_queues(d);
  printf("}%s\n", last ? "" : ",");
}

static void print_device(const tsr_device_info *d) {
  printf("%-10s %s\n           driver %s, arch %s%s\n", d->id, d->name, d->driver, d->arch,
         d->software ? ", runs on the CPU" : "");
  if (d->n_cores > 0) printf("           %d core(s) (%s)", d->n_cores, d->cores_from);
  else printf("           cores unknown");
  printf(", subgroup %d, shared %lld KiB, memory %.1f GiB\n", d->subgroup, (long long)d->shared_bytes / 1024,
         (double)d->memory_bytes / (1 << 30));
  if (!d->subnormals_f16 || !d->subnormals_f32 || !d->subnormals_f64)
    printf("           subnormals may be taken for 0 in arithmetic of%s%s%s\n", d->subnormals_f16 ? "" : " f16",
           d->subnormals_f32 ? "" : " f32, bf16", d->subnormals_f64 ? "" : " f64");
  if (*d->fallbacks) printf("           instead of what its driver lacks: %s\n", d->fallbacks);
  print_queues(d);
  for (int i = 0; i < d->n_matrix; i++) {
    const tsr_matrix_info *m = &d->matrix[i];
    printf("           matrix %dx%dx%d %s x %s -> %s (%s)%s%s\n", m->m, m->n, m->k, tsr_dtype_name(m->a),
           tsr_dtype_name(m->b), tsr_dtype_name(m->c), m->scope, m->enabled ? "" : " demoted: ", m->reason);
  }
}

/* A backend that this build lacks is a row too, so that its absence is not taken for that of a device. */
static void json_not_built(const tsr_backend_info *b, bool last) {
  printf("  {\"id\": \"%s\", \"backend\": \"%s\", \"name\": \"\", \"driver\": \"\", \"arch\": \"\", \"available\": "
         "false, \"why\": ",
         b->name, b->name);
  cli_json_string(stdout, b->why);
  printf("}%s\n", last ? "" : ",");
}

int cmd_devices(int argc, char **argv) {
  bool json = false;
  const option options[] = {{.name = "--json", .flag = &json}};
  if (!cli_options("devices", &argc, argv, options, 1)) return EXIT_USAGE;
  if (argc > 1) return cli_usage("devices", "unexpected \"%s\"", argv[1]);
  tsr_context *ctx = NULL;
  const tsr_device_info *d;
  const tsr_backend_info *b;
  int n, n_backends, shown = 0;
  tsr_status st = cli_context(&ctx);
  if (!st) st = tsr_devices(ctx, &d, &n);
  if (!st) st = tsr_backends(ctx, &b, &n_backends);
  if (st) {
    int rc = cli_fail(st);
    tsr_context_destroy(&ctx);
    return rc;
  }
  for (int i = 0; i < n_backends; i++) shown += !b[i].built;
  for (int i = 0; i < n; i++) shown += strcmp(d[i].backend, "null") != 0;
  if (json) printf("[\n");
  for (int i = 0; i < n; i++) {
    if (!strcmp(d[i].backend, "null")) continue; /* for tests of the pipeline */
    if (json) json_device(&d[i], --shown == 0);
    else print_device(&d[i]);
  }
  for (int i = 0; i < n_backends && json; i++)
    if (!b[i].built) json_not_built(&b[i], --shown == 0);
  if (json) printf("]\n");
  for (int i = 0; i < n_backends && !json; i++)
    if (!b[i].available) printf("%-10s %s%s\n", b[i].name, b[i].built ? "unavailable: " : "", b[i].why);
  tsr_context_destroy(&ctx);
  return EXIT_OK;
}

static void print_tile(const char *before, int64_t m, int64_t n, int64_t k, int64_t warps) {
  char text[64];
  int at = snprintf(text, sizeof text, "%lld", (long long)m);
  if (n) at += snprintf(text + at, sizeof text - (size_t)at, "x%lld", (long long)n);
  if (k) at += snprintf(text + at, sizeof text - (size_t)at, "x%lld", (long long)k);
  if (warps) snprintf(text + at, sizeof text - (size_t)at, ", %lld warps", (long long)warps);
  printf("%s%-14s", before, m ? text : "nothing fits");
}

/* The table of default tiles (docs/tuning.md): op, type, tile; on a device also what it comes to there and why. */
static int print_tiles(tsr_context *ctx, const char *id) {
  tsr_device *dev = NULL;
  tsr_tile_default t;
  tsr_status st = id ? tsr_device_open(ctx, id, &dev) : NULL;
  for (int i = 0; !st; i++) {
    st = tsr_tile_default_get(dev, i, &t);
    if (tsr_status_code(st) == TSR_NOT_FOUND) {
      tsr_status_free(st);
      st = NULL;
      break;
    }
    if (st) break;
    printf("%-16s %-9s", t.op, t.dtype ? tsr_dtype_name(t.dtype) : "others");
    print_tile(" ", t.m, t.n, t.k, t.warps);
    if (dev) print_tile("  here ", t.legal_m, t.legal_n, t.legal_k, t.legal_warps);
    printf("%s%s\n", *t.why ? "  " : "", t.why);
  }
  tsr_device_close(&dev);
  return st ? cli_fail(st) : EXIT_OK;
}

int cmd_ops(int argc, char **argv) {
  bool json = false, markdown = false, tiles = false;
  const char *device = NULL;
  const option options[] = {{.name = "--json", .flag = &json},
                            {.name = "--markdown", .flag = &markdown},
                            {.name = "--tiles", .flag = &tiles},
                            {.name = "--device", .text = &device}};
  if (!cli_options("ops", &argc, argv, options, 4)) return EXIT_USAGE;
  if (json + markdown + tiles > 1) return cli_usage("ops", "--json, --markdown and --tiles: one of them");
  if (argc > 1) return cli_usage("ops", "unexpected \"%s\"", argv[1]);
  tsr_context *ctx = NULL;
  char *text = NULL;
  tsr_status st = cli_context(&ctx);
  if (tiles || device) {
    int rc = st ? cli_fail(st) : tiles ? print_tiles(ctx, device) : cli_usage("ops", "--device goes with --tiles");
    tsr_context_destroy(&ctx);
    return rc;
  }
  if (!st) st = json ? tsr_ops_json(ctx, &text) : tsr_ops_markdown(ctx, &text);
  int rc = st ? cli_fail(st) : EXIT_OK;
  if (text) fputs(text, stdout);
  tsr_text_free(ctx, &text);
  tsr_context_destroy(&ctx);
  return rc;
}
