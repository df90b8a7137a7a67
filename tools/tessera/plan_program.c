/* tools/tessera/plan_program.c - `tessera plan FILE`: a graph in IR text cut up for a mesh, by its shards or by search;
 * what its steps take on a machine that need not be here; with an axis pp, as stages of a pipeline. */
#include <stdlib.h>
#include <string.h>

#include "core/dist/chunk.h"
#include "core/dist/search.h"
#include "core/dist/taken.h"
#include "core/ir/graph/expand.h"
#include "core/passes/graph/layouts.h"
#include "tools/tessera/plan.h"

typedef struct planned {
  ir_module *m;
  dist_problem problem;
  bool has_problem, searched;
  dist_found found;
  dist_program program;
  dist_schedule schedule;
  dist_estimate estimate;
  dist_machine machine;
  dist_links links;
  dist_mesh mesh;
  ir_op *func;
  const char **layouts; /* by input, as the text has it */
  arena arena;
  int64_t stages;
  dist_training training;
  dist_pipelined pipeline;
} planned;

/* Ops with a kernel of their own stay. */
static bool keep(void *user, const ir_op *op) {
  return graph_is_kind(op, GRAPH_ROUTINE) || (graph_is_kind(op, GRAPH_ATTENTION) && !graph_attention_refusal(op));
}

static tsr_status read_graph(const plan_request *q, planned *p, ir_op **func, const char *text, size_t n) {
  TSR_TRY(ir_parse(NULL, text, n, q->what, &p->m));
  if (!(*func = graph_find_func(p->m, NULL)))
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("plan", NULL, NULL), "%s has no tessera.graph.func", q->what);
  for (int i = 0; i < (*func)->regions[0]->n_args; i++)
    if (ir_type_count((*func)->regions[0]->args[i]->type) < 0)
      return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("plan", NULL, NULL), "input %d has an unknown dimension", i);
  const ir_block *body = (*func)->regions[0];
  if (!(p->layouts = arena_array(&p->arena, const char *, body->n_args + 1))) return st_oom();
  for (int i = 0; i < body->n_args; i++) p->layouts[i] = body->args[i]->layout;
  TSR_TRY(graph_apply_layouts(p->m, NULL));
  TSR_TRY(graph_expand(*func, &(graph_expand_options){.keep = keep}));
  return ir_verify(p->m);
}

/* ---- stages ------------------------------------------------------------------------------------------------------ */

/* The ops in order cut into stages of about the same time; forward[s] gets a stage's. What crosses a cut, at most. */
static double cut_stages(planned *p, const bool *taken, double *forward) {
  const double each = p->estimate.us / (double)p->stages;
  double at = 0, most = 0, f, bytes;
  for (const ir_op *o = p->program.func->regions[0]->first; o->n_results; o = o->next) {
    int64_t s = each > 0 ? (int64_t)(at / each) : 0;
    if (s >= p->stages) s = p->stages - 1;
    const double us = graph_is_kind(o, GRAPH_COLLECTIVE) ? dist_collective_us(&p->links, o, &bytes, NULL)
                      : taken[o->scratch]                ? 0
                                                         : dist_op_us(&p->links, o, &f);
    forward[s] += us;
    at += us;
    bytes = (double)ir_type_bytes(o->results[0]->type);
    if (each > 0 && (int64_t)(at / each) != s && bytes > most) most = bytes;
  }
  return most;
}

static tsr_status make_pipeline(planned *p) {
  double *forward = arena_array(&p->arena, double, 2 * p->stages), *backward = forward ? forward + p->stages : NULL;
  const bool *taken = dist_taken(&p->arena, p->program.func);
  if (!forward || !taken) return st_oom();
  const double sent = cut_stages(p, taken, forward);
  for (int64_t s = 0; s < p->stages; s++) backward[s] = 2 * forward[s];
  const uint32_t pp = 1u << dist_mesh_axis(&p->mesh, "pp", 2);
  const double send = dist_coll_us(&p->links, COLL_SEND_RECV, pp, sent, NULL);
  const dist_pipeline x = {
      p->training.schedule, (int)p->stages, (int)p->training.microbatches, p->training.chunks, forward, backward, send};
  return dist_pipeline_run(&p->arena, &x, &p->pipeline);
}

static bool has_collectives(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (graph_is_kind(o, GRAPH_COLLECTIVE)) return true;
  return false;
}

static tsr_status play(planned *p) {
  const dist_chunk_options o = {.schedule = {.bucket_bytes = dist_bucket_bytes(p->program.func)}};
  TSR_TRY(dist_chunk(&p->program, &p->links, &o, NULL));
  TSR_TRY(dist_schedule_make(p->program.func, &o.schedule, &p->schedule));
  return dist_estimate_make(&p->arena, &p->program, &p->schedule, &p->links, &p->estimate);
}

/* A function that has its collectives already is what each rank runs. */
static tsr_status take_rank_program(planned *p, ir_op *func) {
  const ir_block *body = func->regions[0];
  TSR_TRY(dist_check_rank_program(func, &p->mesh));
  p->stages = 1;
  p->program = (dist_program){.func = func, .n_inputs = body->n_args, .n_outputs = body->last->n_operands};
  if (!(p->program.inputs = arena_array(&p->arena, dist_spec, body->n_args + 1))) return st_oom();
  for (int i = 0; i < body->n_args; i++) p->program.inputs[i].rank = body->args[i]->type->rank;
  return play(p);
}

static tsr_status make_plan(const plan_request *q, planned *p, ir_op *func) {
  const int pp = dist_mesh_axis(&p->mesh, "pp", 2);
  const dist_rules rules = {.spared = pp < 0 ? 0 : 1u << pp};
  p->stages = pp < 0 ? 1 : p->mesh.size[pp];
  p->func = func;
  TSR_TRY(dist_links_init(&p->links, &p->machine, &p->mesh));
  if (!dist_has_shards(func) && has_collectives(func)) return take_rank_program(p, func);
  TSR_TRY(dist_problem_init(&p->problem, func, &p->mesh, &p->machine, &rules));
  p->has_problem = true;
  p->searched = q->search || !dist_has_shards(func);
  if (p->searched) TSR_TRY(dist_search(&p->problem, &p->found));
  TSR_TRY(dist_partition(&p->problem, p->searched ? p->found.args : NULL, NULL, &p->program));
  TSR_TRY(play(p));
  return p->stages > 1 ? make_pipeline(p) : NULL;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Of input i, as the text has it. */
static void put_spec(const planned *p, int i, strb *b) {
  dist_spec s = p->program.inputs[i];
  dist_spec_as_written(&s, p->layouts[i]);
  b->n = 0;
  dist_spec_print(b, &p->mesh, &s);
}

static void print_collectives(planned *p, bool json) {
  bool first = true;
  for (int i = 0; i < p->schedule.n_steps; i++)
    for (int k = 0; k < p->schedule.steps[i].n_ops && p->schedule.steps[i].kind == DIST_COMM; k++, first = false) {
      const ir_op *op = p->schedule.steps[i].ops[k];
      const char *algorithm = "none", *axes = ir_get_str(op, "axes", ""), *name = strrchr(op->def->name, '.') + 1;
      double bytes;
      const double us = dist_collective_us(&p->links, op, &bytes, &algorithm);
      if (json)
        printf("%s{\"op\": \"%s\", \"axes\": \"%s\", \"bytes\": %.0f, \"us\": %.9g, \"algorithm\": \"%s\", "
               "\"sent\": %.0f}",
               first ? "" : ", ", name, axes, bytes, us, algorithm, dist_collective_sent(&p->links, op));
      else
        printf("  %s[%s] %.0f bytes, %.6g us by %s, which has a rank send %.0f\n", name, axes, bytes, us, algorithm,
               dist_collective_sent(&p->links, op));
    }
  if (first && !json) printf("  none\n");
}

static double step_us(const planned *p) { return p->stages > 1 ? p->pipeline.us : p->estimate.us; }

static void print_text(const plan_request *q, planned *p) {
  const dist_estimate *e = &p->estimate;
  const ir_block *body = p->func->regions[0];
  strb b;
  strb_init(&b, NULL);
  printf("%s on %s, %lld ranks\n", q->what, p->machine.links.name, (long long)p->mesh.ranks);
  if (p->searched)
    printf("shards found by search (%d ways tried; %.6g us with all inputs whole):\n", p->found.n_tried,
           p->found.whole_us);
  for (int i = 0; i < p->program.n_inputs; i++) {
    put_spec(p, i, &b);
    printf("  %s: %s\n", body->args[i]->name ? body->args[i]->name : "input", strb_text(&b));
  }
  printf("collectives of a rank:\n");
  print_collectives(p, false);
  printf("a rank: %.6g us; computing %.6g us, collectives %.6g us, %.6g us of them exposed; %.0f bytes sent\n", e->us,
         e->compute_us, e->comm_us, e->exposed_us, e->sent);
  if (p->stages > 1)
    printf(
        "pipeline: %s, %lld stages, %lld microbatches of this program (backward as twice forward): %.6g us, idle %.2f "
        "%%, %.2f %% over ideal, %d microbatches at once\n",
        dist_pipeline_get(p->training.schedule)->name, (long long)p->stages, (long long)p->training.microbatches,
        p->pipeline.us, 100 * p->pipeline.idle_share, 100 * p->pipeline.overhead, p->pipeline.peak_live);
  printf("memory of a rank: inputs %.0f + outputs %.0f + between %.0f = %.0f bytes of %.4g GB\n", e->inputs, e->outputs,
         e->between, e->inputs + e->outputs + e->between, p->machine.device.memory_gbytes);
  plan_print_machine(&p->machine);
  strb_clear(&b);
}

static void print_json(const plan_request *q, planned *p) {
  const dist_estimate *e = &p->estimate;
  const ir_block *body = p->func->regions[0];
  strb b;
  strb_init(&b, NULL);
  printf("{\"program\": "), cli_json_string(stdout, q->what);
  printf(", \"topology\": "), cli_json_string(stdout, p->machine.links.name);
  printf(", \"mesh\": {");
  for (int i = 0; i < p->mesh.n; i++)
    printf("%s\"%s\": %lld", i ? ", " : "", p->mesh.name[i], (long long)p->mesh.size[i]);
  printf("}, \"searched\": %s, \"shards\": [", p->searched ? "true" : "false");
  for (int i = 0; i < p->program.n_inputs; i++) {
    put_spec(p, i, &b);
    printf("%s{\"input\": ", i ? ", " : ""), cli_json_string(stdout, body->args[i]->name ? body->args[i]->name : "");
    printf(", \"shard\": \"%s\"}", strb_text(&b));
  }
  printf("], \"collectives\": [");
  print_collectives(p, true);
  printf("], \"step_us\": %.9g, \"compute_us\": %.9g, \"comm_us\": %.9g, \"exposed_us\": %.9g, \"sent_bytes\": %.0f, "
         "\"bubble\": %.9g, ",
         step_us(p), e->compute_us, e->comm_us, e->exposed_us, e->sent, p->stages > 1 ? p->pipeline.idle_share : 0);
  printf("\"memory\": {\"inputs\": %.0f, \"outputs\": %.0f, \"between\": %.0f, \"peak_bytes\": %.0f}, ", e->inputs,
         e->outputs, e->between, e->inputs + e->outputs + e->between);
  plan_json_machine(&p->machine);
  printf("}\n");
  strb_clear(&b);
}

static int timeline(const plan_request *q, const planned *p) {
  static const char *const kinds[] = {"compute", "comm"}, *const tasks[] = {"forward", "backward", "weights"};
  const bool stages = p->stages > 1;
  const int n = stages ? p->pipeline.n_tasks : p->estimate.n_events;
  plan_bar *bars = calloc((size_t)n + 1, sizeof *bars);
  if (!bars) return EXIT_WRONG;
  for (int i = 0; i < n; i++) {
    const dist_task *t = stages ? &p->pipeline.tasks[i] : NULL;
    const dist_event *e = stages ? NULL : &p->estimate.events[i];
    bars[i] = stages ? (plan_bar){.lane = t->stage, .kind = tasks[t->kind], .from = t->from, .to = t->to}
                     : (plan_bar){.lane = e->stream, .kind = kinds[e->stream], .from = e->from, .to = e->to};
    if (stages) snprintf(bars[i].label, sizeof bars[i].label, "%s of microbatch %d", tasks[t->kind], t->microbatch);
    else
      snprintf(bars[i].label, sizeof bars[i].label, "step %d: %s", i,
               strrchr(p->schedule.steps[i].ops[0]->def->name, '.') + 1);
  }
  const plan_timeline t = {stages ? "Stages of a step" : "Streams of a rank", stages ? "stage" : "stream", bars, n,
                           stages ? (int)p->stages : DIST_STREAMS};
  const int rc = plan_write_timeline(q, &t);
  free(bars);
  return rc;
}

int plan_program(const plan_request *q) {
  planned p = {0};
  ir_op *func = NULL;
  size_t n;
  if (!q->mesh) return cli_usage("plan", "a program needs --mesh, as tp=2,dp=4");
  if (q->batch != CLI_NOT_GIVEN || q->zero != CLI_NOT_GIVEN)
    return cli_usage("plan", "--batch and --zero are of models");
  char *text = cli_read_file(q->what, &n);
  if (!text) return EXIT_USAGE;
  arena_init(&p.arena, NULL);
  int rc = plan_machine(q, &p.arena, &p.machine);
  tsr_status st = rc ? NULL : dist_mesh_parse(q->mesh, q->ranks > 0 ? q->ranks : 0, &p.mesh);
  const int pp = rc || st ? -1 : dist_mesh_axis(&p.mesh, "pp", 2);
  if (!rc && !st && pp < 0 && (q->schedule || q->microbatches != CLI_NOT_GIVEN || q->chunks != CLI_NOT_GIVEN))
    rc = cli_usage("plan", "--schedule, --microbatches and --chunks are of meshes with an axis pp");
  if (!rc && !st) rc = plan_training(q, pp < 0 ? 1 : p.mesh.size[pp], &p.training);
  if (!rc && !st) st = read_graph(q, &p, &func, text, n);
  if (!rc && !st) st = make_plan(q, &p, func);
  if (st) rc = cli_fail(st);
  if (!rc) rc = timeline(q, &p);
  if (!rc && q->json) print_json(q, &p);
  else if (!rc) print_text(q, &p);
  dist_schedule_clear(&p.schedule);
  ir_module_destroy(&p.program.m);
  if (p.has_problem) dist_problem_clear(&p.problem);
  if (p.func) dist_links_clear(&p.links);
  ir_module_destroy(&p.m);
  arena_clear(&p.arena);
  free(text);
  return rc;
}
