/* core/base/child.c - see child.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"

extern char **environ;

/* Signals as a fresh process has them, whatever the application blocks or ignores; nothing of its terminal. */
static bool start(const char *program, const char *const *argv, int output, pid_t *pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attr;
  sigset_t all, none;
  sigfillset(&all), sigemptyset(&none);
  if (posix_spawn_file_actions_init(&files)) return false;
  if (posix_spawnattr_init(&attr)) {
    posix_spawn_file_actions_destroy(&files);
    return false;
  }
  posix_spawnattr_setsigdefault(&attr, &all);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  bool ok = !posix_spawn_file_actions_adddup2(&files, output, 1) &&
            !posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) &&
            !posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) &&
            !posix_spawn(pid, program, &files, &attr, (char *const *)(uintptr_t)argv, environ);
  posix_spawnattr_destroy(&attr);
  posix_spawn_file_actions_destroy(&files);
  return ok;
}

typedef struct reader { char text[1001]; size_t n; } reader;

static void take(reader *r, const char *from, size_t n, const tsr_probe_call *call) {
  for (size_t i = 0; i < n; i++)
    if (from[i] == '\n') {
      r->text[r->n] = 0;
      r->n = 0;
      call->line(call->user, r->text);
    } else if (r->n + 1 < sizeof r->text) {
      r->text[r->n++] = from[i];
    }
}

/* False when nothing came for as long as the deadline. */
static bool read_all(int fd, const tsr_probe_call *call) {
  reader r = {.n = 0};
  char some[4096];
  int64_t last = clock_ns();
  for (;;) {
    int64_t left = call->deadline_ms - (clock_ns() - last) / 1000000;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int ready = left > 0 ? poll(&p, 1, (int)left) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t n = read(fd, some, sizeof some);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    take(&r, some, (size_t)n, call);
    last = clock_ns();
  }
}

/* The status of a process that closed its output, or was killed. An application that ignores SIGCHLD, or waits for all
 * children itself, leaves none: 0, and what was read decides. */
static int wait_for(pid_t pid, int deadline_ms) {
  int64_t from = clock_ns();
  for (int status = 0;;) {
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid) return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (got < 0 && errno != EINTR) return 0;
    if (clock_ns() - from > (int64_t)deadline_ms * 1000000) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return TSR_PROBE_HUNG;
    }
    nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
  }
}

int child_run(const char *program, const tsr_probe_call *call) {
  int ends[2];
  pid_t pid;
  if (pipe2(ends, O_CLOEXEC)) return TSR_PROBE_NOT_STARTED;
  bool started = start(program, call->argv, ends[1], &pid);
  close(ends[1]);
  bool ended = started && read_all(ends[0], call);
  close(ends[0]);
  if (!started) return TSR_PROBE_NOT_STARTED;
  if (ended) return wait_for(pid, call->deadline_ms);
  kill(pid, SIGKILL);
  wait_for(pid, call->deadline_ms);
  return TSR_PROBE_HUNG;
}
