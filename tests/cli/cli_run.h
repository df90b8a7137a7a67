/* tests/cli/cli_run.h - runs the command (environment TESSERA) on files in a folder of its own and catches what it
 * says. */
#ifndef TESTS_CLI_CLI_RUN_H
#define TESTS_CLI_CLI_RUN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct cli {
  char dir[64];
  int wrong, n;
  char said[65536]; /* standard error and output of the last call */
} cli;

static inline bool cli_begin(cli *c) {
  *c = (cli){.dir = "/tmp/tessera_cli_XXXXXX"};
  unsetenv("TSR_CACHE_DIR"); /* of whoever runs the tests */
  return getenv("TESSERA") && mkdtemp(c->dir);
}

static inline void cli_path(const cli *c, const char *name, char *path, size_t n) {
  snprintf(path, n, "%s/%s", c->dir, name);
}

static inline void cli_write(const cli *c, const char *name, const void *bytes, size_t n) {
  char path[256];
  cli_path(c, name, path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, n, f) != n || fclose(f)) {
    fprintf(stderr, "%s can't be written\n", path);
    exit(1);
  }
}

/* In the folder; the exit status, or -1 for one that a signal ended. */
static inline int cli_run(cli *c, const char *args) {
  char command[1024];
  snprintf(command, sizeof command, "cd %s && \"$TESSERA\" %s 2>&1 </dev/null", c->dir, args);
  FILE *f = popen(command, "r");
  if (!f) return -1;
  size_t n = fread(c->said, 1, sizeof c->said - 1, f);
  c->said[n] = 0;
  while (fgetc(f) != EOF) {}
  int status = pclose(f);
  return WIFEXITED(status) && WEXITSTATUS(status) < 128 ? WEXITSTATUS(status) : -1;
}

static inline bool cli_one_line(const cli *c) {
  const char *end = strchr(c->said, '\n');
  return end && !end[1];
}

/* Exit status 2 and one line that holds `says`. */
static inline void cli_refused(cli *c, const char *what, const char *args, const char *says) {
  int rc = cli_run(c, args);
  c->n++;
  if (rc == 2 && cli_one_line(c) && strstr(c->said, says)) return;
  c->wrong++;
  printf("%s: exit status %d, expected one line with \"%s\", got:\n%s\n", what, rc, says, c->said);
}

static inline int cli_end(cli *c) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", c->dir);
  if (system(command)) c->wrong++;
  printf("%d cases, %d wrong\n", c->n, c->wrong);
  return c->wrong ? 1 : 0;
}
#endif
