/* core/llm/model.c - see model.h. A text of many tokens goes through programs of a few fixed sizes, the last padded
 * with tokens that are written over before anything sees them: keys behind a token's own place are not seen by it. */
#include "core/llm/model.h"

#include <math.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/int_math.h"
#include "core/llm/ranks.h"
#include "core/llm/store.h"

enum { CACHE_STEP = 64, N_SIZES = 6 };

static const int64_t sizes[N_SIZES] = {1, 8, 32, 128, 256, 512}; /* tokens of a program */

struct llm_model {
  tsr_context *ctx;
  tsr_device *dev;
  llm_ranks *ranks; /* of a mesh: programs, weights and caches are there and not here; NULL: one device */
  weights *w;
  tokenizer *t;
  arena a; /* of the parameters */
  llm_params p;
  tsr_buffer **weights; /* by weight of the graph; NULL before the first program */
  int n_weights;
  llm_store weight_store, cache_store; /* where the device is the host */
  tsr_program *programs[N_SIZES];      /* for caches of `cache` */
  tsr_buffer *in[LLM_IN_CACHES], **caches, *logits_on_device;
  tsr_binding *inputs, *outputs;
  int64_t cache, most, length; /* places; tokens that were asked for, and so far */
  float *logits;
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static tsr_status open_file(llm_model *m, const char *path) {
  TSR_TRY(weights_open(&m->a.al, path, &m->w));
  TSR_TRY(llm_params_read(m->w, &m->a, &m->p));
  TSR_TRY(tokenizer_create(m->w, &m->t));
  if (tokenizer_count(m->t) > m->p.vocab)
    return weights_bad(m->w, 0, "%d tokens for a vocabulary of %lld", (int)tokenizer_count(m->t),
                       (long long)m->p.vocab);
  m->caches = arena_array(&m->a, tsr_buffer *, 2 * m->p.n_layers);
  m->logits = arena_array(&m->a, float, m->p.vocab);
  return m->caches && m->logits ? NULL : st_oom();
}

static bool is_host(const llm_model *m) { return !strcmp(tsr_device_get_info(m->dev)->backend, "cpu"); }

tsr_status llm_model_open_mesh(tsr_context *ctx, tsr_device *dev, tsr_mesh *mesh, const char *path, llm_model **out) {
  llm_model *m = *out = al_new(NULL, llm_model);
  if (!m) return st_oom();
  m->ctx = ctx;
  m->dev = dev;
  arena_init(&m->a, NULL);
  tsr_status st = open_file(m, path);
  if (!st && mesh) st = llm_ranks_create(ctx, mesh, &m->p, m->w, is_host(m), &m->ranks);
  if (st) llm_model_close(out);
  return st;
}

tsr_status llm_model_open(tsr_context *ctx, tsr_device *dev, const char *path, llm_model **out) {
  return llm_model_open_mesh(ctx, dev, NULL, path, out);
}

static void drop_text(llm_model *m) {
  for (int i = 0; i < N_SIZES; i++) tsr_program_destroy(&m->programs[i]);
  for (int i = 0; i < LLM_IN_CACHES; i++) tsr_buffer_destroy(&m->in[i]);
  for (int i = 0; m->caches && i < 2 * m->p.n_layers; i++) tsr_buffer_destroy(&m->caches[i]);
  llm_store_destroy(&m->cache_store);
  tsr_buffer_destroy(&m->logits_on_device);
  m->cache = m->length = 0;
}

void llm_model_close(llm_model **model) {
  if (!model || !*model) return;
  llm_model *m = *model;
  llm_ranks_close(&m->ranks);
  drop_text(m);
  for (int i = 0; m->weights && i < m->n_weights; i++) tsr_buffer_destroy(&m->weights[i]);
  llm_store_destroy(&m->weight_store);
  tokenizer_destroy(&m->t);
  weights_close(&m->w);
  arena_clear(&m->a);
  al_delete(NULL, m);
  *model = NULL;
}

const tokenizer *llm_model_tokenizer(const llm_model *m) { return m->t; }
const char *llm_model_chat_template(const llm_model *m) {
  const weights_meta *t = weights_get_meta(m->w, "tokenizer.chat_template");
  return t && t->kind == WEIGHTS_STRING ? t->v.s : NULL;
}
int32_t llm_model_vocab(const llm_model *m) { return (int32_t)m->p.vocab; }

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static size_t weight_bytes(const llm_model *m, const llm_weight *x, bool *mapped) {
  size_t all = 0, bytes;
  *mapped = true;
  for (int i = 0; i < x->n; i++, all += bytes) *mapped &= llm_weight_data(m->w, x, i, &bytes) != NULL;
  return all;
}

/* One of its tensors, read from the file into the buffer from `offset` on. */
static tsr_status read_tensor(llm_model *m, const weights_tensor *t, tsr_buffer *to, size_t offset, size_t bytes) {
  char *at = tsr_buffer_map(to);
  if (at) return weights_read(m->w, t, at + offset, bytes);
  if (!(at = al_alloc(NULL, bytes, 64))) return st_oom();
  tsr_status st = weights_read(m->w, t, at, bytes);
  if (!st) st = tsr_buffer_write(to, offset, at, bytes);
  al_free(NULL, at, bytes, 64);
  return st;
}

/* On the host: copied into the store, if there is one, else in the mapped file. */
static tsr_status load_weight(llm_model *m, const llm_weight *x, tsr_buffer **out) {
  bool mapped;
  size_t all = weight_bytes(m, x, &mapped), bytes;
  const bool host = is_host(m), stored = mapped && m->weight_store.whole;
  const void *first = llm_weight_data(m->w, x, 0, &bytes);
  if (mapped && !stored && host && x->n == 1 && !((uintptr_t)first % 16))
    return tsr_buffer_import(m->dev, first, bytes, out);
  if (stored) TSR_TRY(llm_store_take(m->dev, &m->weight_store, all, out));
  else TSR_TRY(tsr_buffer_create(m->dev, all, host ? TSR_MEMORY_HOST : TSR_MEMORY_DEVICE, out));
  all = 0;
  for (int i = 0; i < x->n; i++, all += bytes) {
    const void *data = llm_weight_data(m->w, x, i, &bytes);
    TSR_TRY(data ? tsr_buffer_write(*out, all, data, bytes) : read_tensor(m, x->tensors[i], *out, all, bytes));
    if (stored) file_forget(data, bytes);
  }
  return NULL;
}

/* Whether the device has copies of what is mapped: the host, unless that is much of its memory. */
static bool copies_weights(const llm_model *m) {
  enum { SHARE = 4 };
  uint64_t all = 0;
  for (size_t i = 0; i < m->w->n_tensors; i++) all += llm_store_room((size_t)m->w->tensors[i].bytes);
  return !is_host(m) || all <= (uint64_t)tsr_device_get_info(m->dev)->memory_bytes / SHARE;
}

static tsr_status make_weight_store(llm_model *m, const llm_graph *g) {
  size_t all = 0;
  bool mapped;
  for (int i = 0; i < g->n_weights; i++) {
    const size_t bytes = weight_bytes(m, &g->weights[i], &mapped);
    if (mapped) all += llm_store_room(bytes);
  }
  return is_host(m) && copies_weights(m) ? llm_store_create(m->dev, all, &m->weight_store) : NULL;
}

static tsr_status load_weights(llm_model *m, const llm_graph *g) {
  if (m->weights) return NULL;
  const int n_in = LLM_IN_CACHES + 2 * m->p.n_layers + g->n_weights;
  m->weights = arena_array(&m->a, tsr_buffer *, g->n_weights);
  m->inputs = arena_array(&m->a, tsr_binding, n_in);
  m->outputs = arena_array(&m->a, tsr_binding, 1 + 2 * m->p.n_layers);
  if (!m->weights || !m->inputs || !m->outputs) return st_oom();
  m->n_weights = g->n_weights;
  TSR_TRY(make_weight_store(m, g));
  for (int i = 0; i < g->n_weights; i++) TSR_TRY(load_weight(m, &g->weights[i], &m->weights[i]));
  return NULL;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* What no token has written yet is no NaN. */
static tsr_status clear_caches(llm_model *m) {
  tsr_stream *s;
  TSR_TRY(tsr_stream_create(m->dev, 0, &s));
  tsr_status st = NULL;
  for (int i = 0; !st && i < 2 * m->p.n_layers; i++)
    st = tsr_stream_fill(s, m->caches[i], 0, tsr_buffer_bytes(m->caches[i]), 0);
  if (!st) st = tsr_stream_sync(s, -1);
  tsr_stream_destroy(&s);
  return st;
}

static tsr_status make_caches(llm_model *m) {
  size_t bytes[2]; /* of keys, of values */
  for (int i = 0; i < 2; i++)
    bytes[i] = (size_t)(m->p.kv_heads * m->cache * (i ? m->p.value_dim : m->p.head_dim)) * sizeof(float);
  if (is_host(m))
    TSR_TRY(llm_store_create(m->dev, (size_t)m->p.n_layers * (llm_store_room(bytes[0]) + llm_store_room(bytes[1])),
                             &m->cache_store));
  for (int i = 0; i < 2 * m->p.n_layers; i++)
    if (is_host(m)) TSR_TRY(llm_store_take(m->dev, &m->cache_store, bytes[i % 2], &m->caches[i]));
    else TSR_TRY(tsr_buffer_create(m->dev, bytes[i % 2], TSR_MEMORY_DEVICE, &m->caches[i]));
  return NULL;
}

static tsr_status make_buffers(llm_model *m) {
  const int64_t most = sizes[N_SIZES - 1], turn = m->p.rope_dim / 2 * most;
  const int64_t elements[LLM_IN_CACHES] = {most, 1, 1, 1, turn, turn, turn, turn};
  for (int i = 0; i < LLM_IN_CACHES; i++)
    TSR_TRY(tsr_buffer_create(m->dev, (size_t)elements[i] * 4, TSR_MEMORY_DEVICE, &m->in[i]));
  TSR_TRY(make_caches(m));
  TSR_TRY(tsr_buffer_create(m->dev, (size_t)m->p.vocab * sizeof(float), TSR_MEMORY_DEVICE, &m->logits_on_device));
  return clear_caches(m);
}

tsr_status llm_model_begin(llm_model *m, int64_t most) {
  if (most > m->p.context)
    return st_make(&m->a.al, TSR_INVALID_ARGUMENT, ST_WHERE("model", NULL, NULL),
                   "a text of %lld tokens; the model's context is %lld", (long long)most, (long long)m->p.context);
  int size = 0; /* the last program of a prompt may be padded to its tokens */
  while (size + 1 < N_SIZES && sizes[size] < most) size++;
  const int64_t cache = round_up(max64(most, 1) + sizes[size], CACHE_STEP);
  m->length = 0;
  m->most = most;
  if (cache <= m->cache) return NULL;
  drop_text(m);
  m->cache = cache;
  tsr_status st = m->ranks ? llm_ranks_begin(m->ranks, cache) : make_buffers(m);
  if (st) drop_text(m);
  return st;
}

static tsr_status compile(llm_model *m, int size) {
  const llm_sizes n = {.tokens = sizes[size], .cache = m->cache, .blocks = is_host(m), .joined = copies_weights(m)};
  llm_graph g;
  if (m->ranks) return llm_ranks_compile(m->ranks, size, sizes[size]);
  if (m->programs[size]) return NULL;
  arena scratch;
  arena_init(&scratch, NULL);
  tsr_status st = llm_graph_build(m->ctx, &m->p, &scratch, &n, &g);
  if (!st) st = load_weights(m, &g);
  if (!st) st = tsr_program_compile(m->dev, g.g, NULL, &m->programs[size]);
  tsr_graph_destroy(&g.g);
  arena_clear(&scratch);
  return st;
}

/* An input of the program of that size. */
static tsr_status put(llm_model *m, int size, llm_input to, const void *data, size_t bytes) {
  return m->ranks ? llm_ranks_put(m->ranks, size, to, data) : tsr_buffer_write(m->in[to], 0, data, bytes);
}

/* Cosines and sines of places from `start` on. */
static tsr_status write_turns(llm_model *m, int size, int64_t start, double base, llm_input to) {
  const int64_t half = m->p.rope_dim / 2, n = sizes[size];
  float *v = al_alloc(NULL, (size_t)(2 * n * half) * sizeof *v, 64);
  if (!v) return st_oom();
  float *cosines = v, *sines = v + n * half;
  for (int64_t i = 0; i < half; i++) {
    const double factor = m->p.rope_factors ? m->p.rope_factors[i] : 1;
    const double step = pow(base, -(double)(2 * i) / (double)m->p.rope_dim) / factor / m->p.rope_scale;
    for (int64_t k = 0; k < n; k++) {
      cosines[k * half + i] = (float)(cos((double)(start + k) * step) * m->p.rope_factor);
      sines[k * half + i] = (float)(sin((double)(start + k) * step) * m->p.rope_factor);
    }
  }
  tsr_status st = put(m, size, to, cosines, (size_t)(n * half) * sizeof *v);
  if (!st) st = put(m, size, to + 1, sines, (size_t)(n * half) * sizeof *v);
  al_free(NULL, v, (size_t)(2 * n * half) * sizeof *v, 64);
  return st;
}

static void bind(llm_model *m) {
  tsr_binding *in = m->inputs, *out = m->outputs;
  for (int i = 0; i < LLM_IN_CACHES; i++) *in++ = (tsr_binding){m->in[i], 0};
  *out++ = (tsr_binding){m->logits_on_device, 0};
  for (int i = 0; i < 2 * m->p.n_layers; i++) *in++ = *out++ = (tsr_binding){m->caches[i], 0};
  for (int i = 0; i < m->n_weights; i++) *in++ = (tsr_binding){m->weights[i], 0};
}

/* n tokens, at most sizes[size], padded to that. */
static tsr_status run(llm_model *m, int size, const int32_t *tokens, int64_t n) {
  const int64_t all = sizes[size];
  int32_t padded[512] = {0};
  const int32_t start = (int32_t)m->length, length = start + (int32_t)all, last = (int32_t)n - 1;
  memcpy(padded, tokens, (size_t)n * sizeof *tokens);
  TSR_TRY(compile(m, size));
  TSR_TRY(put(m, size, LLM_IN_TOKENS, padded, (size_t)all * sizeof *padded));
  TSR_TRY(put(m, size, LLM_IN_START, &start, sizeof start));
  TSR_TRY(put(m, size, LLM_IN_LENGTH, &length, sizeof length));
  TSR_TRY(put(m, size, LLM_IN_LAST, &last, sizeof last));
  TSR_TRY(write_turns(m, size, start, m->p.rope_base, LLM_IN_COS));
  if (m->p.arch->local_base > 0) TSR_TRY(write_turns(m, size, start, m->p.arch->local_base, LLM_IN_LOCAL_COS));
  if (!m->ranks) bind(m);
  TSR_TRY(m->ranks ? llm_ranks_run(m->ranks, size, m->logits)
                   : tsr_program_run(m->programs[size], NULL, m->inputs, m->outputs));
  m->length += n;
  return NULL;
}

tsr_status llm_model_append(llm_model *m, const int32_t *tokens, int64_t n, const float **logits) {
  *logits = NULL;
  if (n < 1 || m->length + n > m->most)
    return st_make(&m->a.al, TSR_INVALID_ARGUMENT, ST_WHERE("model", NULL, NULL),
                   "%lld tokens behind %lld do not fit into the text that was begun", (long long)n,
                   (long long)m->length);
  for (int64_t i = 0; i < n; i++)
    if (tokens[i] < 0 || tokens[i] >= m->p.vocab)
      return st_make(&m->a.al, TSR_INVALID_ARGUMENT, ST_WHERE("model", NULL, NULL), "token %d of a vocabulary of %lld",
                     (int)tokens[i], (long long)m->p.vocab);
  while (n > 0) {
    int size = 0;
    while (size + 1 < N_SIZES && sizes[size] < n) size++;
    const int64_t now = min64(n, sizes[size]);
    TSR_TRY(run(m, size, tokens, now));
    tokens += now;
    n -= now;
  }
  if (!m->ranks) TSR_TRY(tsr_buffer_read(m->logits_on_device, 0, m->logits, (size_t)m->p.vocab * sizeof *m->logits));
  *logits = m->logits;
  return NULL;
}
