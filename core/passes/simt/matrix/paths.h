/* core/passes/simt/matrix/paths.h - the matrix paths, best first; the one place that names them. */
#ifndef CORE_PASSES_SIMT_MATRIX_PATHS_H
#define CORE_PASSES_SIMT_MATRIX_PATHS_H
#include "core/passes/simt/state.h"

extern const simt_matrix_path *const simt_paths[]; /* ended by NULL; the last one is fma */

#endif
