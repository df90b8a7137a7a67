/* tools/tessera/cli.h - what the commands share: options, files, JSON, exit codes.
 * Exit codes: 0 ok, 1 wrong result, failed check or output that was not written, 2 bad usage or input, 3 device
 * unavailable, 4 (bench) nothing failed, but a case is not supported on a device. */
#ifndef TOOLS_TESSERA_CLI_H
#define TOOLS_TESSERA_CLI_H
#include <limits.h>
#include <stdio.h>

#include "tessera/tessera.h"

enum { EXIT_OK = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_UNAVAILABLE = 3, EXIT_UNSUPPORTED = 4 };

typedef struct command {
  const char *name, *usage, *help;
  int (*run)(int argc, char **argv); /* argv[0] is the command's name; NULL: a line of help alone */
  void (*more_help)(FILE *f);        /* behind the command's line in `tessera COMMAND --help`; NULL = nothing */
} command;

/* What an option's number is before options are read, where all that can be given are judged: no word gives it but
 * itself. */
#define CLI_NOT_GIVEN LONG_MIN

/* One row per option: the value is stored through the pointer that is set. A repeated list option calls `each`. */
typedef struct option {
  const char *name; /* "--device" */
  const char **text;
  long *number;
  bool *flag;
  bool (*each)(void *user, const char *value);
  void *user;
} option;

/* Parses options; what is left are the operands (argv is reordered, *argc updated; argv[0] stays). False after one line
 * on stderr. */
bool cli_options(const char *command, int *argc, char **argv, const option *options, int n);
/* A context whose drivers are tried in a process of this command. */
tsr_status cli_context(tsr_context **out);
/* Prints the status as one line, frees it and returns the exit code it stands for. */
int cli_fail(tsr_status st);
/* --policy and --precision, NULL where not given, into compile options. */
tsr_status cli_numerics(const char *policy, const char *precision, tsr_compile_options *o);
/* One line on stderr; command "": none. EXIT_USAGE. */
int cli_usage(const char *command, const char *fmt, ...) TSR_PRINTF(2, 3);
/* An output file. NULL after one line: the path is no good, EXIT_USAGE. cli_finish closes it: EXIT_WRONG after one line
 * when anything was not written. */
FILE *cli_create(const char *command, const char *path);
int cli_finish(const char *command, const char *path, FILE *f);
/* Both, for text: the exit status. */
int cli_write_text(const char *command, const char *path, const char *text);
/* The whole file ("-" = standard input; others must be regular files), zero-terminated; NULL after one line on stderr.
 * Free with free(). */
char *cli_read_file(const char *path, size_t *bytes);
void cli_json_string(FILE *f, const char *s);
/* "128x64" -> dims; number of dimensions, -1 if malformed. */
int cli_parse_shape(const char *text, int64_t *dims, int cap);
const char *cli_shape_text(const tsr_shape *s, char *buf, size_t n);
/* Elements. */
size_t cli_count(const tsr_shape *s);

int cmd_devices(int argc, char **argv);
int cmd_ops(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_generate(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_test_onnx(int argc, char **argv);
int cmd_dump(int argc, char **argv);
void dump_help(FILE *f);
int cmd_bench(int argc, char **argv);
int cmd_tune(int argc, char **argv);
int cmd_cache(int argc, char **argv);
int cmd_profile(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_knobs(int argc, char **argv);
int cmd_plan(int argc, char **argv);
void plan_help(FILE *f);
/* `tessera bench coll`: argv[0] is "coll". */
int bench_coll(int argc, char **argv);
#endif
