/* core/passes/simt/matrix/coopmat_map.h - element code on accumulators that stay cooperative matrices. */
#ifndef CORE_PASSES_SIMT_MATRIX_COOPMAT_MAP_H
#define CORE_PASSES_SIMT_MATRIX_COOPMAT_MAP_H
#include "core/passes/simt/state.h"

bool coop_keeps(const simt *c, const ir_value *v);
bool coop_needs_registers(const simt *c); /* some op takes single elements of accumulators */
tsr_status coop_map(simt *c, ir_op *op, bool *done);
tsr_status coop_load_frag(simt *c, const ir_op *op, const simt_mem *m, const simt_layout *l, simt_frag *out,
                          bool *done);
tsr_status coop_reduce(simt *c, ir_op *op, bool *done);

#endif
