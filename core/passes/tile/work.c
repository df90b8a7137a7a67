/* core/passes/tile/work.c - see tile/work.h. */
#include "core/passes/tile/work.h"

#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/tile/contract.h"
#include "core/ir/tile/row.h"

enum { MAX_BLOCKS = 1 << 16, MAX_DEPTH = 32 };

typedef struct counter {
  tile_work *w;
  int64_t grid[3];
  double moved, in_order; /* elements */
  bool chosen;            /* a gather or scatter */
} counter;

/* ---- loop bounds ----------------------------------------------------------------------------------------------- */

/* A block-uniform index of block `at`; *known turns false when it depends on anything else. */
static double value_of(const ir_value *v, const int64_t at[3], int depth, bool *known) {
  const ir_op *o = v->def;
  if (!o || depth > MAX_DEPTH) return *known = false, 0;
  if (o->def->code == T_CONST) return ir_get_float(o, "value", 0);
  if (o->def->code == T_BLOCK_ID) return (double)at[ir_get_int(o, "axis", 0)];
  if (o->n_operands != 2) return *known = false, 0;
  double a = value_of(o->operands[0], at, depth + 1, known), b = value_of(o->operands[1], at, depth + 1, known);
  switch (o->def->code) {
  case SC_ADD: return a + b;
  case SC_SUB: return a - b;
  case SC_MUL: return a * b;
  case SC_DIV: return b != 0 ? trunc(a / b) : 0;
  case SC_REM: return b != 0 ? fmod(a, b) : a;
  case SC_MIN: return a < b ? a : b;
  case SC_MAX: return a > b ? a : b;
  }
  return *known = false, 0;
}

static double step_of(const ir_op *loop, const int64_t at[3], bool *known) {
  int64_t tile[3] = {0};
  if (loop->def->code == T_FOR) return value_of(loop->operands[2], at, 0, known);
  return ir_get_ints(loop, "tile", tile, 3) == 3 ? (double)tile[2] : 0;
}

/* Of a loop or a contraction, whose first operands are from and to alike. */
static double trips_in(const ir_op *loop, const int64_t at[3], bool *known) {
  double from = value_of(loop->operands[0], at, 0, known), to = value_of(loop->operands[1], at, 0, known),
         step = step_of(loop, at, known);
  if (!*known || !(step > 0)) return *known = false, 0;
  return to > from ? ceil((to - from) / step) : 0;
}

static bool is_constant(const ir_value *v) { return v->def && v->def->def->code == T_CONST; }

/* Iterations, the mean of all blocks; negative: not known. */
static double trips(const counter *c, const ir_op *loop) {
  bool known = true;
  int64_t n[3] = {c->grid[0], c->grid[1], c->grid[2]}, at[3] = {0};
  if (is_constant(loop->operands[0]) && is_constant(loop->operands[1])) n[0] = n[1] = n[2] = 1;
  if (n[0] < 1 || n[1] < 1 || n[2] < 1 || n[0] > MAX_BLOCKS / n[1] || n[0] * n[1] > MAX_BLOCKS / n[2]) return -1;
  double sum = 0;
  for (at[2] = 0; at[2] < n[2]; at[2]++)
    for (at[1] = 0; at[1] < n[1]; at[1]++)
      for (at[0] = 0; at[0] < n[0] && known; at[0]++) sum += trips_in(loop, at, &known);
  return known ? sum / ((double)n[0] * (double)n[1] * (double)n[2]) : -1;
}

/* ---- what ops do ----------------------------------------------------------------------------------------------- */

static double elements(const ir_type *t) { return (double)ir_type_count(t); }

/* Lanes take neighbours along the innermost dimension that has any; stride 0 is one element for all. */
static bool lies_in_order(const ir_type *view) {
  int64_t s[TSR_MAX_RANK];
  ir_type_strides(view, s);
  for (int i = view->rank; i-- > 0;)
    if (view->dims[i] > 1) return s[i] == 0 || s[i] == 1;
  return true;
}

static void move(counter *c, const ir_value *memory, double times) {
  if (memory->type->kind != IR_T_VIEW) return;
  double n = elements(memory->type) * (times >= 0 ? times : 1);
  c->moved += n;
  if (lies_in_order(memory->type)) c->in_order += n;
}

static void add_flops(counter *c, double flops, double times) {
  if (!(flops > 0) || c->w->flops < 0) return;
  c->w->flops = times < 0 ? -1 : c->w->flops + flops * times;
}

static void note_product(tile_work *w, tsr_dtype a, tsr_dtype b, tsr_dtype sum) {
  tsr_dtype wide = tsr_dtype_size(a) >= tsr_dtype_size(b) ? a : b;
  if (!w->has_gemm || tsr_dtype_size(wide) > tsr_dtype_size(w->in)) w->in = wide;
  if (!w->has_gemm || tsr_dtype_size(sum) < tsr_dtype_size(w->acc)) w->acc = sum;
  w->has_gemm = true;
}

static void product(counter *c, const ir_op *o, double times) {
  const ir_type *a = o->operands[1]->type, *b = o->operands[2]->type, *sum = o->results[0]->type;
  double k = (double)a->dims[ir_get_bool(o, "transpose_a", false) ? 0 : 1];
  add_flops(c, 2 * elements(sum) * k, times);
  note_product(c->w, a->dtype, b->dtype, sum->dtype);
  move(c, o->operands[1], times);
  move(c, o->operands[2], times);
}

/* Scalar ops on floats of a map's region, an element. */
static double expression(const ir_block *region) {
  double n = 0;
  for (const ir_op *o = region->first; o; o = o->next)
    n += ir_is_scalar(o) && o->def->code != SC_SELECT && o->def->code != SC_CAST && o->n_results == 1 &&
         o->results[0]->type->kind == IR_T_SCALAR && dtype_is_float(o->results[0]->type->dtype);
  return n;
}

static bool holds(const ir_block *b, bool (*is)(const ir_op *o)) {
  for (const ir_op *o = b->first; o; o = o->next) {
    if (is(o)) return true;
    for (int r = 0; r < o->n_regions; r++)
      if (holds(o->regions[r], is)) return true;
  }
  return false;
}
static bool is_product(const ir_op *o) { return o->def->code == T_GEMM || o->def->code == T_MMA_SYNC; }
static bool fills_shared(const ir_op *o) {
  return o->def->code == T_COPY && o->operands[0]->type->kind == IR_T_VIEW && o->operands[1]->type->kind == IR_T_SHARED;
}
static bool fills_async(const ir_op *o) { return fills_shared(o) && ir_get_bool(o, "async", false); }

static void staging(tile_work *w, const ir_op *kernel, const ir_op *loop) {
  if (!holds(loop->regions[0], is_product) || !holds(loop->regions[0], fills_shared)) return;
  int64_t stages = ir_get_int(loop, "stages", 0);
  if (!stages) stages = ir_get_int(kernel, "stages", 0);
  w->stages = stages > 0 ? (int)stages : -1;
  w->async_copy = holds(loop->regions[0], fills_async);
}

/* As if it were written out. */
static void contraction(counter *c, const ir_op *kernel, const ir_op *o, double times) {
  tile_contract x;
  tsr_status st = tile_contract_get(o, &x);
  tsr_status_free(st);
  if (st) return;
  const double t = trips(c, o), inside = t < 0 || times < 0 ? -1 : t * times;
  const double area[2] = {(double)(x.m * x.k), (double)(x.k * x.n_)}, out = (double)(x.m * x.n_);
  add_flops(c, 2 * out * (double)x.k, inside);
  if (x.by_rows) add_flops(c, out * (double)x.k, times); /* the sums of all threads */
  else note_product(c->w, x.staged[0], x.staged[1], x.sum);
  for (int side = 0; side < 2; side++) {
    add_flops(c, area[side] * expression(x.prologue[side]), inside);
    for (int i = 0; i < x.n[side]; i++) move(c, x.v[side][i], inside);
  }
  add_flops(c, out * expression(x.epilogue), times);
  for (int role = CONTRACT_OTHER; role < CONTRACT_N_ROLES; role++)
    for (int i = 0; i < x.n[role]; i++) move(c, x.v[role][i], times);
  if (x.by_rows || !ir_get_bool(o, "use_shared", true)) return;
  int64_t stages = ir_get_int(o, "stages", 0);
  if (!stages) stages = ir_get_int(kernel, "stages", 0);
  c->w->stages = stages > 0 ? (int)stages : -1;
  c->w->async_copy = ir_get_bool(o, "async", true);
}

/* Arithmetic of a chain on floats: a scale is chosen by comparisons. */
static int steps(const recipe_step *s) {
  int n = 0;
  for (; s->code != STEP_END; s++) n += s->code != STEP_SCALE && s->code != STEP_WRAP;
  return n;
}

/* Steps that two chains begin with alike: they are computed once. */
static int shared(const recipe_step *a, const recipe_step *b) {
  int n = 0;
  while (a[n].code != STEP_END && a[n].code == b[n].code && a[n].arg == b[n].arg) n++;
  return n;
}

/* Steps of a chain, less those of the folds before it. */
static int own_steps(const row_recipe *r, const recipe_step *s, int folds) {
  int known = 0;
  for (int i = 0; i < folds; i++) {
    const int n = r->fold[i].op ? shared(s, r->fold[i].term) : 0;
    known = n > known ? n : known;
  }
  return steps(s) - known;
}

/* A row operation, as if it were written out. */
static void row(counter *c, const ir_op *o, double times) {
  tile_row x;
  tsr_status st = tile_row_get(o, &x);
  tsr_status_free(st);
  if (st) return;
  const row_recipe *r = x.care == ROW_CARE_ALWAYS ? x.recipe->careful : x.recipe;
  const double rows = (double)x.m, all = rows * (double)x.columns, out = rows * (double)tile_row_width(&x);
  double flops = all * expression(x.prologue) + out * expression(x.epilogue);
  for (int i = 0; i < r->n_folds && dtype_is_float(x.type); i++)
    flops += rows * steps(r->fold[i].finish) + (r->fold[i].op ? all * own_steps(r, r->fold[i].term, i) : 0);
  for (int i = 0; i < r->n_folds; i++) flops += r->fold[i].op ? all : 0;
  if (r->per_element) flops += all * (own_steps(r, r->apply, r->n_folds) + x.n[ROW_WEIGHT]);
  add_flops(c, flops, times);
  for (int i = 0; i < o->n_operands; i++) move(c, o->operands[i], times);
}

static void walk(counter *c, const ir_op *kernel, const ir_block *b, double times) {
  for (const ir_op *o = b->first; o; o = o->next) {
    double t;
    bool likely;
    switch (o->def->code) {
    case T_GEMM: product(c, o, times); break;
    case T_CONTRACT: contraction(c, kernel, o, times); break;
    case T_ROW: row(c, o, times); break;
    case T_MMA_SYNC:
      add_flops(c, 2.0 * (double)ir_get_int(o, "m", 0) * (double)ir_get_int(o, "n", 0) * (double)ir_get_int(o, "k", 0),
                times);
      c->w->has_gemm = true, c->w->in = o->operands[0]->type->dtype, c->w->acc = o->results[0]->type->dtype;
      break;
    case T_MAP:
      add_flops(c, o->n_results ? elements(o->results[0]->type) * expression(o->regions[0]) : 0, times);
      break;
    case T_REDUCE: add_flops(c, elements(o->operands[0]->type), times); break;
    case T_FFT_STAGE:
      add_flops(c, 5 * elements(o->results[0]->type) * log2((double)ir_get_int(o, "radix", 2)), times);
      break;
    case T_DFT: {
      const ir_type *x = o->operands[0]->type;
      const double n = (double)x->dims[ir_get_int(o, "axis", 0)];
      add_flops(c, 5 * n * log2(n) * (double)ir_get_int(o, "lines", 1), times);
      c->chosen = true;
      break;
    }
    case T_LOAD: move(c, o->operands[0], times); break;
    case T_STORE: move(c, o->operands[1], times); break;
    case T_COPY:
      move(c, o->operands[0], times);
      move(c, o->operands[1], times);
      break;
    case T_GATHER:
    case T_SCATTER: c->chosen = true; break;
    case T_LOAD_SCALAR: c->chosen |= o->operands[0]->type->kind == IR_T_VIEW; break;
    case T_FOR:
      t = trips(c, o);
      staging(c->w, kernel, o);
      walk(c, kernel, o->regions[0], t < 0 || times < 0 ? -1 : t * times);
      break;
    case T_IF:
      likely = ir_get_bool(o, "likely", false);
      for (int r = 0; r < (likely ? 1 : o->n_regions); r++) walk(c, kernel, o->regions[r], likely ? times : -1);
      break;
    }
  }
}

void tile_work_count(const ir_op *kernel, tile_work *out) {
  counter c = {.w = out, .grid = {1, 1, 1}};
  *out = (tile_work){0};
  ir_get_ints(kernel, "grid", c.grid, 3);
  walk(&c, kernel, kernel->regions[0], 1);
  if (out->flops > 0) out->flops *= (double)c.grid[0] * (double)c.grid[1] * (double)c.grid[2];
  for (int i = 0; i < kernel->regions[0]->n_args; i++) {
    const ir_type *t = kernel->regions[0]->args[i]->type;
    out->bytes += elements(t) * (double)tsr_dtype_size(t->dtype);
  }
  if (c.chosen) out->bytes = -1;
  out->contiguous = c.chosen || !(c.moved > 0) ? -1 : c.in_order / c.moved;
}
