/* The convolution kernels of every instruction set that this machine has: rows and strips of every number that tiles
 * are made for and more strips than get all their rows at once, chains in one and in several steps, strips whose places
 * are a few of their lanes, and that nothing else of the result is written. */
#include "tests/support/cpu_kernels_test.h"

enum { MOST_ROWS = 15, MOST_STRIPS = 101, MOST_K = 40, MOST_LANES = 32, IMAGE = 600, LINE = MOST_STRIPS * MOST_LANES };

typedef struct problem {
  size_t m, k, n_strips;
  cpuk_convolve_strip strips[MOST_STRIPS];
  int32_t offsets[MOST_K];
  float a[MOST_ROWS * MOST_K], image[IMAGE];
} problem;

/* Places one behind the other in the result; all lanes, the first ones, or any. */
static void draw(problem *p, int width) {
  int32_t to = 0;
  for (size_t i = 0; i < sizeof p->a / sizeof *p->a; i++) p->a[i] = (float)test_unit();
  for (size_t i = 0; i < IMAGE; i++) p->image[i] = (float)test_unit();
  for (size_t i = 0; i < p->k; i++) p->offsets[i] = (int32_t)(test_u32() % 200);
  for (size_t i = 0; i < p->n_strips; i++) {
    const uint32_t all = (uint32_t)(((uint64_t)1 << width) - 1), form = test_u32() % 3;
    cpuk_convolve_strip *s = &p->strips[i];
    *s = (cpuk_convolve_strip){.from = (int32_t)(test_u32() % 300), .to = to, .lanes = all};
    if (form == 1) s->lanes >>= test_u32() % (uint32_t)width;
    if (form == 2) s->lanes &= test_u32() | 1u << test_u32() % (uint32_t)width;
    for (int l = 0; l < width; l++) s->n += s->lanes >> l & 1;
    to += s->n;
  }
}

/* The sum's terms in order, in f64; the tolerance is that of as many roundings. */
static void compare(const char *who, const problem *p, int width, const float *c) {
  for (size_t i = 0; i < p->m; i++) {
    int32_t end = 0;
    for (size_t s = 0; s < p->n_strips; s++)
      for (int l = 0, j = 0; l < width; l++) {
        if (!(p->strips[s].lanes >> l & 1)) continue;
        double want = 0, bound = 0;
        for (size_t q = 0; q < p->k; q++) {
          const double x = (double)p->a[i * MOST_K + q] * (double)p->image[p->strips[s].from + l + p->offsets[q]];
          want += x, bound += fabs(x);
        }
        const double got = (double)c[i * LINE + (size_t)(end = p->strips[s].to + j++)];
        CHECK(fabs(got - want) <= bound * (double)(p->k + 1) * 0x1p-24, "%s: %zu rows, %zu strips, k %zu: %g for %g",
              who, p->m, p->n_strips, p->k, got, want);
      }
    for (size_t j = p->n_strips ? (size_t)end + 1 : 0; j < LINE; j++)
      CHECK(c[i * LINE + j] == 77, "%s: %zu rows, %zu strips: written behind the places", who, p->m, p->n_strips);
  }
}

int main(void) {
  static const size_t depths[] = {0, 1, 9, MOST_K}, steps[] = {0, 4, 9, MOST_K};
  static problem p;
  static float c[MOST_ROWS * LINE], sums[MOST_ROWS * CPUK_CONVOLVE_PLACES];
  const cpuk_table *t;
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++) {
    const int width = t->lanes->convolve_width;
    for (p.m = 1; p.m <= MOST_ROWS; p.m++)
      for (p.n_strips = 0; p.n_strips <= MOST_STRIPS; p.n_strips += p.n_strips < 14 ? 1 : 29)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
          p.k = depths[d];
          draw(&p, width);
          for (size_t j = 0; j < MOST_ROWS * LINE; j++) c[j] = 77;
          t->lanes->convolve(&(cpuk_convolve_args){.c = c, .ldc = LINE, .a = p.a, .lda = MOST_K, .image = p.image,
                                                   .offsets = p.offsets, .strips = p.strips, .n_strips = p.n_strips,
                                                   .m = p.m, .k = p.k, .k_step = steps[test_u32() % 4],
                                                   .sums = sums});
          compare(t->features, &p, width, c);
        }
  }
  return test_report("test_cpu_convolve");
}
