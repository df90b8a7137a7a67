/* core/ir/graph/bytes.h - integers of 8 bits as quantized models have numbers: (x - zero) scale. */
#ifndef CORE_IR_GRAPH_BYTES_H
#define CORE_IR_GRAPH_BYTES_H
#include "core/ir/graph/ops.h"

/* i8 or u8; v may be NULL. */
bool graph_is_bytes(const ir_value *v);

/* A value in f32 that is scale cast(x) or scale cast(cast(x) - zero), the difference in i32. */
typedef struct graph_scaled {
  ir_value *x;    /* bytes, of the value's shape */
  ir_value *zero; /* i32; NULL: 0 */
  ir_value *scale;
} graph_scaled;
bool graph_scaled_bytes(const ir_value *v, graph_scaled *out);

/* Sums of a constant's bytes over axes [from, to): one for each place along the others, in their order. */
void graph_byte_sums(const ir_op *constant, int from, int to, uint32_t *sums);
#endif
