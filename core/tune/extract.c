/* core/tune/extract.c - see extract.h. */
#include "core/tune/extract.h"

#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"

/* Old values to new ones. */
typedef struct value_map {
  ir_value **from, **to;
  int n;
} value_map;

static ir_value *mapped(void *user, ir_value *v) {
  const value_map *m = user;
  for (int i = m->n; i-- > 0;)
    if (m->from[i] == v) return m->to[i];
  return NULL;
}

static bool map_init(value_map *m, arena *a, int cap) {
  m->n = 0;
  m->from = arena_array(a, ir_value *, cap + 1);
  m->to = arena_array(a, ir_value *, cap + 1);
  return m->from && m->to;
}

static bool map_add(value_map *m, ir_value *from, ir_value *to) {
  if (!to) return false;
  m->from[m->n] = from;
  m->to[m->n++] = to;
  return true;
}

static bool copy_policy(const ir_op *from, ir_op *to) {
  static const char *const kept[] = {"policy", "precision"};
  for (int i = 0; i < 2; i++) {
    const char *v = ir_get_str(from, kept[i], "");
    if (*v && !ir_set_attr(to, kept[i], ir_attr_str(to->module, v))) return false;
  }
  return true;
}

/* A constant stays one: backends pack it ahead, which changes what is fast. Anything else becomes an argument. */
static ir_value *input_of(ir_builder *b, ir_block *block, const ir_value *v) {
  if (!v->def || !graph_is(v->def, G_CONSTANT)) return ir_block_arg(b->m, block, ir_type_get(b->m, v->type), NULL);
  ir_op *copy = ir_op_copy(b, v->def, NULL, NULL);
  return copy ? copy->results[0] : NULL;
}

static bool build_schedule(const ir_op *kernel, ir_module *m) {
  value_map map;
  ir_builder top = ir_at_end(m, m->root->regions[0]);
  ir_op *program = ir_op_new(&top, ir_find_op("tessera.schedule.program"), 0, NULL, 0, NULL, 1);
  if (!program || !map_init(&map, &m->arena, kernel->n_operands)) return false;
  if (!ir_set_attr(program, "sym_name", ir_attr_str(m, "main"))) return false;
  if (kernel->parent && kernel->parent->parent && !copy_policy(kernel->parent->parent, program)) return false;
  ir_builder b = ir_at_end(m, program->regions[0]);
  for (int i = 0; i < kernel->n_operands; i++) {
    ir_value *v = kernel->operands[i];
    if (mapped(&map, v)) continue; /* an operand that is given twice is one input */
    if (!map_add(&map, v, input_of(&b, program->regions[0], v))) return false;
  }
  ir_op *copy = ir_op_copy(&b, kernel, mapped, &map);
  return copy && ir_build0(&b, "tessera.schedule.return", copy->n_results, copy->results);
}

static bool build_graph(const ir_op *kernel, ir_module *m) {
  const ir_block *body = kernel->regions[0];
  int values = body->n_args;
  value_map map, inputs;
  for (const ir_op *o = body->first; o; o = o->next) values += o->n_results;
  ir_builder top = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&top, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!func || !map_init(&map, &m->arena, values) || !map_init(&inputs, &m->arena, kernel->n_operands)) return false;
  if (!ir_set_attr(func, "sym_name", ir_attr_str(m, "main"))) return false;
  if (kernel->parent && kernel->parent->parent && !copy_policy(kernel->parent->parent, func)) return false;
  ir_builder b = ir_at_end(m, func->regions[0]);
  for (int i = 0; i < body->n_args; i++) {
    ir_value *input = mapped(&inputs, kernel->operands[i]);
    if (!input) {
      input = input_of(&b, func->regions[0], kernel->operands[i]);
      if (!map_add(&inputs, kernel->operands[i], input)) return false;
    }
    if (!map_add(&map, body->args[i], input)) return false;
  }
  for (const ir_op *o = body->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH) continue;
    ir_op *copy = ir_op_copy(&b, o, mapped, &map);
    if (!copy) return false;
    for (int i = 0; i < o->n_results; i++)
      if (!map_add(&map, o->results[i], copy->results[i])) return false;
  }
  const ir_op *yield = body->last;
  ir_value **results = arena_array(&m->arena, ir_value *, yield->n_operands + 1);
  if (!results) return false;
  for (int i = 0; i < yield->n_operands; i++) results[i] = mapped(&map, yield->operands[i]);
  return ir_op_new(&b, graph_def(G_RETURN), yield->n_operands, results, 0, NULL, 0) != NULL;
}

static tsr_status make(const ir_op *kernel, bool (*build)(const ir_op *kernel, ir_module *m), ir_module **out) {
  TSR_TRY(ir_module_create(&kernel->module->arena.al, out));
  tsr_status st = build(kernel, *out) ? ir_verify(*out) : ir_cause(*out, NULL, st_oom());
  if (st) ir_module_destroy(out);
  return st;
}

tsr_status extract_schedule(const ir_op *kernel, ir_module **out) { return make(kernel, build_schedule, out); }
tsr_status extract_graph(const ir_op *kernel, ir_module **out) { return make(kernel, build_graph, out); }

ir_op *extract_kernel(const ir_module *schedule) {
  for (ir_op *p = schedule->root->regions[0]->first; p; p = p->next)
    for (ir_op *o = p->n_regions ? p->regions[0]->first : NULL; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) return o;
  return NULL;
}
