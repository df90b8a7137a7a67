/* backends/cpu/convolve.c - the convolve instruction: weights by the windows over an image (core/ir/tile/unfold.h)
 * where neighbouring places lie next to each other, or as far apart as a pixel of few channels is long. The part of the
 * image that a block reaches is copied once, zeros around it, next to each other, and the micro-kernel reads it at as
 * many offsets as a window has elements. */
#include <string.h>

#include "backends/cpu/vm.h"
#include "core/base/int_math.h"
#include "core/ir/tile/unfold.h"

/* A range of each axis of the image, as it lies in the copy: every grid-th coordinate from `low` on, which are all that
 * windows have; lines along `axis`, in `phases` of `phase` elements, of which the k-th has every step-th coordinate
 * from the line's k-th on. */
typedef struct box {
  tile_unfold u;
  int axis;
  int64_t step, phases, phase, grid[TSR_MAX_RANK];
  int64_t from[UNFOLD_MOST_DIGITS], to[UNFOLD_MOST_DIGITS]; /* least and largest values of the digits */
  int64_t low[TSR_MAX_RANK], size[TSR_MAX_RANK]; /* size: how many coordinates of the grid */
  /* In the copy, but for what is along the lines: how far a step of a digit moves, and to where the least one does. */
  int64_t move[UNFOLD_MOST_DIGITS], first[UNFOLD_MOST_DIGITS];
  int64_t elements; /* of the copy */
} box;

/* The coordinates of a phase that the image has: the same ones in each line. */
typedef struct span {
  int64_t x, from, end; /* the first one's; which there are, of the phase's */
} span;

/* What holds for all batches of the same rows, so that the channels of a convolution one by one share it. */
typedef struct plan {
  box b;
  int64_t rows, columns, batches;
  int64_t low[TSR_MAX_RANK]; /* b's, of batch 0 */
  span spans[UNFOLD_MOST_LINE_STEP];
  int64_t ext[TSR_MAX_RANK]; /* the image's when it was copied */
  bool has_zeros; /* the copy has them where the image has no elements: only the lines of the others are missing */
  box of_offsets; /* whose they are; its phase is 0 where there are none yet */
} plan;

/* Along the last digit of the rows. */
static int last_digit(const tile_unfold *u) { return tile_unfold_first(u, UNFOLD_ROW) + u->n[UNFOLD_ROW] - 1; }

/* At most as many strips. */
static int64_t most_strips(const tile_unfold *u, int64_t n, int64_t width) {
  const int64_t line = u->extent[last_digit(u)];
  return ((n - 1) / line + 2) * ceil_div(min64(n, line), width);
}

static box box_of(const vm_module *m, const cpu_instr *i) {
  const cpu_desc *image = cpu_descs(m->image) + i->a[2];
  box b = {0};
  vm_unfold_map(cpu_extra(m->image) + i->extra, image->rank, &b.u);
  tile_unfold_has_lines(&b.u, image->strides, &b.axis, &b.step);
  for (int d = 0; d < b.u.rank; d++) b.grid[d] = tile_unfold_grid(&b.u, d);
  b.phases = b.step / b.grid[b.axis];
  return b;
}

/* Elements of the image that are near beside weights and sums, and the fewest of k for which sums are worth keeping. */
enum { NEAR = 4096, LEAST_STEP = 64 };

/* How much of k is done at once for n places: as much as reads what of the image is near. */
static int64_t k_step(int64_t elements, int64_t n, int64_t k) {
  const double each = (double)elements * (double)min64(n, CPUK_CONVOLVE_PLACES) / (double)n;
  return each <= 2 * NEAR ? k : max64(LEAST_STEP, (int64_t)((double)k * NEAR / each));
}

/* The plan, offsets, strips, sums, and the copy with what vectors read behind its end. */
static size_t part_bytes(int64_t n, size_t size) { return (size_t)round_up(n * (int64_t)size, 64); }

/* 0: all of k is done at once. */
static size_t sums_bytes(const vm_module *m, const cpu_instr *i) {
  const int64_t *dims = cpu_descs(m->image)[i->a[0]].dims;
  return dims[0] > 1 && i->imm > 2 * NEAR ? part_bytes(dims[0] * CPUK_CONVOLVE_PLACES, sizeof(float)) : 0;
}

size_t convolve_bytes(const vm_module *m, const cpu_instr *i) {
  const box b = box_of(m, i);
  const int64_t n = cpu_descs(m->image)[i->a[0]].dims[1], width = m->k->lanes->convolve_width;
  return part_bytes(1, sizeof(plan)) + part_bytes(tile_unfold_extent(&b.u, UNFOLD_COLUMN), sizeof(int32_t)) +
         part_bytes(most_strips(&b.u, n, width), sizeof(cpuk_convolve_strip)) + sums_bytes(m, i) +
         part_bytes(i->imm + width, sizeof(float));
}

/* Row-major digits of `at`, of `index`. */
static void digits_of(const tile_unfold *u, int index, int64_t at, int64_t *digit) {
  const int first = tile_unfold_first(u, index);
  for (int i = first + u->n[index] - 1; i >= first; at /= u->extent[i--]) digit[i] = at % u->extent[i];
}

/* Where digit i is along axis d when it is least there. */
static int64_t least(const box *b, int i, int d) {
  const int64_t step = b->u.step[i][d];
  return step * (step < 0 ? b->to[i] : b->from[i]);
}

/* The range that rows [row, row + n) of this batch with all columns reach, and how it lies in the copy. */
static void reach(box *b, int64_t batch, int64_t row, int64_t n) {
  const tile_unfold *u = &b->u;
  const int rows = tile_unfold_first(u, UNFOLD_ROW), columns = tile_unfold_first(u, UNFOLD_COLUMN),
            end = columns + u->n[UNFOLD_COLUMN];
  digits_of(u, UNFOLD_BATCH, batch, b->from);
  memcpy(b->to, b->from, sizeof b->to);
  digits_of(u, UNFOLD_ROW, row, b->from);
  digits_of(u, UNFOLD_ROW, row + n - 1, b->to);
  for (int i = rows, all = 0; i < end; i++) {
    if (all || i >= columns) b->from[i] = 0, b->to[i] = u->extent[i] - 1;
    all |= b->from[i] != b->to[i];
  }
  for (int d = 0; d < u->rank; d++) {
    b->low[d] = u->origin[d], b->size[d] = 1;
    for (int i = 0; i < end; i++) {
      const int64_t step = u->step[i][d];
      b->low[d] += least(b, i, d);
      b->size[d] += (b->to[i] - b->from[i]) * ((step < 0 ? -step : step) / b->grid[d]);
    }
  }
  memset(b->move, 0, sizeof b->move);
  memset(b->first, 0, sizeof b->first);
  b->phase = (b->size[b->axis] - 1) / b->phases + 1;
  int64_t stride = b->phase * b->phases;
  for (int d = u->rank - 1; d >= 0; d--) {
    if (d == b->axis) continue;
    for (int i = rows; i < end; i++)
      b->move[i] += u->step[i][d] / b->grid[d] * stride, b->first[i] += least(b, i, d) / b->grid[d] * stride;
    stride *= b->size[d];
  }
  b->elements = stride;
}

/* The range of another batch. */
static void set_batch(plan *p, int64_t batch) {
  const tile_unfold *u = &p->b.u;
  digits_of(u, UNFOLD_BATCH, batch, p->b.from);
  for (int d = 0; d < u->rank; d++) p->b.low[d] = p->low[d];
  for (int i = 0, n = u->n[UNFOLD_BATCH]; i < n; i++)
    for (int d = 0; d < u->rank; d++) p->b.low[d] += p->b.from[i] * u->step[i][d];
}

static void make_plan(plan *p, const vm *v, const cpu_instr *i) {
  *p = (plan){.b = box_of(v->m, i)};
  p->rows = tile_unfold_extent(&p->b.u, UNFOLD_ROW);
  p->columns = tile_unfold_extent(&p->b.u, UNFOLD_COLUMN);
  p->batches = tile_unfold_extent(&p->b.u, UNFOLD_BATCH);
}

/* Of n rows from `row` on. */
static void plan_rows(plan *p, int64_t row, int64_t n) {
  reach(&p->b, 0, row, n);
  memcpy(p->low, p->b.low, sizeof p->low);
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

static span span_of(const box *b, int64_t n_line, int64_t k) {
  span s = {.x = b->low[b->axis] + k * b->grid[b->axis]};
  s.from = clamp64(s.x < 0 ? ceil_div(-s.x, b->step) : 0, 0, b->phase);
  s.end = clamp64(s.x >= n_line ? 0 : (n_line - 1 - s.x) / b->step + 1, s.from, b->phase);
  return s;
}

/* element: how far apart neighbours of the line are. */
static void copy_line(const vm *v, const box *b, const span *spans, const float *line, int64_t element, float *to) {
  for (int64_t f = 0; f < b->phases; f++, to += b->phase) {
    const span s = spans[f];
    const size_t n = (size_t)(s.end - s.from);
    const float *first = line + (s.x + s.from * b->step) * element;
    const cpuk_copy_args c = {to + s.from, first, 0, 1, 0, b->step * element, 1, n, sizeof *to};
    for (int64_t k = 0; k < s.from; k++) to[k] = 0;
    if (n && b->step * element == 1) memcpy(to + s.from, first, n * sizeof *to);
    else if (n) v->k->lanes->copy2d(&c);
    for (int64_t k = s.end; k < b->phase; k++) to[k] = 0;
  }
}

/* The axis before the lines', which the copy goes along innermost; -1: there is none. */
static int row_axis(const box *b) {
  const int last = b->u.rank - 1;
  return last == 0 ? -1 : b->axis == last ? last - 1 : last;
}

/* The part of the image that the block reaches, line by line. */
static void copy_box(const vm *v, const box *b, const span *spans, const cpu_desc *image, float *to) {
  const float *memory = (const float *)(const void *)vm_base(v, image);
  const int64_t *ext = vm_ext(v, image), line = b->phase * b->phases, element = image->strides[b->axis];
  const int rank = b->u.rank, row = row_axis(b);
  const int64_t rows = row < 0 ? 1 : b->size[row], stride = row < 0 ? 0 : image->strides[row],
                first = row < 0 ? 0 : b->low[row], apart = row < 0 ? 1 : b->grid[row], n_rows = row < 0 ? 1 : ext[row];
  /* No zeros around the lines of a plane, and one phase. */
  const bool whole = b->phases == 1 && first >= 0 && first + (rows - 1) * apart < n_rows && !spans[0].from &&
                     spans[0].end == b->phase;
  int64_t at[TSR_MAX_RANK] = {0};
  for (int d = 0; d >= 0;) {
    int64_t place = 0;
    bool inside = true;
    for (d = 0; d < rank; d++) {
      if (d == b->axis || d == row) continue;
      const int64_t x = b->low[d] + at[d] * b->grid[d];
      inside &= x >= 0 && x < ext[d];
      place += inside ? x * image->strides[d] : 0;
    }
    if (inside && whole) {
      const cpuk_copy_args c = {to, memory + place + first * stride + spans[0].x * element, line, 1, stride * apart,
                                b->step * element, (size_t)rows, (size_t)line, sizeof *to};
      v->k->lanes->copy2d(&c);
      to += rows * line;
    } else {
      for (int64_t r = first; r < first + rows * apart; r += apart, to += line) {
        if (inside && r >= 0 && r < n_rows) copy_line(v, b, spans, memory + place + r * stride, element, to);
        else memset(to, 0, (size_t)line * sizeof *to);
      }
    }
    for (d = rank - 1; d >= 0; d--) {
      if (d == b->axis || d == row) continue;
      if (++at[d] < b->size[d]) break;
      at[d] = 0;
    }
  }
  memset(to, 0, (size_t)v->k->lanes->convolve_width * sizeof *to);
}

/* One plane of the image: lines along the axis before theirs alone. */
static bool is_plane(const box *b, int row, const int64_t *ext) {
  for (int d = 0; d < b->u.rank; d++) {
    if (d == b->axis || d == row) continue;
    if (b->size[d] != 1 || b->low[d] < 0 || b->low[d] >= ext[d]) return false;
  }
  return row >= 0;
}

/* The lines that a plane of the image has, into a copy that has the zeros around them. */
static void copy_plane(const vm *v, const box *b, int row, const span *spans, const cpu_desc *image, float *to) {
  const float *line = (const float *)(const void *)vm_base(v, image);
  const int64_t low = b->low[row], apart = b->grid[row], stride = image->strides[row] * apart,
                element = image->strides[b->axis],
                first = low < 0 ? ceil_div(-low, apart) : 0, n = vm_ext(v, image)[row] - low,
                end = min64(b->size[row], n > 0 ? (n - 1) / apart + 1 : 0);
  for (int d = 0; d < b->u.rank; d++)
    if (d != b->axis && d != row) line += b->low[d] * image->strides[d];
  line += (low + first * apart) * image->strides[row];
  to += first * b->phase * b->phases;
  for (int64_t f = 0; f < b->phases && first < end; f++, to += b->phase) {
    const span s = spans[f];
    const cpuk_copy_args c = {to + s.from, line + (s.x + s.from * b->step) * element, b->phase * b->phases, 1, stride,
                              b->step * element, (size_t)(end - first), (size_t)(s.end - s.from), sizeof *to};
    v->k->lanes->copy2d(&c);
  }
}

/* again: the copy is of another batch of the same rows. */
static void copy_image(const vm *v, plan *p, const cpu_desc *image, bool again, float *copy) {
  const int64_t *ext = vm_ext(v, image);
  const size_t bytes = (size_t)p->b.u.rank * sizeof *ext;
  const int row = row_axis(&p->b);
  const bool plane = is_plane(&p->b, row, ext);
  if (row >= 0 && again && plane && p->has_zeros && !memcmp(p->ext, ext, bytes)) {
    copy_plane(v, &p->b, row, p->spans, image, copy);
    return;
  }
  for (int64_t f = 0; f < p->b.phases; f++) p->spans[f] = span_of(&p->b, ext[p->b.axis], f);
  copy_box(v, &p->b, p->spans, image, copy);
  memcpy(p->ext, ext, bytes);
  p->has_zeros = plane;
}

/* ---- what the micro-kernel reads --------------------------------------------------------------------------------- */

/* How far behind the copy's start digits [first, end) are, but for their part along the lines. */
static int64_t across(const box *b, const int64_t *digit, int first, int end) {
  int64_t at = 0;
  for (int i = first; i < end; i++) at += digit[i] * b->move[i] - b->first[i];
  return at;
}

/* Whether a window's elements lie in b's copy as in that of p's offsets: most often they do, from block to block. */
static bool same_offsets(const plan *p, const box *b) {
  const int first = tile_unfold_first(&b->u, UNFOLD_COLUMN);
  const size_t bytes = (size_t)b->u.n[UNFOLD_COLUMN] * sizeof *b->move;
  const box *o = &p->of_offsets;
  return b->phase == o->phase && !memcmp(b->move + first, o->move + first, bytes) &&
         !memcmp(b->first + first, o->first + first, bytes);
}

static void fill_offsets(const box *b, int32_t *offsets, int64_t k) {
  const tile_unfold *u = &b->u;
  const int first = tile_unfold_first(u, UNFOLD_COLUMN), end = first + u->n[UNFOLD_COLUMN];
  int64_t digit[UNFOLD_MOST_DIGITS] = {0}, start = 0;
  for (int i = first; i < end; i++) start -= least(b, i, b->axis);
  for (int64_t l = 0; l < k; l++) {
    int64_t x = start;
    for (int i = first; i < end; i++) x += digit[i] * u->step[i][b->axis];
    x /= b->grid[b->axis];
    if (b->phases > 1) x = x % b->phases * b->phase + x / b->phases;
    offsets[l] = (int32_t)(across(b, digit, first, end) + x);
    for (int i = end - 1; i >= first && ++digit[i] == u->extent[i]; i--) digit[i] = 0;
  }
}

/* The lines of the places [row, row + n): the first one's first element in the copy, how far apart their first elements
 * are, and how long they are; the last one may be shorter. */
typedef struct line_set {
  int64_t from, pitch, line, n;
} line_set;

/* Where the element of the place at `row` is in the copy, and how many places its line has from there. */
static int64_t element_of(const box *b, int64_t row, int64_t *left) {
  const int first = tile_unfold_first(&b->u, UNFOLD_ROW), last = last_digit(&b->u);
  int64_t digit[UNFOLD_MOST_DIGITS];
  digits_of(&b->u, UNFOLD_ROW, row, digit);
  *left = b->u.extent[last] - digit[last];
  return across(b, digit, first, last + 1) + digit[last] - b->from[last];
}

/* Whether the lines begin at equal distances, so that they can be cut into strips together. */
static bool lines_of(const box *b, int64_t row, int64_t n, line_set *l) {
  int64_t left;
  l->line = b->u.extent[last_digit(&b->u)], l->n = n;
  l->from = element_of(b, row, &left);
  if (left < l->line || n <= l->line) return false;
  l->pitch = element_of(b, row + l->line, &left) - l->from;
  for (int64_t at = 2 * l->line; at < n; at += l->line)
    if (element_of(b, row + at, &left) != l->from + at / l->line * l->pitch) return false;
  return l->pitch >= l->line;
}

static int64_t together_length(const line_set *l) {
  const int64_t last = (l->n - 1) / l->line;
  return last * l->pitch + l->n - last * l->line;
}

/* Strips over all lines and what is between them. */
static size_t fill_together(const line_set *l, int64_t width, cpuk_convolve_strip *s) {
  const int64_t length = together_length(l);
  size_t n_strips = 0;
  for (int64_t at = 0; at < length; at += width) {
    cpuk_convolve_strip *t = &s[n_strips];
    *t = (cpuk_convolve_strip){.from = (int32_t)(l->from + at)};
    for (int64_t i = 0; i < width && at + i < length; i++) {
      const int64_t line = (at + i) / l->pitch, x = (at + i) % l->pitch;
      if (x >= l->line) continue;
      if (!t->n++) t->to = (int32_t)(line * l->line + x);
      t->lanes |= 1u << i;
    }
    n_strips += t->n > 0;
  }
  return n_strips;
}

/* Lines of places, cut into strips: together if that takes fewer, else each for itself, where the last strip of a line
 * reaches back over the one before, if the line is long enough. */
static size_t fill_strips(const box *b, int64_t row, int64_t n, int64_t width, cpuk_convolve_strip *s) {
  line_set lines;
  if (lines_of(b, row, n, &lines) &&
      ceil_div(together_length(&lines), width) < ceil_div(n, lines.line) * ceil_div(lines.line, width))
    return fill_together(&lines, width, s);
  size_t n_strips = 0;
  for (int64_t done = 0, line; done < n; done += line) {
    const int64_t from = element_of(b, row + done, &line);
    line = min64(line, n - done);
    for (int64_t at = 0; at < line; at += width) {
      const int64_t back = max64(0, min64(at, at + width - line)), to = at - back, here = min64(width, line - to);
      s[n_strips++] = (cpuk_convolve_strip){(int32_t)(from + to), (int32_t)(done + to), (int32_t)here,
                                            (uint32_t)(((uint64_t)1 << here) - 1)};
    }
  }
  return n_strips;
}

/* ---- the instruction --------------------------------------------------------------------------------------------- */

/* What no place or no row of weights reaches. */
static void clear_rest(float *c, int64_t ldc, const int64_t *ext, int64_t m, int64_t n) {
  for (int64_t i = 0; i < ext[0]; i++) {
    const int64_t from = i < m ? n : 0;
    if (from < ext[1]) memset(c + i * ldc + from, 0, (size_t)(ext[1] - from) * sizeof *c);
  }
}

void vm_convolve(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *a = vm_desc(v, i->a[1]), *image = vm_desc(v, i->a[2]);
  const int64_t *ext = vm_ext(v, out), *a_ext = vm_ext(v, a), width = v->k->lanes->convolve_width;
  const int64_t batch = v->t->regs[i->a[3]].i, row = v->t->regs[i->a[4]].i;
  char *memory = v->t->convolved;
  plan *p = (plan *)(void *)memory;
  if (v->t->tables.instr != i) make_plan(p, v, i);
  const bool there = batch >= 0 && batch < p->batches && row >= 0 && row < p->rows && a_ext[1] > 0;
  const int64_t m = there ? min64(ext[0], a_ext[0]) : 0, n = there ? min64(ext[1], p->rows - row) : 0,
                k = min64(p->columns, a_ext[1]);
  float *c = (float *)(void *)vm_base(v, out);
  clear_rest(c, out->strides[0], ext, m, n);
  if (m > 0 && n > 0 && i->a[5] && vm_winograd(v, i, m, n)) return;
  if (m <= 0 || n <= 0) {
    if (v->t->tables.instr != i) v->t->tables.instr = NULL; /* the plan is another one's now */
    return;
  }
  int32_t *offsets = (int32_t *)(void *)(memory += part_bytes(1, sizeof *p));
  cpuk_convolve_strip *strips =
      (cpuk_convolve_strip *)(void *)(memory += part_bytes(p->columns, sizeof *offsets));
  float *sums = (float *)(void *)(memory += part_bytes(most_strips(&p->b.u, out->dims[1], width), sizeof *strips));
  float *copy = (float *)(void *)(memory + sums_bytes(v->m, i));
  const bool again = v->t->tables.instr == i && v->t->tables.row == row && v->t->tables.n == n;
  if (!again) plan_rows(p, row, n);
  set_batch(p, batch);
  copy_image(v, p, image, again, copy);
  if (!again) {
    if (!same_offsets(p, &p->b)) {
      fill_offsets(&p->b, offsets, p->columns);
      p->of_offsets = p->b;
    }
    v->t->tables.n_strips = fill_strips(&p->b, row, n, width, strips);
    v->t->tables.instr = i, v->t->tables.row = row, v->t->tables.n = n;
  }
  v->k->lanes->convolve(&(cpuk_convolve_args){.c = c, .ldc = out->strides[0],
                                              .a = (const float *)(const void *)vm_base(v, a), .lda = a->strides[0],
                                              .image = copy, .offsets = offsets, .strips = strips,
                                              .n_strips = v->t->tables.n_strips, .m = (size_t)m, .k = (size_t)k,
                                              .k_step = (size_t)k_step(p->b.elements, n, k), .sums = sums});
}
