/* core/passes/simt/build.h - building simplified, value-numbered code at the insertion point. */
#ifndef CORE_PASSES_SIMT_BUILD_H
#define CORE_PASSES_SIMT_BUILD_H
#include "core/ir/target/fold.h"
#include "core/passes/simt/state.h"

/* All return NULL after out of memory, and accept NULL operands then; c->b.failed is sticky. */
ir_value *sx_op(simt *c, int code, const ir_type *type, int n,
                ir_value *const *operands); /* result type NULL = the first operand's */
ir_op *sx_effect(simt *c, int code, int n, ir_value *const *operands);                      /* no result */
ir_value *sx_int(simt *c, int64_t v);                                                       /* index */
ir_value *sx_num(simt *c, tsr_dtype t, double v);
/* The attribute `value` of op as a number of type t: integers exactly, wrapped. */
ir_value *sx_value(simt *c, tsr_dtype t, const ir_op *op);
static inline bool sx_const(const ir_value *v, int64_t *out) { return target_index_const(v, out); }
ir_value *sx_add(simt *c, ir_value *a, ir_value *b);
ir_value *sx_sub(simt *c, ir_value *a, ir_value *b);
ir_value *sx_mul(simt *c, ir_value *a, ir_value *b);
ir_value *sx_div(simt *c, ir_value *a, ir_value *b); /* index operands must not be negative */
ir_value *sx_rem(simt *c, ir_value *a, ir_value *b);
ir_value *sx_min(simt *c, ir_value *a, ir_value *b);
ir_value *sx_addi(simt *c, ir_value *a, int64_t k);
ir_value *sx_muli(simt *c, ir_value *a, int64_t k);
ir_value *sx_compare(simt *c, const char *predicate, ir_value *a, ir_value *b);
ir_value *sx_all(simt *c, ir_value *a, ir_value *b); /* and of two bools; NULL = true */
ir_value *sx_select(simt *c, ir_value *cond, ir_value *a, ir_value *b);
ir_value *sx_cast(simt *c, ir_value *v, tsr_dtype t); /* scalar or vector, no-op if it is one already */
ir_value *sx_fma(simt *c, ir_value *a, ir_value *b, ir_value *acc);
ir_value *sx_extract(simt *c, ir_value *v, int at);
ir_value *sx_vector(simt *c, int n, ir_value *const *v);
/* Registers that a region yields, w neighbours as one vector (of sx_pack_type), and back. w = sx_together(n, run): on
 * AMD the run of neighbours in memory, since its compiler spreads narrow ones over a register each; elsewhere 1. */
int sx_together(const simt *c, int n, int run);
const ir_type *sx_pack_type(simt *c, tsr_dtype t, int w);
void sx_pack(simt *c, int n, int w, ir_value *const *v, ir_value **out); /* out may be v */
void sx_unpack(simt *c, int n, int w, ir_value *const *v, ir_value **out);
/* A region on which the insertion point stands until sx_close; results are what it yields. */
ir_op *sx_if(simt *c, ir_value *cond, int n_results, const ir_type *const *types, bool with_else);
void sx_else(simt *c, ir_op *op, int n, ir_value *const *yields); /* closes the first region, opens the second */
void sx_close(simt *c, ir_op *op, int n, ir_value *const *yields);
ir_value *sx_constant(simt *c, const ir_type *type, bool is_int, int64_t i, double f);
/* An op that is made once for the same operands. */
ir_value *sx_numbered(simt *c, int code, const ir_type *type, const char *predicate, int n, ir_value *const *v);
size_t sx_mark(const simt *c);
#endif
