/* tools/tessera/main.c - the command line's table of commands and its shared helpers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/str.h"
#include "tools/tessera/bench.h"

static const command commands[] = {
    {"devices", "[--json]", "lists devices, their matrix shapes and limits, and why a backend has none", cmd_devices},
    {"ops", "[--json|--markdown|--tiles [--device ID]]", "lists the operations of all IR levels; --tiles: the table of default tiles, as it stands and as the device runs it", cmd_ops},
    {"inspect", "FILE [--json]", "what a file has, without running it: inputs, outputs, parameters, bytes, ops or tensors, and what is unsupported; Graph IR text, .onnx, .safetensors, .npz, .gguf", cmd_inspect},
    {"run", "FILE [--device ID] [--input NAME=F.npy]... [--weights W.safetensors|.npz|.gguf] [--output NAME|N=F.npy]... [--shape NAME=2x3]... [--bounded] [--policy P] [--precision M] [--tune off|cached|full] [--seed N] [--repeat N]", "runs IR text of any level, or an ONNX model; --weights binds inputs by name, --shape gives numbers to dimensions that are left open: an input's, or by their own name (N=2)", cmd_run},
    {"run", "FILE --mesh tp=2,dp=2 [--device ID,..] [--transport mpi] [--policy P] [--seed N] [--search] [--row-chunks N] [--explain]", "runs a graph with shards on a mesh of these devices, its ranks threads or, under mpirun with --transport mpi, processes, and says what each collective took and whether the results are those of the reference", NULL, NULL},
    {"import", "M.onnx -o M.mlir [--shape NAME=2x3]... [--input NAME=F.npy]... [--bounded]", "writes an ONNX model as Graph IR text; large weights stay in the model's file, which the text names", cmd_import},
    {"test-onnx", "DIR [--device ID] [--json]", "runs a folder of ONNX's test cases, each a folder with model.onnx and test_data_set_*, against their results; the last line counts them; --json: a line each before it", cmd_test_onnx},
    {"generate", "FILE.gguf --prompt TEXT [--tokens N] [--device ID[,ID]] [--mesh tp=N [--transport mpi]] [--temperature T] [--seed N] [--chat [--system TEXT]] [--json]", "a language model continues a text, at most --tokens (128) of them, with --temperature 0 (as it comes) always by the likeliest; --mesh: N ranks on these devices have a part of it each, with --transport mpi as processes (mpirun -n N tessera ..)", cmd_generate},
    {"dump", "FILE --level graph|schedule|tile|target|source|binary [--device ID] [--policy P] [--precision M] [--shape NAME=2x3]... [--after PASS] [--explain]", "prints a program at a level, or right after a pass (`tessera dump --help` lists them); --explain: what the passes did, and the time and memory of each", cmd_dump, dump_help},
    {"bench", "[OP...|FILE] [--suite NAME] [--device ID|all] [--shape S[,S]] [--dtype T[,T]] [--against PEER[,PEER]] [--without SWITCH[,SWITCH]] [--packed] [--policy P] [--precision M] [--tune off|cached|full] [--milliseconds N] [--seed N] [--html F] [--json]",
     "times operations, or a whole model (.onnx, .mlir; --shape NAME=2x3,..; --against onnxruntime,openvino,iree; of a language model see below), checks each against the reference, compares with other libraries; --milliseconds (1200) is the time spent on measuring one case: at least 7 rounds, at most four times as long; compiling, the reference and the peaks come on top; --packed: products find their right operand prepared ahead, as weights are", cmd_bench},
    {"bench", "FILE.gguf [--prompt-tokens N] [--tokens N] [--device ID|all] [--against llama] [--milliseconds N] [--seed N] [--json]", "tokens by time of a language model: a prompt of --prompt-tokens (512) at once, --tokens (128) one after the other; 0 leaves one out; at least 3 runs of each; --against llama: llama-bench of PATH beside it", NULL, NULL},
    {"bench", "FILE --mesh dp=2 [--device ID,..] [--transport mpi] [--grad] [--policy P] [--milliseconds N] [--json]", "times a program of a mesh with its collectives beside the computing and among it, in turns, on the same random inputs; --grad: the derivative of its first output with respect to all inputs that no axis cuts, which come out whole on every rank: a data-parallel step", NULL, NULL},
    {"bench coll", "[--op OP] [--ranks N] [--transport local|mpi|ucc] [--bytes N] [--algorithm A|all [--keep]] [--dtype T] [--wire T] [--any-order] [--milliseconds N] [--json]", "checks and times collectives between ranks of this process or, under mpirun, between processes; algbw and busbw as nccl-tests has them; --keep: the fastest of all algorithms by size are what calls that name none take from then on", NULL},
    {"plan", "coll --op OP --topology NAME|FILE --ranks N --bytes N [--algorithm A] [--json]", "which algorithm a collective should use on a machine, how long it takes and why no other; nothing runs", cmd_plan, plan_help},
    {"plan", "FILE|MODEL --mesh tp=8,pp=3,dp=3 [--topology NAME|FILE] [--search] [--ranks N] [--schedule S] [--microbatches M] [--chunks V] [--batch B] [--zero Z] [--json] [--html F] [--trace F]", "what a program with shards, or a training step of a transformer, takes on a mesh: shards, collectives, pipeline, memory of a rank", NULL, NULL},
    {"tune", "FILE|OP [--shape S|NAME=S,..] [--dtype T] [--device ID] [--strategy hybrid|grid|random|model-only] [--samples N] [--policy P] [--precision M] [--cache NAME] [--knobs m,n,..] [--again] [--seed N] [--profile F] [--json] [--space|--explain [--tile MxNxK|--candidate tile=MxNxK,warps=W,..]|--record F]",
     "finds the fastest schedule of each kernel (of IR text, an ONNX model or one operation) and remembers it; --record: times every candidate of the first kernel into a file", cmd_tune},
    {"cache", "list|show|export|import|merge|verify|clear|prewarm [FILE|MATCH] [--dir D] [--name N] [--replace] [--device ID] [--json]", "the tuning cache; prewarm fills the drivers' caches for a program", cmd_cache},
    {"profile", "FILE|OP [--shape S|NAME=S,..] [--dtype T] [--input NAME=F.npy]... [--weights W.safetensors|.npz|.gguf] [--device ID] [--steps N] [--policy P] [--precision M] [--tune off|cached|full] [--profile F] [--copies] [--wide] [--json] [--trace F] [--html F]", "times each kernel of IR text, an ONNX model or one operation, and says what limits it; --copies: while the next inputs and the last results are copied; --html: a page with launches over time, time and bytes by op", cmd_profile},
    {"check", "FILE|OP [--shape S|NAME=S,..] [--dtype T] [--input NAME=F.npy]... [--weights W] [--device ID] [--policy P] [--precision M] [--profile F] [--reproducible] [--json]", "the checklist for performance tuning as an audit", cmd_check},
    {"check", "FILE --mesh tp=2,dp=2 [--device ID,..] [--transport mpi] [--policy P] [--search]", "the checklist's points of distribution, of a program on a mesh that runs twice", NULL},
    {"knobs", "[--json] [--schedule]", "lists the environment variables that the library reads: default, values, what each is set to; --schedule: the knobs of a schedule", cmd_knobs},
};

static void print_command(FILE *f, const command *c) {
  fprintf(f, "  tessera %s %s\n      %s\n", c->name, c->usage, c->help);
}

static int usage(FILE *f) {
  fprintf(f, "usage: tessera COMMAND [options]\n\n");
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    print_command(f, &commands[i]);
  fprintf(f, "\nsuites (bench --suite):");
  for (int i = 0; bench_suite_name(i); i++) fprintf(f, " %s", bench_suite_name(i));
  fprintf(f, "\nexit status: 0 ok, 1 wrong result, failed check or unwritten output, 2 bad usage or input, 3 device "
             "unavailable, 4 (bench) a case is not supported\n");
  fprintf(f, "\nnumerics policies (--policy, TSR_POLICY):\n");
  for (tsr_policy p = TSR_POLICY_FAST; p <= TSR_POLICY_KAHAN_SUM; p++)
    fprintf(f, "  %-14s %s\n", tsr_policy_name(p), tsr_policy_help(p));
  fprintf(f, "\nprecision modes (--precision):\n");
  for (tsr_precision p = TSR_PRECISION_STANDARD; p <= TSR_PRECISION_TF32; p++)
    fprintf(f, "  %-14s %s\n", tsr_precision_name(p), tsr_precision_help(p));
  return f == stdout ? EXIT_OK : EXIT_USAGE;
}

/* Standard files that the caller closed are taken up, so that no file which is opened later becomes one of them:
 * results would end in it. What is written to standard output then fails, as it should. */
static void keep_standard_files(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 1 ? O_RDONLY : O_WRONLY) != fd) return;
}

/* "tessera COMMAND: ..", in one line whatever a file or an argument says. */
static void say(const char *cmd, const char *fmt, va_list ap) {
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  char *s = n < 0 ? NULL : malloc((size_t)n + 1);
  if (s) vsnprintf(s, (size_t)n + 1, fmt, again);
  va_end(again);
  for (char *c = s; c && *c; c++)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
  fprintf(stderr, "tessera%s%s: %s\n", *cmd ? " " : "", cmd, s ? s : "out of memory");
  free(s);
}

static int run(int argc, char **argv) {
  if (argc < 2) return usage(stderr);
  if (argc > 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help") || !strcmp(argv[1], "--version")))
    return cli_usage("", "%s stands alone; `tessera COMMAND --help` is about one command", argv[1]);
  if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) return usage(stdout);
  if (!strcmp(argv[1], "--version")) {
    printf("tessera %d.%d\n", TSR_ABI_MAJOR, TSR_ABI_MINOR);
    return EXIT_OK;
  }
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
    if (commands[i].run && !strcmp(argv[1], commands[i].name)) {
      if (argc != 3 || strcmp(argv[2], "--help")) return commands[i].run(argc - 1, argv + 1);
      for (size_t k = i; k < sizeof commands / sizeof *commands; k++)
        if (!strcmp(commands[k].name, commands[i].name)) print_command(stdout, &commands[k]);
      if (commands[i].more_help) commands[i].more_help(stdout);
      return EXIT_OK;
    }
  return cli_usage("", "no command \"%s\"; `tessera --help` lists them", argv[1]);
}

/* A result that nobody got is none, whatever the command thinks. */
int main(int argc, char **argv) {
  int probed = tsr_probe_main(argc, argv);
  if (probed >= 0) return probed;
  keep_standard_files();
  signal(SIGXFSZ, SIG_IGN); /* beyond `ulimit -f` a write fails like one to a full disk */
  int rc = run(argc, argv);
  errno = 0;
  if (!fflush(stdout) && !ferror(stdout)) return rc;
  fprintf(stderr, "tessera: standard output: can't be written%s%s\n", errno ? ": " : "", errno ? strerror(errno) : "");
  return rc ? rc : EXIT_WRONG;
}

/* ---- shared ---------------------------------------------------------------------------------------------------- */

int cli_usage(const char *cmd, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say(cmd, fmt, ap);
  va_end(ap);
  return EXIT_USAGE;
}

/* Drivers are tried by this command in a process of its own. */
tsr_status cli_context(tsr_context **out) {
  return tsr_context_create(&(tsr_context_desc){.probe_program = "/proc/self/exe"}, out);
}

tsr_status cli_numerics(const char *policy, const char *precision, tsr_compile_options *o) {
  tsr_status st = policy ? tsr_policy_parse(policy, &o->policy) : NULL;
  if (!st && precision) st = tsr_precision_parse(precision, &o->precision);
  return st;
}

int cli_fail(tsr_status st) {
  tsr_code c = tsr_status_code(st);
  cli_usage("", "%s", tsr_status_message(st));
  tsr_status_free(st);
  switch (c) {
  case TSR_OK: return EXIT_OK;
  case TSR_UNAVAILABLE: case TSR_DEVICE_LOST: return EXIT_UNAVAILABLE;
  case TSR_INTERNAL: case TSR_LAUNCH_FAILED: case TSR_TIMEOUT: return EXIT_WRONG;
  default: return EXIT_USAGE;
  }
}

static bool take(const char *cmd, const option *o, const char *value) {
  if (o->text) *o->text = value;
  if (o->number) {
    char *end;
    errno = 0;
    *o->number = strtol(value, &end, 10);
    if (!*value || strspn(value, "-0123456789") != strlen(value) || *end || errno) {
      cli_usage(cmd, "%s needs a number, not \"%s\"", o->name, value);
      return false;
    }
  }
  return !o->each || o->each(o->user, value);
}

bool cli_options(const char *cmd, int *argc, char **argv, const option *options, int n) {
  int left = 1;
  for (int i = 1; i < *argc; i++) {
    if (strncmp(argv[i], "--", 2) || !argv[i][2]) {
      argv[left++] = argv[i];
      continue;
    }
    size_t len = strcspn(argv[i], "=");
    const option *o = NULL;
    for (int k = 0; k < n && !o; k++)
      if (strlen(options[k].name) == len && !strncmp(options[k].name, argv[i], len)) o = &options[k];
    if (!o) {
      cli_usage(cmd, "unknown option %s", argv[i]);
      return false;
    }
    if (o->flag) {
      if (argv[i][len]) {
        cli_usage(cmd, "%s takes no value, not \"%s\"", o->name, argv[i] + len + 1);
        return false;
      }
      *o->flag = true;
      continue;
    }
    const char *value = argv[i][len] ? argv[i] + len + 1 : i + 1 < *argc ? argv[++i] : NULL;
    if (!value) {
      cli_usage(cmd, "%s needs a value", o->name);
      return false;
    }
    if (!take(cmd, o, value)) return false;
  }
  *argc = left;
  return true;
}

char *cli_read_file(const char *path, size_t *bytes) {
  const char *why = "";
  FILE *f = strcmp(path, "-") ? file_open(path, &why) : stdin;
  if (!f) {
    cli_usage("", "%s: can't be %s: %s", path, file_is_special(path) ? "read" : "opened", why);
    return NULL;
  }
  size_t cap = 1 << 16, n = 0;
  char *p = malloc(cap + 1);
  while (p) {
    size_t got = fread(p + n, 1, cap - n, f);
    n += got;
    if (n < cap || memchr(p + n - got, 0, got)) break; /* text has no zero byte: what is behind one is not read */
    char *q = realloc(p, 2 * cap + 1);
    if (!q) {
      free(p);
      p = NULL;
    } else {
      p = q;
      cap *= 2;
    }
  }
  bool bad = ferror(f) != 0;
  if (f != stdin) fclose(f);
  if (!p || bad) {
    cli_usage("", "%s: %s", path, bad ? "can't be read" : "out of memory");
    free(p);
    return NULL;
  }
  p[n] = 0;
  *bytes = n;
  return p;
}

/* Of a FIFO that nobody reads opening would wait for ever; one with a reader (bash's `>(..)`) is as good as a file. */
FILE *cli_create(const char *command, const char *path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0666);
  FILE *f = fd < 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) ? NULL : fdopen(fd, "wb");
  if (!f) cli_usage(command, "%s: can't be written: %s", path, errno == ENXIO ? "nobody reads it" : strerror(errno));
  if (!f && fd >= 0) close(fd);
  return f;
}

int cli_finish(const char *command, const char *path, FILE *f) {
  int cause = errno; /* of the write that failed, which was the last call */
  bool bad = ferror(f);
  if (!bad) errno = 0, bad = fflush(f), cause = errno;
  struct stat named;
  bool plain = !lstat(path, &named) && S_ISREG(named.st_mode);
  if (fclose(f) && !bad) bad = true, cause = errno;
  if (!bad) return EXIT_OK;
  if (plain) unlink(path); /* a part of a file would be taken for the whole */
  cli_usage(command, "%s: can't be written%s%s", path, cause ? ": " : "", cause ? strerror(cause) : "");
  return EXIT_WRONG;
}

int cli_write_text(const char *command, const char *path, const char *text) {
  FILE *f = cli_create(command, path);
  if (!f) return EXIT_USAGE;
  fputs(text, f);
  return cli_finish(command, path, f);
}

void cli_json_string(FILE *f, const char *s) {
  strb b;
  strb_init(&b, NULL);
  strb_json(&b, s);
  fputs(strb_text(&b), f);
  strb_clear(&b);
}

int cli_parse_shape(const char *text, int64_t *dims, int cap) {
  int n = 0;
  for (const char *p = text; *p;) {
    char *end;
    errno = 0;
    long long d = strtoll(p, &end, 10);
    if (*p < '0' || *p > '9' || errno || n == cap || (*end && *end != 'x')) return -1;
    dims[n++] = d;
    if (*end && !end[1]) return -1;
    p = *end ? end + 1 : end;
  }
  return n;
}

size_t cli_count(const tsr_shape *s) {
  size_t n = 1;
  for (int i = 0; i < s->rank; i++) n *= (size_t)s->dims[i];
  return n;
}

const char *cli_shape_text(const tsr_shape *s, char *buf, size_t n) {
  size_t at = 0;
  buf[0] = 0;
  for (int i = 0; i < s->rank && at < n; i++)
    at += (size_t)snprintf(buf + at, n - at, i ? "x%lld" : "%lld", (long long)s->dims[i]);
  return buf;
}
