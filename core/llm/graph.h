/* core/llm/graph.h - a decoder as a graph: so many tokens at places from `start` on, through all layers, with keys and
 * values in caches of a fixed length, to the logits of one of the tokens. Weights are inputs, so that programs of
 * several sizes share them. */
#ifndef CORE_LLM_GRAPH_H
#define CORE_LLM_GRAPH_H
#include "core/llm/arch.h"
#include "tessera/dist.h"

/* Inputs in this order; LLM_IN_CACHES: keys and values of each layer in turns, [1, kv_heads, cache, head_dim]; behind
 * them the weights. Outputs: the logits, [1, vocab] f32, then the caches. */
typedef enum llm_input {
  LLM_IN_TOKENS, /* i32 [tokens] */
  LLM_IN_START,  /* i32 []: place of the first token */
  LLM_IN_LENGTH, /* i32 [1]: start + tokens */
  LLM_IN_LAST,   /* i32 [1]: the token whose logits are wanted */
  LLM_IN_COS, LLM_IN_SIN,             /* f32 [tokens, rope_dim / 2] */
  LLM_IN_LOCAL_COS, LLM_IN_LOCAL_SIN, /* the same for layers with a base of their own; [1] where there are none */
  LLM_IN_CACHES
} llm_input;

/* A weight as the graph's input has it: in the block format of the file, as u8 [rows, bytes], or as elements; rows of
 * several tensors that multiply the same values follow one another. */
enum { LLM_MOST_JOINED = 3 };
typedef struct llm_weight {
  const weights_tensor *tensors[LLM_MOST_JOINED];
  int n; /* tensors */
  tsr_dtype dtype;
  bool blocks;
} llm_weight;

/* The elements of its tensor number i in the mapped file if they are there as the input has them, else NULL; bytes: how
 * many those are. */
const void *llm_weight_data(const weights *w, const llm_weight *x, int i, size_t *bytes);

typedef struct llm_graph {
  tsr_graph *g;
  llm_weight *weights; /* of the inputs behind the caches, in the arena; the same for any number of tokens */
  int n_weights;
} llm_graph;

typedef struct llm_sizes {
  int64_t tokens, cache;
  bool blocks; /* products read matrices in the block formats that they have, x rounded to 8 bits; else they are f32 */
  bool joined; /* matrices of one format that multiply the same values are one input: who loads them copies them */
  /* Rows of matrices, and heads in the caches, are cut by its axis where they are a multiple of its size: no sum is
   * split. NULL: one device. */
  const tsr_mesh *mesh;
} llm_sizes;
#define LLM_MESH_AXIS "tp"

/* The arena must outlive the result; out->g is the caller's. */
TSR_MUST_USE tsr_status llm_graph_build(tsr_context *ctx, const llm_params *p, arena *a, const llm_sizes *n,
                                        llm_graph *out);
#endif
