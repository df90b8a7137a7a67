/* core/import/onnx/ops_sequence.c - ONNX's sequences, whose lengths and places are known when a model is converted: a
 * sequence is a list of values, of which nothing is left in the program. And what asks for optional values. */
#include "core/import/onnx/sequence.h"

#include <string.h>

#include "core/import/onnx/tables.h"
#include "core/ir/attrs.h"

enum { MOST_IN_SEQUENCE = 4096 };

typedef struct sequence {
  int64_t n; /* -1: an optional value that is left out */
  ir_value **v;
} sequence;

/* With room for all; NULL: refused. */
static sequence *new_sequence(cv *c, int64_t n) {
  sequence *s = arena_array(&c->a, sequence, 1);
  if (n > MOST_IN_SEQUENCE) return cv_refuse(c, "a sequence of %lld tensors", (long long)n);
  if (s) s->v = arena_array(&c->a, ir_value *, n < 0 ? 1 : n + 1);
  if (!s || !s->v) return c->oom = true, cv_refuse(c, "out of memory");
  s->n = n;
  return s;
}

/* What stands for it among values: an op that nothing reads. */
static ir_value *value_of(cv *c, sequence *s) {
  ir_value *v = s && !c->failed ? cv_number(c, TSR_BOOL, 0) : NULL;
  if (!v || !ir_set_attr(v->def, CV_SEQUENCE, ir_attr_bool(c->b.m, true))) return NULL;
  v->data = s;
  return v;
}

ir_value *cv_sequence(cv *c, int64_t n, ir_value *const *v) {
  sequence *s = new_sequence(c, n);
  if (s && n > 0) memcpy(s->v, v, (size_t)n * sizeof *v);
  return value_of(c, s);
}

int64_t cv_sequence_tensors(const ir_value *v, ir_value *const **out) {
  const sequence *s = v->data;
  *out = s->v;
  return s->n;
}

static bool is_absent(const ir_value *v) { return cv_is_sequence(v) && ((const sequence *)v->data)->n < 0; }

static const sequence *need(cv *c, int i) {
  ir_value *v = cv_any(c, i);
  if (v && is_absent(v)) return cv_refuse(c, "operand %d is left out", i);
  if (v && cv_is_sequence(v)) return v->data;
  return c->failed ? NULL : cv_refuse(c, "operand %d is no sequence", i);
}

/* Operand i as a place among n, from the end where negative; `otherwise` where it is left out. */
static int64_t place(cv *c, int i, int64_t n, int64_t otherwise) {
  const int64_t at = cv_known_int(c, i, otherwise), from = at < 0 ? at + n : at;
  if (from >= 0 && from < n) return from;
  cv_refuse(c, "place %lld of %lld in a sequence", (long long)at, (long long)n);
  return 0;
}

static void op_empty(cv *c) { cv_out(c, 0, value_of(c, new_sequence(c, 0))); }

static void op_construct(cv *c) {
  sequence *s = new_sequence(c, (int64_t)c->node->n_in);
  for (int64_t i = 0; s && i < s->n; i++) s->v[i] = cv_need(c, (int)i);
  cv_out(c, 0, value_of(c, s));
}

static void op_insert(cv *c) {
  const sequence *s = need(c, 0);
  ir_value *x = cv_need(c, 1);
  sequence *y = s && x ? new_sequence(c, s->n + 1) : NULL;
  if (!y) return cv_out(c, 0, NULL);
  int64_t at = cv_known_int(c, 2, s->n);
  if (at < 0) at += s->n;
  if (at < 0 || at > s->n) return cv_out(c, 0, cv_refuse(c, "a place outside of the sequence"));
  for (int64_t i = 0; i < y->n; i++) y->v[i] = i == at ? x : s->v[i - (i > at)];
  cv_out(c, 0, value_of(c, y));
}

static void op_erase(cv *c) {
  const sequence *s = need(c, 0);
  const int64_t at = s ? place(c, 1, s->n, -1) : 0;
  sequence *y = s && !c->failed ? new_sequence(c, s->n - 1) : NULL;
  for (int64_t i = 0; y && i < y->n; i++) y->v[i] = s->v[i + (i >= at)];
  cv_out(c, 0, value_of(c, y));
}

static void op_at(cv *c) {
  const sequence *s = need(c, 0);
  const int64_t at = s ? place(c, 1, s->n, 0) : 0;
  cv_out(c, 0, s && !c->failed ? s->v[at] : NULL);
}

static void op_length(cv *c) {
  const sequence *s = need(c, 0);
  cv_out(c, 0, s ? cv_constant(c, TSR_I64, 0, NULL, &s->n) : NULL);
}

/* How long each part is: all of one length but for the last, or as the operand says. -1: refused. */
static int64_t split_sizes(cv *c, int64_t extent, int64_t *sizes) {
  int64_t n = cv_has(c, 1) ? cv_known_ints(c, 1, sizes, MOST_IN_SEQUENCE) : 1, sum = 0;
  if (n < 0) return -1;
  const bool even = !cv_has(c, 1) || cv_rank(cv_in(c, 1)) == 0;
  const int64_t each = cv_has(c, 1) && even ? sizes[0] : 1;
  if (even) {
    if (each < 1) return cv_refuse(c, "parts of %lld", (long long)each), -1;
    n = (extent + each - 1) / each;
    if (n > MOST_IN_SEQUENCE) return cv_refuse(c, "a sequence of %lld tensors", (long long)n), -1;
    for (int64_t i = 0; i < n; i++) sizes[i] = each < extent - i * each ? each : extent - i * each;
  }
  for (int64_t i = 0; i < n; i++) {
    if (sizes[i] < 0 || sizes[i] > extent) return cv_refuse(c, "a part of %lld", (long long)sizes[i]), -1;
    sum += sizes[i];
  }
  if (sum != extent) cv_refuse(c, "parts of %lld elements in all, not %lld", (long long)sum, (long long)extent);
  return sum == extent ? n : -1;
}

static void op_split(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int axis = x ? cv_axis(c, cv_int(c, "axis", 0), cv_rank(x)) : 0;
  const bool drops = !cv_has(c, 1) && !cv_int(c, "keepdims", 1);
  int64_t *sizes = arena_array(&c->a, int64_t, MOST_IN_SEQUENCE), from = 0;
  if (!x || !sizes || c->failed) return cv_out(c, 0, NULL);
  const int64_t n = split_sizes(c, cv_dim(x, axis), sizes);
  sequence *s = n < 0 ? NULL : new_sequence(c, n);
  for (int64_t i = 0; s && i < n && !c->failed; i++) {
    s->v[i] = cv_part(c, x, axis, from, sizes[i]);
    if (drops) s->v[i] = cv_without_axis(c, s->v[i], axis);
    from += sizes[i];
  }
  cv_out(c, 0, value_of(c, s));
}

static void op_concat(cv *c) {
  const sequence *s = need(c, 0);
  const bool stacks = cv_int(c, "new_axis", 0) != 0;
  if (!s || c->failed) return cv_out(c, 0, NULL);
  if (!s->n) return cv_out(c, 0, cv_refuse(c, "an empty sequence, which has no shape"));
  ir_value **v = arena_array(&c->a, ir_value *, s->n);
  const int rank = cv_rank(s->v[0]) + stacks, axis = cv_axis(c, cv_int(c, "axis", 0), rank);
  if (!v || rank > TSR_MAX_RANK) cv_refuse(c, "too many dimensions");
  for (int64_t i = 0; i < s->n && !c->failed; i++) {
    if (stacks && cv_rank(s->v[i]) != rank - 1) cv_refuse(c, "tensors of other dimensions");
    v[i] = stacks && !c->failed ? cv_with_axis(c, s->v[i], axis) : s->v[i];
  }
  cv_out(c, 0, c->failed ? NULL : cv_concat(c, (int)s->n, v, axis));
}

/* The body for each place of the sequences; operands that are tensors are the same for all. */
static void op_map(cv *c) {
  enum { MOST = 64 };
  const onnx_attr *body = cv_attr(c, "body");
  const sequence *s = need(c, 0), *of[MOST] = {NULL};
  ir_value *in[MOST] = {NULL}, *out[MOST], ***lists = NULL;
  const size_t n = c->node->n_in;
  if (!s) return cv_out(c, 0, NULL);
  if (!body || body->kind != ONNX_GRAPH || n > MOST || body->graph->n_outputs > MOST)
    return cv_out(c, 0, cv_refuse(c, "no body, or too many operands"));
  const size_t n_out = body->graph->n_outputs;
  for (size_t i = 0; i < n; i++) {
    in[i] = cv_any(c, (int)i);
    of[i] = in[i] && cv_is_sequence(in[i]) ? need(c, (int)i) : NULL;
    if (of[i] && of[i]->n != s->n) return cv_out(c, 0, cv_refuse(c, "sequences of different lengths"));
  }
  lists = arena_array(&c->a, ir_value **, n_out + 1);
  for (size_t k = 0; lists && k < n_out; k++)
    if (!(lists[k] = arena_array(&c->a, ir_value *, s->n + 1))) lists = NULL;
  if (!lists) return c->oom = true, cv_out(c, 0, cv_refuse(c, "out of memory"));
  for (int64_t at = 0; at < s->n && !c->failed; at++) {
    for (size_t i = 0; i < n; i++) in[i] = of[i] ? of[i]->v[at] : in[i];
    if (!c->graph(c, body->graph, in, n, out)) break;
    for (size_t k = 0; k < n_out; k++)
      if (cv_is_sequence(lists[k][at] = out[k])) cv_refuse(c, "a body that gives a sequence");
  }
  for (size_t k = 0; k < n_out; k++)
    if (cv_wants(c, (int)k)) cv_out(c, (int)k, c->failed ? NULL : cv_sequence(c, s->n, lists[k]));
}

/* An optional value is its element, or stands for none. */
static void op_optional(cv *c) { cv_out(c, 0, cv_has(c, 0) ? cv_any(c, 0) : cv_sequence(c, -1, NULL)); }

static void op_has(cv *c) {
  const ir_value *v = cv_has(c, 0) ? cv_any(c, 0) : NULL;
  cv_out(c, 0, c->failed ? NULL : cv_number(c, TSR_BOOL, v && !is_absent(v)));
}

static void op_get(cv *c) {
  ir_value *v = cv_has(c, 0) ? cv_any(c, 0) : NULL;
  cv_out(c, 0, v && !is_absent(v) ? v : cv_refuse(c, "no element"));
}

const cv_row onnx_rows_sequence[] = {{"SequenceEmpty", 11, op_empty},
                                     {"SequenceConstruct", 11, op_construct},
                                     {"SequenceInsert", 11, op_insert},
                                     {"SequenceErase", 11, op_erase},
                                     {"SequenceAt", 11, op_at},
                                     {"SequenceLength", 11, op_length},
                                     {"SplitToSequence", 11, op_split},
                                     {"ConcatFromSequence", 11, op_concat},
                                     {"SequenceMap", 17, op_map},
                                     {"Optional", 15, op_optional},
                                     {"OptionalHasElement", 15, op_has},
                                     {"OptionalGetElement", 15, op_get},
                                     {NULL, 0, NULL}};
