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

const rt_custom *rt_custom_find(const tsr_context *c, const char *name);
/* Operands and result as host memory of the given types. */
void rt_custom_run(const rt_custom *x, const ir_type *const *types, void *const *data);
#endif
