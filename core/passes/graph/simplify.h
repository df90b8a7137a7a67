/* core/passes/graph/simplify.h - algebraic rewrites of Graph IR: named rules, each with its own switch
 * (TSR_DISABLE=rewrites or the rule's name), a trace line when it fires and, where it nearly did, the reason why not.
 * Every rule keeps the values within the original's tolerance (tests compare both sides on the oracle). Rules that
 * change rounding are refused under pass_options.exact. An application's rules (graph/user_rule.h) are tried behind the
 * library's. */
#ifndef CORE_PASSES_GRAPH_SIMPLIFY_H
#define CORE_PASSES_GRAPH_SIMPLIFY_H
#include "core/passes/switches.h"

/* All rules by name, for documents and switches. */
typedef struct graph_rule_info {
  const char *name, *help;
  bool rounds; /* may change rounding */
} graph_rule_info;
size_t graph_simplify_rules(graph_rule_info *out, size_t cap);

/* Rewrites func in place until no rule fires. */
tsr_status graph_simplify(ir_op *func, const pass_options *opts);
/* All functions of a module, then verifies. */
tsr_status graph_simplify_module(ir_module *m, const pass_options *opts);
/* The application's rules alone (pass_options.rules), on the functions as they are: before composite ops are expanded
 * and the library's own rules change what a pattern was written for. */
tsr_status graph_apply_rules_module(ir_module *m, const pass_options *o);
/* TSR_INVALID_ARGUMENT: the rule fires on what it gives, and on what that gives, without end. */
struct user_rule;
TSR_MUST_USE tsr_status graph_rule_ends(const tsr_allocator *al, const struct user_rule *r);
#endif
