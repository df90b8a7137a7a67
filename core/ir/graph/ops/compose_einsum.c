/* core/ir/graph/ops/compose_einsum.c - einsum: its notation, the order of its products, and each product as a matrix
 * product or an elementwise one. Axes with one letter are one label; those of "..." are labels counted from the right.
 * The order is the one of fewest multiplications of all pairwise ones: operands are few (Pfeifer, Haegeman and
 * Verstraete, Phys. Rev. E 90, 2014, search the same sets). */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/compose.h"

enum { MOST_TERMS = 8, MOST_LABELS = 64, ELLIPSIS = 52 };

/* The labels of a tensor's axes. */
typedef struct term {
  int n;
  uint8_t label[TSR_MAX_RANK];
} term;

typedef struct equation {
  int n;
  term in[MOST_TERMS], out; /* without axes of "..." that repeat along those of others */
  int64_t extent[MOST_LABELS];
} equation;

/* ---- notation -----------------------------------------------------------------------------------------------------
 */

static uint64_t bit(int label) { return UINT64_C(1) << label; }

static uint64_t labels_in(const term *t) {
  uint64_t set = 0;
  for (int i = 0; i < t->n; i++) set |= bit(t->label[i]);
  return set;
}

static int label_of(char c) { return islower((unsigned char)c) ? c - 'a' : c - 'A' + 26; }
static char letter_of(int label) {
  return (char)(label < 26 ? 'a' + label : label < ELLIPSIS ? 'A' + label - 26 : '.');
}

/* One term from *s on, which then stands behind it; dots: axes that "..." stands for, in `rank` axes if negative. */
static tsr_status read_term(const ir_op *op, const char **s, int rank, int dots, term *t) {
  const size_t length = strcspn(*s, ",-");
  const char *end = *s + length;
  int letters = 0, dots_seen = 0;
  for (const char *p = *s; p < end; p++) letters += isalpha((unsigned char)*p) != 0;
  if (dots < 0) dots = rank - letters;
  *t = (term){0};
  for (; *s < end; ++*s) {
    if (**s == ' ') continue;
    const bool dotted = !strncmp(*s, "...", 3);
    if (dotted && dots_seen++) return ir_error(op, NULL, "a term has \"...\" twice");
    if (!dotted && !isalpha((unsigned char)**s))
      return ir_error(op, "letters, \"...\" and blanks", "'%c' is no letter of \"%s\"", **s,
                      ir_get_str(op, "equation", ""));
    for (int i = dotted ? dots : 1; i > 0; i--) {
      if (t->n == TSR_MAX_RANK) return ir_error(op, NULL, "a term has more than %d dimensions", TSR_MAX_RANK);
      t->label[t->n++] = (uint8_t)(dotted ? ELLIPSIS + i - 1 : label_of(**s));
    }
    if (dotted) *s += 2;
  }
  return NULL;
}

/* What label l is for, of extent n in operand i. Axes of "..." broadcast, those of letters don't. */
static tsr_status unite(const ir_op *op, equation *e, uint64_t *seen, int i, int l, int64_t n) {
  int64_t *have = &e->extent[l];
  const bool first = !(*seen & bit(l)), repeats = l >= ELLIPSIS;
  *seen |= bit(l);
  if (first || (repeats && *have == 1)) *have = n;
  if (*have == n || (repeats && n == 1) || n == IR_DYNAMIC) return NULL;
  if (*have == IR_DYNAMIC) return *have = n, NULL;
  return ir_error(op, "one extent for each letter", "axis '%c' is %lld in operand %d and %lld before", letter_of(l),
                  (long long)n, i, (long long)*have);
}

/* Without "->": the axes of "...", then letters that stand once, in the alphabet's order, capitals first. */
static tsr_status imply(const ir_op *op, equation *e, const int *times, int dots) {
  for (int i = dots; i > 0; i--) e->out.label[e->out.n++] = (uint8_t)(ELLIPSIS + i - 1);
  for (int c = 'A'; c <= 'z'; c++) {
    if (!isalpha(c) || times[label_of((char)c)] != 1) continue;
    if (e->out.n == TSR_MAX_RANK) return ir_error(op, NULL, "the result has more than %d dimensions", TSR_MAX_RANK);
    e->out.label[e->out.n++] = (uint8_t)label_of((char)c);
  }
  return NULL;
}

static void drop_axis(term *t, int axis) {
  t->n--;
  for (int i = axis; i < t->n; i++) t->label[i] = t->label[i + 1];
}

static void drop_repeated(const ir_op *op, equation *e) {
  for (int i = 0; i < e->n; i++)
    for (int a = e->in[i].n - 1; a >= 0; a--)
      if (TYPE(i)->dims[a] == 1 && e->extent[e->in[i].label[a]] != 1) drop_axis(&e->in[i], a);
}

static tsr_status read_equation(const ir_op *op, equation *e) {
  const char *s = ir_get_str(op, "equation", "");
  int times[MOST_LABELS] = {0}, dots = 0;
  uint64_t seen = 0;
  *e = (equation){.n = op->n_operands};
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *x = TYPE(i);
    TSR_TRY(read_term(op, &s, x->rank, -1, &e->in[i]));
    if (e->in[i].n != x->rank)
      return ir_error(op, "a letter for each axis, or \"...\"", "term %d has %d axes, operand %d has %d", i, e->in[i].n,
                      i, x->rank);
    for (int a = 0; a < x->rank; a++) {
      const int l = e->in[i].label[a];
      times[l]++;
      if (l >= ELLIPSIS && l - ELLIPSIS + 1 > dots) dots = l - ELLIPSIS + 1;
      TSR_TRY(unite(op, e, &seen, i, l, x->dims[a]));
    }
    const bool last = i + 1 == op->n_operands;
    if ((*s == ',') == last)
      return ir_error(op, "a term for each operand", "\"%s\" for %d operands", ir_get_str(op, "equation", ""),
                      op->n_operands);
    s += *s == ',';
  }
  drop_repeated(op, e);
  if (!*s) return imply(op, e, times, dots);
  if (s[0] != '-' || s[1] != '>') return ir_error(op, "\"->\" and the result's axes", "\"%s\" at the end", s);
  s += 2;
  TSR_TRY(read_term(op, &s, 0, dots, &e->out));
  if (*s) return ir_error(op, "one result", "\"%s\" at the end", s);
  uint64_t once = 0;
  for (int i = 0; i < e->out.n; i++) {
    const int l = e->out.label[i];
    if (once & bit(l)) return ir_error(op, NULL, "axis '%c' is twice in the result", letter_of(l));
    if (!(seen & bit(l))) return ir_error(op, NULL, "axis '%c' of the result is in no operand", letter_of(l));
    once |= bit(l);
  }
  return NULL;
}

/* ---- order --------------------------------------------------------------------------------------------------------
 */

typedef struct order {
  double cost[1 << MOST_TERMS];
  uint64_t labels[1 << MOST_TERMS]; /* of the product of a set of operands: what the others or the result need */
  uint8_t left[1 << MOST_TERMS];    /* the part that is multiplied by the rest; 0: one operand */
} order;

static double extent_of(const equation *e, uint64_t set) {
  double n = 1;
  for (int l = 0; l < MOST_LABELS; l++)
    if (set & bit(l)) n *= e->extent[l] > 0 ? (double)e->extent[l] : 1;
  return n;
}

/* False where every order has a tensor of more dimensions than there may be. */
static bool find_order(const equation *e, order *o) {
  const int all = (1 << e->n) - 1;
  for (int set = 1; set <= all; set++) {
    uint64_t inside = 0, needed = labels_in(&e->out);
    for (int i = 0; i < e->n; i++) *(set >> i & 1 ? &inside : &needed) |= labels_in(&e->in[i]);
    o->labels[set] = inside & needed;
    o->left[set] = 0;
    o->cost[set] = set & (set - 1) ? INFINITY : 0;
    if (!(set & (set - 1)) || __builtin_popcountll(o->labels[set]) > TSR_MAX_RANK) continue;
    for (int a = (set - 1) & set; a; a = (a - 1) & set) {
      const int b = set ^ a;
      const double cost = o->cost[a] + o->cost[b] + extent_of(e, o->labels[a] | o->labels[b]);
      if (a > b || !(cost < o->cost[set])) continue;
      o->cost[set] = cost;
      o->left[set] = (uint8_t)a;
    }
  }
  return o->cost[all] < INFINITY;
}

static tsr_status infer_einsum(ir_op *op, const ir_type **results) {
  equation e;
  order o;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_tensors(op));
  const tsr_dtype t = TYPE(0)->dtype;
  if (!dtype_is_float(t) && (t == TSR_BOOL || dtype_is_complex(t) || tsr_dtype_size(t) < 4))
    return ir_error(op, graph_no_cast, "takes floats and integers of 32 and 64 bits, not %s", tsr_dtype_name(t));
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(read_equation(op, &e));
  if (!find_order(&e, &o))
    return ir_error(op, NULL, "a product of two operands has more than %d dimensions", TSR_MAX_RANK);
  for (int i = 0; i < e.out.n; i++) dims[i] = e.extent[e.out.label[i]];
  return shape_finish(op, TYPE(0)->dtype, e.out.n, dims, results);
}

/* ---- expansion -----------------------------------------------------------------------------------------------------
 */

typedef struct tensor {
  ir_value *v;
  term t;
} tensor;

static void sum_axes(ir_builder *b, tensor *x, const bool *along) {
  x->v = x->v ? graph_reduce(b, G_REDUCE_SUM, x->v, along, false) : NULL;
  for (int a = x->t.n - 1; a >= 0; a--)
    if (along[a]) drop_axis(&x->t, a);
}

/* Axis `axis` has the letter of axis `first`: what stands beside the diagonal goes, and the axis is summed. */
static void take_diagonal(ir_builder *b, tensor *x, int first, int axis) {
  const tsr_dtype t = x->v->type->dims[axis] > INT32_MAX ? TSR_I64 : TSR_I32;
  bool along[TSR_MAX_RANK] = {false};
  ir_value *i = graph_iota(b, t, x->v->type, first), *k = graph_iota(b, t, x->v->type, axis);
  along[axis] = true;
  x->v = SELECT(graph_compare(b, CMP_EQ, i, k), x->v, LIKE(x->v, 0));
  sum_axes(b, x, along);
}

/* Operand i with each label once, and with those alone that others or the result need. */
static tensor prepare(ir_builder *b, const ir_op *op, const equation *e, int i, uint64_t needed) {
  tensor x = {IN(i), e->in[i]};
  int64_t dims[TSR_MAX_RANK] = {0};
  for (int a = 0; a < x.t.n; a++) dims[a] = e->extent[x.t.label[a]];
  x.v = graph_reshape(b, x.v, x.t.n, dims);
  for (int a = x.t.n - 1; a > 0; a--)
    for (int first = 0; first < a && x.v; first++)
      if (x.t.label[first] == x.t.label[a]) {
        take_diagonal(b, &x, first, a);
        break;
      }
  bool along[TSR_MAX_RANK] = {false}, any = false;
  for (int a = 0; a < x.t.n; a++) any |= along[a] = !(needed & bit(x.t.label[a]));
  if (any) sum_axes(b, &x, along);
  return x;
}

/* x with its axes in the order of t, which has the same labels. */
static ir_value *arrange(ir_builder *b, const tensor *x, const term *t) {
  int perm[TSR_MAX_RANK];
  bool moves = false;
  for (int i = 0; i < t->n; i++) {
    for (perm[i] = 0; x->t.label[perm[i]] != t->label[i];) perm[i]++;
    moves |= perm[i] != i;
  }
  return moves && x->v ? graph_transpose(b, x->v, perm) : x->v;
}

/* Appends to t x's labels of a set, in x's order; returns their extents' product. */
static int64_t append(const equation *e, term *t, const term *x, uint64_t set) {
  int64_t n = 1;
  for (int i = 0; i < x->n; i++) {
    if (!(set & bit(x->label[i]))) continue;
    t->label[t->n++] = x->label[i];
    n *= e->extent[x->label[i]];
  }
  return n;
}

/* x as a matrix [batch, rows, columns] of these labels, each in x's order but for the batches', and columns' where they
 * are given. One whose rows come last is transposed as a whole, which the product takes as it is. */
static ir_value *matrix_of(ir_builder *b, const equation *e, const tensor *x, const term *batch, uint64_t rows,
                           const term *columns) {
  term t = *batch;
  const int64_t n = append(e, &(term){0}, batch, ~UINT64_C(0));
  const bool turned = x->t.n && rows & bit(x->t.label[x->t.n - 1]);
  int64_t r = 1, c = 1;
  if (turned) c = append(e, &t, columns, ~UINT64_C(0)), r = append(e, &t, &x->t, rows);
  else r = append(e, &t, &x->t, rows), c = append(e, &t, columns, ~UINT64_C(0));
  const int64_t dims[3] = {n, turned ? c : r, turned ? r : c};
  const int from = batch->n ? 0 : 1, swap3[3] = {0, 2, 1}, swap2[2] = {1, 0};
  ir_value *v = graph_reshape(b, arrange(b, x, &t), 3 - from, dims + from);
  return turned && v ? graph_transpose(b, v, from ? swap2 : swap3) : v;
}

/* An elementwise product of [batch, m, 1, k] and [batch, 1, n, k], summed over k where `sums`. */
static ir_value *pointwise(ir_builder *b, ir_value *p, ir_value *q, const int64_t size[4], bool sums) {
  const int64_t dp[4] = {size[0], size[1], 1, size[3]}, dq[4] = {size[0], 1, size[2], size[3]};
  const bool last[TSR_MAX_RANK] = {[3] = true};
  const int rank = sums ? 4 : 3;
  if (!p || !q) return NULL;
  const tsr_dtype t = p->type->dtype, wide = sums ? compose_float(t) : t;
  p = graph_cast(b, graph_reshape(b, p, rank, dp), wide);
  ir_value *r = MUL(p, graph_cast(b, graph_reshape(b, q, rank, dq), wide));
  return sums && r ? graph_cast(b, graph_reduce(b, G_REDUCE_SUM, r, last, false), t) : r;
}

/* Batches: labels of both that stay. With a sum over others and rows or columns it is a matrix product. */
static tensor multiply(ir_builder *b, const equation *e, const tensor *x, const tensor *y, uint64_t stay) {
  const uint64_t lx = labels_in(&x->t), ly = labels_in(&y->t), both = lx & ly, m = lx & ~ly, n = ly & ~lx;
  term batch = {0}, sum = {0}, left, right, out;
  int64_t size[4] = {append(e, &batch, &x->t, both & stay), 1, 1, append(e, &sum, &x->t, both & ~stay)};
  left = right = out = batch;
  size[1] = append(e, &left, &x->t, m);
  size[2] = append(e, &right, &y->t, n);
  append(e, &out, &x->t, m);
  append(e, &out, &y->t, n);
  append(e, &left, &sum, ~UINT64_C(0));
  append(e, &right, &sum, ~UINT64_C(0));
  ir_value *r;
  if (sum.n && (m | n)) {
    ir_value *p = matrix_of(b, e, x, &batch, m, &sum), *q = matrix_of(b, e, y, &batch, n, &sum);
    const int swap3[3] = {0, 2, 1}, swap2[2] = {1, 0};
    r = p && q ? compose_product(b, p, graph_transpose(b, q, batch.n ? swap3 : swap2)) : NULL;
  } else {
    r = pointwise(b, arrange(b, x, &left), arrange(b, y, &right), size, sum.n > 0);
  }
  int64_t dims[TSR_MAX_RANK];
  for (int i = 0; i < out.n; i++) dims[i] = e->extent[out.label[i]];
  return (tensor){graph_reshape(b, r, out.n, dims), out};
}

static tensor product(ir_builder *b, const ir_op *op, const equation *e, const order *o, int set) {
  if (!o->left[set]) return prepare(b, op, e, __builtin_ctz((unsigned)set), o->labels[set]);
  tensor x = product(b, op, e, o, o->left[set]), y = product(b, op, e, o, set ^ o->left[set]);
  const uint64_t last = set + 1 == 1 << e->n && e->out.n ? bit(e->out.label[e->out.n - 1]) : 0;
  if (last & labels_in(&x.t) & ~labels_in(&y.t)) { /* the result's columns */
    const tensor other = x;
    x = y;
    y = other;
  }
  return multiply(b, e, &x, &y, o->labels[set]);
}

EXPAND(expand_einsum) {
  equation e;
  order o;
  tsr_status st = read_equation(op, &e);
  if (st) return tsr_status_free(st), false;
  if (!find_order(&e, &o)) return false;
  tensor y = product(b, op, &e, &o, (1 << e.n) - 1);
  out[0] = arrange(b, &y, &e.out);
  DONE;
}

static const ir_opdef rows[] = {
    {COMPOSITE(EINSUM, "einsum", 1, MOST_TERMS, 1), .operands_doc = "x, ..", .types_doc = FLOATS ", i64, i32, u64, u32",
     .infer = infer_einsum, BY(expand_einsum),
     .attrs = ATTRS({"equation", IR_A_STR, true, NULL, "\"ij,jk->ik\": a letter for each axis of each operand"}),
     .help = "Einstein's summation: products of the elements whose letters agree, summed over letters that the result "
             "lacks. A letter that an operand has twice takes its diagonal; \"...\" stands for any axes, which "
             "broadcast. Without \"->\" the result has those axes and then, sorted, the letters that stand once. "
             "Done as products of two, in the order of fewest multiplications; what is between is rounded to the "
             "type."},
};

const ir_rows graph_compose_einsum_ops = {rows, sizeof rows / sizeof *rows};
