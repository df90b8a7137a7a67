/* Everything over strips, and the table of it: the whole of lanes_<isa>.c. Included after vec_<isa>.h and kernels.h. */
#include "body_convert.h"
#include "body_math.h"
#include "body_move.h"

#include "body_elementwise.h"

#include "body_map_fold.h"

#include "body_map.h"

#include "body_reduce.h"

#include "body_convolve.h"

const cpuk_lanes CPUK_FN(lanes) = {
    .unary = UNARY_ROWS,
    .binary = BINARY_ROWS(),
    .binary_vs = BINARY_ROWS(_vs),
    .binary_sv = BINARY_ROWS(_sv),
    .cmp = CMP_ROWS(),
    .cmp_vs = CMP_ROWS(_vs),
    .select = {select8, select16, select32, select64},
    .fma = {fma_f32, fma_f64, fma_i32, NULL, fma_i64},
    .convert = CONVERT_TABLE,
    .round_tf32 = round_tf32,
    .reduce = REDUCE_ROWS(reduce),
    .reduce_cols = REDUCE_ROWS(cols),
    .copy2d = CPUK_FN(copy2d),
    .stream = CPUK_FN(stream),
    .stream_fence = CPUK_FN(stream_fence),
    .fill = CPUK_FN(fill),
    .iota = CPUK_FN(iota),
    .map = CPUK_FN(map),
    .convolve = CPUK_FN(convolve),
    .convolve_width = VF,
};
