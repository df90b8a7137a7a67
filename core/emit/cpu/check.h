/* core/emit/cpu/check.h - what the CPU's micro-kernels take, asked of an op of Target IR before code is made of it. The
 * micro-kernels write what their operands' types say, and text can say anything: all that they rely on is refused here,
 * with one line, if it doesn't hold. */
#ifndef CORE_EMIT_CPU_CHECK_H
#define CORE_EMIT_CPU_CHECK_H
#include "core/emit/cpu/code.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/unfold.h"

enum { EMIT_CPU_MOST_OPERANDS = 64 }; /* of a map */

/* The n values, op's operands, results or arguments, have element types that the CPU computes with. */
tsr_status emit_cpu_check_types(const ir_op *op, ir_value *const *v, int n);
/* n operands, of which the first n_tiles are tiles or views. */
tsr_status emit_cpu_check_operands(const ir_op *op, int n, int n_tiles);
/* The map of a call of "unfold": a tile, a view of its type, batch, row and column. */
tsr_status emit_cpu_read_unfold(const ir_op *op, tile_unfold *out);
/* The same of a call of "convolve": [m, n], [m, k], a view of its type, batch and row; *reach: elements of the image's
 * part that n rows from there reach, with what holds them (emit_cpu_convolve_reach). */
tsr_status emit_cpu_read_convolve(const ir_op *op, tile_unfold *out, int64_t *reach);
/* -1: it has no lines to convolve along, or more than a block should hold. */
int64_t emit_cpu_convolve_reach(const tile_unfold *u, const ir_type *image);
/* A call of reduction kernel fn with n operands: its result, its rows, and those of n_optional that it `has`. */
tsr_status emit_cpu_check_row(const ir_op *op, int n, int n_optional, const bool *has, cpu_row_fn fn);
/* A tessera.target.map that verifies: few enough operands, each computed with in the region in the type that its
 * elements are computed in. */
tsr_status emit_cpu_check_map(const ir_op *op);
/* The n values are scalars or indices, which registers hold. */
tsr_status emit_cpu_check_scalars(const ir_op *op, ir_value *const *v, int n);
#endif
