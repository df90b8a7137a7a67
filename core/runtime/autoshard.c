/* core/runtime/autoshard.c - tsr_graph_autoshard; see tessera/dist.h. */
#include <string.h>

#include "core/dist/search.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/layouts.h"
#include "core/runtime/dist.h"

static const char fn[] = "graph_autoshard";

static void explain(strb *b, const dist_problem *p, const dist_found *f) {
  dist_mesh_print(b, &p->mesh);
  strb_printf(b, " on %s: %.4g us modelled, %.4g us with all inputs whole; %d ways tried\n",
              p->links.machine->links.name, f->us, f->whole_us, f->n_tried);
  for (int i = 0; i < p->n_args; i++) {
    const ir_value *v = p->values[i].v;
    strb_printf(b, "  %s%s: ", v->name ? v->name : "input ", v->name ? "" : (char[]){(char)('0' + i % 10), 0});
    dist_spec_print(b, &p->mesh, &f->args[i]);
    strb_puts(b, p->values[i].wanted ? " (given)\n" : "\n");
  }
  strb_printf(b, "  inputs take %.4g MB of a rank's %.4g MB, %.4g MB if all were whole\n", f->memory * 1e-6,
              p->links.machine->device.memory_gbytes * 1e3, f->whole_memory * 1e-6);
}

static tsr_status write_shards(tsr_graph *g, const dist_problem *p, const dist_found *f) {
  for (int i = 0; i < p->n_args; i++) {
    strb b;
    strb_init(&b, &g->ctx->al);
    dist_spec_print(&b, &p->mesh, &f->args[i]);
    ir_value *v = g->func->regions[0]->args[i];
    if (!v->shard) v->shard = b.failed ? NULL : arena_str(&g->m->arena, strb_text(&b));
    strb_clear(&b);
    if (!v->shard) return st_oom();
  }
  return NULL;
}

tsr_status tsr_graph_autoshard(tsr_graph *g, const tsr_mesh *mesh, const tsr_dist_options *o, char **why) {
  static const tsr_dist_options none = {0};
  if (why) *why = NULL;
  RT_NEED(fn, "g", g);
  RT_NEED(fn, "mesh", mesh);
  if (!o) o = &none;
  TSR_TRY(rt_check_options(g->ctx, fn, &o->compile));
  TSR_TRY(rt_check_enum(&g->ctx->al, fn, "uneven", (int64_t)o->uneven, "pad, refuse"));
  ir_module *m;
  arena a;
  dist_machine machine;
  dist_problem p;
  dist_found found;
  const dist_rules rules = {.refuse_uneven = o->uneven == TSR_UNEVEN_REFUSE,
                            .keep_order = o->compile.policy == TSR_POLICY_DETERMINISTIC};
  const pass_options passes = {.routines = true};
  TSR_TRY(ir_verify(g->m));
  TSR_TRY(ir_module_clone(g->m, &m));
  arena_init(&a, &g->ctx->al);
  tsr_status st = dist_machine_find(&a, o->topology ? o->topology : "inproc", NULL, 0, &machine);
  for (int i = 0; i < g->func->regions[0]->n_args && !st; i++)
    if (ir_type_count(g->func->regions[0]->args[i]->type) == IR_DYNAMIC)
      st = RT_BAD(g->ctx, fn, "tsr_graph_specialize gives it a number", "input %d has an unknown dimension", i);
  if (!st) st = graph_apply_layouts(m, &passes);
  if (!st) st = graph_expand_module(m, &passes);
  ir_op *func = graph_find_func(m, ir_get_str(g->func, "sym_name", NULL));
  if (!st && !(st = dist_problem_init(&p, func, &mesh->m, &machine, &rules))) {
    strb b;
    st = dist_search(&p, &found);
    strb_init(&b, &g->ctx->al);
    if (!st && !found.fits)
      st = RT_BAD(g->ctx, fn, "a larger mesh, or a topology whose devices have more memory",
                  "the inputs need at least %.4g MB of each rank, there are %.4g", found.memory * 1e-6,
                  machine.device.memory_gbytes * 1e3);
    /* Found in memory's order, told as the graph is written. */
    for (int i = 0; i < p.n_args && !st; i++)
      dist_spec_as_written(&found.args[i], g->func->regions[0]->args[i]->layout);
    if (!st) explain(&b, &p, &found);
    if (!st) st = write_shards(g, &p, &found);
    if (!st && why) st = rt_text(g->ctx, &b, why);
    else strb_clear(&b);
    dist_problem_clear(&p);
  }
  arena_clear(&a);
  ir_module_destroy(&m);
  return st;
}
