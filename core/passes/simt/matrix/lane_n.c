/* core/passes/simt/matrix/lane_n.c - gemm for drivers whose subgroup is a SIMD register of a CPU (llvmpipe), where a
 * schedule asks for it: neighbouring columns in neighbouring lanes. A step along k then is a vector load of b for each
 * register of columns (simt/simd.c) and a broadcast of a's element for each row, where `fma` has rows in lanes and
 * gathers a. The outer product itself is fma's (simt/matrix/gemm.c). Indices are of 64 bits: a 32-bit sum may wrap, so
 * the driver's compiler would widen every address by itself instead of adding a constant within the load. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/matrix/gemm.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

static const char *lane_n_fits(const simt *c, const simt_gemm *g) {
  int64_t size = (int64_t)tsr_dtype_size(g->b);
  if (!simt_is_simd(c)) return "";
  if (g->B.transposed) return "columns of b don't lie side by side";
  if (size > SIMT_LANE_N_WORD || g->n % (c->subgroup * (SIMT_LANE_N_WORD / size)))
    return "rows of b are no whole registers";
  return NULL;
}

/* Subgroups along m down to 8 rows of registers, then along n. */
static void lane_n_layout(simt *c, const simt_gemm *g, int64_t m, int64_t n, simt_layout *l) {
  enum { ROWS = 8, REGISTERS = 2 };
  int64_t rows = pow2_ceil(m),
          registers = ceil_div(pow2_ceil(n),
                                    (int64_t)c->subgroup * (SIMT_LANE_N_WORD / (int64_t)tsr_dtype_size(g->b)));
  l->rank = 2;
  l->vec[0] = l->inner[0] = l->inner[1] = l->lanes[0] = l->warps[0] = l->warps[1] = 1;
  l->lanes[1] = c->subgroup;
  l->vec[1] = SIMT_LANE_N_WORD / (int)tsr_dtype_size(g->b);
  for (int w = c->warps; w % 2 == 0 && (rows > 1 || registers > 1); w /= 2) {
    bool down = rows > ROWS || (registers <= REGISTERS && rows > 1) || registers == 1;
    l->warps[!down] *= 2;
    *(down ? &rows : &registers) /= 2;
  }
}

static bool lane_n_wants_mem(const simt *c, const simt_gemm *g, int operand) { return true; }

const simt_matrix_path simt_path_lane_n = {.name = "lane_n", .only_asked = true,
                                           .ops = OPS_SPIRV,
                                           .wide_index = true,
                                           .broadcasts = true,
                                           .fits = lane_n_fits,
                                           .layout = lane_n_layout,
                                           .wants_mem = lane_n_wants_mem,
                                           .gemm = simt_fma_gemm};
