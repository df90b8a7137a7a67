/* core/runtime/probe.c - the process in which drivers are tried: which program it is, and what it does. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/knob.h"
#include "core/runtime/internal.h"

struct rt_probe {
  int (*start)(void *user, const tsr_probe_call *call);
  void *user;
  char program[PATH_MAX]; /* "" = start */
};

/* lib/libtessera.so -> lib/tessera/tessera-probe; "" where there is none, as beside a static library's program. */
static void beside_library(char *out, size_t cap) {
  Dl_info at;
  *out = 0;
  const char *end = dladdr((void *)(uintptr_t)&tsr_probe_main, &at) && at.dli_fname ? strrchr(at.dli_fname, '/') : NULL;
  if (!end) return;
  int n = snprintf(out, cap, "%.*s/tessera/tessera-probe", (int)(end - at.dli_fname), at.dli_fname);
  if (n < 0 || (size_t)n >= cap || access(out, X_OK)) *out = 0;
}

static int run(void *user, const tsr_probe_call *call) {
  const struct rt_probe *p = user;
  return *p->program ? child_run(p->program, call) : p->start(p->user, call);
}

tsr_status rt_probe_init(tsr_context *c, const tsr_context_desc *desc) {
  const char *named = knob_str("TSR_PROBE");
  if (!strcmp(named, "off")) return NULL;
  struct rt_probe *p = al_new(&c->al, struct rt_probe);
  if (!p) return st_oom();
  c->probe = p;
  p->start = desc->probe;
  p->user = desc->probe_user;
  if (*named) snprintf(p->program, sizeof p->program, "%s", named);
  else if (!p->start && desc->probe_program) snprintf(p->program, sizeof p->program, "%s", desc->probe_program);
  else if (!p->start) beside_library(p->program, sizeof p->program);
  if (!p->start && !*p->program) return NULL;
  c->env.probe = run;
  c->env.probe_user = p;
  return NULL;
}

void rt_probe_clear(tsr_context *c) {
  if (c->probe) al_delete(&c->al, c->probe);
}

/* ---- the process ----------------------------------------------------------------------------------------------- */

static void send_log(void *user, int level, const char *text) {
  printf("log\t%d\t%s\n", level & 3, text);
  fflush(stdout);
}

int tsr_probe_main(int argc, char **argv) {
  if (!argv) return -1;
  int at = argc > 1 && !strcmp(argv[1], "tessera-probe") ? 1 : 0; /* by name, or as the first argument of a program */
  if (argc <= at || strcmp(argv[at], "tessera-probe")) return -1;
  if (argc < at + 3) return 2;
  const be_env env = {.al = &al_default, .log = send_log, .cache_dir = *argv[at + 2] ? argv[at + 2] : NULL};
  for (const be_vtable *const *b = rt_backends; *b; b++) {
    if (strcmp((*b)->name, argv[at + 1]) || !(*b)->probe_main) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for it any more */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (*b)->probe_main(&env, argv + at + 3);
    return fflush(stdout) ? 1 : 0;
  }
  return 2;
}
