/* tests/support/plan.c - see plan.h. */
#include "tests/support/plan.h"

#include "core/passes/graph/complex.h"
#include "core/passes/graph/transforms.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/simplify.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/schedule/from_graph.h"
#include "core/passes/schedule/transpose_operand.h"
#include "core/passes/switches.h"
#include "core/passes/tile/from_schedule.h"

tsr_status plan_schedule(const char *graph, size_t bytes, const char *file, const tsr_caps *caps, ir_module **out) {
  ir_module *g = NULL;
  pass_options opts = {0};
  *out = NULL;
  tsr_status st = ir_parse(NULL, graph, bytes, file, &g);
  if (!st) st = graph_expand_module(g, &opts);
  if (!st) st = graph_split_complex_module(g);
  if (!st) st = graph_lower_transforms(g, caps, &opts);
  if (!st) st = graph_simplify_module(g, &opts);
  if (!st) st = graph_to_schedule(g, &opts, out);
  if (!st) st = schedule_transpose_operand(*out, caps, NULL);
  ir_module_destroy(&g);
  return st;
}

tsr_status plan_kernels(ir_module *schedule, const tsr_caps *caps, ir_module **out) {
  *out = NULL;
  TSR_TRY(schedule_apply_defaults(schedule, &(schedule_options){.caps = caps}));
  return schedule_to_tile(schedule, &(tile_options){.caps = caps, .policy = "fast"}, out);
}

tsr_status plan_tile(const char *graph, size_t bytes, const char *file, const tsr_caps *caps, ir_module **out) {
  ir_module *s = NULL;
  *out = NULL;
  tsr_status st = plan_schedule(graph, bytes, file, caps, &s);
  if (!st) st = plan_kernels(s, caps, out);
  ir_module_destroy(&s);
  return st;
}
