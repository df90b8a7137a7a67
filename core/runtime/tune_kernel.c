/* core/runtime/tune_kernel.c - see tune_kernel.h. */
#include "core/runtime/tune_kernel.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/passes/schedule/defaults.h"
#include "core/runtime/spills.h"
#include "core/tune/bucket.h"
#include "core/tune/extract.h"
#include "core/tune/families.h"

sched_params rt_kernel_params(const rt_kernel *k, const tune_config *c) {
  if (!memcmp(c, &k->dflt, sizeof *c)) return (sched_params){0};
  return tune_config_params(c, &k->problem, &k->dev->caps);
}

static tsr_status compile_candidate(rt_kernel *k, const tune_config *c, tsr_program **out) {
  ir_module *m = NULL;
  TSR_TRY(ir_module_clone(k->schedule, &m));
  sched_params p = rt_kernel_params(k, c);
  if (!sched_write(extract_kernel(m), &p)) {
    ir_module_destroy(&m);
    return st_oom();
  }
  tsr_compile_options o = {.policy = k->policy, .tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ALLOW};
  TSR_TRY(k->compile(k->dev, m, &o, out)); /* takes m */
  tsr_status st = rt_refuse_heavy(*out);
  if (st) tsr_program_destroy(out);
  return st;
}

/* Uniform in [-1, 1], small integers for integer types; a block of prime length repeated, so that tiles differ. */
void rt_fill_random(tsr_dtype t, void *p, size_t bytes, uint64_t seed) {
  size_t size = tsr_dtype_size(t), n = bytes / size, block = n < 65521 ? n : 65521;
  for (size_t i = 0; i < block; i++) {
    double u = (double)search_rand(&seed, 1u << 20) / (1u << 19) - 1;
    dtype_store(t, p, i, dtype_is_float(t) ? u : t == TSR_BOOL ? u > 0 : (double)(int)(u * 8));
  }
  for (size_t done = block; done < n; done += block)
    memcpy((char *)p + done * size, p, (n - done < block ? n - done : block) * size);
}

/* Whatever make_operands got to. */
static void drop_operands(rt_kernel *k) {
  const tsr_allocator *al = k->dev ? &k->dev->ctx->al : NULL;
  for (int i = 0; k->host && k->host_bytes && i < k->n_in; i++) al_free(al, k->host[i], k->host_bytes[i], 64);
  for (int i = 0; k->in && i < k->n_in; i++) tsr_buffer_destroy(&k->in[i]);
  for (int i = 0; k->out && i < k->n_out; i++) tsr_buffer_destroy(&k->out[i]);
  al_free_array(al, k->in, (size_t)k->n_in + 1);
  al_free_array(al, k->out, (size_t)k->n_out + 1);
  al_free_array(al, k->host, (size_t)k->n_in + 1);
  al_free_array(al, k->host_bytes, (size_t)k->n_in + 1);
  k->in = k->out = NULL, k->host = NULL, k->host_bytes = NULL;
}

static tsr_status make_operands(rt_kernel *k, const tsr_program *p) {
  tsr_context *ctx = k->dev->ctx;
  if (k->ready) return NULL;
  drop_operands(k); /* of an earlier try that there was no memory for */
  int n_in = k->n_in = tsr_program_n_inputs(p), n_out = k->n_out = tsr_program_n_outputs(p);
  k->in = al_zalloc(&ctx->al, (size_t)(n_in + 1) * sizeof *k->in);
  k->out = al_zalloc(&ctx->al, (size_t)(n_out + 1) * sizeof *k->out);
  k->host = al_zalloc(&ctx->al, (size_t)(n_in + 1) * sizeof *k->host);
  k->host_bytes = al_zalloc(&ctx->al, (size_t)(n_in + 1) * sizeof *k->host_bytes);
  if (!k->in || !k->out || !k->host || !k->host_bytes) return st_oom();
  for (int i = 0; i < n_in; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    if (!(k->host[i] = al_alloc(&ctx->al, t.bytes, 64))) return st_oom();
    k->host_bytes[i] = t.bytes;
    rt_fill_random(t.dtype, k->host[i], t.bytes, 0x5eed + (uint64_t)i);
    TSR_TRY(tsr_buffer_create(k->dev, t.bytes, TSR_MEMORY_DEVICE, &k->in[i]));
    TSR_TRY(tsr_buffer_write(k->in[i], 0, k->host[i], t.bytes));
  }
  for (int i = 0; i < n_out; i++)
    TSR_TRY(tsr_buffer_create(k->dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &k->out[i]));
  k->ready = true;
  return NULL;
}

static tsr_status prepare(void *user, const tune_config *c, void **kernel) {
  rt_kernel *k = user;
  tsr_program *p = NULL;
  TSR_TRY(compile_candidate(k, c, &p));
  tsr_status st = make_operands(k, p);
  if (st) tsr_program_destroy(&p);
  *kernel = p;
  return st;
}

enum { MAX_OPERANDS = 64 };

static tsr_status run(void *user, void *kernel, double *ns) {
  rt_kernel *k = user;
  tsr_program *p = kernel;
  tsr_binding in[MAX_OPERANDS], out[MAX_OPERANDS];
  int n = tsr_program_n_kernels(p);
  if (n > k->n_ns) {
    al_free_array(&k->dev->ctx->al, k->ns, (size_t)k->n_ns);
    k->n_ns = 0;
    k->ns = al_zalloc(&k->dev->ctx->al, (size_t)n * sizeof *k->ns);
    if (!k->ns) return st_oom();
    k->n_ns = n;
  }
  for (int i = 0; i < k->n_in; i++) in[i] = (tsr_binding){k->in[i], 0};
  for (int i = 0; i < k->n_out; i++) out[i] = (tsr_binding){k->out[i], 0};
  for (int i = 0; i < n; i++) k->ns[i] = 0;
  TSR_TRY(tsr_program_profile(p, NULL, in, out, k->ns));
  for (int i = 0; i < n; i++) *ns += k->ns[i] > 0 ? k->ns[i] : 0;
  return NULL;
}

/* First, last and scattered elements of one output. */
static tsr_status compare_output(rt_kernel *k, const tsr_program *p, int index, bool *right) {
  enum { SAMPLES = 96 };
  tsr_tensor_info t = tsr_program_output(p, index);
  int64_t count = (int64_t)(t.bytes / tsr_dtype_size(t.dtype));
  ir_op *func = k->graph->root->regions[0]->first;
  ir_value *v = func->regions[0]->last->operands[index];
  void *got = al_alloc(&k->dev->ctx->al, t.bytes, 64);
  if (!got) return st_oom();
  tsr_status st = tsr_buffer_read(k->out[index], 0, got, t.bytes);
  uint64_t rng = 99;
  for (int s = 0; !st && *right && s < SAMPLES && count > 0; s++) {
    int64_t at = s == 0 ? 0 : s == 1 ? count - 1 : (int64_t)search_rand(&rng, (uint64_t)count);
    graph_num want;
    st = graph_element(k->oracle, v, at, &want);
    if (!st) *right = graph_agrees(t.dtype, dtype_load(t.dtype, got, (size_t)at), want);
  }
  al_free(&k->dev->ctx->al, got, t.bytes, 64);
  return st;
}

static tsr_status check(void *user, void *kernel, bool *right) {
  rt_kernel *k = user;
  tsr_program *p = kernel;
  double ns = 0;
  *right = false;
  for (int i = 0; i < k->n_out; i++) { /* what an earlier candidate wrote must not pass for this one's */
    void *junk = al_alloc(&k->dev->ctx->al, tsr_buffer_bytes(k->out[i]), 64);
    if (!junk) return st_oom();
    memset(junk, 0x55, tsr_buffer_bytes(k->out[i]));
    tsr_status st = tsr_buffer_write(k->out[i], 0, junk, tsr_buffer_bytes(k->out[i]));
    al_free(&k->dev->ctx->al, junk, tsr_buffer_bytes(k->out[i]), 64);
    TSR_TRY(st);
  }
  TSR_TRY(run(k, p, &ns));
  if (!k->oracle)
    TSR_TRY(graph_evaluator_create(k->graph->root->regions[0]->first, (const void *const *)k->host, &k->oracle));
  *right = true;
  for (int i = 0; *right && i < k->n_out; i++) TSR_TRY(compare_output(k, p, i, right));
  return NULL;
}

static void release(void *user, void *kernel) {
  tsr_program *p = kernel;
  tsr_program_destroy(&p);
}

static double registers(void *user, void *kernel) {
  double most = -1;
  for (int i = 0; i < tsr_program_n_kernels(kernel); i++) {
    int r = tsr_program_kernel(kernel, i).registers;
    if (r > most) most = r;
  }
  return most;
}

/* The backend's own tile for the kernel's contraction, as the lowering would ask for it. */
static void suggested_tile(tsr_device *dev, const ir_op *kernel, const tune_problem *p, int64_t tile[3]) {
  memset(tile, 0, 3 * sizeof *tile);
  if (!tune_problem_contracts(p) || !dev->be || !dev->vt->suggest_tile) return;
  const ir_op *o = graph_contraction(kernel->regions[0]);
  if (!o) return;
  const graph_contract g = graph_contract_get(o);
  be_matmul d = {.batch = p->batch,
                 .m = p->m,
                 .n = p->n,
                 .k = p->k,
                 .a = o->operands[0]->type->dtype,
                 .b = o->operands[1]->type->dtype,
                 .acc = g.accum,
                 .transpose_a = g.transpose_a,
                 .transpose_b = g.transpose_b,
                 .constant_b = sched_is_constant(kernel, o->operands[1])};
  if (!dev->vt->suggest_tile(dev->be, &d, tile)) memset(tile, 0, 3 * sizeof *tile);
}

void rt_kernel_tile(const tsr_program *p, const char *name, int64_t tile[3]) {
  ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  for (ir_op *prog = m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (ir_op *o = prog->n_regions ? prog->regions[0]->first : NULL; o; o = o->next) {
      tune_problem problem;
      int64_t suggested[3];
      if (o->def->level != IR_SCHEDULE || o->def->code != S_KERNEL || strcmp(ir_get_str(o, "sym_name", ""), name))
        continue;
      if (!tune_kernel_problem(o, "", &problem) || !tune_problem_contracts(&problem)) return;
      suggested_tile(p->dev, o, &problem, suggested);
      tune_config c = tune_kernel_default(o, &p->dev->caps, suggested);
      tile[0] = c.m, tile[1] = c.n, tile[2] = c.k;
      return;
    }
}

tsr_status rt_kernel_open(tsr_device *dev, const ir_op *kernel, tsr_policy policy, const tune_device *device,
                          rt_compile_fn compile, rt_kernel *k, bool *worth) {
  int64_t tile[3];
  memset(k, 0, sizeof *k);
  TSR_TRY(tsr_policy_parse(ir_get_str(kernel, "policy", tsr_policy_name(policy)), &policy));
  k->dev = dev;
  k->compile = compile;
  k->policy = policy;
  *worth = tune_kernel_problem(kernel, tsr_policy_name(policy), &k->problem) && kernel->n_operands <= MAX_OPERANDS &&
           kernel->n_results <= MAX_OPERANDS;
  if (!*worth) return NULL;
  TSR_TRY(extract_schedule(kernel, &k->schedule));
  k->kernel = extract_kernel(k->schedule);
  sched_params none = {0};
  if (!sched_write(k->kernel, &none)) return st_oom(); /* the default does not depend on what was tried before */
  k->device = *device;
  suggested_tile(dev, k->kernel, &k->problem, tile);
  const sched_params by_default = sched_default(k->kernel, &dev->caps);
  k->gemv = !sched_path_of(&by_default)->has_tiles;
  if (k->gemv) {
    *worth = false;
    return NULL;
  }
  k->dflt = tune_kernel_default(k->kernel, &dev->caps, tile);
  tune_kernel_space_build(k->kernel, &k->device, &k->problem, &k->dflt, &dev->caps, &k->space);
  space_point at;
  *worth = space_nearest(&k->space.s, &k->dflt, &at);
  if (*worth) k->dflt = space_config(&k->space.s, &at);
  snprintf(k->driver, sizeof k->driver, "%s", dev->info.driver ? dev->info.driver : "");
  k->key =
      tune_kernel_make_key(k->kernel, &k->problem, &dev->caps, k->driver, tsr_policy_name(policy), "", &k->key_text);
  bucket_shape(kernel->parent ? kernel->parent->parent : NULL, &k->problem, k->bucket, sizeof k->bucket);
  k->target = (tune_target){k, prepare, run, check, release, registers};
  return extract_graph(kernel, &k->graph);
}

void rt_kernel_close(rt_kernel *k) {
  const tsr_allocator *al = k->dev ? &k->dev->ctx->al : NULL;
  graph_evaluator_destroy(&k->oracle);
  drop_operands(k);
  al_free_array(al, k->ns, (size_t)k->n_ns);
  ir_module_destroy(&k->schedule);
  ir_module_destroy(&k->graph);
  memset(k, 0, sizeof *k);
}
