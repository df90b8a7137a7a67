/* tests/conformance/test_conformance.c - random graphs on one device against the f64 reference, element by element,
 * within the tolerance that ir/graph/eval.h derives from data types and reduction lengths. Written against
 * include/tessera alone.
 *   TSR_TEST_DEVICE (cpu:0), TSR_TEST_CASES (2000), TSR_TEST_SEED (printed), TSR_TEST_FAMILY (all),
 *   TSR_TEST_REFUSED (25: the per cent of the cases that may be unsupported)
 * Exit 77: the device is not here. What a device says it can't do (TSR_UNSUPPORTED) is counted by reason and
 * printed. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "tests/conformance/open_device.h"
#include "tests/conformance/random_graph.h"
#include "tests/support/numbers.h"

enum { MAX_TENSORS = 16, MAX_FAMILIES = 64, LEAST_RESULTS = 8 };

/* Further backends that the program brings along (tests/simt links this file with the emulator's). */
extern const void *const conformance_backends[] __attribute__((weak));

typedef struct suite {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_stream *stream;
  bool no_denormals;
  long run, wrong, unsupported;
  struct {
    long elements, unknown; /* compared, and those of them that the reference knows nothing of */
    long results;
    double known; /* the sum of the results' shares of known elements: a large one counts as much as a small one */
  } families[MAX_FAMILIES];
  int family;
  char reason[512]; /* the last one */
} suite;

static void fail_line(suite *s, uint64_t seed, const char *what, const char *fmt, ...) TSR_PRINTF(4, 5);

static void fail_line(suite *s, uint64_t seed, const char *what, const char *fmt, ...) {
  char why[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(why, sizeof why, fmt, ap);
  va_end(ap);
  if (++s->wrong <= 20) printf("FAIL seed %llu %s\n     %s\n", (unsigned long long)seed, what, why);
}

/* Numbers: of complex elements two each. */
static size_t count(const tsr_tensor_info *t) { return numbers_of(t); }

/* The elements of one output, counted for its family. */
static void count_known(suite *s, const tsr_tensor_info *t, const double *tolerance) {
  const long n = (long)count(t);
  long unknown = 0;
  for (long i = 0; i < n; i++) unknown += tolerance[i] == INFINITY;
  if (!n) return;
  s->families[s->family].elements += n, s->families[s->family].unknown += unknown;
  s->families[s->family].results++, s->families[s->family].known += (double)(n - unknown) / (double)n;
}

static bool compare(suite *s, uint64_t seed, const char *what, int output, const tsr_tensor_info *t, const void *got,
                    const double *want, const double *tolerance) {
  for (size_t i = 0; i < count(t); i++) {
    double g = dtype_load(t->dtype, got, i);
    if (graph_agrees(t->dtype, g, (graph_num){.v = want[i], .e = tolerance[i]})) continue;
    fail_line(s, seed, what, "output %d element %zu: %.9g, reference %.9g, tolerance %.3g", output, i, g, want[i],
              tolerance[i]);
    return false;
  }
  return true;
}

typedef struct tensors {
  void *in[MAX_TENSORS], *out[MAX_TENSORS];
  double *want[MAX_TENSORS], *tolerance[MAX_TENSORS];
  tsr_binding bi[MAX_TENSORS], bo[MAX_TENSORS];
} tensors;

/* donate: outputs that are written into an input have its buffer. */
static tsr_status execute(suite *s, tsr_program *p, tensors *x, bool donate) {
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    tsr_status st = tsr_buffer_create(s->dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &x->bi[i].buffer);
    if (!st) st = tsr_buffer_write(x->bi[i].buffer, 0, x->in[i], tsr_program_input(p, i).bytes);
    if (st) return st;
  }
  for (int i = 0; i < tsr_program_n_outputs(p); i++) {
    const int from = donate ? tsr_program_donated_input(p, i) : -1;
    if (from >= 0) {
      x->bo[i] = x->bi[from];
      continue;
    }
    tsr_status st = tsr_buffer_create(s->dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &x->bo[i].buffer);
    if (st) return st;
  }
  tsr_status st = tsr_program_run(p, s->stream, x->bi, x->bo);
  if (!st) st = tsr_stream_sync(s->stream, -1); /* reads of results without elements wait for nothing */
  for (int i = 0; i < tsr_program_n_outputs(p) && !st; i++)
    st = tsr_buffer_read(x->bo[i].buffer, 0, x->out[i], tsr_program_output(p, i).bytes);
  return st;
}

/* What `deterministic` promises: the same bits again, over results that were wiped. */
static tsr_status run_again(suite *s, tsr_program *p, tensors *x, uint64_t seed, const char *what) {
  tsr_status st = NULL;
  for (int i = 0; i < tsr_program_n_outputs(p) && !st; i++) {
    size_t bytes = tsr_program_output(p, i).bytes;
    void *wiped = calloc(1, bytes + 1);
    memset(wiped, 0xa5, bytes);
    st = tsr_buffer_write(x->bo[i].buffer, 0, wiped, bytes);
    free(wiped);
  }
  if (!st) st = tsr_program_run(p, NULL, x->bi, x->bo);
  for (int i = 0; i < tsr_program_n_outputs(p) && !st; i++) {
    size_t bytes = tsr_program_output(p, i).bytes;
    void *again = malloc(bytes + 1);
    st = tsr_buffer_read(x->bo[i].buffer, 0, again, bytes);
    if (!st && memcmp(again, x->out[i], bytes))
      fail_line(s, seed, what, "output %d has other bits in a second run under deterministic", i);
    free(again);
  }
  return st;
}

static void one_case(suite *s, uint64_t seed, int family, tsr_policy policy) {
  /* GPUs normalise rows without looking at their range (docs/precision.md). */
  const char *name = random_graph_family_name(family);
  bool rows_on_gpu = s->no_denormals && (!strcmp(name, "rows") || !strcmp(name, "normed"));
  rng r = {seed, rows_on_gpu, s->no_denormals};
  char what[1024];
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tensors x = {{0}};
  s->run++, s->family = family;
  tsr_status st = random_graph(s->ctx, &r, family, &g, what, sizeof what);
  if (st) {
    fail_line(s, seed, what, "building: %s", tsr_status_message(st));
    tsr_status_free(st);
    return;
  }
  const void *inputs[MAX_TENSORS];
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) {
    tsr_tensor_info t = tsr_graph_input_info(g, i);
    x.in[i] = malloc(t.bytes + 8);
    random_fill(&r, t.dtype, x.in[i], count(&t), !strcmp(random_graph_family_name(family), "positive"));
    inputs[i] = x.in[i];
  }
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) {
    tsr_tensor_info t = tsr_graph_output_info(g, i);
    x.out[i] = malloc(t.bytes + 8);
    x.want[i] = malloc(sizeof(double) * (count(&t) + 1));
    x.tolerance[i] = malloc(sizeof(double) * (count(&t) + 1));
  }
  tsr_compile_options o = {.policy = policy, .tune = TSR_TUNE_OFF};
  st = tsr_program_compile(s->dev, g, &o, &p);
  if (!st) st = execute(s, p, &x, policy != TSR_POLICY_DETERMINISTIC && (seed >> 1 & 1));
  if (!st && policy == TSR_POLICY_DETERMINISTIC) st = run_again(s, p, &x, seed, what);
  if (tsr_status_code(st) == TSR_UNSUPPORTED) {
    s->unsupported++;
    snprintf(s->reason, sizeof s->reason, "%s", tsr_status_message(st));
  } else if (st) {
    fail_line(s, seed, what, "%s", tsr_status_message(st));
  } else {
    tsr_status rs = tsr_graph_reference(g, inputs, x.want, x.tolerance);
    if (rs) fail_line(s, seed, what, "reference: %s", tsr_status_message(rs));
    for (int i = 0; i < tsr_graph_n_outputs(g) && !rs; i++) {
      tsr_tensor_info t = tsr_graph_output_info(g, i);
      count_known(s, &t, x.tolerance[i]);
      if (!compare(s, seed, what, i, &t, x.out[i], x.want[i], x.tolerance[i])) break;
    }
    tsr_status_free(rs);
  }
  tsr_status_free(st);
  for (int i = 0; i < MAX_TENSORS; i++) {
    free(x.in[i]);
    free(x.out[i]);
    free(x.want[i]);
    free(x.tolerance[i]);
    bool donated = false;
    for (int k = 0; k < MAX_TENSORS; k++) donated |= x.bo[i].buffer == x.bi[k].buffer;
    if (!donated) tsr_buffer_destroy(&x.bo[i].buffer);
  }
  for (int i = 0; i < MAX_TENSORS; i++) {
    tsr_buffer_destroy(&x.bi[i].buffer);
  }
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
}

static const char *env(const char *name, const char *dflt) {
  return getenv(name) && *getenv(name) ? getenv(name) : dflt;
}

int main(void) {
  suite s = {0};
  const char *device, *only = env("TSR_TEST_FAMILY", "");
  long cases = strtol(env("TSR_TEST_CASES", TSR_TEST_SLOW ? "700" : "2000"), NULL, 10);
  const long share = strtol(env("TSR_TEST_REFUSED", "25"), NULL, 10);
  uint64_t seed = strtoull(env("TSR_TEST_SEED", "20261121"), NULL, 10);
  tsr_context_desc d = {.cache_dir = "", .extra_backends = conformance_backends};
  int rc = open_for_test(&d, &s.ctx, &s.dev, &device);
  if (rc) return rc;
  s.no_denormals = strncmp(device, "cpu", 3) != 0;
  tsr_status st = tsr_stream_create(s.dev, 0, &s.stream);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    return 1;
  }
  printf("device %s, %ld cases, seed %llu\n", device, cases, (unsigned long long)seed);
  static const tsr_policy policies[] = {TSR_POLICY_FAST, TSR_POLICY_FAST, TSR_POLICY_DETERMINISTIC,
                                        TSR_POLICY_KAHAN_SUM};
  bool single = getenv("TSR_TEST_ONE") != NULL; /* the seed of a FAIL line, with its family */
  /* Composite ops and what was added after them come behind the others, as many as of each of these, so that the others
   * keep their seeds; and packed integers behind these. */
  int first = 0;
  while (strcmp(random_graph_family_name(first), "composed")) first++;
  const int last = random_graph_families() - 1, added = last - first;
  const long more = cases / first, others = cases + more * added;
  if (random_graph_families() > MAX_FAMILIES) return 1;
  for (long i = 0; i < others + more; i++) {
    int family = i < cases ? (int)(i % first) : i < others ? first + (int)((i - cases) % added) : last;
    if (*only && strcmp(only, random_graph_family_name(family))) continue;
    /* A kernel that drivers compile for a second and more, and graphs of many kernels: there a few, and more of them by
     * tests of their own. */
    const char *name = random_graph_family_name(family);
    const bool many = !strcmp(name, "ordered") || !strcmp(name, "spectral"),
               dear = !strcmp(name, "flash_attention") || !strcmp(name, "recurrent");
    const int one_of = dear ? 16 : many ? 6 : !strcmp(name, "convolution") ? 2 : 1;
    if (!*only && s.no_denormals && i / added % one_of) continue;
    one_case(&s, single ? seed : seed + (uint64_t)i * 7919, family,
             policies[(i < cases ? i / first : (i - cases) / added) % 4]);
    if (single && *only) break;
  }
  if (s.unsupported) printf("unsupported: %ld cases, e.g. %s\n", s.unsupported, s.reason);
  bool vacuous = false; /* a family of which the reference knows too little shows little */
  for (int f = 0; f < random_graph_families(); f++) {
    if (!s.families[f].results) continue;
    const double known = 100 * s.families[f].known / (double)s.families[f].results;
    if (known < 67 || 3 * s.families[f].unknown > s.families[f].elements)
      printf("%s: the reference knows nothing of %ld of %ld elements; of a result it knows %.0f %% on average\n",
             random_graph_family_name(f), s.families[f].unknown, s.families[f].elements, known);
    vacuous |= s.families[f].results >= LEAST_RESULTS && known < 25;
  }
  printf("%ld passed, %ld failed, %ld skipped\n", s.run - s.wrong - s.unsupported, s.wrong, s.unsupported);
  tsr_stream_destroy(&s.stream);
  tsr_device_close(&s.dev);
  tsr_context_destroy(&s.ctx);
  if (s.unsupported * 100 > s.run * share) { /* above what the device lacks: such a run shows little */
    printf("more than %ld %% of the cases are unsupported\n", share);
    return 1;
  }
  return vacuous || s.wrong ? 1 : 0;
}
