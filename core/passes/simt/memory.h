/* core/passes/simt/memory.h - tiles of memory: views, windows, copies, fragments to and from it. */
#ifndef CORE_PASSES_SIMT_MEMORY_H
#define CORE_PASSES_SIMT_MEMORY_H
#include "core/passes/simt/state.h"

/* A fragment's registers to memory and back, with bounds, conversion and the widest legal accesses. */
tsr_status simt_store_frag(simt *c, const simt_frag *f, const simt_mem *to);
tsr_status simt_load_frag(simt *c, const simt_mem *from, const simt_layout *l, tsr_dtype t, simt_frag *out);
int simt_access_width(const simt *c, const simt_mem *m, int want);
/* Registers [r0, r1) of a fragment in layout l, from or to memory; v is indexed from r0. clipped: check m's limits too.
 */
tsr_status simt_access_regs(simt *c, const simt_layout *l, const simt_mem *m, bool store, bool clipped, int r0, int r1,
                            ir_value **v);
/* The condition under which register r (and its w - 1 neighbours) lies in the tile and, if clipped, in the view; NULL =
 * always. *never: statically outside. */
ir_value *simt_register_guard(simt *c, const simt_layout *l, const simt_mem *m, bool clipped, int r, bool *never);
ir_value *simt_interior(simt *c, const simt_mem *m); /* NULL = always inside */
tsr_status simt_lower_view(simt *c, ir_op *op);
tsr_status simt_lower_window(simt *c, ir_op *op);
tsr_status simt_copy_async(simt *c, const simt_layout *l, const simt_mem *from, const simt_mem *to, int w);
tsr_status simt_copy(simt *c, const ir_op *op, const simt_mem *from, const simt_mem *to);
tsr_status simt_load_clipped(simt *c, const simt_layout *l, const simt_mem *m, ir_value **v);

#endif
