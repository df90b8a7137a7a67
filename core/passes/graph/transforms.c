/* core/passes/graph/transforms.c - see transforms.h. */
#include "core/passes/graph/transforms.h"

#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

/* Two lines' buffers of as many vectors fill the CPU's second-level cache. */
enum { CPU_POINTS = 4096 };

static tsr_status lower(ir_op *op, const tsr_caps *caps, const pass_options *opts, bool *changed) {
  pass_trace *trace = opts ? opts->trace : NULL;
  const bool kernels = caps && caps->dialect == DIALECT_CPU && pass_enabled(opts, "fusion", "dft");
  const graph_dft d = graph_dft_get(op);
  if (kernels && d.n <= CPU_POINTS) {
    trace_add(trace, "transforms", "dft", op, true, "a kernel takes lines of %lld points", (long long)d.n);
    return NULL;
  }
  ir_builder b = ir_before(op);
  b.loc = op->loc;
  ir_value *y = graph_ext(op)->by_passes(&b, op, kernels ? CPU_POINTS : 0);
  if (!y || b.failed) return st_oom();
  trace_add(trace, "transforms", "dft", op, kernels, "lines of %lld points: %s", (long long)d.n,
            kernels ? "passes of at most 4096 points" : "products, the device has no kernel");
  graph_replace(op, y);
  *changed = true;
  return NULL;
}

static bool is_known(const ir_op *op) { return ir_type_count(op->operands[0]->type) != IR_DYNAMIC; }

tsr_status graph_lower_transforms(ir_module *m, const tsr_caps *caps, const pass_options *opts) {
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC)) continue;
    bool here = false;
    for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
      next = op->next;
      ir_settle(op);
      if (!graph_is(op, G_DFT) || !is_known(op)) continue;
      tsr_status st = lower(op, caps, opts, &here);
      if (st) return ir_cause(m, NULL, st);
    }
    if (here) ir_dce(f);
    changed |= here;
  }
  return changed ? ir_verify(m) : NULL;
}
