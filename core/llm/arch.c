/* core/llm/arch.c - see arch.h. */
#include "core/llm/arch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 1024, MOST_SIZE = 1 << 24 };

static const llm_arch archs[] = {
    {.name = "llama", .interleaved = true},
    {.name = "mistral3", .interleaved = true},
    {.name = "qwen2"},
    {.name = "qwen3"},
    {.name = "gemma", .gelu = true, .scaled_embedding = true},
    {.name = "gemma2", .gelu = true, .scaled_embedding = true, .window_every = 2,
     .narrow_scale_layers = 46},
    {.name = "gemma3", .gelu = true, .scaled_embedding = true, .window_every = 6, .local_base = 10000,
     .narrow_scale_layers = 62},
    {.name = "phi2", .gelu = true, .layer_norm = true, .parallel = true},
    {.name = "phi3", .window_every = 1},
    {.name = "stablelm", .layer_norm = true},
    {.name = "starcoder2", .gelu = true, .layer_norm = true},
};

/* Names in the file, of layers behind "blk.N.", and dimensions: v vocabulary, w width, q all heads of queries, k of
 * keys, u of values, o of the attention's result, a the three before that together, h one head, f feed-forward, g what
 * the up matrix gives, r rotary pairs. An upper-case first letter: the model can't be without it. */
static const struct {
  const char *name;
  const char *dims;
  bool layer; /* each layer has one */
} slots[LLM_N_SLOTS] = {
    [LLM_EMBEDDING] = {"token_embd.weight", "Vw"},
    [LLM_OUTPUT_NORM] = {"output_norm.weight", "W"},
    [LLM_OUTPUT_NORM_BIAS] = {"output_norm.bias", "w"},
    [LLM_OUTPUT] = {"output.weight", "vw"},
    [LLM_OUTPUT_BIAS] = {"output.bias", "v"},
    [LLM_ROPE_FACTORS] = {"rope_freqs.weight", "r"},
    [LLM_ROPE_LONG] = {"rope_factors_long.weight", "r"},
    [LLM_ROPE_SHORT] = {"rope_factors_short.weight", "r"},
    [LLM_ATTN_NORM] = {"attn_norm.weight", "W", true},
    [LLM_ATTN_NORM_BIAS] = {"attn_norm.bias", "w", true},
    [LLM_Q] = {"attn_q.weight", "qw", true},
    [LLM_Q_BIAS] = {"attn_q.bias", "q", true},
    [LLM_K] = {"attn_k.weight", "kw", true},
    [LLM_K_BIAS] = {"attn_k.bias", "k", true},
    [LLM_V] = {"attn_v.weight", "uw", true},
    [LLM_V_BIAS] = {"attn_v.bias", "u", true},
    [LLM_QKV] = {"attn_qkv.weight", "aw", true},
    [LLM_QKV_BIAS] = {"attn_qkv.bias", "a", true},
    [LLM_Q_NORM] = {"attn_q_norm.weight", "h", true},
    [LLM_K_NORM] = {"attn_k_norm.weight", "h", true},
    [LLM_ATTN_OUT] = {"attn_output.weight", "Wo", true},
    [LLM_ATTN_OUT_BIAS] = {"attn_output.bias", "w", true},
    [LLM_ATTN_POST_NORM] = {"post_attention_norm.weight", "w", true},
    [LLM_FFN_NORM] = {"ffn_norm.weight", "w", true},
    [LLM_FFN_NORM_BIAS] = {"ffn_norm.bias", "w", true},
    [LLM_GATE] = {"ffn_gate.weight", "fw", true},
    [LLM_UP] = {"ffn_up.weight", "Gw", true},
    [LLM_UP_BIAS] = {"ffn_up.bias", "g", true},
    [LLM_DOWN] = {"ffn_down.weight", "Wf", true},
    [LLM_DOWN_BIAS] = {"ffn_down.bias", "w", true},
    [LLM_FFN_POST_NORM] = {"post_ffw_norm.weight", "w", true},
};

const weights_tensor *llm_tensor(const llm_params *p, llm_slot slot, int layer) {
  return p->tensors[(slots[slot].layer ? layer + 1 : 0) * LLM_N_SLOTS + slot];
}

static tsr_status unsupported(const weights *w, const char *what, const char *which) {
  return st_make(&w->a.al, TSR_UNSUPPORTED, ST_WHERE("model", NULL, NULL), "%s: %s \"%s\"", w->file, what, which);
}

/* ---- key-values -------------------------------------------------------------------------------------------------- */

typedef struct keys {
  const weights *w;
  const char *arch;
} keys;

static const weights_meta *find_key(const keys *k, const char *name, char *full, size_t bytes) {
  snprintf(full, bytes, "%s.%s", k->arch, name);
  return weights_get_meta(k->w, full);
}

/* An integer from `least` on; `dflt` where the file has none, or an error where that is negative. */
static tsr_status key_int(const keys *k, const char *name, int64_t dflt, int64_t least, int64_t *out) {
  char full[128];
  const weights_meta *m = find_key(k, name, full, sizeof full);
  *out = dflt;
  if (!m && dflt < 0) return weights_bad(k->w, 0, "the file has no \"%s\"", full);
  if (!m) return NULL;
  const bool whole = m->kind == WEIGHTS_UINT || (m->kind == WEIGHTS_INT && m->v.i >= 0);
  if (!whole) return weights_bad(k->w, m->at, "\"%s\" is no whole number", full);
  if (m->v.u < (uint64_t)least || m->v.u > MOST_SIZE)
    return weights_bad(k->w, m->at, "\"%s\" is %llu; %lld to %d are read", full, (unsigned long long)m->v.u,
                       (long long)least, MOST_SIZE);
  *out = (int64_t)m->v.u;
  return NULL;
}

static tsr_status key_float(const keys *k, const char *name, double dflt, double *out) {
  char full[128];
  const weights_meta *m = find_key(k, name, full, sizeof full);
  *out = dflt;
  if (!m) return NULL;
  if (m->kind != WEIGHTS_FLOAT || !(m->v.f >= 0 && m->v.f <= 1e30))
    return weights_bad(k->w, m->at, "\"%s\" is no finite number from 0 on", full);
  *out = m->v.f;
  return NULL;
}

/* Things that would change what the model computes and that are not there to be computed. */
static tsr_status refuse_keys(const keys *k) {
  static const char *const zero[] = {"expert_count", "attention.kv_lora_rank", "ssm.conv_kernel", "logit_scale",
                                     "residual_scale", "embedding_scale", "attention.scale"};
  for (size_t i = 0; i < sizeof zero / sizeof *zero; i++) {
    char full[128];
    const weights_meta *m = find_key(k, zero[i], full, sizeof full);
    if (m && !(m->kind == WEIGHTS_UINT && !m->v.u) && !(m->kind == WEIGHTS_FLOAT && (m->v.f == 0 || m->v.f == 1)))
      return unsupported(k->w, "models are not run that have", full);
  }
  return NULL;
}

static tsr_status read_rope_scaling(const keys *k, llm_params *p) {
  char full[128];
  const weights_meta *m = find_key(k, "rope.scaling.type", full, sizeof full);
  p->rope_scale = 1;
  TSR_TRY(key_float(k, "rope.scaling.attn_factor", 1, &p->rope_factor));
  if (!m || (m->kind == WEIGHTS_STRING && (!strcmp(m->v.s, "none") || !strcmp(m->v.s, "longrope")))) return NULL;
  if (m->kind != WEIGHTS_STRING || strcmp(m->v.s, "linear"))
    return unsupported(k->w, "no rotary positions scaled by", m->kind == WEIGHTS_STRING ? m->v.s : "?");
  TSR_TRY(key_float(k, "rope.scaling.factor", 1, &p->rope_scale));
  return p->rope_scale > 0 ? NULL : weights_bad(k->w, m->at, "positions are scaled by 0");
}

static tsr_status read_sizes(const keys *k, llm_params *p) {
  int64_t layers;
  TSR_TRY(refuse_keys(k));
  TSR_TRY(key_int(k, "block_count", -1, 1, &layers));
  if (layers > MOST_LAYERS) return weights_bad(k->w, 0, "%lld layers, more than %d", (long long)layers, MOST_LAYERS);
  p->n_layers = (int)layers;
  TSR_TRY(key_int(k, "embedding_length", -1, 1, &p->width));
  TSR_TRY(key_int(k, "feed_forward_length", -1, 1, &p->ffn));
  TSR_TRY(key_int(k, "attention.head_count", -1, 1, &p->heads));
  TSR_TRY(key_int(k, "attention.head_count_kv", p->heads, 1, &p->kv_heads));
  TSR_TRY(key_int(k, "attention.key_length", p->width / p->heads, 1, &p->head_dim));
  TSR_TRY(key_int(k, "attention.value_length", p->head_dim, 1, &p->value_dim));
  TSR_TRY(key_int(k, "rope.dimension_count", p->head_dim, 2, &p->rope_dim));
  TSR_TRY(key_int(k, "context_length", 4096, 1, &p->context));
  TSR_TRY(key_int(k, "attention.sliding_window", 0, 0, &p->window));
  TSR_TRY(key_float(k, p->arch->layer_norm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", 1e-5,
                    &p->eps));
  TSR_TRY(key_float(k, "rope.freq_base", 10000, &p->rope_base));
  TSR_TRY(key_float(k, "attn_logit_softcapping", 0, &p->attention_cap));
  TSR_TRY(key_float(k, "final_logit_softcapping", 0, &p->logit_cap));
  if (p->rope_base <= 0) return weights_bad(k->w, 0, "a rotary base of 0");
  if (p->heads % p->kv_heads)
    return weights_bad(k->w, 0, "%lld heads share %lld heads of keys", (long long)p->heads, (long long)p->kv_heads);
  if (p->head_dim < 2 || p->rope_dim > p->head_dim || p->rope_dim % 2)
    return weights_bad(k->w, 0, "rotary positions of %lld of %lld elements", (long long)p->rope_dim,
                       (long long)p->head_dim);
  p->attention_scale = 1 / sqrt((double)(p->n_layers == p->arch->narrow_scale_layers ? p->width / p->heads
                                                                                     : p->head_dim));
  return read_rope_scaling(k, p);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static int64_t extent(const llm_params *p, char letter) {
  const int64_t q = p->heads * p->head_dim, k = p->kv_heads * p->head_dim, v = p->kv_heads * p->value_dim;
  switch (letter | 0x20) {
  case 'v': return p->vocab;
  case 'w': return p->width;
  case 'q': return q;
  case 'k': return k;
  case 'u': return v;
  case 'o': return p->heads * p->value_dim;
  case 'a': return q + k + v;
  case 'h': return p->head_dim;
  case 'f': return p->ffn;
  case 'g': return p->gate_in_up ? 2 * p->ffn : p->ffn;
  default: return p->rope_dim / 2;
  }
}

static tsr_status check_tensor(const weights *w, const llm_params *p, const weights_tensor *t, llm_slot slot) {
  const char *dims = slots[slot].dims;
  const int rank = (int)strlen(dims);
  bool same = t->shape.rank == rank;
  for (int i = 0; same && i < rank; i++) same = t->shape.dims[i] == extent(p, dims[i]);
  const tsr_dtype type = weights_read_type(t);
  const bool number = type == TSR_F32 || type == TSR_F16 || type == TSR_BF16;
  if (!number) return unsupported(w, "a tensor of a type that isn't read,", t->name);
  if (same) return NULL;
  char has[64] = "", needs[64] = "";
  for (int i = 0, at = 0; i < t->shape.rank; i++)
    at += snprintf(has + at, sizeof has - (size_t)at, "%s%lld", i ? "x" : "", (long long)t->shape.dims[i]);
  for (int i = 0, at = 0; i < rank; i++)
    at += snprintf(needs + at, sizeof needs - (size_t)at, "%s%lld", i ? "x" : "", (long long)extent(p, dims[i]));
  return weights_bad(w, t->offset, "tensor \"%s\" is %s, where the model's sizes say %s", t->name, has, needs);
}

/* "blk.12.attn_q.weight": the layer, and the rest; else -1. No zeros before a number: each tensor has one name. */
static int layer_of(const char *name, const char **rest) {
  *rest = name;
  if (strncmp(name, "blk.", 4) || name[4] < '0' || name[4] > '9') return -1;
  if (name[4] == '0' && name[5] != '.') return -1;
  char *end;
  const long layer = strtol(name + 4, &end, 10);
  if (*end != '.' || layer > MOST_LAYERS) return -1;
  *rest = end + 1;
  return (int)layer;
}

static tsr_status place(const weights *w, llm_params *p, const weights_tensor *t) {
  const char *rest;
  const int layer = layer_of(t->name, &rest);
  for (int s = 0; s != LLM_N_SLOTS && layer < p->n_layers; s++) {
    if (slots[s].layer != (layer >= 0) || strcmp(slots[s].name, rest)) continue;
    p->tensors[(layer + 1) * LLM_N_SLOTS + s] = t;
    return NULL;
  }
  return unsupported(w, "the architecture, as it is known here, has no tensor", t->name);
}

static tsr_status missing(const weights *w, const char *name, int layer) {
  char full[96];
  if (layer < 0) snprintf(full, sizeof full, "%s", name);
  else snprintf(full, sizeof full, "blk.%d.%s", layer, name);
  return weights_bad(w, 0, "the file has no tensor \"%s\"", full);
}

/* layer -1: the model's own. */
static tsr_status check_layer(const weights *w, const llm_params *p, int layer) {
  for (int s = 0; s != LLM_N_SLOTS; s++) {
    const weights_tensor *t = p->tensors[(layer + 1) * LLM_N_SLOTS + s];
    if (slots[s].layer != (layer >= 0)) continue;
    if (t) TSR_TRY(check_tensor(w, p, t, (llm_slot)s));
    else if (*slots[s].dims < 'a') return missing(w, slots[s].name, layer);
  }
  return NULL;
}

/* What a layer needs of what it may have in more than one form. */
static tsr_status check_forms(const weights *w, const llm_params *p, int layer) {
  const bool apart = !llm_tensor(p, LLM_QKV, layer);
  const llm_slot parts[3] = {LLM_Q, LLM_K, LLM_V};
  for (int i = 0; apart && i < 3; i++)
    if (!llm_tensor(p, parts[i], layer)) return missing(w, slots[parts[i]].name, layer);
  if (!apart && (llm_tensor(p, LLM_Q, layer) || llm_tensor(p, LLM_K, layer) || llm_tensor(p, LLM_V, layer)))
    return weights_bad(w, 0, "layer %d has its queries, keys and values in two forms", layer);
  if (!p->arch->parallel && !llm_tensor(p, LLM_FFN_NORM, layer)) return missing(w, slots[LLM_FFN_NORM].name, layer);
  if (!llm_tensor(p, LLM_GATE, layer) != !llm_tensor(p, LLM_GATE, 0))
    return missing(w, slots[LLM_GATE].name, llm_tensor(p, LLM_GATE, 0) ? layer : 0);
  return NULL;
}

static tsr_status read_factors(const weights *w, arena *a, llm_params *p) {
  const weights_tensor *t = llm_tensor(p, LLM_ROPE_FACTORS, 0);
  if (llm_tensor(p, LLM_ROPE_SHORT, 0)) { /* factors for texts up to the first context: longer ones are not run */
    const keys k = {w, p->arch->name};
    t = llm_tensor(p, LLM_ROPE_SHORT, 0);
    TSR_TRY(key_int(&k, "rope.scaling.original_context_length", p->context, 1, &p->context));
  }
  if (!t) return NULL;
  const size_t n = (size_t)p->rope_dim / 2;
  float *v = arena_array(a, float, n);
  double *d = arena_array(a, double, n);
  if (!v || !d) return st_oom();
  if (weights_read_type(t) != TSR_F32) return unsupported(w, "rotary factors that aren't f32:", t->name);
  TSR_TRY(weights_read(w, t, v, n * sizeof *v));
  for (size_t i = 0; i < n; i++)
    if (!isfinite(d[i] = (double)v[i]) || d[i] <= 0)
      return weights_bad(w, t->offset, "factor %zu of \"%s\" is %g", i, t->name, d[i]);
  p->rope_factors = d;
  return NULL;
}

static tsr_status read_tensors(const weights *w, arena *a, llm_params *p) {
  p->tensors = arena_array(a, const weights_tensor *, (size_t)(1 + p->n_layers) * LLM_N_SLOTS);
  if (!p->tensors) return st_oom();
  for (size_t i = 0; i < w->n_tensors; i++) TSR_TRY(place(w, p, &w->tensors[i]));
  const weights_tensor *e = llm_tensor(p, LLM_EMBEDDING, 0), *up = llm_tensor(p, LLM_UP, 0);
  p->vocab = e && e->shape.rank == 2 ? e->shape.dims[0] : 0;
  if (e && (p->vocab < 1 || p->vocab > MOST_SIZE))
    return weights_bad(w, e->offset, "a vocabulary of %lld", (long long)p->vocab);
  p->gate_in_up = !llm_tensor(p, LLM_GATE, 0) && up && up->shape.rank == 2 && up->shape.dims[0] == 2 * p->ffn;
  TSR_TRY(check_layer(w, p, -1));
  for (int l = 0; l < p->n_layers; l++) {
    TSR_TRY(check_layer(w, p, l));
    TSR_TRY(check_forms(w, p, l));
  }
  return read_factors(w, a, p);
}

tsr_status llm_params_read(const weights *w, arena *a, llm_params *out) {
  const weights_meta *m = weights_get_meta(w, "general.architecture");
  *out = (llm_params){.arch = NULL};
  if (strcmp(w->format, "gguf")) return unsupported(w, "no GGUF file, but", w->format);
  if (!m || m->kind != WEIGHTS_STRING) return weights_bad(w, m ? m->at : 0, "the file says no general.architecture");
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
    if (!strcmp(archs[i].name, m->v.s)) out->arch = &archs[i];
  if (!out->arch) return unsupported(w, "models are not run of the architecture", m->v.s);
  const keys k = {w, m->v.s};
  TSR_TRY(read_sizes(&k, out));
  return read_tensors(w, a, out);
}
