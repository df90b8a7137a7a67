/* core/runtime/control.c - see control.h. Carried values alternate between the results' memory and buffers of the
 * step's own, so that no trip reads what it writes; nothing is allocated while it runs. */
#include "core/runtime/control.h"

#include <string.h>

#include "core/ir/symbols.h"
#include "core/ir/target/target.h"

struct rt_control {
  bool loops;
  tsr_program *first, *second; /* first: NULL of a loop whose trips are known */
  int n_operands, n_outputs;
  int64_t most;
  tsr_buffer *flag, **spare; /* what the condition returns; memory for each carried value */
  be_range *args, *to;       /* of a run */
};

/* ---- planning ---------------------------------------------------------------------------------------------------- */

static ir_op *find_program(const tsr_program *p, const char *name) {
  for (ir_op *o = p->levels[TSR_LEVEL_TARGET]->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TARGET && o->def->code == TG_PROGRAM && !strcmp(ir_get_str(o, "sym_name", ""), name))
      return o;
  return NULL;
}

static bool same_tensor(const tsr_tensor_info *a, const ir_type *b) {
  if (a->dtype != b->dtype || a->shape.rank != b->rank) return false;
  return !b->rank || !memcmp(a->shape.dims, b->dims, sizeof *b->dims * (size_t)b->rank);
}

/* The program takes the operands from `from` on. */
static tsr_status check_inputs(const ir_op *op, const char *name, const tsr_program *x, int from, int n) {
  if (x->n_inputs != n - from)
    return ir_error(op, NULL, "program \"%s\" takes %d tensors, not %d", name, x->n_inputs, n - from);
  for (int i = 0; i < x->n_inputs; i++)
    if (!same_tensor(&x->inputs[i], op->operands[from + i]->type))
      return ir_error(op, NULL, "input %d of program \"%s\" has another type than the operand", i, name);
  return NULL;
}

static tsr_status check_outputs(const ir_op *op, const char *name, const tsr_program *x, int n, int outputs) {
  if (x->n_outputs != outputs)
    return ir_error(op, NULL, "program \"%s\" gives %d tensors, not %d", name, x->n_outputs, outputs);
  for (int i = 0; i < outputs; i++)
    if (!same_tensor(&x->outputs[i], op->operands[n + i]->type))
      return ir_error(op, NULL, "output %d of program \"%s\" has another type than the operand", i, name);
  return NULL;
}

static tsr_status plan_part(tsr_program *p, const ir_op *op, const char *which, tsr_program **out) {
  const char *name = ir_get_str(op, which, "");
  ir_op *program = find_program(p, name);
  if (!program) return ir_error(op, NULL, "no program \"%s\" in the module", name);
  return p->inner_calls->plan(p, op, program, out);
}

tsr_status rt_control_bind(tsr_program *p, const ir_op *op, rt_control **out) {
  rt_control *c = *out = arena_new(&p->arena, rt_control);
  if (!c) return st_oom();
  const int outputs = (int)ir_get_int(op, "outputs", 0), n = op->n_operands - outputs;
  const char *first = ir_get_str(op, "first", ""), *second = ir_get_str(op, "second", "");
  *c = (rt_control){.loops = !strcmp(ir_get_str(op, "kind", ""), "while"),
                    .n_operands = n,
                    .n_outputs = outputs,
                    .most = ir_get_int(op, "max_trips", 0)};
  c->spare = arena_array(&p->arena, tsr_buffer *, outputs + 1);
  c->args = arena_array(&p->arena, be_range, op->n_operands + 1);
  c->to = arena_array(&p->arena, be_range, outputs + 1);
  if (!c->spare || !c->args || !c->to) return st_oom();
  const int from = c->loops ? 0 : 1;
  if (*first || !c->loops) {
    TSR_TRY(plan_part(p, op, "first", &c->first));
    TSR_TRY(check_inputs(op, first, c->first, from, n));
  }
  TSR_TRY(plan_part(p, op, "second", &c->second));
  TSR_TRY(check_inputs(op, second, c->second, from, n));
  TSR_TRY(check_outputs(op, second, c->second, n, outputs));
  if (!c->loops) {
    const ir_type *cond = op->operands[0]->type;
    if (cond->dtype != TSR_BOOL || ir_type_count(cond) != 1) return ir_error(op, NULL, "operand 0 must be one bool");
    return check_outputs(op, first, c->first, n, outputs);
  }
  if (c->first &&
      (c->first->n_outputs != 1 || c->first->outputs[0].dtype != TSR_BOOL || c->first->outputs[0].bytes != 1))
    return ir_error(op, NULL, "program \"%s\" must give one bool", first);
  for (int i = 0; i < outputs; i++)
    if (op->operands[n + i]->type != op->operands[i]->type)
      return ir_error(op, NULL, "output %d has another type than the operand", i);
  return NULL;
}

tsr_status rt_control_build(tsr_program *p, rt_control *c) {
  if (c->first) TSR_TRY(p->inner_calls->build(p, c->first));
  TSR_TRY(p->inner_calls->build(p, c->second));
  if (!c->loops) return NULL;
  if (c->first) TSR_TRY(tsr_buffer_create(p->dev, 256, TSR_MEMORY_DEVICE, &c->flag));
  for (int i = 0; i < c->n_outputs; i++) {
    const size_t bytes = c->second->outputs[i].bytes;
    TSR_TRY(tsr_buffer_create(p->dev, bytes ? bytes : 1, TSR_MEMORY_DEVICE, &c->spare[i]));
  }
  return NULL;
}

void rt_control_clear(rt_control *c) {
  tsr_buffer_destroy(&c->flag);
  for (int i = 0; i < c->n_outputs; i++) tsr_buffer_destroy(&c->spare[i]);
}

int rt_control_outputs(const rt_control *c) { return c->n_outputs; }

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The byte is what a kernel or a copy of the stream's writes: it is waited for. */
static tsr_status read_bool(const tsr_program *p, be_stream *s, be_range from, bool *out) {
  const be_vtable *vt = p->dev->vt;
  unsigned char byte = 0;
  from.bytes = 1;
  if (p->dev->caps.dialect != DIALECT_CPU) TSR_TRY(vt->read(s, from, &byte));
  TSR_TRY(vt->stream_sync(s, -1));
  if (p->dev->caps.dialect == DIALECT_CPU) {
    const char *base = vt->buffer_map(from.buffer);
    if (base) byte = (unsigned char)base[from.offset];
  }
  *out = byte != 0;
  return NULL;
}

static tsr_status run_if(tsr_program *p, be_stream *s, rt_control *c) {
  bool is;
  TSR_TRY(read_bool(p, s, c->args[0], &is));
  return p->inner_calls->run(is ? c->first : c->second, s, c->args + 1, c->args + c->n_operands);
}

static tsr_status run_while(tsr_program *p, be_stream *s, rt_control *c) {
  const be_range *results = c->args + c->n_operands;
  bool in_results = false;
  for (int64_t trip = 0; trip < c->most; trip++) {
    bool go = true;
    be_range flag = {c->flag ? c->flag->be : NULL, 0, 1};
    if (c->first) TSR_TRY(p->inner_calls->run(c->first, s, c->args, &flag));
    if (c->first) TSR_TRY(read_bool(p, s, flag, &go));
    if (!go) break;
    in_results = !in_results;
    for (int i = 0; i < c->n_outputs; i++)
      c->to[i] = in_results ? results[i] : (be_range){c->spare[i]->be, 0, results[i].bytes};
    TSR_TRY(p->inner_calls->run(c->second, s, c->args, c->to));
    memcpy(c->args, c->to, sizeof *c->to * (size_t)c->n_outputs);
  }
  for (int i = 0; i < c->n_outputs && !in_results; i++)
    if (results[i].bytes) TSR_TRY(p->dev->vt->copy(s, results[i], c->args[i]));
  return NULL;
}

tsr_status rt_control_run(tsr_program *p, be_stream *s, const rt_launch *l, rt_control *c) {
  for (int i = 0; i < l->n_bindings; i++) c->args[i] = p->ranges[l->bindings[i]];
  return c->loops ? run_while(p, s, c) : run_if(p, s, c);
}
