/* core/passes/schedule/in_place.c - see schedule/in_place.h. */
#include "core/passes/schedule/in_place.h"

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"

/* What values lie in: aliases have one memory with what they are aliases of. A value's scratch is its number. */
typedef struct memory {
  enum { MEM_INPUT, MEM_CONSTANT, MEM_TEMPORARY } kind;
  int last_read; /* number of the op */
  bool again;    /* that op has it as another operand too */
  bool returned; /* it, or what is written into it */
} memory;

typedef struct program {
  ir_block *block;
  memory *v;
  const pass_options *opts;
} program;

static memory *of(const program *p, const ir_value *v) { return &p->v[v->scratch]; }

static bool is_kernel(const ir_op *o) { return o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL; }

static void number_values(program *p) {
  int n = 0, at = 0;
  for (int i = 0; i < p->block->n_args; i++) p->v[p->block->args[i]->scratch = n++].kind = MEM_INPUT;
  for (ir_op *o = p->block->first; o; o = o->next, at++) {
    const bool alias = graph_is_alias(o), ret = o == p->block->last;
    for (int i = 0; i < o->n_operands && !alias; i++) {
      memory *m = of(p, o->operands[i]);
      m->again = m->last_read == at;
      m->last_read = at;
      m->returned |= ret;
    }
    for (int i = 0; i < o->n_results; i++) {
      o->results[i]->scratch = alias ? o->operands[0]->scratch : n++;
      if (!alias) of(p, o->results[i])->kind = is_kernel(o) ? MEM_TEMPORARY : MEM_CONSTANT;
    }
  }
}

/* The operand that the kernel's one scatter writes to, as it lies in memory; -1: there is none. */
static int written(const ir_op *kernel) {
  const ir_op *s = graph_first_of(kernel->regions[0], GRAPH_SCATTER);
  const ir_value *x = s ? s->operands[0] : NULL;
  return x && x->owner == kernel->regions[0] && kernel->n_results == 1 ? x->index : -1;
}

static const char *refusal(const program *p, const ir_op *kernel, int operand, int at) {
  if (!pass_enabled(p->opts, "fusion", "in_place")) return "switched off; the kernel copies it";
  if (operand < 0) return "it is a view; the kernel copies it";
  const memory *m = of(p, kernel->operands[operand]);
  if (m->kind == MEM_CONSTANT) return "it is a constant; the kernel copies it";
  if (m->last_read != at) return "it is read later; the kernel copies it";
  if (m->again || kernel->regions[0]->args[operand]->n_uses > 1) return "the kernel reads it twice, and copies it";
  if (m->kind == MEM_INPUT && !of(p, kernel->results[0])->returned)
    return "it is an input and the result no output; the kernel copies it";
  return NULL;
}

/* From the last kernel to the first: whether a result ends in an output depends on those that write into it. */
static tsr_status mark(program *p, ir_op *kernel, int at) {
  const int operand = written(kernel);
  const ir_op *scatter = graph_first_of(kernel->regions[0], GRAPH_SCATTER);
  if (!scatter) return NULL;
  const char *why = refusal(p, kernel, operand, at);
  pass_trace *trace = p->opts ? p->opts->trace : NULL;
  if (why) {
    trace_add(trace, "schedule", "in_place", scatter, false, "%s", why);
    return NULL;
  }
  memory *m = of(p, kernel->operands[operand]);
  m->returned = of(p, kernel->results[0])->returned;
  const ir_type *t = kernel->operands[operand]->type;
  if (m->kind == MEM_INPUT)
    trace_add(trace, "schedule", "in_place", scatter, true,
              "written into its operand; where the caller doesn't bind that input and the output to one memory, "
              "each run first copies %lld bytes", (long long)ir_type_bytes(t));
  else trace_add(trace, "schedule", "in_place", scatter, true, "written into its operand");
  return ir_set_attr(kernel, "in_place", ir_attr_int(kernel->module, operand)) ? NULL : st_oom();
}

tsr_status sched_mark_in_place(ir_op *op, const pass_options *opts) {
  program p = {.block = op->regions[0], .opts = opts};
  const tsr_allocator *al = &op->module->arena.al;
  size_t n = (size_t)p.block->n_args;
  int at = -1;
  bool any = false;
  for (ir_op *o = p.block->first; o; o = o->next, at++) {
    n += (size_t)o->n_results;
    any |= is_kernel(o) && graph_first_of(o->regions[0], GRAPH_SCATTER);
  }
  if (!any) return NULL;
  if (!(p.v = al_zalloc(al, (n + 1) * sizeof *p.v))) return st_oom();
  for (size_t i = 0; i < n; i++) p.v[i].last_read = -1;
  number_values(&p);
  tsr_status st = NULL;
  for (ir_op *o = p.block->last; o && !st; o = o->prev, at--)
    if (is_kernel(o)) st = mark(&p, o, at);
  al_free_array(al, p.v, n + 1);
  return st;
}
