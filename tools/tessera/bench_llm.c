/* tools/tessera/bench_llm.c - see bench_llm.h. Tokens are random from a seed: "pp" rows append all of them to an empty
 * text in one call, "tg" rows one after the other; both read the logits back, neither draws from them. Before anything
 * is timed the two ways must give the same logits behind the same tokens. */
#include "tools/tessera/bench_llm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/llama.h"
#include "core/base/clock.h"
#include "core/base/int_math.h"
#include "core/base/sample.h"
#include "core/import/weights.h"
#include "core/llm/model.h"
#include "tools/tessera/bench_memory.h"
#include "tools/tessera/bench_table.h"

enum { MOST_ROUNDS = 1000, CHECKED = 16 };
/* Of logits from each other, root mean square over that of one: the two ways add in another order. Where matrices stay
 * quantised a last bit decides between neighbours of the 8 bits that their other operand is rounded to, which grows
 * from layer to layer (0.01 to 0.05 of SmolLM2's); unrelated logits differ by more than 1. */
#define MOST_DIFFERENCE 2e-2
#define MOST_QUANTISED 0.2

typedef struct llm_row {
  const char *kind;    /* "pp", "tg" */
  int64_t tokens;
  double first_us;     /* from the file to the first logits; 0: another row had them */
  double us[MOST_ROUNDS], theirs[MOST_ROUNDS];
  int n;
} llm_row;

typedef struct llm_bench {
  const char *file;
  const bench_llm_options *o;
  const char *type;         /* of most weights */
  bool quantised;
  double flops;             /* of a prompt's token: products with the layers' matrices */
  double bytes[2];          /* of weights that a token reads: as the file has them, and with blocks' elements as f32 */
  tsr_device *dev;
  llm_model *m;
  int32_t *tokens;          /* as many as the longer row has */
  float *logits;            /* of the check */
  double error, copy;       /* copy: the device's peak; 0: unknown */
  double peak;              /* bytes of memory until the first result; negative: not known */
  bool headed;
  llama_job *llama;         /* NULL: there is no peer */
  char why[256];            /* why that is so; "" */
  llm_row rows[2];
} llm_bench;

bool bench_is_llm(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && !strcmp(dot, ".gguf");
}

/* The type that most bytes are of. */
static const char *main_type(const weights *w) {
  const weights_tensor *found = NULL;
  uint64_t most = 0;
  for (size_t i = 0; i < w->n_tensors; i++) {
    const weights_tensor *t = &w->tensors[i];
    uint64_t bytes = 0;
    for (size_t k = 0; k < w->n_tensors; k++)
      if (w->tensors[k].block == t->block && w->tensors[k].dtype == t->dtype) bytes += w->tensors[k].bytes;
    if (bytes > most) most = bytes, found = t;
  }
  return !found ? "" : found->block ? found->block->name : tsr_dtype_name(found->dtype);
}

/* What is known from the file alone. */
static tsr_status read_facts(llm_bench *b) {
  weights *w = NULL;
  TSR_TRY(weights_open(NULL, b->file, &w));
  const bool untied = weights_find(w, "output.weight") != NULL;
  b->type = main_type(w);
  for (size_t i = 0; i < w->n_tensors; i++) {
    const weights_tensor *t = &w->tensors[i];
    uint64_t n = 0;
    if (!weights_count(&t->shape, &n)) continue;
    if (t->shape.rank == 2 && !strncmp(t->name, "blk.", 4)) b->flops += 2.0 * (double)n;
    if (untied && !strcmp(t->name, "token_embd.weight")) continue; /* a row of it */
    b->quantised |= t->block != NULL;
    b->bytes[0] += (double)t->bytes;
    b->bytes[1] += t->block ? 4.0 * (double)n : (double)t->bytes;
  }
  weights_close(&w);
  return NULL;
}

static bool is_host(const llm_bench *b) { return !strcmp(tsr_device_get_info(b->dev)->backend, "cpu"); }

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int64_t most_tokens(const llm_bench *b) { return max64(b->o->prompt_tokens, b->o->tokens); }

static tsr_status at_once(llm_bench *b, int64_t n, const float **logits) {
  TSR_TRY(llm_model_begin(b->m, most_tokens(b)));
  return llm_model_append(b->m, b->tokens, n, logits);
}

static tsr_status one_by_one(llm_bench *b, int64_t n, const float **logits) {
  TSR_TRY(llm_model_begin(b->m, most_tokens(b)));
  for (int64_t i = 0; i < n; i++) TSR_TRY(llm_model_append(b->m, b->tokens + i, 1, logits));
  return NULL;
}

static tsr_status run_row(llm_bench *b, const llm_row *r) {
  const float *logits;
  return *r->kind == 'p' ? at_once(b, r->tokens, &logits) : one_by_one(b, r->tokens, &logits);
}

static tsr_status check_ways(llm_bench *b) {
  const int64_t n = min64(CHECKED, most_tokens(b)), vocab = llm_model_vocab(b->m);
  const float *logits;
  double apart = 0, all = 0;
  TSR_TRY(at_once(b, n, &logits));
  memcpy(b->logits, logits, (size_t)vocab * sizeof *logits);
  TSR_TRY(one_by_one(b, n, &logits));
  for (int64_t i = 0; i < vocab; i++) {
    const double x = b->logits[i], y = logits[i];
    apart += (x - y) * (x - y);
    all += x * x;
  }
  b->error = sqrt(apart / all); /* not finite where a logit isn't, or none is but 0: that is no result */
  return NULL;
}

static void drop_peer(llm_bench *b, tsr_status st) {
  snprintf(b->why, sizeof b->why, "%s", tsr_status_cause(st));
  tsr_status_free(st);
  llama_destroy(&b->llama);
}

/* In a process of its own, on an idle machine. */
static void time_peer(llm_bench *b, const llm_row *r, double *us) {
  const bool prompt = *r->kind == 'p';
  bench_settle();
  tsr_status st = llama_time(b->llama, prompt ? r->tokens : 0, prompt ? 0 : r->tokens, us);
  if (st) drop_peer(b, st);
}

/* Its programs have run before. */
static tsr_status time_row(llm_bench *b, llm_row *r) {
  const int64_t begin = clock_ns();
  for (r->n = 0; r->n < MOST_ROUNDS; r->n++) {
    if (r->n >= BENCH_LLM_ROUNDS && clock_us_since(begin) > b->o->seconds * 1e6) break;
    const int64_t from = clock_ns();
    TSR_TRY(run_row(b, r));
    r->us[r->n] = clock_us_since(from);
    if (b->llama) time_peer(b, r, &r->theirs[r->n]);
  }
  sample_sort(r->us, (size_t)r->n);
  if (b->llama) sample_sort(r->theirs, (size_t)r->n);
  return NULL;
}

static void draw_tokens(llm_bench *b) {
  uint64_t s = (uint64_t)b->o->seed;
  const uint64_t vocab = (uint64_t)llm_model_vocab(b->m);
  for (int64_t i = 0; i < most_tokens(b); i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    b->tokens[i] = (int32_t)((s >> 33) % vocab);
  }
}

static tsr_status measure(llm_bench *b) {
  const bool prompt = b->o->prompt_tokens > 0;
  const int64_t from = clock_ns();
  const double memory = bench_memory_begin();
  const float *logits;
  TSR_TRY(llm_model_open(b->o->ctx, b->dev, b->file, &b->m));
  b->tokens = malloc(sizeof *b->tokens * (size_t)most_tokens(b));
  b->logits = malloc(sizeof *b->logits * (size_t)llm_model_vocab(b->m));
  if (!b->tokens || !b->logits) return st_oom();
  draw_tokens(b);
  TSR_TRY(prompt ? at_once(b, b->o->prompt_tokens, &logits) : one_by_one(b, 1, &logits));
  b->rows[!prompt].first_us = clock_us_since(from);
  b->peak = bench_memory_peak(memory);
  TSR_TRY(check_ways(b));
  tsr_status st = b->o->against ? llama_create(b->file, b->o->env->threads, !is_host(b), &b->llama) : NULL;
  if (st) drop_peer(b, st);
  for (int i = 0; i < 2; i++)
    if (b->rows[i].tokens) TSR_TRY(time_row(b, &b->rows[i]));
  const int tries = bench_peak_tries(b->o->seconds);
  b->copy = is_host(b) ? bench_cpu_copy(tsr_device_get_info(b->dev)->n_cores, tries) : bench_device_copy(b->dev, tries);
  return NULL;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static double tolerance(const llm_bench *b) { return b->quantised && is_host(b) ? MOST_QUANTISED : MOST_DIFFERENCE; }
static bool is_right(const llm_bench *b) { return b->error <= tolerance(b); }

typedef struct cell_text { char op[18], shape[32]; } cell_text;

static bench_cells cells_of(const llm_bench *b, const llm_row *r, const char *device, cell_text *text) {
  const char *slash = strrchr(b->file, '/');
  const double us = r->n ? r->us[r->n / 2] : 0, n = (double)r->tokens;
  snprintf(text->op, sizeof text->op, "%.17s", slash ? slash + 1 : b->file); /* the column's width */
  snprintf(text->shape, sizeof text->shape, "%s%lld", r->kind, (long long)r->tokens);
  bench_cells c = {.device = device, .op = text->op, .shape = text->shape, .dtype = b->type,
                   .median_us = us, .gflops = -1, .gbytes_per_s = -1, .peaks.gbytes_per_s = b->copy};
  if (!(us > 0)) return c; /* nothing was measured */
  c.check = is_right(b) ? "ok" : "WRONG";
  if (*r->kind == 'p') c.gflops = n * b->flops / us * 1e-3;
  else c.gbytes_per_s = n * b->bytes[!is_host(b)] / us * 1e-3;
  return c;
}

static void print_json_peer(const llm_bench *b, const llm_row *r, double us) {
  const double theirs = b->llama ? r->theirs[r->n / 2] : 0;
  if (b->o->against) printf(", \"baseline\": \"llama.cpp%s%s\"", theirs > 0 ? " " : "",
                            theirs > 0 ? llama_version(b->llama) : "");
  else printf(", \"baseline\": null");
  bench_json_number("baseline_median_us", theirs, theirs > 0);
  bench_json_number("ratio", theirs / us, theirs > 0);
  if (*b->why) printf(", \"why\": "), cli_json_string(stdout, b->why);
}

static void print_json(const llm_bench *b, const llm_row *r, const bench_cells *c) {
  const double fraction = c->gbytes_per_s >= 0 && b->copy > 0 ? c->gbytes_per_s / b->copy : 0;
  printf("{\"op\": ");
  cli_json_string(stdout, b->file);
  printf(", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"tile\": \"\"", c->shape, c->dtype, c->device);
  bench_json_number("median_us", c->median_us, true);
  bench_json_number("min_us", r->us[0], true);
  bench_json_number("first_result_us", r->first_us, r->first_us > 0);
  printf(", \"runs\": %d, \"tokens\": %lld", r->n, (long long)r->tokens);
  bench_json_number("peak_bytes", b->peak, b->peak >= 0);
  bench_json_number("tokens_per_s", (double)r->tokens / c->median_us * 1e6, true);
  bench_json_number("gflops", c->gflops, c->gflops >= 0);
  bench_json_number("gbytes_per_s", c->gbytes_per_s, c->gbytes_per_s >= 0);
  bench_json_number("peak_fraction", fraction, fraction > 0);
  bench_json_number("copy_gbytes_per_s", b->copy, b->copy > 0);
  bench_json_number("error", b->error, isfinite(b->error));
  bench_json_number("tolerance", tolerance(b), true);
  printf(", \"timed_by\": \"host\", \"ok\": %s", is_right(b) ? "true" : "false");
  print_json_peer(b, r, c->median_us);
  printf(", \"environment\": ");
  bench_env_json(b->o->env, tsr_device_get_info(b->dev), stdout);
  printf("}\n");
}

static void print_head(llm_bench *b) {
  if (!b->headed) bench_table_head(b->o->env);
  b->headed = true;
}

static void print_row(llm_bench *b, const llm_row *r) {
  cell_text text;
  const bench_cells c = cells_of(b, r, tsr_device_get_info(b->dev)->id, &text);
  if (b->o->json) print_json(b, r, &c);
  else {
    print_head(b);
    bench_table_row(&c);
    printf("  %.1f tokens/s", (double)r->tokens / c.median_us * 1e6);
    if (r->first_us > 0) printf("  first result %.1f ms", r->first_us / 1e3);
    if (b->llama) printf("  llama.cpp %s %.2fx", llama_version(b->llama), r->theirs[r->n / 2] / c.median_us);
    else if (*b->why) printf("  llama.cpp: %s", b->why);
    printf("\n");
  }
  fflush(stdout);
}

static void print_none(llm_bench *b, const llm_row *r, const char *device, const char *kind, const char *why) {
  cell_text text;
  const bench_cells c = cells_of(b, r, device, &text);
  if (!b->o->json) {
    print_head(b);
    bench_table_none(&c, kind, why);
  } else {
    printf("{\"op\": ");
    cli_json_string(stdout, b->file);
    printf(", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"median_us\": null, \"ok\": false, \"%s\": ",
           c.shape, c.dtype, device, kind);
    cli_json_string(stdout, why);
    printf("}\n");
  }
  fflush(stdout);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static void close_device(llm_bench *b) {
  llama_destroy(&b->llama);
  llm_model_close(&b->m);
  tsr_device_close(&b->dev);
  free(b->tokens);
  free(b->logits);
  b->tokens = NULL, b->logits = NULL;
}

/* Is it the device that can't, and not the file or what is asked for? */
static bool is_of_device(tsr_status st) {
  const tsr_code c = tsr_status_code(st);
  return c != TSR_PARSE_ERROR && c != TSR_INVALID_ARGUMENT;
}

static int run_device(llm_bench *b, const char *id, bool among_others) {
  b->rows[0] = (llm_row){.kind = "pp", .tokens = b->o->prompt_tokens};
  b->rows[1] = (llm_row){.kind = "tg", .tokens = b->o->tokens};
  b->error = b->copy = 0;
  *b->why = 0;
  tsr_status st = tsr_device_open(b->o->ctx, id, &b->dev);
  if (!st) st = measure(b);
  int rc = st || is_right(b) ? EXIT_OK : EXIT_WRONG;
  const bool unsupported = st && tsr_status_code(st) == TSR_UNSUPPORTED && b->dev;
  const char *shown = b->dev ? tsr_device_get_info(b->dev)->id : id;
  for (int i = 0; i < 2; i++) {
    if (!b->rows[i].tokens) continue;
    if (!st) print_row(b, &b->rows[i]);
    else if (unsupported || (among_others && is_of_device(st)))
      print_none(b, &b->rows[i], shown, unsupported ? "unsupported" : "failed", tsr_status_message(st));
  }
  if (unsupported) rc = EXIT_UNSUPPORTED, tsr_status_free(st);
  else if (st) rc = cli_fail(st);
  close_device(b);
  return rc;
}

static int run_among_others(void *b, const char *id) { return run_device(b, id, true); }

int bench_llm(const char *file, const bench_llm_options *o) {
  llm_bench *b = calloc(1, sizeof *b);
  if (!b) return cli_usage("bench", "out of memory");
  b->file = file;
  b->o = o;
  tsr_status st = NULL;
  if (o->against && strcmp(o->against, "llama"))
    st = st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("bench", NULL, NULL),
                 "no peer \"%s\" for language models; there is llama", o->against);
  if (!st) st = read_facts(b);
  const bool all = o->device && !strcmp(o->device, "all");
  const int rc = st ? cli_fail(st) : all ? bench_each_device(o->ctx, run_among_others, b)
                                              : run_device(b, o->device, false);
  free(b);
  return rc;
}
