/* core/passes/simt/kernel.c - the pass: programs and kernels; see simt/simt.h for how it works.
 * Input: a verified Tile IR module, whose values' data are the pass's while it runs, and a device. Output: a verified
 * Target IR module. */
#include "core/passes/simt/build.h"
#include "core/passes/simt/cluster.h"
#include "core/passes/simt/hoist.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/matrix/choose.h"
#include "core/passes/simt/matrix/paths.h"
#include "core/passes/simt/raster.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/simt.h"

#include <stdio.h>
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/state.h"
#include "core/passes/simt/walk.h"
#include "core/passes/simt/whole/lds_direct.h"
#include "core/passes/simt/whole/stage_queue.h"
#include "core/passes/simt/whole/wgmma.h"
#include "core/passes/target/program.h"

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

static tsr_status bind_arguments(simt *c) {
  const ir_block *from = c->tile->regions[0];
  for (int i = 0; i < from->n_args; i++) {
    const ir_type *t = from->args[i]->type;
    const ir_type *ptr = ir_type_get(c->m, &(ir_type){.kind = IR_T_PTR,
                                                      .dtype = t->dtype == TSR_BOOL ? TSR_U8 : simt_in_memory(t->dtype),
                                                      .use = "global"});
    ir_value *arg = ptr ? ir_block_arg_like(c->m, c->out->regions[0], ptr, from->args[i]) : NULL;
    simt_val *s = arg ? simt_bind(c, from->args[i], SV_MEM) : NULL;
    if (!s) return st_oom();
    if (ir_type_count(t) < 0)
      return simt_unsupported(c, c->tile, "specialise the program to a shape", "argument %d has an unknown extent", i);
    s->mem = (simt_mem){.ptr = arg, .dtype = simt_in_memory(t->dtype), .rank = t->rank, .mult = t->offset};
    int64_t most = c->caps->max_range_bytes, count = ir_type_count(t);
    if (most && count > most / (int64_t)tsr_dtype_size(t->dtype)) s->mem.windowed = count;
    memcpy(s->mem.dims, t->dims, sizeof t->dims);
    ir_type_strides(t, s->mem.strides);
    c->wide_index |= simt_view_is_wide(t);
  }
  return NULL;
}

static ir_value *thread_value(simt *c, int code) { return sx_op(c, code, ir_type_index(c->m), 0, NULL); }

/* Kernels that compute indices in 64 bits and number their lanes apart from threads: of matrix paths that say so, and
 * on subgroups that are SIMD registers of a CPU all without products. The driver's compiler makes one vector load of
 * words next to each other only there (simt/simd.c); a 32-bit index is widened for each of them. */
static bool is_wide(const simt *c) { return c->path->wide_index || (simt_is_simd(c) && !c->why); }

/* Thread numbers at the top of the kernel; constants gather before the first of them. */
static tsr_status enter(simt *c) {
  c->b = ir_at_end(c->m, c->out->regions[0]);
  c->tid = thread_value(c, TG_THREAD_ID);
  if (!c->tid) return st_oom();
  c->anchor = c->tid->def;
  c->lane = c->warps == 1 && !is_wide(c) ? c->tid : thread_value(c, TG_LANE_ID);
  c->warp = c->warps == 1 ? sx_int(c, 0) : thread_value(c, TG_WARP_ID);
  for (int i = 0; i < 3; i++) {
    ir_op *op = ir_op_new(&c->b, ir_find_op("tessera.target.block_id"), 0, NULL, 1,
                          (const ir_type *[]){ir_type_index(c->m)}, 0);
    if (!op || !ir_set_attr(op, "axis", ir_attr_int(c->m, i))) return st_oom();
    c->in->block_id[i] = op->results[0];
  }
  simt_cluster_enter(c);
  if (c->cluster > 1) c->in->block_id[0] = sx_div(c, c->in->block_id[0], sx_int(c, c->cluster));
  simt_raster(c);
  const ir_block *from = c->tile->regions[0];
  for (int i = 0; i < from->n_args; i++) simt_of(from->args[i])->mem.base = sx_int(c, from->args[i]->type->offset);
  return c->b.failed ? st_oom() : NULL;
}

/* CDNA: given all 512 registers of a lane, the compiler divides them into two files and moves accumulators between
 * these; products of 16 and 32-bit operands do with half of them. */
static bool suits_two_waves(const simt *c) {
  const ir_block *r = c->tile->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (tsr_dtype_size(r->args[i]->type->dtype) == 1) return false;
  return c->path->two_waves;
}

/* Of the kernel as it stands: what was folded may exceed what it was made of. */
static bool has_wide_constant(const struct simt_impl *in) {
  int64_t v;
  for (size_t i = 0; i < in->n_constants; i++)
    if (in->constants[i].v->n_uses && sx_const(in->constants[i].v, &v) && v != (int32_t)v) return true;
  return false;
}

static tsr_status describe(simt *c) {
  ir_op *k = c->out;
  ir_module *m = c->m;
  int64_t block[3] = {c->in->queue ? simt_stage_queue_threads(c->in->queue) : c->threads / c->cluster, 1, 1},
          grid[3] = {1, 1, 1};
  bool ok = ir_set_attr(k, "dialect", ir_attr_str(m, target_dialect_name(c->caps->dialect))) &&
            ir_set_attr(k, "block", ir_attr_ints(m, block, 3)) &&
            ir_set_attr(k, "subgroup", ir_attr_int(m, c->subgroup)) &&
            ir_set_attr(k, "shared_bytes", ir_attr_int(m, c->in->shared_bytes)) &&
            ir_set_attr(k, "arch", ir_attr_str(m, c->caps->arch));
  if (c->cluster > 1) {
    ir_get_ints(c->tile, "grid", grid, 3);
    grid[0] *= c->cluster;
    ok = ok && ir_set_attr(k, "grid", ir_attr_ints(m, grid, 3)) &&
         ir_set_attr(k, "cluster", ir_attr_ints(m, (int64_t[]){c->cluster, 1, 1}, 3));
  }
  if (ok && (c->wide_index || has_wide_constant(c->in))) ok = ir_set_attr(k, "wide_index", ir_attr_bool(m, true));
  if (ok && suits_two_waves(c)) ok = ir_set_attr(k, "waves_per_simd", ir_attr_int(m, 2));
  if (ok && c->why)
    ok = ir_set_attr(k, "path", ir_attr_str(m, c->path->name)) && ir_set_attr(k, "why", ir_attr_str(m, c->why));
  return ok ? NULL : st_oom();
}

static tsr_status copy_kernel_attrs(simt *c) {
  /* Block size and pipeline depth are decided now. */
  static const char *const gone[] = {"warps", "stages", "matrix", "raster", "cluster"};
  for (int i = 0; i < c->tile->n_attrs; i++) {
    const ir_named_attr *a = &c->tile->attrs[i];
    bool keep = true;
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) keep &= strcmp(a->name, gone[k]) != 0;
    if (keep && !ir_set_attr(c->out, a->name, ir_attr_copy(c->m, a->attr))) return st_oom();
  }
  return NULL;
}

static tsr_status check_grid(const simt *c) {
  int64_t grid[3] = {1, 1, 1};
  ir_get_ints(c->tile, "grid", grid, 3);
  grid[0] *= c->cluster;
  for (int i = 0; i < 3; i++)
    if (c->caps->max_grid[i] > 0 && grid[i] > c->caps->max_grid[i])
      return simt_unsupported(c, c->tile, "use larger tiles, or move the batch to another axis",
                              "%lld blocks on axis %d, %s takes %lld", (long long)grid[i], i, c->caps->arch,
                              (long long)c->caps->max_grid[i]);
  return NULL;
}

static tsr_status lower_kernel(simt *c, ir_builder *top) {
  top->loc = c->tile->loc;
  c->out = ir_op_new(top, ir_find_op("tessera.target.kernel"), 0, NULL, 0, NULL, 1);
  if (!c->out) return st_oom();
  TSR_TRY(copy_kernel_attrs(c));
  TSR_TRY(simt_analyse(c));
  TSR_TRY(simt_choose_threads(c));
  if (c->in->queue) c->warps = simt_stage_queue_warps(c->in->queue), c->threads = c->warps * c->subgroup;
  TSR_TRY(simt_cluster_check(c));
  TSR_TRY(check_grid(c));
  for (int i = 0; simt_paths[i]; i++) c->path = simt_paths[i];
  TSR_TRY(simt_choose_path(c));
  c->wide_index = is_wide(c);
  TSR_TRY(bind_arguments(c));
  TSR_TRY(enter(c));
  if (c->in->queue) {
    TSR_TRY(simt_stage_queue_lower(c));
  } else {
    TSR_TRY(simt_shared_plan(c));
    TSR_TRY(simt_cluster_plan(c));
    TSR_TRY(simt_lower_block(c, c->tile->regions[0]));
  }
  simt_cluster_leave(c);
  sx_effect(c, TG_RETURN, 0, NULL);
  if (c->b.failed) return st_oom();
  ir_dce(c->out);
  sx_hoist(c->out);
  return describe(c);
}

static void free_impl(const tsr_allocator *al, struct simt_impl *in) {
  if (!in) return;
  al_free_array(al, in->known, in->cap_known);
  al_free_array(al, in->constants, in->cap_constants);
  al_free_array(al, in->layouts, in->cap_layouts);
  al_delete(al, in);
}

static bool wgmma_allowed(const ir_op *tile, const tsr_caps *caps) {
  return caps->wgmma && simt_requested_path(tile)->whole == WHOLE_WGMMA;
}

/* Is a direct lowering of CDNA asked for, and which one? */
static bool direct_asked(const ir_op *tile, bool *pingpong) {
  const whole_lowering whole = simt_requested_path(tile)->whole;
  *pingpong = whole == WHOLE_PINGPONG;
  return *pingpong || whole == WHOLE_DIRECT;
}

/* Lowerings of whole kernels come first: wgmma unless another path was asked for, the direct ones of CDNA where asked
 * for. *why says why such a one doesn't take the kernel. */
static tsr_status whole_kernel(const ir_op *tile, const tsr_caps *caps, ir_module *m, bool *done, const char **why) {
  bool pingpong;
  *done = false;
  if (direct_asked(tile, &pingpong)) return simt_direct_kernel(tile, caps, pingpong, m, done, why);
  if (!wgmma_allowed(tile, caps)) return NULL;
  return simt_wgmma_kernel(tile, caps, m, done, why);
}

bool simt_takes_contract(const ir_op *contract, const tsr_caps *caps, const char **why) {
  const ir_op *kernel = contract->parent->parent;
  while (kernel->def->code != T_KERNEL) kernel = kernel->parent->parent;
  bool pingpong;
  if (direct_asked(kernel, &pingpong)) return simt_direct_takes(kernel, caps, pingpong, why);
  return wgmma_allowed(kernel, caps) && simt_wgmma_takes(kernel, caps, why);
}

/* Lowers with a stage queue of TMA and wgmma where that fits; else with pipelined tiles; where a later op then finds no
 * room for its scratch, once more without them. */
static tsr_status kernel(const ir_op *tile, const tsr_caps *caps, ir_builder *top) {
  const tsr_allocator *al = &top->m->arena.al;
  const char *why = NULL;
  bool done;
  TSR_TRY(whole_kernel(tile, caps, top->m, &done, &why));
  if (done) return NULL;
  simt c = {.caps = caps, .m = top->m, .tile = tile, .refused = caps->wgmma ? NULL : why};
  tsr_status st = NULL;
  for (int attempt = wgmma_allowed(tile, caps) ? -1 : 0; attempt < 2; attempt++) {
    struct simt_impl *in = c.in = al_new(al, struct simt_impl);
    ir_clear_data((ir_op *)tile); /* of what an earlier pass or attempt bound to its values */
    c.anchor = NULL;
    c.b = (ir_builder){0};
    if (in) in->lower = simt_lower_op, in->unstaged = attempt > 0;
    if (in && attempt < 0 && simt_stage_queue_plan(&c, tile)) {
      free_impl(al, in);
      continue;
    }
    st = in ? lower_kernel(&c, top) : st_oom();
    bool retry =
        in && tsr_status_code(st) == TSR_UNSUPPORTED && (attempt < 0 || (!attempt && in->overflow && in->staged));
    free_impl(al, in);
    if (!retry) break;
    tsr_status_free(st);
    ir_op_remove(c.out);
  }
  return st;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static tsr_status retarget(ir_op *op, void *user) {
  if (op->def->level != IR_TILE) return NULL;
  const ir_opdef *def = ir_find_like(IR_TARGET, op->def);
  if (!def) return ir_error(op, NULL, "has no place in a program");
  op->def = def;
  return NULL;
}

static tsr_status lower_module(const ir_module *tile, const tsr_caps *caps, ir_module *out) {
  ir_builder top = ir_at_end(out, out->root->regions[0]);
  for (ir_op *op = tile->root->regions[0]->first; op; op = op->next) {
    if (op->def->code == T_KERNEL && op->def->level == IR_TILE) {
      TSR_TRY(kernel(op, caps, &top));
      continue;
    }
    ir_op *copy = ir_op_copy(&top, op, NULL, NULL);
    if (!copy) return st_oom();
    TSR_TRY(ir_walk(copy, retarget, NULL));
  }
  return NULL;
}

/* Whoever saw the ops before left numbers on them: what is made must not depend on these. */
static void forget_numbers(ir_op *op) {
  op->scratch = 0;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) forget_numbers(o);
}

tsr_status tile_to_simt(const ir_module *tile, const tsr_caps *caps, ir_module **out) {
  tsr_status st = ir_module_create(&tile->arena.al, out);
  forget_numbers(tile->root);
  if (!st && tile->file && !((*out)->file = arena_str(&(*out)->arena, tile->file))) st = st_oom();
  if (!st) st = lower_module(tile, caps, *out);
  if (!st) st = ir_verify(*out);
  if (st && *out) st = ir_cause(*out, tile->root->module, st);
  if (st) ir_module_destroy(out);
  ir_clear_data(tile->root); /* the bindings are the other module's */
  return st;
}
