/* backends/cpu/unfold.c - the unfold instruction: a tile of the matrix of windows over an image
 * (core/ir/tile/unfold.h), collected for a product. Elements go line by line of the tile; the innermost digit along a
 * line is a run in memory. */
#include <string.h>

#include "backends/cpu/vm.h"
#include "core/base/int_math.h"
#include "core/ir/tile/unfold.h"

typedef struct unfold {
  const vm *v;
  tile_unfold u;
  const cpu_desc *image;
  const int64_t *ext;
  const char *memory;
  size_t size; /* bytes of an element */
  int64_t at[UNFOLD_N_INDICES];
  int64_t digit[UNFOLD_MOST_DIGITS], x[TSR_MAX_RANK]; /* where the line stands */
} unfold;

void vm_unfold_map(const int64_t *extra, int rank, tile_unfold *u) {
  int n = 0;
  u->rank = rank;
  for (int i = 0; i < UNFOLD_N_INDICES; i++) n += u->n[i] = (int)*extra++;
  for (int d = 0; d < u->rank; d++) u->origin[d] = *extra++;
  for (int i = 0; i < n; i++) {
    u->extent[i] = *extra++;
    for (int d = 0; d < u->rank; d++) u->step[i][d] = *extra++;
  }
}

static void move(unfold *f, int digit, int64_t by) {
  f->digit[digit] += by;
  for (int d = 0; d < f->u.rank; d++) f->x[d] += by * f->u.step[digit][d];
}

/* Puts an index's digits where it is `at`. */
static void place(unfold *f, int index, int64_t at) {
  const int first = tile_unfold_first(&f->u, index);
  for (int i = first + f->u.n[index] - 1; i >= first; at /= f->u.extent[i--])
    move(f, i, (i == first ? at : at % f->u.extent[i]) - f->digit[i]);
}

/* The next value of the digits first..last; the first goes on beyond its extent. */
static void advance(unfold *f, int first, int last) {
  for (int i = last; i >= first; i--) {
    move(f, i, 1);
    if (i == first || f->digit[i] < f->u.extent[i]) return;
    move(f, i, -f->digit[i]);
  }
}

/* Elements [*from, *to) of the n that follow along digit i lie on the image. */
static void clip(const unfold *f, int i, int64_t n, int64_t *from, int64_t *to) {
  *from = 0, *to = n;
  for (int d = 0; d < f->u.rank; d++) {
    const int64_t step = f->u.step[i][d], x = f->x[d], last = f->ext[d] - 1;
    int64_t low = 0, high = n;
    if (!step) high = x >= 0 && x <= last ? n : 0;
    else if (step > 0) low = x < 0 ? ceil_div(-x, step) : 0, high = x > last ? 0 : (last - x) / step + 1;
    else low = x > last ? ceil_div(x - last, -step) : 0, high = x < 0 ? 0 : x / -step + 1;
    *from = max64(*from, low), *to = min64(*to, high);
  }
  *from = min64(*from, n);
  *to = max64(*to, *from);
}

static int64_t stride_of(const unfold *f, int digit) {
  int64_t n = 0;
  for (int d = 0; d < f->u.rank; d++) n += f->u.step[digit][d] * f->image->strides[d];
  return n;
}

static void copy(const unfold *f, int digit, int64_t from, int64_t n, char *to) {
  const int64_t stride = stride_of(f, digit);
  int64_t at = from * stride;
  for (int d = 0; d < f->u.rank; d++) at += f->x[d] * f->image->strides[d];
  const char *src = f->memory + at * (int64_t)f->size;
  cpuk_copy_args c = {to, src, 0, 1, 0, stride, 1, (size_t)n, f->size};
  if (stride == 1) memcpy(to, src, (size_t)n * f->size);
  else f->v->k->lanes->copy2d(&c);
}

/* How many values of digit i, of n, have all values of the digits behind it, up to `last`, on the image. */
static int64_t whole_on_image(const unfold *f, int i, int last, int64_t n) {
  for (int d = 0; d < f->u.rank; d++) {
    const int64_t step = f->u.step[i][d], edge = f->ext[d] - 1;
    int64_t low = f->x[d], high = low;
    for (int k = i + 1; k <= last; k++) {
      const int64_t reach = f->u.step[k][d] * (f->u.extent[k] - 1);
      if (reach > 0) high += reach;
      else low += reach;
    }
    if (low < 0 || high > edge) return 0;
    if (step > 0) n = min64(n, (edge - high) / step + 1);
    if (step < 0) n = min64(n, low / -step + 1);
  }
  return n;
}

static void copy_box(const unfold *f, int i, int last, int64_t n, char *to) {
  const int64_t inner = f->u.extent[last], stride = stride_of(f, last);
  const int64_t planes = i == last - 2 ? f->u.extent[last - 1] : 1;
  int64_t at = 0;
  for (int d = 0; d < f->u.rank; d++) at += f->x[d] * f->image->strides[d];
  for (int64_t p = 0; p < planes; p++) {
    const char *src = f->memory + (at + p * stride_of(f, last - 1)) * (int64_t)f->size;
    char *dst = to + (size_t)(p * inner) * f->size;
    cpuk_copy_args c = {dst, src, planes * inner, 1, stride_of(f, i), stride, (size_t)n, (size_t)inner, f->size};
    if (planes == 1 && stride == 1 && c.src_rs == inner) memcpy(dst, src, (size_t)(n * inner) * f->size);
    else f->v->k->lanes->copy2d(&c);
  }
}

/* As many elements of the next `left` as the last two or three digits have on the image from here on; how many. */
static int64_t take_box(unfold *f, int first, int last, int64_t left, char *to) {
  for (int i = last - 2; i < last; i++) {
    int64_t inner = f->u.extent[last] * (i == last - 2 ? f->u.extent[last - 1] : 1);
    if (i < first || f->digit[last] || (i == last - 2 && f->digit[last - 1]) || left < inner) continue;
    int64_t n = i == first ? left / inner : min64(f->u.extent[i] - f->digit[i], left / inner);
    if ((n = whole_on_image(f, i, last, n)) < 2) continue;
    copy_box(f, i, last, n, to);
    move(f, i, n - 1);
    for (int k = i + 1; k <= last; k++) move(f, k, f->u.extent[k] - 1);
    advance(f, first, last);
    return n * inner;
  }
  return 0;
}

/* n elements along `index`, from where the digits stand. */
static void line(unfold *f, int index, int64_t n, char *to) {
  const int first = tile_unfold_first(&f->u, index), last = first + f->u.n[index] - 1;
  for (int64_t done = 0, run; done < n; done += run) {
    char *dst = to + (size_t)done * f->size;
    int64_t from, end;
    if ((run = take_box(f, first, last, n - done, dst))) continue;
    run = last == first ? n - done : min64(f->u.extent[last] - f->digit[last], n - done);
    clip(f, last, run, &from, &end);
    if (from) memset(dst, 0, (size_t)from * f->size);
    if (end > from) copy(f, last, from, end - from, dst + (size_t)from * f->size);
    if (run > end) memset(dst + (size_t)end * f->size, 0, (size_t)(run - end) * f->size);
    move(f, last, run - 1);
    advance(f, first, last);
  }
}

void vm_unfold(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]);
  unfold f = {.v = v, .image = vm_desc(v, i->a[1])};
  f.ext = vm_ext(v, f.image), f.memory = vm_base(v, f.image), f.size = tsr_dtype_size((tsr_dtype)out->dtype);
  for (int k = 0; k < UNFOLD_N_INDICES; k++) f.at[k] = v->t->regs[i->a[2 + k]].i;
  vm_unfold_map(cpu_extra(v->m->image) + i->extra, f.image->rank, &f.u);
  memcpy(f.x, f.u.origin, sizeof f.x);
  place(&f, UNFOLD_BATCH, f.at[UNFOLD_BATCH]);
  const int along = i->imm ? UNFOLD_ROW : UNFOLD_COLUMN, across = i->imm ? UNFOLD_COLUMN : UNFOLD_ROW;
  const int64_t lines = min64(out->dims[0], tile_unfold_extent(&f.u, across) - f.at[across]),
                n = max64(0, min64(out->dims[1], tile_unfold_extent(&f.u, along) - f.at[along]));
  for (int64_t k = 0; k < out->dims[0]; k++) {
    char *to = vm_base(v, out) + (size_t)(k * out->strides[0]) * f.size;
    const int64_t there = k < lines ? n : 0;
    if (there) {
      place(&f, across, f.at[across] + k);
      place(&f, along, f.at[along]);
      line(&f, along, there, to);
    }
    memset(to + (size_t)there * f.size, 0, (size_t)(out->dims[1] - there) * f.size);
  }
}
