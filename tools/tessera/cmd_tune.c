/* tools/tessera/cmd_tune.c - `tessera tune`: searches schedules, prints what was found; --space, --explain and --record
 * look inside. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/status.h"
#include "core/ir/schedule/knobs.h"
#include "tessera/tune.h"
#include "tools/tessera/op_graph.h"

typedef struct tune_args {
  const char *shape, *dtype, *device, *strategy, *policy, *precision, *cache;
  const char *record, *tile, *candidate, *knobs, *profile;
  long samples, seed;
  bool json, space, explain, again;
} tune_args;

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal_number) { interrupted = 1; }

/* The first Ctrl-C ends the search after the candidate at hand, a second one the process. */
static void catch_interrupt(void) {
  struct sigaction a = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &a, NULL);
  sigaction(SIGTERM, &a, NULL);
}

static bool show_progress(void *user, const tsr_tune_progress *p) {
  if (interrupted) return false;
  if (!isatty(STDERR_FILENO)) return true;
  fprintf(stderr, "\r%s %s: %zu/%zu, best %.2f us", p->problem->op, p->problem->shape, p->done, p->budget, p->best_us);
  if (p->roofline_fraction > 0) fprintf(stderr, " (%.0f%% of the roofline)", 100 * p->roofline_fraction);
  fprintf(stderr, "\033[K");
  if (p->done == p->budget) fputc('\n', stderr);
  return true;
}

static void print_json(const tune_args *a, const char *device, const tsr_tune_result *r) {
  printf("{\"op\": ");
  cli_json_string(stdout, r->problem.op);
  printf(", \"kernel\": ");
  cli_json_string(stdout, r->problem.kernel);
  printf(", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"strategy\": \"%s\", \"source\": \"%s\"",
         r->problem.shape, a->shape ? (a->dtype ? a->dtype : "f32") : r->problem.dtype, device,
         a->strategy ? a->strategy : "hybrid", r->source);
  printf(", \"measurements\": %zu, \"samples\": %zu, \"rejected\": %zu, \"best_us\": %.3f, \"default_us\": %.3f, "
         "\"tile\": \"%s\", \"predicted_us\": %.3f, \"roofline_us\": %.3f, \"stored\": %s",
         r->measurements, r->samples, r->rejected, r->best_us, r->default_us, r->tile, r->predicted_us, r->roofline_us,
         r->stored ? "true" : "false");
  printf(", \"not_stored\": ");
  cli_json_string(stdout, r->not_stored);
  printf(", \"interrupted\": %s, \"curve_us\": [", r->cancelled ? "true" : "false");
  for (size_t i = 0; i < r->n_curve; i++) printf("%s%.3f", i ? ", " : "", r->curve_us[i]);
  printf("]}\n");
}

static void print_row(const tsr_tune_result *r) {
  printf("%-20s %-18s %-16s tile %-14s", r->problem.op, r->problem.shape, r->problem.dtype, r->tile);
  if (r->best_us > 0) printf(" best %10.2f us", r->best_us);
  else printf(" best        n/a   "); /* nothing was measured */
  if (r->default_us > 0 && r->best_us > 0)
    printf("  default %10.2f us (x%.2f)", r->default_us, r->default_us / r->best_us);
  printf("  predicted %.2f us  from %s, %zu measured, %zu samples%s\n", r->predicted_us, r->source, r->measurements,
         r->samples,
         r->cancelled  ? ", interrupted: kept for the next search"
         : r->rejected ? ", wrong candidates were refused"
                       : "");
}

static int print_text(tsr_context *ctx, tsr_status st, char *text, const char *path) {
  if (st) return cli_fail(st);
  int rc = EXIT_OK;
  if (path) rc = cli_write_text("tune", path, text);
  else fputs(text, stdout);
  tsr_text_free(ctx, &text);
  return rc;
}

static int search(const tune_args *a, tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o,
                  const tsr_tune_options *t) {
  tsr_tune_report *r = NULL;
  char why_not[256] = "";
  catch_interrupt();
  tsr_status st = tsr_graph_tune(dev, g, o, t, &r);
  if (st) return cli_fail(st);
  const char *device = tsr_device_get_info(dev)->id;
  for (int i = 0; i < tsr_tune_report_count(r); i++) {
    tsr_tune_result x = tsr_tune_report_get(r, i);
    if (a->json) print_json(a, device, &x);
    else print_row(&x);
    if (x.not_stored[0] && !why_not[0]) snprintf(why_not, sizeof why_not, "%s", x.not_stored);
  }
  if (why_not[0]) fprintf(stderr, "tessera tune: nothing was stored: %s\n", why_not);
  if (!tsr_tune_report_count(r)) fprintf(stderr, "tessera tune: no kernel of it has anything to tune\n");
  tsr_tune_report_destroy(&r);
  return EXIT_OK;
}

/* "tile=64x128x32,warps=4 use_shared=0": the names and values that --space and `cache show` print; tile and vector are
 * short for m, n, k and vectorize, preset=pipelined for shared memory, asynchronous copies and three stages. A path is
 * its name, or its number there. */
static tsr_status parse_knob(const char *name, const char *value, tsr_schedule *s) {
  int64_t d[3] = {0};
  sched_params p = sched_from_public(s);
  if (!strcmp(name, "tile")) {
    if (cli_parse_shape(value, d, 3) < 1)
      return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", name, "tile=MxNxK"), "\"%s\" is no tile", value);
    p.m = d[0], p.n = d[1], p.k = d[2];
  } else if (!strcmp(name, "preset") && !strcmp(value, "pipelined")) {
    tsr_schedule preset = tsr_schedule_pipelined();
    sched_params over = sched_from_public(&preset);
    sched_merge(&p, &over);
  } else if (!strcmp(name, "matrix_path") && value[0] >= '0' && value[0] <= '9' && !value[1]) {
    const matrix_path *path = matrix_path_of_config(value[0] - '0');
    TSR_TRY(sched_parse(NULL, name, path ? path->name : value, &p));
  } else {
    const char *own = !strcmp(name, "vector") ? "vectorize" : name;
    const sched_knob *k = sched_knob_find(own);
    bool counts = k && (k->kind == SCHED_COUNT || k->kind == SCHED_POWER);
    if (counts && !strcmp(value, "0")) sched_set(k, &p, 0); /* the default */
    else TSR_TRY(sched_parse(NULL, own, value, &p));
  }
  *s = sched_to_public(&p);
  return NULL;
}

static tsr_status parse_candidate(const char *text, tsr_schedule *s) {
  for (text += strspn(text, " ,"); *text; text += strspn(text, " ,")) {
    size_t n = strcspn(text, " ,");
    char pair[48], *eq;
    int full = snprintf(pair, sizeof pair, "%.*s", (int)n, text);
    eq = strchr(pair, '=');
    if (full >= (int)sizeof pair || !eq)
      return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", "knobs", sched_knob_names()), "\"%s\"", pair);
    *eq = 0;
    TSR_TRY(parse_knob(pair, eq + 1, s));
    text += n;
  }
  return NULL;
}

static int bad_candidate(const char *text, tsr_status st) {
  int rc = cli_usage("tune", "--candidate is \"KNOB=VALUE,...\" with the knobs of --space, got \"%s\": %s; known: %s",
                     text, tsr_status_cause(st), tsr_status_hint(st));
  tsr_status_free(st);
  return rc;
}

static int with_graph(const tune_args *a, tsr_context *ctx, tsr_device *dev, const tsr_graph *g) {
  tsr_compile_options o = {.cache = a->cache};
  tsr_status st = cli_numerics(a->policy, a->precision, &o);
  if (st) return cli_fail(st);
  tsr_tune_hooks hooks = {.progress = show_progress};
  tsr_tune_options t = {.strategy = a->strategy,
                        .samples = (size_t)(a->samples > 0 ? a->samples : 0),
                        .samples_fixed = a->samples > 0,
                        .again = a->again,
                        .seed = (uint64_t)a->seed,
                        .knobs = a->knobs,
                        .hooks = &hooks};
  tsr_schedule candidate = {0};
  char *text = NULL;
  int64_t d[3] = {0};
  const int n_tile = a->tile ? cli_parse_shape(a->tile, d, 3) : 0;
  for (int i = 0; i < n_tile; i++)
    if (d[i] < 1) return cli_usage("tune", "--tile %s: its extents are 1 or more", a->tile);
  if (a->tile && n_tile < 1) return cli_usage("tune", "--tile is MxNxK");
  candidate.m = d[0], candidate.n = d[1], candidate.k = d[2];
  if ((a->tile || a->candidate) && !a->explain) return cli_usage("tune", "--tile and --candidate go with --explain");
  if (a->candidate && (st = parse_candidate(a->candidate, &candidate))) return bad_candidate(a->candidate, st);
  if (a->space) return st = tsr_graph_tune_space(dev, g, &o, &t, &text), print_text(ctx, st, text, NULL);
  if (a->explain)
    return st = tsr_graph_tune_explain(dev, g, &o, a->tile || a->candidate ? &candidate : NULL, &text),
           print_text(ctx, st, text, NULL);
  if (a->record)
    return st = tsr_graph_tune_record(dev, g, &o, a->record, &t, &text), print_text(ctx, st, text, a->record);
  return search(a, dev, g, &o, &t);
}

/* HEADSxQUERIESxKEYSxWIDTH: estimated only, there is no graph op of it. */
static int explain_attention(const tune_args *a, tsr_context *ctx, tsr_device *dev) {
  int64_t d[4];
  tsr_schedule s = {0};
  char *text = NULL;
  tsr_dtype t = tsr_dtype_parse(a->dtype ? a->dtype : "bf16");
  if (a->policy || a->precision || a->cache || a->tile)
    return cli_usage("tune", "attention takes no --policy, --precision, --cache and --tile: --candidate has its tile");
  if (!a->explain || !a->shape || cli_parse_shape(a->shape, d, 4) != 4 || !t)
    return cli_usage("tune", "attention takes --explain --shape HEADSxQUERIESxKEYSxWIDTH [--dtype T] [--candidate ..]");
  tsr_status bad = a->candidate ? parse_candidate(a->candidate, &s) : NULL;
  if (bad) return bad_candidate(a->candidate, bad);
  tsr_status st = tsr_tune_explain_attention(dev, &(tsr_attention){d[0], d[1], d[2], d[3], t, false}, &s, &text);
  return print_text(ctx, st, text, NULL);
}

int cmd_tune(int argc, char **argv) {
  tune_args a = {.samples = CLI_NOT_GIVEN};
  const option options[] = {{.name = "--shape", .text = &a.shape},         {.name = "--dtype", .text = &a.dtype},
                            {.name = "--device", .text = &a.device},       {.name = "--strategy", .text = &a.strategy},
                            {.name = "--samples", .number = &a.samples},   {.name = "--policy", .text = &a.policy},
                            {.name = "--precision", .text = &a.precision}, {.name = "--cache", .text = &a.cache},
                            {.name = "--seed", .number = &a.seed},         {.name = "--record", .text = &a.record},
                            {.name = "--tile", .text = &a.tile},           {.name = "--json", .flag = &a.json},
                            {.name = "--space", .flag = &a.space},         {.name = "--knobs", .text = &a.knobs},
                            {.name = "--explain", .flag = &a.explain},     {.name = "--again", .flag = &a.again},
                            {.name = "--candidate", .text = &a.candidate}, {.name = "--profile", .text = &a.profile}};
  if (!cli_options("tune", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("tune", "needs one FILE or OP");
  if (a.space + a.explain + (a.record != NULL) > 1)
    return cli_usage("tune", "--space, --explain and --record look at different things: one of them");
  if ((a.space || a.explain) && (a.strategy || a.samples != CLI_NOT_GIVEN || a.seed || a.again || a.json))
    return cli_usage("tune", "--space and --explain measure nothing: --strategy, --samples, --seed, --again and --json "
                             "go with a search");
  if (a.record && (a.strategy || a.samples != CLI_NOT_GIVEN || a.seed || a.again || a.json))
    return cli_usage("tune", "--record measures every candidate: --strategy, --samples, --seed, --again and --json go "
                             "with a search");
  if (a.explain && a.knobs) return cli_usage("tune", "--knobs goes with a search, --space and --record");
  if (a.samples != CLI_NOT_GIVEN && (a.samples < 1 || a.samples > INT32_MAX))
    return cli_usage("tune", "--samples %ld is not 1 to 2^31 - 1", a.samples);
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_status st = cli_context(&ctx);
  if (!st) st = tsr_device_open(ctx, a.device, &dev);
  if (!st && a.profile) st = tsr_device_load_profile(dev, a.profile);
  bool attention = !strcmp(argv[1], "attention");
  int rc = st          ? cli_fail(st)
           : attention ? explain_attention(&a, ctx, dev)
                       : op_graph("tune", ctx, argv[1], a.shape, a.dtype, &g);
  if (!rc && !attention) rc = with_graph(&a, ctx, dev, g);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return rc;
}
