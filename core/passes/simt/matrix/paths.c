/* core/passes/simt/matrix/paths.c - the matrix paths, best first; the one place that names them. */
#include "core/passes/simt/matrix/paths.h"
#include "core/passes/simt/state.h"

extern const simt_matrix_path simt_path_wgmma, simt_path_mma, simt_path_mfma, simt_path_wmma, simt_path_coopmat2,
    simt_path_coopmat, simt_path_dot, simt_path_lane_n, simt_path_fma;

const simt_matrix_path *const simt_paths[] = {
    &simt_path_wgmma,   &simt_path_mma, &simt_path_mfma,    &simt_path_wmma, &simt_path_coopmat2,
    &simt_path_coopmat, &simt_path_dot, &simt_path_lane_n, &simt_path_fma,  NULL};
