/* tools/tessera/cmd_bench.c - `tessera bench`: suites or single cases on one device or all, each checked against the
 * reference and timed in turns with the peers asked for. A table, or one JSON object per line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/status.h"
#include "core/passes/switches.h"
#include "tools/tessera/bench_env.h"
#include "tools/tessera/bench_html.h"
#include "tools/tessera/bench_llm.h"
#include "tools/tessera/bench_model.h"
#include "tools/tessera/bench_table.h"
#include "tools/tessera/run_mesh.h"

enum { MAX_CASES = 256 };

typedef struct bench_run {
  tsr_context *ctx;
  bench_options o;
  bool json, wrong, progress, headed, lost; /* lost: the device is, and with it what was still to be measured */
  bench_peaks peaks[TSR_N_DTYPES];
  bool have_peaks[TSR_N_DTYPES];
  double copy;
  bench_html *html; /* NULL: no page */
  bench_env env;
  struct { double log_sum, least; int n; } gain[2]; /* over the default schedules, and over the table's tiles */
} bench_run;

static double measure_gflops(const bench_run *r, tsr_dtype t, bool again) {
  const tsr_device_info *d = tsr_device_get_info(r->o.dev);
  return !strcmp(d->backend, "cpu") ? bench_cpu_gflops(t, d->n_cores, bench_peak_tries(r->o.seconds))
                                  : bench_device_gflops(r->o.dev, t, again);
}

static const bench_peaks *peaks_for(bench_run *r, tsr_dtype t) {
  const tsr_device_info *d = tsr_device_get_info(r->o.dev);
  if (!r->have_peaks[t]) {
    r->have_peaks[t] = true;
    const int tries = bench_peak_tries(r->o.seconds);
    if (!(r->copy > 0))
      r->copy = !strcmp(d->backend, "cpu") ? bench_cpu_copy(d->n_cores, tries) : bench_device_copy(r->o.dev, tries);
    r->peaks[t] = (bench_peaks){measure_gflops(r, t, false), r->copy};
  }
  return &r->peaks[t];
}

/* A case above the peak says that the peak was measured in a slower moment: it is measured again in turns with the
 * case, which may be the faster one of the two only by what the machine did meanwhile. */
static tsr_status raise_peak(bench_run *r, const bench_case *c, bench_result *x) {
  bench_peaks *p = &r->peaks[c->dtype];
  for (int turn = 0; turn < 3 && p->gflops > 0 && c->flops / x->median_us * 1e-3 > p->gflops; turn++) {
    double again = measure_gflops(r, c->dtype, true);
    if (again > p->gflops) p->gflops = again;
    if (c->flops / x->median_us * 1e-3 <= p->gflops) break;
    tsr_status st = bench_measure(r->ctx, c, &r->o, x);
    if (st) return st;
  }
  return NULL;
}

static void print_json(const bench_run *r, const bench_case *c, const bench_result *x, const bench_peaks *p,
                       int peer_index) {
  char shape[96];
  double gflops = c->flops / x->median_us * 1e-3, gbytes = c->bytes / x->median_us * 1e-3;
  double fraction = p->gflops > 0 && gflops / p->gflops > gbytes / (p->gbytes_per_s + 1e-30) ? gflops / p->gflops
                    : p->gbytes_per_s > 0                                                    ? gbytes / p->gbytes_per_s
                                                                                             : 0;
  bool timed = peer_index >= 0 && x->peers[peer_index].median_us > 0;
  printf(
      "{\"op\": \"%s\", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"policy\": \"%s\", "
      "\"precision\": \"%s\", \"tile\": \"%s\"",
      c->op, bench_shape(c, shape, sizeof shape), tsr_dtype_name(c->dtype), tsr_device_get_info(r->o.dev)->id,
      tsr_policy_name(r->o.policy), tsr_precision_name(r->o.precision), x->tile);
  bench_json_number("median_us", x->median_us, true);
  bench_json_number("min_us", x->min_us, true);
  bench_json_number("gflops", gflops, true);
  bench_json_number("gbytes_per_s", gbytes, true);
  bench_json_number("peak_fraction", fraction, fraction > 0);
  bench_json_number("peak_gflops", p->gflops, p->gflops > 0);
  printf(", \"above_peak\": %s", p->gflops > 0 && gflops > p->gflops ? "true" : "false");
  bench_json_number("copy_gbytes_per_s", p->gbytes_per_s, p->gbytes_per_s > 0);
  bench_json_number("error", x->error, isfinite(x->error));
  bench_json_number("tolerance", x->tolerance, true);
  bench_json_number("default_median_us", x->default_us, x->default_us > 0);
  bench_json_number("gain", x->default_us / x->median_us, x->default_us > 0);
  bench_json_number("table_median_us", x->table_us, x->table_us > 0);
  bench_json_number("table_gain", x->table_us / x->median_us, x->table_us > 0);
  if (x->table_us > 0) printf(", \"table_tile\": \"%s\"", x->table_tile);
  printf(", \"timed_by\": \"%s\"", x->by_events ? "events" : "host");
  bench_json_number("core_mhz", x->clocks.core_mhz, x->clocks.core_mhz > 0);
  bench_json_number("memory_mhz", x->clocks.memory_mhz, x->clocks.memory_mhz > 0);
  bench_json_number("watts", x->clocks.watts, x->clocks.watts > 0);
  bench_json_number("celsius", x->clocks.celsius, x->clocks.celsius > 0);
  printf(", \"ok\": %s, \"packed_b\": %s", x->ok ? "true" : "false", c->packed_b ? "true" : "false");
  if (x->n_without) {
    printf(", \"without\": {");
    for (int i = 0; i < x->n_without; i++)
      printf("%s\"%s\": %.6g", i ? ", " : "", x->without[i].name, x->without[i].median_us / x->median_us);
    printf("}");
  }
  printf(", \"environment\": ");
  bench_env_json(&r->env, tsr_device_get_info(r->o.dev), stdout);
  if (peer_index >= 0) {
    printf(", \"baseline\": ");
    cli_json_string(stdout, x->peers[peer_index].name);
    bench_json_number("baseline_median_us", x->peers[peer_index].median_us, timed);
    bench_json_number("ratio", timed ? x->peers[peer_index].median_us / x->median_us : 0, timed);
    if (!timed) {
      printf(", \"why\": ");
      cli_json_string(stdout, x->peers[peer_index].why);
    }
  } else {
    printf(", \"baseline\": null, \"baseline_median_us\": null, \"ratio\": null");
  }
  printf("}\n");
}

static void print_head(bench_run *r) {
  if (!r->headed) bench_table_head(&r->env);
  r->headed = true;
}

static void print_row(bench_run *r, const bench_case *c, const bench_result *x, const bench_peaks *p) {
  char shape[96];
  print_head(r);
  bench_table_row(&(bench_cells){.device = tsr_device_get_info(r->o.dev)->id, .op = c->op,
                                 .shape = bench_shape(c, shape, sizeof shape), .dtype = tsr_dtype_name(c->dtype),
                                 .median_us = x->median_us, .gflops = c->flops / x->median_us * 1e-3,
                                 .gbytes_per_s = c->bytes / x->median_us * 1e-3, .peaks = *p,
                                 .check = x->ok ? "ok" : "WRONG"});
  if (x->default_us > 0) printf("  default %.1f us, gain %.2fx", x->default_us, x->default_us / x->median_us);
  if (x->table_us > 0)
    printf("  table tile %s %.1f us, gain %.2fx", x->table_tile, x->table_us, x->table_us / x->median_us);
  for (int i = 0; i < x->n_without; i++)
    printf("  without %s %.2fx", x->without[i].name, x->without[i].median_us / x->median_us);
  for (int i = 0; i < x->n_peers; i++) {
    if (x->peers[i].median_us > 0) printf("  %s %.2fx", x->peers[i].name, x->peers[i].median_us / x->median_us);
    else printf("  %s: %s", x->peers[i].name, x->peers[i].why);
  }
  printf("\n");
}

/* A case without a result is a row all the same: `kind` is "unsupported" (the device lacks something) or "failed". */
static void print_none(bench_run *r, const char *id, const bench_case *c, const char *kind, const char *why) {
  char shape[96];
  if (r->html) bench_html_none(r->html, id, c, &r->o, kind, why);
  if (!r->json) {
    print_head(r);
    bench_table_none(&(bench_cells){.device = id, .op = c->op, .shape = bench_shape(c, shape, sizeof shape),
                                    .dtype = tsr_dtype_name(c->dtype)},
                     kind, why);
    fflush(stdout);
    return;
  }
  printf("{\"op\": \"%s\", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"policy\": \"%s\", "
         "\"precision\": \"%s\", \"median_us\": null, \"ok\": false, \"%s\": ",
         c->op, bench_shape(c, shape, sizeof shape), tsr_dtype_name(c->dtype), id, tsr_policy_name(r->o.policy),
         tsr_precision_name(r->o.precision), kind);
  cli_json_string(stdout, why);
  printf("}\n");
  fflush(stdout);
}

static int run_case(bench_run *r, const bench_case *c) {
  char shape[96];
  bench_result x;
  if (r->progress)
    fprintf(stderr, "\r%-60s\r%s %s %s ...", "", tsr_device_get_info(r->o.dev)->id, c->op,
            bench_shape(c, shape, sizeof shape));
  const bench_peaks *p = peaks_for(r, c->dtype);
  if (r->html && r->o.tune == TSR_TUNE_FULL) bench_html_tune(r->html, r->ctx, r->o.dev, c, &r->o);
  tsr_status st = bench_measure(r->ctx, c, &r->o, &x);
  if (!st && x.ok) st = raise_peak(r, c, &x);
  if (r->progress) fprintf(stderr, "\r%-60s\r", "");
  if (st) {
    bool unsupported = tsr_status_code(st) == TSR_UNSUPPORTED;
    r->lost = tsr_status_code(st) == TSR_DEVICE_LOST;
    print_none(r, tsr_device_get_info(r->o.dev)->id, c, unsupported ? "unsupported" : "failed", tsr_status_message(st));
    if (!unsupported) return cli_fail(st);
    tsr_status_free(st);
    return EXIT_UNSUPPORTED;
  }
  if (!x.ok) r->wrong = true;
  const double rivals[2] = {x.default_us, x.table_us};
  for (int i = 0; i < 2; i++) {
    if (!(rivals[i] > 0) || !(x.median_us > 0)) continue;
    double gain = rivals[i] / x.median_us;
    r->gain[i].log_sum += log(gain);
    if (!r->gain[i].n++ || gain < r->gain[i].least) r->gain[i].least = gain;
  }
  if (r->html) bench_html_row(r->html, tsr_device_get_info(r->o.dev), c, &r->o, &x, p);
  if (!r->json) print_row(r, c, &x, p);
  else if (!x.n_peers) print_json(r, c, &x, p, -1);
  else
    for (int i = 0; i < x.n_peers; i++) print_json(r, c, &x, p, i);
  fflush(stdout);
  return EXIT_OK;
}

/* Of all cases measured with other schedules beside the tuned ones. */
static void print_gain(const bench_run *r) {
  static const char *const against[2] = {"the default schedules", "the table of default tiles"};
  for (int i = 0; i < 2 && !r->json; i++)
    if (r->gain[i].n)
      printf("tuned against %s: geometric mean %.3f over %d cases, least %.3f\n", against[i],
             exp(r->gain[i].log_sum / r->gain[i].n), r->gain[i].n, r->gain[i].least);
}

static int run_device(bench_run *r, const char *id, bool among_others, const bench_case *cases, int n) {
  tsr_status st = tsr_device_open(r->ctx, id, &r->o.dev);
  if (st) {
    for (int i = 0; i < n && among_others; i++) print_none(r, id, &cases[i], "failed", tsr_status_message(st));
    return cli_fail(st);
  }
  memset(r->have_peaks, 0, sizeof r->have_peaks);
  r->copy = 0;
  if (r->html) bench_html_device(r->html, tsr_device_get_info(r->o.dev));
  int rc = EXIT_OK;
  r->lost = false;
  memset(r->gain, 0, sizeof r->gain);
  for (int i = 0; i < n; i++) { /* a case that fails is said; the others are measured all the same */
    if (r->lost) print_none(r, id, &cases[i], "failed", "not measured: the device was lost before");
    else rc = bench_worse(rc, run_case(r, &cases[i]));
  }
  print_gain(r);
  tsr_device_close(&r->o.dev);
  return rc;
}

typedef struct all_cases {
  bench_run *r;
  const bench_case *cases;
  int n;
} all_cases;

static int run_among_others(void *user, const char *id) {
  const all_cases *a = user;
  return run_device(a->r, id, true, a->cases, a->n);
}

static const char *peer_name_at(size_t i) { return peer_at(i) ? peer_name(peer_at(i)) : NULL; }

static int find_peers(bench_run *r, const char *list) {
  size_t found[BENCH_MOST_PEERS];
  const int rc = bench_find_peers(list, "", peer_name_at, BENCH_MOST_PEERS, found, &r->o.n_peers);
  for (int i = 0; i < r->o.n_peers; i++) r->o.peers[i] = peer_at(found[i]);
  return rc;
}

static int check_without(const char *list) {
  tsr_status st = pass_check_disable(NULL, "--without", list);
  return st ? cli_fail(st) : EXIT_OK;
}

/* The next name of a comma list, "" past the last; of one that is too long to be any its beginning and "...". */
static const char *next_of(const char **list, char name[64]) {
  size_t n = strcspn(*list, ",");
  snprintf(name, 64, "%.*s%s", n < 64 ? (int)n : 60, *list, n < 64 ? "" : "...");
  *list += n + ((*list)[n] == ',');
  return name;
}

/* One operation in every shape and type of the two lists. */
static int collect_op(const char *op, const char *shapes, const char *types, bool packed, bench_case *cases, int *n) {
  char shape[64], type[64];
  bench_case c = {.op = op, .packed_b = packed};
  if (packed && !bench_is_matmul(&c)) return cli_usage("bench", "--packed is of matmul, not of %s", op);
  if (!shapes) shapes = bench_is_matmul(&c) ? "1024x1024x1024" : "1024x1024";
  for (const char *s = shapes; *s;) {
    if (!bench_parse_shape(next_of(&s, shape), &c))
      return cli_usage("bench", "shape \"%s\" is not %s with extents of 1 to 16777216", shape,
                       bench_is_matmul(&c) ? "MxNxK or BxMxNxK" : "ROWSxCOLS");
    for (const char *t = types; *t;) {
      c.dtype = tsr_dtype_parse(next_of(&t, type));
      if (!c.dtype) return cli_usage("bench", "unknown data type \"%s\"", type);
      if (*n == MAX_CASES) return cli_usage("bench", "more than %d cases", MAX_CASES);
      cases[(*n)++] = c;
    }
  }
  return EXIT_OK;
}

static int collect(int argc, char **argv, const char *suite, const char *shape, const char *dtype, bool packed,
                   bench_case *cases, int *n) {
  *n = 0;
  if ((shape && !*shape) || (dtype && !*dtype)) return cli_usage("bench", "an empty list");
  if (suite && argc > 1) return cli_usage("bench", "--suite %s and %s: one of them", suite, argv[1]);
  if (shape && argc == 1) return cli_usage("bench", "--shape goes with an operation: a suite has its own");
  for (int i = 1, rc; i < argc; i++)
    if ((rc = collect_op(argv[i], shape, dtype ? dtype : "f32", packed, cases, n))) return rc;
  if (argc > 1) return EXIT_OK;
  tsr_dtype t = dtype ? tsr_dtype_parse(dtype) : TSR_F32;
  if (!t) return cli_usage("bench", "unknown data type \"%s\"", dtype);
  if (!suite) suite = "quick";
  while (*n < MAX_CASES && bench_suite(suite, *n, &cases[*n])) {
    if (dtype) cases[*n].dtype = t;
    cases[*n].packed_b = packed && bench_is_matmul(&cases[*n]);
    ++*n;
  }
  if (*n) return EXIT_OK;
  char known[256] = "";
  for (int i = 0; bench_suite_name(i); i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", bench_suite_name(i));
  return cli_usage("bench", "no suite \"%s\"; there are %s", suite, known);
}

typedef struct bench_args {
  /* NULL: not given */
  const char *suite, *device, *shape, *dtype, *against, *policy, *precision, *tune, *html, *without;
  long milliseconds, seed, prompt_tokens, tokens;
  bool packed, json;
} bench_args;

enum { PROMPT_TOKENS = 512, TOKENS = 128, MOST_TOKENS = 1 << 20 };

static tsr_tune tune_of(const char *name) {
  return !name                   ? TSR_TUNE_DEFAULT
         : !strcmp(name, "off")  ? TSR_TUNE_OFF
         : !strcmp(name, "full") ? TSR_TUNE_FULL
                                 : TSR_TUNE_CACHED;
}

static tsr_status open_machine(const bench_args *a, tsr_context **ctx, bench_env *env) {
  TSR_TRY(cli_context(ctx));
  return bench_env_read(*ctx, a->tune, a->seed, a->milliseconds, env);
}

/* As asked for; what nobody asked for is the policy "fast", or that of the mode which is one. */
static tsr_status numerics_of(const bench_args *a, tsr_compile_options *o) {
  TSR_TRY(cli_numerics(a->policy, a->precision, o));
  if (!o->policy && o->precision == TSR_PRECISION_DETERMINISTIC) o->policy = TSR_POLICY_DETERMINISTIC;
  if (!o->policy) o->policy = TSR_POLICY_FAST;
  return NULL;
}

static int model_file(const char *file, const bench_args *a) {
  bench_env env;
  if (a->suite || a->dtype || a->packed || a->html || a->without)
    return cli_usage("bench", "a model takes none of --suite, --dtype, --packed, --html, --without");
  bench_model_options o = {.device = a->device, .shape = a->shape,
                           .against = a->against, .compile.tune = tune_of(a->tune), .env = &env,
                           .seconds = (double)a->milliseconds / 1000, .seed = a->seed, .json = a->json};
  tsr_status st = numerics_of(a, &o.compile);
  if (!st) st = open_machine(a, &o.ctx, &env);
  const int rc = st ? cli_fail(st) : bench_model(file, &o);
  tsr_context_destroy(&o.ctx);
  return rc;
}

static bool is_count(long n) { return n == CLI_NOT_GIVEN || (n >= 0 && n <= MOST_TOKENS); }

static int llm_file(const char *file, const bench_args *a) {
  bench_env env;
  if (a->suite || a->shape || a->dtype || a->policy || a->precision || a->tune || a->packed || a->html || a->without)
    return cli_usage("bench", "a language model takes --device, --prompt-tokens, --tokens, --against, --milliseconds, "
                              "--seed and --json");
  if (!is_count(a->prompt_tokens) || !is_count(a->tokens))
    return cli_usage("bench", "--prompt-tokens and --tokens are 0 to %d", MOST_TOKENS);
  bench_llm_options o = {.device = a->device, .against = a->against, .env = &env,
                         .seconds = (double)a->milliseconds / 1000, .seed = a->seed,
                         .prompt_tokens = a->prompt_tokens == CLI_NOT_GIVEN ? PROMPT_TOKENS : a->prompt_tokens,
                         .tokens = a->tokens == CLI_NOT_GIVEN ? TOKENS : a->tokens, .json = a->json};
  if (!o.prompt_tokens && !o.tokens) return cli_usage("bench", "--prompt-tokens 0 and --tokens 0: nothing is left");
  tsr_status st = open_machine(a, &o.ctx, &env);
  env.least_runs = BENCH_LLM_ROUNDS;
  const int rc = st ? cli_fail(st) : bench_llm(file, &o);
  tsr_context_destroy(&o.ctx);
  return rc;
}

static int check_switches(const bench_args *a) {
  int n = 0;
  for (const char *c = a->without; c && *c; c++) n += c == a->without || *c == ',';
  if (n > BENCH_MOST_WITHOUT) return cli_usage("bench", "--without takes at most %d switches", BENCH_MOST_WITHOUT);
  return EXIT_OK;
}

static int run_cases(bench_run *r, const bench_args *a, const bench_case *cases, int n) {
  const bool all = !a->device || !strcmp(a->device, "all");
  int rc = all ? bench_each_device(r->ctx, run_among_others, &(all_cases){r, cases, n})
               : run_device(r, a->device, false, cases, n);
  if (!a->html) return rc;
  const int written = bench_html_write(r->html, &r->env, a->html); /* whatever failed: it has the rest, and says what */
  return written && (!rc || rc == EXIT_UNSUPPORTED) ? written : rc;
}

static int operations(int argc, char **argv, const bench_args *a) {
  bench_run r = {.json = a->json, .progress = isatty(2) && !a->json,
                 .o = {.seed = a->seed, .tune = tune_of(a->tune), .without = a->without,
                       .seconds = (double)a->milliseconds / 1000}};
  int n = 0, rc = check_switches(a);
  if (rc) return rc;
  bench_case *cases = calloc(MAX_CASES, sizeof *cases);
  rc = cases ? collect(argc, argv, a->suite, a->shape, a->dtype, a->packed, cases, &n) : EXIT_USAGE;
  r.o.place = bench_place_create();
  if (a->html && !(r.html = bench_html_new())) rc = EXIT_USAGE;
  if (!rc) rc = find_peers(&r, a->against);
  if (!rc && a->without) rc = check_without(a->without);
  tsr_compile_options numerics = {0};
  tsr_status st = rc ? NULL : numerics_of(a, &numerics);
  r.o.policy = numerics.policy, r.o.precision = numerics.precision;
  if (!rc && !st) st = open_machine(a, &r.ctx, &r.env);
  if (st) rc = cli_fail(st);
  for (int i = 0; i < n && !rc; i++) /* all of them before the first is timed */
    if ((st = bench_check(r.ctx, &cases[i]))) rc = cli_fail(st);
  if (!rc) rc = run_cases(&r, a, cases, n);
  bench_html_free(&r.html);
  bench_place_destroy(&r.o.place);
  tsr_context_destroy(&r.ctx);
  free(cases);
  return bench_worse(rc, r.wrong ? EXIT_WRONG : EXIT_OK);
}

int cmd_bench(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "coll")) return bench_coll(argc - 1, argv + 1);
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], "--mesh")) return bench_mesh(argc, argv);
  bench_args a = {.milliseconds = 1200, .prompt_tokens = CLI_NOT_GIVEN, .tokens = CLI_NOT_GIVEN};
  const option options[] = {{.name = "--suite", .text = &a.suite},      {.name = "--device", .text = &a.device},
                            {.name = "--shape", .text = &a.shape},      {.name = "--dtype", .text = &a.dtype},
                            {.name = "--against", .text = &a.against},  {.name = "--policy", .text = &a.policy},
                            {.name = "--json", .flag = &a.json},        {.name = "--packed", .flag = &a.packed},
                            {.name = "--tune", .text = &a.tune},        {.name = "--html", .text = &a.html},
                            {.name = "--seed", .number = &a.seed},      {.name = "--without", .text = &a.without},
                            {.name = "--tokens", .number = &a.tokens},  {.name = "--precision", .text = &a.precision},
                            {.name = "--prompt-tokens", .number = &a.prompt_tokens},
                            {.name = "--milliseconds", .number = &a.milliseconds}};
  if (!cli_options("bench", &argc, argv, options, sizeof options / sizeof *options)) return EXIT_USAGE;
  if (a.tune && strcmp(a.tune, "off") && strcmp(a.tune, "cached") && strcmp(a.tune, "full"))
    return cli_usage("bench", "--tune is off, cached or full");
  if (a.milliseconds < 1 || a.milliseconds > 600000)
    return cli_usage("bench", "--milliseconds %ld is not 1 to 600000", a.milliseconds);
  if (argc == 2 && bench_is_llm(argv[1])) return llm_file(argv[1], &a);
  if (a.tokens != CLI_NOT_GIVEN || a.prompt_tokens != CLI_NOT_GIVEN)
    return cli_usage("bench", "--tokens and --prompt-tokens go with one language model (FILE.gguf)");
  if (argc == 2 && bench_is_model(argv[1])) return model_file(argv[1], &a);
  return operations(argc, argv, &a);
}
