/* core/base/knob.h - environment knobs: one row each, {name, default, type, help}. Read when a context is made or a
 * backend is opened, never cached in a global. */
#ifndef CORE_BASE_KNOB_H
#define CORE_BASE_KNOB_H
#include "tessera/base.h"

typedef enum knob_type { KNOB_STRING, KNOB_INT, KNOB_BOOL, KNOB_LIST } knob_type;
typedef struct knob {
  const char *name, *dflt;
  knob_type type;
  const char *help;
} knob;

/* All knobs; *n receives their number. */
const knob *knob_table(size_t *n);
/* The value set in the environment, else the default. The name must be in the table. Empty counts as unset. */
const char *knob_str(const char *name);
int64_t knob_int(const char *name);
bool knob_bool(const char *name);
/* Is `item` in the comma-separated value? */
bool knob_has(const char *name, const char *item);
#endif
