/* backends/cpu/program.c - code images as modules, launches of their kernels on the threads of the pool. */
#include <stdio.h>
#include <string.h>

#include "backends/cpu/device.h"
#include "core/base/clock.h"

struct be_module {
  be_device *d;
  vm_module *vm;
  be_kernel_desc *kernels;
  int n_kernels;
};

typedef struct cpu_launch {
  be_module *module;
  int kernel;
  int *bindings;
  int n_args;
  bool *constant; /* per argument */
  panel_cache *const_panels;
} cpu_launch;

struct be_program {
  be_device *d;
  cpu_launch *launches;
  int n_launches;
  be_block_times *block_times; /* the runtime's, while it wants them */
};

/* ---- modules --------------------------------------------------------------------------------------------------- */

void cpu_module_destroy(be_module *m) {
  if (!m) return;
  const tsr_allocator *al = m->d->host.env->al;
  vm_unload(&m->vm);
  if (m->kernels) al_free(al, m->kernels, sizeof *m->kernels * (size_t)(m->n_kernels + 1), 16);
  al_delete(al, m);
}

tsr_status cpu_module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  const tsr_allocator *al = d->host.env->al;
  *out = NULL;
  if (desc->format != BE_CPU_CODE)
    return st_make(al, TSR_UNSUPPORTED, ST_WHERE("cpu", "module", NULL), "needs CPU code");
  be_module *m = al_new(al, be_module);
  if (!m) return st_oom();
  m->d = d;
  m->n_kernels = desc->n_kernels;
  tsr_status st = NULL;
  m->kernels = al_zalloc(al, sizeof *m->kernels * (size_t)(desc->n_kernels + 1));
  if (!m->kernels) TSR_GOTO(st_oom());
  for (int i = 0; i < desc->n_kernels; i++) {
    m->kernels[i] = desc->kernels[i];
    m->kernels[i].name = NULL; /* the caller's memory */
    m->kernels[i].maps = NULL;
  }
  TSR_GOTO(vm_load(al, d->k, desc->code, desc->code_bytes, &m->vm));
  if (m->vm->image->n_kernels != desc->n_kernels)
    TSR_GOTO(st_make(al, TSR_ARCH_MISMATCH, ST_WHERE("cpu", "module", NULL), "code and description differ"));
  *out = m;
done:
  if (st) cpu_module_destroy(m);
  return st;
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

void cpu_program_destroy(be_program *p) {
  if (!p) return;
  const tsr_allocator *al = p->d->host.env->al;
  for (int i = 0; p->launches && i < p->n_launches; i++) {
    cpu_launch *l = &p->launches[i];
    panel_cache_destroy(&l->const_panels);
    if (l->bindings) al_free(al, l->bindings, sizeof(int) * (size_t)(l->n_args + 1), 16);
    if (l->constant) al_free(al, l->constant, sizeof(bool) * (size_t)(l->n_args + 1), 16);
  }
  if (p->launches) al_free(al, p->launches, sizeof *p->launches * (size_t)(p->n_launches + 1), 16);
  al_delete(al, p);
}

enum { MAX_ARGS = 256 };

tsr_status cpu_program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  const tsr_allocator *al = d->host.env->al;
  *out = NULL;
  be_program *p = al_new(al, be_program);
  if (!p) return st_oom();
  p->d = d;
  p->n_launches = desc->n_launches;
  tsr_status st = NULL;
  p->launches = al_zalloc(al, sizeof *p->launches * (size_t)(desc->n_launches + 1));
  if (!p->launches) TSR_GOTO(st_oom());
  for (int i = 0; i < desc->n_launches; i++) {
    const be_launch *from = &desc->launches[i];
    cpu_launch *l = &p->launches[i];
    l->module = from->module;
    l->kernel = from->kernel;
    l->n_args = from->module->kernels[from->kernel].n_args;
    if (l->n_args > MAX_ARGS)
      TSR_GOTO(st_make(al, TSR_UNSUPPORTED, ST_WHERE("cpu", "launch", "split the kernel"), "%d arguments; at most %d",
                       l->n_args, MAX_ARGS));
    l->bindings = al_zalloc(al, sizeof(int) * (size_t)(l->n_args + 1));
    l->constant = al_zalloc(al, sizeof(bool) * (size_t)(l->n_args + 1));
    if (!l->bindings || !l->constant) TSR_GOTO(st_oom());
    for (int a = 0; a < l->n_args; a++) {
      l->bindings[a] = from->bindings[a];
      l->constant[a] = desc->binding_constant && desc->binding_constant[from->bindings[a]];
    }
    /* Threads' buffers and shared panels are made ready now, so that a run allocates nothing. */
    const cpu_kernel *k = cpu_kernels(l->module->vm->image) + l->kernel;
    pthread_mutex_lock(&d->lock);
    for (int t = 0; t < d->n_threads && !st; t++) st = vm_thread_reserve(al, &d->threads[t], l->module->vm, k);
    pthread_mutex_unlock(&d->lock);
    if (st) goto done;
  }
  *out = p;
done:
  if (st) cpu_program_destroy(p);
  return st;
}

/* Of one worker; a cache line, so that workers don't share one. */
typedef struct block_clock {
  _Alignas(64) be_block_times times; /* mean_ns: the sum */
} block_clock;

typedef struct job {
  vm_launch launch;
  be_device *d;
  int64_t grid[3];
  bool down; /* walk the grid along y first, so that blocks that share b's panels are neighbours */
  block_clock *clocks; /* per worker; NULL: not timed */
} job;

static void run_block(void *arg, int64_t item, int worker) {
  job *j = arg;
  int64_t plane = j->grid[0] * j->grid[1], z = item / plane, r = item % plane, block[3] = {0, 0, z};
  if (j->down) {
    block[0] = r / j->grid[1];
    block[1] = r % j->grid[1];
  } else {
    block[0] = r % j->grid[0];
    block[1] = r / j->grid[0];
  }
  vm_block(&j->launch, &j->d->threads[worker], block);
}

static void run_timed_block(void *arg, int64_t item, int worker) {
  job *j = arg;
  be_block_times *t = &j->clocks[worker].times;
  int64_t from = clock_ns();
  run_block(arg, item, worker);
  double ns = (double)(clock_ns() - from);
  if (!t->n || ns < t->min_ns) t->min_ns = ns;
  if (ns > t->max_ns) t->max_ns = ns;
  t->mean_ns += ns;
  t->n++;
}

static void run_timed(be_device *d, job *j, int64_t blocks, be_block_times *out) {
  block_clock clocks[CPU_MAX_THREADS];
  memset(clocks, 0, sizeof *clocks * (size_t)d->n_threads);
  j->clocks = clocks;
  pool_run(d->pool, run_timed_block, j, blocks);
  *out = (be_block_times){0};
  for (int i = 0; i < d->n_threads; i++) {
    const be_block_times *t = &clocks[i].times;
    if (t->n && (!out->n || t->min_ns < out->min_ns)) out->min_ns = t->min_ns;
    if (t->max_ns > out->max_ns) out->max_ns = t->max_ns;
    out->mean_ns += t->mean_ns;
    out->n += t->n;
  }
  if (out->n) out->mean_ns /= (double)out->n;
}

static tsr_status prepare_panels(be_device *d, cpu_launch *l, const cpu_kernel *k, const vm_module *m) {
  const gemm_panels n = gemm_panels_of(m, k, l->constant);
  if (!n.matmuls) return NULL;
  TSR_TRY(panel_cache_reset(d->panels, (d->n_threads + 1) * n.matmuls, n.bytes, false));
  if (n.constants < 1 || l->const_panels) return NULL;
  TSR_TRY(panel_cache_create(d->host.env->al, &l->const_panels));
  /* Panels for every row and column; a constant too large for that is packed anew each run. */
  tsr_status st = n.constants < 100000 && n.constants * (double)n.const_bytes < (double)((int64_t)8 << 30)
                      ? panel_cache_reset(l->const_panels, (int)n.constants, n.const_bytes, true)
                      : st_oom();
  if (st) {
    tsr_status_free(st);
    panel_cache_destroy(&l->const_panels);
    for (int a = 0; a < l->n_args; a++) l->constant[a] = false;
  }
  return NULL;
}

static tsr_status run_launch(be_device *d, cpu_launch *l, const be_range *bindings, be_block_times *times) {
  const vm_module *m = l->module->vm;
  const cpu_kernel *k = cpu_kernels(m->image) + l->kernel;
  const be_kernel_desc *kd = &l->module->kernels[l->kernel];
  char *args[MAX_ARGS];
  if (k->n_instr == k->n_args + 1) return NULL; /* its arguments and its end alone: a grid may be large */
  for (int a = 0; a < l->n_args; a++) args[a] = bindings[l->bindings[a]].buffer->p + bindings[l->bindings[a]].offset;
  if (k->has_matmul) TSR_TRY(prepare_panels(d, l, k, m));
  job j = {{m, k, args, d->panels, l->constant, l->const_panels, d->stream_bytes, ++d->n_launched},
           d,
           {kd->grid[0], kd->grid[1], kd->grid[2]},
           k->has_matmul && !k->across};
  int64_t blocks = j.grid[0] * j.grid[1] * j.grid[2];
  if (times && d->counter) counter_mark(d->counter);
  if (times) run_timed(d, &j, blocks, times);
  if (times && d->counter) times->memory_known = counter_bytes(d->counter, &times->memory_bytes);
  if (!times) pool_run(d->pool, run_block, &j, blocks);
  return NULL;
}

tsr_status cpu_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
  tsr_status st = NULL;
  be_device *d = p->d;
  pthread_mutex_lock(&d->lock);
  for (int i = 0; i < p->n_launches && !st; i++) {
    int64_t from = times_ns ? clock_ns() : 0;
    cpu_launch *l = &p->launches[i];
    st = run_launch(d, l, bindings, times_ns && p->block_times ? &p->block_times[i] : NULL);
    if (times_ns) times_ns[i] = (double)(clock_ns() - from);
  }
  pthread_mutex_unlock(&d->lock);
  return st;
}

void cpu_parallel(be_device *d, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n_items) {
  pthread_mutex_lock(&d->lock);
  pool_run(d->pool, fn, arg, n_items);
  pthread_mutex_unlock(&d->lock);
}

/* Kept open from one profiled run to the next; opened anew when another thread profiles. */
static void open_counter(be_device *d) {
  int tids[CPU_MAX_THREADS + 1], n, self = counter_thread();
  if (d->no_counter || (d->counter && counter_has(d->counter, self))) return;
  counter_close(&d->counter);
  n = pool_threads(d->pool, tids, CPU_MAX_THREADS);
  if (n < 0) return; /* half of the traffic is none */
  tids[n++] = self;
  tsr_status_free(counter_open(d->host.env->al, NULL, tids, n, &d->counter));
  d->no_counter = !d->counter;
}

void cpu_time_blocks(be_program *p, be_block_times *out) {
  be_device *d = p->d;
  pthread_mutex_lock(&d->lock);
  p->block_times = out;
  if (out) open_counter(d);
  if (d->counter) counter_enable(d->counter, out != NULL);
  pthread_mutex_unlock(&d->lock);
}
