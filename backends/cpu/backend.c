/* backends/cpu/backend.c - the CPU as a device: host memory, one pool of threads, kernels as code images.
 * Calls on a stream run at once on the calling thread and the pool; streams and events therefore only keep order and
 * time. One program runs at a time per device (a lock), so that several host threads may share it. */
#include "backends/cpu/backend.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/cpu/counter.h"
#include "backends/cpu/panel_cache.h"
#include "core/base/clock.h"
#include "backends/cpu/pool.h"
#include "backends/cpu/vm.h"
#include "core/base/int_math.h"
#include "core/base/knob.h"

enum { MAX_THREADS = 256 };

struct be_instance {
  const be_env *env;
  const cpuk_table *k;
};

struct be_device {
  const be_env *env;
  const cpuk_table *k;
  pool *pool;
  pthread_mutex_t lock;
  vm_thread *threads;
  int n_threads, n_allocated;
  int64_t stream_bytes;
  panel_cache *panels;
  counter *counter;  /* of the workers and of the thread that profiles */
  bool no_counter;   /* the kernel had none */
};

struct be_buffer {
  be_device *d;
  char *p;
  size_t bytes, align;
  bool owned;
};

struct be_stream { be_device *d; };
struct be_event { be_device *d; int64_t ns; };

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

/* ---- instance and device --------------------------------------------------------------------------------------- */

static tsr_status instance_create(const be_env *env, be_instance **out) {
  char why[160] = "";
  *out = NULL;
  const cpuk_table *k = cpuk_select(knob_str("TSR_CPU_ISA"), why, sizeof why);
  if (!k)
    return st_make(env->al, TSR_UNAVAILABLE,
                   ST_WHERE("cpu", "TSR_CPU_ISA", "auto, portable, avx2, avx512, amx or neon"), "%s", why);
  be_instance *in = al_new(env->al, be_instance);
  if (!in) return st_oom();
  *in = (be_instance){env, k};
  *out = in;
  return NULL;
}

static void instance_destroy(be_instance *in) {
  if (in) al_delete(in->env->al, in);
}

static int n_devices(be_instance *in) { return 1; }

static int thread_count(void) {
  int64_t n = knob_int("TSR_THREADS");
  if (n <= 0) n = pool_n_cores();
  return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (int)n;
}

static void add_shape(tsr_caps *c, int m, int n, int k, tsr_dtype a, tsr_dtype b, tsr_dtype acc) {
  c->matrix[c->n_matrix++] =
      (tsr_matrix_shape){.m = m, .n = n, .k = k, .a = a, .b = b, .c = acc, .scope = SCOPE_CORE, .enabled = true};
}

static void fill_caps(const cpuk_table *k, tsr_caps *c) {
  cpuk_caches caches = cpuk_cache_sizes();
  *c = (tsr_caps){.dialect = DIALECT_CPU,
                  .n_cores = thread_count(),
                  .subgroup = 1,
                  .subgroup_min = 1,
                  .subgroup_max = 1,
                  .max_threads = 1,
                  .max_warps_per_core = 1,
                  .denorm_f16 = true,
                  .denorm_f32 = true,
                  .denorm_f64 = true};
  snprintf(c->arch, sizeof c->arch, "%s", k->isa);
  for (int i = 0; i < 3; i++) c->max_block[i] = 1, c->max_grid[i] = INT32_MAX;
  c->shared_bytes = c->shared_per_core = (int64_t)caches.l2;
  c->l1_bytes = (int64_t)caches.l1d;
  c->l2_bytes = (int64_t)caches.l2;
  c->l3_bytes = (int64_t)caches.l3;
  c->memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  c->max_buffer_bytes = c->memory_bytes;
  c->alignment = 64;
  c->vector_bytes = !strcmp(k->isa, "avx512") || !strcmp(k->isa, "amx") ? 64 : !strcmp(k->isa, "avx2") ? 32 : 16;
  c->f64 = c->f16 = c->bf16 = c->f8 = c->i8 = true;
  static const struct { cpuk_gemm_kind kind; tsr_dtype a, b, acc; } kinds[] = {
      {CPUK_GEMM_F32, TSR_F32, TSR_F32, TSR_F32}, {CPUK_GEMM_F16, TSR_F16, TSR_F16, TSR_F32}, {CPUK_GEMM_BF16, TSR_BF16, TSR_BF16, TSR_F32},
      {CPUK_GEMM_S8S8, TSR_I8, TSR_I8, TSR_I32}, {CPUK_GEMM_U8S8, TSR_U8, TSR_I8, TSR_I32}, {CPUK_GEMM_F64, TSR_F64, TSR_F64, TSR_F64}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const cpuk_gemm *g = k->gemm[kinds[i].kind];
    add_shape(c, g->mr, g->nr, g->kr, kinds[i].a, kinds[i].b, kinds[i].acc);
  }
}

static void cpu_name(char *name, size_t n) {
  FILE *f = fopen("/proc/cpuinfo", "r");
  char line[256];
  snprintf(name, n, "CPU");
  while (f && fgets(line, sizeof line, f)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !colon) continue;
    colon[strcspn(colon, "\n")] = 0;
    snprintf(name, n, "%s", colon + 2);
    break;
  }
  if (f) fclose(f);
}

static tsr_status device_info(be_instance *in, int index, be_device_info *out) {
  memset(out, 0, sizeof *out);
  cpu_name(out->name, sizeof out->name);
  snprintf(out->driver, sizeof out->driver, "tessera %s", in->k->features);
  snprintf(out->id, sizeof out->id, "cpu");
  fill_caps(in->k, &out->caps);
  return NULL;
}

static void device_close(be_device *d) {
  if (!d) return;
  const tsr_allocator *al = d->env->al;
  counter_close(&d->counter);
  pool_destroy(&d->pool);
  panel_cache_destroy(&d->panels);
  for (int i = 0; d->threads && i < d->n_threads; i++) vm_thread_clear(al, &d->threads[i]);
  if (d->threads) al_free(al, d->threads, sizeof *d->threads * (size_t)d->n_allocated, 16);
  pthread_mutex_destroy(&d->lock);
  al_delete(al, d);
}

static tsr_status device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps) {
  const tsr_allocator *al = in->env->al;
  *out = NULL;
  if (import)
    return st_make(al, TSR_UNSUPPORTED, ST_WHERE("cpu", "device_import", "open cpu:0"),
                   "the CPU is no device of an application's own");
  be_device *d = al_new(al, be_device);
  if (!d) return st_oom();
  d->env = in->env;
  d->k = in->k;
  pthread_mutex_init(&d->lock, NULL);
  tsr_status st = NULL;
  TSR_GOTO(pool_create(al, thread_count(), knob_bool("TSR_CPU_BIND"), &d->pool));
  pool_set_bracket(d->pool, d->k->thread_begin, d->k->thread_end);
  d->n_threads = d->n_allocated = pool_size(d->pool);
  d->threads = al_zalloc(al, sizeof *d->threads * (size_t)d->n_threads);
  if (!d->threads) TSR_GOTO(st_oom());
  TSR_GOTO(panel_cache_create(al, &d->panels));
  d->stream_bytes = (int64_t)cpuk_cache_sizes().l3 / 2;
  fill_caps(d->k, caps);
  caps->n_cores = d->n_threads;
  *out = d;
done:
  if (st) device_close(d);
  return st;
}

static bool suggest_tile(be_device *d, const be_matmul *x, int64_t tile[3]) {
  cpuk_plan_args a = {.m = (size_t)x->m,
                      .n = (size_t)x->n,
                      .k = (size_t)x->k,
                      .a_type = vm_cpuk(x->a),
                      .b_type = vm_cpuk(x->b),
                      .b_packed = x->constant_b,
                      .threads = x->batch > 1 ? 1 : (size_t)d->n_threads};
  if (a.a_type == CPUK_N_DTYPE || a.b_type == CPUK_N_DTYPE) return false;
  a.kind = cpuk_gemm_kind_for(vm_cpuk(x->acc), a.a_type, a.b_type, false);
  a.a_rs = x->transpose_a ? 1 : x->k;
  a.a_cs = x->transpose_a ? x->m : 1;
  a.b_rs = x->transpose_b ? 1 : x->n;
  a.b_cs = x->transpose_b ? x->k : 1;
  cpuk_plan p = cpuk_gemm_plan(d->k, &a);
  const cpuk_gemm *g = d->k->gemm[a.kind];
  if (p.skinny) {
    /* Enough pieces to even out two or more threads, each long enough to stream. */
    int64_t piece = round_up((x->n + 15) / 16, g->nr * 4);
    tile[0] = x->m;
    tile[1] = piece < 256 ? 256 : piece;
    tile[2] = x->k;
  } else {
    tile[0] = (int64_t)p.bm;
    tile[1] = (int64_t)p.bn;
    tile[2] = (int64_t)p.bk;
  }
  return true;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

static tsr_status buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  *out = NULL;
  be_buffer *b = al_new(d->env->al, be_buffer);
  if (!b) return st_oom();
  size_t huge = (size_t)2 << 20;
  *b = (be_buffer){.d = d, .bytes = bytes, .align = bytes >= 2 * huge ? huge : 256, .owned = true};
  b->p = al_alloc(d->env->al, bytes, b->align);
  if (!b->p) {
    al_delete(d->env->al, b);
    return st_make(d->env->al, TSR_OUT_OF_MEMORY, ST_WHERE("cpu", "buffer", NULL), "no host memory for %zu bytes",
                   bytes);
  }
  if (b->align == huge) madvise(b->p, bytes, MADV_HUGEPAGE);
  *out = b;
  return NULL;
}

static tsr_status buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out) {
  be_buffer *b = *out = al_new(d->env->al, be_buffer);
  if (!b) return st_oom();
  *b = (be_buffer){.d = d, .p = (char *)(uintptr_t)desc, .bytes = bytes};
  return NULL;
}

static void buffer_destroy(be_buffer *b) {
  if (!b) return;
  if (b->owned) al_free(b->d->env->al, b->p, b->bytes, b->align);
  al_delete(b->d->env->al, b);
}

static void *buffer_map(be_buffer *b) { return b->p; }

/* ---- streams and events ---------------------------------------------------------------------------------------- */

static tsr_status stream_create(be_device *d, int priority, be_stream **out) {
  be_stream *s = *out = al_new(d->env->al, be_stream);
  if (!s) return st_oom();
  s->d = d;
  return NULL;
}

static void stream_destroy(be_stream *s) {
  if (s) al_delete(s->d->env->al, s);
}

static tsr_status stream_sync(be_stream *s, int64_t timeout_ns) { return NULL; }

static tsr_status event_create(be_device *d, be_event **out) {
  be_event *e = *out = al_new(d->env->al, be_event);
  if (!e) return st_oom();
  e->d = d;
  return NULL;
}

static void event_destroy(be_event *e) {
  if (e) al_delete(e->d->env->al, e);
}

static tsr_status event_record(be_stream *s, be_event *e) {
  e->ns = clock_ns();
  return NULL;
}

static tsr_status stream_wait(be_stream *s, be_event *e) { return NULL; }
static tsr_status event_sync(be_event *e) { return NULL; }

static tsr_status event_elapsed(be_event *from, be_event *to, double *ns) {
  *ns = (double)(to->ns - from->ns);
  return NULL;
}

static tsr_status do_write(be_stream *s, be_range dst, const void *src) {
  memcpy(dst.buffer->p + dst.offset, src, dst.bytes);
  return NULL;
}

static tsr_status do_read(be_stream *s, be_range src, void *dst) {
  memcpy(dst, src.buffer->p + src.offset, src.bytes);
  return NULL;
}

static tsr_status do_copy(be_stream *s, be_range dst, be_range src) {
  memmove(dst.buffer->p + dst.offset, src.buffer->p + src.offset, src.bytes);
  return NULL;
}

static tsr_status do_fill(be_stream *s, be_range dst, uint32_t pattern) {
  s->d->k->lanes->fill(dst.buffer->p + dst.offset, &pattern, 4, dst.bytes / 4);
  return NULL;
}

/* ---- modules --------------------------------------------------------------------------------------------------- */

static void module_destroy(be_module *m) {
  if (!m) return;
  const tsr_allocator *al = m->d->env->al;
  vm_unload(&m->vm);
  if (m->kernels) al_free(al, m->kernels, sizeof *m->kernels * (size_t)(m->n_kernels + 1), 16);
  al_delete(al, m);
}

static tsr_status module_create(be_device *d, const be_module_desc *desc, be_module **out) {
  const tsr_allocator *al = d->env->al;
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
  if (st) module_destroy(m);
  return st;
}

/* ---- programs -------------------------------------------------------------------------------------------------- */

static void program_destroy(be_program *p) {
  if (!p) return;
  const tsr_allocator *al = p->d->env->al;
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

static tsr_status program_create(be_device *d, const be_program_desc *desc, be_program **out) {
  const tsr_allocator *al = d->env->al;
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
  if (st) program_destroy(p);
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
  block_clock clocks[MAX_THREADS];
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
  size_t bytes = 0;
  int matmuls = 0;
  bool constant = false;
  for (int i = k->first_instr; i < k->first_instr + k->n_instr; i++) {
    const cpu_instr *in = cpu_instrs(m->image) + i;
    if (in->op != CPU_MATMUL) continue;
    size_t b = gemm_panel_bytes(m, in);
    if (b > bytes) bytes = b;
    matmuls++;
    if (m->matmul_arg[i] >= 0 && l->constant[m->matmul_arg[i]]) constant = true;
  }
  if (!matmuls) return NULL;
  TSR_TRY(panel_cache_reset(d->panels, (d->n_threads + 1) * matmuls, bytes, false));
  if (!constant || l->const_panels) return NULL;
  TSR_TRY(panel_cache_create(d->env->al, &l->const_panels));
  double columns = (double)k->grid[0] * (double)k->grid[2] * matmuls;
  /* Panels for every column; a constant too large for that is packed anew each run. */
  tsr_status st = columns < 100000 && columns * (double)bytes < (double)((int64_t)8 << 30)
                      ? panel_cache_reset(l->const_panels, (int)columns, bytes, true)
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
  job j = {{m, k, args, d->panels, l->constant, l->const_panels, d->stream_bytes},
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

static tsr_status program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns) {
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

static void parallel(be_device *d, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n_items) {
  pthread_mutex_lock(&d->lock);
  pool_run(d->pool, fn, arg, n_items);
  pthread_mutex_unlock(&d->lock);
}

/* Kept open from one profiled run to the next; opened anew when another thread profiles. */
static void open_counter(be_device *d) {
  int tids[MAX_THREADS + 1], n, self = counter_thread();
  if (d->no_counter || (d->counter && counter_has(d->counter, self))) return;
  counter_close(&d->counter);
  n = pool_threads(d->pool, tids, MAX_THREADS);
  if (n < 0) return; /* half of the traffic is none */
  tids[n++] = self;
  tsr_status_free(counter_open(d->env->al, NULL, tids, n, &d->counter));
  d->no_counter = !d->counter;
}

static void time_blocks(be_program *p, be_block_times *out) {
  be_device *d = p->d;
  pthread_mutex_lock(&d->lock);
  p->block_times = out;
  if (out) open_counter(d);
  if (d->counter) counter_enable(d->counter, out != NULL);
  pthread_mutex_unlock(&d->lock);
}

const be_vtable cpu_backend = {
    .abi = BE_ABI,
    .name = "cpu",
    .dialect = DIALECT_CPU,
    .instance_create = instance_create,
    .instance_destroy = instance_destroy,
    .n_devices = n_devices,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .buffer_create = buffer_create,
    .buffer_import = buffer_import,
    .buffer_destroy = buffer_destroy,
    .buffer_map = buffer_map,
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_sync = stream_sync,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .stream_wait = stream_wait,
    .event_sync = event_sync,
    .event_elapsed = event_elapsed,
    .write = do_write,
    .read = do_read,
    .copy = do_copy,
    .fill = do_fill,
    .module_create = module_create,
    .module_destroy = module_destroy,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .program_run = program_run,
    .parallel = parallel,
    .time_blocks = time_blocks,
    .suggest_tile = suggest_tile,
};
