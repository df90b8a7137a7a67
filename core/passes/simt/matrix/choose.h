/* core/passes/simt/matrix/choose.h - which matrix path a kernel takes. */
#ifndef CORE_PASSES_SIMT_MATRIX_CHOOSE_H
#define CORE_PASSES_SIMT_MATRIX_CHOOSE_H
#include "core/passes/simt/state.h"

tsr_status simt_choose_path(simt *c);
/* The matrix path that the kernel, its schedule or TSR_MATRIX asks for; "auto" where nobody does. */
const matrix_path *simt_requested_path(const ir_op *kernel);

#endif
