/* Vulkan drivers that crash, hang or take too long (tests/fake/fault_icd.c in front of lavapipe): the command says so
 * in one line, does without what failed, and knows it the next time. Lists of known failures; programs that can't try a
 * driver for the library. */
#include "tests/cli/cli_run.h"

static const char product[] =
    "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<128x96xf32>, %B: tensor<96x128xf32>):\n%0 = "
    "\"tessera.graph.matmul\"(%A, %B)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";

static void case_of(cli *c, const char *fault, const char *cache) {
  char path[128];
  snprintf(path, sizeof path, "%s/cache-%s", c->dir, cache);
  setenv("TSR_CACHE_DIR", path, 1);
  setenv("TSR_TEST_VK_FAULT", fault, 1);
}

/* `no`, if not NULL, must not be said. */
static void expect(cli *c, const char *args, int want, const char *says, const char *no) {
  char what[512];
  int rc = cli_run(c, args);
  snprintf(what, sizeof what, "%s %s: %s, without \"%s\"", getenv("TSR_TEST_VK_FAULT"), getenv("TSR_CACHE_DIR"), args,
           no ? no : "");
  cli_judge(c, what, rc, want, says, !(no && strstr(c->said, no)));
}

/* The step fails; told once, and the device stays or is left out; the second run knows. */
static void step_fails(cli *c, const char *fault, const char *told, bool stays) {
  static const char warning[] = "warning: vulkan: ";
  case_of(c, fault, fault);
  expect(c, "devices", 0, told, NULL);
  cli_check(c, cli_count(c, warning) == 1, fault);
  cli_check(c, !strstr(c->said, "\nvulkan:0 ") == !stays, fault);
  expect(c, "devices", 0, stays ? "\nvulkan:0 " : "cpu:0", warning);
  if (!stays) expect(c, "run x.mlir --device vulkan:0", 3, "vulkan", NULL);
}

/* What is done without stays in the list of devices, with why, after the warning is long gone. */
static void failed_steps_are_listed(cli *c) {
  case_of(c, "crash:matrices", "crash:matrices");
  expect(c, "devices", 0, "self-test \"matrices\": crashed (signal 11); instead: no cooperative matrices", "warning");
  expect(c, "devices --json", 0,
         "\"demotions\": [{\"step\": \"matrices\", \"reason\": \"crashed (signal 11)\", \"instead\": \"no "
         "cooperative matrices\"}]",
         "warning");
}

/* lavapipe has one family; with the second queue before it large copies go there, unless that is hidden. */
static void queues_are_listed(cli *c) {
  static const char second[] = "queue family 1: 1 queue(s) for transfer; ";
  char used[128];
  snprintf(used, sizeof used, "%sused for transfer\n", second);
  case_of(c, "queue:", "queue");
  expect(c, "devices", 0, used, NULL);
  cli_check(c, strstr(c->said, "queue family 0: 1 queue(s) for graphics, compute, transfer; used for compute\n"), used);
  expect(c, "devices --json", 0,
         "{\"family\": 1, \"count\": 1, \"compute\": false, \"transfer\": true, \"graphics\": false, "
         "\"timestamp_bits\": 64, \"used_for\": \"transfer\"}], \"demotions\": []",
         NULL);
  setenv("TSR_VK_HIDE", "transfers", 1);
  snprintf(used, sizeof used, "%snot used\n", second);
  expect(c, "devices", 0, used, NULL);
  unsetenv("TSR_VK_HIDE");
}

/* A driver without 64-bit integers that dies of addresses put together of two words has descriptors, and runs. */
static void addresses_of_two_words_have_another_way(cli *c) {
  static const char listed[] =
      "self-test \"words\": crashed (signal 11); instead: descriptors for buffer addresses, which would be put together "
      "of two words";
  setenv("TSR_VK_HIDE", "int64,coopmat", 1);
  case_of(c, "crash:pairs", "pairs");
  expect(c, "devices", 0, "step \"words\" crashed (signal 11)", "step \"kernel\"");
  cli_check(c, strstr(c->said, listed), listed);
  expect(c, "devices", 0, "descriptors for buffer addresses; addresses as pairs", "warning");
  expect(c, "run x.mlir --device vulkan:0 --tune off", 0, "128", "warning");
  case_of(c, "none:", "pairs-taken");
  expect(c, "devices", 0, "addresses as pairs of words for 64-bit integers", "descriptors");
  unsetenv("TSR_VK_HIDE");
}

static bool has_matrices(cli *c) {
  case_of(c, "none:", "none");
  return !cli_run(c, "devices") && strstr(c->said, "\nvulkan:0 ") && strstr(strstr(c->said, "\nvulkan:0 "), "matrix ");
}

static void steps(cli *c, bool matrices) {
  if (matrices) step_fails(c, "crash:coopmat", "demoted: self-test: crashed (signal 11)", true);
  if (matrices) step_fails(c, "crash:matrices", "step \"matrices\" crashed (signal 11)", true);
  if (matrices) failed_steps_are_listed(c);
  step_fails(c, "crash:properties", "step \"properties\" crashed (signal 11)", false);
  step_fails(c, "crash:instance", "a driver crashed (signal 11) in a self-test", false);
  setenv("TSR_VK_DEADLINE_MS", "3000", 1);
  step_fails(c, "hang:device", "hung for 3 s", false);
  unsetenv("TSR_VK_DEADLINE_MS");
}

static void slow_compiler_gets_a_simpler_program(cli *c) {
  case_of(c, "none:", "slow");
  expect(c, "run x.mlir --device vulkan:0 --tune off", 0, "", "took its place");
  case_of(c, "slow:large", "slow");
  setenv("TSR_VK_DEADLINE_MS", "700", 1);
  expect(c, "run x.mlir --device vulkan:0 --tune off", 0,
         "the driver did not compile the kernel in 0.7 s (a larger TSR_VK_DEADLINE_MS waits longer; a smaller tile "
         "compiles faster); small tiles without matrix instructions took its place",
         NULL);
  unsetenv("TSR_VK_DEADLINE_MS");
}

static void lists_of_known_failures(cli *c) {
  static const char list[] = "# mine\n* | * | properties | ok\nllvm* | * | matrix * | not here\nno row\n";
  char path[128];
  cli_write(c, "list.txt", list, sizeof list - 1);
  cli_path(c, "list.txt", path, sizeof path);
  case_of(c, "crash:coopmat", "list");
  setenv("TSR_VK_KNOWN_BAD", path, 1);
  expect(c, "devices", 0, "demoted: known bad: not here", "crashed");
  expect(c, "devices", 0, "list.txt:4 is no row \"device | version | step | why\" and is left out", "crashed");
  setenv("TSR_VK_KNOWN_BAD", "/nonexistent", 1);
  case_of(c, "none:", "list");
  expect(c, "devices", 0, "TSR_VK_KNOWN_BAD: /nonexistent can't be opened", "known bad: not here");
  unsetenv("TSR_VK_KNOWN_BAD");
}

/* x xor 12345 of i64: llvmpipe puts the result together of two words. */
static const char flip[] =
    "\"builtin.module\"() ({\n\"tessera.target.program\"() ({\n^bb0(%A: tensor<64xi64>):\n%0 = "
    "\"tessera.target.buffer\"() : () -> tensor<64xi64>\n\"tessera.target.launch\"(%A, %0) {kernel = \"k\"} : "
    "(tensor<64xi64>, tensor<64xi64>) -> ()\n\"tessera.target.return\"(%0) : (tensor<64xi64>) -> ()\n}) {sym_name = "
    "\"main\"} : () -> ()\n\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.ptr<i64, \"global\">, %o: "
    "!tessera.ptr<i64, \"global\">):\n%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n%x = "
    "\"tessera.target.load\"(%a, %t) : (!tessera.ptr<i64, \"global\">, index) -> i64\n%c = \"tessera.target.const\"() "
    "{value = 12345 : i64} : () -> i64\n%r = \"tessera.target.xor\"(%x, %c) : (i64, i64) -> i64\n"
    "\"tessera.target.store\"(%r, %o, %t) : (i64, !tessera.ptr<i64, \"global\">, index) -> ()\n"
    "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"k\", dialect = \"spirv\", grid = [1, 1, 1], outputs = 1, "
    "block = [64, 1, 1], subgroup = 16} : () -> ()\n}) : () -> ()\n";

/* The live case: lavapipe 26.1 crashes where it compiles matrices of 512 bits, and 64-bit integers put together of
 * words, which rows of our list say; without the rows the self-test finds out. Programs run either way. */
static void lavapipe_of_512_bits_is_survived(cli *c) {
  static const char none[] = "* | * | * | ok\n";
  char path[128];
  cli_write(c, "none.txt", none, sizeof none - 1);
  cli_path(c, "none.txt", path, sizeof path);
  setenv("LP_NATIVE_VECTOR_WIDTH", "512", 1);
  case_of(c, "none:", "wide");
  cli_write(c, "flip.mlir", flip, sizeof flip - 1);
  expect(c, "devices", 0, "512 bits", NULL);
  const bool known = strstr(c->said, "driver llvmpipe Mesa 26.1."); /* that of our rows */
  if (known)
    cli_check(c, strstr(c->said, "self-test \"words\": known bad: crashes in its compiler (26.1.6); instead: 64-bit "),
              "words are listed");
  const bool wide = __builtin_cpu_supports("avx512f"); /* else such vectors overrun the driver's stack anyhow */
  if (wide) expect(c, "run flip.mlir --device vulkan:0 --tune off", 0, "64 i64", NULL);
  setenv("TSR_VK_KNOWN_BAD", path, 1);
  case_of(c, "none:", "wide-unknown");
  expect(c, "devices", 0, "512 bits", "known bad");
  if (known) {
    setenv("TSR_VK_HIDE", "int64", 1); /* addresses are put together of words, too */
    expect(c, "devices", 0, "\nvulkan:0 ", "known bad");
    expect(c, "run x.mlir --device vulkan:0 --tune off", 0, "128x128 f32", NULL);
    unsetenv("TSR_VK_HIDE");
  }
  if (wide) expect(c, "run flip.mlir --device vulkan:0 --tune off", 0, "64 i64", NULL);
  unsetenv("TSR_VK_KNOWN_BAD");
  unsetenv("LP_NATIVE_VECTOR_WIDTH");
}

/* ---- pipelines kept as the driver's binaries ---- */

static const char instead_of_binaries[] = "the driver's pipeline cache for pipeline binaries";
static const char compiled[] = "fake driver: compiled", revived[] = "fake driver: from binaries",
                  run_product[] = "run x.mlir --device vulkan:0 --tune off";

/* Every file of the store gets other bytes in its middle. */
static void damage_store(cli *c, const char *cache) {
  char cmd[512];
  snprintf(cmd, sizeof cmd,
           "for f in %s/cache-%s/blobs/*.bin; do "
           "printf damaged | dd of=$f bs=1 seek=$(($(stat -c %%s $f) / 2)) conv=notrunc status=none; done",
           c->dir, cache);
  cli_check(c, system(cmd) == 0, cmd);
}

/* The first run compiles and keeps, the second compiles nothing; what another set-up of the driver kept, what it
 * refuses, and what is damaged is compiled again, with the same result. */
static void binaries_are_kept_and_not_trusted(cli *c) {
  case_of(c, "tell:binaries", "binaries");
  expect(c, "devices", 0, "\nvulkan:0 ", "warning");
  cli_check(c, !strstr(c->said, instead_of_binaries), "binaries are used");
  expect(c, run_product, 0, compiled, revived);
  expect(c, run_product, 0, revived, compiled);
  case_of(c, "other:binaries", "binaries");
  expect(c, run_product, 0, compiled, revived);
  expect(c, run_product, 0, revived, compiled);
  case_of(c, "refuse:binaries", "binaries");
  expect(c, run_product, 0, compiled, revived);
  case_of(c, "tell:binaries", "binaries");
  damage_store(c, "binaries");
  setenv("TSR_PROBE", "off", 1); /* notes are damaged as well: tried in this process */
  expect(c, run_product, 0, compiled, "warning");
  expect(c, run_product, 0, revived, compiled);
  unsetenv("TSR_PROBE");
}

static void drivers_without_binaries_keep_a_cache(cli *c) {
  case_of(c, "own:binaries", "own"); /* this one would rather keep them by itself */
  expect(c, "devices", 0, instead_of_binaries, "self-test \"binaries\"");
  expect(c, run_product, 0, compiled, revived);
  case_of(c, "tell:binaries", "hidden-binaries");
  setenv("TSR_VK_HIDE", "pipeline_binary", 1);
  expect(c, "devices", 0, instead_of_binaries, "self-test \"binaries\"");
  expect(c, run_product, 0, compiled, revived);
  unsetenv("TSR_VK_HIDE");
}

static void drivers_that_refuse_binaries_keep_a_cache(cli *c) {
  case_of(c, "refuse:binaries", "refuse"); /* from the start: the self-test finds out */
  expect(c, "devices", 0, "self-test \"binaries\": the driver refused the kernel", NULL);
  expect(c, "devices --json", 0, "{\"step\": \"binaries\", \"reason\": \"the driver refused the kernel", "warning");
  cli_check(c, strstr(c->said, instead_of_binaries), "what takes their place");
  expect(c, run_product, 0, compiled, revived);
}

static void programs_that_try_nothing_leave_it_to_this_process(cli *c) {
  static const char *const programs[] = {"off", "/bin/true", "/bin/false", "/nonexistent", "/dev/null"};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    case_of(c, "crash:properties", "never"); /* this process would crash: so it was asked, and nobody else */
    setenv("TSR_PROBE", programs[i], 1);
    expect(c, "devices", -1, "", NULL);
  }
  case_of(c, "none:", "none");
  setenv("TSR_PROBE", "off", 1);
  expect(c, "devices", 0, "\nvulkan:0 ", "warning");
  unsetenv("TSR_PROBE");
}

static void hidden_features_are_told(cli *c) {
  static const char instead[] = "fences for timeline semaphores; ", hidden[] = "hidden by TSR_VK_HIDE: timeline";
  static const char *const commands[] = {"devices", "devices --json", "dump x.mlir --device vulkan:0 --explain"};
  case_of(c, "none:", "hidden");
  setenv("TSR_VK_HIDE", "timeline", 1);
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    expect(c, commands[i], 0, instead, i ? NULL : "warning");
    cli_check(c, strstr(c->said, hidden), commands[i]);
  }
  setenv("TSR_VK_HIDE", "bda", 1);
  expect(c, "devices", 0, "descriptors for buffer addresses; ", "warning");
  cli_check(c, strstr(c->said, "hidden by TSR_VK_HIDE: bda"), "bda");
  setenv("TSR_VK_HIDE", "allocation=8388608", 1);
  expect(c, "devices --json", 0, "\"max_buffer_bytes\": 8388608,", NULL);
  setenv("TSR_VK_HIDE", "allocation=0", 1); /* says nothing: what Vulkan asks of all */
  expect(c, "devices --json", 0, "\"max_buffer_bytes\": 1073741824,", NULL);
  setenv("TSR_VK_HIDE", "timelines", 1);
  expect(c, "devices", 2, "TSR_VK_HIDE: unknown word \"timelines\" (bda, int64, ", NULL);
  unsetenv("TSR_VK_HIDE");
}

/* Tensors of as many bytes as a descriptor takes, and one byte less, run (the second ends within a word); larger ones
 * piece by piece; where one block needs more than that, they are refused in one line. */
static void tensors_at_the_limit_of_descriptors(cli *c) {
  static const char *const hidden[] = {"bda,range=65536", "bda,bindings=4,range=65536"};
  static const char refused[] = "one block reaches 262144 bytes of argument 1; without bufferDeviceAddress the device "
                                "takes 65536, less 256 to align them";
  case_of(c, "none:", "range");
  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
    setenv("TSR_VK_HIDE", hidden[i], 1);
    expect(c, "bench neg --device vulkan:0 --dtype i8 --shape 1x65535", 0, "ok", "unsupported");
    expect(c, "bench neg --device vulkan:0 --dtype i8 --shape 1x65536", 0, "ok", "unsupported");
    expect(c, "bench neg --device vulkan:0 --dtype i8 --shape 1x131073", 0, "ok", "unsupported");
    expect(c, "bench softmax --device vulkan:0 --dtype f32 --shape 300x100", 0, "ok", "unsupported");
    expect(c, "bench matmul --device vulkan:0 --dtype f32 --shape 16x256x256", 4, refused, "crashed");
  }
  unsetenv("TSR_VK_HIDE");
}

/* No sanitizer's handler between a signal and its process. */
static void leave_signals_alone(void) {
  const char *options = getenv("ASAN_OPTIONS");
  char all[512];
  snprintf(all, sizeof all, "%s%shandle_segv=0", options ? options : "", options && *options ? ":" : "");
  setenv("ASAN_OPTIONS", all, 1);
}

int main(void) {
  cli c;
  const char *drivers = getenv("VK_DRIVER_FILES");
  if (drivers && access(drivers, R_OK)) {
    printf("skipped: VK_DRIVER_FILES=%s: no Vulkan here\n", drivers);
    return 77;
  }
  if (!cli_begin(&c)) return 77;
  leave_signals_alone();
  char icd[512];
  int n = snprintf(icd, sizeof icd,
                   "{\"file_format_version\": \"1.0.1\", \"ICD\": {\"library_path\": "
                   "\"%s/tests/libfault_icd.so\", \"api_version\": \"1.4.0\"}}\n",
                   TSR_BINARY_DIR);
  cli_write(&c, "icd.json", icd, (size_t)n);
  cli_write(&c, "x.mlir", product, sizeof product - 1);
  char path[128];
  cli_path(&c, "icd.json", path, sizeof path);
  setenv("VK_DRIVER_FILES", path, 1);
  case_of(&c, "none:", "none");
  if (cli_run(&c, "devices") || !strstr(c.said, "llvmpipe")) {
    printf("skipped: no lavapipe to stand before: %s\n", c.said);
    cli_end(&c);
    return 77;
  }
  const bool matrices = has_matrices(&c);
  if (!matrices) printf("this lavapipe has no cooperative matrices: they neither crash nor are known to\n");
  steps(&c, matrices);
  queues_are_listed(&c);
  addresses_of_two_words_have_another_way(&c);
  slow_compiler_gets_a_simpler_program(&c);
  if (matrices) lists_of_known_failures(&c);
  lavapipe_of_512_bits_is_survived(&c);
  programs_that_try_nothing_leave_it_to_this_process(&c);
  hidden_features_are_told(&c);
  binaries_are_kept_and_not_trusted(&c);
  drivers_that_refuse_binaries_keep_a_cache(&c);
  drivers_without_binaries_keep_a_cache(&c);
  tensors_at_the_limit_of_descriptors(&c);
  return cli_end(&c);
}
