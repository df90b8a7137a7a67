/* core/llm/ranks.h - a decoder on a mesh: as model.c has it on one device, but each rank has its part of the weights,
 * the caches and the work. Sums stay whole, so that the logits are those of one device (graph.h). Between processes
 * every function but _close is collective. */
#ifndef CORE_LLM_RANKS_H
#define CORE_LLM_RANKS_H
#include "core/llm/graph.h"

enum { LLM_MOST_SIZES = 8 }; /* numbers of tokens that programs are made for */

typedef struct llm_ranks llm_ranks;

/* All must outlive the result; the mesh's only axis is LLM_MESH_AXIS. blocks: see llm_sizes. */
TSR_MUST_USE tsr_status llm_ranks_create(tsr_context *ctx, tsr_mesh *mesh, const llm_params *p, const weights *w,
                                         bool blocks, llm_ranks **out);
void llm_ranks_close(llm_ranks **r);
/* Caches of so many places, empty. */
TSR_MUST_USE tsr_status llm_ranks_begin(llm_ranks *r, int64_t cache);
/* Makes program number `size`, for so many tokens, if there is none. */
TSR_MUST_USE tsr_status llm_ranks_compile(llm_ranks *r, int size, int64_t tokens);
/* An input of that program, whole, on every rank the same. */
TSR_MUST_USE tsr_status llm_ranks_put(llm_ranks *r, int size, llm_input input, const void *whole);
/* logits: of the whole vocabulary. */
TSR_MUST_USE tsr_status llm_ranks_run(llm_ranks *r, int size, float *logits);
#endif
