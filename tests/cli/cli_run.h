/* tests/cli/cli_run.h - runs the command (environment TESSERA) on files in a folder of its own, catches what it
 * says and compares it with what was expected: every test of the command counts its cases and prints those that are
 * wrong by these functions. */
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

/* A file of the folder, or an absolute path: its bytes, `most` at most. Returns how many; 0 where it isn't there. */
static inline size_t cli_read(const cli *c, const char *name, void *bytes, size_t most) {
  char path[256];
  if (*name == '/') snprintf(path, sizeof path, "%s", name);
  else cli_path(c, name, path, sizeof path);
  FILE *f = fopen(path, "rb");
  size_t n = f ? fread(bytes, 1, most, f) : 0;
  if (f) fclose(f);
  return n;
}

/* Its text; "" where it isn't there. It stays until the next call. */
static inline const char *cli_text(const cli *c, const char *name) {
  static char text[1 << 17];
  text[cli_read(c, name, text, sizeof text - 1)] = 0;
  return text;
}

/* A program with one op of one operand: %A, f32 of that shape. */
static inline void cli_write_unary(const cli *c, const char *name, const char *op, const char *shape) {
  char text[512];
  int n = snprintf(text, sizeof text,
                   "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%sxf32>):\n"
                   "%%0 = \"tessera.graph.%s\"(%%A)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n})\n",
                   shape, op);
  cli_write(c, name, text, (size_t)n);
}

/* A line of the shell, in the folder; what it writes to its standard output is `said`. The exit status, or -1 for one
 * that a signal ended. */
static inline int cli_shell(cli *c, const char *line) {
  char command[2560];
  snprintf(command, sizeof command, "cd %s && %s", c->dir, line);
  FILE *f = popen(command, "r");
  if (!f) return -1;
  size_t n = fread(c->said, 1, sizeof c->said - 1, f);
  c->said[n] = 0;
  while (fgetc(f) != EOF) {}
  int status = pclose(f);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In the folder; the exit status, or -1 for one that a signal ended. */
static inline int cli_run(cli *c, const char *args) {
  char line[1024];
  snprintf(line, sizeof line, "\"$TESSERA\" %s 2>&1 </dev/null", args);
  int rc = cli_shell(c, line);
  return rc < 128 ? rc : -1;
}

/* ---- of what was said -------------------------------------------------------------------------------------------- */

static inline bool cli_one_line(const cli *c) {
  const char *end = strchr(c->said, '\n');
  return end && !end[1];
}

static inline int cli_count(const cli *c, const char *words) {
  int n = 0;
  for (const char *p = c->said; (p = strstr(p, words)); p += strlen(words)) n++;
  return n;
}

/* The number of the first "key": in JSON, -1 without one. */
static inline double cli_number(const cli *c, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char *at = strstr(c->said, quoted);
  return at ? strtod(at + strlen(quoted), NULL) : -1;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* One more case; the others below say what they expect. */
static inline void cli_check(cli *c, bool good, const char *what) {
  c->n++;
  if (good) return;
  c->wrong++;
  printf("failed: %s; the command said:\n%s\n", what, c->said);
}

/* Of a call that ended with rc: is it `want`, with `says` among what was said? `also`: what else must hold. */
static inline void cli_judge(cli *c, const char *what, int rc, int want, const char *says, bool also) {
  c->n++;
  if (rc == want && strstr(c->said, says) && also) return;
  c->wrong++;
  printf("%s: exit status %d, expected %d and \"%s\", got:\n%s\n", what, rc, want, says, c->said);
}

static inline void cli_expect(cli *c, const char *args, int want, const char *says) {
  cli_judge(c, args, cli_run(c, args), want, says, true);
}

/* And in one line. */
static inline void cli_expect_line(cli *c, const char *args, int want, const char *says) {
  int rc = cli_run(c, args);
  cli_judge(c, args, rc, want, says, cli_one_line(c));
}

/* Exit status 2 and one line that holds `says`. */
static inline void cli_refused(cli *c, const char *what, const char *args, const char *says) {
  int rc = cli_run(c, args);
  cli_judge(c, what, rc, 2, says, cli_one_line(c));
}

/* JSON in which all these keys are; NULL ends them. */
static inline void cli_has_keys(cli *c, const char *args, const char *const *keys) {
  char quoted[64];
  cli_expect(c, args, 0, "{");
  for (; *keys; keys++) {
    snprintf(quoted, sizeof quoted, "\"%s\":", *keys);
    cli_check(c, strstr(c->said, quoted) != NULL, quoted);
  }
}

static inline int cli_end(cli *c) {
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", c->dir);
  if (system(command)) c->wrong++;
  printf("%d cases, %d wrong\n", c->n, c->wrong);
  return c->wrong ? 1 : 0;
}
#endif
