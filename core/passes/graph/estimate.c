/* core/passes/graph/estimate.c - see graph/estimate.h. What is fused isn't known yet: views and elementwise results
 * that only such ops, reductions and copies read are taken to stay in registers. */
#include "core/passes/graph/estimate.h"

#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/device/roofline.h"

/* Shares of the peak rate of multiply-adds that kernels reach, measured on the CPU (docs/performance-log.md). */
static const double product_share = 0.75, window_share = 0.45, transform_share = 0.15, other_share = 0.1;
/* Where nobody measured the device: a core's clock and the bytes a second that it moves in kernels of elementwise ops
 * on pairs; of a GPU as a small one. */
static const double core_hz = 3e9, core_bytes = 3.5e9, gpu_flops = 1e12, gpu_bytes = 5e10;

typedef struct rates {
  double flops, bytes, launch_ns; /* of f32; a second */
} rates;

static rates rates_of(const tsr_caps *c) {
  const bool gpu = dialect_of(c)->gpu;
  const double cores = c->n_cores > 0 ? c->n_cores : 1, lanes = c->vector_bytes > 4 ? c->vector_bytes / 4 : 1;
  rates r = {.flops = c->peak_flops_f32, .bytes = c->bytes_per_s, .launch_ns = roofline_launch_ns(c->launch_ns, !gpu)};
  if (!(r.flops > 0)) r.flops = gpu ? gpu_flops : cores * core_hz * 4 * lanes; /* two multiply-adds a clock */
  if (!(r.bytes > 0)) r.bytes = gpu ? gpu_bytes : cores * core_bytes;
  return r;
}

/* Windows of an image whose lines the product reads in place. */
static bool is_in_place(const ir_op *op, const pass_options *o) {
  return graph_is_kind(op, GRAPH_WINDOWS) && o && o->windows && op->operands[0]->type->dtype == TSR_F32 &&
         strcmp(ir_get_str(op, "layout", "nchw"), "nhwc");
}

static bool is_streamed(const ir_op *op) { return graph_is_kind(op, GRAPH_POINTWISE) || graph_is_window(op); }

/* Does an op that reads v as a tensor need it in memory? */
static bool reads_memory(const ir_op *op) {
  return !is_streamed(op) && !graph_is_alias(op) && !graph_is_kind(op, GRAPH_REDUCTION) &&
         !graph_is_kind(op, GRAPH_COPY);
}

static ir_value *through_aliases(ir_value *v) {
  while (v->def && graph_is_alias(v->def)) v = v->def->operands[0];
  return v;
}

/* Sets the data of every value that is in memory: arguments, what no stream computes, what is read as a tensor.
 */
static void mark(const ir_op *func, const pass_options *opts) {
  ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args; i++) r->args[i]->data = r->args[i];
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = is_streamed(o) ? NULL : o->results[i];
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_operands && reads_memory(o); i++) {
      ir_value *v = through_aliases(o->operands[i]);
      v->data = v;
    }
  for (ir_op *o = r->first; o; o = o->next)
    if (is_in_place(o, opts)) o->results[0]->data = NULL;
}

static double bytes_of(const ir_op *op) {
  double bytes = 0;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_value *v = through_aliases(op->operands[i]);
    const bool part = graph_is_window(op);
    if (v->data) bytes += (double)ir_type_bytes(part ? op->results[0]->type : op->operands[i]->type);
  }
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->data) bytes += (double)ir_type_bytes(op->results[i]->type);
  return bytes;
}

static double share_of(const ir_op *op) {
  if (graph_is_kind(op, GRAPH_CONTRACTION))
    for (int i = 0; i < 2; i++)
      if (graph_is_kind(op->operands[i]->def, GRAPH_WINDOWS)) return window_share;
  if (graph_is_kind(op, GRAPH_CONTRACTION)) return product_share;
  return graph_is_kind(op, GRAPH_DFT) ? transform_share : other_share;
}

static double op_ns(const ir_op *op, const rates *r, const pass_options *o) {
  graph_space s;
  if (!op->n_operands || !op->n_results || graph_is_alias(op)) return 0;
  if (is_in_place(op, o)) return 0;
  if (!graph_space_of(op, &s)) return INFINITY;
  const double width = tsr_dtype_size(op->operands[0]->type->dtype) > 4 ? 2 : 1;
  return roofline_ns(&(roofline_parts){
      .ns = (double[]){s.flops * width / (r->flops * share_of(op)) * 1e9, bytes_of(op) / r->bytes * 1e9},
      .n = 2,
      .overlap = 1,
      .busy = 1,
      .serial = {op->results[0]->data ? r->launch_ns : 0}});
}

double graph_estimate_ns(const ir_op *func, const tsr_caps *caps, const pass_options *opts) {
  const rates r = rates_of(caps);
  double ns = 0;
  mark(func, opts);
  for (const ir_op *o = func->regions[0]->first; o; o = o->next) ns += op_ns(o, &r, opts);
  return ns;
}
