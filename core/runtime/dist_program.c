/* core/runtime/dist_program.c - from a graph with shards to what all ranks of a mesh run: the passes that know no
 * device, the partition, the schedule, then a program for each step and device. See tessera/dist.h. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/dist/chunk.h"
#include "core/dist/order.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/layouts.h"
#include "core/passes/graph/packed.h"
#include "core/runtime/dist.h"
#include "core/runtime/rule.h"

static const char fn[] = "dist_program_compile";

static const char how_to_shard[] =
    "tsr_graph_shard on an input, {shard = [\"dp\", \"*\"]} behind its type in IR text, or tsr_graph_autoshard";

static void note(void *user, const ir_op *op, const char *rule, bool fired, const char *text) {
  trace_add(user, "shard", rule, op, fired, "%s", text);
}

static tsr_policy policy_of(const tsr_dist_program *p, const ir_op *func) {
  tsr_policy named;
  if (p->options.compile.policy) return p->options.compile.policy;
  tsr_status st = tsr_policy_parse(ir_get_str(func, "policy", ""), &named);
  if (!st) return named;
  tsr_status_free(st);
  return p->mesh->ctx->policy;
}

/* ---- the program of one rank ----------------------------------------------------------------------------------- */

static bool has_collectives(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (graph_is_kind(o, GRAPH_COLLECTIVE)) return true;
  return false;
}

/* The function as it is: every rank has its own of all that it takes and gives. */
static tsr_status take_rank_program(tsr_dist_program *p, ir_module **m, ir_op *func) {
  dist_program *r = &p->rank;
  const ir_block *body = func->regions[0];
  TSR_TRY(dist_check_rank_program(func, &p->mesh->m));
  *r = (dist_program){.m = *m, .func = func, .n_inputs = body->n_args, .n_outputs = body->last->n_operands};
  *m = NULL;
  p->in = arena_array(&p->arena, dist_spec, r->n_inputs + 1);
  p->out = arena_array(&p->arena, dist_spec, r->n_outputs + 1);
  r->whole_in = arena_array(&p->arena, const ir_type *, r->n_inputs + 1);
  r->whole_out = arena_array(&p->arena, const ir_type *, r->n_outputs + 1);
  if (!p->in || !p->out || !r->whole_in || !r->whole_out) return st_oom();
  for (int i = 0; i < r->n_inputs; i++) r->whole_in[i] = body->args[i]->type, p->in[i].rank = body->args[i]->type->rank;
  for (int i = 0; i < r->n_outputs; i++) {
    r->whole_out[i] = body->last->operands[i]->type;
    p->out[i].rank = r->whole_out[i]->rank;
  }
  return NULL;
}

static tsr_status find_machine(tsr_dist_program *p, dist_machine *out) {
  return dist_machine_find(&p->arena, p->options.topology ? p->options.topology : "inproc", NULL, 0, out);
}

static tsr_status cut_up(tsr_dist_program *p, ir_op *func) {
  dist_machine machine;
  dist_problem problem;
  const dist_rules rules = {.refuse_uneven = p->options.uneven == TSR_UNEVEN_REFUSE,
                            .keep_order = policy_of(p, func) == TSR_POLICY_DETERMINISTIC};
  const dist_notes notes = {note, &p->trace};
  TSR_TRY(find_machine(p, &machine));
  TSR_TRY(dist_problem_init(&problem, func, &p->mesh->m, &machine, &rules));
  tsr_status st = dist_partition(&problem, NULL, &notes, &p->rank);
  if (!st) {
    p->in = arena_dup(&p->arena, p->rank.inputs, sizeof *p->in * (size_t)(p->rank.n_inputs + 1));
    p->out = arena_dup(&p->arena, p->rank.outputs, sizeof *p->out * (size_t)(p->rank.n_outputs + 1));
    if (!p->in || !p->out) st = st_oom();
  }
  dist_problem_clear(&problem);
  return st;
}

static tsr_status refuse_packed(const tsr_dist_program *p, const ir_op *func) {
  const ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args + r->last->n_operands; i++) {
    const bool in = i < r->n_args;
    const ir_value *v = in ? r->args[i] : r->last->operands[i - r->n_args];
    if (dtype_packed(v->type->dtype))
      return st_make(&p->mesh->ctx->al, TSR_UNSUPPORTED, RT_WHERE(fn, "cast to i8 or u8"),
                     "%s %d is %s, whose elements share bytes: it can't be cut into parts", in ? "input" : "output",
                     in ? i : i - r->n_args, tsr_dtype_name(v->type->dtype));
  }
  return NULL;
}

static tsr_status chunk_products(tsr_dist_program *p, const dist_schedule_options *schedule) {
  dist_machine machine;
  dist_links links;
  const dist_notes notes = {note, &p->trace};
  const dist_chunk_options o = {.chunks = p->options.row_chunks, .schedule = *schedule};
  TSR_TRY(find_machine(p, &machine));
  TSR_TRY(dist_links_init(&links, &machine, &p->mesh->m));
  tsr_status st = dist_chunk(&p->rank, &links, &o, &notes);
  dist_links_clear(&links);
  return st;
}

/* The name of a graph's function tells it from others of the module. */
static tsr_status make_rank_program(tsr_dist_program *p, const tsr_graph *g) {
  ir_module *m = NULL;
  tsr_status st = NULL;
  pass_options passes = {.disable = p->options.compile.disable,
                         .routines = true,
                         .exact = policy_of(p, g->func) != TSR_POLICY_FAST,
                         .trace = &p->trace};
  TSR_TRY(ir_verify(g->m));
  TSR_TRY(ir_module_clone(g->m, &m));
  ir_op *func = graph_find_func(m, ir_get_str(g->func, "sym_name", NULL));
  for (int i = 0; i < func->regions[0]->n_args; i++)
    if (ir_type_count(func->regions[0]->args[i]->type) == IR_DYNAMIC)
      TSR_GOTO(
          RT_BAD(p->mesh->ctx, fn, "tsr_graph_specialize gives it a number", "input %d has an unknown dimension", i));
  TSR_GOTO(graph_apply_layouts(m, &passes));
  TSR_GOTO(rt_rules(p->mesh->ctx, &p->arena, &passes));
  TSR_GOTO(graph_expand_module(m, &passes));
  func = graph_find_func(m, ir_get_str(g->func, "sym_name", NULL));
  TSR_GOTO(refuse_packed(p, func));
  TSR_GOTO(graph_to_bytes(m, &passes));
  const bool sharded = dist_has_shards(func);
  for (int i = 0; i < func->regions[0]->n_args; i++) p->n_implicit += sharded && !func->regions[0]->args[i]->shard;
  if (!sharded && has_collectives(func)) st = take_rank_program(p, &m, func);
  else if (!sharded && p->mesh->m.ranks > 1)
    st = RT_BAD(p->mesh->ctx, fn, how_to_shard, "%lld ranks, and nothing says how the graph's inputs lie on them",
                (long long)p->mesh->m.ranks);
  else st = cut_up(p, func);
done:
  ir_module_destroy(&m);
  return st;
}

/* ---- a program for each step ----------------------------------------------------------------------------------- */

/* The step's own value, or the argument for the slot that it reads. */
static ir_value *mapped(void *user, ir_value *v) {
  const tsr_dist_program *p = user;
  return v->data ? v->data : v->scratch >= 0 ? p->arg_of[v->scratch] : NULL;
}

/* The step's ops as a function of what it reads, which returns what it writes. */
static tsr_status step_module(tsr_dist_program *p, const dist_step *x, ir_module **out, ir_op **func) {
  const dist_slot *slots = p->schedule.slots;
  tsr_status st = NULL;
  TSR_TRY(ir_module_create(&p->mesh->ctx->al, out));
  ir_module *m = *out;
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  *func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  ir_value **results = arena_array(&m->arena, ir_value *, x->n_writes + 1);
  bool ok = *func && results;
  const char *kept[] = {"policy", "sym_name"};
  for (int i = 0; ok && i < 2; i++) {
    const ir_attr *a = ir_get_attr(p->rank.func, kept[i]);
    ok = !a || ir_set_attr(*func, kept[i], ir_attr_copy(m, a));
  }
  for (int i = 0; ok && i < x->n_reads; i++) {
    const ir_value *v = slots[x->reads[i]].v;
    ok = (p->arg_of[x->reads[i]] = ir_block_arg(m, (*func)->regions[0], ir_type_get(m, v->type), v->name)) != NULL;
  }
  b = ir_at_end(m, ok ? (*func)->regions[0] : NULL);
  for (int i = 0; ok && i < x->n_ops; i++) {
    ir_op *copy = ir_op_copy(&b, x->ops[i], mapped, p);
    if (!(ok = copy != NULL)) break;
    for (int k = 0; k < copy->n_results; k++) x->ops[i]->results[k]->data = copy->results[k];
  }
  for (int i = 0; ok && i < x->n_writes; i++) results[i] = slots[x->writes[i]].v->data;
  ok = ok && ir_op_new(&b, graph_def(G_RETURN), x->n_writes, results, 0, NULL, 0);
  st = ok ? ir_verify(m) : st_oom();
  for (int i = 0; i < x->n_reads; i++) p->arg_of[x->reads[i]] = NULL;
  for (int i = 0; i < x->n_ops; i++)
    for (int k = 0; k < x->ops[i]->n_results; k++) x->ops[i]->results[k]->data = NULL;
  if (st) st = ir_cause(m, NULL, st), ir_module_destroy(out);
  return st;
}

static tsr_status compile_step(tsr_dist_program *p, int step) {
  const tsr_mesh *mesh = p->mesh;
  for (int d = 0; d < mesh->n_devices; d++) {
    dist_part *part = &p->parts[step * mesh->n_devices + d];
    ir_op *func;
    tsr_graph *g;
    part->dev = mesh->devices[d];
    bool used = false;
    for (int64_t r = mesh->first; r < mesh->end && !used; r++) used = rt_dist_device(p, r) == d;
    if (!used) continue;
    TSR_TRY(rt_graph_new(mesh->ctx, &g));
    tsr_status st = step_module(p, &p->schedule.steps[step], &g->m, &func);
    if (!st) st = rt_graph_close(g, func);
    if (!st) st = tsr_program_compile(part->dev, g, &p->options.compile, &part->program);
    tsr_graph_destroy(&g);
    if (!st) st = tsr_stream_create(part->dev, 0, &part->stream);
    if (st) return st;
  }
  return NULL;
}

/* ---- ranks that meet ------------------------------------------------------------------------------------------- */

/* The mesh's ranks 2, 3 along axis 0 "tp" of size 2: in the order of their numbers in the group. */
static tsr_status tell_group(tsr_dist_program *p, const dist_team *t, int64_t rank, const char **out) {
  enum { MOST = 16 }; /* of so many all are named */
  const dist_mesh *m = &p->mesh->m;
  char axes[DIST_AXES_TOLD], text[DIST_AXES_TOLD + 16 * MOST];
  int64_t member;
  const int64_t group = dist_mesh_group(m, t->axes, rank, &member), n = dist_mesh_extent(m, t->axes);
  dist_mesh_axes_told(m, t->axes, axes);
  size_t at = (size_t)snprintf(text, sizeof text, "the mesh's ranks");
  for (int64_t i = 0; i < n && n <= MOST; i++) {
    const int64_t wanted = t->reversed ? n - 1 - i : i;
    for (int64_t r = 0; r < m->ranks; r++)
      if (dist_mesh_group(m, t->axes, r, &member) == group && member == wanted)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s %lld", i ? "," : "", (long long)r);
  }
  snprintf(text + at, sizeof text - at, " along %s", axes);
  return (*out = arena_str(&p->arena, text)) ? NULL : st_oom();
}

static tsr_status find_team(tsr_dist_program *p, const ir_op *op, dist_team **out) {
  const graph_collective c = graph_collective_get(op);
  const uint32_t axes = dist_mesh_axes_of(&p->mesh->m, c.axes);
  const int reversed = op->def->code == G_SEND && c.shift < 0;
  for (dist_team *t = p->teams; t; t = t->next)
    if (t->axes == axes && t->reversed == reversed) return *out = t, NULL;
  dist_team *t = arena_new(&p->arena, dist_team);
  const int64_t n = dist_mesh_extent(&p->mesh->m, axes);
  if (!t) return st_oom();
  *t = (dist_team){.axes = axes, .reversed = reversed, .n_groups = p->mesh->m.ranks / n, .next = p->teams};
  t->groups = arena_array(&p->arena, coll_team *, t->n_groups);
  t->told = arena_array(&p->arena, const char *, t->n_groups);
  if (!t->groups || !t->told) return st_oom();
  p->teams = t;
  for (int64_t r = p->mesh->first; r < p->mesh->end; r++) {
    int64_t member;
    const int64_t g = dist_mesh_group(&p->mesh->m, axes, r, &member);
    if (!t->told[g]) TSR_TRY(tell_group(p, t, r, &t->told[g]));
    if (!p->mesh->team && !t->groups[g])
      TSR_TRY(coll_team_create(&p->mesh->ctx->al, (int32_t)n, NULL, &t->groups[g]));
  }
  *out = t;
  return NULL;
}

/* Between processes, when all have a program. */
static tsr_status open_teams(tsr_dist_program *p) {
  for (dist_team *t = p->teams; t && p->mesh->team; t = t->next) TSR_TRY(rt_dist_team_open(p->mesh, t));
  return NULL;
}

static void describe(tsr_dist_program *p, dist_links *links, int step) {
  const dist_step *x = &p->schedule.steps[step];
  p->collective_of[step] = p->n_collectives;
  for (int i = 0; i < x->n_ops; i++) {
    const ir_op *op = x->ops[i];
    const graph_collective c = graph_collective_get(op);
    const ir_type *t = op->def->code == G_ALL_GATHER ? op->results[0]->type : op->operands[0]->type;
    p->step_of[p->n_collectives] = step;
    tsr_dist_collective *k = &p->collectives[p->n_collectives++];
    *k = (tsr_dist_collective){.op = strrchr(op->def->name, '.') + 1,
                               .axes = c.axes,
                               .algorithm = "",
                               .us = -1,
                               .bytes = ir_type_bytes(t),
                               .overlapped_us = -1};
    k->planned_us = dist_coll_us(links, dist_coll_op((graph_code)op->def->code), dist_mesh_axes_of(&p->mesh->m, c.axes),
                                 (double)k->bytes, &k->algorithm);
  }
}

static tsr_status prepare_steps(tsr_dist_program *p) {
  const dist_schedule *s = &p->schedule;
  dist_machine machine;
  dist_links links;
  TSR_TRY(find_machine(p, &machine));
  TSR_TRY(dist_links_init(&links, &machine, &p->mesh->m));
  tsr_status st = NULL;
  for (int i = 0; i < s->n_steps && !st; i++) {
    if (s->steps[i].kind == DIST_COMPUTE) st = compile_step(p, i);
    if (s->steps[i].kind != DIST_COMM) continue;
    st = find_team(p, s->steps[i].ops[0], &p->team_of[i]);
    describe(p, &links, i);
  }
  dist_links_clear(&links);
  return st;
}

static tsr_status prepare_memory(tsr_dist_program *p) {
  const size_t staging = rt_dist_staging(p);
  for (int64_t r = p->mesh->first; r < p->mesh->end; r++) {
    dist_rank_memory *m = &p->memory[r];
    if (p->schedule.n_slots)
      TSR_TRY(tsr_buffer_create(mesh_device(p->mesh, r), p->schedule.workspace, TSR_MEMORY_DEVICE, &m->workspace));
    m->host_bytes = staging;
    for (int i = 0; i < 2 && staging; i++)
      if (!(m->host[i] = al_alloc(&p->mesh->ctx->al, staging, 64))) return st_oom();
  }
  return NULL;
}

/* How this process's ranks reach the others, and their own memory. */
static tsr_status describe_path(tsr_dist_program *p) {
  const tsr_mesh *m = p->mesh;
  strb b;
  bool copies = false;
  strb_init(&b, &m->ctx->al);
  strb_puts(&b, m->team && m->m.ranks > 1 ? tsr_team_path(m->team, m->first == 0) : "memory of one process");
  for (int64_t r = m->first; r < m->end; r++) {
    tsr_buffer *own = p->memory[r].workspace;
    const tsr_device *dev = mesh_device(m, r);
    bool told = !own || tsr_buffer_map(own);
    for (int64_t k = m->first; k < r && !told; k++) told = mesh_device(m, k) == dev;
    if (told) continue;
    strb_printf(&b, "%s%s", copies ? ", " : "; through the host: ", dev->info.id);
    copies = true;
  }
  if (!copies) strb_puts(&b, "; in place");
  const char *path = b.failed ? NULL : arena_str(&p->arena, strb_text(&b));
  strb_clear(&b);
  for (int i = 0; i < p->n_collectives; i++) p->collectives[i].path = path;
  return path ? NULL : st_oom();
}

static tsr_status build(tsr_dist_program *p, const tsr_graph *g) {
  const int64_t bucket = p->options.bucket_bytes;
  int n_ops = 0;
  TSR_TRY(make_rank_program(p, g));
  const dist_schedule_options o = {.one_stream = p->options.no_overlap,
                                   .bucket_bytes = bucket > 0   ? bucket
                                                   : bucket < 0 ? 0
                                                                : dist_bucket_bytes(p->rank.func)};
  TSR_TRY(chunk_products(p, &o));
  char hazard[256];
  TSR_TRY(dist_schedule_make(p->rank.func, &o, &p->schedule));
  if (!dist_schedule_check(&p->schedule, hazard, sizeof hazard))
    return st_make(&p->mesh->ctx->al, TSR_INTERNAL, RT_WHERE(fn, NULL), "%s", hazard);
  const size_t n = (size_t)p->schedule.n_steps + 1;
  for (int i = 0; i < p->schedule.n_steps; i++) n_ops += p->schedule.steps[i].n_ops;
  p->parts = arena_array(&p->arena, dist_part, n * (size_t)p->mesh->n_devices);
  p->team_of = arena_array(&p->arena, dist_team *, n);
  p->collective_of = arena_array(&p->arena, int, n);
  p->timing = arena_array(&p->arena, dist_span, n);
  p->beside = arena_array(&p->arena, double, n);
  p->step_of = arena_array(&p->arena, int, n_ops + 1);
  p->collectives = arena_array(&p->arena, tsr_dist_collective, n_ops + 1);
  p->memory = arena_array(&p->arena, dist_rank_memory, p->mesh->m.ranks);
  p->arg_of = arena_array(&p->arena, ir_value *, p->schedule.n_slots + 1);
  p->locks = arena_array(&p->arena, pthread_mutex_t, p->mesh->n_devices);
  if (!p->parts || !p->team_of || !p->collective_of || !p->step_of || !p->timing || !p->beside || !p->collectives ||
      !p->memory || !p->locks || !p->arg_of)
    return st_oom();
  for (int d = 0; d < p->mesh->n_devices; d++) pthread_mutex_init(&p->locks[d], NULL);
  p->n_locks = p->mesh->n_devices;
  TSR_TRY(prepare_steps(p));
  TSR_TRY(prepare_memory(p));
  return describe_path(p);
}

tsr_status tsr_dist_program_compile(tsr_mesh *mesh, const tsr_graph *g, const tsr_dist_options *o,
                                    tsr_dist_program **out) {
  RT_OUT(fn, out);
  RT_NEED(fn, "mesh", mesh);
  RT_NEED(fn, "g", g);
  if (!mesh->n_devices) return RT_BAD(mesh->ctx, fn, "give tsr_mesh_create devices", "the mesh has no devices");
  if (mesh->m.ranks > COLL_MAX_RANKS)
    return RT_BAD(mesh->ctx, fn, "`tessera plan` goes further", "%lld ranks in one process; at most %d",
                  (long long)mesh->m.ranks, COLL_MAX_RANKS);
  if (o) {
    TSR_TRY(rt_check_options(mesh->ctx, fn, &o->compile));
    TSR_TRY(rt_check_enum(&mesh->ctx->al, fn, "uneven", (int64_t)o->uneven, "pad, refuse"));
    if (o->row_chunks < 0) return RT_BAD(mesh->ctx, fn, "0: the planner's choice", "%d chunks", o->row_chunks);
    if (o->compile.n_schedules || o->compile.keep_after)
      return RT_BAD(mesh->ctx, fn, NULL, "schedules by hand and kept passes are of one program, a mesh runs several");
  }
  tsr_dist_program *p = al_new(&mesh->ctx->al, tsr_dist_program);
  if (!p) return st_oom();
  p->mesh = mesh;
  if (o) p->options = *o;
  arena_init(&p->arena, &mesh->ctx->al);
  trace_init(&p->trace, &mesh->ctx->al);
  tsr_status st = rt_dist_agree(p, build(p, g));
  if (!st) st = open_teams(p);
  if (st) tsr_dist_program_destroy(&p);
  *out = p;
  return st;
}

void tsr_dist_program_destroy(tsr_dist_program **pp) {
  tsr_dist_program *p = pp ? *pp : NULL;
  if (!p) return;
  const tsr_allocator al = p->mesh->ctx->al;
  for (int i = 0; p->parts && i < p->schedule.n_steps * p->mesh->n_devices; i++) {
    tsr_program_destroy(&p->parts[i].program);
    tsr_stream_destroy(&p->parts[i].stream);
  }
  for (dist_team *t = p->teams; t; t = t->next) {
    for (int64_t g = 0; g < t->n_groups && !t->own; g++) coll_team_destroy(&t->groups[g]);
    tsr_team_destroy(&t->own);
  }
  for (int64_t r = 0; p->memory && r < p->mesh->m.ranks; r++) {
    tsr_buffer_destroy(&p->memory[r].workspace);
    for (int i = 0; i < 2; i++)
      if (p->memory[r].host[i]) al_free(&al, p->memory[r].host[i], p->memory[r].host_bytes, 64);
  }
  for (int d = 0; d < p->n_locks; d++) pthread_mutex_destroy(&p->locks[d]);
  dist_schedule_clear(&p->schedule);
  ir_module_destroy(&p->rank.m);
  trace_clear(&p->trace);
  arena_clear(&p->arena);
  al_delete(&al, p);
  *pp = NULL;
}
