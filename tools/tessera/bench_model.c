/* tools/tessera/bench_model.c - see bench_model.h. Inputs are random from a seed, integers 0 or 1, which every range of
 * indices has. Runs of ours and of the peers take turns; results are compared with each peer's. */
#include "tools/tessera/bench_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/baselines/model_peer.h"
#include "core/base/clock.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"
#include "core/base/status.h"
#include "core/import/onnx.h"
#include "tools/tessera/bench_memory.h"
#include "tools/tessera/bench_table.h"
#include "tools/tessera/program_file.h"

enum { MOST = MODEL_MOST_TENSORS, MOST_PEERS = 4, LEAST_ROUNDS = 7, MOST_ROUNDS = 100000 };
#define MOST_DIFFERENCE 1e-2 /* of results from a peer's, over the largest of these: deep models amplify roundings */

typedef struct rival {
  const model_peer *peer;
  void *job;      /* NULL: why there is none */
  char why[256];
  double first_us, peak, *us, error; /* peak: bytes; negative: not known */
} rival;

typedef struct model_run {
  const char *file;
  const bench_model_options *o;
  tsr_device *dev;
  tsr_program *prog;
  onnx_model *onnx; /* NULL: IR text */
  tsr_binding in[MOST], out[MOST];
  model_tensor data[MOST];
  rival rivals[MOST_PEERS];
  int n_rivals;
  double first_us, peak; /* from the file to the first result: time, bytes */
  double *us;
  int n;
} model_run;

/* Inputs and outputs are the program's, one for one, and go to peers by the model's names. */
static bool has_sequences(const onnx_model *m) {
  bool any = false;
  for (size_t i = 0; i < m->inputs.n; i++) any |= m->inputs.v[i].is_sequence || m->inputs.v[i].is_optional;
  for (size_t i = 0; i < m->outputs.n; i++) any |= m->outputs.v[i].is_sequence || m->outputs.v[i].is_optional;
  return any;
}

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
    model_tensor *d = &r->data[i];
    const char *name = r->onnx && !has_sequences(r->onnx) ? r->onnx->inputs.v[i].name : t.name;
    *d = (model_tensor){name, t.dtype, t.shape, malloc(t.bytes + 1), t.bytes};
    if (!d->data) return st_oom();
    const size_t n = cli_count(&t.shape) * (size_t)dtype_parts(t.dtype);
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
static tsr_status compare(const model_run *r, rival *v) {
  double largest = 0, most = 0;
  for (int i = 0; i < tsr_program_n_outputs(r->prog); i++) {
    const tsr_tensor_info t = tsr_program_output(r->prog, i);
    const void *want = v->peer->result(v->job, i, t.bytes);
    if (!want && t.bytes)
      return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: result %d isn't what ours is",
                     v->peer->name, i);
    void *got = malloc(t.bytes + 1);
    tsr_status st = got ? tsr_buffer_read(r->out[i].buffer, 0, got, t.bytes) : st_oom();
    for (size_t k = 0; !st && k < cli_count(&t.shape); k++) {
      const double a = dtype_load(t.dtype, got, k), b = dtype_load(t.dtype, want, k);
      if (isnan(a) && isnan(b)) continue;
      most = fmax(most, isnan(a - b) ? INFINITY : fabs(a - b));
      largest = fmax(largest, fabs(b));
    }
    free(got);
    TSR_TRY(st);
  }
  v->error = largest > 0 ? most / largest : most;
  return NULL;
}

static tsr_status start_peer(const model_run *r, rival *v) {
  const char *names[MOST];
  const int n_out = tsr_program_n_outputs(r->prog);
  if (!r->onnx)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: takes ONNX files", v->peer->name);
  if (has_sequences(r->onnx))
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("bench", NULL, NULL), "%s: takes tensors, no sequences",
                   v->peer->name);
  for (int i = 0; i < n_out; i++) names[i] = r->onnx->outputs.v[i].name;
  const double memory = bench_memory_begin();
  const int64_t from = clock_ns();
  TSR_TRY(v->peer->create(r->file, r->o->env->threads, r->data, tsr_program_n_inputs(r->prog), names, n_out, &v->job));
  TSR_TRY(v->peer->run(v->job));
  v->first_us = clock_us_since(from);
  v->peak = v->peer->time_us ? -1 : bench_memory_peak(memory); /* other processes' isn't known */
  return compare(r, v);
}

/* A peer that isn't there, or doesn't take the model, is told with the result. */
static tsr_status start_peers(model_run *r) {
  for (int i = 0; i < r->n_rivals; i++) {
    rival *v = &r->rivals[i];
    v->us = malloc(sizeof *v->us * MOST_ROUNDS);
    if (!v->us) return st_oom();
    tsr_status st = start_peer(r, v);
    if (!st) continue;
    snprintf(v->why, sizeof v->why, "%s", tsr_status_cause(st));
    v->peer->destroy(v->job);
    v->job = NULL;
    tsr_status_free(st);
  }
  return NULL;
}

static tsr_status measure(model_run *r) {
  const int64_t begin = clock_ns();
  for (r->n = 0; r->n < MOST_ROUNDS; r->n++) {
    if (r->n >= LEAST_ROUNDS && clock_us_since(begin) > r->o->seconds * 1e6) break;
    int64_t from = clock_ns();
    TSR_TRY(run_once(r));
    r->us[r->n] = clock_us_since(from);
    for (int i = 0; i < r->n_rivals; i++) {
      rival *v = &r->rivals[i];
      if (!v->job) continue;
      bench_settle();
      from = clock_ns();
      TSR_TRY(v->peer->run(v->job));
      v->us[r->n] = v->peer->time_us ? v->peer->time_us(v->job) : clock_us_since(from);
      bench_settle();
    }
  }
  sample_sort(r->us, (size_t)r->n);
  for (int i = 0; i < r->n_rivals; i++) sample_sort(r->rivals[i].us, r->rivals[i].job ? (size_t)r->n : 0);
  return NULL;
}

static bool is_right(const rival *v) { return v->error <= MOST_DIFFERENCE; }

static void print_bytes(const char *name, double bytes) {
  if (bytes < 0) printf(", \"%s\": null", name);
  else printf(", \"%s\": %.0f", name, bytes);
}

static void print_memory(double bytes) {
  if (bytes >= 0) printf(" with %.1f MB", bytes / 1e6);
}

/* An object for each peer, as of operations; v NULL: there is none. */
static void print_json(const model_run *r, const rival *v, const char *shape, double ours) {
  const bool ran = v && v->job;
  const tsr_dtype dtype = tsr_program_n_inputs(r->prog) ? tsr_program_input(r->prog, 0).dtype
                                                        : tsr_program_output(r->prog, 0).dtype;
  printf("{\"op\": ");
  cli_json_string(stdout, r->file);
  printf(", \"shape\": \"%s\", \"dtype\": \"%s\", \"device\": \"%s\", \"tile\": \"\"", shape, tsr_dtype_name(dtype),
         tsr_device_get_info(r->dev)->id);
  printf(", \"median_us\": %.6g, \"min_us\": %.6g, \"first_result_us\": %.6g, \"runs\": %d", ours, r->us[0],
         r->first_us, r->n);
  print_bytes("peak_bytes", r->peak);
  if (ran && isfinite(v->error)) printf(", \"error\": %.3g, \"ok\": %s", v->error, is_right(v) ? "true" : "false");
  else printf(", \"error\": null, \"ok\": %s", ran ? "false" : "null");
  if (v) printf(", \"baseline\": \"%s%s%s\"", v->peer->name, ran ? " " : "", ran ? v->peer->version(v->job) : "");
  else printf(", \"baseline\": null");
  if (ran)
    printf(", \"baseline_median_us\": %.6g, \"ratio\": %.4g, \"baseline_first_result_us\": %.6g", v->us[r->n / 2],
           v->us[r->n / 2] / ours, v->first_us);
  else printf(", \"baseline_median_us\": null, \"ratio\": null");
  if (ran) print_bytes("baseline_peak_bytes", v->peak);
  if (v && *v->why) printf(", \"why\": "), cli_json_string(stdout, v->why);
  printf(", \"environment\": ");
  bench_env_json(r->o->env, tsr_device_get_info(r->dev), stdout);
  printf("}\n");
}

static void print_line(const model_run *r, const char *shape, double ours) {
  printf("%s %s %s: median %.1f us, least %.1f us of %d runs, %.1f ms to the first result",
         tsr_device_get_info(r->dev)->id, r->file, shape, ours, r->us[0], r->n, r->first_us / 1e3);
  print_memory(r->peak);
  for (int i = 0; i < r->n_rivals; i++) {
    const rival *v = &r->rivals[i];
    if (!v->job) {
      printf("; %s", v->why);
      continue;
    }
    printf("; %s %s: %.1f us, %.2fx, %.1f ms to the first", v->peer->name, v->peer->version(v->job), v->us[r->n / 2],
           v->us[r->n / 2] / ours, v->first_us / 1e3);
    print_memory(v->peak);
    printf("; %s, differs by %.2g", is_right(v) ? "ok" : "WRONG", v->error);
  }
  printf("\n");
}

static int report(const model_run *r) {
  char shape[128] = "";
  int rc = EXIT_OK;
  const double ours = r->us[r->n / 2];
  if (tsr_program_n_inputs(r->prog)) {
    const tsr_tensor_info t = tsr_program_input(r->prog, 0);
    cli_shape_text(&t.shape, shape, sizeof shape);
  }
  if (!r->o->json) print_line(r, shape, ours);
  else if (!r->n_rivals) print_json(r, NULL, shape, ours);
  for (int i = 0; i < r->n_rivals; i++) {
    if (r->o->json) print_json(r, &r->rivals[i], shape, ours);
    if (r->rivals[i].job && !is_right(&r->rivals[i])) rc = EXIT_WRONG;
  }
  return rc;
}

static int run_model(model_run *r, const char *device) {
  const double memory = bench_memory_begin();
  const int64_t from = clock_ns();
  tsr_status st = tsr_device_open(r->o->ctx, device, &r->dev);
  int rc = st ? cli_fail(st) : load(r);
  if (rc) return rc;
  if (tsr_program_n_inputs(r->prog) > MOST || tsr_program_n_outputs(r->prog) > MOST)
    return cli_usage("bench", "%s: more than %d inputs or outputs", r->file, MOST);
  st = make_data(r);
  if (!st) st = run_once(r);
  r->first_us = clock_us_since(from);
  r->peak = bench_memory_peak(memory);
  r->us = malloc(sizeof *r->us * MOST_ROUNDS);
  if (!st && !r->us) st = st_oom();
  if (!st) st = start_peers(r);
  if (!st) st = measure(r);
  return st ? cli_fail(st) : report(r);
}

static const char *peer_name_at(size_t i) { return model_peer_at(i) ? model_peer_at(i)->name : NULL; }

typedef struct model_bench {
  const char *file;
  const bench_model_options *o;
} model_bench;

static int on_device(void *bench, const char *device) {
  const model_bench *b = bench;
  model_run r = {.file = b->file, .o = b->o};
  size_t found[MOST_PEERS];
  int rc = bench_find_peers(b->o->against, " for models", peer_name_at, MOST_PEERS, found, &r.n_rivals);
  for (int i = 0; i < r.n_rivals; i++) r.rivals[i].peer = model_peer_at(found[i]);
  if (!rc) rc = run_model(&r, device);
  for (int i = 0; i < MOST; i++) {
    tsr_buffer_destroy(&r.in[i].buffer);
    tsr_buffer_destroy(&r.out[i].buffer);
    free(r.data[i].data);
  }
  for (int i = 0; i < r.n_rivals; i++) {
    r.rivals[i].peer->destroy(r.rivals[i].job);
    free(r.rivals[i].us);
  }
  free(r.us);
  tsr_program_destroy(&r.prog);
  tsr_device_close(&r.dev);
  onnx_close(&r.onnx);
  return rc;
}

int bench_model(const char *file, const bench_model_options *o) {
  model_bench b = {file, o};
  const bool all = o->device && !strcmp(o->device, "all");
  return all ? bench_each_device(o->ctx, on_device, &b) : on_device(&b, o->device);
}
