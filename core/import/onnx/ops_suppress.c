/* core/import/onnx/ops_suppress.c - ONNX's NonMaxSuppression: of each class in each entry of the batch the box with the
 * best score, then the best of those that don't overlap it too much, and so on. A loop takes one box of every class at
 * a step. How many there are in all depends on what the inputs hold. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/region.h"
#include "core/import/onnx/tables.h"

typedef struct suppress {
  ir_value *scores, *box[5]; /* [batch, classes, boxes]; the same of y1, x1, y2, x2 and the area */
  int64_t batch, classes, boxes, most;
  float overlap, least; /* least: -infinity where there is none */
} suppress;

/* ---- how many, where the inputs are known ------------------------------------------------------------------------ */

static float at(const ir_value *v, int64_t i) { return (float)graph_constant_at(v->def, i); }

static bool overlaps(const ir_value *const *box, int64_t row, int64_t i, int64_t k, float limit) {
  float v[2][5];
  for (int p = 0; p < 5; p++) v[0][p] = at(box[p], row + i), v[1][p] = at(box[p], row + k);
  const float y = fminf(v[0][2], v[1][2]) - fmaxf(v[0][0], v[1][0]);
  const float x = fminf(v[0][3], v[1][3]) - fmaxf(v[0][1], v[1][1]);
  const float both = fmaxf(y, 0) * fmaxf(x, 0), whole = v[0][4] + v[1][4] - both;
  return v[0][4] > 0 && v[1][4] > 0 && whole > 0 && both / whole > limit;
}

static int64_t count_class(const suppress *s, const ir_value *scores, const ir_value *const *box, int64_t row,
                           bool *gone) {
  int64_t n = 0;
  for (int64_t i = 0; i < s->boxes; i++) gone[i] = !(at(scores, row + i) > s->least);
  for (; n < s->most; n++) {
    int64_t best = -1;
    for (int64_t i = 0; i < s->boxes; i++)
      if (!gone[i] && (best < 0 || at(scores, row + i) > at(scores, row + best))) best = i;
    if (best < 0) break;
    for (int64_t i = 0; i < s->boxes; i++) gone[i] |= i == best || overlaps(box, row, best, i, s->overlap);
  }
  return n;
}

/* -1: not known. */
static int64_t count(cv *c, const suppress *s) {
  const ir_value *scores = cv_fold(c, s->scores, true), *box[5] = {NULL};
  bool *gone = arena_array(&c->a, bool, s->boxes + 1);
  int64_t n = 0;
  bool known = scores && gone;
  for (int i = 0; i < 5 && known; i++) known = (box[i] = cv_fold(c, s->box[i], true)) != NULL;
  for (int64_t i = 0; i < s->batch * s->classes && known; i++) n += count_class(s, scores, box, i * s->boxes, gone);
  return known ? n : -1;
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

enum { STEP, GO, SCORES, TAKEN, CARRIED }; /* what it carries; TAKEN: [batch, classes, most], -1 where none is */

/* Is any box left? */
static ir_value *any_left(cv *c, ir_value *scores) {
  return cv_compare(c, "gt", cv_op1(c, G_REDUCE_MAX, scores), cv_number(c, TSR_F32, -INFINITY));
}

static void take(cv *c, const suppress *s, ir_value *const *in, ir_value **out) {
  const int64_t last = 2, one[3] = {s->batch, s->classes, 1}, all[3] = {s->batch, s->classes, s->boxes};
  ir_value *none = cv_number(c, TSR_F32, -INFINITY), *zero = cv_number(c, TSR_F32, 0), *p[5];
  ir_value *best = cv_at1(c, G_ARGMAX, in[SCORES], TSR_INT("axis", 2), TSR_BOOLEAN("keepdims", true));
  ir_value *there = cv_compare(c, "gt", cv_reduce(c, G_REDUCE_MAX, in[SCORES], &last, 1, true), none);
  for (int i = 0; i < 5; i++) p[i] = cv_at2(c, G_GATHER_ELEMENTS, s->box[i], best, TSR_INT("axis", 2));
  ir_value *y = cv_op2(c, G_SUB, cv_op2(c, G_MIN, s->box[2], p[2]), cv_op2(c, G_MAX, s->box[0], p[0]));
  ir_value *x = cv_op2(c, G_SUB, cv_op2(c, G_MIN, s->box[3], p[3]), cv_op2(c, G_MAX, s->box[1], p[1]));
  ir_value *both = cv_op2(c, G_MUL, cv_op2(c, G_MAX, y, zero), cv_op2(c, G_MAX, x, zero));
  ir_value *whole = cv_op2(c, G_SUB, cv_op2(c, G_ADD, s->box[4], p[4]), both);
  ir_value *gone = cv_compare(c, "gt", cv_op2(c, G_DIV, both, whole), cv_number(c, TSR_F32, (double)s->overlap));
  ir_value *const areas[3] = {s->box[4], p[4], whole};
  for (int i = 0; i < 3; i++) gone = cv_op2(c, G_AND, gone, cv_compare(c, "gt", areas[i], zero));
  gone = cv_op2(c, G_OR, gone, cv_compare(c, "eq", cv_iota(c, TSR_I32, 3, all, 2), best));
  out[SCORES] = cv_where(c, gone, none, in[SCORES]);
  ir_value *place = cv_broadcast(c, cv_reshape(c, in[STEP], 3, (int64_t[]){1, 1, 1}), 3, one);
  ir_value *number = cv_where(c, there, best, cv_number(c, TSR_I32, -1));
  out[TAKEN] = cv_make(c, G_SCATTER, 3, (ir_value *[]){in[TAKEN], place, number}, CV_AT(TSR_INT("axis", 2)));
  out[STEP] = cv_op2(c, G_ADD, in[STEP], cv_number(c, TSR_I32, 1));
  out[GO] = any_left(c, out[SCORES]);
}

static ir_value *taken(cv *c, const suppress *s) {
  const int64_t dims[3] = {s->batch, s->classes, s->most};
  ir_value *v[CARRIED] = {cv_number(c, TSR_I32, 0), NULL, s->scores, cv_fill(c, TSR_I32, 3, dims, -1)}, *in[CARRIED],
           *out[CARRIED] = {NULL};
  cv_region r[2] = {{NULL}};
  if (s->least > -INFINITY) {
    ir_value *good = cv_compare(c, "gt", s->scores, cv_number(c, TSR_F32, (double)s->least));
    v[SCORES] = cv_where(c, good, s->scores, cv_number(c, TSR_F32, -INFINITY));
  }
  v[GO] = any_left(c, v[SCORES]);
  if (cv_region_begin(c, &r[1], CARRIED, v, in)) take(c, s, in, out);
  if (cv_region_end(c, &r[1], CARRIED, out) && cv_region_begin(c, &r[0], CARRIED, v, in))
    cv_region_end(c, &r[0], 1, &in[GO]);
  cv_while(c, r, CARRIED, v, s->most, out);
  return c->failed ? NULL : out[TAKEN];
}

/* [n, 3]: entry, class, box, in their order; -1 behind the last. */
static ir_value *listed(cv *c, const suppress *s, int64_t n) {
  ir_value *boxes = taken(c, s), *where[2] = {NULL}, *parts[2];
  ir_value *there = cv_compare(c, "ge", boxes, cv_number(c, TSR_I32, 0));
  cv_make_n(c, G_NONZERO, 1, &there, CV_AT(TSR_INT("size", n), TSR_STRING("dtype", "i64")), 2, where);
  ir_value *rows = cv_swap(c, where[0], 0, 1);
  ir_value *number = cv_reshape(c, cv_op2(c, G_GATHER_ND, boxes, rows), 2, (int64_t[]){n, 1});
  ir_value *is = cv_compare(c, "ge", cv_part(c, rows, 1, 2, 1), cv_number(c, TSR_I64, 0));
  parts[0] = cv_part(c, rows, 1, 0, 2);
  parts[1] = cv_cast(c, cv_where(c, is, number, cv_number(c, TSR_I32, -1)), TSR_I64);
  return cv_concat(c, 2, parts, 1);
}

/* ---- the op ------------------------------------------------------------------------------------------------------ */

/* Corners from any two that lie across, or from a centre and extents, for every class. */
static void read_boxes(cv *c, suppress *s, ir_value *boxes) {
  const int64_t flat[3] = {s->batch, 1, s->boxes}, wide[3] = {s->batch, s->classes, s->boxes};
  const bool centres = cv_int(c, "center_point_box", 0) != 0;
  ir_value *v[4], *half = cv_number(c, TSR_F32, 2), *corner[4];
  for (int i = 0; i < 4; i++) v[i] = cv_reshape(c, cv_part(c, boxes, 2, i, 1), 3, flat);
  for (int i = 0; i < 2; i++) { /* y, x; centres: x, y, width, height */
    ir_value *a = v[i], *b = v[2 + i];
    if (centres) {
      ir_value *reach = cv_op2(c, G_DIV, v[3 - i], half);
      a = cv_op2(c, G_SUB, v[1 - i], reach);
      b = cv_op2(c, G_ADD, v[1 - i], reach);
    }
    corner[i] = cv_op2(c, G_MIN, a, b);
    corner[2 + i] = cv_op2(c, G_MAX, a, b);
  }
  ir_value *area = cv_op2(c, G_MUL, cv_op2(c, G_SUB, corner[2], corner[0]), cv_op2(c, G_SUB, corner[3], corner[1]));
  for (int i = 0; i < 4; i++) s->box[i] = cv_broadcast(c, corner[i], 3, wide);
  s->box[4] = cv_broadcast(c, area, 3, wide);
}

static void op_suppress(cv *c) {
  ir_value *boxes = cv_need(c, 0);
  suppress s = {.scores = cv_need(c, 1), .least = -INFINITY};
  if (cv_rank(boxes) != 3 || cv_dim(boxes, 2) != 4 || cv_rank(s.scores) != 3 ||
      cv_dim(s.scores, 0) != cv_dim(boxes, 0) || cv_dim(s.scores, 2) != cv_dim(boxes, 1))
    return cv_out(c, 0, cv_refuse(c, "operands of other dimensions"));
  s.batch = cv_dim(s.scores, 0);
  s.classes = cv_dim(s.scores, 1);
  s.boxes = cv_dim(s.scores, 2);
  s.most = cv_known_int(c, 2, 0);
  s.overlap = (float)cv_known_number(c, 3, 0);
  if (cv_has(c, 4)) s.least = (float)cv_known_number(c, 4, 0);
  if (c->failed) return cv_out(c, 0, NULL);
  if (s.most > s.boxes) s.most = s.boxes;
  if (s.most < 1 || !s.batch || !s.classes) return cv_out(c, 0, cv_fill(c, TSR_I64, 2, (int64_t[]){0, 3}, 0));
  read_boxes(c, &s, cv_cast(c, boxes, TSR_F32));
  s.scores = cv_cast(c, s.scores, TSR_F32);
  int64_t n = c->failed ? 0 : count(c, &s);
  if (n < 0 && c->o->bounded) n = s.batch * s.classes * s.most;
  if (n < 0) return cv_out(c, 0, cv_refuse(c, CV_HOW_MANY));
  cv_out(c, 0, c->failed ? NULL : n ? listed(c, &s, n) : cv_fill(c, TSR_I64, 2, (int64_t[]){0, 3}, 0));
}

const cv_row onnx_rows_suppress[] = {{"NonMaxSuppression", 10, op_suppress}, {NULL, 0, NULL}};
