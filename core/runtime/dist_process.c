/* core/runtime/dist_process.c - meshes whose ranks are processes: each has one rank, and a team (tessera/coll.h)
 * reaches the others. What all must do alike is compared before anybody waits for it; a rank that can't go on tells the
 * others why. */
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/runtime/dist.h"
#include "core/runtime/team_base.h"

tsr_status rt_mesh_check_team(const tsr_mesh *m, const tsr_team *team) {
  const char *const fn = "mesh_create";
  if (tsr_team_rank(team) < 0 || !team->link)
    return RT_BAD(m->ctx, fn, "without a team all ranks are of this process",
                  "a team's ranks must be processes, as those of the transport mpi are");
  if (tsr_team_size(team) == m->m.ranks) return NULL;
  strb b;
  strb_init(&b, &m->ctx->al);
  dist_mesh_print(&b, &m->m);
  tsr_status st =
      RT_BAD(m->ctx, fn, "mpirun -n starts as many as the mesh has ranks", "the mesh %s has %lld ranks, the team %d",
             b.failed ? "" : strb_text(&b), (long long)m->m.ranks, tsr_team_size(team));
  strb_clear(&b);
  return st;
}

tsr_status rt_mesh_broadcast(const tsr_mesh *m, int64_t root, void *part, size_t bytes) {
  if (!m->team) return NULL;
  return tsr_team_run(m->team, (int)m->first,
                      &(tsr_coll){.op = TSR_COLL_BROADCAST,
                                  .dtype = TSR_U8,
                                  .count = (int64_t)bytes,
                                  .root = (int)root,
                                  .in = part,
                                  .out = part});
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

tsr_status rt_dist_put_program(const tsr_dist_program *p, strb *b) {
  ir_module *copy;
  TSR_TRY(ir_module_clone(p->rank.m, &copy));
  ir_print(b, copy);
  ir_module_destroy(&copy);
  return NULL;
}

/* What a process has made, as the others are told: never 0. */
static tsr_status hash_program(const tsr_dist_program *p, uint64_t *out) {
  strb b;
  strb_init(&b, &p->mesh->ctx->al);
  dist_mesh_print(&b, &p->mesh->m);
  tsr_status st = rt_dist_put_program(p, &b);
  dist_schedule_print(&b, &p->schedule);
  if (!st && b.failed) st = st_oom();
  if (!st) *out = hash_mix(hash_bytes(HASH_SEED, strb_text(&b), b.n)) | 1;
  strb_clear(&b);
  return st;
}

/* own: what this rank has made, 0 nothing. All of the others' are to be the same. */
static tsr_status agree(const tsr_mesh *m, const char *fn, const char *what, uint64_t own, tsr_status mine) {
  const st_where where = RT_WHERE(fn, NULL);
  const size_t n = (size_t)m->m.ranks;
  uint64_t *all = al_zalloc(&m->ctx->al, n * sizeof *all);
  if (!all) return tsr_status_free(mine), st_oom();
  tsr_status st = tsr_team_run(
      m->team, (int)m->first,
      &(tsr_coll){.op = TSR_COLL_ALL_GATHER, .dtype = TSR_I64, .count = (int64_t)n, .in = &own, .out = all});
  for (size_t r = 0; r < n && !st && !mine; r++) {
    if (!all[r])
      st = st_make(&m->ctx->al, TSR_COLLECTIVE_MISMATCH, where, "rank %zu couldn't %s: its process says why", r, what);
    else if (all[r] != all[0])
      st = st_make(&m->ctx->al, TSR_COLLECTIVE_MISMATCH, where,
                   "rank %zu has another program than rank 0: graph, shards or options differ", r);
  }
  al_free(&m->ctx->al, all, n * sizeof *all, 16);
  if (!mine) return st;
  tsr_status_free(st);
  return mine;
}

tsr_status rt_mesh_agree(const tsr_mesh *m, const char *fn, const char *what, tsr_status mine) {
  return m->team ? agree(m, fn, what, !mine, mine) : mine;
}

tsr_status rt_dist_agree(const tsr_dist_program *p, tsr_status mine) {
  uint64_t own = 0;
  if (!p->mesh->team) return mine;
  if (!mine) mine = hash_program(p, &own);
  return agree(p->mesh, "dist_program_compile", "compile it", own, mine);
}

tsr_status rt_dist_team_open(const tsr_mesh *m, dist_team *t) {
  int64_t member;
  int at;
  const int64_t group = dist_mesh_group(&m->m, t->axes, m->first, &member);
  const int key = (int)(t->reversed ? -member : member);
  TSR_TRY(tsr_team_split(m->team, (int)m->first, (int)group, key, &t->own, &at));
  t->groups[group] = t->own->team;
  return NULL;
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

void rt_dist_team_stop(const tsr_mesh *m, dist_team *t, int64_t rank, tsr_status why) {
  int64_t member;
  const int64_t group = dist_mesh_group(&m->m, t->axes, rank, &member);
  const int64_t n = dist_mesh_extent(&m->m, t->axes);
  if (t->own) coll_team_abort(t->own->team, tsr_status_code(why), tsr_status_cause(why));
  else coll_team_leave(t->groups[group], (int32_t)(t->reversed ? n - 1 - member : member));
}
