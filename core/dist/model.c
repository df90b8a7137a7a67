/* core/dist/model.c - see model.h. Weights and activations are of 16 bits, sums and the optimiser's state of 32, as
 * mixed-precision training has them; attention keeps no scores. */
#include "core/dist/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/shard.h"

enum { WEIGHT_BYTES = 2, GRADIENT_BYTES = 4, OPTIMISER_BYTES = 12, ACTIVATION_BYTES = 2 };
/* Bytes that a layer keeps for its backward pass for each token and unit of width; attention's scores are made anew. */
#define KEPT_BYTES 34.0

static const dist_model rows[] = {
    {"gpt3_175b", "published dimensions", 96, 12288, 96, 96, 49152, 50257, 2048, false},
    {"gpt_1t", "published dimensions", 128, 25600, 160, 160, 102400, 51200, 2048, false},
    {"llama3_8b", "published dimensions", 32, 4096, 32, 8, 14336, 128256, 8192, true},
    {"llama3_70b", "published dimensions", 80, 8192, 64, 8, 28672, 128256, 8192, true},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const dist_model *dist_model_at(int i) { return i < N_ROWS ? &rows[i] : NULL; }

bool dist_model_find(const char *text, dist_model *out, const char **why) {
  static const char *const keys[] = {"layers", "width", "heads", "kv_heads", "hidden", "vocab", "tokens", "gated"};
  int64_t v[8] = {0}, gated = 0, size;
  const char *name;
  int n;
  for (int i = 0; i < N_ROWS; i++)
    if (!strcmp(rows[i].name, text)) return *out = rows[i], true;
  *why = "not a model's name and no list of its dimensions";
  for (const char *at = text; ir_mesh_next(&at, &name, &n, &size);) {
    size_t k = 0;
    while (k < 8 && ((int)strlen(keys[k]) != n || strncmp(keys[k], name, (size_t)n))) k++;
    if (k == 8 || size < 1) return false;
    if (v[k]) return *why = "a dimension is there twice", false;
    v[k] = size;
  }
  gated = v[7];
  *out = (dist_model){"model", "given", v[0], v[1], v[2], v[3] ? v[3] : v[2], v[4], v[5], v[6], gated != 0};
  *why = "a model has layers, width, heads, hidden, vocab and tokens, and its width is a multiple of its heads";
  return v[0] && v[1] && v[2] && v[4] && v[5] && v[6] && v[1] % v[2] == 0;
}

static double layer_parameters(const dist_model *m) {
  const double d = (double)m->width, kv = d * (double)m->kv_heads / (double)m->heads;
  return d * (2 * d + 2 * kv) + (m->gated ? 3 : 2) * d * (double)m->hidden + 2 * d;
}

double dist_model_parameters(const dist_model *m) {
  return (double)m->layers * layer_parameters(m) + 2.0 * (double)m->vocab * (double)m->width;
}

static int64_t size_of(const dist_mesh *mesh, const char *axis) {
  const int a = dist_mesh_axis(mesh, axis, (int)strlen(axis));
  return a < 0 ? 1 : mesh->size[a];
}

static uint32_t bit_of(const dist_mesh *mesh, const char *axis) {
  const int a = dist_mesh_axis(mesh, axis, (int)strlen(axis));
  return a < 0 ? 0 : 1u << a;
}

/* A sentence where the model can't be cut so, or NULL. */
static const char *fault_of(const dist_model *m, const dist_mesh *mesh, const dist_training *t) {
  const int64_t tp = size_of(mesh, "tp"), pp = size_of(mesh, "pp"), dp = size_of(mesh, "dp");
  if (tp * pp * dp != mesh->ranks) return "a model is cut along tp, pp and dp: the mesh has another axis";
  if (m->heads % tp || m->hidden % tp) return "heads and hidden units must be multiples of tp";
  if (m->tokens % tp) return "the tokens of a sequence must be a multiple of tp";
  if (m->layers % (pp * t->chunks)) return "layers must be a multiple of the stages, and of their chunks";
  if (t->batch && t->batch % dp) return "the batch must be a multiple of dp";
  if (t->zero < 0 || t->zero > 3) return "zero is 0 to 3";
  return NULL;
}

/* Along tp a layer gathers its input and scatters its sums, twice; backward the same again. */
static double layer_comm(const dist_model *m, dist_links *l, uint32_t tp, dist_step_plan *out) {
  out->tp_bytes = (double)m->tokens * (double)m->width * ACTIVATION_BYTES;
  if (!tp) return 0;
  return 2 * (dist_coll_us(l, COLL_ALL_GATHER, tp, out->tp_bytes, NULL) +
              dist_coll_us(l, COLL_REDUCE_SCATTER, tp, out->tp_bytes, &out->tp_algorithm));
}

static double layer_flops(const dist_model *m) {
  const double s = (double)m->tokens;
  return 2 * s * layer_parameters(m) + 2 * s * s * (double)m->width; /* causal: half of 4 s s d */
}

static double head_flops(const dist_model *m) { return 2 * (double)m->tokens * (double)m->vocab * (double)m->width; }

static void memory_of(const dist_model *m, const dist_training *t, dist_step_plan *out) {
  const double dp = (double)out->dp;
  const double per_stage = (double)(m->layers / out->pp) * layer_parameters(m) / (double)out->tp;
  const double own = per_stage + (double)m->vocab * (double)m->width / (double)out->tp * (out->pp == 1 ? 2 : 1);
  const double kept = KEPT_BYTES * (double)m->tokens * (double)m->width / (double)out->tp;
  out->weights = own * WEIGHT_BYTES / (t->zero >= 3 ? dp : 1);
  out->gradients = own * GRADIENT_BYTES / (t->zero >= 2 ? dp : 1);
  out->optimiser = own * OPTIMISER_BYTES / (t->zero >= 1 ? dp : 1);
  out->activations = kept * (double)(m->layers / out->pp) / (double)t->chunks * out->pipeline.peak_live;
  out->memory = out->weights + out->gradients + out->optimiser + out->activations;
  out->dp_bytes = own * WEIGHT_BYTES;
}

/* Gradients are scattered and weights gathered (ZeRO) or all-reduced, once a step, beside the last microbatch's
 * backward pass but for its last layer. */
static void data_parallel(const dist_model *m, dist_links *l, uint32_t axes, const dist_training *t,
                          dist_step_plan *out) {
  if (!axes) return;
  const double scatter = dist_coll_us(l, COLL_REDUCE_SCATTER, axes, out->dp_bytes, &out->dp_algorithm);
  const double gather = dist_coll_us(l, COLL_ALL_GATHER, axes, out->dp_bytes, NULL);
  out->dp_us = scatter + gather * (t->zero >= 3 ? 2 * (double)out->microbatches : 1);
  const double beside = 2 * out->layer_us * (double)(m->layers / out->pp - 1);
  out->dp_exposed_us = out->dp_us > beside ? out->dp_us - beside : 0;
}

enum { MOST_PLAYED = 1 << 13 };

/* Beyond some microbatches each further one takes as long as the one before: of very many some are played through. */
static tsr_status play(arena *a, const dist_pipeline *p, dist_pipelined *out) {
  dist_pipeline x = *p;
  dist_pipelined less;
  const int few = 4 * p->stages;
  if ((int64_t)p->microbatches * p->chunks * p->stages <= MOST_PLAYED || p->microbatches <= few ||
      (p->kind == PIPELINE_INTERLEAVED && p->microbatches % p->stages))
    return dist_pipeline_run(a, p, out);
  x.microbatches = few - p->stages;
  TSR_TRY(dist_pipeline_run(a, &x, &less));
  x.microbatches = few;
  TSR_TRY(dist_pipeline_run(a, &x, out));
  out->us += (out->us - less.us) * (p->microbatches - few) / p->stages;
  out->busy_us *= (double)p->microbatches / few;
  out->idle_share = 1 - out->busy_us / out->us;
  out->overhead = out->us / out->busy_us - 1;
  if (p->kind == PIPELINE_GPIPE) out->peak_live = p->microbatches;
  return NULL;
}

tsr_status dist_model_plan(arena *a, const dist_model *m, const dist_mesh *mesh, const dist_machine *machine,
                           const dist_training *t, dist_step_plan *out) {
  const char *why = fault_of(m, mesh, t);
  const st_where where = ST_WHERE("plan", m->name, NULL);
  if (why) return st_make(NULL, TSR_INVALID_ARGUMENT, where, "%s", why);
  dist_links links;
  TSR_TRY(dist_links_init(&links, machine, mesh));
  *out = (dist_step_plan){.tp = size_of(mesh, "tp"), .pp = size_of(mesh, "pp"), .dp = size_of(mesh, "dp")};
  out->microbatches = t->microbatches ? t->microbatches : t->batch ? t->batch / out->dp : 2 * out->pp;
  const int64_t per_stage = m->layers / out->pp;
  const double weights = layer_parameters(m) * WEIGHT_BYTES / (double)out->tp;
  const double moved = weights + 20.0 * (double)m->tokens * (double)m->width / (double)out->tp;
  out->layer_us = dist_compute_us(machine, TSR_BF16, layer_flops(m) / (double)out->tp, moved);
  out->layer_comm_us = layer_comm(m, &links, out->tp > 1 ? bit_of(mesh, "tp") : 0, out);
  const double head_us = dist_compute_us(machine, TSR_BF16, head_flops(m) / (double)out->tp, 0);
  double *forward = arena_array(a, double, 2 * out->pp + 1), *backward = forward ? forward + out->pp : NULL;
  tsr_status st = forward ? NULL : st_oom();
  for (int64_t s = 0; s < out->pp && !st; s++) {
    const double head = s == out->pp - 1 ? head_us : 0;
    forward[s] = (double)per_stage * (out->layer_us + out->layer_comm_us) + head;
    backward[s] = (double)per_stage * (2 * out->layer_us + out->layer_comm_us) + 2 * head;
  }
  const double sent = out->tp_bytes / (double)out->tp;
  const double send = out->pp > 1 ? dist_coll_us(&links, COLL_SEND_RECV, bit_of(mesh, "pp"), sent, NULL) : 0;
  const dist_pipeline pipeline = {t->schedule, (int)out->pp, (int)out->microbatches, t->chunks, forward,
                                  backward,    send};
  if (!st) st = play(a, &pipeline, &out->pipeline);
  if (!st) {
    const double n = (double)(out->microbatches * per_stage);
    out->compute_us = n * 3 * out->layer_us + 3 * head_us * (double)out->microbatches;
    out->tp_us = n * 2 * out->layer_comm_us;
    out->pp_us = send * 2 * (double)(out->microbatches * t->chunks);
    memory_of(m, t, out);
    data_parallel(m, &links, out->dp > 1 ? bit_of(mesh, "dp") : 0, t, out);
    out->us = out->pipeline.us + out->dp_exposed_us;
    const double sequences = (double)(out->microbatches * out->dp);
    const double flops = sequences * 3 * ((double)m->layers * layer_flops(m) + head_flops(m));
    out->mfu = flops / (out->us * machine->device.tflops_16 * 1e6 * (double)mesh->ranks);
    out->tokens_per_s = sequences * (double)m->tokens / out->us * 1e6;
    out->fits = out->memory <= machine->device.memory_gbytes * 1e9;
  }
  dist_links_clear(&links);
  return st;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

static bool better(const dist_step_plan *a, const dist_step_plan *b) {
  if (a->fits != b->fits) return a->fits;
  const double x = a->fits ? a->us : a->memory, y = b->fits ? b->us : b->memory;
  return x / (double)(a->microbatches * a->dp) < y / (double)(b->microbatches * b->dp);
}

static void keep(dist_candidate *best, int most, int *n, const dist_candidate *c) {
  int at = *n < most ? (*n)++ : most;
  while (at > 0 && better(&c->plan, &best[at - 1].plan)) {
    if (at < most) best[at] = best[at - 1];
    at--;
  }
  if (at < most) best[at] = *c;
}

tsr_status dist_model_search(arena *a, const dist_model *m, int64_t ranks, const dist_machine *machine,
                             const dist_training *t, dist_candidate *best, int most, int *n, int *tried) {
  static const char *const axes[] = {"tp", "pp", "dp"};
  *n = *tried = 0;
  for (int64_t tp = 1; tp <= ranks; tp++)
    for (int64_t pp = 1; tp * pp <= ranks && ranks % tp == 0; pp++)
      for (int kind = 0; kind < N_PIPELINES && ranks / tp % pp == 0; kind++) {
        dist_candidate c = {.training = *t};
        c.training.schedule = (dist_pipeline_kind)(pp == 1 ? PIPELINE_1F1B : kind);
        c.training.chunks = c.training.schedule == PIPELINE_INTERLEAVED ? 2 : 1;
        if (kind == PIPELINE_GPIPE || (pp == 1 && kind != PIPELINE_1F1B)) continue; /* no faster, more memory */
        TSR_TRY(dist_mesh_make(axes, (int64_t[]){tp, pp, ranks / tp / pp}, 3, ranks, &c.mesh));
        if (fault_of(m, &c.mesh, &c.training)) continue;
        tsr_status st = dist_model_plan(a, m, &c.mesh, machine, &c.training, &c.plan);
        ++*tried;
        if (st && tsr_status_code(st) != TSR_INVALID_ARGUMENT) return st;
        if (!st) keep(best, most, n, &c);
        tsr_status_free(st);
      }
  return NULL;
}
