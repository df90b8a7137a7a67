/* Processes that are read line by line with a deadline: how each ends, what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/base/child.h"

static char said[4096];

static void add(void *user, const char *text) {
  snprintf(said + strlen(said), sizeof said - strlen(said), "%s|", text);
}

static int run(const char *command, int deadline_ms) {
  *said = 0;
  return child_run("/bin/sh", &(tsr_probe_call){.argv = (const char *const[]){"sh", "-c", command, NULL},
                                                .deadline_ms = deadline_ms,
                                                .line = add});
}

static void lines_and_exit_status_arrive(void **state) {
  assert_int_equal(run("echo one; printf 'two\\n\\nhalf'; exit 3", 20000), 3);
  assert_string_equal(said, "one|two||"); /* what has no end is no line */
  assert_int_equal(run("cat; echo lost >&2", 20000), 0); /* nothing to read, nothing of it on our standard error */
  assert_string_equal(said, "");
}

static void signal_is_told_from_an_exit(void **state) {
  assert_int_equal(run("echo first; kill -SEGV $$", 20000), -SIGSEGV);
  assert_string_equal(said, "first|");
}

static void silence_beyond_the_deadline_ends_it(void **state) {
  assert_int_equal(run("echo first; exec sleep 1000", 300), TSR_PROBE_HUNG);
  assert_string_equal(said, "first|");
  assert_int_equal(run("exec >&-; exec sleep 1000", 300), TSR_PROBE_HUNG); /* it closed its output and went on */
}

static void program_that_is_not_there_is_not_started(void **state) {
  const char *const argv[] = {"x", NULL};
  const tsr_probe_call call = {.argv = argv, .deadline_ms = 1000, .line = add};
  assert_int_equal(child_run("/nonexistent", &call), TSR_PROBE_NOT_STARTED);
  assert_int_equal(child_run("/dev/null", &call), TSR_PROBE_NOT_STARTED);
}

static void long_line_is_cut(void **state) {
  assert_int_equal(run("head -c 3000 /dev/zero | tr '\\0' a; echo; echo next", 20000), 0);
  assert_int_equal(strlen(said), 1000 + 1 + 5);
}

/* The application's signals are its own: one that it ignores or blocks still ends the process, whose status may be
 * gone. */
static void signals_of_the_application_do_not_reach_it(void **state) {
  signal(SIGCHLD, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(run("kill -PIPE $$; echo alive", 20000), 0);
  assert_string_equal(said, "");
  signal(SIGCHLD, SIG_DFL);
  assert_int_equal(run("kill -PIPE $$; echo alive", 20000), -SIGPIPE);
  signal(SIGPIPE, SIG_DFL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lines_and_exit_status_arrive),
                                     cmocka_unit_test(signal_is_told_from_an_exit),
                                     cmocka_unit_test(silence_beyond_the_deadline_ends_it),
                                     cmocka_unit_test(program_that_is_not_there_is_not_started),
                                     cmocka_unit_test(long_line_is_cut),
                                     cmocka_unit_test(signals_of_the_application_do_not_reach_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
