/* core/passes/simt/access.c - single loads and stores of memory elements and vectors. */
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

/* Bools lie in memory as bytes. */
static tsr_dtype stored(tsr_dtype t) { return t == TSR_BOOL ? TSR_U8 : t == TSR_TF32 ? TSR_F32 : t; }

/* Of what is bound piece by piece the tile's first element, or what of the argument is next to it; at a multiple of 16,
 * as far as the tile's is one, so that vectors may stand there. */
static ir_value *near_tile(simt *c, const simt_mem *m) {
  ir_value *last = sx_int(c, (m->windowed - 1) / 16 * 16), *zero = sx_int(c, 0), *at = sx_min(c, m->base, last);
  return sx_op(c, SC_MAX, ir_type_index(c->m), 2, (ir_value *[]){at, zero});
}

ir_value *simt_harmless(simt *c, const simt_mem *m) {
  if (m->windowed && m->base) return near_tile(c, m);
  return m->shared && m->base ? m->base : sx_int(c, 0);
}

ir_value *sx_load(simt *c, const simt_mem *m, ir_value *index, int n) {
  int64_t dim = n;
  tsr_dtype t = stored(m->dtype);
  for (int d = 0; d < m->rank; d++) /* an empty tensor has no memory to read even with the value unused */
    if (!m->dims[d])
      return n == 1 ? sx_num(c, m->dtype, 0)
                    : sx_constant(c, ir_type_shaped(c->m, IR_T_VECTOR, m->dtype, 1, &dim), true, 0, 0);
  const ir_type *type = n == 1 ? ir_type_scalar(c->m, t) : ir_type_shaped(c->m, IR_T_VECTOR, t, 1, &dim);
  ir_value *v = type ? simt_simd_load(c, m, index, type, n) : NULL;
  if (!v) v = type ? sx_op(c, TG_LOAD, type, 2, (ir_value *[]){m->ptr, index}) : NULL;
  if (!v || m->dtype != TSR_BOOL) return v;
  ir_value *zero = n == 1 ? sx_num(c, TSR_U8, 0) : sx_constant(c, type, true, 0, 0);
  const ir_type *bools = n == 1 ? ir_type_scalar(c->m, TSR_BOOL) : ir_type_shaped(c->m, IR_T_VECTOR, TSR_BOOL, 1, &dim);
  return zero ? sx_numbered(c, SC_COMPARE, bools, "ne", 2, (ir_value *[]){v, zero}) : NULL;
}

void sx_store(simt *c, const simt_mem *m, ir_value *index, ir_value *v) {
  if (v && v->type->dtype != stored(m->dtype)) v = sx_cast(c, v, stored(m->dtype));
  sx_effect(c, TG_STORE, 3, (ir_value *[]){v, m->ptr, index});
}
