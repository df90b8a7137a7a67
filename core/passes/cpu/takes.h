/* core/passes/cpu/takes.h - which structured ops the CPU takes whole. */
#ifndef CORE_PASSES_CPU_TAKES_H
#define CORE_PASSES_CPU_TAKES_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Of a tessera.tile.contract: does its sum become one call; and *epilogue: what is stored of it one map? What isn't
 * taken must be written out before. */
bool cpu_takes_contract(const ir_op *op, bool *epilogue);
/* True of a tessera.tile.row that becomes a call of a reduction kernel, with maps around it; likewise. */
bool cpu_takes_row(const ir_op *op);
#endif
