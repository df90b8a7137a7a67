/* tessera/weights.h - files of weights: safetensors, .npz and GGUF, by their content. A file is mapped: opening it
 * copies nothing, and constants that a graph takes from it stay in it. Conventions are tessera.h's; docs/weights.md has
 * what is read of each format. */
#ifndef TESSERA_WEIGHTS_H
#define TESSERA_WEIGHTS_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tensors with names. Several threads may read one at once; the file must not be shortened while it is open. */
typedef struct tsr_weights tsr_weights;

/* TSR_PARSE_ERROR names the offset of what is wrong in the file. */
TSR_API TSR_MUST_USE tsr_status tsr_weights_open(tsr_context *ctx, const char *path, tsr_weights **out);
TSR_API void tsr_weights_close(tsr_weights **w);
TSR_API int tsr_weights_count(const tsr_weights *w);
/* i counts from 0, in the file's order; the name belongs to w. dtype is the type that the elements are read as, of
 * quantised blocks f32; TSR_DTYPE_NONE and no bytes where the library has no reader for the file's type. */
TSR_API tsr_tensor_info tsr_weights_tensor(const tsr_weights *w, int i);
/* The number of the tensor of that name; -1: there is none. */
TSR_API int tsr_weights_find(const tsr_weights *w, const char *name);
/* The elements of tensor i, row-major, into dst, which has room for exactly tsr_weights_tensor's bytes. */
TSR_API TSR_MUST_USE tsr_status tsr_weights_read(const tsr_weights *w, int i, void *dst, size_t bytes);
/* The tensor of that name as a constant of a graph of the same context. Its elements stay in the file where they are
 * there as they are, else (compressed, in the other byte order) they are copied; of quantised blocks the value is
 * `dequantize` of the blocks, which products read as they lie. w may be closed before the graph goes. TSR_NOT_FOUND:
 * no tensor of that name; TSR_UNSUPPORTED: no reader for its type. Of a name X.weight that the file has as X.qweight,
 * X.qzeros and X.scales, as GPTQ and AWQ lay out matrices of few bits, the value is X.weight all the same: blocks of
 * q4_0, or of q8_0, that hold exactly what the file means (docs/weights.md). */
TSR_API TSR_MUST_USE tsr_status tsr_graph_weight(tsr_graph *g, const tsr_weights *w, const char *name, tsr_value *out);

#ifdef __cplusplus
}
#endif
#endif
