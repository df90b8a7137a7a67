/* core/import/onnx/heads.h - what the ops of attention have in common, ONNX's and com.microsoft's (ops_attention.c). */
#ifndef CORE_IMPORT_ONNX_HEADS_H
#define CORE_IMPORT_ONNX_HEADS_H
#include "core/import/onnx/cv.h"

/* [batch, length, heads * width] to [batch, heads, length, width]; x of another rank stays. */
ir_value *cv_heads_first(cv *c, ir_value *x, int64_t heads);
/* [batch, heads, length, width] to [batch, length, heads * width] */
ir_value *cv_heads_last(cv *c, ir_value *x);
/* x [batch, heads, length, width] or [batch, length, heads * width] turned by tables [batch, length, half], or, with
 * positions [batch, length], [places, half]; the node says how many of a head's elements, and which are pairs. */
ir_value *cv_rotary(cv *c, ir_value *x, ir_value *cos, ir_value *sin, ir_value *positions, int64_t heads);
/* The same of x [batch, heads, length, width]; interleaved: pairs are neighbours, not halves. */
ir_value *cv_rotary_pairs(cv *c, ir_value *x, ir_value *cos, ir_value *sin, ir_value *positions, bool interleaved);
#endif
