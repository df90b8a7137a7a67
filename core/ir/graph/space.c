/* core/ir/graph/space.c - what follows from an op's index expression: its iteration space, reduced axes, operations and
 * bytes. See graph_row in ir/graph/ops.h. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"

/* Copies one term of an expression; two letters at its end change places where `swap`. Returns what follows it. */
static const char *put_term(const char *term, bool swap, char *out, size_t size) {
  size_t n = strcspn(term, ",-"), at = strlen(out);
  for (size_t i = 0; i < n && at + 1 < size; i++) out[at++] = term[i];
  out[at] = 0;
  if (swap) {
    char last = out[at - 1];
    out[at - 1] = out[at - 2];
    out[at - 2] = last;
  }
  return term + n;
}

static void put(const char *s, char *out, size_t size) { put_term(s, false, out, size); }

void graph_index(const ir_op *op, char *out, size_t size) {
  static const char *const swaps[] = {"transpose_a", "transpose_b"};
  const char *term = graph_ext(op) ? graph_ext(op)->index : NULL;
  *out = 0;
  if (!term) return;
  for (int i = 0; i < op->n_operands; i++) {
    const char *next = put_term(term, i < 2 && ir_get_bool(op, swaps[i], false), out, size);
    if (*next == ',') term = next + 1;
    if (i + 1 < op->n_operands && strlen(out) + 2 < size) strcat(out, ",");
  }
  if (strlen(out) + 3 < size) strcat(out, "->");
  put(strchr(graph_ext(op)->index, '>') + 1, out, size);
}

static void add(graph_space *s, int64_t extent, bool reduced) {
  s->extent[s->n] = extent;
  s->reduced[s->n++] = reduced;
}

/* Axes of the first operand that the result lacks: letters of the first term that stand nowhere in the result's. */
static void add_reduced(const ir_op *op, const char *index, graph_space *s) {
  const ir_type *x = op->operands[0]->type;
  const char *result = strchr(index, '>') + 1;
  size_t letters = strcspn(index, ",-");
  bool axes[TSR_MAX_RANK];
  for (size_t i = 0; i < letters; i++) {
    if (strchr(result, index[i])) continue;
    if (index[i] != 'r') {
      add(s, x->dims[x->rank - (int)(letters - i)], true);
      continue;
    }
    graph_axes(op, axes);
    for (int k = 0; k < x->rank; k++)
      if (axes[k]) add(s, x->dims[k], true);
  }
}

static bool add_bytes(const ir_type *t, graph_space *s) {
  s->bytes += (double)ir_type_count(t) * dtype_bits(t->dtype) / 8;
  return ir_type_count(t) != IR_DYNAMIC;
}

/* A composite op has the operations of what it stands for. */
static bool add_flops(const ir_op *op, graph_space *s) {
  ir_module *m;
  ir_op *func;
  tsr_status st = graph_expansion(op, &m, &func);
  if (st) return tsr_status_free(st), false;
  s->flops = 0;
  for (const ir_op *o = func->regions[0]->first; o->n_results; o = o->next) {
    graph_space x;
    if (o->n_operands && graph_space_of(o, &x)) s->flops += x.flops;
  }
  ir_module_destroy(&m);
  return true;
}

/* A gather reads an element of its table for each of its result. */
static double unread(const ir_op *op) {
  const ir_type *table = op->operands[0]->type;
  const double more = (double)ir_type_count(table) - (double)ir_type_count(op->results[0]->type);
  return more > 0 ? more * dtype_bits(table->dtype) / 8 : 0;
}

/* 5 n log2(n) for n points, as the field counts transforms, whatever computes them; half of them for real numbers. */
static double transform_flops(const ir_op *op) {
  int axes[GRAPH_SPECTRAL_AXES];
  const ir_type *x = op->operands[0]->type, *y = op->results[0]->type;
  const int64_t in = ir_type_count(x), points = ir_type_count(y) > in ? ir_type_count(y) : in;
  double log = 0;
  for (int i = graph_spectral_axes(op, axes); i-- > 0;) {
    const double n = (double)(x->dims[axes[i]] > y->dims[axes[i]] ? x->dims[axes[i]] : y->dims[axes[i]]);
    log += log2(n);
  }
  return (x->dtype == y->dtype ? 5 : 2.5) * (double)points * log;
}

bool graph_space_of(const ir_op *op, graph_space *s) {
  const ir_type *y = op->results[0]->type;
  char index[64];
  *s = (graph_space){.points = 1};
  for (int i = 0; i < y->rank; i++) add(s, y->dims[i], false);
  graph_index(op, index, sizeof index);
  if (*index && op->n_operands) add_reduced(op, index, s);
  bool known = add_bytes(y, s);
  for (int i = 1; i < op->n_results; i++) known &= add_bytes(op->results[i]->type, s);
  for (int i = 0; i < op->n_operands; i++) known &= add_bytes(op->operands[i]->type, s);
  if (known && graph_is_kind(op, GRAPH_GATHER)) s->bytes -= unread(op);
  for (int i = 0; i < s->n && known; i++) s->points *= (double)s->extent[i];
  s->flops = graph_ext(op)->per_point * s->points;
  if (known && graph_ext(op)->work) {
    const ir_type *x = op->operands[0]->type;
    s->flops = graph_ext(op)->work(op);
    for (int i = 0; i < x->rank - 2; i++) s->flops *= (double)x->dims[i];
  }
  if (known && graph_is_kind(op, GRAPH_SPECTRAL)) s->flops = transform_flops(op);
  if (known && graph_is_kind(op, GRAPH_DFT)) {
    const graph_dft d = graph_dft_get(op);
    s->flops = 5 * (double)d.n * (double)d.lines * log2((double)d.n);
  }
  return known && (!graph_is_composite(op) || graph_ext(op)->work || add_flops(op, s));
}
