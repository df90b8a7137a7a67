/* tests/support/graph_text.h - helpers of the Graph IR tests: wrap a body in a function, parse, evaluate on random
 * data. */
#ifndef TESTS_SUPPORT_GRAPH_TEXT_H
#define TESTS_SUPPORT_GRAPH_TEXT_H
#include "core/ir/graph/eval.h"

/* "%A: tensor<..>, .." + body lines + "%0, %1" + their types: the text of a module with one function. Static memory, 64
 * KiB. */
const char *gt_func(const char *args, const char *body, const char *results, const char *types);
/* Parses or fails the program with the message. */
ir_module *gt_parse(const char *text);
/* The message of the failure that parsing gives, "" if it parses. Static memory. */
const char *gt_error(const char *text);
/* Does message hold what? Prints both if not. */
bool gt_says(const char *message, const char *what);

/* Random inputs for func (uniform in [lo, hi], rounded to the arguments' types; bools and integers too); free with
 * gt_free. */
typedef struct gt_data {
  int n;
  void *p[32];
  size_t bytes[32];
} gt_data;
gt_data gt_random(const ir_op *func, unsigned seed, double lo, double hi);
gt_data gt_outputs(const ir_op *func);
void gt_free(gt_data *d);

/* Evaluates both functions on the same random inputs and compares every output within a's tolerance (times `slack`).
 * Prints the first difference. */
bool gt_same(ir_op *a, ir_op *b, unsigned seed, double lo, double hi);

/* The function that a Schedule IR program computes, with its kernels inlined. */
ir_module *gt_flatten(const ir_module *schedule);
#endif
