/* core/runtime/routine.h - routines: algorithms on whole matrices that ops of Graph IR name (GRAPH_ROUTINE), run by the
 * host's cores as calls of a program (tessera.target.routine). Each is one row here; shapes, types and attributes are
 * checked against the op's rule in Graph IR when a program is made, whatever its text said. */
#ifndef CORE_RUNTIME_ROUTINE_H
#define CORE_RUNTIME_ROUTINE_H
#include "core/runtime/routine_call.h"

/* The call of a tile.routine or target.routine op; checked. */
tsr_status routine_bind(tsr_program *p, const ir_op *op, routine_call **out);
#endif
