/* core/passes/target/build.h - short names for making Target IR: index arithmetic folded as it is made, structured
 * control flow by open and close. Out of memory is sticky in b.failed; values are then NULL and every function accepts
 * that. */
#ifndef CORE_PASSES_TARGET_BUILD_H
#define CORE_PASSES_TARGET_BUILD_H
#include "core/ir/target/target.h"

typedef struct tgb {
  ir_module *m;
  ir_builder b;
} tgb;

ir_op *tg_op(tgb *t, const char *name, const ir_type *result, int n, ir_value *const *v); /* result NULL = none */
ir_value *tg_value(tgb *t, const char *name, const ir_type *result, int n, ir_value *const *v);
#define TG_V(...) (int)(sizeof((ir_value *[]){__VA_ARGS__}) / sizeof(ir_value *)), (ir_value *[]){__VA_ARGS__}
void tg_int(tgb *t, ir_op *op, const char *name, int64_t v);
void tg_flag(tgb *t, ir_op *op, const char *name, bool v);
void tg_text(tgb *t, ir_op *op, const char *name, const char *v);

ir_value *tg_index(tgb *t, int64_t v);
ir_value *tg_number(tgb *t, tsr_dtype d, double v);
/* What the attribute `value` of a Tile IR op is as a number of type d. True: the integer *i, exactly (wrapped, or the
 * end of the type that a float is beyond); else the float *f. */
bool tg_value_of(const ir_op *op, tsr_dtype d, int64_t *i, double *f);
ir_value *tg_constant(tgb *t, tsr_dtype d, const ir_op *op); /* that */
ir_value *tg_add(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_sub(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_mul(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_div(tgb *t, ir_value *a, ir_value *b); /* of indices that are not negative */
ir_value *tg_rem(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_min(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_xor(tgb *t, ir_value *a, ir_value *b);
ir_value *tg_addi(tgb *t, ir_value *a, int64_t k);
ir_value *tg_muli(tgb *t, ir_value *a, int64_t k);
ir_value *tg_divi(tgb *t, ir_value *a, int64_t k);
ir_value *tg_remi(tgb *t, ir_value *a, int64_t k);
ir_value *tg_compare(tgb *t, const char *predicate, ir_value *a, ir_value *b);
ir_value *tg_select(tgb *t, ir_value *c, ir_value *a, ir_value *b);
ir_value *tg_cast(tgb *t, ir_value *v, tsr_dtype d);

const ir_type *tg_scalar_type(tgb *t, tsr_dtype d);
const ir_type *tg_vector_type(tgb *t, tsr_dtype d, int n);
const ir_type *tg_pointer_type(tgb *t, tsr_dtype d, const char *space);
ir_value *tg_local(tgb *t, tsr_dtype d, int n, const char *name);
ir_value *tg_shared(tgb *t, tsr_dtype d, int64_t offset, const char *name);
ir_value *tg_get(tgb *t, ir_value *array, ir_value *at);
ir_value *tg_get_vector(tgb *t, ir_value *array, ir_value *at, int n);
void tg_set(tgb *t, ir_value *v, ir_value *array, ir_value *at);
ir_value *tg_load(tgb *t, ir_value *p, ir_value *at, int n); /* n = 1: a scalar */
void tg_store(tgb *t, ir_value *v, ir_value *p, ir_value *at);
ir_value *tg_extract(tgb *t, ir_value *v, int at);
ir_value *tg_vector(tgb *t, int n, ir_value *const *v);
ir_value *tg_bitcast(tgb *t, ir_value *v, const ir_type *to);
ir_value *tg_named(ir_value *v, const char *name);

/* for (i = from; i < to; i += step) with n carried values; code goes into the body until tg_end. The results are the
 * op's. */
ir_op *tg_for(tgb *t, ir_value *from, ir_value *to, ir_value *step, int n, ir_value *const *init, const char *name);
ir_value *tg_counter(ir_op *loop);
ir_value *tg_carried(ir_op *loop, int i);
ir_op *tg_unrolled(tgb *t, int64_t n, const char *name); /* for i in 0..n, unrolled, nothing carried */
ir_op *tg_if(tgb *t, ir_value *condition);
void tg_else(tgb *t, ir_op *op);
void tg_end(tgb *t, ir_op *op, int n, ir_value *const *yields);
static inline void tg_close(tgb *t, ir_op *op) { tg_end(t, op, 0, NULL); }
#endif
