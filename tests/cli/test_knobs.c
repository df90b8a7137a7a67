/* tests/cli/test_knobs.c - words in the environment that nobody knows: each command that reads knobs refuses them in
 * one line with exit status 2; an empty TSR_CACHE_DIR is a cache that is off, and says so; `tessera knobs` lists the
 * table. */
#include "tests/cli/cli_run.h"

static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<16x16xbf16>, %B: tensor<16x16xbf16>):\n%0 = "
                           "\"tessera.graph.matmul\"(%A, %B)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
static const char *const knobs[] = {"TSR_MATRIX",   "TSR_TUNE",      "TSR_LOG",           "TSR_DUMP",    "TSR_THREADS",
                                    "TSR_POLICY",   "TSR_FALLBACK",  "TSR_CPU_ISA",       "TSR_DISABLE", "TSR_BACKEND",
                                    "TSR_CPU_BIND", "TSR_SUBMIT_MS", "TSR_VK_VALIDATION", "TSR_VK_FAULT", "TSR_VERIFY"};
static const char *const commands[] = {"run x.mlir",
                                       "dump x.mlir --level tile",
                                       "devices",
                                       "cache list",
                                       "tune x.mlir --device cpu:0 --samples 1",
                                       "profile x.mlir",
                                       "check x.mlir",
                                       "bench add --shape 4x4 --device cpu:0 --milliseconds 1"};

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  cli_write(&c, "x.mlir", text, sizeof text - 1);
  for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++) {
    setenv(knobs[k], "banana", 1);
    cli_refused(&c, knobs[k], "run x.mlir --device cpu:0", "\"banana\"");
    cli_check(&c, strstr(c.said, knobs[k]) != NULL, knobs[k]);
    unsetenv(knobs[k]);
  }
  setenv("TSR_DUMP", "graph,after:banana", 1);
  cli_refused(&c, "a pass that there is not", "run x.mlir --device cpu:0", "transpose_operand");
  cli_check(&c, strstr(c.said, "no pass is called \"banana\"") != NULL, "banana is named");
  setenv("TSR_DUMP", "after:to_schedule", 1);
  cli_expect(&c, "run x.mlir --device cpu:0", 0,
             "// ---- after to_schedule ----\n\"builtin.module\"() ({\n  \"tessera.schedule.program\"");
  cli_check(&c, !strstr(c.said, "tessera.graph.func"), "one pass alone");
  unsetenv("TSR_DUMP");
  setenv("TSR_MATRIX", "banana", 1);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) cli_refused(&c, commands[i], commands[i], "coopmat2");
  cli_expect(&c, "knobs", 2, "TSR_MATRIX: unknown word \"banana\"");
  unsetenv("TSR_MATRIX");
  setenv("TSR_MATRX", "scalar", 1);
  cli_expect(&c, "run x.mlir --device cpu:0", 0,
             "warning: the environment has TSR_MATRX, which is no knob (TSR_MATRIX?)");
  unsetenv("TSR_MATRX");
  setenv("TSR_THREADS", "3", 1);
  cli_expect(&c, "knobs", 0, "TSR_THREADS=3   (set)");
  cli_expect(&c, "knobs --json", 0, "\"name\": \"TSR_BACKEND\"");
  unsetenv("TSR_THREADS");
  setenv("TSR_CACHE_DIR", "", 1);
  cli_expect(&c, "tune x.mlir --device cpu:0 --samples 1", 0,
             "nothing was stored: the cache is off: TSR_CACHE_DIR is empty");
  cli_expect(&c, "cache list", 0, "0 entries: nothing is stored, off: TSR_CACHE_DIR is empty\n");
  cli_refused(&c, "export of a cache that is off", "cache export", "TSR_CACHE_DIR is empty");
  cli_refused(&c, "import into a cache that is off", "cache import x.mlir", "TSR_CACHE_DIR is empty");
  char path[256];
  cli_path(&c, ".tessera", path, sizeof path);
  if (!access(path, F_OK)) c.wrong++, printf("%s was made\n", path);
  unsetenv("TSR_CACHE_DIR");
  return cli_end(&c);
}
