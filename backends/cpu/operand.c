/* backends/cpu/operand.c - see operand.h. */
#include "backends/cpu/operand.h"

#include <string.h>

cpuk_dtype vm_cpuk(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return CPUK_F64;
  case TSR_F32: case TSR_TF32: return CPUK_F32;
  case TSR_F16: return CPUK_F16;
  case TSR_BF16: return CPUK_BF16;
  case TSR_F8E4M3: return CPUK_F8E4M3;
  case TSR_F8E5M2: return CPUK_F8E5M2;
  case TSR_I64: return CPUK_I64;
  case TSR_I32: return CPUK_I32;
  case TSR_I16: return CPUK_I16;
  case TSR_I8: return CPUK_I8;
  case TSR_U8: return CPUK_U8;
  case TSR_BOOL: return CPUK_BOOL;
  default: return CPUK_N_DTYPE;
  }
}

cpuk_ct vm_ct(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return CPUK_CT_F64;
  case TSR_F32: return CPUK_CT_F32;
  case TSR_I64: return CPUK_CT_I64;
  case TSR_BOOL: return CPUK_CT_BOOL;
  default: return CPUK_CT_I32;
  }
}

bool vm_is_large(const vm *v, const cpu_desc *d, int64_t elements) {
  const int64_t *grid = v->l->k->grid;
  double bytes = (double)elements * (double)tsr_dtype_size((tsr_dtype)d->dtype) * (double)grid[0] * (double)grid[1] *
                 (double)grid[2];
  return v->l->stream_bytes && d->kind == CPU_D_VIEW && bytes > (double)v->l->stream_bytes;
}

bool vm_full(const vm *v, const cpu_desc *d) {
  if (d->kind == CPU_D_TILE) return true;
  return !memcmp(v->t->views[d->reg].ext, d->dims, sizeof(int64_t) * (size_t)d->rank);
}
