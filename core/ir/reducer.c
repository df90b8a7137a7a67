/* core/ir/reducer.c - see reducer.h. */
#include "core/ir/reducer.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"

const ir_reducer ir_reducers[N_REDUCERS] = {
    [REDUCER_SUM] = {"sum", SC_ADD},
    [REDUCER_PROD] = {"prod", SC_MUL},
    [REDUCER_MAX] = {"max", SC_MAX},
    [REDUCER_MIN] = {"min", SC_MIN},
};

const ir_reducer *ir_reducer_named(const char *name) {
  for (int i = 0; i < N_REDUCERS; i++)
    if (!strcmp(ir_reducers[i].name, name)) return &ir_reducers[i];
  return NULL;
}

const ir_reducer *ir_reducer_of(const ir_op *op) {
  const ir_reducer *r = ir_reducer_named(ir_get_str(op, "op", ""));
  return r ? r : &ir_reducers[REDUCER_SUM];
}

double ir_reducer_identity(const ir_reducer *r, tsr_dtype t) {
  const dtype_info *d = dtype_get(t);
  switch (r->code) {
  case SC_MUL: return 1;
  case SC_MAX: return d->is_float ? -INFINITY : d->is_signed ? -d->max - 1 : 0;
  case SC_MIN: return d->is_float ? INFINITY : d->max;
  default: return 0;
  }
}
