/* examples/charlm/place.c - where a run computes: on one device, or on the ranks of a mesh, which are threads of this
 * process or, under mpirun, processes. Programs and tensors of both are used alike. */
#include <stdlib.h>
#include <string.h>

#include "charlm.h"

enum { MOST_AXES = 8 };

/* "tp=2,dp=2"; the library checks what is in it. */
static tsr_mesh *mesh_of(const place *p, const char *text) {
  char names[256];
  const char *axes[MOST_AXES];
  int64_t sizes[MOST_AXES];
  int n = 0;
  tsr_mesh *m;
  if (snprintf(names, sizeof names, "%s", text) >= (int)sizeof names) fail("--mesh is too long");
  for (char *at = strtok(names, ","); at; at = strtok(NULL, ","), n++) {
    char *size = strchr(at, '=');
    if (!size || n == MOST_AXES) fail("--mesh %s: axes with their sizes, as in tp=2,dp=2", text);
    *size++ = 0;
    axes[n] = at, sizes[n] = strtoll(size, NULL, 10);
    if (strcmp(at, "tp") && strcmp(at, "dp")) fail("--mesh %s: the axes are tp and dp", text);
    if (sizes[n] < 1) fail("--mesh %s: the size of %s is a number from 1", text, at);
  }
  check(tsr_mesh_create(
      p->ctx,
      &(tsr_mesh_desc){
          .axes = axes, .sizes = sizes, .n_axes = n, .devices = &p->dev, .n_devices = 1, .team = p->team},
      &m));
  return m;
}

place place_open(const char *device, const char *mesh, const char *transport) {
  place p = {.speaks = true};
  if (transport && !mesh) fail("--transport is for a --mesh");
  check(tsr_context_create(NULL, &p.ctx));
  check(tsr_device_open(p.ctx, device, &p.dev));
  if (transport) check(tsr_team_create(&(tsr_team_desc){.transport = transport}, &p.team));
  if (p.team) p.speaks = tsr_team_rank(p.team) == 0;
  if (mesh) p.mesh = mesh_of(&p, mesh);
  return p;
}

void place_close(place *p) {
  tsr_mesh_destroy(&p->mesh);
  tsr_team_destroy(&p->team);
  tsr_device_close(&p->dev);
  tsr_context_destroy(&p->ctx);
}

int64_t place_ranks(const place *p) { return p->mesh ? tsr_mesh_ranks(p->mesh) : 1; }

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

tensor tensor_new(const place *p, int64_t elements) {
  tensor t = {.bytes = (size_t)elements * 4};
  check(tsr_buffer_create(p->dev, t.bytes, TSR_MEMORY_DEVICE, &t.buffer));
  return t;
}

void tensor_free(tensor *t) {
  tsr_buffer_destroy(&t->buffer);
  tsr_dist_tensor_destroy(&t->spread);
}

void tensor_write(const tensor *t, const void *from) {
  check(t->spread ? tsr_dist_tensor_scatter(t->spread, from) : tsr_buffer_write(t->buffer, 0, from, t->bytes));
}

void tensor_read(const tensor *t, void *to) {
  check(t->spread ? tsr_dist_tensor_gather(t->spread, to) : tsr_buffer_read(t->buffer, 0, to, t->bytes));
}

enum { MOST_ENTRIES = 3 * MAX_PARAMETERS + 3 };

void entries_save(const char *folder, const entry *e, int n) {
  const char *names[MOST_ENTRIES];
  tsr_dist_tensor *t[MOST_ENTRIES];
  for (int i = 0; i < n; i++) names[i] = e[i].name, t[i] = e[i].t->spread;
  check(tsr_dist_save(folder, names, t, n));
}

/* One device reads them as a mesh of one rank. */
void entries_load(const place *p, const char *folder, const entry *e, int n) {
  const char *names[MOST_ENTRIES];
  tsr_dist_tensor *t[MOST_ENTRIES];
  place one = *p;
  if (!p->mesh) one.mesh = mesh_of(p, "dp=1");
  for (int i = 0; i < n; i++) {
    names[i] = e[i].name, t[i] = e[i].t->spread;
    if (!p->mesh) check(tsr_dist_tensor_create(one.mesh, e[i].dtype, e[i].shape, NULL, TSR_UNEVEN_PAD, &t[i]));
  }
  check(tsr_dist_load(folder, names, t, n));
  for (int i = 0; i < n && !p->mesh; i++) {
    void *data = malloc(e[i].t->bytes);
    if (!data) fail("out of memory");
    check(tsr_dist_tensor_gather(t[i], data));
    tensor_write(e[i].t, data);
    free(data);
    tsr_dist_tensor_destroy(&t[i]);
  }
  if (!p->mesh) tsr_mesh_destroy(&one.mesh);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

program program_compile(const place *p, const tsr_graph *g, const tsr_compile_options *o) {
  program x = {NULL, NULL};
  if (p->mesh) check(tsr_dist_program_compile(p->mesh, g, &(tsr_dist_options){.compile = *o}, &x.spread));
  else check(tsr_program_compile(p->dev, g, o, &x.one));
  return x;
}

void program_free(program *p) {
  tsr_program_destroy(&p->one);
  tsr_dist_program_destroy(&p->spread);
}

tensor program_input(const place *at, const program *p, int i) {
  tensor t = {NULL, NULL, 0};
  if (p->one) return tensor_new(at, (int64_t)tsr_program_input(p->one, i).bytes / 4);
  check(tsr_dist_program_input(p->spread, i, &t.spread));
  return t;
}

tensor program_output(const place *at, const program *p, int i) {
  tensor t = {NULL, NULL, 0};
  if (p->one) return tensor_new(at, (int64_t)tsr_program_output(p->one, i).bytes / 4);
  check(tsr_dist_program_output(p->spread, i, &t.spread));
  return t;
}

void program_run(const program *p, const tensor *in, int n_in, const tensor *out, int n_out) {
  enum { MOST = 4 * MAX_PARAMETERS + 8 };
  tsr_binding bound_in[MOST], bound_out[MOST];
  tsr_dist_tensor *spread_in[MOST], *spread_out[MOST];
  for (int i = 0; i < n_in; i++) bound_in[i] = (tsr_binding){in[i].buffer, 0}, spread_in[i] = in[i].spread;
  for (int i = 0; i < n_out; i++) bound_out[i] = (tsr_binding){out[i].buffer, 0}, spread_out[i] = out[i].spread;
  if (p->one) check(tsr_program_run(p->one, NULL, bound_in, bound_out));
  else check(tsr_dist_program_run(p->spread, spread_in, spread_out));
}
