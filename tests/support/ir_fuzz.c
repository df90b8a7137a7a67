/* tests/support/ir_fuzz.c - see ir_fuzz.h. A child tries mutants until it has used a batch of them, and tells by shared
 * memory which one it is at; when it ends otherwise, the next child goes on behind that one. */
#include "tests/support/ir_fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/ir_mutate.h"

enum { BATCH = 200, CPU_SECONDS = 4, HANG_SECONDS = 120, MOST_FAULTS = 10, FAULT = 9 };

/* Told by the child. */
typedef struct progress {
  uint64_t at; /* the mutant it tries */
  int accepted, used, refused;
} progress;

/* Sizes that no machine has are a status, as elsewhere; what is found ends the child. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:max_allocation_size_mb=1024:detect_leaks=1:handle_abort=1";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }

static uint64_t number(const char *name, uint64_t dflt) {
  const char *s = getenv(name);
  return s && *s ? strtoull(s, NULL, 0) : dflt;
}

/* Mutant number `at`; NULL if it does not verify. */
static ir_module *mutant(const ir_fuzz *f, uint64_t seed, uint64_t at, strb *text) {
  ir_module *m = NULL, *again = NULL;
  uint64_t state = seed * 0x100000001b3u + at;
  const ir_module *base = f->bases[mutate_next(&state) % (uint64_t)f->n_bases];
  tsr_status st = ir_module_clone(base, &m);
  if (!st) ir_mutate(m, &state);
  if (!st) st = ir_verify(m);
  if (!st) {
    ir_print(text, m);
    st = ir_parse(NULL, strb_text(text), text->n, "mutant", &again);
    if (st) fprintf(stderr, "printed, it does not parse: %s\n", tsr_status_message(st)), abort();
  }
  tsr_status_free(st);
  ir_module_destroy(&m);
  return again;
}

static void arm(int seconds) {
  struct itimerval t = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_PROF, &t, NULL);
  alarm(seconds ? HANG_SECONDS : 0);
}

static void try_one(const ir_fuzz *f, uint64_t seed, progress *p) {
  strb text;
  strb_init(&text, NULL);
  ir_module *m = mutant(f, seed, p->at, &text);
  if (m) {
    p->accepted++;
    tsr_status st = f->use(f->user, m, strb_text(&text));
    const bool fault = tsr_status_code(st) == TSR_INTERNAL;
    if (fault) fprintf(stderr, "%s\n", tsr_status_message(st));
    *(st ? &p->refused : &p->used) += 1;
    tsr_status_free(st);
    if (fault) _exit(FAULT);
  }
  ir_module_destroy(&m);
  strb_clear(&text);
}

static void child(const ir_fuzz *f, uint64_t seed, progress *p, int accept) {
  const int end = p->accepted + (accept - p->accepted < BATCH ? accept - p->accepted : BATCH);
  for (; p->accepted < end; p->at++) {
    arm(CPU_SECONDS);
    try_one(f, seed, p);
  }
  arm(0);
  exit(0);
}

static void report(const ir_fuzz *f, uint64_t seed, const progress *p, int status) {
  char path[512];
  strb text;
  strb_init(&text, NULL);
  snprintf(path, sizeof path, "%s/ir_fuzz_%s_%llu_%llu.mlir", TSR_BINARY_DIR, f->name, (unsigned long long)seed,
           (unsigned long long)p->at);
  pid_t c = fork(); /* what makes the text may be what is broken */
  if (!c) {
    ir_module *m = mutant(f, seed, p->at, &text);
    FILE *out = m ? fopen(path, "w") : NULL;
    if (out) fputs(strb_text(&text), out), fclose(out);
    _exit(0);
  }
  if (c > 0) waitpid(c, NULL, 0);
  printf("FAULT %s: mutant %llu of seed %llu %s %d; %s\n", f->name, (unsigned long long)p->at, (unsigned long long)seed,
         WIFSIGNALED(status) ? (WTERMSIG(status) == SIGALRM ? "hung, signal" : "died of signal") : "ended with",
         WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), path);
  strb_clear(&text);
}

int ir_fuzz_run(const ir_fuzz *f) {
  const uint64_t seed = number("TSR_TEST_IR_FUZZ_SEED", 1), only = number("TSR_TEST_IR_FUZZ_ONLY", UINT64_MAX);
  const int accept = (int)number("TSR_TEST_IR_FUZZ", (uint64_t)f->accept);
  progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int faults = 0, slow = 0;
  if (p == MAP_FAILED) return 1;
  if (only != UINT64_MAX) {
    p->at = only;
    try_one(f, seed, p);
    printf("%s: mutant %llu: %s\n", f->name, (unsigned long long)only,
           !p->accepted ? "does not verify"
           : p->used    ? "used"
                        : "refused");
    return 0;
  }
  while (p->accepted < accept && faults < MOST_FAULTS) {
    int status = 0;
    fflush(NULL);
    pid_t c = fork();
    if (!c) child(f, seed, p, accept);
    if (c < 0 || waitpid(c, &status, 0) != c) return 1;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) continue;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF) slow++;
    else report(f, seed, p, status), faults++;
    p->at++;
  }
  printf("%s: seed %llu, %llu mutants, %d verify: %d used, %d refused, %d took more than %d s; %d faults\n", f->name,
         (unsigned long long)seed, (unsigned long long)p->at, p->accepted, p->used, p->refused, slow, CPU_SECONDS,
         faults);
  munmap(p, sizeof *p);
  return faults;
}
