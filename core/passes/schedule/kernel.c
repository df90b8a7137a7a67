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
};
enum { N_TABLE = sizeof table / sizeof *table };

/* The rows of Graph IR's ops that have a tile, after those of `table`. NULL past the last. */
static const graph_row *row_with_tile(size_t i, const char **op) {
  const ir_opdef *d;
  for (size_t at = 0; (d = ir_row(IR_GRAPH, at)); at++) {
    const graph_row *row = d->ext;
    if (!row || !row->tile_rows || i--) continue;
    *op = strrchr(d->name, '.') + 1;
    return row;
  }
  return NULL;
}

bool sched_recommended_row(size_t i, const char **op, tsr_dtype *t, sched_params *out) {
  *out = (sched_params){0};
  *t = TSR_DTYPE_NONE;
  const graph_row *row = i < N_TABLE ? NULL : row_with_tile(i - N_TABLE, op);
  if (i >= N_TABLE && !row) return false;
  if (row) {
    out->m = out->warps = row->tile_rows;
    return true;
  }
  *op = table[i].op, *t = table[i].t;
  out->m = table[i].m, out->n = table[i].n, out->k = table[i].k, out->warps = table[i].warps;
  return true;
}

bool sched_recommended(const char *op, tsr_dtype t, sched_params *out) {
  const char *name;
  tsr_dtype of;
  for (size_t i = 0; sched_recommended_row(i, &name, &of, out); i++)
    if (!strcmp(name, op) && (of == t || !of)) return true;
  *out = (sched_params){0};
  return false;
}

bool sched_recommended_product(const ir_op *product, tsr_dtype t, sched_params *out) {
  /* A convolution is a product with patches. In f64, or without matrix instructions, its row leaves no registers. */
  bool conv = false;
  for (int i = 0; i < 2 && t && t != TSR_F64; i++) conv |= graph_is_kind(product->operands[i]->def, GRAPH_WINDOWS);
  return sched_recommended(conv ? "conv2d" : "gemm", t, out);
}

const ir_op *sched_contraction(const ir_op *kernel) { return graph_contraction(kernel->regions[0]); }

sched_family sched_family_of(const ir_op *kernel) { return sched_family_parse(ir_get_str(kernel, "family", "")); }

int64_t sched_held_per_thread(const ir_op *kernel, const tsr_caps *c) {
  return kernel->n_results > 1 && c->clusters ? 3 * SCHED_MOST_PER_THREAD / 4 : SCHED_MOST_PER_THREAD;
}

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
