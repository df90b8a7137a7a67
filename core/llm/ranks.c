/* core/llm/ranks.c - see ranks.h. A program's results are none of its inputs: there are two sets of caches, which
 * change places with each run. */
#include "core/llm/ranks.h"

#include <string.h>

typedef struct sized {
  tsr_dist_program *program;
  tsr_dist_tensor *in[LLM_IN_CACHES], *logits;
} sized;

struct llm_ranks {
  tsr_context *ctx;
  tsr_mesh *mesh;
  const llm_params *p;
  const weights *w;
  bool blocks;
  int64_t cache;
  arena a;
  sized sizes[LLM_MOST_SIZES];
  tsr_dist_tensor **inputs, **outputs; /* of a run */
  tsr_dist_tensor **caches[2], **weights; /* NULL before the first program */
  int n_caches, n_weights;
};

tsr_status llm_ranks_create(tsr_context *ctx, tsr_mesh *mesh, const llm_params *p, const weights *w, bool blocks,
                            llm_ranks **out) {
  *out = NULL;
  if (tsr_mesh_size(mesh, LLM_MESH_AXIS) != tsr_mesh_ranks(mesh))
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("model", "mesh", LLM_MESH_AXIS "=3"),
                   "a model is cut along the axis " LLM_MESH_AXIS " and no other");
  llm_ranks *r = *out = al_new(NULL, llm_ranks);
  if (!r) return st_oom();
  *r = (llm_ranks){.ctx = ctx, .mesh = mesh, .p = p, .w = w, .blocks = blocks, .n_caches = 2 * p->n_layers};
  arena_init(&r->a, NULL);
  for (int i = 0; i < 2; i++) r->caches[i] = arena_array(&r->a, tsr_dist_tensor *, r->n_caches);
  if (r->caches[0] && r->caches[1]) return NULL;
  llm_ranks_close(out);
  return st_oom();
}

static void drop_text(llm_ranks *r) {
  for (int s = 0; s < LLM_MOST_SIZES; s++) {
    for (int i = 0; i < LLM_IN_CACHES; i++) tsr_dist_tensor_destroy(&r->sizes[s].in[i]);
    tsr_dist_tensor_destroy(&r->sizes[s].logits);
    tsr_dist_program_destroy(&r->sizes[s].program);
  }
  for (int i = 0; i < 2 * r->n_caches; i++)
    if (r->caches[i % 2]) tsr_dist_tensor_destroy(&r->caches[i % 2][i / 2]);
}

void llm_ranks_close(llm_ranks **ranks) {
  llm_ranks *r = *ranks;
  if (!r) return;
  drop_text(r);
  for (int i = 0; r->weights && i < r->n_weights; i++) tsr_dist_tensor_destroy(&r->weights[i]);
  arena_clear(&r->a);
  al_delete(NULL, r);
  *ranks = NULL;
}

tsr_status llm_ranks_begin(llm_ranks *r, int64_t cache) {
  drop_text(r);
  r->cache = cache;
  return NULL;
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static tsr_status load(llm_ranks *r, const llm_weight *x, tsr_dist_tensor *to) {
  size_t bytes;
  const void *mapped = llm_weight_data(r->w, x, 0, &bytes);
  if (mapped) return tsr_dist_tensor_scatter(to, mapped);
  void *whole = al_alloc(NULL, bytes, 64);
  if (!whole) return st_oom();
  tsr_status st = weights_read(r->w, x->tensors[0], whole, bytes);
  if (!st) st = tsr_dist_tensor_scatter(to, whole);
  al_free(NULL, whole, bytes, 64);
  return st;
}

/* They lie the same way for any number of tokens. */
static tsr_status load_weights(llm_ranks *r, const tsr_dist_program *p, const llm_graph *g) {
  if (r->weights) return NULL;
  r->inputs = arena_array(&r->a, tsr_dist_tensor *, LLM_IN_CACHES + r->n_caches + g->n_weights);
  r->outputs = arena_array(&r->a, tsr_dist_tensor *, 1 + r->n_caches);
  r->weights = arena_array(&r->a, tsr_dist_tensor *, g->n_weights + 1);
  if (!r->inputs || !r->outputs || !r->weights) return st_oom();
  r->n_weights = g->n_weights;
  for (int i = 0; i < g->n_weights; i++) {
    TSR_TRY(tsr_dist_program_input(p, LLM_IN_CACHES + r->n_caches + i, &r->weights[i]));
    TSR_TRY(load(r, &g->weights[i], r->weights[i]));
  }
  return NULL;
}

static tsr_status make_tensors(llm_ranks *r, sized *s) {
  for (int i = 0; i < LLM_IN_CACHES; i++) TSR_TRY(tsr_dist_program_input(s->program, i, &s->in[i]));
  for (int i = 0; i < r->n_caches; i++) {
    if (!r->caches[0][i]) TSR_TRY(tsr_dist_program_input(s->program, LLM_IN_CACHES + i, &r->caches[0][i]));
    if (!r->caches[1][i]) TSR_TRY(tsr_dist_program_output(s->program, 1 + i, &r->caches[1][i]));
  }
  return tsr_dist_program_output(s->program, 0, &s->logits);
}

tsr_status llm_ranks_compile(llm_ranks *r, int size, int64_t tokens) {
  const llm_sizes n = {.tokens = tokens, .cache = r->cache, .blocks = r->blocks, .mesh = r->mesh};
  const tsr_dist_options o = {.compile = {.policy = TSR_POLICY_DETERMINISTIC}}; /* no sum is split */
  sized *s = &r->sizes[size];
  llm_graph g;
  if (s->logits) return NULL;
  arena scratch;
  arena_init(&scratch, NULL);
  tsr_status st = llm_graph_build(r->ctx, r->p, &scratch, &n, &g);
  if (!st) st = tsr_dist_program_compile(r->mesh, g.g, &o, &s->program);
  if (!st) st = load_weights(r, s->program, &g);
  if (!st) st = make_tensors(r, s);
  tsr_graph_destroy(&g.g);
  arena_clear(&scratch);
  return st;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

tsr_status llm_ranks_put(llm_ranks *r, int size, llm_input input, const void *whole) {
  return tsr_dist_tensor_scatter(r->sizes[size].in[input], whole);
}

tsr_status llm_ranks_run(llm_ranks *r, int size, float *logits) {
  const sized *s = &r->sizes[size];
  tsr_dist_tensor **in = r->inputs, **swap = r->caches[0];
  memcpy(in, s->in, sizeof s->in);
  memcpy(in + LLM_IN_CACHES, r->caches[0], sizeof *in * (size_t)r->n_caches);
  memcpy(in + LLM_IN_CACHES + r->n_caches, r->weights, sizeof *in * (size_t)r->n_weights);
  r->outputs[0] = s->logits;
  memcpy(r->outputs + 1, r->caches[1], sizeof *in * (size_t)r->n_caches);
  TSR_TRY(tsr_dist_program_run(s->program, in, r->outputs));
  r->caches[0] = r->caches[1];
  r->caches[1] = swap;
  return tsr_dist_tensor_gather(s->logits, logits);
}
