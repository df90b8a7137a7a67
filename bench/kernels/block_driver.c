/* block_driver.c - products with matrices in block formats, one thread: GB/s of blocks of one row of x (from L2, and
 * from memory), Gop/s of 64 rows, of each format and instruction set.
 * usage: block_driver [isa [format]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cpu/kernels/kernels.h"
#include "core/base/block_product.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Seconds of a product: the median of as many as fit into a tenth of a second. */
static double seconds(const block_kernels *kernels, const block_product *p) {
  double t[2000];
  int n = 0;
  for (double begin = now(); n < 2000 && (n < 3 || now() - begin < 0.1); n++) {
    const double from = now();
    kernels->multiply(p);
    t[n] = now() - from;
  }
  qsort(t, (size_t)n, sizeof *t, compare);
  return t[n / 2];
}

static double measure(const block_kernels *kernels, const block_format *f, int64_t n, int64_t rows, int64_t k) {
  block_product p = {.format = f, .rows = rows, .k = k, .n = n, .ldy = rows};
  const size_t bytes = ((size_t)rows * block_row_bytes(&p) + 63) & ~(size_t)63;
  unsigned char *w = aligned_alloc(64, bytes);
  float *x = malloc((size_t)(n * k) * sizeof *x);
  p.q = aligned_alloc(64, (kernels->rounded_bytes(n, k) + 63) & ~(size_t)63);
  p.y = malloc((size_t)(n * rows) * sizeof(float));
  if (!w || !x || !p.q || !p.y) exit(1);
  for (size_t i = 0; i < bytes; i++) w[i] = (unsigned char)(i * 2654435761u >> 13 & 0x3b);
  for (int64_t i = 0; i < n * k; i++) x[i] = (float)(i % 23) - 11;
  p.w = w, p.x = x;
  kernels->round(&p, 0, n);
  const double s = seconds(kernels, &p);
  free(p.y), free(p.q), free(x), free(w);
  return s;
}

int main(int argc, char **argv) {
  const cpuk_table *t;
  printf("%-9s %-7s %9s %9s %9s\n", "isa", "format", "L2 GB/s", "mem GB/s", "64 Gop/s");
  for (size_t isa = 0; (t = cpuk_available(isa)) != NULL; isa++)
    for (size_t i = 0; block_format_at(i); i++) {
      const block_format *f = block_format_at(i);
      if (!f->unpack || (argc > 1 && strcmp(argv[1], t->isa) != 0) || (argc > 2 && strcmp(argv[2], f->name) != 0))
        continue;
      const double blocks = 1536.0 / f->elements * f->bytes, ops = 2.0 * 64 * 512 * 1536;
      const double l2 = measure(t->blocks, f, 1, 256, 1536), memory = measure(t->blocks, f, 1, 65536, 1536);
      const double many = measure(t->blocks, f, 64, 512, 1536);
      printf("%-9s %-7s %9.1f %9.1f %9.0f\n", t->isa, f->name, 256e-9 * blocks / l2, 65536e-9 * blocks / memory,
             1e-9 * ops / many);
    }
  return 0;
}
