/* core/dist/taken.h - transposes that cost nothing: products take their operands as these lie. */
#ifndef CORE_DIST_TAKEN_H
#define CORE_DIST_TAKEN_H
#include "core/base/arena.h"
#include "core/ir/graph/ops.h"

/* By op of the function, whose scratch is its place: a transpose that products alone read, as it lies. NULL: out of
 * memory. */
bool *dist_taken(arena *a, const ir_op *func);
#endif
