/* core/base/status.h - making and passing on statuses. The message is made once, where the cause is known. */
#ifndef CORE_BASE_STATUS_H
#define CORE_BASE_STATUS_H
#include "core/base/alloc.h"

/* Where an error happened; any part may be NULL. */
typedef struct st_where {
  const char *level; /* "graph", "tile", "runtime", "cpu", ... */
  const char *op;    /* op or function name */
  const char *hint;  /* what the user can do */
} st_where;

/* Never NULL: falls back to the static out-of-memory status when there is no memory for the record. Strings are copied.
 */
tsr_status st_make(const tsr_allocator *al, tsr_code code, st_where where, const char *fmt, ...) TSR_PRINTF(4, 5);
/* The static out-of-memory status; freeing it does nothing. */
tsr_status st_oom(void);
/* Frees `s` and returns its code: for places that only branch on it. */
tsr_code st_take_code(tsr_status s);

#define ST_WHERE(level_, op_, hint_) ((st_where){.level = (level_), .op = (op_), .hint = (hint_)})
/* Returns from the function on failure. */
#define TSR_TRY(expr)                      \
  do {                                     \
    tsr_status try_status_ = (expr);       \
    if (try_status_) return try_status_;   \
  } while (0)
/* Jumps to `done` on failure with `st` set. */
#define TSR_GOTO(expr)                     \
  do {                                     \
    st = (expr);                           \
    if (st) goto done;                     \
  } while (0)
#endif
