/* backends/cpu/backend.c - the CPU as a device: host memory, one pool of threads, kernels as code images that program.c
 * runs. Calls on a stream run at once on the calling thread and the pool; streams and events therefore only keep order
 * and time. One program runs at a time per device (a lock), so that several host threads may share it. */
#include "backends/cpu/backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/cpu/device.h"
#include "core/base/int_math.h"
#include "core/base/knob.h"

struct be_instance {
  const be_env *env;
  const cpuk_table *k;
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

static int thread_count(void) {
  int64_t n = knob_int("TSR_THREADS");
  if (n <= 0) n = pool_n_cores();
  return n < 1 ? 1 : n > CPU_MAX_THREADS ? CPU_MAX_THREADS : (int)n;
}

static void add_shape(tsr_caps *c, int m, int n, int k, tsr_dtype a, tsr_dtype b, tsr_dtype acc) {
  c->matrix[c->n_matrix++] =
      (tsr_matrix_shape){.m = m, .n = n, .k = k, .a = a, .b = b, .c = acc, .scope = SCOPE_CORE, .enabled = true};
}

static void fill_caps(const cpuk_table *k, tsr_caps *c) {
  cpuk_caches caches = cpuk_cache_sizes();
  *c = (tsr_caps){.dialect = DIALECT_CPU,
                  .n_cores = thread_count(),
                  .cores_from = CORES_HOST,
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
  const tsr_allocator *al = d->host.env->al;
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
  d->host = (host_device){in->env, "cpu"};
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

static const block_kernels *cpu_block_kernels(be_device *d) { return d->k->blocks; }

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

static tsr_status do_fill(be_stream *s, be_range dst, uint32_t pattern) {
  s->d->k->lanes->fill(dst.buffer->p + dst.offset, &pattern, 4, dst.bytes / 4);
  return NULL;
}

const be_vtable cpu_backend = {
    HOST_VTABLE,
    .abi = BE_ABI,
    .name = "cpu",
    .dialect = DIALECT_CPU,
    .instance_create = instance_create,
    .instance_destroy = instance_destroy,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .buffer_create = host_buffer_create,
    .event_elapsed = host_event_elapsed,
    .fill = do_fill,
    .module_create = cpu_module_create,
    .module_destroy = cpu_module_destroy,
    .program_create = cpu_program_create,
    .program_destroy = cpu_program_destroy,
    .program_run = cpu_program_run,
    .parallel = cpu_parallel,
    .time_blocks = cpu_time_blocks,
    .suggest_tile = suggest_tile,
    .block_kernels = cpu_block_kernels,
};
