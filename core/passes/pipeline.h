/* core/passes/pipeline.h - the passes from Graph IR to Target IR, in order, as rows of one table; one loop runs those
 * that a program needs, with the verifier behind them. What only the runtime knows (schedules given by hand, the tuner,
 * registered custom ops) comes in as functions. */
#ifndef CORE_PASSES_PIPELINE_H
#define CORE_PASSES_PIPELINE_H
#include "core/device/backend.h"
#include "core/ir/ir.h"
#include "core/passes/switches.h"
#include "tessera/tessera.h"

typedef struct pass_row pass_row;

/* What one pass took: its own time, that of the verifier behind it, and by how much the memory of its levels grew. */
typedef struct pass_cost { double ns, verify_ns; size_t bytes; bool ran; } pass_cost;

typedef struct pipeline {
  ir_module **levels; /* by tsr_level, to TSR_LEVEL_TARGET; the first one given, the lower ones made here */
  const tsr_caps *caps;
  pass_options options;  /* its trace may be NULL */
  const char *policy;    /* "fast", ... */
  tsr_precision precision;
  bool error_if_illegal; /* a schedule that breaks a limit; else it is changed to fit */
  void *user;            /* of all functions below, which may be NULL */
  bool (*suggest)(void *user, const be_matmul *desc, int64_t tile[3]); /* see tile_options */
  tsr_status (*by_hand)(void *user, ir_module *schedule);  /* schedules and switches that the caller gave */
  tsr_status (*tune)(void *user, ir_module *schedule);     /* searched and cached schedules */
  tsr_status (*fitted)(void *user, ir_module *schedule);   /* told once the schedules are those that will run */
  /* Custom ops, and what the device adds to kernels; what a text of Target IR lacks to run. What they change is
   * verified behind them: they say so in *changed, which is false before. */
  tsr_status (*custom)(void *user, ir_module *tile, bool *changed);
  tsr_status (*link)(void *user, ir_module *target, bool *changed);
  void (*after)(void *user, const pass_row *row, const ir_module *m); /* m: what the pass changed or made */
  pass_cost *costs; /* one a row, or NULL */
  void (*lowered)(void *user, tsr_level level);                       /* no pass changes that level any more */
} pipeline;

struct pass_row {
  const char *name;
  tsr_level from, to; /* equal: within the level; else *to is made, and `from` stays as it is */
  tsr_status (*run)(const pipeline *p, ir_module *m, ir_module **out);
  bool verifies; /* ends with the verifier itself. Else the loop verifies after it only in builds with assertions or a
                    sanitizer, or where TSR_VERIFY=all: what such a pass changes, a later one verifies, and behind
                    custom and link the pass itself, where they say that they changed anything */
  const char *help;
};

/* The table's rows in the order in which they run. */
const pass_row *pipeline_rows(size_t *n);
/* Runs the rows from `first` on; p->levels[first] is verified IR. */
TSR_MUST_USE tsr_status pipeline_run(const pipeline *p, tsr_level first);
/* NULL, or a status that names the pass which there is not, and all that there are. */
TSR_MUST_USE tsr_status pipeline_check_pass(const tsr_allocator *al, const char *where, const char *what,
                                            const char *name, size_t n);
/* Is there a word "after:NAME" in the list for that pass? */
bool pipeline_dumps_after(const char *list, const pass_row *row);
/* NULL, or a status that names the first "after:NAME" of the list (TSR_DUMP) without such a pass, and all passes. */
TSR_MUST_USE tsr_status pipeline_check_dump(const tsr_allocator *al, const char *list);
#endif
