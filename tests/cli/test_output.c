/* tests/cli/test_output.c - results that can't be written are no success: a full disk (/dev/full), a closed standard
 * output, for every command and each of its forms and output files. And what is no file is refused before it is opened:
 * FIFOs would wait for ever. */
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/resource.h>

#include "tests/cli/cli_run.h"

/* Commands that print something, each in every form. x.mlir and t.npy are there, and a cache with an entry. */
static const char *const printing[] = {
    "devices", "devices --json", "ops", "ops --json", "ops --markdown", "knobs", "knobs --json", "--help", "help", "--version",
    "run x.mlir --device cpu:0", "run - --device cpu:0 <x.mlir",
    "dump x.mlir --level graph", "dump x.mlir --level tile", "dump x.mlir --level target", "dump x.mlir --level binary", "dump x.mlir --explain",
    "bench add --shape 4x8 --device cpu:0 --milliseconds 1", "bench add --shape 4x8 --device cpu:0 --milliseconds 1 --json",
    "tune matmul --shape 16x16x16 --device cpu:0 --samples 1", "tune matmul --shape 16x16x16 --device cpu:0 --samples 1 --json", "tune matmul --shape 16x16x16 --device cpu:0 --space",
    "tune matmul --shape 16x16x16 --device cpu:0 --explain", "tune attention --shape 8x512x512x64 --device cuda:sm_90a --explain",
    "cache list", "cache list --json", "cache show", "cache show --json", "cache export", "cache verify", "cache verify --json", "cache import e.json", "cache import e.json --json",
    "cache list --dir nowhere", "cache show --dir nowhere --json", "cache verify --dir nowhere",
    "profile x.mlir --device cpu:0 --steps 1", "profile x.mlir --device cpu:0 --steps 1 --wide", "profile x.mlir --device cpu:0 --steps 1 --json",
    "check x.mlir --device cpu:0", "check x.mlir --device cpu:0 --json",
    "cache clear --name spare", "cache clear --name spare --json",
};

/* Output files: `%s` is the path. */
static const char *const writing[] = {
    "run x.mlir --device cpu:0 --output 0=%s", "bench add --shape 4x8 --device cpu:0 --milliseconds 1 --html %s", "tune matmul --shape 16x16x16 --device cpu:0 --knobs m --record %s",
    "cache export %s", "profile x.mlir --device cpu:0 --steps 1 --trace %s",
    "profile x.mlir --device cpu:0 --steps 1 --html %s",
};

/* Inputs: `%s` is the path. Each must be refused at once, in one line that names it. */
static const char *const reading[] = {
    "run %s", "dump %s --level tile", "tune %s --device cpu:0", "profile %s --device cpu:0", "check %s --device cpu:0", "run x.mlir --device cpu:0 --input A=%s", "cache import %s", "cache merge %s",
};

/* What the command says on standard error, which stdout's fate leaves alone. */
static int say(cli *c, const char *args, const char *redirection) {
  char line[1024];
  snprintf(line, sizeof line, "timeout 60 \"$TESSERA\" %s %s 2>err.txt %s; rc=$?; cat err.txt; exit $rc", args,
           strstr(args, " <") ? "" : "</dev/null", redirection);
  return cli_shell(c, line);
}

static void expect(cli *c, const char *args, const char *redirection, int want, const char *says) {
  char what[1024];
  snprintf(what, sizeof what, "%s %s", args, redirection);
  cli_judge(c, what, say(c, args, redirection), want, says, true);
}

static void to_nowhere(cli *c) {
  char drain[256];
  cli_path(c, "drain", drain, sizeof drain);
  if (mkfifo(drain, 0600)) c->wrong++;
  for (size_t i = 0; i < sizeof printing / sizeof *printing; i++) {
    expect(c, printing[i], ">/dev/full", 1, "standard output: can't be written");
    expect(c, printing[i], ">&-", 1, "standard output: can't be written");
  }
  for (size_t i = 0; i < sizeof writing / sizeof *writing; i++) {
    char args[512];
    snprintf(args, sizeof args, writing[i], "/dev/full");
    expect(c, args, ">/dev/null", 1, "/dev/full: can't be written");
    snprintf(args, sizeof args, writing[i], "no/such/folder/f");
    expect(c, args, ">/dev/null", 2, "no/such/folder/f: can't be written");
    snprintf(args, sizeof args, writing[i], "there");
    expect(c, args, ">/dev/null", 0, "");
    snprintf(args, sizeof args, writing[i], "drain"); /* a FIFO without a reader */
    expect(c, args, ">/dev/null", 2, "drain: can't be written: nobody reads it");
  }
  /* More than a buffer: it is a write that fails, not the end. */
  expect(c, "run large.mlir --device cpu:0 --output 0=/dev/full", ">/dev/null", 1,
         "/dev/full: can't be written: No space left on device");
  /* `ulimit -f`: a signal, if nobody ignores it. The message has room. */
  const struct rlimit some = {100, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &some);
  expect(c, "run x.mlir --device cpu:0 --tune off --output 0=small", ">/dev/null", 1,
         "small: can't be written: File too large");
  char part[256];
  cli_path(c, "small", part, sizeof part);
  if (!access(part, F_OK)) c->wrong++, printf("a part of small was left behind\n");
  if (access("/dev/full", F_OK)) c->wrong++, printf("/dev/full is gone\n");
  setrlimit(RLIMIT_FSIZE, &all);
  /* Nothing was to be printed, so nothing is missing; and no file that the command opens becomes its standard output.
   */
  expect(c, "run x.mlir --device cpu:0 --output 0=y.npy", ">&-", 0, "");
  expect(c, "tune matmul --shape 24x16x16 --device cpu:0 --samples 1", ">&- 2>&-", 1, "");
  expect(c, "cache verify", ">/dev/null", 0, "");
}

static void special_files(cli *c) {
  char args[512], path[256];
  cli_path(c, "pipe", path, sizeof path);
  if (mkfifo(path, 0600)) c->wrong++;
  const char *const special[] = {"pipe", "/dev/null", "/dev/zero", "."};
  for (size_t i = 0; i < sizeof reading / sizeof *reading; i++)
    for (size_t k = 0; k < sizeof special / sizeof *special; k++) {
      snprintf(args, sizeof args, reading[i], special[k]);
      expect(c, args, ">/dev/null", 2, special[k]);
      cli_check(c, cli_one_line(c), "one line");
    }
  /* The cache's own file, and what SQLite keeps beside it: looking says why it is off, tuning goes on without it. */
  static const char *const parts[] = {"", "-wal", "-shm", "-journal", ".lock"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char name[64];
    snprintf(name, sizeof name, "c%zu", i);
    cli_path(c, name, path, sizeof path);
    if (mkdir(path, 0700)) c->wrong++;
    snprintf(path, sizeof path, "%s/c%zu/default.sqlite%s", c->dir, i, parts[i]);
    if (mkfifo(path, 0600)) c->wrong++;
    snprintf(args, sizeof args, "cache verify --dir c%zu", i);
    int rc = say(c, args, "");
    cli_check(c, rc == 0 || rc == 1, args);
    if (i == 0) expect(c, args, ">&2", 1, "not a regular file");
    snprintf(path, sizeof path, "TSR_CACHE_DIR=c%zu", i);
    putenv(path);
    expect(c, "tune matmul --shape 16x16x16 --device cpu:0 --samples 1", ">/dev/null", 0, "");
    unsetenv("TSR_CACHE_DIR");
  }
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write_unary(&c, "x.mlir", "neg", "2x3");
  cli_write_unary(&c, "large.mlir", "neg", "64x64");
  if (cli_run(&c, "tune matmul --shape 32x32x32 --device cpu:0 --samples 2 --json") ||
      !strstr(c.said, "\"stored\": true"))
    return cli_end(&c), 77; /* built without SQLite */
  if (cli_run(&c, "cache export e.json") ||
      cli_run(&c, "tune matmul --shape 32x32x32 --device cpu:0 --samples 1 --cache spare"))
    c.wrong++;
  to_nowhere(&c);
  special_files(&c);
  return cli_end(&c);
}
