/* core/passes/switches.h - what every pass is told; plain data, no globals. */
#ifndef CORE_PASSES_SWITCHES_H
#define CORE_PASSES_SWITCHES_H
#include "core/passes/trace.h"

/* The zero value means: everything on, no trace. */
typedef struct pass_options {
  const char *disable; /* comma-separated groups (rewrites, fusion) and rule names, as TSR_DISABLE; NULL = none */
  bool routines;       /* the device is the host: its routines cost no copies */
  bool windows;        /* its products read windows over an image in place */
  bool no_host;        /* another device, and what it leaves to the host is an error */
  bool attention_backward; /* there is a kernel for the gradients of attention, in the types that they have */
  bool exact;          /* deterministic policies: no rewrite that changes rounding */
  pass_trace *trace;   /* may be NULL */
  const struct user_rule *const *rules; /* the application's, in the order in which they are tried */
  int n_rules;
} pass_options;

/* Is the rule switched on: neither it nor its group is in the disable list? */
bool pass_enabled(const pass_options *o, const char *group, const char *rule);
/* NULL, or a status that names the first word of the list that is no switch, and all that are. `from`: where the list
 * comes from. Words with a '.' are applications' rules, which each compilation looks for. */
tsr_status pass_check_disable(const tsr_allocator *al, const char *from, const char *list);
#endif
