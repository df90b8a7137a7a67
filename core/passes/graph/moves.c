/* core/passes/graph/moves.c - the rewrite rules that bring moves into a form that costs nothing: a reshape is the same
 * memory where its operand lies in order, a slice a window that its readers take in place. See graph/rules.h. */
#include "core/passes/graph/moves.h"

#include <string.h>

#include "core/passes/graph/rules.h"

/* Only dimensions of extent 1 change places. Swaps of the last two are left to the products that take them in. */
ir_value *rule_transpose_to_reshape(rewrite *r) {
  if (!graph_is(r->op, G_TRANSPOSE)) return NULL;
  const ir_type *to = r->op->results[0]->type;
  int perm[TSR_MAX_RANK], last = -1, moved = 0;
  graph_perm(r->op, perm);
  for (int i = 0; i < to->rank; i++) {
    moved += perm[i] != i;
    if (to->dims[i] == 1) continue;
    if (to->dims[i] == IR_DYNAMIC || perm[i] < last) return NULL;
    last = perm[i];
  }
  const int n = to->rank;
  if (!moved || (moved == 2 && perm[n - 1] == n - 2 && perm[n - 2] == n - 1)) return NULL;
  return graph_reshape(&r->b, r->op->operands[0], to->rank, to->dims);
}

/* ---- reshape of slice -------------------------------------------------------------------------------------------- */

/* A slice and the reshape of it, and what is to become of them: the reshape to `whole` first, then the slice. */
typedef struct swap {
  const ir_type *from, *part, *to; /* the slice's operand and result, the reshape's result */
  int64_t starts[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  int64_t whole[TSR_MAX_RANK], first[TSR_MAX_RANK];
} swap;

/* Dimension k of the slice has all of its operand's elements: strides count forward. */
static bool is_whole(const swap *s, int k) { return s->part->dims[k] == s->from->dims[k]; }

/* Dimensions [i, i_end) of the slice become [j, j_end) of the reshape, as many elements. Whole ones may be split in any
 * way; what is cut must be the outermost of them, and cut between whole elements of the outermost one that it becomes.
 */
static bool swap_group(swap *s, int i, int i_end, int j, int j_end) {
  while (i < i_end - 1 && s->part->dims[i] == 1 && s->from->dims[i] == 1) i++;
  while (j < j_end - 1 && s->to->dims[j] == 1) j++;
  for (int k = i; k < i_end; k++)
    if (!is_whole(s, k) && (k > i || j == j_end || (s->strides[k] != 1 && s->part->dims[k] != 1))) return false;
  if (i == i_end || is_whole(s, i)) return true;
  int64_t inner = 1, block = 1;
  for (int k = i + 1; k < i_end; k++) inner *= s->part->dims[k];
  for (int k = j + 1; k < j_end; k++) block *= s->to->dims[k];
  if (!block || s->from->dims[i] * inner % block || s->starts[i] * inner % block) return false;
  s->whole[j] = s->from->dims[i] * inner / block;
  s->first[j] = s->starts[i] * inner / block;
  return true;
}

static bool can_swap(swap *s) {
  const ir_type *a = s->part, *b = s->to;
  int i = 0, j = 0;
  memcpy(s->whole, b->dims, sizeof s->whole);
  memset(s->first, 0, sizeof s->first);
  while (i < a->rank || j < b->rank) {
    const int i0 = i, j0 = j;
    int64_t x = i < a->rank ? a->dims[i++] : 1, y = j < b->rank ? b->dims[j++] : 1;
    while (x != y) {
      if (x < y ? i == a->rank : j == b->rank) return false;
      if (x < y) x *= a->dims[i++];
      else y *= b->dims[j++];
    }
    if (!swap_group(s, i0, i, j0, j)) return false;
  }
  return true;
}

bool graph_reshape_keeps_slice(const ir_type *from, const ir_type *part, int64_t first, const ir_type *to) {
  swap s = {.from = from, .part = part, .to = to};
  if (ir_type_count(from) < 1 || ir_type_count(to) < 1) return false;
  for (int i = 0; i < from->rank; i++) s.strides[i] = 1;
  s.starts[from->rank - 1] = first;
  return can_swap(&s);
}

ir_value *rule_reshape_of_slice(rewrite *r) {
  if (!graph_is(r->op, G_RESHAPE) || !graph_is(r->op->operands[0]->def, G_SLICE)) return NULL;
  const ir_op *slice = r->op->operands[0]->def;
  swap s = {.from = slice->operands[0]->type, .part = slice->results[0]->type, .to = r->op->results[0]->type};
  if (ir_type_count(s.from) < 1 || ir_type_count(s.to) < 1) return NULL;
  graph_slice(slice, s.starts, s.strides);
  if (!can_swap(&s)) {
    r->why = "the slice cuts what the reshape joins";
    return NULL;
  }
  ir_value *whole = graph_reshape(&r->b, slice->operands[0], s.to->rank, s.whole);
  return whole ? graph_cut(&r->b, whole, s.first, s.to->dims) : NULL;
}
