/* core/passes/tile/build.c - see tile/build.h. */
#include "core/passes/tile/build.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"

/* ---- small builders -------------------------------------------------------------------------------------------- */

ir_value *kb_index(kb_kernel *k, int64_t v) {
  ir_value *x = ir_build1(&k->b, "tessera.tile.const", ir_type_index(k->m), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_int(k->m, v)) ? x : NULL;
}

ir_value *kb_op2(kb_kernel *k, const char *name, ir_value *a, ir_value *b) {
  return ir_build1(&k->b, name, NULL, 2, (ir_value *[]){a, b});
}

ir_value *kb_block_id(kb_kernel *k, int axis) {
  ir_value *x = ir_build1(&k->b, "tessera.tile.block_id", NULL, 0, NULL);
  return x && ir_set_attr(x->def, "axis", ir_attr_int(k->m, axis)) ? x : NULL;
}

const ir_type *kb_frag(kb_kernel *k, tsr_dtype t, int64_t m, int64_t n) {
  const int64_t dims[2] = {m, n};
  return ir_type_frag(k->m, t, 2, dims);
}

tsr_dtype kb_compute(tsr_dtype t) {
  switch (t) {
  case TSR_F64: case TSR_I64: case TSR_BOOL: return t;
  case TSR_I32: case TSR_I16: case TSR_I8: case TSR_U8: return TSR_I32;
  default: return TSR_F32;
  }
}

bool kb_note_tile(kb_kernel *k, int64_t m, int64_t n, int64_t depth) {
  return ir_set_attr(k->op, "tile", ir_attr_ints(k->m, (int64_t[]){m, n, depth}, 3));
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

void kb_mem_align(const kb_mem *m, kb_form f, int r, int64_t *strides) {
  memset(strides, 0, sizeof *strides * (size_t)r);
  int last = f == FORM_ROW0 ? r - 2 : r - 1;
  for (int i = m->rank - 1, d = last; i >= 0 && d >= 0; i--, d--) strides[d] = m->dims[i] == 1 ? 0 : m->strides[i];
}

/* The memory that a move shows of x's. */
static void take_window(const ir_op *op, const kb_mem *x, kb_mem *m) {
  const ir_type *t = op->results[0]->type;
  *m = *x;
  m->rank = t->rank;
  memcpy(m->dims, t->dims, sizeof m->dims);
  graph_ext(op)->window(op, x->strides, &m->offset, m->strides);
}

kb_node *kb_node_of(kb_kernel *k, ir_value *v) {
  kb_node *n = v->data;
  if (n) return n;
  if (!(v->data = n = arena_new(&k->m->arena, kb_node))) return NULL;
  if (v->owner) {
    n->is_mem = true;
    n->m.arg = k->op->regions[0]->args[v->index];
    n->m.dtype = v->type->dtype;
    n->m.rank = v->type->rank;
    memcpy(n->m.dims, v->type->dims, sizeof n->m.dims);
    ir_type_strides(v->type, n->m.strides);
  } else if (graph_is_kind(v->def, GRAPH_INDEX)) {
    n->is_mem = true;
    n->m.dtype = v->type->dtype;
    n->m.rank = v->type->rank;
    memcpy(n->m.dims, v->type->dims, sizeof n->m.dims);
    n->m.strides[graph_iota_axis(v->def)] = 1;
  } else if (graph_is(v->def, G_CONSTANT) && graph_splat(v->def, &n->imm)) {
    n->is_imm = true;
  } else if (graph_is_window(v->def)) {
    kb_node *src = kb_node_of(k, v->def->operands[0]);
    if (!src) return NULL;
    n->is_mem = src->is_mem;
    if (n->is_mem) take_window(v->def, &src->m, &n->m);
  }
  return n;
}

kb_form kb_form_of(const ir_type *t, const ir_type *space) {
  bool outer = true;
  if (t->rank == space->rank - 1) {
    for (int i = 0; i < t->rank; i++) outer &= t->dims[i] == space->dims[i];
    if (outer) return FORM_ROW0;
  }
  if (t->rank == space->rank && t->rank && t->dims[t->rank - 1] == 1 && space->dims[space->rank - 1] != 1)
    return FORM_ROW1;
  return FORM_FULL;
}

static ir_value *view_as(kb_kernel *k, const kb_mem *m, int rank, const int64_t *dims, const int64_t *strides) {
  ir_type t = {.kind = IR_T_VIEW, .dtype = m->dtype, .rank = rank, .has_strides = true, .offset = m->offset};
  for (int i = 0; i < rank; i++) {
    t.dims[i] = dims[i];
    t.strides[i] = strides[i];
  }
  const ir_type *type = ir_type_get(k->m, &t);
  /* At the kernel's start, where loops find it unchanging. */
  ir_builder entry = {k->m, k->op->regions[0], k->zero->def->next, k->b.failed};
  ir_value *v = type ? ir_build1(&entry, "tessera.tile.view", type, 1, &m->arg) : NULL;
  k->b.failed |= entry.failed;
  return v;
}

tsr_status kb_window(kb_kernel *k, const kb_mem *m, const kb_space *s, const int64_t *strides, bool *transposed,
                     ir_value **out) {
  int64_t dims[TSR_MAX_RANK + 2], sizes[TSR_MAX_RANK], st[TSR_MAX_RANK + 2];
  ir_value *operands[1 + TSR_MAX_RANK];
  int rank = 0, at[TSR_MAX_RANK + 2], r = s->rank;
  bool flip = transposed && strides[r - 2] == 1 && strides[r - 1] != 1 && s->dims[r - 1] != 1;
  if (!m->arg) return ir_error(k->src, "give it to the kernel as a tensor", "an iota lies nowhere in memory");
  if (transposed) *transposed = flip;
  for (int i = 0; i < r; i++) {
    bool tiled = i >= r - 2;
    if (!tiled && (s->dims[i] == 1 || !strides[i])) continue; /* this operand does not change along it */
    at[rank] = i;
    dims[rank] = strides[i] || s->dims[i] == 1 ? s->dims[i] : 1;
    sizes[rank] = !tiled ? 0 : dims[rank] == 1 && s->dims[i] != 1 ? 1 : i == r - 2 ? s->tm : s->tn;
    st[rank++] = strides[i];
  }
  if (flip) {
    int64_t x;
    int y = at[rank - 1];
    at[rank - 1] = at[rank - 2], at[rank - 2] = y;
    x = dims[rank - 1], dims[rank - 1] = dims[rank - 2], dims[rank - 2] = x;
    x = sizes[rank - 1], sizes[rank - 1] = sizes[rank - 2], sizes[rank - 2] = x;
    x = st[rank - 1], st[rank - 1] = st[rank - 2], st[rank - 2] = x;
  }
  if (rank > TSR_MAX_RANK)
    return ir_error(k->src, "reshape the operands", "more than %d dimensions that can't be merged", TSR_MAX_RANK);
  operands[0] = view_as(k, m, rank, dims, st);
  for (int i = 0; i < rank; i++) {
    operands[1 + i] = dims[i] == 1 && s->dims[at[i]] != 1 ? k->zero : s->at[at[i]];
    if (!operands[1 + i]) return st_oom();
  }
  if (!operands[0]) return st_oom();
  ir_op *w = ir_op_new(&k->b, ir_find_op("tessera.tile.window"), 1 + rank, operands, 1, NULL, 0);
  if (!w || !ir_set_attr(w, "sizes", ir_attr_ints(k->m, sizes, rank))) return st_oom();
  TSR_TRY(w->def->infer(w, &w->results[0]->type));
  *out = w->results[0];
  return NULL;
}

tsr_status kb_store(kb_kernel *k, ir_value *frag, const kb_mem *m, const kb_space *s, const int64_t *strides) {
  ir_value *w;
  TSR_TRY(kb_window(k, m, s, strides, NULL, &w));
  return ir_build0(&k->b, "tessera.tile.store", 2, (ir_value *[]){frag, w}) ? NULL : st_oom();
}

void kb_rows_add(kb_stride_rows *rows, const kb_mem *m, kb_form f, int rank) {
  int64_t row[TSR_MAX_RANK];
  kb_mem_align(m, f, rank, row);
  for (int i = 0; i < rows->n; i++)
    if (!memcmp(rows->v[i], row, sizeof *row * (size_t)rank)) return;
  rows->more |= rows->n == MAX_LEAVES;
  if (rows->n < MAX_LEAVES) memcpy(rows->v[rows->n++], row, sizeof *row * (size_t)rank);
}

/* ---- spaces ---------------------------------------------------------------------------------------------------- */

void kb_space_make(kb_space *s, const ir_type *orig, int n, const kb_stride_rows *rows) {
  int out = 0;
  *s = (kb_space){.orig_rank = orig->rank};
  for (int i = 0; i < orig->rank; i++) {
    int64_t d = orig->dims[i];
    if (i < n && d == 1) continue;
    bool merge = i < n && out > 0 && !rows->more;
    for (int o = 0; o < rows->n && merge; o++) merge = rows->v[o][s->from[out - 1]] == rows->v[o][i] * d;
    if (!merge) s->dims[out++] = 1;
    s->dims[out - 1] *= d;
    s->from[out - 1] = i;
  }
  for (int missing = 2 - out; missing > 0; missing--) {
    memmove(s->dims + 1, s->dims, sizeof *s->dims * (size_t)out);
    memmove(s->from + 1, s->from, sizeof *s->from * (size_t)out);
    s->dims[0] = 1;
    s->from[0] = -1;
    out++;
  }
  s->rank = out;
}

void kb_space_strides(const kb_mem *m, const kb_space *s, kb_form f, int64_t *strides) {
  int64_t all[TSR_MAX_RANK] = {0};
  if (s->orig_rank) kb_mem_align(m, f, s->orig_rank, all);
  for (int i = 0; i < s->rank; i++) strides[i] = s->from[i] < 0 ? 0 : all[s->from[i]];
}

/* Groups of `raster` block rows are walked together, column by column, so that a group's operands stay in the
 * last-level cache. */
static void raster(kb_kernel *k, int64_t nn, int64_t nm, ir_value **x, ir_value **y) {
  int64_t g = k->params.raster < nm ? k->params.raster : nm;
  ir_value *linear = kb_op2(k, "tessera.tile.add", kb_op2(k, "tessera.tile.mul", *y, kb_index(k, nn)), *x),
           *per_group = kb_index(k, g * nn), *gv = kb_index(k, g);
  ir_value *group = kb_op2(k, "tessera.tile.div", linear, per_group),
           *within = kb_op2(k, "tessera.tile.rem", linear, per_group);
  ir_value *first = kb_op2(k, "tessera.tile.mul", group, gv),
           *left = kb_op2(k, "tessera.tile.sub", kb_index(k, nm), first),
           *rows = kb_op2(k, "tessera.tile.min", left, gv);
  *y = kb_op2(k, "tessera.tile.add", first, kb_op2(k, "tessera.tile.rem", within, rows));
  *x = kb_op2(k, "tessera.tile.div", within, rows);
}

tsr_status kb_space_grid(kb_kernel *k, kb_space *s) {
  enum { LIMIT = 65535 };
  int r = s->rank;
  int64_t nn = ceil_div(s->dims[r - 1], s->tn), nm = ceil_div(s->dims[r - 2], s->tm), outer = 1;
  for (int i = 0; i < r - 2; i++) outer *= s->dims[i];
  if (!nn) nn = 1; /* rows without elements still have results */
  int64_t grid[3] = {nn, nm, outer};
  bool flat = nm > LIMIT || outer > LIMIT;
  ir_value *x = kb_block_id(k, 0), *y = NULL, *z = NULL;
  if (flat) {
    grid[0] = nn * nm * outer;
    grid[1] = grid[2] = 1;
    ir_value *nv = kb_index(k, nn), *mv = kb_index(k, nm), *rest = kb_op2(k, "tessera.tile.div", x, nv);
    x = kb_op2(k, "tessera.tile.rem", x, nv);
    y = kb_op2(k, "tessera.tile.rem", rest, mv);
    z = kb_op2(k, "tessera.tile.div", rest, mv);
  } else {
    y = nm > 1 ? kb_block_id(k, 1) : k->zero;
    z = outer > 1 ? kb_block_id(k, 2) : k->zero;
  }
  if (k->params.raster > 1 && !flat && nm > 1 && nn > 1) raster(k, nn, nm, &x, &y);
  s->at[r - 1] = nn > 1 ? kb_op2(k, "tessera.tile.mul", x, kb_index(k, s->tn)) : k->zero;
  s->at[r - 2] = nm > 1 ? kb_op2(k, "tessera.tile.mul", y, kb_index(k, s->tm)) : k->zero;
  for (int i = r - 3; i >= 0; i--) {
    if (i == 0) {
      s->at[i] = z;
      break;
    }
    ir_value *d = kb_index(k, s->dims[i]);
    s->at[i] = kb_op2(k, "tessera.tile.rem", z, d);
    z = kb_op2(k, "tessera.tile.div", z, d);
  }
  return !k->b.failed && ir_set_attr(k->op, "grid", ir_attr_ints(k->m, grid, 3)) ? NULL : st_oom();
}
