/* core/runtime/device_profile.c - what the tuner, the cost model and the audit take a device for, beside what its
 * driver says: a profile that the user loads from a file (its figures go before all others), and the table of default
 * tiles, as it stands and as a device can run it. */
#include <stdio.h>
#include <string.h>

#include "core/ir/recipe.h"
#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/from_graph.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/legalize.h"
#include "core/runtime/tune.h"
#include "core/tune/extract.h"
#include "core/tune/families.h"

/* ---- a user's profile -------------------------------------------------------------------------------------------- */

void rt_drop_profile(tsr_device *dev) {
  if (dev->profile) al_delete(&dev->ctx->al, dev->profile);
  dev->profile = NULL;
}

tsr_status tsr_device_load_profile(tsr_device *dev, const char *path) {
  RT_NEED("device_load_profile", "dev", dev);
  tsr_context *ctx = dev->ctx;
  tune_device d;
  if (path) {
    TSR_TRY(tune_device_load(path, &d));
    bool cpu = dev->caps.dialect == DIALECT_CPU;
    if (d.is_cpu ? !cpu : cpu && d.max_warps > 0)
      return st_make(&ctx->al, TSR_ARCH_MISMATCH, RT_WHERE("device_load_profile", NULL),
                     "%s: \"%s\" is a profile of a %s, %s is none", path, d.name, d.is_cpu ? "CPU" : "GPU",
                     dev->info.id);
    if (!dev->profile && !(dev->profile = al_new(&ctx->al, tune_device))) return st_oom();
    *dev->profile = d;
  } else {
    rt_drop_profile(dev);
  }
  dev->number = rt_number(ctx); /* to profiles that are being taken it is another device */
  return NULL;
}

tsr_status tsr_device_print_profile(tsr_device *dev, char **text) {
  RT_OUT("device_print_profile", text);
  RT_NEED("device_print_profile", "dev", dev);
  tune_device d;
  strb b;
  TSR_TRY(rt_tune_device(dev, rt_tune_cache(dev->ctx, NULL, false), NULL, &d));
  strb_init(&b, &dev->ctx->al);
  tune_device_print(&d, &b);
  return rt_text(dev->ctx, &b, text);
}

/* ---- the table of tiles ------------------------------------------------------------------------------------------ */

/* One kernel of the row's kind, large enough that its size sets no limit. Convolutions run as products of their
 * patches. */
static tsr_status sample_kernel(tsr_context *ctx, const char *op, tsr_dtype t, ir_module **schedule) {
  char text[1024];
  const char *type = tsr_dtype_name(t);
  ir_module *m = NULL;
  if (recipe_named(op))
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<4096x4096x%s>):\n%%0 = "
             "\"tessera.graph.%s\"(%%A)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
             type, op);
  else
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<4096x4096x%s>, %%B: tensor<4096x4096x%s>):\n%%0 = "
             "\"tessera.graph.matmul\"(%%A, %%B)\n"
             "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
             type, type);
  TSR_TRY(ir_parse(&ctx->al, text, strlen(text), "table", &m));
  const pass_options opts = {.disable = ""};
  tsr_status st = graph_to_schedule(m, &opts, schedule);
  ir_module_destroy(&m);
  return st;
}

static ir_op *first_kernel(ir_module *m) {
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      if (k->def->level == IR_SCHEDULE && k->def->code == S_KERNEL) return k;
  return NULL;
}

static tsr_status legalise_kernel(const tsr_device *dev, const char *op, tsr_dtype t, sched_params *p, char *why,
                                  size_t size) {
  ir_module *m = NULL;
  TSR_TRY(sample_kernel(dev->ctx, op, t, &m));
  const ir_op *k = first_kernel(m);
  sched_params all = k ? sched_default(k, &dev->caps) : *p;
  all.m = p->m, all.n = p->n, all.k = p->k, all.vectorize = 1; /* the row says nothing of accesses */
  if (p->warps) all.warps = p->warps;
  sched_limit broken = k ? sched_broken_limit(k, &dev->caps, &all, why, size) : SCHED_FITS;
  if (!broken) why[0] = 0;
  else if (!sched_legalize(k, &dev->caps, &all)) all = (sched_params){0};
  p->m = all.m, p->n = all.n, p->k = all.k;
  if (p->warps || broken) p->warps = all.warps; /* more threads may be all that it takes */
  ir_module_destroy(&m);
  return NULL;
}

/* Flash attention is a block program of its own: queries, and two stages of keys and values of the head's width, share
 * a block's memory. */
static void legalise_attention(const tsr_device *dev, tsr_dtype t, sched_params *p, char *why, size_t size) {
  const tune_problem x = {
      .family = FAMILY_ATTENTION, .batch = 1, .m = 4096, .n = 4096, .k = p->k, .in = t, .acc = TSR_F32, .out = t};
  const int64_t most = dev->caps.shared_bytes;
  why[0] = 0;
  for (; most > 0 && dev->caps.dialect != DIALECT_CPU;) {
    int64_t bytes = occ_shared_bytes(
        &x, &(tune_config){.m = (int32_t)p->m, .n = (int32_t)p->n, .use_shared = 1, .pipeline_stages = 2});
    if (bytes <= most) return;
    if (!why[0])
      snprintf(why, size, "shared memory: %lld bytes, the device has %lld", (long long)bytes, (long long)most);
    int64_t *larger = p->m >= p->n ? &p->m : &p->n;
    if (*larger <= 16) {
      *p = (sched_params){0};
      return;
    }
    *larger /= 2;
  }
}

tsr_status tsr_tile_default_get(tsr_device *dev, int i, tsr_tile_default *out) {
  RT_NEED("tile_default_get", "out", out);
  *out = (tsr_tile_default){.op = "", .why = ""};
  sched_params p;
  if (i < 0 || !sched_recommended_row((size_t)i, &out->op, &out->dtype, &p))
    return out->op = "", st_make(dev ? &dev->ctx->al : NULL, TSR_NOT_FOUND,
                                 RT_WHERE("tile_default_get", "rows count from 0"), "the table has no row %d", i);
  tsr_dtype t = out->dtype                                          ? out->dtype
                : recipe_named(out->op) || !strcmp(out->op, "gemm") ? TSR_F32
                                                                    : TSR_BF16;
  out->m = p.m, out->n = p.n, out->k = p.k, out->warps = p.warps;
  char why[160] = "";
  tsr_status st = NULL;
  if (dev && !strcmp(out->op, "flash_attention")) legalise_attention(dev, t, &p, why, sizeof why);
  else if (dev) st = legalise_kernel(dev, out->op, t, &p, why, sizeof why);
  if (!st && why[0] && !(out->why = arena_str(&dev->arena, why))) st = st_oom();
  if (st) *out = (tsr_tile_default){.op = "", .why = ""};
  else out->legal_m = p.m, out->legal_n = p.n, out->legal_k = p.k, out->legal_warps = p.warps;
  return st;
}
