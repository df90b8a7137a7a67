/* core/llm/model.h - a decoder on a device: a GGUF file's weights in buffers, programs for several numbers of tokens,
 * and a text on its way: the keys and values of all its tokens so far. One call at a time per model. */
#ifndef CORE_LLM_MODEL_H
#define CORE_LLM_MODEL_H
#include "core/llm/graph.h"
#include "core/llm/tokenizer.h"

typedef struct llm_model llm_model;

/* Reads the file, which stays open, and makes its tokenizer; the device must outlive the model. */
TSR_MUST_USE tsr_status llm_model_open(tsr_context *ctx, tsr_device *dev, const char *path, llm_model **out);
/* The same on a mesh of such devices (ranks.h), which must outlive the model, too; NULL: on the device alone. Between
 * processes llm_model_append is collective, of the same tokens. */
TSR_MUST_USE tsr_status llm_model_open_mesh(tsr_context *ctx, tsr_device *dev, tsr_mesh *mesh, const char *path,
                                            llm_model **out);
void llm_model_close(llm_model **m);
const tokenizer *llm_model_tokenizer(const llm_model *m);
int32_t llm_model_vocab(const llm_model *m);
/* tokenizer.chat_template; NULL: the file has none. */
const char *llm_model_chat_template(const llm_model *m);

/* Begins a text that will have at most so many tokens: memory for its keys and values. TSR_INVALID_ARGUMENT above the
 * model's context. */
TSR_MUST_USE tsr_status llm_model_begin(llm_model *m, int64_t most);
/* Appends n > 0 tokens and gives the logits behind the last, llm_model_vocab of them; they belong to the model and
 * change with the next call. */
TSR_MUST_USE tsr_status llm_model_append(llm_model *m, const int32_t *tokens, int64_t n, const float **logits);
#endif
