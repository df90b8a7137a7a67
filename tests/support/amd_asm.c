/* tests/support/amd_asm.c - see amd_asm.h. A loop is what lies between a label and the last branch back to it; the
 * innermost loops with matrix instructions are looked at, as rings, since the compiler may place a loop's parts in
 * another order. */
#include "tests/support/amd_asm.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct line { const char *at; int n; } line; /* without leading blanks, up to the end or a comment */

static const char *next_line(const char *p, line *out) {
  if (!*p) return NULL;
  while (*p == ' ' || *p == '\t') p++;
  out->at = p;
  out->n = (int)strcspn(p, ";\n");
  p += strcspn(p, "\n");
  return *p ? p + 1 : p;
}

static bool starts(const line *l, const char *s) { return (int)strlen(s) <= l->n && !strncmp(l->at, s, strlen(s)); }

static int value_of(const line *l, const char *key) {
  return starts(l, key) ? atoi(l->at + strlen(key)) : 0;
}

enum { FEW_SCALARS = 8 }; /* these go to lanes of a vector register, not to memory */

const char *amd_asm_spills(const char *assembly) {
  line l;
  bool seen = false;
  for (const char *p = assembly; (p = next_line(p, &l));) {
    seen |= starts(&l, ".vgpr_spill_count:");
    if (value_of(&l, ".vgpr_spill_count:")) return "vector registers are spilled";
    if (value_of(&l, ".sgpr_spill_count:") > FEW_SCALARS) return "scalar registers are spilled";
    if (value_of(&l, ".private_segment_fixed_size:")) return "scratch memory is used";
  }
  return seen ? NULL : "no metadata";
}

int amd_asm_count(const char *assembly, const char *instruction) {
  line l;
  int n = 0;
  for (const char *p = assembly; (p = next_line(p, &l));) n += starts(&l, instruction);
  return n;
}

const char *amd_asm_turns(const char *assembly) {
  line l;
  bool raised = false;
  int stretches = 0, matrix = 0;
  for (const char *p = assembly; (p = next_line(p, &l));) {
    if (starts(&l, "s_setprio 1")) raised = true, matrix = 0, stretches++;
    if (!raised) continue;
    if (starts(&l, "s_setprio 0") && !matrix) return "priority is raised without matrix instructions";
    if (starts(&l, "s_setprio 0")) raised = false;
    if (starts(&l, "v_mfma")) matrix++;
    else if (starts(&l, "v_")) return "vector arithmetic among the matrix instructions of a turn";
  }
  return stretches ? NULL : "no ping-pong";
}

const char *amd_asm_lane_branches(const char *assembly) {
  return amd_asm_count(assembly, "s_and_saveexec") > AMD_FEW_LANE_BRANCHES ? "lanes branch" : NULL;
}

bool amd_asm_has(const char *assembly, const char *instruction) { return amd_asm_count(assembly, instruction) > 0; }

/* ---- loops ----------------------------------------------------------------------------------------------------- */

static bool is_matrix(const line *l) { return starts(l, "v_mfma") || starts(l, "v_wmma"); }
/* To LDS: an instruction of that name, or on gfx90a an ordinary one with the modifier. */
static bool is_direct(const line *l) {
  const char *modifier = strstr(l->at, " lds");
  return starts(l, "global_load_lds") ||
         ((starts(l, "buffer_load") || starts(l, "global_load")) && modifier && modifier < l->at + l->n);
}
static bool is_load(const line *l) { return starts(l, "global_load") || starts(l, "buffer_load"); }

static bool has_counter(const line *l, const char *name) {
  const char *p = strstr(l->at, name);
  return starts(l, "s_waitcnt") && p && p < l->at + l->n;
}

/* How many loads may still be under way after this instruction; INT_MAX: it doesn't wait for loads. */
static int loads_left(const line *l) {
  if (has_counter(l, "vmcnt(")) return atoi(strstr(l->at, "vmcnt(") + 6);
  return starts(l, "s_wait_loadcnt") ? (int)strtol(l->at + strcspn(l->at, " "), NULL, 0) : INT_MAX;
}
static bool waits_for_lds(const line *l) {
  return has_counter(l, "lgkmcnt(") || starts(l, "s_wait_dscnt") || starts(l, "s_wait_loadcnt_dscnt");
}

/* Jumped over by a branch right before: of the ping-pong's halves only one waits there. */
static bool is_guarded(const line *l, int i) {
  while (i > 0 && !starts(&l[i - 1], "s_cbranch") &&
         (!l[i - 1].n || l[i - 1].at[0] == '.' || l[i - 1].at[0] == ';' || starts(&l[i - 1], "%bb")))
    i--;
  return i > 0 && starts(&l[i - 1], "s_cbranch");
}

enum { MOST_WAITS = 2 }; /* for direct loads: one of each half, or one of the last steps and one of the others */

static bool is_branch(const line *l) { return starts(l, "s_cbranch") || starts(l, "s_branch"); }

static int line_of_label(const line *l, int n, const char *label, int length) {
  for (int i = 0; i < n; i++)
    if (l[i].n > length && !strncmp(l[i].at, label, (size_t)length) && l[i].at[length] == ':') return i;
  return -1;
}

/* Line of the label that a branch goes to, among the first n lines; -1 if it isn't there (or no branch). */
static int target_of(const line *branch, const line *l, int n) {
  const char *to = is_branch(branch) ? memchr(branch->at, '.', (size_t)branch->n) : NULL;
  return to ? line_of_label(l, n, to, (int)strcspn(to, " \t;\n")) : -1;
}

/* What follows line i in a loop: unconditional branches are taken. */
static int successor(const line *l, int n, int i) {
  int to = starts(&l[i], "s_branch") ? target_of(&l[i], l, n) : -1;
  return to >= 0 ? to : (i + 1) % n;
}

static const char *check_loop(const line *l, int n) {
  bool direct = false, copied = false, lds = false, waited = false;
  int waits = 0;
  for (int i = 0; i < n; i++) {
    direct |= is_direct(&l[i]);
    copied |= starts(&l[i], "ds_write") || starts(&l[i], "ds_store") || (is_load(&l[i]) && !is_direct(&l[i]));
    lds |= starts(&l[i], "ds_read") || starts(&l[i], "ds_load");
    waited |= waits_for_lds(&l[i]);
    waits += loads_left(&l[i]) != INT_MAX;
    if (!is_load(&l[i])) continue;
    for (int k = 0, younger = 0, at = successor(l, n, i); k < n; k++, at = successor(l, n, at)) {
      if (is_matrix(&l[at])) break;
      younger += is_load(&l[at]);
      if (is_direct(&l[i]) && is_guarded(l, at)) continue;
      if (loads_left(&l[at]) <= younger) return "loads are waited for before any matrix instruction";
    }
  }
  if (direct && waits > MOST_WAITS) return "the compiler has added waits for direct loads";
  if (direct && copied) return "a loop of direct loads has other copies too";
  return lds && !waited ? "LDS is read without a wait" : NULL;
}

const char *amd_asm_waits(const char *assembly) {
  int n = 0, count = 0;
  for (const char *p = assembly; *p; p++) count += *p == '\n';
  line *l = malloc(((size_t)count + 2) * sizeof *l);
  const char *fault = NULL;
  if (!l) abort();
  for (const char *p = assembly; (p = next_line(p, &l[n]));) n++;
  for (int i = 0; i < n && !fault; i++) {
    int first = target_of(&l[i], l, i), matrix = 0, inner = 0;
    bool wider = false; /* a later branch goes back to the same label */
    for (int k = first; first >= 0 && k <= i; k++) {
      int from = k < i ? target_of(&l[k], l, k) : -1;
      matrix += is_matrix(&l[k]);
      for (int x = from; from > first && x <= k; x++) inner += is_matrix(&l[x]);
    }
    for (int k = i + 1; first >= 0 && k < n && !wider; k++)
      wider = is_branch(&l[k]) && target_of(&l[k], l, first + 1) == first;
    if (matrix && !inner && !wider) fault = check_loop(l + first, i - first + 1);
  }
  free(l);
  return fault;
}
