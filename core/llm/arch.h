/* core/llm/arch.h - what a GGUF file says of its model: the architecture's row, sizes, and where each tensor is. Every
 * size is checked against every tensor, and every tensor of the file is one that the architecture knows: a model that
 * would be run without one of its parts is refused. */
#ifndef CORE_LLM_ARCH_H
#define CORE_LLM_ARCH_H
#include "core/import/weights.h"

/* A family of decoders. What else they differ in (biases, norms of queries and keys, norms behind a block, one matrix
 * for queries, keys and values) is seen from the tensors that are there. */
typedef struct llm_arch {
  const char *name;
  bool interleaved;      /* rotary pairs are neighbours, not halves */
  bool layer_norm;       /* in place of rmsnorm */
  bool parallel;         /* attention and feed-forward read the same norm and are both added */
  bool scaled_embedding; /* by the root of the width */
  bool gelu;             /* by tanh, in place of x sigmoid(x) */
  int window_every;      /* of so many layers all but the last have the window; 0: none, 1: all */
  double local_base;     /* rotary base of layers with the window; 0: the same */
  int narrow_scale_layers; /* the member with so many layers scales scores by its width per head, not by head_dim */
} llm_arch;

/* Tensors of the model, then of each layer; llm/arch.c has a row for each. */
typedef enum llm_slot {
  LLM_EMBEDDING, LLM_OUTPUT_NORM, LLM_OUTPUT_NORM_BIAS, LLM_OUTPUT, LLM_OUTPUT_BIAS, LLM_ROPE_FACTORS,
  LLM_ROPE_LONG, LLM_ROPE_SHORT,
  LLM_ATTN_NORM, LLM_ATTN_NORM_BIAS, LLM_Q, LLM_Q_BIAS, LLM_K, LLM_K_BIAS, LLM_V, LLM_V_BIAS, LLM_QKV,
  LLM_QKV_BIAS, LLM_Q_NORM, LLM_K_NORM, LLM_ATTN_OUT, LLM_ATTN_OUT_BIAS, LLM_ATTN_POST_NORM, LLM_FFN_NORM,
  LLM_FFN_NORM_BIAS, LLM_GATE, LLM_UP, LLM_UP_BIAS, LLM_DOWN, LLM_DOWN_BIAS, LLM_FFN_POST_NORM,
  LLM_N_SLOTS
} llm_slot;

typedef struct llm_params {
  const llm_arch *arch;
  int n_layers;
  int64_t width, heads, kv_heads, head_dim, value_dim, ffn, vocab, context, rope_dim, window;
  double eps, rope_base, attention_cap, logit_cap;
  double attention_scale; /* of the scores */
  double rope_scale;      /* positions are divided by it */
  double rope_factor;     /* cosines and sines are multiplied by it */
  bool gate_in_up; /* feed-forward: the gate is the first half of the up matrix */
  const double *rope_factors; /* [rope_dim / 2]: frequencies are divided by them; NULL: by 1 */
  const weights_tensor **tensors; /* [1 + n_layers][LLM_N_SLOTS], the first row the model's; NULL: none */
} llm_params;

/* In the arena; the file must stay open. */
TSR_MUST_USE tsr_status llm_params_read(const weights *w, arena *a, llm_params *out);

/* layer: of slots that are a layer's. */
const weights_tensor *llm_tensor(const llm_params *p, llm_slot slot, int layer);
/* Whether a layer's attention sees a window alone. */
static inline bool llm_is_local(const llm_params *p, int layer) {
  const int every = p->arch->window_every;
  return p->window > 0 && every > 0 && (every == 1 || layer % every != every - 1);
}
#endif
