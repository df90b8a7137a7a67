/* tests/unit/weights_read.h - what tests of the readers of weight files ask: refused with one line, every damage found,
 * tensors and their bytes. */
#ifndef TESTS_UNIT_WEIGHTS_READ_H
#define TESTS_UNIT_WEIGHTS_READ_H
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/import/weights.h"
#include "tests/support/weights_build.h"
#include "tests/support/weights_check.h"

/* In memory of exactly this size, so that the sanitizer sees a read behind its end. */
static inline void refused(const void *p, size_t n, const char *says) {
  weights *w;
  void *exact = malloc(n ? n : 1);
  memcpy(exact, p, n);
  tsr_status st = weights_parse(NULL, exact, n, "file", &w);
  const char *text = tsr_status_message(st);
  if (!st || w || !strstr(text, "file") || !strstr(text, says) || strchr(text, '\n'))
    print_message("expected one line with \"%s\": %s\n", says, text);
  assert_true(st && !w && strstr(text, "file") && strstr(text, says) && !strchr(text, '\n'));
  tsr_status_free(st);
  free(exact);
}

/* Refused at every length; at every flipped bit refused or sound. */
static inline void damage(const unsigned char *p, size_t n) {
  bool was_refused;
  for (size_t cut = 0; cut < n; cut++) {
    void *exact = malloc(cut ? cut : 1);
    memcpy(exact, p, cut);
    const char *wrong = weights_wrong(exact, cut, &was_refused);
    if (wrong || !was_refused) print_message("cut at %zu: %s\n", cut, wrong ? wrong : "taken");
    assert_true(!wrong && was_refused);
    free(exact);
  }
  unsigned char *copy = malloc(n);
  for (size_t bit = 0; bit < 8 * n; bit++) {
    memcpy(copy, p, n);
    copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
    const char *wrong = weights_wrong(copy, n, &was_refused);
    if (wrong) print_message("bit %zu: %s\n", bit, wrong);
    assert_null(wrong);
  }
  free(copy);
}

static inline const weights_tensor *get(const weights *w, const char *name, const char *type, int rank, int64_t d0,
                                 int64_t d1) {
  const weights_tensor *t = weights_find(w, name);
  assert_non_null(t);
  assert_string_equal(t->type, type);
  assert_int_equal(t->shape.rank, rank);
  if (rank > 0) assert_int_equal(t->shape.dims[0], d0);
  if (rank > 1) assert_int_equal(t->shape.dims[1], d1);
  return t;
}

static inline void holds(const weights *w, const weights_tensor *t, const void *want, size_t bytes) {
  unsigned char got[4096];
  assert_null(weights_read(w, t, got, bytes));
  assert_memory_equal(got, want, bytes);
}

static const float six[6] = {1, 2, 3, 4, 5, 6}, turned[6] = {1, 4, 2, 5, 3, 6};

#endif
