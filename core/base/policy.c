/* core/base/policy.c - see policy.h. */
#include "core/base/policy.h"

#include <string.h>

#define ROW(id, word, help) [TSR_POLICY_##id] = {word, help},
static const struct { const char *word, *help; } rows[] = {
    [TSR_POLICY_DEFAULT] = {POLICY_DEFAULT_WORD, "the enclosing scope's policy"}, POLICIES(ROW)};
enum { N_ROWS = sizeof rows / sizeof *rows };

const char *policy_name(tsr_policy p) { return rows[(unsigned)p < N_ROWS ? p : TSR_POLICY_DEFAULT].word; }
const char *policy_help(tsr_policy p) { return rows[(unsigned)p < N_ROWS ? p : TSR_POLICY_DEFAULT].help; }

tsr_policy policy_named(const char *word) {
  for (int i = TSR_POLICY_DEFAULT + 1; word && i < N_ROWS; i++)
    if (!strcmp(word, rows[i].word)) return (tsr_policy)i;
  return TSR_POLICY_DEFAULT;
}

#undef ROW
#define ROW(id, word, help) [TSR_PRECISION_##id] = {word, help},
static const struct { const char *word, *help; } modes[] = {PRECISIONS(ROW)};
enum { N_MODES = sizeof modes / sizeof *modes };

const char *precision_name(tsr_precision p) { return modes[(unsigned)p < N_MODES ? p : TSR_PRECISION_STANDARD].word; }
const char *precision_help(tsr_precision p) { return modes[(unsigned)p < N_MODES ? p : TSR_PRECISION_STANDARD].help; }

bool precision_named(const char *word, tsr_precision *out) {
  for (int i = 0; word && i < N_MODES; i++)
    if (!strcmp(word, modes[i].word)) return *out = (tsr_precision)i, true;
  return false;
}
