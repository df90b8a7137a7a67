/* core/runtime/dist_report.c - looking into programs of a mesh: text, trace, rows of the last run. */
#include <ctype.h>
#include <string.h>

#include "core/profile/audit.h"
#include "core/runtime/dist.h"

int tsr_dist_program_n_inputs(const tsr_dist_program *p) { return p ? p->rank.n_inputs : 0; }
int tsr_dist_program_n_outputs(const tsr_dist_program *p) { return p ? p->rank.n_outputs : 0; }
int tsr_dist_program_n_collectives(const tsr_dist_program *p) { return p ? p->n_collectives : 0; }

static tsr_status tensor_of(const tsr_dist_program *p, const char *fn, int i, int n, const ir_type *const *types,
                            const dist_spec *specs, tsr_dist_tensor **out) {
  if (i < 0 || i >= n) return RT_BAD(p->mesh->ctx, fn, NULL, "%d of %d", i, n);
  tsr_shape shape = {.rank = types[i]->rank};
  memcpy(shape.dims, types[i]->dims, sizeof *shape.dims * (size_t)shape.rank);
  return rt_dist_tensor_new(p->mesh, types[i]->dtype, &shape, &specs[i], out);
}

tsr_status tsr_dist_program_input(const tsr_dist_program *p, int i, tsr_dist_tensor **out) {
  RT_OUT("dist_program_input", out);
  RT_NEED("dist_program_input", "p", p);
  return tensor_of(p, "dist_program_input", i, p->rank.n_inputs, p->rank.whole_in, p->in, out);
}

tsr_status tsr_dist_program_output(const tsr_dist_program *p, int i, tsr_dist_tensor **out) {
  RT_OUT("dist_program_output", out);
  RT_NEED("dist_program_output", "p", p);
  return tensor_of(p, "dist_program_output", i, p->rank.n_outputs, p->rank.whole_out, p->out, out);
}

tsr_status tsr_dist_program_print(const tsr_dist_program *p, char **text) {
  RT_OUT("dist_program_print", text);
  RT_NEED("dist_program_print", "p", p);
  strb b;
  strb_init(&b, &p->mesh->ctx->al);
  TSR_TRY(rt_dist_put_program(p, &b));
  return rt_text(p->mesh->ctx, &b, text);
}

tsr_status tsr_dist_program_explain(const tsr_dist_program *p, char **text) {
  RT_OUT("dist_program_explain", text);
  RT_NEED("dist_program_explain", "p", p);
  strb b;
  strb_init(&b, &p->mesh->ctx->al);
  strb_puts(&b, "mesh ");
  dist_mesh_print(&b, &p->mesh->m);
  strb_printf(&b, ", %d collectives, modelled %.4g us\n", p->n_collectives, p->rank.us);
  trace_print(&b, &p->trace);
  strb_puts(&b, "steps of a rank:\n");
  dist_schedule_print(&b, &p->schedule);
  strb_printf(&b, "workspace %zu bytes a rank\n", p->schedule.workspace);
  if (p->n_collectives) strb_printf(&b, "path of the collectives: %s\n", p->collectives[0].path);
  return rt_text(p->mesh->ctx, &b, text);
}

tsr_dist_collective tsr_dist_program_collective(const tsr_dist_program *p, int i) {
  if (i < 0 || i >= tsr_dist_program_n_collectives(p))
    return (tsr_dist_collective){.op = "", .axes = "", .algorithm = "", .path = "", .us = -1, .overlapped_us = -1};
  tsr_dist_collective c = p->collectives[i];
  if (!p->ran) return c;
  const int step = p->step_of[i];
  c.us = p->timing[step].to - p->timing[step].from; /* of several that went as one: of all */
  c.overlapped_us = p->beside[step];
  return c;
}

/* "all_reduce" as "AllReduce". */
static void put_name(strb *b, const char *op) {
  for (bool up = true; *op; op++) {
    if (*op == '_') up = true;
    else strb_putc(b, up ? (char)toupper((unsigned char)*op) : *op), up = false;
  }
}

static void put_rate(strb *b, double bytes_per_us) {
  static const struct {
    double over;
    const char *unit;
  } units[] = {{1e6, "TB/s"}, {1e3, "GB/s"}, {1, "MB/s"}, {0, "kB/s"}};
  int i = 0;
  while (bytes_per_us < units[i].over) i++;
  strb_printf(b, "%.1f%s", bytes_per_us / (units[i].over > 0 ? units[i].over : 1e-3), units[i].unit);
}

static void put_row(strb *b, const tsr_dist_program *p, int step) {
  const dist_step *x = &p->schedule.steps[step];
  const size_t from = b->n;
  const double us = p->timing[step].to - p->timing[step].from;
  double bytes = 0;
  for (int k = 0; k < x->n_ops; k++) bytes += (double)p->collectives[p->collective_of[step] + k].bytes;
  put_name(b, p->collectives[p->collective_of[step]].op);
  strb_printf(b, "[%s]", p->collectives[p->collective_of[step]].axes);
  while (b->n < from + 20 && !b->failed) strb_putc(b, ' ');
  if (us < 1000) strb_printf(b, "latency=%.1f\302\265s", us);
  else strb_printf(b, "latency=%.1fms", us * 1e-3);
  strb_puts(b, "   bandwidth=");
  put_rate(b, us > 0 ? bytes / us : 0);
  strb_printf(b, "   overlapped=%.0f%%\n", us > 0 ? 100 * p->beside[step] / us : 0);
}

tsr_status tsr_dist_program_profile(const tsr_dist_program *p, char **text) {
  RT_OUT("dist_program_profile", text);
  RT_NEED("dist_program_profile", "p", p);
  if (!p->ran) return RT_BAD(p->mesh->ctx, "dist_program_profile", "run it first", "it hasn't run");
  strb b;
  double comm = 0, hidden = 0;
  strb_init(&b, &p->mesh->ctx->al);
  for (int i = 0; i < p->schedule.n_steps; i++) {
    if (p->schedule.steps[i].kind != DIST_COMM) continue;
    put_row(&b, p, i);
    comm += p->timing[i].to - p->timing[i].from;
    hidden += p->beside[i];
  }
  strb_printf(&b, "%d collectives of a rank, %.1f us, %.0f %% of it beside computing\n", p->n_collectives, comm,
              comm > 0 ? 100 * hidden / comm : 0);
  return rt_text(p->mesh->ctx, &b, text);
}

tsr_status tsr_dist_program_check(const tsr_dist_program *p, char **text, int *n_failed) {
  RT_OUT("dist_program_check", text);
  RT_NEED("dist_program_check", "p", p);
  audit_program facts = {
      .n_devices = (int)p->mesh->m.ranks, .implicit_shards = p->n_implicit, .comm_ns = -1, .overlapped_ns = -1};
  if (p->ran) facts.comm_ns = facts.overlapped_ns = 0;
  for (int i = 0; i < p->schedule.n_steps && p->ran; i++) {
    if (p->schedule.steps[i].kind != DIST_COMM) continue;
    facts.comm_ns += 1e3 * (p->timing[i].to - p->timing[i].from);
    facts.overlapped_ns += 1e3 * p->beside[i];
  }
  audit_row rows[AUDIT_DISTRIBUTION];
  strb b;
  int failed = 0;
  strb_init(&b, &p->mesh->ctx->al);
  audit_distribution(&facts, rows);
  for (int i = 0; i < AUDIT_DISTRIBUTION; i++) {
    audit_row_text(&rows[i], &b);
    failed += rows[i].verdict == VERDICT_FAIL;
  }
  if (n_failed) *n_failed = failed;
  return rt_text(p->mesh->ctx, &b, text);
}

int64_t tsr_dist_program_bytes(const tsr_dist_program *p) {
  int64_t bytes = p ? (int64_t)p->schedule.workspace : 0;
  for (int i = 0; p && i < p->schedule.n_slots; i++)
    if (p->schedule.slots[i].input >= 0 || p->schedule.slots[i].output >= 0)
      bytes += (int64_t)p->schedule.slots[i].bytes;
  return bytes;
}

int64_t tsr_dist_program_sent(const tsr_dist_program *p) {
  int64_t bytes = 0, member;
  for (const dist_team *t = p ? p->teams : NULL; t; t = t->next) {
    const int64_t group = dist_mesh_group(&p->mesh->m, t->axes, p->mesh->first, &member);
    const coll_team *team = t->groups[group];
    const int32_t n = team ? coll_team_size(team) : 0;
    if (t->reversed) member = n - 1 - member;
    for (int32_t d = 0; d < n; d++)
      if (d != member) bytes += (int64_t)coll_team_bytes(team, (int32_t)member, d);
  }
  return bytes;
}

/* ---- shards of graphs ------------------------------------------------------------------------------------------ */

static tsr_status put_shard(tsr_graph *g, ir_value *v, const dist_mesh *m, const dist_spec *s) {
  strb b;
  strb_init(&b, &g->ctx->al);
  dist_spec_print(&b, m, s);
  v->shard = b.failed ? NULL : arena_str(&g->m->arena, strb_text(&b));
  strb_clear(&b);
  return v->shard ? NULL : st_oom();
}

tsr_status tsr_graph_shard(tsr_graph *g, tsr_value v, const tsr_mesh *mesh, const tsr_shardspec *spec) {
  const char *const fn = "graph_shard";
  RT_NEED(fn, "g", g);
  RT_NEED(fn, "mesh", mesh);
  RT_NEED(fn, "spec", spec);
  if (v < 1 || v > g->n_values) return RT_BAD(g->ctx, fn, NULL, "not a value of this graph");
  ir_value *x = g->values[v - 1];
  dist_spec s;
  TSR_TRY(rt_shardspec(mesh, x->type->rank, spec, x->def != NULL, &s));
  return put_shard(g, x, &mesh->m, &s);
}

tsr_status tsr_graph_shard_output(tsr_graph *g, int i, const tsr_mesh *mesh, const tsr_shardspec *spec) {
  const char *const fn = "graph_shard_output";
  RT_NEED(fn, "g", g);
  RT_NEED(fn, "mesh", mesh);
  RT_NEED(fn, "spec", spec);
  const int n = tsr_graph_n_outputs(g);
  if (i < 0 || i >= n) return RT_BAD(g->ctx, fn, NULL, "output %d of %d", i, n);
  ir_value *x = g->func->regions[0]->last->operands[i];
  dist_spec s;
  if (!x->def) return RT_BAD(g->ctx, fn, "tsr_graph_shard says how inputs lie", "output %d is an input", i);
  TSR_TRY(rt_shardspec(mesh, x->type->rank, spec, true, &s));
  return put_shard(g, x, &mesh->m, &s);
}

tsr_status tsr_graph_shard_as(tsr_graph *g, tsr_value v, const tsr_dist_tensor *t) {
  const char *const fn = "graph_shard_as";
  RT_NEED(fn, "g", g);
  RT_NEED(fn, "t", t);
  if (v < 1 || v > g->n_values) return RT_BAD(g->ctx, fn, NULL, "not a value of this graph");
  ir_value *x = g->values[v - 1];
  bool same = x->type->rank == t->shape.rank;
  for (int i = 0; same && i < t->shape.rank; i++) same = x->type->dims[i] == t->shape.dims[i];
  if (!same) return RT_BAD(g->ctx, fn, NULL, "the value and the tensor have different shapes");
  return put_shard(g, x, &t->mesh->m, &t->spec);
}
