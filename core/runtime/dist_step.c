/* core/runtime/dist_step.c - what a rank does between its programs: collectives with the ranks of its group, on host
 * memory (a device's own where the host sees it, else copies), and what depends on the rank. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/runtime/dist.h"
#include "core/runtime/team_base.h"

int rt_dist_device(const tsr_dist_program *p, int64_t rank) {
  int d = (int)(rank % p->mesh->n_devices), first = 0;
  while (p->mesh->devices[first] != p->mesh->devices[d]) first++;
  return first;
}

tsr_status rt_dist_binding(dist_run *r, int64_t rank, int slot, tsr_binding *out) {
  const dist_slot *s = &r->p->schedule.slots[slot];
  *out = (tsr_binding){0};
  if (s->input >= 0) return tsr_dist_tensor_local(r->inputs[s->input], rank, &out->buffer);
  if (s->output >= 0) return tsr_dist_tensor_local(r->outputs[s->output], rank, &out->buffer);
  out->buffer = r->p->memory[rank].workspace;
  out->offset = s->offset;
  return NULL;
}

static size_t bytes_of(const ir_type *t) { return (size_t)ir_type_bytes(t); }

size_t rt_dist_staging(const tsr_dist_program *p) {
  size_t most = 0;
  for (int i = 0; i < p->schedule.n_steps; i++) {
    const dist_step *x = &p->schedule.steps[i];
    size_t in = 0, out = 0;
    for (int k = 0; k < x->n_ops && x->kind != DIST_COMPUTE; k++)
      in += bytes_of(x->ops[k]->operands[0]->type), out += bytes_of(x->ops[k]->results[0]->type);
    if (in > most) most = in;
    if (out > most) most = out;
  }
  return most;
}

/* A slot's contents on the host: its own memory, or a copy in *copy, of `bytes` bytes, which the caller frees. */
static tsr_status read_slot(dist_run *r, int64_t rank, int slot, size_t bytes, const void **at, void **copy) {
  tsr_binding b;
  TSR_TRY(rt_dist_binding(r, rank, slot, &b));
  char *mapped = tsr_buffer_map(b.buffer);
  *copy = NULL;
  if (mapped || !bytes) return *at = mapped + (mapped ? b.offset : 0), NULL;
  if (!(*copy = al_alloc(&r->p->mesh->ctx->al, bytes, 64))) return st_oom();
  pthread_mutex_t *lock = &r->p->locks[rt_dist_device(r->p, rank)];
  pthread_mutex_lock(lock);
  tsr_status st = tsr_buffer_read(b.buffer, b.offset, *copy, bytes);
  pthread_mutex_unlock(lock);
  *at = *copy;
  return st;
}

static void *slot_memory(dist_run *r, int64_t rank, int slot) {
  tsr_binding b;
  tsr_status st = rt_dist_binding(r, rank, slot, &b);
  if (st) return tsr_status_free(st), NULL;
  char *mapped = tsr_buffer_map(b.buffer);
  return mapped ? mapped + b.offset : NULL;
}

static tsr_status write_slot(dist_run *r, int64_t rank, int slot, const void *from, size_t bytes) {
  tsr_binding b;
  void *to = slot_memory(r, rank, slot);
  if (to || !bytes) return to && to != from ? memcpy(to, from, bytes) : NULL, NULL;
  TSR_TRY(rt_dist_binding(r, rank, slot, &b));
  pthread_mutex_t *lock = &r->p->locks[rt_dist_device(r->p, rank)];
  pthread_mutex_lock(lock);
  tsr_status st = tsr_buffer_write(b.buffer, b.offset, from, bytes);
  pthread_mutex_unlock(lock);
  return st;
}

/* ---- collectives ----------------------------------------------------------------------------------------------- */

/* Between a tensor whose dimension `dim` has n pieces and the pieces, `stride` bytes apart. */
static void pieces(char *packed, size_t stride, char *whole, const ir_type *t, int dim, int64_t n, bool pack) {
  int64_t sizes[TSR_MAX_RANK], starts[TSR_MAX_RANK] = {0}, zero[TSR_MAX_RANK] = {0};
  memcpy(sizes, t->dims, sizeof sizes);
  sizes[dim] /= n;
  for (int64_t i = 0; i < n; i++) {
    starts[dim] = i * sizes[dim];
    const rt_box part = {sizes, zero}, all = {t->dims, starts};
    if (pack) rt_copy_box(packed + (size_t)i * stride, part, whole, all, sizes, t->rank, tsr_dtype_size(t->dtype));
    else rt_copy_box(whole, all, packed + (size_t)i * stride, part, sizes, t->rank, tsr_dtype_size(t->dtype));
  }
}

static coll_op op_of(const ir_op *op) { return dist_coll_op((graph_code)op->def->code); }
static bool cuts(const ir_op *op) { return op->def->code == G_REDUCE_SCATTER || op->def->code == G_ALL_TO_ALL; }
static bool joins(const ir_op *op) { return op->def->code == G_ALL_GATHER || op->def->code == G_ALL_TO_ALL; }

/* Operand k of the step into the packed operand: whole, or its pieces among those of the others. */
static tsr_status pack(dist_run *r, int64_t rank, const dist_step *x, char *to, size_t all) {
  size_t at = 0;
  for (int k = 0; k < x->n_ops; k++) {
    const ir_op *op = x->ops[k];
    const graph_collective c = graph_collective_get(op);
    const ir_type *t = op->operands[0]->type;
    const void *from;
    void *copy;
    TSR_TRY(read_slot(r, rank, (int)op->operands[0]->scratch, bytes_of(t), &from, &copy));
    if (!cuts(op)) {
      if (bytes_of(t)) memcpy(to + at, from, bytes_of(t));
      at += bytes_of(t);
    } else {
      pieces(to + at, all / (size_t)c.ranks, (char *)from, t, c.dim, c.ranks, true);
      at += bytes_of(t) / (size_t)c.ranks;
    }
    if (copy) al_free(&r->p->mesh->ctx->al, copy, bytes_of(t), 64);
  }
  return NULL;
}

static tsr_status unpack(dist_run *r, int64_t rank, const dist_step *x, char *from, size_t all) {
  const tsr_allocator *al = &r->p->mesh->ctx->al;
  size_t at = 0;
  for (int k = 0; k < x->n_ops; k++) {
    const ir_op *op = x->ops[k];
    const graph_collective c = graph_collective_get(op);
    const ir_type *t = op->results[0]->type;
    const size_t bytes = bytes_of(t);
    const int slot = (int)op->results[0]->scratch;
    if (!joins(op)) {
      TSR_TRY(write_slot(r, rank, slot, from + at, bytes));
      at += bytes;
      continue;
    }
    char *mapped = slot_memory(r, rank, slot), *to = mapped ? mapped : bytes ? al_alloc(al, bytes, 64) : NULL;
    if (!to && bytes) return st_oom();
    pieces(from + at, all / (size_t)c.ranks, to, t, op->def->code == G_ALL_TO_ALL ? c.to : c.dim, c.ranks, false);
    at += bytes / (size_t)c.ranks;
    tsr_status st = mapped ? NULL : write_slot(r, rank, slot, to, bytes);
    if (!mapped && bytes) al_free(al, to, bytes, 64);
    TSR_TRY(st);
  }
  return NULL;
}

static coll_redop redop_of(const char *name) {
  static const struct {
    const char *name;
    coll_redop r;
  } rows[] = {{"sum", COLL_SUM}, {"max", COLL_MAX}, {"min", COLL_MIN}, {"prod", COLL_PROD}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return rows[i].r;
  return COLL_SUM;
}

tsr_status rt_dist_collective(dist_run *r, int64_t rank, int step) {
  const dist_step *x = &r->p->schedule.steps[step];
  const ir_op *op = x->ops[0];
  const graph_collective c = graph_collective_get(op);
  const dist_team *team = r->p->team_of[step];
  dist_rank_memory *m = &r->p->memory[rank];
  const coll_op what = op_of(op);
  size_t in = 0, out = 0;
  int64_t member;
  for (int k = 0; k < x->n_ops; k++)
    in += bytes_of(x->ops[k]->operands[0]->type), out += bytes_of(x->ops[k]->results[0]->type);
  const int64_t group = dist_mesh_group(&r->p->mesh->m, team->axes, rank, &member);
  if (team->reversed) member = c.ranks - 1 - member;
  TSR_TRY(pack(r, rank, x, m->host[0], in));
  /* What is only moved is bytes: types that no reduction knows go too. */
  const bool reduces = what == COLL_ALL_REDUCE || what == COLL_REDUCE_SCATTER;
  const tsr_dtype type = reduces ? dtype_part(op->operands[0]->type->dtype) : TSR_U8;
  const size_t whole = what == COLL_ALL_GATHER ? out : what == COLL_BARRIER ? 0 : in;
  const coll_call call = {.op = what,
                          .dtype = type,
                          .redop = redop_of(c.reduction),
                          .root = (int32_t)c.root,
                          .team = team->told[group],
                          .deadline_ms = r->p->mesh->team ? r->p->mesh->team->deadline_ms : 0,
                          .count = (int64_t)(whole / tsr_dtype_size(type)),
                          .in = m->host[0],
                          .out = m->host[1]};
  TSR_TRY(coll_run_rank(team->groups[group], (int32_t)member, &call));
  return unpack(r, rank, x, what == COLL_BARRIER ? m->host[0] : m->host[1], out);
}

/* ---- what depends on the rank ---------------------------------------------------------------------------------- */

/* What leaves a reduction as it is. */
static double neutral(const char *reduction, tsr_dtype t) {
  const dtype_info *d = dtype_get(t);
  if (!strcmp(reduction, "sum")) return 0;
  if (!strcmp(reduction, "prod")) return 1;
  const bool max = !strcmp(reduction, "max");
  if (d->is_float && t != TSR_F8E4M3) return max ? -(double)__builtin_inff() : (double)__builtin_inff();
  if (t == TSR_BOOL) return max ? 0 : 1;
  return max ? (d->is_signed ? -d->max - (d->is_float ? 0 : 1) : 0) : d->max;
}

static void mask(char *data, const ir_type *t, int dim, int64_t valid, double value) {
  int64_t inner = dtype_parts(t->dtype), outer = 1;
  for (int i = dim + 1; i < t->rank; i++) inner *= t->dims[i];
  for (int i = 0; i < dim; i++) outer *= t->dims[i];
  const tsr_dtype part = dtype_part(t->dtype);
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = valid * inner; i < t->dims[dim] * inner; i++)
      dtype_store(part, data, (size_t)(o * t->dims[dim] * inner + i), value);
}

tsr_status rt_dist_local(dist_run *r, int64_t rank, int step) {
  const ir_op *op = r->p->schedule.steps[step].ops[0];
  const graph_collective c = graph_collective_get(op);
  const ir_type *t = op->operands[0]->type, *y = op->results[0]->type;
  const tsr_allocator *al = &r->p->mesh->ctx->al;
  int64_t member, starts[TSR_MAX_RANK] = {0}, zero[TSR_MAX_RANK] = {0};
  const void *from;
  void *copy;
  dist_mesh_group(&r->p->mesh->m, dist_mesh_axes_of(&r->p->mesh->m, c.axes), rank, &member);
  TSR_TRY(read_slot(r, rank, (int)op->operands[0]->scratch, bytes_of(t), &from, &copy));
  char *made = al_alloc(al, bytes_of(y) + 1, 64);
  tsr_status st = made ? NULL : st_oom();
  if (!st && op->def->code == G_SHARD_SLICE) {
    starts[c.dim] = member * y->dims[c.dim];
    rt_copy_box(made, (rt_box){y->dims, zero}, from, (rt_box){t->dims, starts}, y->dims, y->rank,
                tsr_dtype_size(t->dtype));
  } else if (!st) {
    int64_t valid = c.extent - member * t->dims[c.dim];
    valid = valid < 0 ? 0 : valid > t->dims[c.dim] ? t->dims[c.dim] : valid;
    if (bytes_of(t)) memcpy(made, from, bytes_of(t));
    mask(made, t, c.dim, valid, neutral(c.reduction, t->dtype));
  }
  if (!st) st = write_slot(r, rank, (int)op->results[0]->scratch, made, bytes_of(y));
  if (made) al_free(al, made, bytes_of(y) + 1, 64);
  if (copy) al_free(al, copy, bytes_of(t), 64);
  return st;
}
