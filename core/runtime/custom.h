/* core/runtime/custom.h - users' own ops within a context. */
#ifndef CORE_RUNTIME_CUSTOM_H
#define CORE_RUNTIME_CUSTOM_H
#include "core/runtime/internal.h"

enum { RT_CUSTOM_OPERANDS = 32 };

typedef struct rt_custom {
  struct rt_custom *next;
  tsr_custom_op op;
  size_t name_bytes;
} rt_custom;

/* What one op of a program or graph hands to its callbacks; `call` points into the same struct. */
typedef struct rt_host_call {
  const rt_custom *custom;
  tsr_custom_tensor tensors[RT_CUSTOM_OPERANDS + 1]; /* operands, then the result */
  tsr_attr *attrs;
  tsr_custom_call call;
  struct routine_call *routine; /* of a routine, which has no custom op */
  struct rt_control *control;   /* of control flow, which has neither */
} rt_host_call;

tsr_custom_tensor rt_custom_tensor(const ir_type *t);
/* The call of op, whose custom op takes its first `n` operands; the result's type is left open. */
tsr_status rt_custom_call(tsr_context *c, arena *a, const ir_op *op, int n, rt_host_call *h);
#endif
