/* core/ir/schedule/ops.c - the op table of Schedule IR and the schedule parameters; see schedule.h. */
#include "core/base/dtype.h"
#include "core/ir/schedule/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"
#include "core/ir/graph/ops.h"
#include "core/ir/tables.h"

static tsr_status infer_tile(ir_op *op, const ir_type **results) {
  if (op->n_results > 1) return ir_error(op, NULL, "has at most 1 result");
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i]->type->kind != IR_T_TENSOR) return ir_error(op, NULL, "operand %d must be a tensor", i);
  if (!op->n_results) return NULL;
  if (!op->n_operands) return ir_error(op, NULL, "a result needs operands");
  const ir_type *a = op->operands[0]->type, *b = op->n_operands > 1 ? op->operands[1]->type : a;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, a->dims, sizeof dims);
  if (a->rank >= 2 && b->rank >= 2) dims[a->rank - 1] = b->dims[b->rank - 1];
  results[0] = ir_type_tensor(op->module, a->dtype, a->rank, dims);
  return results[0] ? NULL : st_oom();
}

static tsr_status bad_value(const ir_op *op, const sched_knob *k, const char *fmt, ...) TSR_PRINTF(3, 4);
static tsr_status bad_value(const ir_op *op, const sched_knob *k, const char *fmt, ...) {
  char values[512], text[128];
  va_list ap;
  sched_knob_values(k, values, sizeof values);
  va_start(ap, fmt);
  number_vprint(text, sizeof text, fmt, ap);
  va_end(ap);
  return ir_error(op, values, "%s", text);
}

/* Every attribute of a primitive is a knob and takes its values. */
static tsr_status verify_primitive(const ir_op *op) {
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    const ir_attr *a = k->primitive == op->def->code ? ir_get_attr(op, k->attr) : NULL;
    if (!a) continue;
    const char *path = k->kind == SCHED_PATH ? ir_get_str(op, k->attr, "") : NULL;
    if (path && !matrix_path_find(path)) return bad_value(op, k, "no matrix path \"%.64s\"", path);
    if (a->kind == IR_A_INT && (a->u.i < k->least || !sched_knob_takes(k, a->u.i)))
      return bad_value(op, k, "%s = %lld is out of range", k->attr, (long long)a->u.i);
  }
  return NULL;
}

static const ir_type *implied_tile(ir_op *op, int i) {
  const int64_t unknown[2] = {IR_DYNAMIC, IR_DYNAMIC};
  return ir_type_tensor(op->module, TSR_F32, 2, unknown);
}

/* Kernels compute on parts and on bytes: a program gives them those (tessera.graph.as_real, as_bytes). What hands its
 * operands to functions has these' types. */
static tsr_status verify_elements(const ir_op *op) {
  const ir_block *r = op->regions[0];
  static const char remedy[] = "as_real before the kernel gives it pairs";
  for (int i = 0; i < r->n_args; i++)
    if (!r->args[i]->type || graph_is_kind(r->first, GRAPH_CONTROL)) continue;
    else if (dtype_is_complex(r->args[i]->type->dtype))
      return ir_error(op, remedy, "block argument %d has complex elements", i);
    else if (dtype_packed(r->args[i]->type->dtype))
      return ir_error(op, "as_bytes before the kernel gives it bytes", "block argument %d has packed elements", i);
  for (const ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++)
      if (!o->results[i]->type || graph_is_kind(o, GRAPH_CONTROL)) continue;
      else if (dtype_is_complex(o->results[i]->type->dtype))
        return ir_error(o, remedy, "gives complex elements inside a kernel");
      else if (dtype_packed(o->results[i]->type->dtype))
        return ir_error(o, "as_packed behind the kernel", "gives packed elements inside a kernel");
  return NULL;
}

/* The one scatter's first operand, as it is in memory. */
static tsr_status verify_in_place(const ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "in_place");
  if (!a) return NULL;
  const int64_t n = ir_get_int(op, "in_place", -1);
  const ir_op *s = graph_first_of(op->regions[0], GRAPH_SCATTER);
  const ir_value *x = n < 0 || n >= op->n_operands ? NULL : op->regions[0]->args[n];
  if (!x || op->n_results != 1 || !s || s->operands[0] != x || x->n_uses > 1)
    return ir_error(op, "a scatter with one result writes to it, and nothing else reads it",
                    "in_place = %lld is not the operand of a scatter", (long long)n);
  return NULL;
}

static tsr_status verify_kernel(const ir_op *op) {
  const ir_block *r = op->regions[0];
  if (sched_family_parse(ir_get_str(op, "family", "")) == N_FAMILIES)
    return ir_error(op, KERNEL_FAMILY_NAMES, "unknown family \"%s\"",
                    ir_get_str(op, "family", ""));
  TSR_TRY(ir_check_policy(op));
  TSR_TRY(verify_elements(op));
  if (r->n_args != op->n_operands)
    return ir_error(op, NULL, "%d operands for %d block arguments", op->n_operands, r->n_args);
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->type != op->operands[i]->type)
      return ir_error(op, NULL, "block argument %d and its operand differ in type", i);
  if (!r->last || r->last->def->code != S_YIELD || r->last->def->level != IR_SCHEDULE)
    return ir_error(op, NULL, "the body must end with tessera.schedule.yield");
  if (r->last->n_operands != op->n_results)
    return ir_error(op, NULL, "yields %d values for %d results", r->last->n_operands, op->n_results);
  for (int i = 0; i < op->n_results; i++)
    if (op->results[i]->type && r->last->operands[i]->type && r->last->operands[i]->type != op->results[i]->type)
      return ir_error(op, NULL, "result %d and the yielded value differ in type", i);
  return verify_in_place(op);
}

#define A_END {NULL, IR_A_UNIT, false, NULL, NULL}
#define ATTRS(...) (const ir_attr_def[]){__VA_ARGS__, A_END}
#define NAME(s) .name = "tessera.schedule." s, .level = IR_SCHEDULE

#define KIND_COUNT IR_A_INT
#define KIND_POWER IR_A_INT
#define KIND_PADDING IR_A_INT
#define KIND_SWITCH IR_A_BOOL
#define KIND_FLAG IR_A_BOOL
#define KIND_PATH IR_A_STR
#define KNOB_ATTR(name, primitive, attr, kind, least, most, dflt, spaces, on_cpu, help) \
  {attr, KIND_##kind, !(dflt), dflt, help},
#define PRIMITIVE(c, primitive, knobs, text, ...)                                                             \
  {NAME(primitive), .code = c, .max_operands = IR_VARIADIC, .attrs = (const ir_attr_def[]){knobs(KNOB_ATTR) A_END}, \
   .verify = verify_primitive, .help = text, __VA_ARGS__},

static const ir_opdef rows[] = {
    {NAME("program"), .code = S_PROGRAM, .flags = IR_ISOLATED | IR_PROGRAM, .n_regions = 1, .n_results = 0,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "the function's name"},
                    {"policy", IR_A_STR, false, "fast", "numerics policy: fast, deterministic, kahan_sum"},
                    {"precision", IR_A_STR, false, "standard", "precision mode: only standard is there"},
                    {"symbolic", IR_A_ARRAY, false, NULL, "as in graph.func"},
                    {"memory_budget", IR_A_INT, false, "0", "as in graph.func"},
                    {"device", IR_A_STR, false, "", "the device it was scheduled for: one that there is, here or elsewhere, as `cpu:0`, `cuda:sm_90a`"}),
     .help = "A compiled function: kernels in launch order; block arguments are its inputs."},
    {NAME("return"), .code = S_RETURN, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "results...",
     .help = "Ends a program; the operands are its outputs."},
    {NAME("kernel"), .code = S_KERNEL, .flags = IR_ISOLATED | IR_KERNEL, .max_operands = IR_VARIADIC, .n_results = IR_VARIADIC, .n_regions = 1,
     .attrs = ATTRS({"sym_name", IR_A_STR, true, NULL, "unique name of the kernel"},
                    {"family", IR_A_STR, true, NULL, KERNEL_FAMILY_NAMES},
                    {"fused", IR_A_STR, false, "", "the rules that made this group"},
                    {"policy", IR_A_STR, false, NULL, "numerics policy of this launch alone; the program's if absent"},
                    {"space", IR_A_ARRAY, false, NULL, KERNEL_FAMILY_SPACES},
                    {"in_place", IR_A_INT, false, NULL, "of a scatter: the operand whose memory the result takes"}),
     .operands_doc = "inputs...", .verify = verify_kernel,
     .help = "One launch: a fusion group of Graph IR ops with its schedule primitives."},
    {NAME("yield"), .code = S_YIELD, .min_operands = 1, .max_operands = IR_VARIADIC, .flags = IR_TERMINATOR, .operands_doc = "values...",
     .help = "Ends a kernel body; the operands are written to memory."},
    SCHED_PRIMITIVES(PRIMITIVE)
    {NAME("legalized"), .code = S_LEGALIZED, .max_operands = IR_VARIADIC,
     .attrs = ATTRS({"original", IR_A_STR, true, NULL, "the schedule that was asked for"}, {"reason", IR_A_STR, true, NULL, "the limit it broke"}),
     .help = "Left by the legaliser: the schedule above it was changed to fit the device."},
};

const ir_rows *schedule_ops(size_t group) {
  static const ir_rows all = {rows, sizeof rows / sizeof *rows};
  return group ? NULL : &all;
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */

static const char *primitive_name(int code) {
  switch (code) {
#define CASE(code, primitive, ...) \
  case code: return "tessera.schedule." primitive;
    SCHED_PRIMITIVES(CASE)
#undef CASE
  default: return NULL;
  }
}

void sched_read(const ir_op *kernel, sched_params *p) {
  *p = (sched_params){0};
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next)
    for (int i = 0; o->def->level == IR_SCHEDULE && i < N_SCHED_KNOBS; i++) {
      const sched_knob *k = &sched_knobs[i];
      if (k->primitive != o->def->code) continue;
      int64_t v = k->kind == SCHED_PADDING ? 0 : ir_get_int(o, k->attr, 0);
      switch (k->kind) {
      case SCHED_PATH: p->matrix_path = ir_get_str(o, k->attr, NULL); break;
      case SCHED_SWITCH: sched_set(k, p, ir_get_bool(o, k->attr, true) ? 1 : -1); break;
      case SCHED_FLAG: sched_set(k, p, ir_get_bool(o, k->attr, false)); break;
      case SCHED_PADDING:
        v = ir_get_attr(o, k->attr) ? ir_get_int(o, k->attr, 0) : 0;
        sched_set(k, p, ir_get_attr(o, k->attr) && !v ? -1 : v);
        break;
      default: sched_set(k, p, v);
      }
    }
}

/* NULL: the attribute is left out. */
static ir_attr *attr_of(ir_module *m, const sched_knob *k, const sched_params *p, bool *write) {
  int64_t v = k->kind == SCHED_PATH ? 0 : sched_get(k, p);
  *write = k->kind != SCHED_PADDING || v;
  switch (k->kind) {
  case SCHED_PATH: return ir_attr_str(m, p->matrix_path);
  case SCHED_SWITCH:
  case SCHED_FLAG: return ir_attr_bool(m, v > 0);
  case SCHED_PADDING: return ir_attr_int(m, v > 0 ? v : 0);
  default: return ir_attr_int(m, v > 0 ? v : 1);
  }
}

bool sched_write(ir_op *kernel, const sched_params *p) {
  ir_module *m = kernel->module;
  for (ir_op *o = kernel->regions[0]->first, *next; o; o = next) {
    next = o->next;
    if (o->def->level == IR_SCHEDULE && primitive_name(o->def->code)) ir_op_remove(o);
  }
  ir_builder b = {m, kernel->regions[0], kernel->regions[0]->first, false};
  ir_op *op = NULL; /* the primitive at hand; NULL: its first knob is not set, so it is not written */
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    const sched_knob *k = &sched_knobs[i];
    bool first = !i || k->primitive != k[-1].primitive, write;
    if (first) op = sched_is_set(k, p) ? ir_build0(&b, primitive_name(k->primitive), 0, NULL) : NULL;
    if (first && !op && b.failed) return false;
    if (!op) continue;
    ir_attr *a = attr_of(m, k, p, &write);
    if (write && !ir_set_attr(op, k->attr, a)) return false;
  }
  return !b.failed;
}

bool sched_is_constant(const ir_op *kernel, const ir_value *v) {
  if (v->owner != kernel->regions[0] || v->index >= kernel->n_operands) return false;
  const ir_op *d = kernel->operands[v->index]->def;
  while (graph_is_alias(d)) d = d->operands[0]->def;
  return d && graph_is(d, G_CONSTANT);
}
