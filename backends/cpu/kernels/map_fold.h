/* Folds in elementwise programs of the micro-kernel `map`: steps of one code that follow one another, each of which
 * takes the result of the one before as its operand a, and nothing else does. So a window's maximum or sum is one loop
 * that keeps its results in registers, and reads its operands where they lie. Found when a program is planned. */
#ifndef BACKENDS_CPU_KERNELS_MAP_FOLD_H
#define BACKENDS_CPU_KERNELS_MAP_FOLD_H
#include <stdbool.h>

#include "backends/cpu/kernels/kernels.h"

static inline bool cpuk_map_folds(uint8_t code) {
  return code == SC_ADD || code == SC_MIN || code == SC_MAX;
}
/* How many of the steps behind this one are of the fold that it begins: said by `predicate`, which only a select has
 * otherwise. */
static inline size_t cpuk_map_fold_more(const cpuk_map_step *t) { return cpuk_map_folds(t->code) ? t->predicate : 0; }

static inline bool cpuk_map_reads(const cpuk_map_step *t, uint8_t reg) {
  return t->a == reg || t->b == reg || t->c == reg || t->d == reg;
}

/* Two additions are as well a chain, which goes on with what stands behind them: a product's bias, its residual and a
 * relu, say. */
static inline bool cpuk_map_fold_pays(uint8_t code, size_t more) { return code != SC_ADD || more != 1; }

/* Finds the folds among n steps that vary; what nothing reads is the program's result. */
static inline void cpuk_map_find_folds(cpuk_map_step *steps, size_t n) {
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && cpuk_map_folds(steps[i].code); end++) {
      const cpuk_map_step *t = &steps[end];
      const uint8_t between = steps[end - 1].dst;
      size_t readers = 0;
      for (size_t k = end; k < n; k++) readers += cpuk_map_reads(&steps[k], between);
      if (t->code != steps[i].code || t->a != between || t->b == between || readers != 1) break;
    }
    const size_t more = end - 1 - i;
    if (cpuk_map_folds(steps[i].code)) steps[i].predicate = cpuk_map_fold_pays(steps[i].code, more) ? (uint8_t)more : 0;
  }
}

#endif
