/* tools/tessera/bench_model.c - see bench_model.h. Inputs are random from a seed, integers 0 or 1, which every range of
 * indices has. Runs of ours and of the peer take turns; results are compared where there is a peer. */
#include "tools/tessera/bench_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/onnxruntime.h"
#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "core/base/status.h"
#include "core/import/onnx.h"
#include "tools/tessera/program_file.h"

enum { MOST = 64, LEAST_ROUNDS = 7, MOST_ROUNDS = 100000 };
#define MOST_DIFFERENCE 1e-2 /* of results from a peer's, over the largest of these: deep models amplify roundings */

typedef struct model_run {
  const char *file;
  const bench_model_options *o;
  tsr_device *dev;
  tsr_program *prog;
  onnx_model *onnx; /* NULL: IR text */
  tsr_binding in[MOST], out[MOST];
  ort_tensor data[MOST];
  ort_job *ort;
  char why[256];                 /* why there is no peer; "" */
  double first_us, ort_first_us; /* from the file to the first result */
  double *us, *ort_us;
  int n;
  double error;
} model_run;

bool bench_is_model(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot && (!strcmp(dot, ".onnx") || !strcmp(dot, ".mlir"));
}

static double draw(uint64_t *s) {
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return (double)(*s >> 11) / 9007199254740992.0;
}

static int load(model_run *r) {
  shape_list shapes = {.command = "bench"};
  char text[1024];
  program_file f;
  snprintf(text, sizeof text, "%s", r->o->shape ? r->o->shape : "");
  if (!shape_list_add_all(&shapes, *text ? text : NULL)) return EXIT_USAGE;
  int rc = program_file_read("bench", r->file, &f);
  tsr_status st = !rc && f.onnx ? onnx_open(r->file, &r->onnx) : NULL;
  if (st) rc = cli_fail(st);
  if (!rc) rc = program_file_compile(&f, &shapes, NULL, r->o->ctx, r->dev, &r->o->compile, &r->prog);
  program_file_clear(&f);
  return rc;
}

static tsr_status make_data(model_run *r) {
  uint64_t s = (uint64_t)r->o->seed;
  for (int i = 0; i < tsr_program_n_inputs(r->prog); i++) {
    const tsr_tensor_info t = tsr_program_input(r->prog, i);
    ort_tensor *d = &r->data[i];
    *d = (ort_tensor){r->onnx ? r->onnx->inputs.v[i].name : t.name, t.dtype, t.shape, malloc(t.bytes + 1), t.bytes};
    if (!d->data) return st_oom();
    const size_t n = t.bytes / tsr_dtype_size(t.dtype) * (size_t)dtype_parts(t.dtype);
    for (size_t k = 0; k < n; k++) {
      const double u = draw(&s);
      dtype_store(t.dtype, d->data, k, dtype_is_float(dtype_part(t.dtype)) ? 2 * u - 1 : u > 0.5);
    }
    TSR_TRY(tsr_buffer_create(r->dev, t.bytes, TSR_MEMORY_DEVICE, &r->in[i].buffer));
    TSR_TRY(tsr_buffer_write(r->in[i].buffer, 0, d->data, t.bytes));
  }
  for (int i = 0; i < tsr_program_n_outputs(r->prog); i++)
    TSR_TRY(tsr_buffer_create(r->dev, tsr_program_output(r->prog, i).bytes, TSR_MEMORY_DEVICE, &r->out[i].buffer));
  return NULL;
}

static tsr_status run_once(model_run *r) {
  tsr_event *e = NULL; /* waits for the device's own stream */
  tsr_status st = tsr_program_run(r->prog, NULL, r->in, r->out);
  if (!st) st = tsr_event_create(r->dev, &e);
  if (!st) st = tsr_event_record(e, NULL);
  if (!st) st = tsr_event_sync(e);
  tsr_event_destroy(&e);
  return st;
}

/* The largest difference from the peer's results, over the largest of these. */
static tsr_status compare(model_run *r) {
  double largest = 0, most = 0;
  for (int i = 0; i < tsr_program_n_outputs(r->prog); i++) {
    const tsr_tensor_info t = tsr_program_output(r->prog, i);
    const void *want = ort_result(r->ort, i);
    void *got = malloc(t.bytes + 1);
    tsr_status st = got ? tsr_buffer_read(r->out[i].buffer, 0, got, t.bytes) : st_oom();
    for (size_t k = 0; !st && want && k < t.bytes / tsr_dtype_size(t.dtype); k++) {
      const double a = dtype_load(t.dtype, got, k), b = dtype_load(t.dtype, want, k);
      if (isnan(a) && isnan(b)) continue;
      most = fmax(most, isnan(a - b) ? INFINITY : fabs(a - b));
      largest = fmax(largest, fabs(b));
    }
    free(got);
    TSR_TRY(st);
  }
  r->error = largest > 0 ? most / largest : most;
  return NULL;
}

static tsr_status start_peer(model_run *r) {
  const char *names[MOST];
  const int n_out = tsr_program_n_outputs(r->prog);
  if (!r->onnx) return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "onnxruntime: takes ONNX files");
  for (int i = 0; i < n_out; i++) names[i] = r->onnx->outputs.v[i].name;
  const int64_t from = clock_ns();
  TSR_TRY(ort_create(r->file, r->o->env->threads, r->data, tsr_program_n_inputs(r->prog), names, n_out, &r->ort));
  TSR_TRY(ort_run(r->ort));
  r->ort_first_us = clock_us_since(from);
  return compare(r);
}

static tsr_status measure(model_run *r) {
  const int64_t begin = clock_ns();
  for (r->n = 0; r->n < MOST_ROUNDS; r->n++) {
    if (r->n >= LEAST_ROUNDS && clock_us_since(begin) > r->o->seconds * 1e6) break;
    int64_t from = clock_ns();
    TSR_TRY(run_once(r));
    r->us[r->n] = clock_us_since(from);
    if (!r->ort) continue;
    bench_settle();
    from = clock_ns();
    TSR_TRY(ort_run(r->ort));
    r->ort_us[r->n] = clock_us_since(from);
    bench_settle();
  }
  sample_sort(r->us, (size_t)r->n);
  sample_sort(r->ort_us, r->ort ? (size_t)r->n : 0);
  return NULL;
}

static void print_json(const model_run *r, const char *shape, double ours, double theirs) {
  printf("{\"op\": ");
  cli_json_string(stdout, r->file);
  printf(", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"tile\": \"\"", shape,
         tsr_dtype_name(tsr_program_input(r->prog, 0).dtype), tsr_device_get_info(r->dev)->id);
  printf(", \"median_us\": %.6g, \"min_us\": %.6g, \"first_result_us\": %.6g, \"runs\": %d", ours, r->us[0],
         r->first_us, r->n);
  if (r->ort) printf(", \"error\": %.3g, \"ok\": %s", r->error, r->error <= MOST_DIFFERENCE ? "true" : "false");
  else printf(", \"error\": null, \"ok\": null");
  if (r->o->against)
    printf(", \"baseline\": \"onnxruntime%s%s\"", r->ort ? " " : "", r->ort ? ort_version(r->ort) : "");
  else printf(", \"baseline\": null");
  if (r->ort)
    printf(", \"baseline_median_us\": %.6g, \"ratio\": %.4g, \"baseline_first_result_us\": %.6g", theirs, theirs / ours,
           r->ort_first_us);
  else printf(", \"baseline_median_us\": null, \"ratio\": null");
  if (*r->why) printf(", \"why\": "), cli_json_string(stdout, r->why);
  printf(", \"environment\": ");
  bench_env_json(r->o->env, tsr_device_get_info(r->dev), stdout);
  printf("}\n");
}

static void print_line(const model_run *r, const char *shape, double ours, double theirs) {
  printf("%s %s %s: median %.1f us, least %.1f us of %d runs, %.1f ms to the first result",
         tsr_device_get_info(r->dev)->id, r->file, shape, ours, r->us[0], r->n, r->first_us / 1e3);
  if (r->ort)
    printf("; onnxruntime %s: %.1f us, %.2fx, %.1f ms to the first; %s, differs by %.2g", ort_version(r->ort), theirs,
           theirs / ours, r->ort_first_us / 1e3, r->error <= MOST_DIFFERENCE ? "ok" : "WRONG", r->error);
  else if (*r->why) printf("; %s", r->why);
  printf("\n");
}

static int run_model(model_run *r) {
  char shape[128] = "";
  const int64_t from = clock_ns();
  tsr_status st = tsr_device_open(r->o->ctx, r->o->device, &r->dev);
  int rc = st ? cli_fail(st) : load(r);
  if (rc) return rc;
  if (tsr_program_n_inputs(r->prog) > MOST || tsr_program_n_outputs(r->prog) > MOST)
    return cli_usage("bench", "%s: more than %d inputs or outputs", r->file, MOST);
  st = make_data(r);
  if (!st) st = run_once(r);
  r->first_us = clock_us_since(from);
  if (!st && r->o->against && (st = start_peer(r)) != NULL) {
    snprintf(r->why, sizeof r->why, "%s", tsr_status_cause(st));
    ort_destroy(&r->ort);
    tsr_status_free(st);
    st = NULL;
  }
  r->us = malloc(sizeof *r->us * MOST_ROUNDS);
  r->ort_us = malloc(sizeof *r->ort_us * MOST_ROUNDS);
  if (!r->us || !r->ort_us) st = st ? st : st_oom();
  if (!st) st = measure(r);
  if (st) return cli_fail(st);
  const tsr_tensor_info t = tsr_program_input(r->prog, 0);
  if (tsr_program_n_inputs(r->prog)) cli_shape_text(&t.shape, shape, sizeof shape);
  (r->o->json ? print_json : print_line)(r, shape, r->us[r->n / 2], r->ort ? r->ort_us[r->n / 2] : 0);
  return r->ort && !(r->error <= MOST_DIFFERENCE) ? EXIT_WRONG : EXIT_OK;
}

int bench_model(const char *file, const bench_model_options *o) {
  model_run r = {.file = file, .o = o};
  if (o->against && strcmp(o->against, "onnxruntime"))
    return cli_usage("bench", "no peer \"%s\" for models; there is onnxruntime", o->against);
  int rc = run_model(&r);
  for (int i = 0; i < MOST; i++) {
    tsr_buffer_destroy(&r.in[i].buffer);
    tsr_buffer_destroy(&r.out[i].buffer);
    free(r.data[i].data);
  }
  ort_destroy(&r.ort);
  free(r.us);
  free(r.ort_us);
  tsr_program_destroy(&r.prog);
  tsr_device_close(&r.dev);
  onnx_close(&r.onnx);
  return rc;
}
