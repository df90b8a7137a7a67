/* core/runtime/program_plan.c - from a target program to bindings, launches with their dependencies, and one workspace
 * in which temporaries share memory where their lives don't meet. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/symbols.h"
#include "core/ir/target/target.h"
#include "core/runtime/internal.h"
#include "core/runtime/areas.h"
#include "core/runtime/program_build.h"
#include "core/runtime/program_memory.h"

typedef struct plan {
  tsr_program *p;
  ir_op *program;
  const ir_block *b;
  ir_symbols kernels;
  int *first, *last; /* launches that touch a binding */
} plan;

static int binding_of(const ir_value *v) { return (int)v->scratch; }

static size_t bytes_of(const ir_type *t) { return (size_t)ir_type_bytes(t); }

static tsr_tensor_info info_of(arena *a, const ir_value *v) {
  tsr_tensor_info i = {.name = v->name ? arena_str(a, v->name) : "",
                       .dtype = v->type->dtype,
                       .shape.rank = v->type->rank,
                       .bytes = bytes_of(v->type),
                       .line = ir_value_loc(v).line,
                       .column = ir_value_loc(v).col};
  memcpy(i.shape.dims, v->type->dims, sizeof i.shape.dims);
  return i;
}

static int add_binding(plan *x, rt_binding s) {
  x->p->bindings[x->p->n_bindings] = s;
  return x->p->n_bindings++;
}

static tsr_status check_static(const plan *x, const ir_value *v) {
  if (v->type->kind == IR_T_TENSOR && ir_type_count(v->type) >= 0) return NULL;
  return ir_error(x->program, "give every dimension a number",
                  "a tensor of the program has unknown or too many elements");
}

/* What the program itself must allocate has to fit at all; inputs and outputs are the caller's, who may have mapped
 * them. */
static tsr_status check_fits(const plan *x, ir_loc at, size_t bytes, const char *what) {
  int64_t most = x->p->dev->caps.max_buffer_bytes;
  if (!most || bytes <= (size_t)most) return NULL;
  return ir_error_at(x->program, at, TSR_OUT_OF_MEMORY, "split the tensor", "%s of %zu bytes; %s allows %lld at once",
                     what, bytes, x->p->dev->info.id, (long long)most);
}

static tsr_status bad_in_place(const ir_op *launch, const char *why) {
  return ir_error(launch, NULL, "kernel \"%s\" can't write into its operand: %s", ir_get_str(launch, "kernel", ""),
                  why);
}

static ir_value *written_into(const ir_op *launch) { return launch->operands[ir_get_int(launch, "in_place", 0)]; }
static ir_value *written_by(const ir_op *launch) { return launch->operands[launch->n_operands - 1]; }
static bool is_in_place(const ir_op *o) { return o->def->code == TG_LAUNCH && ir_get_attr(o, "in_place"); }

/* The value that v is another shape of. */
static ir_value *root_of(ir_value *v) {
  while (v->def && v->def->def->code == TG_ALIAS) v = v->def->operands[0];
  return v;
}

enum { UNBOUND = -1 };

/* What a launch writes into its operand has no memory until that launch. Its data is the launch; that of all other
 * values is free. */
static tsr_status find_in_place(const plan *x) {
  for (int i = 0; i < x->b->n_args; i++) x->b->args[i]->data = NULL;
  for (ir_op *o = x->b->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = NULL;
  for (ir_op *o = x->b->first; o; o = o->next) {
    if (!is_in_place(o)) continue;
    if (written_by(o)->data) return bad_in_place(o, "another launch writes the same buffer so");
    written_by(o)->data = o;
  }
  return NULL;
}

/* The last op that has the memory as an operand must be the launch that writes into it, and once. Data: the last op so
 * far, all NULL at first. */
static tsr_status check_last_reads(const plan *x) {
  for (ir_op *o = x->b->first; o; o = o->next)
    for (int i = 0; i < o->n_operands && o->def->code != TG_ALIAS; i++) {
      ir_value *v = root_of(o->operands[i]);
      const ir_op *by = v->data;
      if (by && is_in_place(by) && root_of(written_into(by)) == v) return bad_in_place(by, "it is read again");
      v->data = o;
    }
  return NULL;
}

/* The result of a launch that writes into its operand: its memory, or, of an input, that of an output which begins as a
 * copy of it. */
static tsr_status bind_in_place(plan *x, const ir_op *launch) {
  ir_value *from = written_into(launch), *to = written_by(launch);
  if (from->scratch == UNBOUND || to->scratch != UNBOUND) return bad_in_place(launch, "it has no memory there");
  const rt_binding *b = &x->p->bindings[from->scratch];
  if (b->kind == BINDING_CONST) return bad_in_place(launch, "it is a constant");
  if (b->kind == BINDING_TEMP) {
    to->scratch = from->scratch;
    return NULL;
  }
  to->scratch = add_binding(x, (rt_binding){.kind = BINDING_TEMP,
                                            .bytes = bytes_of(to->type),
                                            .written_from = 1 + (int)from->scratch,
                                            .loc = launch->loc});
  return NULL;
}

static tsr_status check_bound(const ir_op *o) {
  for (int i = 0; i < o->n_operands; i++)
    if (o->operands[i]->scratch == UNBOUND)
      return ir_error(o, NULL, "reads what only a later launch writes into its operand");
  return NULL;
}

/* Bindings for arguments, buffers and constants; aliases share. */
static tsr_status make_bindings(plan *x) {
  tsr_program *p = x->p;
  int n = x->b->n_args;
  for (const ir_op *o = x->b->first; o; o = o->next) n += o->n_results;
  p->bindings = arena_array(&p->arena, rt_binding, n + 1);
  p->inputs = arena_array(&p->arena, tsr_tensor_info, x->b->n_args + 1);
  if (!p->bindings || !p->inputs) return st_oom();
  TSR_TRY(find_in_place(x));
  for (int i = 0; i < x->b->n_args; i++) {
    TSR_TRY(check_static(x, x->b->args[i]));
    p->inputs[p->n_inputs++] = info_of(&p->arena, x->b->args[i]);
    x->b->args[i]->scratch =
        add_binding(x, (rt_binding){.kind = BINDING_INPUT, .index = i, .bytes = bytes_of(x->b->args[i]->type)});
  }
  for (ir_op *o = x->b->first; o; o = o->next) {
    if (is_in_place(o)) TSR_TRY(bind_in_place(x, o));
    TSR_TRY(check_bound(o));
    if (o->n_results != 1) continue;
    ir_value *v = o->results[0];
    TSR_TRY(check_static(x, v));
    if (v->data) v->scratch = UNBOUND;
    else if (o->def->code == TG_ALIAS) v->scratch = o->operands[0]->scratch;
    else if (o->def->code == TG_CONSTANT)
      v->scratch = add_binding(
          x, (rt_binding){
                 .kind = BINDING_CONST, .bytes = bytes_of(v->type), .data = ir_get_attr(o, "value"), .loc = o->loc});
    else v->scratch = add_binding(x, (rt_binding){.kind = BINDING_TEMP, .bytes = bytes_of(v->type), .loc = o->loc});
  }
  for (ir_op *o = x->b->first; o; o = o->next)
    if (is_in_place(o)) written_by(o)->data = NULL;
  return check_last_reads(x);
}

/* A returned temporary becomes the output itself; anything else is copied. */
static tsr_status make_outputs(plan *x) {
  tsr_program *p = x->p;
  const ir_op *ret = x->b->last;
  if (!ret || ret->def->code != TG_RETURN) return ir_error(x->program, NULL, "the program must end with a return");
  p->outputs = arena_array(&p->arena, tsr_tensor_info, ret->n_operands + 1);
  p->passes = arena_array(&p->arena, rt_pass_through, ret->n_operands + 1);
  p->donors = arena_array(&p->arena, int, ret->n_operands + 1);
  if (!p->outputs || !p->passes || !p->donors) return st_oom();
  for (int i = 0; i < ret->n_operands; i++) {
    p->donors[i] = -1;
    p->outputs[p->n_outputs++] = info_of(&p->arena, ret->operands[i]);
    rt_binding *s = &p->bindings[binding_of(ret->operands[i])];
    if (s->kind == BINDING_TEMP) {
      s->kind = BINDING_OUTPUT;
      s->index = i;
      if (s->written_from) p->donors[i] = p->bindings[s->written_from - 1].index;
    } else {
      p->passes[p->n_passes++] = (rt_pass_through){i, binding_of(ret->operands[i])};
    }
  }
  for (int i = 0; i < p->n_bindings; i++)
    if (p->bindings[i].kind == BINDING_TEMP && p->bindings[i].written_from)
      return ir_error_at(x->program, p->bindings[i].loc, TSR_INVALID_ARGUMENT, "return the result",
                         "a launch writes into an input and its result is no output");
  return NULL;
}

/* The number of each kernel is where its op keeps it: scratch, from 1. */
static void number_kernels(plan *x) {
  for (ir_op *o = x->p->levels[TSR_LEVEL_TARGET]->root->regions[0]->first; o; o = o->next) o->scratch = 0;
  for (int i = 0; i < x->p->desc.n_kernels; i++) {
    ir_op *k = ir_symbols_find(&x->kernels, x->p->desc.kernels[i].name);
    if (k) k->scratch = i + 1;
  }
}

static int kernel_index(const plan *x, const char *name) {
  const ir_op *k = ir_symbols_find(&x->kernels, name);
  return k ? (int)k->scratch - 1 : -1;
}

static bool is_host_call(const ir_op *o) {
  return o->def->code == TG_CUSTOM || o->def->code == TG_ROUTINE || o->def->code == TG_CONTROL;
}

static tsr_status make_launches(plan *x) {
  tsr_program *p = x->p;
  int n = 0;
  for (const ir_op *o = x->b->first; o; o = o->next) n += o->def->code == TG_LAUNCH || is_host_call(o);
  p->launches = arena_array(&p->arena, rt_launch, n + 1);
  if (!p->launches) return st_oom();
  number_kernels(x);
  for (const ir_op *o = x->b->first; o; o = o->next) {
    if (o->def->code != TG_LAUNCH && !is_host_call(o)) continue;
    rt_launch *l = &p->launches[p->n_launches++];
    if (is_host_call(o)) {
      TSR_TRY(rt_custom_bind(p, o, &l->host));
      l->kernel_index = -1;
      l->kernel = arena_str(&p->arena, ir_get_str(o, o->def->code == TG_CONTROL ? "kind" : "callee", ""));
      l->n_outputs = rt_custom_outputs(l->host);
      if (!l->kernel) return st_oom();
    } else {
      l->kernel_index = kernel_index(x, ir_get_str(o, "kernel", ""));
      if (l->kernel_index < 0) return ir_error(o, NULL, "no kernel \"%s\"", ir_get_str(o, "kernel", ""));
      l->kernel = p->desc.kernels[l->kernel_index].name;
      l->n_outputs = p->desc.kernels[l->kernel_index].n_outputs;
    }
    l->n_bindings = o->n_operands;
    l->bindings = arena_array(&p->arena, int, o->n_operands + 1);
    if (!l->bindings) return st_oom();
    for (int i = 0; i < o->n_operands; i++) l->bindings[i] = binding_of(o->operands[i]);
  }
  return NULL;
}

/* ---- workspace ------------------------------------------------------------------------------------------------- */

/* In the order in which launches first touch them. */
static tsr_status place_temporary(plan *x, rt_areas *mem, int64_t *sum, int i) {
  rt_binding *b = &x->p->bindings[i];
  TSR_TRY(check_fits(x, b->loc, b->bytes, "a temporary"));
  if (__builtin_add_overflow(*sum, (int64_t)(b->bytes + 512), sum))
    return ir_error_at(x->program, b->loc, TSR_OUT_OF_MEMORY, "split the tensor",
                       "the bytes of all temporaries overflow 64 bits");
  int64_t at = rt_areas_take(mem, x->first[i], x->last[i], (int64_t)((b->bytes + 255) & ~(size_t)255));
  b->offset = at < 0 ? 0 : (size_t)at;
  return at < 0 ? st_oom() : NULL;
}

static tsr_status plan_workspace(plan *x) {
  tsr_program *p = x->p;
  rt_areas mem = {.al = &p->ctx->al};
  int64_t sum = 0; /* of all, so that no offset can overflow */
  tsr_status st = NULL;
  x->first = arena_array(&p->arena, int, p->n_bindings + 1);
  x->last = arena_array(&p->arena, int, p->n_bindings + 1);
  if (!x->first || !x->last) return st_oom();
  for (int i = 0; i < p->n_bindings; i++) x->first[i] = -1;
  for (int l = 0; l < p->n_launches; l++)
    for (int k = 0; k < p->launches[l].n_bindings; k++) x->last[p->launches[l].bindings[k]] = l;
  for (int i = 0; i < p->n_bindings && !st; i++)
    if (p->bindings[i].kind == BINDING_CONST)
      st = check_fits(x, p->bindings[i].loc, p->bindings[i].bytes, "a constant");
  for (int l = 0; l < p->n_launches && !st; l++)
    for (int k = 0; k < p->launches[l].n_bindings && !st; k++) {
      int i = p->launches[l].bindings[k];
      if (x->first[i] >= 0) continue;
      x->first[i] = l;
      if (p->bindings[i].kind == BINDING_TEMP) st = place_temporary(x, &mem, &sum, i);
    }
  p->workspace_bytes = (size_t)mem.total;
  if (!st) st = check_fits(x, x->program->loc, p->workspace_bytes, "temporaries");
  /* Temporaries without elements still need memory to point into. */
  for (int i = 0; i < p->n_bindings && !p->workspace_bytes; i++)
    if (p->bindings[i].kind == BINDING_TEMP) p->workspace_bytes = 256;
  rt_areas_clear(&mem);
  return st;
}

/* ---- what the kernels are ---------------------------------------------------------------------------------------- */

static tsr_status describe_kernel(const plan *x, int index, tsr_kernel_info *k) {
  tsr_program *p = x->p;
  const be_kernel_desc *d = &p->desc.kernels[index];
  *k = rt_kernel_unknown();
  k->name = d->name;
  k->shared_bytes = d->shared_bytes;
  k->flops = d->flops;
  k->bytes = d->bytes;
  memcpy(k->grid, d->grid, sizeof k->grid);
  memcpy(k->block, d->block, sizeof k->block);
  const ir_op *o = ir_symbols_find(&x->kernels, d->name);
  if (o) {
    int64_t tile[3] = {0};
    k->family = ir_get_str(o, "family", "");
    k->path = ir_get_str(o, "path", "");
    ir_get_ints(o, "tile", tile, 3);
    memcpy(k->tile, tile, sizeof tile);
  }
  if (!k->tile[0]) rt_kernel_tile(p, d->name, k->tile);
  be_kernel_stats s = {-1, -1, -1, -1, false, -1};
  if (!p->module || !p->dev->vt->kernel_stats) return NULL;
  TSR_TRY(p->dev->vt->kernel_stats(p->module, index, &s));
  k->registers = s.registers;
  k->spill_bytes = s.spill_bytes;
  k->occupancy = s.occupancy;
  return NULL;
}

static void describe_host_call(const tsr_program *p, const rt_launch *l, tsr_kernel_info *k) {
  *k = rt_kernel_unknown();
  k->name = l->kernel;
  k->family = rt_custom_describe(l->host, &k->flops);
  for (int i = 0; i < 3; i++) k->grid[i] = k->block[i] = 1;
  for (int s = 0; s < l->n_bindings; s++) k->bytes += (double)p->bindings[l->bindings[s]].bytes;
}

/* Which schedules are not those that were asked for. The trace lives as long as the program. */
static tsr_status note_originals(tsr_program *p) {
  trace_changes changes;
  if (!trace_changes_make(&p->trace, &changes)) return st_oom();
  for (int i = 0; i < p->n_launches && changes.n; i++) {
    const trace_entry *e = trace_changes_find(&changes, p->kernels[i].name);
    if (e) p->kernels[i].original = e->original, p->kernels[i].original_why = e->reason;
  }
  trace_changes_clear(&p->trace, &changes);
  return NULL;
}

/* A kernel is described once, however many launches it has. */
static tsr_status describe_kernels(const plan *x) {
  tsr_program *p = x->p;
  p->kernels = arena_array(&p->arena, tsr_kernel_info, p->n_launches + 1);
  const tsr_kernel_info **known = arena_array(&p->arena, const tsr_kernel_info *, p->desc.n_kernels + 1);
  if (!p->kernels || !known) return st_oom();
  for (int i = 0; i < p->n_launches; i++) {
    const rt_launch *l = &p->launches[i];
    if (l->host) {
      describe_host_call(p, l, &p->kernels[i]);
      continue;
    }
    const tsr_kernel_info **first = &known[l->kernel_index];
    if (*first) {
      p->kernels[i] = **first;
      continue;
    }
    *first = &p->kernels[i];
    TSR_TRY(describe_kernel(x, l->kernel_index, &p->kernels[i]));
  }
  return NULL;
}

/* Bindings, launches, workspace, waits: all but what is on the device. */
static tsr_status make_plan(plan *x) {
  TSR_TRY(make_bindings(x));
  TSR_TRY(make_outputs(x));
  TSR_TRY(make_launches(x));
  TSR_TRY(plan_workspace(x));
  return rt_make_waits(x->p);
}

static tsr_status plan_program(tsr_program *p, ir_op *program) {
  plan x = {.p = p, .program = program, .b = program->regions[0]};
  p->program = program;
  TSR_TRY(ir_symbols_make(p->levels[TSR_LEVEL_TARGET], &x.kernels));
  tsr_status st = make_plan(&x);
  if (!st && !p->outer && p->dev->be) st = p->dev->vt->module_create(p->dev->be, &p->desc, &p->module);
  if (!st && !p->outer && p->dev->be) st = rt_build(p);
  if (!st) st = describe_kernels(&x);
  if (!st) st = note_originals(p);
  ir_symbols_clear(&x.kernels);
  return st;
}

tsr_status rt_plan_inner(tsr_program *p, const ir_op *op, ir_op *program, tsr_program **out) {
  for (const tsr_program *at = p; at; at = at->outer)
    if (at->program == program)
      return ir_error(op, NULL, "program \"%s\" runs itself", ir_get_str(program, "sym_name", ""));
  tsr_program *x = *out = al_new(&p->ctx->al, tsr_program);
  if (!x) return st_oom();
  x->ctx = p->ctx, x->dev = p->dev, x->policy = p->policy, x->desc = p->desc, x->outer = p;
  x->inner_calls = p->inner_calls;
  x->number = rt_number(p->ctx);
  memcpy(x->levels, p->levels, sizeof x->levels);
  arena_init(&x->arena, &p->ctx->al);
  trace_init(&x->trace, &p->ctx->al);
  x->next_inner = p->inner;
  p->inner = x;
  return plan_program(x, program);
}

tsr_status rt_plan(tsr_program *p) {
  for (ir_op *o = p->levels[TSR_LEVEL_TARGET]->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TARGET && o->def->code == TG_PROGRAM) return plan_program(p, o);
  return ir_error(p->levels[TSR_LEVEL_TARGET]->root, NULL, "the module has no program");
}
