/* core/passes/tile/contract_parts.h - writing out a tessera.tile.contract (tile/expand_contract.c): the op at hand, its
 * windows, what it stores. */
#ifndef CORE_PASSES_TILE_CONTRACT_PARTS_H
#define CORE_PASSES_TILE_CONTRACT_PARTS_H
#include "core/ir/tile/contract.h"

typedef struct expansion {
  ir_module *m;
  ir_op *op;
  tile_contract c;
  ir_builder b;
  bool copies_unfolded; /* a copy collects them */
  const char *refused; /* why nothing takes it; NULL: nobody was asked */
} expansion;

/* The ops that only the epilogue's operands need, each behind those it reads; end[i]: where operand i's end. They are
 * moved behind the loop, so that what they give doesn't live in registers during it. */
typedef struct movable {
  ir_op **v;
  int n, end[TILE_CONTRACT_MOST];
} movable;

ir_value *contract_number(expansion *e, int64_t v);
/* The window of operand i, moved by k along that (NULL: not) and, of its row `row` alone (negative: all). */
ir_value *contract_window(expansion *e, contract_role role, int i, ir_value *k, int row);
/* All of a contraction that is by_rows. */
tsr_status contract_by_rows(expansion *e);

/* Is its sum one of floats under kahan_sum? Then the loop carries two fragments: the sum, and what it lost. */
bool contract_is_compensated(const expansion *e);
/* Both with a step's product added; and in the end, the sum. */
tsr_status contract_add_part(expansion *e, ir_value *const sum_lost[2], ir_value *part, ir_value **out);
tsr_status contract_compensate(expansion *e, ir_value *const sum_lost[2], ir_value **out);

/* Before anything is written. */
tsr_status contract_find_movable(const expansion *e, movable *out);
/* Loads, maps and stores behind the loop: from the sum all outputs, and the op's results. */
tsr_status contract_write_epilogue(expansion *e, const movable *moved, ir_value *sum, ir_value **results);
/* The same of one row. */
tsr_status contract_write_row(expansion *e, int row, ir_value *sum);
#endif
