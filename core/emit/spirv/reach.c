/* core/emit/spirv/reach.c - see emit/spirv/reach.h. Every index of the kernel is an interval, given intervals of the
 * block's position; what is not known (read from memory, carried by a loop) is any number, and an access stays within
 * its tensor. Boxes of blocks are halved until their accesses fit, along the axis that helps most. */
#include "core/emit/spirv/reach.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/target/target.h"

enum { MOST_SLABS = 1 << 12, ALIGNMENT = 256 /* a window starts at a multiple, at most, of this */ };
#define ANY_NUMBER ((int64_t)1 << 50)

typedef struct span {
  int64_t lo, hi; /* both may be reached; of a pointer in bytes behind its argument's start */
  int arg;        /* of a pointer; -1: not known */
} span;

typedef struct box {
  int64_t first[3], n[3];
} box;

typedef struct reach {
  const ir_op *kernel;
  const tsr_caps *caps;
  const int64_t *bytes; /* of each argument */
  arena *a;
  int n_args, subgroup;
  int64_t threads[3], most;
  box at;
  int64_t *from, *to; /* what `at` reaches of each argument; from == to: nothing */
  be_slab *slabs;
  size_t n, cap;
} reach;

/* ---- intervals ---- */

static int64_t limited(int64_t x) { return clamp64(x, -ANY_NUMBER, ANY_NUMBER); }
static span interval(int64_t lo, int64_t hi) { return (span){limited(lo), limited(hi), -1}; }
static span any_number(void) { return interval(-ANY_NUMBER, ANY_NUMBER); }

static int64_t product(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? (a < 0) == (b < 0) ? ANY_NUMBER : -ANY_NUMBER : r;
}

static span multiplied(span a, span b) {
  int64_t p[4] = {product(a.lo, b.lo), product(a.lo, b.hi), product(a.hi, b.lo), product(a.hi, b.hi)};
  int64_t lo = p[0], hi = p[0];
  for (int i = 1; i < 4; i++) lo = min64(lo, p[i]), hi = max64(hi, p[i]);
  return interval(lo, hi);
}

static span remainder_of(span a, int64_t b) {
  if (a.lo >= 0 && a.lo / b == a.hi / b) return interval(a.lo % b, a.hi % b);
  return interval(a.lo < 0 ? max64(a.lo, 1 - b) : 0, a.hi > 0 ? min64(a.hi, b - 1) : 0);
}

/* Bits that numbers up to `hi`, none below 0, may have. */
static int64_t all_bits(int64_t hi) { return pow2_ceil(hi + 1) - 1; }

static span of_two(int code, span a, span b) {
  bool exact = a.lo == a.hi && b.lo == b.hi, whole = a.lo >= 0 && b.lo >= 0;
  switch (code) {
    case SC_ADD: return interval(a.lo + b.lo, a.hi + b.hi);
    case SC_SUB: return interval(a.lo - b.hi, a.hi - b.lo);
    case SC_MUL: return multiplied(a, b);
    case SC_MIN: return interval(min64(a.lo, b.lo), min64(a.hi, b.hi));
    case SC_MAX: return interval(max64(a.lo, b.lo), max64(a.hi, b.hi));
    case SC_DIV:
      if (b.lo < 1) return any_number();
      return interval(a.lo < 0 ? a.lo / b.lo : a.lo / b.hi, a.hi < 0 ? a.hi / b.hi : a.hi / b.lo);
    case SC_REM: return b.lo == b.hi && b.lo > 0 ? remainder_of(a, b.lo) : any_number();
    case SC_SHL:
      if (b.lo != b.hi || b.lo < 0 || b.lo > 50) return any_number();
      return multiplied(a, interval((int64_t)1 << b.lo, (int64_t)1 << b.lo));
    case SC_SHR: return b.lo == b.hi && b.lo >= 0 && b.lo < 63 ? interval(a.lo >> b.lo, a.hi >> b.lo) : any_number();
    case SC_AND:
      if (exact) return interval(a.lo & b.lo, a.lo & b.lo);
      if (b.lo == b.hi && b.lo >= 0 && !(b.lo & (b.lo + 1)) && a.lo >= 0) return remainder_of(a, b.lo + 1);
      if (whole) return interval(0, min64(a.hi, b.hi));
      return b.lo >= 0 ? interval(0, b.hi) : a.lo >= 0 ? interval(0, a.hi) : any_number();
    case SC_OR:
    case SC_XOR:
      if (exact) return code == SC_OR ? interval(a.lo | b.lo, a.lo | b.lo) : interval(a.lo ^ b.lo, a.lo ^ b.lo);
      return whole ? interval(0, all_bits(max64(a.hi, b.hi))) : any_number();
    default: return any_number();
  }
}

/* ---- a kernel's ops ---- */

static span *span_of(reach *r, ir_value *v) {
  if (!v->data && !(v->data = arena_alloc(r->a, sizeof(span)))) return NULL;
  return v->data;
}

static bool is_pointer(const ir_value *v) { return v->type->kind == IR_T_PTR; }
/* Its interval is looked after. */
static bool is_number(const ir_value *v) {
  const ir_type *t = v->type;
  return t->kind == IR_T_INDEX || (t->kind == IR_T_SCALAR && !dtype_is_float(t->dtype)) || is_pointer(v);
}

static tsr_status define(reach *r, ir_value *v, span s) {
  span *to = span_of(r, v);
  if (!to) return st_oom();
  *to = s;
  return NULL;
}

static span value_of(const ir_value *v) { return *(const span *)v->data; }

static void touch(reach *r, int arg, int64_t from, int64_t to) {
  from = clamp64(from, 0, r->bytes[arg]), to = clamp64(to, 0, r->bytes[arg]);
  if (from >= to) return;
  bool none = r->from[arg] == r->to[arg];
  r->from[arg] = none ? from : min64(r->from[arg], from);
  r->to[arg] = none ? to : max64(r->to[arg], to);
}

static void touch_whole(reach *r, const ir_value *pointer) {
  span p = value_of(pointer);
  for (int i = 0; i < r->n_args; i++)
    if (p.arg < 0 || p.arg == i) touch(r, i, 0, r->bytes[i]);
}

/* Elements `index` to `index` + `more` of pointer, and `bytes` from the last one on. */
static void access_at(reach *r, const ir_value *pointer, span index, int64_t more, int64_t bytes) {
  span p = value_of(pointer);
  int64_t size = (int64_t)tsr_dtype_size(pointer->type->dtype);
  if (pointer->type->use && !strcmp(pointer->type->use, "shared")) return;
  if (p.arg < 0) touch_whole(r, pointer);
  else touch(r, p.arg, p.lo + index.lo * size, p.hi + (index.hi + limited(more)) * size + bytes);
}

static int64_t bytes_of(const ir_type *t) {
  return (t->kind == IR_T_VECTOR ? t->dims[0] : 1) * (int64_t)tsr_dtype_size(t->dtype);
}

/* A matrix by lines of either way. */
static void access_matrix(reach *r, const ir_op *o, const ir_type *matrix, int pointer) {
  int64_t side = max64(matrix->dims[0], matrix->dims[1]);
  span stride = value_of(o->operands[pointer + 2]);
  access_at(r, o->operands[pointer], value_of(o->operands[pointer + 1]), product(side - 1, max64(stride.hi, 0)),
            side * (int64_t)tsr_dtype_size(matrix->dtype));
}

static tsr_status walk(reach *r, ir_block *b);

static tsr_status any_values(reach *r, ir_value **v, int n) {
  for (int i = 0; i < n; i++)
    if (is_number(v[i])) TSR_TRY(define(r, v[i], any_number()));
  return NULL;
}

static tsr_status walk_for(reach *r, const ir_op *o) {
  span from = value_of(o->operands[0]), to = value_of(o->operands[1]);
  ir_block *b = o->regions[0];
  TSR_TRY(define(r, b->args[0], interval(from.lo, max64(from.lo, to.hi - 1))));
  TSR_TRY(any_values(r, b->args + 1, b->n_args - 1));
  TSR_TRY(any_values(r, o->results, o->n_results));
  for (int i = 3; i < o->n_operands; i++) { /* a pointer stays in its buffer */
    if (!is_pointer(o->operands[i])) continue;
    span p = any_number();
    p.arg = value_of(o->operands[i]).arg;
    TSR_TRY(define(r, b->args[i - 2], p));
    TSR_TRY(define(r, o->results[i - 3], p));
  }
  return to.hi <= from.lo ? NULL : walk(r, b);
}

/* A condition that always, or never, holds takes one region. */
static tsr_status walk_if(reach *r, const ir_op *o) {
  span c = value_of(o->operands[0]);
  for (int i = 0; i < o->n_regions; i++)
    if (i == 0 ? c.hi != 0 || c.lo != 0 : c.lo <= 0 && c.hi >= 0) TSR_TRY(walk(r, o->regions[i]));
  TSR_TRY(any_values(r, o->results, o->n_results));
  return NULL;
}

static span compared(const ir_op *o, span a, span b) {
  const char *is = ir_get_str(o, "predicate", "");
  if (!strcmp(is, "gt") || !strcmp(is, "ge")) {
    span t = a;
    a = b, b = t;
  }
  bool strict = is[1] == 't';
  if (is[0] != 'l' && is[0] != 'g') return interval(0, 1);
  if (strict ? a.hi < b.lo : a.hi <= b.lo) return interval(1, 1);
  if (strict ? a.lo >= b.hi : a.lo > b.hi) return interval(0, 0);
  return interval(0, 1);
}

static span scalar(const ir_op *o) {
  for (int i = 0; i < o->n_operands; i++)
    if (!is_number(o->operands[i])) return any_number();
  span a = value_of(o->operands[0]), b = o->n_operands > 1 ? value_of(o->operands[1]) : a;
  switch (o->def->code) {
    case SC_CAST: return a;
    case SC_NEG: return interval(-a.hi, -a.lo);
    case SC_COMPARE: return compared(o, a, b);
    case SC_SELECT: {
      span c = value_of(o->operands[2]);
      if (a.lo > 0 || a.hi < 0) return b;
      if (!a.lo && !a.hi) return c;
      span s = interval(min64(b.lo, c.lo), max64(b.hi, c.hi));
      s.arg = b.arg == c.arg ? b.arg : -1;
      return s;
    }
    case SC_FMA: return of_two(SC_ADD, multiplied(a, b), value_of(o->operands[2]));
    default: return o->n_operands == 2 ? of_two(o->def->code, a, b) : any_number();
  }
}

static span moved(const ir_op *o) {
  span p = value_of(o->operands[0]), i = value_of(o->operands[1]);
  int64_t size = (int64_t)tsr_dtype_size(o->operands[0]->type->dtype);
  return (span){limited(p.lo + i.lo * size), limited(p.hi + i.hi * size), p.arg};
}

static int64_t n_threads(const reach *r) { return r->threads[0] * r->threads[1] * r->threads[2]; }

/* Scalars wrap, or saturate, at the ends of their types; indices count elements, which fit theirs. */
static span fitting(const ir_type *t, span s) {
  if (t->kind != IR_T_SCALAR) return s;
  int64_t most = ((int64_t)1 << min64(8 * (int64_t)tsr_dtype_size(t->dtype) - 1, 49)) - 1;
  int64_t least = dtype_get(t->dtype)->is_signed ? -most : 0;
  return s.lo < least || s.hi > most ? any_number() : s;
}

/* The number that an op gives. */
static span number_of(const reach *r, const ir_op *o) {
  int axis = (int)ir_get_int(o, "axis", 0);
  if (ir_is_scalar(o)) return fitting(o->results[0]->type, scalar(o));
  switch (o->def->code) {
    case TG_CONST: {
      int64_t c = ir_get_int(o, "value", 0);
      return interval(c, c);
    }
    case TG_THREAD_ID: return interval(0, r->threads[axis] - 1);
    case TG_BLOCK_ID: return interval(r->at.first[axis], r->at.first[axis] + r->at.n[axis] - 1);
    case TG_LANE_ID: return interval(0, (r->subgroup ? r->subgroup : n_threads(r)) - 1);
    case TG_WARP_ID: return interval(0, (r->subgroup ? ceil_div(n_threads(r), r->subgroup) : n_threads(r)) - 1);
    case TG_PTR_CAST: return value_of(o->operands[0]);
    case TG_PTR_ADD: return moved(o);
    default: return any_number();
  }
}

static tsr_status visit(reach *r, ir_op *o) {
  switch (o->def->code) {
    case TG_FOR: return walk_for(r, o);
    case TG_IF: return walk_if(r, o);
    case TG_LOAD: access_at(r, o->operands[0], value_of(o->operands[1]), 0, bytes_of(o->results[0]->type)); break;
    case TG_STORE: access_at(r, o->operands[1], value_of(o->operands[2]), 0, bytes_of(o->operands[0]->type)); break;
    case TG_MAT_LOAD: access_matrix(r, o, o->results[0]->type, 0); break;
    case TG_MAT_STORE: access_matrix(r, o, o->operands[0]->type, 1); break;
    default: break;
  }
  for (int i = 0; i < o->n_results; i++)
    if (is_number(o->results[i])) TSR_TRY(define(r, o->results[i], number_of(r, o)));
  return NULL;
}

static tsr_status walk(reach *r, ir_block *b) {
  for (ir_op *o = b->first; o; o = o->next) TSR_TRY(visit(r, o));
  return NULL;
}

/* ---- boxes of blocks ---- */

/* What a box reaches, and how much of an argument at most, of those that are too large to be bound whole. */
static tsr_status look(reach *r, const box *at, int64_t *widest, int *arg) {
  ir_block *b = r->kernel->regions[0];
  r->at = *at;
  memset(r->from, 0, sizeof *r->from * (size_t)r->n_args), memset(r->to, 0, sizeof *r->to * (size_t)r->n_args);
  for (int i = 0; i < r->n_args; i++) TSR_TRY(define(r, b->args[i], (span){0, 0, i}));
  TSR_TRY(walk(r, b));
  *widest = 0;
  for (int i = 0; i < r->n_args; i++)
    if (r->bytes[i] > r->most && r->to[i] - r->from[i] > *widest) *widest = r->to[i] - r->from[i], *arg = i;
  return NULL;
}

static tsr_status too_wide(const reach *r, int64_t bytes, int arg) {
  return ir_error_at(
      r->kernel, r->kernel->loc, TSR_UNSUPPORTED, "split the tensor",
      "one block reaches %lld bytes of argument %d; without bufferDeviceAddress the device takes %lld, less %d "
      "to align them",
      (long long)bytes, arg, (long long)r->caps->max_range_bytes, ALIGNMENT);
}

static tsr_status add_slab(reach *r) {
  int64_t *window = arena_array(r->a, int64_t, 2 * r->n_args);
  if (r->n == r->cap) {
    size_t cap = r->cap ? 2 * r->cap : 16;
    be_slab *grown = arena_array(r->a, be_slab, cap);
    if (!grown) return st_oom();
    if (r->n) memcpy(grown, r->slabs, sizeof *grown * r->n);
    r->slabs = grown, r->cap = cap;
  }
  if (!window) return st_oom();
  for (int i = 0; i < r->n_args; i++) {
    bool whole = r->bytes[i] <= r->most;
    int64_t least = r->from[i] + (r->from[i] == r->to[i] ? 4 : 0); /* a descriptor isn't of nothing */
    window[i] = whole ? 0 : r->from[i], window[r->n_args + i] = whole ? r->bytes[i] : max64(r->to[i], least);
  }
  be_slab *s = &r->slabs[r->n++];
  memcpy(s->first, r->at.first, sizeof s->first), memcpy(s->n, r->at.n, sizeof s->n);
  s->from = window, s->to = window + r->n_args;
  return NULL;
}

static void halve(const box *b, int axis, box *lower, box *upper) {
  *lower = *upper = *b;
  lower->n[axis] = b->n[axis] / 2;
  upper->first[axis] += lower->n[axis], upper->n[axis] -= lower->n[axis];
}

/* The axis whose half reaches least; of equals the last one that can be cut, the slowest of the grid. */
static tsr_status best_axis(reach *r, const box *b, int *axis) {
  int64_t least = INT64_MAX, widest;
  int arg;
  *axis = -1;
  for (int i = 2; i >= 0; i--) {
    box lower, upper;
    if (b->n[i] < 2) continue;
    halve(b, i, &lower, &upper);
    TSR_TRY(look(r, &lower, &widest, &arg));
    if (widest < least) least = widest, *axis = i;
  }
  return NULL;
}

static tsr_status cut(reach *r, box b) {
  for (;;) { /* the lower half by recursion, the upper by going on */
    int64_t widest;
    int arg = 0, axis;
    box lower;
    TSR_TRY(look(r, &b, &widest, &arg));
    if (widest <= r->most) return add_slab(r);
    TSR_TRY(best_axis(r, &b, &axis));
    if (axis < 0 || r->n == MOST_SLABS) return too_wide(r, widest, arg);
    halve(&b, axis, &lower, &b);
    TSR_TRY(cut(r, lower));
  }
}

/* Of kernel `k`, whose arguments have bytes[i] each. */
static tsr_status cut_grid(const ir_op *k, const tsr_caps *caps, const int64_t *bytes, arena *a, be_kernel_desc *d) {
  reach r = {.kernel = k, .caps = caps, .bytes = bytes, .a = a, .n_args = d->n_args, .subgroup = d->subgroup};
  box all = {{0}, {d->grid[0], d->grid[1], d->grid[2]}};
  bool large = false;
  for (int i = 0; i < 3; i++) r.threads[i] = d->block[i];
  for (int i = 0; i < r.n_args; i++) large |= bytes[i] > caps->max_range_bytes;
  if (!large || !all.n[0] || !all.n[1] || !all.n[2]) return NULL;
  r.most = max64(caps->max_range_bytes - ALIGNMENT, 0);
  r.from = arena_array(a, int64_t, r.n_args + 1), r.to = arena_array(a, int64_t, r.n_args + 1);
  if (!r.from || !r.to) return st_oom();
  box one = {{0}, {1, 1, 1}};
  int64_t widest;
  int arg = 0;
  TSR_TRY(look(&r, &one, &widest, &arg));
  if (widest > r.most) return too_wide(&r, widest, arg);
  TSR_TRY(cut(&r, all));
  d->slabs = r.slabs, d->n_slabs = (int)r.n;
  return NULL;
}

/* What the emitter left on the values. */
static void forget(ir_block *b) {
  for (int i = 0; i < b->n_args; i++) b->args[i]->data = NULL;
  for (ir_op *o = b->first; o; o = o->next) {
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = NULL;
    for (int i = 0; i < o->n_regions; i++) forget(o->regions[i]);
  }
}

static int64_t tensor_bytes(const ir_value *v) {
  return ir_type_count(v->type) * (int64_t)tsr_dtype_size(v->type->dtype);
}

/* The most that launches bind to each argument. */
static void launched_bytes(const ir_module *target, const char *kernel, int n_args, int64_t *bytes) {
  for (const ir_op *p = target->root->regions[0]->first; p; p = p->next) {
    if (p->def->level != IR_TARGET || p->def->code != TG_PROGRAM) continue;
    for (const ir_op *o = p->regions[0]->first; o; o = o->next)
      if (o->def->code == TG_LAUNCH && !strcmp(ir_get_str(o, "kernel", ""), kernel))
        for (int i = 0; i < n_args && i < o->n_operands; i++) bytes[i] = max64(bytes[i], tensor_bytes(o->operands[i]));
  }
}

static bool has_large(const ir_module *target, int64_t most) {
  for (const ir_op *p = target->root->regions[0]->first; p; p = p->next) {
    if (p->def->level != IR_TARGET || p->def->code != TG_PROGRAM) continue;
    for (const ir_op *o = p->regions[0]->first; o; o = o->next)
      for (int i = 0; o->def->code == TG_LAUNCH && i < o->n_operands; i++)
        if (tensor_bytes(o->operands[i]) > most) return true;
  }
  return false;
}

tsr_status emit_spirv_slabs(const ir_module *target, const tsr_caps *caps, arena *a, be_kernel_desc *d) {
  if (!caps->max_range_bytes || !has_large(target, caps->max_range_bytes)) return NULL;
  for (const ir_op *k = target->root->regions[0]->first; k; k = k->next) {
    if (k->def->level != IR_TARGET || k->def->code != TG_KERNEL) continue;
    int64_t *bytes = arena_array(a, int64_t, d->n_args + 1);
    if (!bytes) return st_oom();
    launched_bytes(target, d->name, d->n_args, bytes);
    forget(k->regions[0]);
    TSR_TRY(cut_grid(k, caps, bytes, a, d++));
  }
  return NULL;
}
