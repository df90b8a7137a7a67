/* core/passes/simt/whole/epilogue.c - see simt/whole/epilogue.h. Accumulator map of m64nN: registers 4j, 4j + 1 hold
 * row lane / 4 of the warp's 16 and columns 8j + 2 (lane % 4), +1; 4j + 2, 4j + 3 the row 8 below. How a warp writes
 * without bank conflicts depends on the size: 16 bits by stmatrix; 32 bits by pairs, odd rows two blocks of columns
 * apart from even ones; 8 bits by words, after neighbours have swapped halves. */
#include "core/passes/simt/whole/epilogue.h"

#include "core/base/dtype.h"
#include "core/passes/simt/whole/tma.h"

#define NAME(s) "tessera.target." s
enum { GROUP_ROWS = 64, BLOCK = 8 }; /* BLOCK: columns of an accumulator's four registers */

/* ---- plan -------------------------------------------------------------------------------------------------------- */

bool simt_tile_store_plan(const simt_matmul *mm, int n, simt_tile_store *out) {
  const ir_op *w = mm->stores[0].window;
  const ir_type *v = w->operands[0]->type;
  int64_t sizes[TSR_MAX_RANK];
  int rank = ir_get_ints(w, "sizes", sizes, TSR_MAX_RANK), size = (int)tsr_dtype_size(v->dtype);
  *out = (simt_tile_store){.size = size};
  if (mm->n_stores != 1 || (size != 1 && size != 2 && size != 4) || mm->bn * size % SIMT_TMA_LINE || !simt_tma_view(v))
    return false;
  if (rank < 2 || sizes[rank - 2] != mm->bm || sizes[rank - 1] != mm->bn) return false;
  out->per_line = SIMT_TMA_LINE / size;
  out->columns = (int)(mm->bn / out->per_line);
  for (int passes = 1; passes <= out->columns; passes++) {
    if (out->columns % passes || (passes == 2 && out->columns % 4 == 0))
      continue; /* four passes through two buffers take no more than two */
    if (n--) continue;
    out->per_pass = out->columns / passes;
    out->buffers = passes > 2 && passes % 2 == 0 ? 2 : 1;
    out->bytes = (int64_t)out->buffers * out->per_pass * mm->bm * SIMT_TMA_LINE;
    return true;
  }
  return false;
}

void simt_tile_store_begin(const simt_place *p, simt_tile_store *s, int64_t at) {
  const ir_type *v = p->mm->stores[0].window->operands[0]->type;
  s->shared = tg_shared(p->t, v->dtype, at, "c_tile");
  s->map = simt_tma_map(p->t, simt_store_target(p, 0), v, s->per_line, GROUP_ROWS);
}

/* ---- a tile ------------------------------------------------------------------------------------------------------ */

typedef struct pass {
  const simt_place *p;
  const simt_tile_store *s;
  int64_t first;      /* block of 8 columns */
  int64_t at;         /* its buffer, in elements */
  int m;              /* 64-row block of the warpgroup */
  ir_value *rows;     /* where the 64 rows start in the tile */
} pass;

/* Element of the buffer: byte `byte` of 16-byte chunk `chunk` of the line `row` in column `column`. */
static ir_value *place_of(const pass *q, ir_value *column, ir_value *row, ir_value *chunk, ir_value *byte) {
  tgb *t = q->p->t;
  const simt_tile_store *s = q->s;
  ir_value *in_line = tg_muli(t, tg_xor(t, chunk, tg_remi(t, row, 8)), 16 / s->size);
  if (byte) in_line = tg_add(t, in_line, tg_divi(t, byte, s->size));
  ir_value *line = tg_add(t, tg_muli(t, column, q->p->mm->bm * s->per_line), tg_muli(t, row, s->per_line));
  return tg_addi(t, tg_add(t, line, in_line), q->at);
}

/* Registers of block j (of the pass) and row half h, through the epilogue, as columns `col` of the tile. */
static void results(const pass *q, ir_value *const *x, int h, ir_value *col, ir_value **out) {
  tgb *t = q->p->t;
  ir_value *row =
      tg_add(t, tg_add(t, q->rows, tg_muli(t, q->s->warp, 16)), tg_addi(t, tg_divi(t, q->s->lane, 4), 8 * h));
  simt_epilogue(q->p, 0, row, tg_add(t, col, tg_muli(t, tg_remi(t, q->s->lane, 4), 2)), 2, x, out);
}

static void registers_of(const pass *q, ir_value *j, int h, ir_value **x) {
  tgb *t = q->p->t;
  ir_value *at = tg_addi(t, tg_muli(t, j, 4), q->m * q->p->mm->bn / 2 + 4 * q->first + 2 * h);
  for (int i = 0; i < 2; i++) x[i] = tg_get(t, q->s->acc, tg_addi(t, at, i));
}

static ir_value *column_of(const pass *q, ir_value *j) {
  return tg_addi(q->p->t, tg_muli(q->p->t, j, BLOCK), q->first * BLOCK);
}

/* 16 columns at a time: two blocks by two halves of rows are the four matrices of one stmatrix. */
static void write_16(const pass *q) {
  tgb *t = q->p->t;
  const simt_tile_store *s = q->s;
  ir_value *packed[4], *x[2], *y[2];
  ir_value *line = tg_add(t, tg_add(t, q->rows, tg_muli(t, s->warp, 16)), tg_remi(t, s->lane, 16)),
           *right = tg_divi(t, s->lane, 16);
  ir_op *pair = tg_unrolled(t, (int64_t)s->per_pass * s->per_line / (2 * BLOCK), "j");
  for (int i = 0; i < 4; i++) {
    ir_value *j = tg_addi(t, tg_muli(t, tg_counter(pair), 2), i / 2);
    registers_of(q, j, i % 2, x);
    results(q, x, i % 2, column_of(q, j), y);
    packed[i] = tg_bitcast(t, tg_vector(t, 2, y), tg_scalar_type(t, TSR_I32));
  }
  ir_value *chunk = tg_add(t, tg_muli(t, tg_remi(t, tg_counter(pair), 4), 2), right);
  tg_op(t, NAME("stmatrix"), NULL,
        TG_V(tg_vector(t, 4, packed), s->shared, place_of(q, tg_divi(t, tg_counter(pair), 4), line, chunk, NULL)));
  tg_close(t, pair);
}

/* A pair of columns is 8 bytes, so 16 lanes (four rows) are one phase: blocks j and j + 2 alternating in odd rows give
 * them all banks. */
static void write_32(const pass *q) {
  tgb *t = q->p->t;
  const simt_tile_store *s = q->s;
  ir_value *row = tg_add(t, tg_add(t, q->rows, tg_muli(t, s->warp, 16)), tg_divi(t, s->lane, 4)),
           *c = tg_remi(t, s->lane, 4);
  ir_value *odd = tg_compare(t, "ne", tg_remi(t, tg_divi(t, s->lane, 4), 2), tg_index(t, 0));
  ir_op *column = tg_unrolled(t, s->per_pass, "column");
  for (int i = 0; i < 4; i++)
    for (int h = 0; h < 2; h++) {
      ir_value *even[2], *other[2], *x[2], *y[2];
      ir_value *in_line = tg_select(t, odd, tg_index(t, i ^ 2), tg_index(t, i)),
               *base = tg_muli(t, tg_counter(column), 4);
      registers_of(q, tg_addi(t, base, i), h, even);
      registers_of(q, tg_addi(t, base, i ^ 2), h, other);
      for (int e = 0; e < 2; e++) x[e] = tg_select(t, odd, other[e], even[e]);
      results(q, x, h, column_of(q, tg_add(t, base, in_line)), y);
      ir_value *chunk = tg_add(t, tg_muli(t, in_line, 2), tg_divi(t, c, 2));
      tg_store(t, tg_vector(t, 2, y), s->shared,
               place_of(q, tg_counter(column), tg_addi(t, row, 8 * h), chunk, tg_muli(t, tg_remi(t, c, 2), 8)));
    }
  tg_close(t, column);
}

/* A lane has two columns of each of two blocks; it gives one pair to its neighbour and so has four in a row: even lanes
 * of the first block. */
static void write_8(const pass *q) {
  tgb *t = q->p->t;
  const simt_tile_store *s = q->s;
  tsr_dtype out = q->p->mm->stores[0].window->results[0]->type->dtype;
  const ir_type *word = tg_scalar_type(t, TSR_I32), *four = tg_vector_type(t, out, 4);
  ir_value *row = tg_add(t, tg_add(t, q->rows, tg_muli(t, s->warp, 16)), tg_divi(t, s->lane, 4)),
           *c = tg_remi(t, s->lane, 4), *right = tg_remi(t, c, 2);
  ir_value *odd = tg_compare(t, "ne", right, tg_index(t, 0)),
           *byte = tg_add(t, tg_muli(t, right, 8), tg_muli(t, tg_divi(t, c, 2), 4));
  ir_op *pair = tg_unrolled(t, (int64_t)s->per_pass * s->per_line / (2 * BLOCK), "j");
  for (int h = 0; h < 2; h++) {
    ir_value *x[2], *y[4], *z[4];
    for (int b = 0; b < 2; b++) {
      ir_value *j = tg_addi(t, tg_muli(t, tg_counter(pair), 2), b);
      registers_of(q, j, h, x);
      results(q, x, h, column_of(q, j), y + 2 * b);
    }
    ir_value *its = tg_value(t, NAME("shuffle"), word, TG_V(tg_bitcast(t, tg_vector(t, 4, y), word), tg_index(t, 1)));
    for (int e = 0; e < 4; e++) z[e] = tg_extract(t, tg_bitcast(t, its, four), e);
    ir_value *first = tg_bitcast(t, tg_vector(t, 4, (ir_value *[]){y[0], y[1], z[0], z[1]}), word);
    ir_value *second = tg_bitcast(t, tg_vector(t, 4, (ir_value *[]){z[2], z[3], y[2], y[3]}), word);
    ir_value *at =
        place_of(q, tg_divi(t, tg_counter(pair), 8), tg_addi(t, row, 8 * h), tg_remi(t, tg_counter(pair), 8), byte);
    tg_store(t, tg_bitcast(t, tg_select(t, odd, second, first), four), s->shared, at);
  }
  tg_close(t, pair);
}

/* One named barrier per warpgroup: `id` must be constant, so each consumer has its own branch. */
static void barrier(const simt_place *p, const simt_tile_store *s) {
  tgb *t = p->t;
  for (int c = 0; c < s->consumers; c++) {
    ir_op *mine = s->consumers > 1 ? tg_if(t, tg_compare(t, "eq", s->group, tg_index(t, c))) : NULL;
    ir_op *bar = tg_op(t, NAME("named_barrier"), NULL, 0, NULL);
    tg_int(t, bar, "id", c + 1);
    tg_int(t, bar, "threads", 128);
    if (mine) tg_close(t, mine);
  }
}

static ir_op *leader(const simt_place *p, const simt_tile_store *s) {
  return tg_if(p->t, tg_compare(p->t, "eq", s->thread, tg_index(p->t, 0)));
}

static void send(const pass *q) {
  tgb *t = q->p->t;
  const simt_tile_store *s = q->s;
  const ir_op *window = q->p->mm->stores[0].window;
  for (int b = 0; b < s->per_pass; b++) {
    ir_value *v[3 + TSR_MAX_RANK] = {s->map, s->shared};
    int n =
        simt_tma_coordinates(q->p, window, tg_index(t, q->first * BLOCK + (int64_t)b * s->per_line), q->rows, v + 3);
    v[2] = tg_addi(t, tg_muli(t, q->rows, s->per_line), q->at + b * q->p->mm->bm * s->per_line);
    tg_op(t, NAME("tma_store"), NULL, 3 + n, v);
  }
}

void simt_tile_store_emit(const simt_place *p, const simt_tile_store *s) {
  tgb *t = p->t;
  int passes = s->columns / s->per_pass;
  for (int i = 0; i < passes; i++) {
    pass q = {.p = p,
              .s = s,
              .first = (int64_t)i * s->per_pass * s->per_line / BLOCK,
              .at = (i % s->buffers) * s->per_pass * p->mm->bm * s->per_line};
    ir_op *one = leader(p, s);
    tg_int(t, tg_op(t, NAME("tma_wait"), NULL, 0, NULL), "pending", s->buffers - 1);
    tg_close(t, one);
    barrier(p, s);
    for (q.m = 0; q.m < s->blocks; q.m++) {
      q.rows = tg_addi(t, tg_muli(t, s->group, (int64_t)GROUP_ROWS * s->blocks), GROUP_ROWS * q.m);
      if (s->size == 2) write_16(&q);
      else if (s->size == 4) write_32(&q);
      else write_8(&q);
    }
    tg_text(t, tg_op(t, NAME("fence"), NULL, 0, NULL), "kind", "async_proxy");
    barrier(p, s);
    one = leader(p, s);
    for (q.m = 0; q.m < s->blocks; q.m++) {
      q.rows = tg_addi(t, tg_muli(t, s->group, (int64_t)GROUP_ROWS * s->blocks), GROUP_ROWS * q.m);
      send(&q);
    }
    tg_op(t, NAME("tma_commit"), NULL, 0, NULL);
    tg_close(t, one);
  }
}

void simt_tile_store_end(const simt_place *p, const simt_tile_store *s) {
  tgb *t = p->t;
  ir_op *one = leader(p, s);
  tg_int(t, tg_op(t, NAME("tma_wait"), NULL, 0, NULL), "pending", 0);
  tg_close(t, one);
  tg_op(t, NAME("warp_barrier"), NULL, 0, NULL);
}
