/* core/ir/tile/contract.h - the parts of a tessera.tile.contract by name: what verifier, expansion and the lowerings
 * that take a contraction whole read, so that none of them finds it again in loops and copies.
 *
 *   %s = "tessera.tile.contract"(from, to, a..., b..., others..., outputs...) ({prologue of a}, {prologue of b},
 *        {epilogue}) {maps = "mk,kn,mn->mn", tile = [m, n, k]}
 *
 * means: sum = 0; for (k0 = from; k0 < to; k0 += tile[2]) sum += A * B, where A and B are the tiles that the prologues
 * give, element by element, of the windows a and b moved to k0; then the epilogue gives what is stored to the outputs
 * (windows), and after these the results. Instead of a window, a side may have a tessera.tile.unfold. by_rows says how,
 * not what: see tile/expand_gemv.c. */
#ifndef CORE_IR_TILE_CONTRACT_H
#define CORE_IR_TILE_CONTRACT_H
#include "core/ir/ir.h"

enum { TILE_CONTRACT_MOST = 128, TILE_CONTRACT_ROWS = 16 }; /* operands behind from and to; rows of one by_rows */

typedef enum contract_role { CONTRACT_A, CONTRACT_B, CONTRACT_OTHER, CONTRACT_OUT, CONTRACT_N_ROLES } contract_role;

typedef struct tile_contract {
  const ir_op *op;                 /* itself, or the loop that is one (tile_contract_of_loop) */
  const ir_op *attrs;              /* the op that says policy */
  const ir_value *counter;         /* of such a loop: what its windows move by; NULL: they stand at k = 0 */
  const ir_value *result;          /* the first; NULL: none */
  ir_value *from, *to;             /* index: the range of k */
  int n[CONTRACT_N_ROLES];         /* operands of each role */
  ir_value **v[CONTRACT_N_ROLES];  /* and where they begin */
  bool swapped[TILE_CONTRACT_MOST]; /* by operand behind `to`: it lies [k, m], [n, k] or [n, m] */
  int64_t m, n_, k;                /* the tile; k is the step */
  bool by_rows;                    /* each row is computed for itself, k divided over the threads */
  const ir_block *prologue[2], *epilogue; /* NULL of a loop, which has none */
  tsr_dtype sum;                   /* type of the accumulator */
  tsr_dtype staged[2];             /* element types of the tiles A and B */
} tile_contract;

/* Fails, as the verifier would, on an op that isn't well formed. */
tsr_status tile_contract_get(const ir_op *op, tile_contract *out);
/* The same of a loop written by hand: fill 0; for k { windows; copies; wait; gemm }. False: it is something else, or a
 * contraction that was written out, which nothing takes (its attribute `refused`). */
bool tile_contract_of_loop(const ir_op *loop, tile_contract *out);
/* The side's tile is one window whose elements are multiplied as they are, all of them. */
bool tile_contract_is_plain(const tile_contract *c, contract_role side);
/* There is no output, and the one result is the sum. */
bool tile_contract_gives_sum(const tile_contract *c);
/* v is one known integer that an extent can be. */
bool tile_const_index(const ir_value *v, int64_t *out);
/* Operand i of a role lies the other way round than "mk", "kn" or "mn". */
bool tile_contract_swapped(const tile_contract *c, contract_role role, int i);
/* The value that a region yields is its argument i as it comes. */
bool tile_contract_gives_argument(const ir_block *region, int yield, int argument);
/* Which offset of the window is the one along k. */
int tile_contract_k_offset(const tile_contract *c, contract_role side, int i);
/* The same along m, of a window of a, others or outputs. */
int tile_contract_row_offset(const tile_contract *c, contract_role role, int i);
/* The view has one element along k, which repeats: its window doesn't move. */
bool tile_contract_repeats(const tile_contract *c, contract_role side, int i);

tsr_status tile_infer_contract(ir_op *op, const ir_type **results);
tsr_status tile_verify_contract(const ir_op *op);
#endif
