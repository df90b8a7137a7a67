/* core/passes/tile/from_schedule.c - programs and kernels; see tile/from_schedule.h. */
#include "core/passes/tile/from_schedule.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/base/int_math.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/schedule/key.h"
#include "core/passes/tile/attention_backward.h"
#include "core/passes/tile/attention_parts.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/contraction.h"
#include "core/passes/tile/fuse_maps.h"

enum { MOST_OPERANDS = 256 }; /* of a launch */

static bool on_cpu(const kb_kernel *k) { return k->opts->caps->dialect == DIALECT_CPU; }

/* ---- kernels that are there already ---------------------------------------------------------------------------- */

/* By the key of their schedule.kernel, in open addressing; name is NULL where a place is empty. */
typedef struct seen_kernel { uint64_t hash; const char *key, *name; size_t key_bytes; } seen_kernel;
typedef struct seen_kernels {
  seen_kernel *v;
  size_t n, cap;
  strb key; /* of the kernel at hand */
} seen_kernels;

static seen_kernel *seen_place(seen_kernel *v, size_t cap, const seen_kernel *k) {
  size_t at = (size_t)k->hash & (cap - 1);
  while (v[at].name &&
         (v[at].hash != k->hash || v[at].key_bytes != k->key_bytes || memcmp(v[at].key, k->key, k->key_bytes)))
    at = (at + 1) & (cap - 1);
  return &v[at];
}

static bool seen_grow(seen_kernels *s) {
  size_t cap = s->cap ? 2 * s->cap : 16;
  seen_kernel *v = al_zalloc(s->key.al, cap * sizeof *v);
  if (!v) return false;
  for (size_t i = 0; i < s->cap; i++)
    if (s->v[i].name) *seen_place(v, cap, &s->v[i]) = s->v[i];
  al_free_array(s->key.al, s->v, s->cap);
  s->v = v;
  s->cap = cap;
  return true;
}

/* *name gets the name of an equal kernel, else NULL, and src is noted under its own. */
static tsr_status seen_before(seen_kernels *s, ir_module *m, const ir_op *src, const char **name) {
  *name = NULL;
  if (!sched_key(src, &s->key)) return NULL;
  if (!strb_ok(&s->key) || (2 * (s->n + 1) > s->cap && !seen_grow(s))) return st_oom();
  seen_kernel k = {.hash = hash_mix(hash_bytes(HASH_SEED, s->key.p, s->key.n)),
                   .key = s->key.p,
                   .key_bytes = s->key.n,
                   .name = ir_get_str(src, "sym_name", "")},
              *at = seen_place(s->v, s->cap, &k);
  if (at->name) {
    *name = at->name;
    return NULL;
  }
  if (!(k.key = arena_dup(&m->arena, k.key, k.key_bytes))) return st_oom();
  *at = k;
  s->n++;
  return NULL;
}

/* ---- kernels and programs -------------------------------------------------------------------------------------- */

static const ir_type *view_of(ir_module *m, const ir_type *t) {
  return ir_type_shaped(m, IR_T_VIEW, t->dtype, t->rank, t->dims);
}

static double bytes_of(const ir_value *v) {
  return (double)ir_type_count(v->type) * (double)tsr_dtype_size(v->type->dtype);
}

/* Of a scatter into its operand: indices and updates are read, and as much as these are is written. */
static double bytes_in_place(const kb_kernel *k, const ir_value *result) {
  const ir_op *s = graph_first_of(k->src->regions[0], GRAPH_SCATTER);
  const double n = s ? bytes_of(s->operands[2]) * (graph_indexed_get(s).adds ? 2 : 1) : 0, all = bytes_of(result);
  return n < all ? n : all;
}

/* Arithmetic and traffic as modelled: products of a contraction, one operation per element and op otherwise; every
 * operand and result is moved once. */
static bool note_work(const kb_kernel *k) {
  const int64_t in_place = ir_get_int(k->src, "in_place", -1);
  double flops = 0, bytes = 0;
  for (const ir_op *o = k->src->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH || !o->n_results || o->def->flags & IR_VIEWLIKE) continue;
    graph_space s;
    if (o->n_operands && graph_space_of(o, &s)) flops += s.flops;
  }
  for (int i = 0; i < k->src->n_operands; i++) bytes += i == in_place ? 0 : bytes_of(k->src->operands[i]);
  for (int i = 0; i < k->src->n_results; i++)
    bytes += in_place >= 0 ? bytes_in_place(k, k->src->results[i]) : bytes_of(k->src->results[i]);
  return ir_set_attr(k->op, "flops", ir_attr_float(k->m, flops)) &&
         ir_set_attr(k->op, "bytes", ir_attr_float(k->m, bytes));
}

/* Does a kernel's first launch write results too, besides its workspace? */
static bool writes_results_in_parts(const ir_op *src) {
  const ir_op *o = src->regions[0]->first;
  while (o && !graph_is_kind(o, GRAPH_ATTENTION_BACKWARD)) o = o->next;
  return o != NULL;
}

/* No float of the graph has more than 16 bits, so that functions need not be right beyond what rounding leaves. Said
 * where it is made use of. */
static bool rounds_all(const kb_kernel *k) {
  if (!caps_simd_like(k->opts->caps) || policy_named(k->opts->policy) != TSR_POLICY_FAST) return false;
  for (const ir_op *o = k->src->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH) continue;
    for (int i = 0; i < o->n_operands + o->n_results; i++) {
      const ir_type *t = i < o->n_operands ? o->operands[i]->type : o->results[i - o->n_operands]->type;
      if (dtype_is_float(t->dtype) && tsr_dtype_size(t->dtype) > 2) return false;
    }
  }
  return true;
}

static tsr_status make_kernel(kb_kernel *k, ir_builder *top, const char *name, const ir_type *workspace) {
  const ir_op *src = k->src;
  const bool parts = k->split == SPLIT_PARTS && !writes_results_in_parts(src);
  const int results = (parts ? 0 : src->n_results) + (k->split == SPLIT_PARTS);
  k->op = ir_op_new(top, ir_find_op("tessera.tile.kernel"), 0, NULL, 0, NULL, 1);
  if (!k->op || !ir_set_attr(k->op, "sym_name", ir_attr_str(k->m, name)) ||
      !ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){1, 1, 1}, 3)) ||
      !ir_set_attr(k->op, "outputs", ir_attr_int(k->m, results)) ||
      !ir_set_attr(k->op, "family", ir_attr_str(k->m, ir_get_str(src, "family", ""))) ||
      !ir_set_attr(k->op, "policy", ir_attr_str(k->m, k->opts->policy)) || !note_work(k))
    return st_oom();
  if (rounds_all(k) && !ir_set_attr(k->op, "rounds", ir_attr_bool(k->m, true))) return st_oom();
  if (k->params.warps && !ir_set_attr(k->op, "warps", ir_attr_int(k->m, k->params.warps))) return st_oom();
  if (k->params.raster && !ir_set_attr(k->op, "raster", ir_attr_int(k->m, k->params.raster))) return st_oom();
  if (on_cpu(k) && k->params.vectorize >= SCHED_LEAST_STRIP &&
      !ir_set_attr(k->op, "strip", ir_attr_int(k->m, k->params.vectorize)))
    return st_oom();
  if (k->params.matrix_path && !ir_set_attr(k->op, "matrix_path", ir_attr_str(k->m, k->params.matrix_path)))
    return st_oom();
  ir_block *args = k->op->regions[0];
  for (int i = 0; i < src->n_operands; i++)
    if (!ir_block_arg(k->m, args, view_of(k->m, src->operands[i]->type),
                      src->operands[i]->owner ? src->operands[i]->name : NULL))
      return st_oom();
  if (workspace && !(k->workspace = ir_block_arg(k->m, args, view_of(k->m, workspace), "parts"))) return st_oom();
  for (int i = 0; i < src->n_results && !parts; i++)
    if (!ir_block_arg(k->m, args, view_of(k->m, src->results[i]->type), NULL)) return st_oom();
  k->b = ir_at_end(k->m, args);
  return (k->zero = kb_index(k, 0)) ? NULL : st_oom();
}

/* Accesses of global memory carry the width asked for, where it is narrower than the widest. */
static bool note_vectorize(kb_kernel *k, ir_block *b) {
  int64_t n = k->params.vectorize;
  if (on_cpu(k) || n < 1 || n * sched_element_bytes(k->src) >= 16) return true;
  for (ir_op *o = b->first; o; o = o->next) {
    bool access = o->def->code == T_LOAD || o->def->code == T_STORE || o->def->code == T_COPY ||
                  o->def->code == T_CONTRACT,
         global = false;
    for (int i = 0; i < o->n_operands; i++) global |= o->operands[i]->type->kind == IR_T_VIEW;
    if (access && global && !ir_set_attr(o, "vectorize", ir_attr_int(k->m, n))) return false;
    for (int r = 0; r < o->n_regions; r++)
      if (!note_vectorize(k, o->regions[r])) return false;
  }
  return true;
}

/* Of families whose kernels are made elsewhere, and of what no verifier let pass. */
tsr_status family_none(kb_kernel *k) {
  return ir_error(k->src, NULL, "no lowering for family \"%s\"", ir_get_str(k->src, "family", ""));
}

static tsr_status (*const family_lowering[N_FAMILIES + 1])(kb_kernel *k) = {
#define LOWERING(code, name, fuses, space, n, extents, lowering, ...) [FAMILY_##code] = family_##lowering,
    KERNEL_FAMILIES(LOWERING)
#undef LOWERING
        [N_FAMILIES] = family_none};

static tsr_status fill_kernel(kb_kernel *k) {
  bool empty = true;
  for (int i = 0; i < k->src->n_results; i++) empty &= ir_type_count(k->src->results[i]->type) == 0;
  tsr_status st = NULL;
  if (empty) { /* nothing to write: a grid without blocks */
    if (!ir_set_attr(k->op, "grid", ir_attr_ints(k->m, (int64_t[]){0, 1, 1}, 3))) return st_oom();
  } else {
    st = family_lowering[sched_family_of(k->src)](k);
  }
  TSR_TRY(st);
  return !k->b.failed && ir_build0(&k->b, "tessera.tile.return", 0, NULL) && note_vectorize(k, k->op->regions[0])
             ? NULL
             : st_oom();
}

static void clear_body(ir_op *src) {
  for (int i = 0; i < src->regions[0]->n_args; i++) src->regions[0]->args[i]->data = NULL;
  for (ir_op *o = src->regions[0]->first; o; o = o->next) ir_clear_data(o);
}

static ir_op *launch(ir_builder *b, const char *kernel, int n, ir_value *const *operands) {
  ir_op *l = ir_build0(b, "tessera.tile.launch", n, operands);
  return l && ir_set_attr(l, "kernel", ir_attr_str(b->m, kernel)) ? l : NULL;
}

/* The workspace of a split contraction: [parts, result of the matmul...] in the accumulator's type. NULL: not split. */
static const ir_type *split_type(ir_module *m, const ir_op *src, int64_t parts) {
  const ir_op *o = graph_contraction(src->regions[0]);
  if (!o) return NULL;
  graph_contract g = graph_contract_get(o);
  ir_type t = {.kind = IR_T_TENSOR, .dtype = g.accum, .rank = o->results[0]->type->rank + 1, .dims = {parts}};
  if (t.rank > TSR_MAX_RANK || parts > g.k) return NULL;
  memcpy(t.dims + 1, o->results[0]->type->dims, sizeof *t.dims * (size_t)(t.rank - 1));
  return ir_type_get(m, &t);
}

static const ir_type *stream_k_type(ir_module *m, const ir_op *src, const tsr_caps *caps, const sched_params *p) {
  const ir_op *o = graph_contraction(src->regions[0]);
  return o ? mm_stream_k_type(m, o, caps, p) : NULL;
}

/* The op of Tile IR that an op which is a step of its own becomes. */
static const char *step_of(const ir_op *op) {
  return graph_is_kind(op, GRAPH_ROUTINE)   ? "tessera.tile.routine"
         : graph_is_kind(op, GRAPH_CUSTOM)  ? "tessera.tile.custom"
         : graph_is_kind(op, GRAPH_CONTROL) ? "tessera.tile.control"
                                            : NULL;
}

/* A custom op, a routine or control flow is a step of the program: what a custom op becomes depends on what the
 * application registered. */
static tsr_status lower_call(const ir_op *src, ir_builder *program, ir_value *const *operands) {
  const ir_block *body = src->regions[0];
  const ir_op *op = body->first, *yield = body->last;
  while (op && op->def->level == IR_SCHEDULE && op != yield) op = op->next; /* primitives */
  const char *step = step_of(op);
  bool alone = step && op->next == yield && op->n_operands + op->n_results <= MOST_OPERANDS;
  ir_value *v[MOST_OPERANDS];
  for (int i = 0; alone && i < op->n_operands; i++) {
    alone = op->operands[i]->owner == body;
    if (alone) v[i] = operands[op->operands[i]->index];
  }
  for (int i = 0; alone && i < yield->n_operands; i++) alone = yield->operands[i]->def == op;
  if (!alone)
    return ir_error(src, NULL, "a kernel of family %s holds one such op on the kernel's arguments",
                    ir_get_str(src, "family", ""));
  for (int i = 0; i < op->n_results; i++) { /* what nothing reads is written all the same */
    ir_value **to = &v[op->n_operands + i];
    *to = NULL;
    for (int k = 0; k < yield->n_operands; k++)
      if (yield->operands[k] == op->results[i]) *to = operands[src->n_operands + k];
    if (!*to &&
        !(*to = ir_build1(program, "tessera.tile.buffer", ir_type_get(program->m, op->results[i]->type), 0, NULL)))
      return st_oom();
  }
  ir_op *c = ir_build0(program, step, op->n_operands + op->n_results, v);
  if (!c || !ir_attrs_copy(c, op)) return st_oom();
  if (graph_is_kind(op, GRAPH_CONTROL))
    return ir_set_attr(c, "outputs", ir_attr_int(program->m, op->n_results)) ? NULL : st_oom();
  if (graph_is_kind(op, GRAPH_CUSTOM)) return NULL;
  return ir_set_attr(c, "callee", ir_attr_str(program->m, ir_short_name(op->def))) ? NULL : st_oom();
}

/* operands: the kernel's inputs, then its result buffers. A kernel that equals an earlier one is one more launch of
 * that. */
static tsr_status lower_kernel(ir_op *src, ir_builder *program, ir_builder *top, const tile_options *opts,
                               ir_value **operands, seen_kernels *seen) {
  tile_options own = *opts;
  kb_kernel k = {.m = top->m, .src = src, .opts = &own};
  own.policy = ir_get_str(src, "policy", opts->policy);
  const char *name = ir_get_str(src, "sym_name", ""), *equal;
  int n = src->n_operands, results = src->n_results;
  if (kernel_family(sched_family_of(src))->space == SPACE_CALL) return lower_call(src, program, operands);
  sched_read(src, &k.params);
  TSR_TRY(seen_before(seen, k.m, src, &equal));
  if (equal) name = equal;
  const ir_type *parts = k.params.stream_k > 0 ? stream_k_type(k.m, src, opts->caps, &k.params) : NULL;
  k.stream_k = parts != NULL;
  if (!parts && k.params.split_k > 1) parts = split_type(k.m, src, k.params.split_k);
  if (!parts) parts = attend_parts_type(k.m, src, &own);
  if (!parts) parts = attend_backward_parts_type(k.m, src, &k.params);
  if (!parts) {
    const ir_attr *in_place = ir_get_attr(src, "in_place");
    ir_op *l = launch(program, name, n + results, operands);
    if (!l || (in_place && !ir_set_attr(l, "in_place", ir_attr_copy(program->m, in_place)))) return st_oom();
    if (equal) return NULL;
    TSR_TRY(make_kernel(&k, top, name, NULL));
    return fill_kernel(&k);
  }
  char first[256];
  snprintf(first, sizeof first, "%s_parts", name);
  ir_value *buffer = ir_build1(program, "tessera.tile.buffer", parts, 0, NULL), *all[MOST_OPERANDS];
  if (!buffer) return st_oom();
  memcpy(all, operands, sizeof *all * (size_t)n);
  all[n] = buffer;
  memcpy(all + n + 1, operands + n, sizeof *all * (size_t)results);
  const int first_results = writes_results_in_parts(src) ? results : 0;
  if (!launch(program, first, n + 1 + first_results, all) || !launch(program, name, n + 1 + results, all))
    return st_oom();
  if (equal) return NULL;
  k.split = SPLIT_PARTS;
  TSR_TRY(make_kernel(&k, top, first, parts));
  TSR_TRY(fill_kernel(&k));
  clear_body(src);
  k.split = SPLIT_SUM;
  if (caps_coalesces(opts->caps)) {
    const int64_t threads = opts->caps->max_threads > 0 ? min64(256, opts->caps->max_threads) : 256;
    k.params.warps = max64(1, threads / (opts->caps->subgroup > 0 ? opts->caps->subgroup : 32));
  }
  TSR_TRY(make_kernel(&k, top, name, parts));
  return fill_kernel(&k);
}

/* Program level: constants, aliases and launches. value->data is the counterpart in the new program. */
static tsr_status lower_step(ir_op *o, ir_builder *b, ir_builder *top, const tile_options *opts, seen_kernels *seen) {
  int n = o->n_operands;
  bool is_return = o->def->level == IR_SCHEDULE && o->def->code == S_RETURN;
  ir_value *few[MOST_OPERANDS], **operands = is_return ? arena_array(&b->m->arena, ir_value *, n + 1) : few;
  b->loc = top->loc = o->loc;
  if (!operands) return st_oom();
  if (!is_return && n + o->n_results > MOST_OPERANDS - 2)
    return ir_error(o, "split the kernel", "%d operands and results; at most %d", n + o->n_results, MOST_OPERANDS - 2);
  for (int i = 0; i < n; i++) operands[i] = o->operands[i]->data;
  if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) {
    for (int i = 0; i < o->n_results; i++) {
      if (!(operands[n + i] = ir_build1(b, "tessera.tile.buffer", ir_type_get(b->m, o->results[i]->type), 0, NULL)))
        return st_oom();
      if (o->results[i]->name && !(operands[n + i]->name = arena_str(&b->m->arena, o->results[i]->name)))
        return st_oom();
    }
    TSR_TRY(lower_kernel(o, b, top, opts, operands, seen));
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = operands[n + i];
    return NULL;
  }
  if (is_return) return ir_build0(b, "tessera.tile.return", n, operands) ? NULL : st_oom();
  const ir_type *t = o->n_results == 1 ? ir_type_get(b->m, o->results[0]->type) : NULL;
  ir_value *v = NULL;
  if (graph_is(o, G_CONSTANT)) {
    v = ir_build1(b, "tessera.tile.constant", t, 0, NULL);
    if (v && !ir_set_attr(v->def, "value", ir_attr_copy(b->m, ir_get_attr(o, "value")))) return st_oom();
  } else if (graph_is_alias(o)) {
    v = ir_build1(b, "tessera.tile.alias", t, 1, operands);
  } else {
    return ir_error(o, NULL, "is not an operation of a schedule program");
  }
  return (o->results[0]->data = v) ? NULL : st_oom();
}

static tsr_status lower_program(ir_op *p, ir_builder *top, const tile_options *opts, seen_kernels *seen) {
  top->loc = p->loc;
  ir_op *n = ir_op_new(top, ir_find_op("tessera.tile.program"), 0, NULL, 0, NULL, 1);
  ir_block *from = p->regions[0];
  if (!n || !ir_attrs_copy(n, p) || !ir_block_args_copy(top->m, n->regions[0], from)) return st_oom();
  ir_builder b = ir_at_end(top->m, n->regions[0]);
  for (ir_op *o = from->first; o; o = o->next) TSR_TRY(lower_step(o, &b, top, opts, seen));
  return b.failed ? st_oom() : NULL;
}

tsr_status schedule_to_tile(const ir_module *schedule, const tile_options *opts, ir_module **out) {
  TSR_TRY(ir_module_create(&schedule->arena.al, out));
  ir_builder top = ir_at_end(*out, (*out)->root->regions[0]);
  tsr_status st = NULL;
  seen_kernels seen = {.v = NULL};
  strb_init(&seen.key, &schedule->arena.al);
  if (schedule->file && !((*out)->file = arena_str(&(*out)->arena, schedule->file))) TSR_GOTO(st_oom());
  ir_clear_data(schedule->root);
  for (ir_op *o = schedule->root->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_SCHEDULE || o->def->code != S_PROGRAM)
      TSR_GOTO(ir_error(o, NULL, "expected a tessera.schedule.program"));
    TSR_GOTO(lower_program(o, &top, opts, &seen));
  }
  TSR_GOTO(tile_fuse_maps(*out));
  TSR_GOTO(tile_fuse_rows(*out));
  ir_dce((*out)->root);
  TSR_GOTO(ir_verify(*out));
done:
  al_free_array(&schedule->arena.al, seen.v, seen.cap);
  strb_clear(&seen.key);
  if (st) st = ir_cause(*out, NULL, st);
  if (st) ir_module_destroy(out);
  return st;
}
