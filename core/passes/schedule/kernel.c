/* core/passes/schedule/kernel.c - see schedule/kernel.h. */
#include "core/passes/schedule/kernel.h"

#include <string.h>

#include "core/ir/graph/ops.h"

/* The table of docs/tuning.md, "Default tiles"; rows marked * are for types that were left out at first. */
static const struct { const char *op; tsr_dtype t; int64_t m, n, k, warps; } table[] = {
    {"gemm", TSR_BF16, 128, 128, 64, 0},
    {"gemm", TSR_F16, 128, 128, 64, 0},
    {"gemm", TSR_F8E4M3, 256, 128, 128, 0},
    {"gemm", TSR_F8E5M2, 256, 128, 128, 0},
    {"gemm", TSR_I8, 128, 128, 64, 0},  /* * */
    {"gemm", TSR_U8, 128, 128, 64, 0},  /* * */
    {"gemm", TSR_F32, 128, 128, 32, 0}, /* * */
    {"gemm", TSR_F64, 64, 64, 16, 0},   /* * */
    {"gemm", TSR_DTYPE_NONE, 64, 64, 16, 0},
    {"conv2d", TSR_DTYPE_NONE, 128, 128, 32, 0},
    {"flash_attention", TSR_DTYPE_NONE, 128, 64, 64, 0},
    {"layernorm", TSR_DTYPE_NONE, 8, 0, 0, 8}, /* 256 threads, one row per warp of 32 */
};

bool sched_recommended_row(size_t i, const char **op, tsr_dtype *t, sched_params *out) {
  *out = (sched_params){0};
  if (i >= sizeof table / sizeof *table) return false;
  *op = table[i].op, *t = table[i].t;
  out->m = table[i].m, out->n = table[i].n, out->k = table[i].k, out->warps = table[i].warps;
  return true;
}

bool sched_recommended(const char *op, tsr_dtype t, sched_params *out) {
  *out = (sched_params){0};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, op) && (table[i].t == t || !table[i].t)) {
      out->m = table[i].m, out->n = table[i].n, out->k = table[i].k, out->warps = table[i].warps;
      return true;
    }
  return false;
}

const ir_op *sched_contraction(const ir_op *kernel) { return graph_contraction(kernel->regions[0]); }

sched_family sched_family_of(const ir_op *kernel) { return sched_family_parse(ir_get_str(kernel, "family", "")); }

int64_t sched_element_bytes(const ir_op *kernel) {
  int64_t most = 1;
  for (int i = 0; i < kernel->n_operands; i++) {
    int64_t b = (int64_t)tsr_dtype_size(kernel->operands[i]->type->dtype);
    if (b > most) most = b;
  }
  for (int i = 0; i < kernel->n_results; i++) {
    int64_t b = (int64_t)tsr_dtype_size(kernel->results[i]->type->dtype);
    if (b > most) most = b;
  }
  return most;
}

int64_t sched_row_length(const ir_op *kernel) {
  int64_t space[4] = {0};
  return ir_get_ints(kernel, "space", space, 4) == 2 ? space[1] : 0;
}

const char *sched_policy(const ir_op *kernel, const char *otherwise) {
  const ir_op *program = kernel->parent ? kernel->parent->parent : NULL;
  return ir_get_str(kernel, "policy", program ? ir_get_str(program, "policy", otherwise) : otherwise);
}

int64_t sched_shared_bytes(const ir_op *kernel, const sched_params *p) {
  const ir_op *product = sched_contraction(kernel);
  if (!product || p->use_shared < 0 || p->m <= 0) return 0;
  int64_t pad = p->padding > 0 ? p->padding : 0, stages = p->pipeline_stages > 0 ? p->pipeline_stages : 1;
  int64_t a = p->m * (p->k + pad) * (int64_t)tsr_dtype_size(product->operands[0]->type->dtype);
  int64_t b = p->k * (p->n + pad) * (int64_t)tsr_dtype_size(product->operands[1]->type->dtype);
  return stages * (a + b);
}
