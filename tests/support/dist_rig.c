/* tests/support/dist_rig.c - see dist_rig.h. */
#include "tests/support/dist_rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/support/graph_text.h"
#include "tests/support/numbers.h"

static void must(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "%s\n", tsr_status_message(st));
  exit(1);
}

void rig_open(dist_rig *r) {
  *r = (dist_rig){0};
  must(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r->ctx));
  for (int i = 0; i < 4; i++) must(tsr_device_open(r->ctx, "cpu:0", &r->cpu[i]));
}

void rig_close(dist_rig *r) {
  for (int i = 0; i < 4; i++) tsr_device_close(&r->cpu[i]);
  tsr_context_destroy(&r->ctx);
}

tsr_mesh *rig_mesh(dist_rig *r, const char *axes, int n_devices) {
  char text[128];
  const char *names[8];
  int64_t sizes[8];
  int n = 0;
  tsr_mesh *m;
  snprintf(text, sizeof text, "%s", axes);
  for (char *at = strtok(text, ","); at; at = strtok(NULL, ","), n++) {
    char *eq = strchr(at, '=');
    *eq = 0;
    names[n] = at, sizes[n] = atoll(eq + 1);
  }
  must(tsr_mesh_create(
      r->ctx,
      &(tsr_mesh_desc){
          .axes = names, .sizes = sizes, .n_axes = n, .devices = r->cpu, .n_devices = n_devices, .team = r->team},
      &m));
  return m;
}

tsr_graph *rig_graph(dist_rig *r, const char *args, const char *body, const char *results, const char *types) {
  tsr_graph *g;
  const char *text = gt_func(args, body, results, types);
  tsr_status st = tsr_graph_parse(r->ctx, text, strlen(text), "test.mlir", &g);
  if (st) fprintf(stderr, "%s\n%s\n", tsr_status_message(st), text), exit(1);
  return g;
}

static int64_t numbers(const tsr_tensor_info *i) { return (int64_t)numbers_of(i); }

void rig_data_make(const tsr_graph *g, uint64_t s, bool whole, rig_data *d) {
  *d = (rig_data){0};
  s = s * 2654435761u + 12345;
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_input_info(g, i);
    d->in[i] = calloc(1, t.bytes + 16);
    for (int64_t k = 0; k < numbers(&t); k++) {
      s = s * 6364136223846793005u + 1442695040888963407u;
      const double u = (double)(s >> 11) / 9007199254740992.0;
      const tsr_dtype part = dtype_part(t.dtype);
      const double v = dtype_is_float(part) && !whole ? 2 * u - 1 : t.dtype == TSR_BOOL ? u < 0.5 : floor(u * 4);
      dtype_store(part, d->in[i], (size_t)k, v);
    }
  }
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_output_info(g, i);
    d->want[i] = calloc((size_t)numbers(&t) + 1, sizeof(double));
    d->tol[i] = calloc((size_t)numbers(&t) + 1, sizeof(double));
    d->out[i] = calloc(1, t.bytes + 16);
  }
  must(tsr_graph_reference(g, (const void *const *)d->in, d->want, d->tol));
}

void rig_data_free(const tsr_graph *g, rig_data *d) {
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) free(d->in[i]);
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) free(d->want[i]), free(d->tol[i]), free(d->out[i]);
}

tsr_status rig_run(tsr_mesh *mesh, const tsr_graph *g, const tsr_dist_options *o, rig_data *d) {
  tsr_dist_program *p = NULL;
  tsr_dist_tensor *in[RIG_MOST] = {0}, *out[RIG_MOST] = {0};
  tsr_status st = tsr_dist_program_compile(mesh, g, o, &p);
  for (int i = 0; i < tsr_dist_program_n_inputs(p) && !st; i++) {
    st = tsr_dist_program_input(p, i, &in[i]);
    if (!st) st = tsr_dist_tensor_scatter(in[i], d->in[i]);
  }
  for (int i = 0; i < tsr_dist_program_n_outputs(p) && !st; i++) st = tsr_dist_program_output(p, i, &out[i]);
  for (int twice = 0; twice < 2 && !st; twice++) st = tsr_dist_program_run(p, in, out);
  for (int i = 0; i < tsr_dist_program_n_outputs(p) && !st; i++) st = tsr_dist_tensor_gather(out[i], d->out[i]);
  for (int i = 0; i < RIG_MOST; i++) tsr_dist_tensor_destroy(&in[i]), tsr_dist_tensor_destroy(&out[i]);
  tsr_dist_program_destroy(&p);
  return st;
}

tsr_status rig_run_one(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, rig_data *d) {
  tsr_program *p = NULL;
  tsr_binding in[RIG_MOST] = {{0}}, out[RIG_MOST] = {{0}};
  tsr_status st = tsr_program_compile(dev, g, o, &p);
  for (int i = 0; i < tsr_program_n_inputs(p) && !st; i++) {
    st = tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, d->in[i], tsr_program_input(p, i).bytes);
  }
  for (int i = 0; i < tsr_program_n_outputs(p) && !st; i++)
    st = tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &out[i].buffer);
  if (!st) st = tsr_program_run(p, NULL, in, out);
  for (int i = 0; i < tsr_program_n_outputs(p) && !st; i++)
    st = tsr_buffer_read(out[i].buffer, 0, d->out[i], tsr_program_output(p, i).bytes);
  for (int i = 0; i < RIG_MOST; i++) tsr_buffer_destroy(&in[i].buffer), tsr_buffer_destroy(&out[i].buffer);
  tsr_program_destroy(&p);
  return st;
}

int64_t rig_misses(const tsr_graph *g, const rig_data *d, double slack, const char *what) {
  int64_t bad = 0;
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_output_info(g, i);
    for (int64_t k = 0; k < numbers(&t); k++) {
      const double x = dtype_load(dtype_part(t.dtype), d->out[i], (size_t)k), w = d->want[i][k], tol = d->tol[i][k];
      const bool beyond =
          isinf(x) && dtype_is_float(dtype_part(t.dtype)) && fabs(w) + tol > dtype_get(dtype_part(t.dtype))->max;
      const bool same = x == w || beyond || (isnan(x) && isnan(w)) || isinf(tol) || fabs(x - w) <= slack * tol;
      if (!same && !bad++)
        printf("%s: output %d, element %lld: %.9g, not %.9g (tolerance %.3g)\n", what, i, (long long)k, x, w, tol);
    }
  }
  return bad;
}

bool rig_says(tsr_status st, const char *what) {
  const bool ok = st && strstr(tsr_status_message(st), what);
  if (!ok) printf("message: %s\nwanted: %s\n", st ? tsr_status_message(st) : "none", what);
  tsr_status_free(st);
  return ok;
}
