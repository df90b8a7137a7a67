/* tests/support/llm_reference.h - the logits of a file of llm_file.h behind its last token, in f64 and by the textbook:
 * all tokens at once, no cache, one loop for each index. */
#ifndef TESTS_SUPPORT_LLM_REFERENCE_H
#define TESTS_SUPPORT_LLM_REFERENCE_H
#include <math.h>

#include "tests/support/llm_file.h"

enum { LLM_MOST_TOKENS = 48 };

typedef struct llm_ref {
  const llm_file *f;
  int n, layer;
  double x[LLM_MOST_TOKENS][LLM_WIDTH];
  double q[LLM_MOST_TOKENS][LLM_HEADS * LLM_DIM], kv[2][LLM_MOST_TOKENS][LLM_KV_HEADS * LLM_DIM];
} llm_ref;

static inline const float *llm_ref_tensor(const llm_ref *r, const char *name) {
  char full[64];
  snprintf(full, sizeof full, "blk.%d.%s", r->layer, name);
  return llm_file_tensor(r->f, full);
}

static inline void llm_ref_product(const float *w, const float *bias, int rows, int columns, const double *x,
                                   double *y) {
  for (int i = 0; i < rows; i++) {
    y[i] = bias ? (double)bias[i] : 0;
    for (int k = 0; k < columns; k++) y[i] += (double)w[i * columns + k] * x[k];
  }
}

static inline void llm_ref_norm(const float *w, const float *bias, bool layer_norm, int n, const double *x, double *y) {
  double mean = 0, square = 0;
  for (int i = 0; i < n && layer_norm; i++) mean += x[i] / n;
  for (int i = 0; i < n; i++) square += (x[i] - mean) * (x[i] - mean) / n;
  for (int i = 0; i < n; i++)
    y[i] = (x[i] - mean) / sqrt(square + 1e-5) * (double)w[i] + (bias ? (double)bias[i] : 0);
}

static inline double llm_ref_activation(const llm_ref *r, double x) {
  const char *a = r->f->o->arch;
  const bool gelu = !strncmp(a, "gemma", 5) || !strcmp(a, "phi2");
  return gelu ? 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x))) : x / (1 + exp(-x));
}

static inline bool llm_ref_is_local(const llm_ref *r) {
  const char *a = r->f->o->arch;
  if (!r->f->o->window) return false;
  return !strcmp(a, "phi3") || (!strcmp(a, "gemma2") && r->layer % 2 == 0) ||
         (!strcmp(a, "gemma3") && r->layer % 6 != 5);
}

static inline void llm_ref_rotate(const llm_ref *r, int place, double *head) {
  const int dim = r->f->o->rope_dim ? r->f->o->rope_dim : LLM_DIM;
  const bool pairs = !strcmp(r->f->o->arch, "llama");
  const double base = !strcmp(r->f->o->arch, "gemma3") && llm_ref_is_local(r) ? 10000 : 1000;
  for (int i = 0; i < dim / 2; i++) {
    const int a = pairs ? 2 * i : i, b = pairs ? 2 * i + 1 : i + dim / 2;
    const double angle = place * pow(base, -2.0 * i / dim), x = head[a], y = head[b];
    head[a] = x * cos(angle) - y * sin(angle);
    head[b] = y * cos(angle) + x * sin(angle);
  }
}

static inline void llm_ref_heads(llm_ref *r, int t, const double *h) {
  const llm_file_options *o = r->f->o;
  const int q = LLM_HEADS * LLM_DIM, k = LLM_KV_HEADS * LLM_DIM;
  const float *w[3], *b[3];
  const char *const names[3] = {"attn_q", "attn_k", "attn_v"};
  for (int i = 0; i < 3; i++) {
    char full[32];
    const int at = i == 0 ? 0 : i == 1 ? q : q + k;
    snprintf(full, sizeof full, "%s.weight", names[i]);
    w[i] = o->joined_qkv ? llm_ref_tensor(r, "attn_qkv.weight") + at * LLM_WIDTH : llm_ref_tensor(r, full);
    snprintf(full, sizeof full, "%s.bias", names[i]);
    b[i] = !o->biases ? NULL : o->joined_qkv ? llm_ref_tensor(r, "attn_qkv.bias") + at : llm_ref_tensor(r, full);
  }
  llm_ref_product(w[0], b[0], q, LLM_WIDTH, h, r->q[t]);
  llm_ref_product(w[1], b[1], k, LLM_WIDTH, h, r->kv[0][t]);
  llm_ref_product(w[2], b[2], k, LLM_WIDTH, h, r->kv[1][t]);
  for (int i = 0; i < LLM_HEADS + LLM_KV_HEADS; i++) {
    double *head = i < LLM_HEADS ? r->q[t] + i * LLM_DIM : r->kv[0][t] + (i - LLM_HEADS) * LLM_DIM;
    const float *norm = llm_ref_tensor(r, i < LLM_HEADS ? "attn_q_norm.weight" : "attn_k_norm.weight");
    if (norm) llm_ref_norm(norm, NULL, false, LLM_DIM, head, head);
    llm_ref_rotate(r, t, head);
  }
}

static inline void llm_ref_attend(const llm_ref *r, int t, double *out) {
  const int shared = LLM_HEADS / LLM_KV_HEADS, window = llm_ref_is_local(r) ? r->f->o->window : r->n;
  const double cap = r->f->o->softcap;
  for (int h = 0; h < LLM_HEADS; h++) {
    double score[LLM_MOST_TOKENS], sum = 0;
    for (int d = 0; d < LLM_DIM; d++) out[h * LLM_DIM + d] = 0;
    for (int s = t - window < 0 ? 0 : t - window + 1; s <= t; s++) {
      score[s] = 0;
      for (int d = 0; d < LLM_DIM; d++)
        score[s] += r->q[t][h * LLM_DIM + d] * r->kv[0][s][h / shared * LLM_DIM + d] / sqrt(LLM_DIM);
      if (cap > 0) score[s] = cap * tanh(score[s] / cap);
      sum += exp(score[s]);
    }
    for (int s = t - window < 0 ? 0 : t - window + 1; s <= t; s++)
      for (int d = 0; d < LLM_DIM; d++)
        out[h * LLM_DIM + d] += exp(score[s]) / sum * r->kv[1][s][h / shared * LLM_DIM + d];
  }
}

static inline void llm_ref_feed(const llm_ref *r, const double *h, double *y) {
  const llm_file_options *o = r->f->o;
  double up[2 * LLM_FFN], gate[LLM_FFN];
  llm_ref_product(llm_ref_tensor(r, "ffn_up.weight"), llm_ref_tensor(r, "ffn_up.bias"),
                  o->joined_gate ? 2 * LLM_FFN : LLM_FFN, LLM_WIDTH, h, up);
  if (!o->parallel && !o->joined_gate)
    llm_ref_product(llm_ref_tensor(r, "ffn_gate.weight"), NULL, LLM_FFN, LLM_WIDTH, h, gate);
  for (int i = 0; i < LLM_FFN; i++) {
    if (o->parallel) up[i] = llm_ref_activation(r, up[i]);
    else if (o->joined_gate) up[i] = llm_ref_activation(r, up[i]) * up[LLM_FFN + i];
    else up[i] *= llm_ref_activation(r, gate[i]);
  }
  llm_ref_product(llm_ref_tensor(r, "ffn_down.weight"), NULL, LLM_WIDTH, LLM_FFN, up, y);
}

static inline void llm_ref_layer(llm_ref *r) {
  const llm_file_options *o = r->f->o;
  static double h[LLM_MOST_TOKENS][LLM_WIDTH];
  for (int t = 0; t < r->n; t++) {
    llm_ref_norm(llm_ref_tensor(r, "attn_norm.weight"), llm_ref_tensor(r, "attn_norm.bias"), o->layer_norm, LLM_WIDTH,
                 r->x[t], h[t]);
    llm_ref_heads(r, t, h[t]);
  }
  for (int t = 0; t < r->n; t++) {
    double seen[LLM_HEADS * LLM_DIM], y[LLM_WIDTH], z[LLM_WIDTH];
    llm_ref_attend(r, t, seen);
    llm_ref_product(llm_ref_tensor(r, "attn_output.weight"), NULL, LLM_WIDTH, LLM_HEADS * LLM_DIM, seen, y);
    if (o->post_norms) llm_ref_norm(llm_ref_tensor(r, "post_attention_norm.weight"), NULL, false, LLM_WIDTH, y, y);
    for (int i = 0; i < LLM_WIDTH; i++) r->x[t][i] += y[i];
    if (!o->parallel)
      llm_ref_norm(llm_ref_tensor(r, "ffn_norm.weight"), llm_ref_tensor(r, "ffn_norm.bias"), o->layer_norm, LLM_WIDTH,
                   r->x[t], h[t]);
    llm_ref_feed(r, h[t], z);
    if (o->post_norms) llm_ref_norm(llm_ref_tensor(r, "post_ffw_norm.weight"), NULL, false, LLM_WIDTH, z, z);
    for (int i = 0; i < LLM_WIDTH; i++) r->x[t][i] += z[i];
  }
}

static inline void llm_reference(const llm_file *f, const int32_t *tokens, int n, double *logits) {
  static llm_ref r;
  r = (llm_ref){.f = f, .n = n};
  const bool scaled = !strncmp(f->o->arch, "gemma", 5);
  const float *table = llm_file_tensor(f, "token_embd.weight");
  for (int t = 0; t < n; t++)
    for (int i = 0; i < LLM_WIDTH; i++)
      r.x[t][i] = (double)table[tokens[t] * LLM_WIDTH + i] * (scaled ? sqrt(LLM_WIDTH) : 1);
  for (r.layer = 0; r.layer < LLM_LAYERS; r.layer++) llm_ref_layer(&r);
  double h[LLM_WIDTH];
  llm_ref_norm(llm_file_tensor(f, "output_norm.weight"), llm_file_tensor(f, "output_norm.bias"), f->o->layer_norm,
               LLM_WIDTH, r.x[n - 1], h);
  llm_ref_product(table, NULL, LLM_VOCAB, LLM_WIDTH, h, logits);
  for (int i = 0; i < LLM_VOCAB && f->o->softcap > 0; i++) logits[i] = f->o->softcap * tanh(logits[i] / f->o->softcap);
}
#endif
