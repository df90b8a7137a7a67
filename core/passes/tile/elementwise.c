/* core/passes/tile/elementwise.c - the family of elementwise kernels: every block computes one tile of the results. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/build.h"

/* Whatever the body reads from memory, and its results. False when out of memory. */
bool kb_collect(kb_kernel *k, const ir_type *orig, kb_stride_rows *rows) {
  const ir_block *body = k->src->regions[0];
  kb_rows_clear(rows);
  for (const ir_op *o = body->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH ||
        (o->def->flags & IR_VIEWLIKE && o->def->n_results == 1 && kb_node_of(k, o->results[0]) &&
         kb_node_of(k, o->results[0])->is_mem && o->results[0]->n_uses))
      continue;
    bool whole = graph_is_row_op(o);
    for (int i = 0; i < o->n_operands && !graph_is_kind(o, GRAPH_CONTRACTION); i++) {
      kb_node *n = kb_node_of(k, o->operands[i]);
      if (!n) return false;
      if (n->is_mem) kb_rows_add(rows, &n->m, whole ? FORM_FULL : kb_form_of(o->results[0]->type, orig), orig->rank);
    }
  }
  for (int i = 0; i < body->last->n_operands; i++) {
    kb_node *n = kb_node_of(k, body->last->operands[i]);
    if (!n) return false;
    if (n->is_mem) kb_rows_add(rows, &n->m, FORM_FULL, orig->rank);
    kb_mem out = {.rank = body->last->operands[i]->type->rank};
    memcpy(out.dims, body->last->operands[i]->type->dims, sizeof out.dims);
    ir_type_strides(body->last->operands[i]->type, out.strides);
    kb_rows_add(rows, &out, kb_form_of(body->last->operands[i]->type, orig), orig->rank);
  }
  return true;
}

/* Reads along m rather than n: a square tile keeps both sides in cache lines. */
bool kb_has_transposed(const kb_space *s, const kb_stride_rows *rows) {
  int n = s->from[s->rank - 1], m = s->from[s->rank - 2];
  for (int i = 0; i < rows->n && n >= 0 && m >= 0; i++)
    if (rows->v[i][n] > 1 && rows->v[i][m] == 1) return true;
  return false;
}

static size_t element_bytes(const ir_op *kernel) {
  size_t most = 1;
  for (int i = 0; i < kernel->n_operands; i++)
    if (tsr_dtype_size(kernel->operands[i]->type->dtype) > most)
      most = tsr_dtype_size(kernel->operands[i]->type->dtype);
  return most;
}

/* A tile that is transposed lies in a GPU's shared memory meanwhile, with a column more, as what it is computed in. */
static int64_t transposed_side(const kb_kernel *k) {
  enum { WIDE = 64, NARROW = 32, COMPUTED = 4 };
  const tsr_caps *c = k->opts->caps;
  if (c->dialect == DIALECT_CPU) return WIDE;
  bool fits = c->shared_bytes <= 0 || c->shared_bytes >= WIDE * (WIDE + 1) * COMPUTED;
  return element_bytes(k->src) < 4 && fits ? WIDE : NARROW;
}

/* The CPU computes row by row: of rows of a few elements, the parts of complex numbers say, which no operand lets merge
 * with what is before them, the other axis is walked. Did it? Then a block takes all of the short axis, whose elements
 * share cache lines: two threads would both write to them. */
static bool walk_long_axis(kb_space *s) {
  enum { SHORT = 8, LONG = 64 };
  const int n = s->rank - 1, m = s->rank - 2;
  if (s->dims[n] > SHORT || s->dims[m] < LONG) return false;
  const int64_t dim = s->dims[n];
  const int from = s->from[n];
  s->dims[n] = s->dims[m], s->from[n] = s->from[m];
  s->dims[m] = dim, s->from[m] = from;
  return true;
}

tsr_status family_elementwise(kb_kernel *k) {
  ir_value *first = k->src->regions[0]->last->operands[0];
  const ir_type *orig = first->type;
  kb_stride_rows rows;
  kb_space s;
  if (!kb_collect(k, orig, &rows)) return st_oom();
  kb_space_make(&s, orig, orig->rank, &rows);
  s.plain = true;
  const bool transposed = kb_has_transposed(&s, &rows);
  const bool columns = k->opts->caps->dialect == DIALECT_CPU && !transposed && walk_long_axis(&s);
  int64_t elements = k->params.m > 0 ? k->params.m * max64(1, k->params.n) : sched_block_elements(k->opts->caps);
  int64_t m = s.dims[s.rank - 2], n = s.dims[s.rank - 1];
  if (transposed) {
    int64_t side = transposed_side(k);
    s.tn = max64(1, min64(n, side));
    s.tm = max64(1, min64(m, k->opts->caps->dialect == DIALECT_CPU ? side * side / s.tn : side));
  } else {
    s.tn = max64(1, min64(n, columns ? elements / max64(1, m) : elements));
    s.tm = max64(1, min64(m, elements / s.tn));
  }
  if (!kb_note_tile(k, s.tm, s.tn, 1)) return st_oom();
  TSR_TRY(kb_space_grid(k, &s));
  return kb_write_results(k, &s, orig);
}
