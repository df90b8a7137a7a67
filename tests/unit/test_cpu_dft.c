/* tests/unit/test_cpu_dft.c - the CPU's transforms of lines, on every instruction set that the machine has: every
 * radix, convolutions, all ways in which lines lie, fewer lines than lanes, twiddle factors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/dft_plan.h"

enum { MOST_LINES = 16, GUARD = 8 };

typedef struct lines {
  bool f64, inverse, in_row;
  size_t n, count, twiddled;
  cpuk_dft_side in, out;
  double scale;
} lines;

static double number(const lines *l, const char *x, ptrdiff_t at) {
  return l->f64 ? ((const double *)(const void *)x)[at] : (double)((const float *)(const void *)x)[at];
}
static void put(const lines *l, char *x, ptrdiff_t at, double v) {
  if (l->f64) ((double *)(void *)x)[at] = v;
  else ((float *)(void *)x)[at] = (float)v;
}

/* Number k of line i, by the definition. */
static double complex sum_of(const lines *l, const char *x, size_t i, size_t k, size_t place) {
  const double pi = 3.14159265358979323846, sign = l->inverse ? 2 : -2;
  double complex y = 0;
  for (size_t j = 0; j < l->n; j++) {
    const ptrdiff_t at = l->in.line[i] + (ptrdiff_t)j * l->in.point;
    const double a = sign * pi * (double)(j * k % l->n) / (double)l->n;
    y += (number(l, x, at) + I * number(l, x, at + l->in.part)) * (cos(a) + I * sin(a));
  }
  if (!l->twiddled) return l->scale * y;
  const double a = sign * pi * (double)(k * place) / (double)(l->n * l->twiddled);
  return l->scale * y * (cos(a) + I * sin(a));
}

static void check(const cpuk_table *t, const lines *l) {
  const size_t size = l->f64 ? 8 : 4, bytes = (2 * MOST_LINES * l->n + GUARD) * 2 * size;
  dft_plan *p = dft_plan_create(NULL, t->dft, l->f64, l->n, l->twiddled);
  assert_non_null(p);
  char *x = malloc(bytes), *y = malloc(bytes);
  void *scratch = aligned_alloc(64, cpuk_dft_scratch_bytes(t->dft, l->f64, p->p.length) + 64);
  size_t place[MOST_LINES];
  uint64_t s = l->n;
  for (size_t i = 0; i < bytes / size; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    put(l, x, (ptrdiff_t)i, (double)(s >> 40) / (1 << 23) - 1);
    put(l, y, (ptrdiff_t)i, 77);
  }
  for (size_t i = 0; i < l->count; i++) place[i] = l->twiddled ? (3 + i) % l->twiddled : 0;
  if (l->in_row) assert_true(place[l->count - 1] < (size_t)t->dft->lanes[l->f64]);
  t->dft->lines[l->f64](&(cpuk_dft_args){.plan = &p->p, .x = x, .y = y, .in = l->in, .out = l->out, .n_lines = l->count,
                                         .place = place, .in_row = l->in_row, .scale = l->scale,
                                         .inverse = l->inverse, .scratch = scratch});
  const size_t step = l->n > 300 ? l->n / 37 : 1;
  for (size_t i = 0; i < l->count; i++)
    for (size_t k = 0; k < l->n; k += step) {
      const ptrdiff_t at = l->out.line[i] + (ptrdiff_t)k * l->out.point;
      const double complex want = sum_of(l, x, i, k, place[i]),
                           got = number(l, y, at) + I * number(l, y, at + l->out.part);
      /* Each of log2(length) passes rounds an element of magnitude up to sqrt(2 n) four times; a convolution has two
       * transforms and three products. */
      const double unit = l->f64 ? 0x1p-53 : 0x1p-24,
                   tolerance = fabs(l->scale) * unit * 12 * (2 + log2((double)p->p.length)) * sqrt(2.0 * (double)l->n);
      if (!(cabs(got - want) <= tolerance))
        fail_msg("%s f%d n %zu line %zu of %zu number %zu: off by %g, tolerance %g", t->isa, l->f64 ? 64 : 32, l->n, i,
                 l->count, k, cabs(got - want), tolerance);
    }
  size_t written = 0;
  for (size_t i = 0; i < bytes / size; i++) written += number(l, y, (ptrdiff_t)i) != 77;
  assert_true(written <= 2 * l->n * l->count); /* nothing beside its own elements */
  dft_plan_destroy(NULL, &p);
  free(scratch);
  free(x);
  free(y);
}

/* Lines of n points: 0: one after the other, 1: beside one another, 2: in reverse, all real parts
 * before the imaginary ones. */
static void lay(lines *l, cpuk_dft_side *s, ptrdiff_t *line, int how) {
  const ptrdiff_t n = (ptrdiff_t)l->n, count = (ptrdiff_t)l->count;
  *s = (cpuk_dft_side){how == 0 ? 2 : how == 1 ? 2 * count : count, how == 2 ? n * count : 1, line};
  for (ptrdiff_t i = 0; i < count; i++) line[i] = how == 0 ? 2 * n * i : how == 1 ? 2 * i : count - 1 - i;
}

static void transforms_of_every_set_are_the_sums(void **state) {
  static const size_t sizes[] = {1,  2,  3,  4,  5,   7,   8,   9,   11,  13,  16,  17,  30,
                                 32, 64, 77, 97, 128, 143, 210, 256, 512, 521, 1000, 2048, 2053};
  const cpuk_table *t;
  int round = 0;
  for (size_t i = 0; (t = cpuk_available(i)); i++) {
    if (i && t->dft == cpuk_available(i - 1)->dft) continue;
    for (int f64 = 0; f64 < 2; f64++)
      for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++, round++) {
        const size_t lanes = (size_t)t->dft->lanes[f64];
        ptrdiff_t in[MOST_LINES], out[MOST_LINES];
        lines l = {.f64 = f64, .inverse = round % 2, .n = sizes[k], .scale = round % 3 ? 1 : 0.375};
        for (int how = 0; how < (sizes[k] > 512 ? 3 : 9); how++) {
          l.count = how % 2 ? lanes : 1 + (size_t)(round + how) % lanes;
          l.twiddled = how == 2 || how == 4 || how == 6 ? 5 + lanes : 0;
          l.in_row = how == 6 && lanes > 3;
          if (l.in_row && l.count > lanes - 3) l.count = lanes - 3;
          lay(&l, &l.in, in, how % 3);
          lay(&l, &l.out, out, how / 3 % 3);
          check(t, &l);
        }
      }
  }
}

static void a_plan_has_no_factor_beyond_the_radices(void **state) {
  for (size_t n = 1; n <= 3000; n++) {
    const size_t length = dft_plan_length(n);
    size_t left = length;
    for (size_t f = 2; f <= 13; f++)
      while (left % f == 0) left /= f;
    assert_int_equal(left, 1);
    assert_true(length == n || length >= 2 * n - 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transforms_of_every_set_are_the_sums),
      cmocka_unit_test(a_plan_has_no_factor_beyond_the_radices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
