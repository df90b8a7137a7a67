/* core/passes/graph/user_rule.h - rewrite rules that an application gives as text: a function `pattern` and a function
 * `replacement` with the same arguments, the holes. A rule is checked when it is made and never changes after it: any
 * number of threads may apply it. Where a rule fires is graph/simplify.c's. */
#ifndef CORE_PASSES_GRAPH_USER_RULE_H
#define CORE_PASSES_GRAPH_USER_RULE_H
#include "core/ir/graph/ops.h"

/* What can be read of one pattern: values, holes among them, and commuting operations, whose orders are all tried. */
enum { RULE_MOST_VALUES = 64, RULE_MOST_COMMUTING = 8 };

struct graph_evaluator;

typedef struct user_rule {
  const char *name;
  const char *text; /* IR text of the two functions */
  size_t text_bytes;
  uint64_t types;   /* bits of the element types that the first hole's stands for; 0: that one */
  bool any_shape;   /* holes take values of any shape */
  bool rounds;      /* may change rounding */
  bool shared;      /* fires also where something else needs a value inside the pattern */
  bool unchecked;   /* the values are equal only where `fits` says so: not compared */
  /* All three may be NULL. fits: whether it may fire with these values in the holes; else one line to why. infer: the
   * type of a custom op's result. eval: as graph_custom_fn. */
  bool (*fits)(void *user, const struct user_rule *r, ir_value *const *holes, char *why, size_t why_bytes);
  tsr_status (*infer)(void *user, ir_op *op, const ir_type **result);
  tsr_status (*eval)(void *eval_user, struct graph_evaluator *e, ir_op *op);
  void *user, *eval_user;
  /* Filled by user_rule_make: */
  ir_module *m;
  ir_op *pattern, *replacement; /* functions */
  tsr_dtype written;            /* the first hole's element type */
} user_rule;

/* Reads and checks what stands above m. TSR_PARSE_ERROR, TSR_VERIFY_ERROR or TSR_INVALID_ARGUMENT says in one line what
 * is wrong: a hole that the pattern doesn't bind, types that differ. Whether the rule comes to an end is
 * graph/simplify.h's graph_rule_ends, whether the values are equal user_rule_check_values. */
TSR_MUST_USE tsr_status user_rule_make(const tsr_allocator *al, user_rule *r);
void user_rule_clear(user_rule *r);

/* What takes the place of op's result, built at b (which is before op); NULL: no match, out of memory (b->failed), or
 * refused: why then holds one line, else "". */
ir_value *user_rule_apply(const user_rule *r, ir_builder *b, ir_op *op, char *why, size_t why_bytes);

/* Copies what `func`, the rule's pattern or replacement, computes to b, with `holes` for its arguments and the element
 * type t for the written one. *out stays NULL where the ops' rules refuse that; why says so. */
TSR_MUST_USE tsr_status user_rule_build(const user_rule *r, const ir_op *func, ir_builder *b, ir_value *const *holes,
                                        tsr_dtype t, ir_value **out, char *why, size_t why_bytes);

/* graph/user_rule_check.c: both functions on random inputs, by the oracle. TSR_INVALID_ARGUMENT: values differ. */
TSR_MUST_USE tsr_status user_rule_check_values(const tsr_allocator *al, const user_rule *r);
#endif
