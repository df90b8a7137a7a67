/* examples/charlm/place.c - where a run computes: on one device, or on the ranks of a mesh, which are threads of this
 * process or, under mpirun, processes. Programs and tensors of both are used alike. A pipeline has a mesh for each of
 * its stages. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>

#include "charlm.h"

enum { MOST_AXES = 8 };

/* The axes by name; pp, the stages, is apart. */
typedef struct axes {
  char text[256];
  const char *names[MOST_AXES];
  int64_t sizes[MOST_AXES], per_stage;
  int n, stages;
} axes;

/* "tp=2,dp=2,pp=2"; what is in it else is the library's to check. */
static void read_axes(const char *text, axes *a) {
  *a = (axes){.per_stage = 1, .stages = 1};
  if (snprintf(a->text, sizeof a->text, "%s", text ? text : "") >= (int)sizeof a->text) fail("--mesh is too long");
  for (char *at = a->text, *name; (name = strsep(&at, ",")) && *name;) {
    char *size = strchr(name, '='), *end;
    if (!size || a->n == MOST_AXES - 1) fail("--mesh %s: axes with their sizes, as in tp=2,dp=2", text);
    *size++ = 0;
    const long n = strtol(size, &end, 10);
    if (*end || n < 1 || n > 256) fail("--mesh %s: the size of %s is a number from 1 to 256", text, name);
    if (a->stages > 1) fail("--mesh %s: pp, the outermost, comes last", text);
    if (!strcmp(name, "pp")) a->stages = (int)n;
    else if (strcmp(name, "tp") && strcmp(name, "dp")) fail("--mesh %s: the axes are tp, dp and pp", text);
    else a->names[a->n] = name, a->sizes[a->n++] = n, a->per_stage *= n;
  }
  if (!a->n) a->names[0] = "dp", a->sizes[a->n++] = 1;
}

int placement_stages(const placement *p) {
  axes a;
  read_axes(p->mesh, &a);
  return a.stages;
}

/* Rank r of all is rank r % per_stage of stage r / per_stage. */
static void join(place *p, const placement *x, const axes *a) {
  int at;
  check(tsr_team_create(&(tsr_team_desc){.transport = x->transport}, &p->all));
  const int rank = tsr_team_rank(p->all), each = (int)a->per_stage;
  if (rank < 0 || tsr_team_size(p->all) != each * a->stages)
    fail("--mesh %s has %d ranks, there are %d processes", x->mesh, each * a->stages, tsr_team_size(p->all));
  p->s = (stage){rank / each, a->stages};
  p->speaks = rank == 0;
  check(tsr_team_split(p->all, rank, p->s.number, rank, &p->of_mesh, &at));
  if (a->stages > 1) check(tsr_team_split(p->all, rank, rank % each, rank, &p->pipe, &at));
}

place place_open(const placement *x) {
  place p = {.s = {x->s.number, x->s.of ? x->s.of : 1}, .speaks = !x->s.number, .plan = x->plan};
  axes a;
  read_axes(x->mesh, &a);
  if (x->transport && !x->mesh) fail("--transport is for a --mesh");
  check(tsr_context_create(NULL, &p.ctx));
  check(tsr_device_open(p.ctx, x->device, &p.dev));
  if (x->transport) join(&p, x, &a);
  else p.pipe = x->stages;
  const tsr_mesh_desc d = {
      .axes = a.names, .sizes = a.sizes, .n_axes = a.n, .devices = &p.dev, .n_devices = 1, .team = p.of_mesh};
  if (x->mesh) check(tsr_mesh_create(p.ctx, &d, &p.mesh));
  return p;
}

void place_close(place *p) {
  tsr_mesh_destroy(&p->mesh);
  if (p->all) tsr_team_destroy(&p->pipe); /* of threads it is whose who made it */
  tsr_team_destroy(&p->of_mesh);
  tsr_team_destroy(&p->all);
  tsr_device_close(&p->dev);
  tsr_context_destroy(&p->ctx);
}

int64_t place_ranks(const place *p) { return p->mesh ? tsr_mesh_ranks(p->mesh) * p->s.of : 1; }

void place_meet(const place *p) {
  const tsr_coll c = {.op = TSR_COLL_BARRIER};
  if (p->all) check(tsr_team_run(p->all, tsr_team_rank(p->all), &c));
  else if (p->pipe) check(tsr_team_run(p->pipe, p->s.number, &c));
}

void place_collect(const place *p, float *v, int n) {
  const tsr_coll c = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = n, .in = v, .out = v};
  if (p->pipe) check(tsr_team_run(p->pipe, p->s.number, &c));
}

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
  tsr_mesh *one = NULL;
  const tsr_mesh_desc d = {.axes = (const char *[]){"dp"}, .n_axes = 1, .devices = &p->dev, .n_devices = 1};
  if (!p->mesh) check(tsr_mesh_create(p->ctx, &d, &one));
  for (int i = 0; i < n; i++) {
    names[i] = e[i].name, t[i] = e[i].t->spread;
    if (!p->mesh) check(tsr_dist_tensor_create(one, e[i].dtype, e[i].shape, NULL, TSR_UNEVEN_PAD, &t[i]));
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
  tsr_mesh_destroy(&one);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* For `tessera plan FILE`. */
static void write_graph(const place *p, const tsr_graph *g, const char *name) {
  char path[4200], *text;
  check(tsr_graph_print(g, &text));
  snprintf(path, sizeof path, "%s/%s.mlir", p->plan, name);
  FILE *f = fopen(path, "w");
  if (!f || fputs(text, f) < 0 || fclose(f)) fail("%s can't be written", path);
  tsr_text_free(p->ctx, &text);
}

program program_compile(const place *p, const tsr_graph *g, const tsr_compile_options *o, const char *name) {
  program x = {NULL, NULL};
  if (p->plan && p->speaks) write_graph(p, g, name);
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
