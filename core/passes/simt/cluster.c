/* core/passes/simt/cluster.c - a tile shared by the blocks of a cluster (sm_90): where it stands in simt/simt.h.
 * A block says at its start that it runs and waits for the others' word only before its first store to them; each later
 * exchange has memory of its own, so that one cluster barrier an exchange is enough. */
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/cluster.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

/* A comparison of the one element of a fragment, which all blocks of the cluster hold alike, with a constant. */
static bool is_shared_condition(const ir_value *v) {
  const ir_op *op = v->def;
  if (!op || op->def->code != SC_COMPARE) return false;
  const ir_op *a = op->operands[0]->def, *b = op->operands[1]->def;
  return a && b && a->def->code == T_LOAD_SCALAR && a->operands[0]->type->kind == IR_T_FRAG && b->def->code == T_CONST;
}

/* Each block its share, as often as the others; a reduction's exchange needs memory of its own each time. */
static bool is_shared_loop(const ir_op *loop) {
  for (int i = 0; i < 3; i++)
    if (!loop->operands[i]->def || loop->operands[i]->def->def->code != T_CONST) return false;
  for (const ir_op *o = loop->regions[0]->first; o; o = o->next)
    if (o->def->code == T_REDUCE || o->def->code == T_FOR || o->def->code == T_IF) return false;
  return true;
}

static tsr_status find_unshared(ir_op *op, void *user) {
  const simt *c = user;
  if (op->def->level != IR_TILE || ir_is_scalar(op)) return NULL;
  switch (op->def->code) {
    case T_KERNEL:
    case T_BLOCK_ID:
    case T_CONST:
    case T_INDEX:
    case T_VIEW:
    case T_WINDOW:
    case T_LOAD:
    case T_LOAD_SCALAR:
    case T_STORE:
    case T_FILL:
    case T_SPLAT:
    case T_MAP:
    case T_REDUCE:
    case T_YIELD:
    case T_RETURN: return NULL;
    case T_GATHER:
      if (op->n_results) return NULL; /* each thread its own elements */
      break;
    case T_IF:
      if (is_shared_condition(op->operands[0])) return NULL;
      break;
    case T_FOR:
      if (is_shared_loop(op)) return NULL;
      break;
    default: break;
  }
  return simt_unsupported(c, op, "leave the attribute cluster out", "the blocks of a cluster can't share it");
}

tsr_status simt_cluster_check(const simt *c) {
  if (c->cluster == 1) return NULL;
  if (!c->caps->clusters)
    return simt_unsupported(c, c->tile, "leave the attribute cluster out", "%s has no clusters", c->caps->arch);
  return ir_walk((ir_op *)c->tile, find_unshared, (void *)c);
}

/* Shared bytes that a reduction's exchange may need: a word, and one for what compensated sums lost, of each block for
 * each register. */
static tsr_status add_exchange(ir_op *op, void *user) {
  simt *c = user;
  if (op->def->level == IR_TILE && op->def->code == T_REDUCE)
    c->in->exchange_end += 2 * 8 * c->cluster * pow2_ceil(ir_type_count(op->results[0]->type));
  return NULL;
}

tsr_status simt_cluster_plan(simt *c) {
  int64_t lo = 0;
  if (c->cluster == 1) return NULL;
  TSR_TRY(ir_walk((ir_op *)c->tile, add_exchange, c));
  if (c->in->exchange_end) TSR_TRY(simt_shared_alloc(c, c->tile, c->in->exchange_end, 0, INT32_MAX, &lo));
  c->in->exchange = lo;
  c->in->exchange_end += lo;
  return NULL;
}

static void sync_half(simt *c, const char *half) {
  ir_op *op = sx_effect(c, TG_CLUSTER_SYNC, 0, NULL);
  if (op && half && !ir_set_attr(op, "half", ir_attr_str(c->m, half))) c->b.failed = true;
}

void simt_cluster_enter(simt *c) {
  c->block_warp = c->warp;
  if (c->cluster == 1) return;
  c->rank = sx_op(c, TG_CLUSTER_RANK, ir_type_index(c->m), 0, NULL);
  c->warp = sx_add(c, sx_muli(c, c->rank, c->warps / c->cluster), c->block_warp);
  sync_half(c, "arrive");
}

static void meet(simt *c) {
  if (!c->in->cluster_begun) sync_half(c, "wait");
  c->in->cluster_begun = true;
}

void simt_cluster_leave(simt *c) {
  if (c->cluster > 1) meet(c);
}

tsr_status simt_cluster_gather(simt *c, tsr_dtype t, int n, ir_value *const *v, ir_value **all) {
  const ir_type *ptr = ir_type_get(c->m, &(ir_type){.kind = IR_T_PTR, .dtype = t, .use = "shared"});
  int64_t lo = c->in->exchange, bytes = ((int64_t)n * c->cluster * (int64_t)tsr_dtype_size(t) + 15) / 16 * 16;
  if (tsr_dtype_size(t) < 4 || lo + bytes > c->in->exchange_end)
    return simt_unsupported(c, c->in->op, "leave the attribute cluster out",
                            "its partial results can't be sent through the cluster");
  c->in->exchange += bytes;
  simt_mem m = {.dtype = t,
                .shared = true,
                .rank = 1,
                .dims = {(int64_t)n * c->cluster},
                .strides = {1},
                .base = sx_int(c, 0),
                .lo = lo,
                .hi = lo + bytes};
  m.ptr = ptr ? sx_op(c, TG_SHARED, ptr, 0, NULL) : NULL;
  if (!m.ptr || !ir_set_attr(m.ptr->def, "offset", ir_attr_int(c->m, lo))) return st_oom();
  meet(c);
  ir_op *guard =
      sx_if(c, sx_compare(c, "lt", c->tid, sx_int(c, c->cluster)), 0, NULL, false); /* thread i sends to block i */
  if (!guard) return st_oom();
  for (int i = 0; i < n; i++)
    sx_effect(c, TG_CLUSTER_STORE, 4,
              (ir_value *[]){v[i], m.ptr, sx_addi(c, c->rank, (int64_t)i * c->cluster), c->tid});
  sx_close(c, guard, 0, NULL);
  sync_half(c, NULL);
  c->in->n_access = 0; /* what a block barrier orders, this one does too */
  for (int i = 0; i < n * c->cluster; i++) all[i] = sx_load(c, &m, sx_int(c, i), 1);
  return c->b.failed ? st_oom() : NULL;
}
