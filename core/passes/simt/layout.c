/* core/passes/simt/layout.c - which fragments share a layout, how many threads a block has, and which element each
 * register of a thread holds; the rules stand at the top of simt/simt.h. */
#include <string.h>

#include "core/base/knob.h"
#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/simd.h"
#include "core/passes/simt/state.h"

/* ---- groups ------------------------------------------------------------------------------------------------------ */

enum { MAX_CLUSTER = 8 }; /* what every device with clusters can have */

static simt_group *root_of(simt_group *g) {
  while (g->up) g = g->up;
  return g;
}

simt_group *simt_group_of(const ir_value *v) { return root_of(simt_of(v)->group); }

static tsr_status note_frag(simt *c, ir_value *v) {
  if (v->type->kind != IR_T_FRAG || (v->data && simt_of(v)->group)) return NULL;
  simt_val *s = simt_bind(c, v, SV_NONE);
  simt_group *g = arena_new(&c->m->arena, simt_group);
  if (!s || !g) return st_oom();
  s->group = g;
  g->rank = v->type->rank;
  for (int d = 0; d < g->rank; d++) g->min_dims[d] = g->max_dims[d] = v->type->dims[d];
  g->max_count = ir_type_count(v->type);
  return NULL;
}

static int64_t smaller_extent(int64_t a, int64_t b) { return a <= 1 ? b : b <= 1 ? a : a < b ? a : b; }

static void unite(const ir_value *a, const ir_value *b) {
  simt_group *x = simt_group_of(a), *y = simt_group_of(b);
  if (x == y || x->rank != y->rank) return;
  for (int d = 0; d < x->rank; d++) {
    x->min_dims[d] = smaller_extent(x->min_dims[d], y->min_dims[d]);
    if (y->max_dims[d] > x->max_dims[d]) x->max_dims[d] = y->max_dims[d];
    x->reduced[d] |= y->reduced[d];
  }
  if (y->max_count > x->max_count) x->max_count = y->max_count;
  if (!x->gemm) x->gemm = y->gemm;
  if (y->radix) x->radix = y->radix;
  y->up = x;
}

static tsr_status unite_list(simt *c, ir_value **v, int n, const ir_value *with) {
  for (int i = 0; i < n; i++) {
    TSR_TRY(note_frag(c, v[i]));
    if (with && v[i]->type->kind == IR_T_FRAG) unite(with, v[i]);
  }
  return NULL;
}

static void unite_yields(const ir_op *op, int first_arg, int first_operand) {
  for (int i = 0; i < op->n_results; i++) {
    if (op->results[i]->type->kind != IR_T_FRAG) continue;
    for (int r = 0; r < op->n_regions; r++) unite(op->results[i], op->regions[r]->last->operands[i]);
    if (first_operand >= 0) {
      unite(op->results[i], op->operands[first_operand + i]);
      unite(op->results[i], op->regions[0]->args[first_arg + i]);
    }
  }
}

static tsr_status group_op(simt *c, ir_op *op) {
  for (int r = 0; r < op->n_regions; r++) {
    TSR_TRY(unite_list(c, op->regions[r]->args, op->regions[r]->n_args, NULL));
    for (ir_op *o = op->regions[r]->first; o; o = o->next) TSR_TRY(group_op(c, o));
  }
  TSR_TRY(unite_list(c, op->results, op->n_results, NULL));
  switch (op->def->code) {
  case T_MAP:
    if (op->n_results) {
      TSR_TRY(unite_list(c, op->operands, op->n_operands, op->results[0]));
      TSR_TRY(unite_list(c, op->results, op->n_results, op->results[0]));
    }
    break;
  case T_REDUCE:
    simt_group_of(op->operands[0])->reduced[ir_get_int(op, "axis", 0)] = true;
    unite(op->operands[0], op->results[0]);
    break;
  case T_GEMM:
    simt_group_of(op->operands[0])->gemm = op;
    unite(op->operands[0], op->results[0]);
    break;
  case T_MMA_SYNC:
    simt_group_of(op->operands[2])->gemm = op;
    unite(op->operands[2], op->results[0]);
    break;
  case T_FFT_STAGE:
    simt_group_of(op->results[0])->radix = (int)ir_get_int(op, "radix", 2);
    unite(op->operands[0], op->results[0]);
    unite(op->operands[0], op->operands[1]);
    unite(op->operands[0], op->results[1]);
    simt_group_of(op->results[0])->radix = (int)ir_get_int(op, "radix", 2);
    break;
  case T_FOR: unite_yields(op, 1, 3); break;
  case T_IF: unite_yields(op, 0, -1); break;
  default: break;
  }
  return NULL;
}

/* ---- widest access by alignment ---------------------------------------------------------------------------------- */

/* A number that divides the index value v, as far as powers of two go; 0 if v is 0. */
static int64_t divisor_of(const ir_value *v, int depth) {
  const ir_op *op = v->def;
  if (depth > 16) return 1;
  if (!op) {
    const ir_op *loop = v->owner->parent;
    if (loop->def->code != T_FOR || v->index) return 1;
    return gcd64(divisor_of(loop->operands[0], depth + 1), divisor_of(loop->operands[2], depth + 1));
  }
  switch (op->def->code) {
  case T_CONST: return ir_get_int(op, "value", 1);
  case SC_MUL: return wrap_mul(divisor_of(op->operands[0], depth + 1), divisor_of(op->operands[1], depth + 1));
  case SC_ADD:
  case SC_SUB:
  case SC_MIN:
  case SC_MAX: return gcd64(divisor_of(op->operands[0], depth + 1), divisor_of(op->operands[1], depth + 1));
  default: return 1;
  }
}

/* A number that divides the element offset of every row start of the view or shared tile v. */
static int64_t offset_divisor(const ir_value *v) {
  int64_t strides[TSR_MAX_RANK], g = 0;
  const ir_op *op = v->def;
  if (v->type->kind == IR_T_SHARED || !op) return v->type->kind == IR_T_VIEW ? gcd64(v->type->offset, 0) : 0;
  g = offset_divisor(op->operands[0]);
  if (op->def->code == T_VIEW) return gcd64(g, v->type->offset);
  ir_type_strides(op->operands[0]->type, strides);
  for (int i = 1; i < op->n_operands; i++) g = gcd64(g, wrap_mul(divisor_of(op->operands[i], 0), strides[i - 1]));
  return g;
}

/* Elements per access that strides and offsets allow, up to 16. */
static int aligned_width(const ir_value *mem) {
  const ir_type *t = mem->type;
  int64_t strides[TSR_MAX_RANK], g = offset_divisor(mem);
  ir_type_strides(t, strides);
  if (!t->rank || strides[t->rank - 1] != 1) return 1;
  for (int d = 0; d + 1 < t->rank; d++)
    if (t->dims[d] > 1) g = gcd64(g, strides[d]);
  int w = 16;
  while (w > 1 && g % w) w /= 2;
  return w;
}

static void note_access(const simt *c, const ir_op *op, const ir_value *frag, const ir_value *mem) {
  simt_group *g = simt_group_of(frag);
  const ir_type *t = mem->type;
  if (t->dims[t->rank - 1] <= 1) return;
  int fits = c->caps->vector_bytes > 0 ? c->caps->vector_bytes / (int)tsr_dtype_size(t->dtype) : 1;
  int w = aligned_width(mem);
  if (w > fits) w = fits;
  w = simt_asked_width(op, w > 8 ? 8 : w < 1 ? 1 : w);
  if (!g->access || w < g->access) g->access = w;
  int word = 8 / (int)tsr_dtype_size(t->dtype);
  if (frag->def && frag->def->def->code == T_LOAD && mem->type->kind == IR_T_VIEW && word > g->word) g->word = word;
}

static tsr_status note_accesses(ir_op *op, void *user) {
  simt *c = user;
  if (op->def->code == T_LOAD) note_access(c, op, op->results[0], op->operands[0]);
  if (op->def->code == T_STORE) note_access(c, op, op->operands[0], op->operands[1]);
  return NULL;
}

tsr_status simt_analyse(simt *c) {
  ir_op *k = (ir_op *)c->tile;
  TSR_TRY(group_op(c, k));
  return ir_walk(k, note_accesses, c);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct demand { const simt *c; int64_t threads; bool reduces; int64_t max_threads; } demand;

static tsr_status find_reduce(ir_op *op, void *user) {
  if (op->def->code == T_REDUCE) ((demand *)user)->reduces = true;
  return NULL;
}

static tsr_status add_demand(ir_op *op, void *user) {
  demand *d = user;
  bool simd = caps_simd_like(d->c->caps);
  for (int i = 0; i < op->n_results; i++) {
    if (op->results[i]->type->kind != IR_T_FRAG) continue;
    const simt_group *g = simt_group_of(op->results[i]);
    int64_t each = g->radix ? g->radix : g->gemm ? (simd ? 128 : 64) : d->reduces ? (simd ? 128 : 32) : simd ? 16 : 8;
    int64_t want = ceil_div(g->max_count, each);
    if (g->gemm && !g->radix && want > 256) want = 256;
    if (want > d->threads) d->threads = want;
  }
  if (op->def->code == T_COPY) {
    int64_t want = ceil_div(ir_type_count(op->operands[0]->type), 32);
    if (want > 256) want = 256;
    if (want > d->threads && !simd) d->threads = want;
  }
  return NULL;
}

tsr_status simt_choose_threads(simt *c) {
  int64_t cluster[3] = {1, 1, 1};
  ir_get_ints(c->tile, "cluster", cluster, 3);
  if (cluster[0] < 1 || cluster[0] > MAX_CLUSTER || cluster[0] & (cluster[0] - 1) || cluster[1] != 1 || cluster[2] != 1)
    return simt_unsupported(c, c->tile, "[1, 1, 1] to [8, 1, 1]",
                            "clusters have 1, 2, 4 or 8 blocks along the first axis");
  c->cluster = (int)cluster[0];
  int64_t warps = ir_get_int(c->tile, "warps", 0), most = c->caps->max_threads > 0 ? c->caps->max_threads : 1024;
  if (most > 1024) most = 1024;
  c->subgroup = c->caps->subgroup > 0 ? c->caps->subgroup : 32;
  if (c->subgroup & (c->subgroup - 1))
    return simt_unsupported(c, c->tile, NULL, "subgroups of %d threads: only powers of two are", c->subgroup);
  if (warps > most / c->subgroup)
    return simt_unsupported(c, c->tile, "lower the attribute warps",
                            "%lld subgroups of %d exceed the %lld threads of a block", (long long)warps, c->subgroup,
                            (long long)most);
  if (warps <= 0) {
    demand d = {c, 1, false, most};
    TSR_TRY(ir_walk((ir_op *)c->tile, find_reduce, &d));
    TSR_TRY(ir_walk((ir_op *)c->tile, add_demand, &d));
    warps = pow2_ceil(ceil_div(d.threads, (int64_t)c->subgroup * c->cluster));
    while (warps > 1 && warps * c->subgroup > most) warps /= 2;
  }
  c->warps = (int)warps * c->cluster;
  c->threads = c->warps * c->subgroup;
  return NULL;
}

/* ---- layouts ----------------------------------------------------------------------------------------------------- */

/* Fills reps and n_regs. */
static void simt_layout_finish(simt_layout *l) {
  int64_t n = 1;
  for (int d = 0; d < l->rank; d++) {
    if (l->dims[d] <= 1) {
      l->vec[d] = l->inner[d] = l->reps[d] = 1;
      continue;
    }
    int64_t reps = ceil_div(l->dims[d], (int64_t)l->vec[d] * l->lanes[d] * l->inner[d] * l->warps[d]);
    l->reps[d] = (int)min64(reps, INT32_MAX);
    if (__builtin_mul_overflow(n, (int64_t)l->inner[d] * l->vec[d], &n) || __builtin_mul_overflow(n, reps, &n))
      n = INT32_MAX;
  }
  l->n_regs = (int)min64(n, INT32_MAX);
}

int64_t simt_reg_offset(const simt_layout *l, int r, int dim) {
  int per = 1;
  for (int d = dim + 1; d < l->rank; d++) per *= l->reps[d] * l->inner[d] * l->vec[d];
  int s = r / per % (l->reps[dim] * l->inner[dim] * l->vec[dim]);
  int e = s % l->vec[dim], i = s / l->vec[dim] % l->inner[dim], rep = s / l->vec[dim] / l->inner[dim];
  return (((int64_t)rep * l->warps[dim] * l->inner[dim] + i) * l->lanes[dim]) * l->vec[dim] + e;
}

static int stride_after(const int *n, int rank, int dim) {
  int s = 1;
  for (int d = dim + 1; d < rank; d++) s *= n[d];
  return s;
}

static ir_value *digit(simt *c, ir_value *number, int total, int stride, int n) {
  if (n == 1) return sx_int(c, 0);
  ir_value *v = sx_div(c, number, sx_int(c, stride));
  return (int64_t)stride * n == total ? v : sx_rem(c, v, sx_int(c, n));
}

ir_value *simt_lane_of(simt *c, const simt_layout *l, int d) {
  return digit(c, c->lane, c->subgroup, stride_after(l->lanes, l->rank, d), l->lanes[d]);
}
ir_value *simt_warp_of(simt *c, const simt_layout *l, int d) {
  return digit(c, c->warp, c->warps, stride_after(l->warps, l->rank, d), l->warps[d]);
}

ir_value *simt_thread_offset(simt *c, const simt_layout *l, int d) {
  if (l->dims[d] <= 1) return sx_int(c, 0);
  ir_value *v = sx_muli(c, simt_warp_of(c, l, d), (int64_t)l->inner[d] * l->lanes[d]);
  return sx_muli(c, sx_add(c, v, simt_lane_of(c, l, d)), l->vec[d]);
}

int64_t simt_thread_max(const simt_layout *l, int d) {
  if (l->dims[d] <= 1) return 0;
  return ((int64_t)(l->warps[d] - 1) * l->inner[d] * l->lanes[d] + l->lanes[d] - 1) * l->vec[d];
}

ir_value *simt_owner(simt *c, const simt_layout *l) {
  ir_value *cond = NULL;
  int lanes = 1, warps = 1;
  for (int d = 0; d < l->rank; d++) {
    lanes *= l->lanes[d];
    warps *= l->warps[d];
    if (l->dims[d] > 1) continue;
    if (l->lanes[d] > 1) cond = sx_all(c, cond, sx_compare(c, "eq", simt_lane_of(c, l, d), sx_int(c, 0)));
    if (l->warps[d] > 1) cond = sx_all(c, cond, sx_compare(c, "eq", simt_warp_of(c, l, d), sx_int(c, 0)));
  }
  if (lanes < c->subgroup) cond = sx_all(c, cond, sx_compare(c, "lt", c->lane, sx_int(c, lanes)));
  if (warps < c->warps) cond = sx_all(c, cond, sx_compare(c, "lt", c->warp, sx_int(c, warps)));
  return cond;
}

const simt_layout *simt_layout_intern(simt *c, const simt_layout *l) {
  struct simt_impl *in = c->in;
  for (size_t i = 0; i < in->n_layouts; i++)
    if (!memcmp(in->layouts[i], l, sizeof *l)) return in->layouts[i];
  simt_layout *copy = arena_dup(&c->m->arena, l, sizeof *l);
  if (!copy || !al_grow(&c->m->arena.al, &in->layouts, &in->cap_layouts, in->n_layouts + 1, sizeof *in->layouts))
    return NULL;
  return in->layouts[in->n_layouts++] = copy;
}

static void clear_layout(simt_layout *l, int rank) {
  memset(l, 0, sizeof *l);
  l->rank = rank;
  for (int d = 0; d < rank; d++) l->vec[d] = l->lanes[d] = l->inner[d] = l->warps[d] = l->reps[d] = 1;
}

/* The largest power of two that divides n and is at most `most`. */
static int share(int n, int64_t most) {
  int s = 1;
  while (n % (2 * s) == 0 && 2 * s <= most) s *= 2;
  return s;
}

/* Lanes along the last dimension first; subgroups along dimensions that are not reduced first. */
static void blocked(const simt *c, const simt_group *g, simt_layout *l) {
  int last = g->rank - 1, lanes = c->subgroup, warps = c->warps;
  int64_t n = pow2_ceil(g->min_dims[last]);
  clear_layout(l, g->rank);
  l->vec[last] = g->access ? g->access : 4;
  if (simt_is_simd(c) && l->vec[last] > g->word && g->word)
    l->vec[last] = g->word; /* loads of a word a lane become one of a register */
  while (l->vec[last] > 1 && l->vec[last] > n) l->vec[last] /= 2;
  for (int d = last; d >= 0; d--) {
    int64_t room = pow2_ceil(ceil_div(g->min_dims[d], l->vec[d]));
    l->lanes[d] = share(lanes, room);
    lanes /= l->lanes[d];
  }
  for (int pass = 0; pass < 2; pass++)
    for (int d = 0; d < g->rank; d++) {
      if (g->reduced[d] != (pass == 1)) continue;
      int64_t room = ceil_div(g->min_dims[d], (int64_t)l->lanes[d] * l->vec[d]);
      l->warps[d] = share(warps, pow2_ceil(room));
      warps /= l->warps[d];
    }
}

/* One thread per butterfly: registers lie N / radix apart, so that a stage's inputs are all in one thread. */
static void fft_layout(const simt *c, const simt_group *g, simt_layout *l) {
  int last = g->rank - 1;
  int64_t n = g->max_dims[last] / g->radix;
  clear_layout(l, g->rank);
  l->lanes[last] = share(c->subgroup, n);
  l->warps[last] = share(c->warps, ceil_div(n, l->lanes[last]));
  int64_t rest = ceil_div(n, (int64_t)l->lanes[last] * l->warps[last]);
  if (rest > 1 && n % ((int64_t)l->lanes[last] * l->warps[last]) == 0) {
    /* reps count the points; inner counts butterflies: element = (rep * warps + warp) * inner ... needs warp outside
     * inner. */
    l->inner[last] = (int)rest;
  }
}

static tsr_status finish_group(simt *c, simt_group *g) {
  g->done = true;
  clear_layout(&g->l, g->rank);
  if (g->radix && !g->gemm) fft_layout(c, g, &g->l);
  else if (g->gemm) {
    simt_gemm q = simt_gemm_of(g->gemm);
    c->path->layout(c, &q, g->min_dims[0], g->min_dims[1], &g->l);
  } else blocked(c, g, &g->l);
  return NULL;
}

const simt_layout *simt_layout_of(simt *c, const ir_value *v, tsr_status *st) {
  simt_group *g = simt_group_of(v);
  *st = g->done ? NULL : finish_group(c, g);
  if (*st) return NULL;
  simt_layout l = g->l;
  memcpy(l.dims, v->type->dims, sizeof *l.dims * (size_t)l.rank);
  simt_layout_finish(&l);
  if (l.n_regs > SIMT_MAX_REGS) {
    const ir_op *op = v->def ? v->def : v->owner->parent;
    *st = simt_unsupported(c, op, "use a smaller tile, or more subgroups (attribute warps)",
                           "a fragment of %lld elements over %d threads needs %d registers each, the limit is %d",
                           (long long)ir_type_count(v->type), c->threads, l.n_regs, SIMT_MAX_REGS);
    return NULL;
  }
  const simt_layout *r = simt_layout_intern(c, &l);
  if (!r) *st = st_oom();
  return r;
}

const simt_layout *simt_copy_layout(simt *c, int rank, const int64_t *dims, int vec) {
  simt_group g = {.rank = rank, .access = vec};
  simt_layout l;
  memcpy(g.min_dims, dims, sizeof *dims * (size_t)rank);
  blocked(c, &g, &l);
  memcpy(l.dims, dims, sizeof *dims * (size_t)rank);
  simt_layout_finish(&l);
  return simt_layout_intern(c, &l);
}
