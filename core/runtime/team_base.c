/* core/runtime/team_base.c - see tessera/coll.h: what a team says of itself, and calls as the executor has them. */
#include "core/runtime/team_base.h"

#include "core/runtime/internal.h"

/* The public numbers are the executor's. */
_Static_assert((int)TSR_N_COLL_OPS == (int)N_COLL_OPS && (int)TSR_COLL_BARRIER == (int)COLL_BARRIER, "operations");
_Static_assert((int)TSR_COLL_ALL_TO_ALL == (int)COLL_ALL_TO_ALL && (int)TSR_COLL_REDUCE == (int)COLL_REDUCE,
               "operations");
_Static_assert((int)TSR_N_REDOPS == (int)N_COLL_REDOPS && (int)TSR_MEAN == (int)COLL_MEAN, "reductions");

tsr_status team_bad(const tsr_team *t, const char *function, const char *why) {
  return st_make(t ? &t->al : NULL, TSR_INVALID_ARGUMENT, RT_WHERE(function, NULL), "%s", why);
}

bool team_has_rank(const tsr_team *t, int rank) {
  if (t->engine) return rank == t->parent_rank;
  return t->link ? rank == t->link->rank : rank >= 0 && rank < tsr_team_size(t);
}

int tsr_team_size(const tsr_team *t) {
  if (!t) return 0;
  return t->team ? coll_team_size(t->team) : t->parent ? tsr_team_size(t->parent) : 0;
}

int tsr_team_rank(const tsr_team *t) {
  if (t && t->engine) return t->parent_rank;
  return t && t->link ? t->link->rank : -1;
}

const char *tsr_team_path(const tsr_team *t, int peer) {
  if (!t || peer < 0 || peer >= tsr_team_size(t)) return "";
  if (t->engine) return t->transport->name;
  return t->link && peer != t->link->rank ? t->link->ops->path(t->link, peer) : "memory of one process";
}

uint64_t tsr_team_bytes(const tsr_team *t, int src, int dst) {
  int n = tsr_team_size(t);
  return !t || !t->team || src < 0 || dst < 0 || src >= n || dst >= n ? 0 : coll_team_bytes(t->team, src, dst);
}

static bool counts(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return (unsigned)op < TSR_N_COLL_OPS && count >= 0 && n > 0 && n <= COLL_MAX_RANKS && rank >= 0 && rank < n &&
         root >= 0 && root < n && count <= INT64_MAX / n;
}

int64_t tsr_coll_in_count(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return counts(op, count, n, rank, root) ? coll_in_elements((coll_op)op, count, n, rank, root) : -1;
}

int64_t tsr_coll_out_count(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return counts(op, count, n, rank, root) ? coll_out_elements((coll_op)op, count, n, rank, root) : -1;
}

bool team_call(const tsr_team *t, const tsr_coll *c, coll_call *out, const char **why) {
  *why = NULL;
  if ((unsigned)c->op >= TSR_N_COLL_OPS) *why = "no such operation";
  else if ((unsigned)c->redop >= TSR_N_REDOPS) *why = "no such reduction";
  else if (c->count < 0) *why = "a negative count";
  else if (dtype_packed(c->dtype)) *why = "elements of i4 and u4 share bytes: send these as u8";
  if (*why) return false;
  *out = (coll_call){.op = (coll_op)c->op,
                     .dtype = c->op == TSR_COLL_BARRIER ? TSR_U8 : c->dtype,
                     .redop = (coll_redop)c->redop,
                     .count = c->op == TSR_COLL_BARRIER ? 0 : c->count,
                     .root = c->root,
                     .group = c->group,
                     .algorithm = c->algorithm,
                     .any_order = c->any_order,
                     .wire = c->wire,
                     .in = c->in,
                     .out = c->out,
                     .deadline_ms = c->deadline_ms ? c->deadline_ms : t->deadline_ms};
  *why = team_wire_refusal(out);
  return !*why;
}
