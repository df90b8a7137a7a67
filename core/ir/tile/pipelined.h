/* core/ir/tile/pipelined.h - a loop that stages tiles: addresses, copies and gathers from memory into shared tiles that
 * nothing else uses, one full wait, then ops that write no memory. Its copies may run ahead of what is computed. Who
 * writes such a loop says so by the attribute `pipelined`, which the verifier checks and a lowering believes; text
 * written by hand needn't say so. */
#ifndef CORE_IR_TILE_PIPELINED_H
#define CORE_IR_TILE_PIPELINED_H
#include "core/ir/ir.h"

enum { TILE_PIPELINED_MOST = 8 };

typedef struct tile_pipelined {
  const ir_op *wait;
  ir_op *producer[TILE_PIPELINED_MOST]; /* copies and gathers into shared tiles, before the wait */
  ir_value *tile[TILE_PIPELINED_MOST];  /* their destinations */
  int n;
} tile_pipelined;

/* The parts of a loop that says so, or that is found to be such a loop. False: it is none. */
bool tile_pipelined_get(const ir_op *loop, tile_pipelined *out);
/* What may stand before the wait besides the producers. */
bool tile_is_address_op(const ir_op *op);

tsr_status tile_verify_for(const ir_op *op);
#endif
