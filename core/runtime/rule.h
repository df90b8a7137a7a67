/* core/runtime/rule.h - the application's rewrite rules within a context. */
#ifndef CORE_RUNTIME_RULE_H
#define CORE_RUNTIME_RULE_H
#include "core/passes/graph/user_rule.h"
#include "core/runtime/internal.h"

typedef struct rt_rule rt_rule;

/* Those registered by now as a compilation's, in the order of registration: an array of a, rules of the context. Checks
 * that what o switches off by a name with a '.' is among them. */
TSR_MUST_USE tsr_status rt_rules(tsr_context *c, arena *a, pass_options *o);
/* Frees all. */
void rt_rule_clear(tsr_context *c);
#endif
