/* core/base/knob.h - environment knobs: one row each, {name, default, type, words or bounds, help}. Read when a context
 * is made or a backend is opened, never cached in a global. knob_check is the one place where a value is judged: a
 * context is made only after it, so the readers below never meet a word that the table does not have. */
#ifndef CORE_BASE_KNOB_H
#define CORE_BASE_KNOB_H
#include "core/base/status.h"

typedef enum knob_type {
  KNOB_TEXT,    /* anything: paths */
  KNOB_SWITCH,  /* TEXT whose empty value is a value of its own, "off" */
  KNOB_WORD,    /* one of `words` */
  KNOB_LIST,    /* comma-separated `words`; "name:N" stands for a name and a number, "name:PASS" for a pass */
  KNOB_INT,     /* from `least` to `most` */
  KNOB_BOOL,    /* 1, 0, on, off, true, false, yes, no */
  KNOB_DEVICES, /* a list of device ids: what is before the colon is checked against the context's backends */
  KNOB_RULES    /* a list of switches and rules: checked against the passes' own table */
} knob_type;

typedef struct knob {
  const char *name, *dflt;
  knob_type type;
  const char *words; /* of WORD and LIST */
  int64_t least, most; /* of INT */
  const char *help;
} knob;

/* All knobs; *n receives their number. */
const knob *knob_table(size_t *n);
/* The value set in the environment, else the default. The name must be in the table. Empty counts as unset but for a
 * SWITCH. */
const char *knob_str(const char *name);
int64_t knob_int(const char *name);
bool knob_bool(const char *name);
/* Is `item` in the comma-separated value? */
bool knob_has(const char *name, const char *item);

/* What may stand in a row, as one text: "auto, coopmat", "0 to 256". */
void knob_values(const knob *k, char *out, size_t cap);
/* NULL, or TSR_INVALID_ARGUMENT that names the knob, the word, and in its hint what is known. DEVICES and RULES are the
 * caller's to check. */
TSR_MUST_USE tsr_status knob_check(const tsr_allocator *al);
/* The next variable of the environment that begins with TSR_ and is no knob nor one of the test suite's own; *at starts
 * at 0. `near` receives the knob that its name is closest to, "" when none is close. False: no more. */
bool knob_unknown(size_t *at, char *name, size_t cap, const char **near);
#endif
