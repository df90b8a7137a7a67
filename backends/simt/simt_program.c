/* backends/simt/simt_program.c - programs: launches in order on one stream, replayed as a graph. The graph is captured
 * on the second run in a row with the same addresses, an older executable graph being updated in place; with addresses
 * that always change a capture would cost more than it saves, and the kernels are launched one by one. A timed run does
 * that too, between events. Launch order on one stream implies every dependency in `waits`. */
#include <string.h>

#include "backends/simt/simt.h"

enum { MAX_PARAMS = 96, MAP_BYTES = 128 };

typedef struct launch {
  simt_kernel *kernel;
  int *bindings;
} launch;

struct be_program {
  be_device *dev;
  launch *launches;
  int n_launches, n_bindings;
  uint64_t *bound, *last; /* the addresses in the captured graph, and of the last run that was launched one by one */
  void *exec;
  bool no_graphs;
};

static void free_ints(const tsr_allocator *al, int *p, int n) {
  if (p) al_free(al, p, sizeof *p * (size_t)n, 16);
}

void simt_program_destroy(be_program *p) {
  if (!p) return;
  be_device *dev = p->dev;
  const tsr_allocator *al = dev->in->env.al;
  if (p->exec && !dev->lost && !dev->in->api.context_current(dev->context)) dev->in->api.exec_destroy(p->exec);
  for (int i = 0; p->launches && i < p->n_launches; i++)
    if (p->launches[i].kernel) free_ints(al, p->launches[i].bindings, p->launches[i].kernel->desc.n_args);
  if (p->launches) al_free(al, p->launches, sizeof *p->launches * (size_t)p->n_launches, 16);
  if (p->bound) al_free(al, p->bound, 2 * sizeof *p->bound * (size_t)(p->n_bindings + 1), 16);
  al_delete(al, p);
}

tsr_status simt_program_create(be_device *dev, const be_program_desc *desc, be_program **out) {
  const tsr_allocator *al = dev->in->env.al;
  const simt_api *api = &dev->in->api;
  tsr_status st = NULL;
  *out = NULL;
  be_program *p = al_new(al, be_program);
  if (!p) return st_oom();
  p->dev = dev;
  p->n_launches = desc->n_launches;
  p->n_bindings = desc->n_bindings;
  p->no_graphs = !api->capture_begin || !api->capture_end || !api->graph_instantiate || !api->graph_launch ||
                 !api->graph_destroy || !api->exec_destroy;
  p->bound = al_zalloc(al, 2 * sizeof *p->bound * (size_t)(p->n_bindings + 1));
  if (p->bound) p->last = p->bound + p->n_bindings + 1;
  if (desc->n_launches) p->launches = al_zalloc(al, sizeof *p->launches * (size_t)desc->n_launches);
  if (!p->bound || (desc->n_launches && !p->launches)) st = st_oom();
  for (int i = 0; i < desc->n_launches && !st; i++) {
    const be_launch *l = &desc->launches[i];
    simt_kernel *k = &l->module->kernels[l->kernel];
    int n = k->desc.n_args;
    if (n + k->desc.n_maps > MAX_PARAMS) {
      st = st_make(al, TSR_UNSUPPORTED, ST_WHERE(dev->in->d->name, k->name, NULL), "%d parameters; %d fit a launch",
                   n + k->desc.n_maps, MAX_PARAMS);
      break;
    }
    p->launches[i].kernel = k;
    if (!n) continue;
    if (!(p->launches[i].bindings = al_alloc(al, sizeof(int) * (size_t)n, 16))) st = st_oom();
    else memcpy(p->launches[i].bindings, l->bindings, sizeof(int) * (size_t)n);
  }
  if (st) simt_program_destroy(p);
  else *out = p;
  return st;
}

static uint64_t address_of(const be_range *r) { return r->buffer ? r->buffer->address + r->offset : 0; }

static tsr_status launch_one(be_stream *s, const launch *l, const be_range *bindings) {
  be_device *dev = s->dev;
  const simt_kernel *k = l->kernel;
  const be_kernel_desc *d = &k->desc;
  uint64_t args[MAX_PARAMS];
  void *params[MAX_PARAMS];
  struct { _Alignas(64) unsigned char bytes[MAP_BYTES]; } maps[8];
  int n = 0;
  for (; n < d->n_args; n++) {
    args[n] = address_of(&bindings[l->bindings[n]]);
    params[n] = &args[n];
  }
  if (d->n_maps > 8)
    return st_make(dev->in->env.al, TSR_UNSUPPORTED, ST_WHERE(dev->in->d->name, k->name, NULL), "%d tensor maps",
                   d->n_maps);
  for (int i = 0; i < d->n_maps; i++) {
    if (!dev->in->d->tensor_map)
      return st_make(dev->in->env.al, TSR_UNSUPPORTED, ST_WHERE(dev->in->d->name, k->name, NULL),
                     "no tensor maps on this device");
    TSR_TRY(dev->in->d->tensor_map(dev->in->api.lib, &d->maps[i], args[d->maps[i].arg], maps[i].bytes));
    params[n++] = maps[i].bytes;
  }
  if (!d->grid[0] || !d->grid[1] || !d->grid[2]) return NULL;
  bool clustered = d->cluster[0] * d->cluster[1] * d->cluster[2] > 1;
  int code;
  if (clustered && dev->in->d->launch_cluster)
    code = dev->in->d->launch_cluster(dev->in->api.lib, k->function, d, s->handle, params);
  else
    code = dev->in->api.launch(k->function, (unsigned)d->grid[0], (unsigned)d->grid[1], (unsigned)d->grid[2],
                               (unsigned)d->block[0], (unsigned)d->block[1], (unsigned)d->block[2],
                               dev->in->d->dynamic_shared ? (unsigned)d->shared_bytes : 0, s->handle, params,
                               NULL);
  return simt_check(dev, code, k->name);
}

static tsr_status launch_all(be_stream *s, be_program *p, const be_range *bindings) {
  for (int i = 0; i < p->n_launches; i++) TSR_TRY(launch_one(s, &p->launches[i], bindings));
  return NULL;
}

static tsr_status run_timed(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  be_event *from = NULL, *to = NULL;
  tsr_status st = NULL;
  TSR_GOTO(simt_event_create(s->dev, &from));
  TSR_GOTO(simt_event_create(s->dev, &to));
  for (int i = 0; i < p->n_launches; i++) {
    TSR_GOTO(simt_event_record(s, from));
    TSR_GOTO(launch_one(s, &p->launches[i], bindings));
    TSR_GOTO(simt_event_record(s, to));
    TSR_GOTO(simt_event_sync(to));
    TSR_GOTO(simt_event_elapsed(from, to, &times_ns[i]));
  }
done:
  simt_event_destroy(from);
  simt_event_destroy(to);
  return st;
}

/* Captures the launches and makes or updates the executable graph. */
static tsr_status capture(be_stream *s, be_program *p, const be_range *bindings) {
  const simt_api *api = &s->dev->in->api;
  void *graph = NULL;
  tsr_status st = simt_check(s->dev, api->capture_begin(s->handle, SIMT_CAPTURE_RELAXED), "begin a graph");
  if (st) return st;
  st = launch_all(s, p, bindings);
  int code = api->capture_end(s->handle, &graph);
  if (!st) st = simt_check(s->dev, code, "end a graph");
  if (!st && p->exec && s->dev->in->d->graph_update(api->lib, p->exec, graph)) {
    api->exec_destroy(p->exec);
    p->exec = NULL;
  }
  if (!st && !p->exec) st = simt_check(s->dev, api->graph_instantiate(&p->exec, graph, 0), "instantiate a graph");
  if (graph) api->graph_destroy(graph);
  return st;
}

static bool same_addresses(const be_program *p, const uint64_t *known, const be_range *bindings) {
  for (int i = 0; i < p->n_bindings; i++)
    if (known[i] != address_of(&bindings[i])) return false;
  return true;
}

static void keep_addresses(const be_program *p, uint64_t *known, const be_range *bindings) {
  for (int i = 0; i < p->n_bindings; i++) known[i] = address_of(&bindings[i]);
}

tsr_status simt_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  TSR_TRY(simt_enter(s->dev));
  if (times_ns) return run_timed(s, p, bindings, times_ns);
  if (p->no_graphs || p->n_launches < 2 || s->foreign) return launch_all(s, p, bindings);
  if (!p->exec || !same_addresses(p, p->bound, bindings)) {
    if (!same_addresses(p, p->last, bindings)) {
      keep_addresses(p, p->last, bindings);
      return launch_all(s, p, bindings);
    }
    TSR_TRY(capture(s, p, bindings));
    keep_addresses(p, p->bound, bindings);
  }
  return simt_check(s->dev, s->dev->in->api.graph_launch(p->exec, s->handle), "launch a graph");
}
