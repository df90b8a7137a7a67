/* tests/cli/test_bench_iree.c - `tessera bench M.onnx --against iree`, with programs of the test's own in the places of
 * IREE's tools: what they are told, their results compared and their times told, and what goes wrong with them is one
 * line, beside rows of ours. */
#include <math.h>
#include <sys/stat.h>

#include "tests/cli/cli_run.h"
#include "tests/support/onnx_message.h"

#define AGAINST "bench m.onnx --shape in=2x3 --against iree --device cpu:0 --milliseconds 1"
/* Where the value of a word that begins like this is. */
#define WORD(name, like) "for w in \"$@\"; do case $w in " like "*) " name "=${w#" like "};; esac; done\n"

static void write_tool(cli *c, const char *name, const char *body) {
  char script[2048], path[256];
  const int n = snprintf(script, sizeof script, "#!/bin/sh\necho \"%s $*\" >>asked.txt\n%s\n", name, body);
  cli_write(c, name, script, (size_t)n);
  cli_path(c, name, path, sizeof path);
  cli_check(c, n < (int)sizeof script && !chmod(path, 0700), "a program");
}

#define IMPORTS "echo 'module {' >$3; echo '  func.func @main_graph(%arg0: !torch.vtensor) {' >>$3"
#define COMPILES "[ \"$1\" = --version ] && echo '  IREE compiler version 9.8.7rc20260101 @ abc' || :"
#define COPIES WORD("from", "--input=2x3xf32=@") WORD("to", "--output=@") "cp $from $to"
#define TIMES "echo '{\"benchmarks\": [{\"real_time\": 2.5, \"time_unit\": \"ms\"}]}'"

static void write_tools(cli *c) {
  write_tool(c, "iree-import-onnx", IMPORTS);
  write_tool(c, "iree-compile", COMPILES);
  write_tool(c, "iree-run-module", COPIES);
  write_tool(c, "iree-benchmark-module", TIMES);
}

/* out = Identity(in) of f32 [n, 3]. */
static void write_model(cli *c) {
  message g = {.n = 0}, in = value("in", F32, "n", 3), out = value("out", F32, "n", 3), n = node("Identity", NULL);
  inside(&g, 1, &n);
  text(&g, 2, "g");
  inside(&g, 11, &in);
  inside(&g, 12, &out);
  const message m = model(&g);
  cli_write(c, "m.onnx", m.p, m.n);
}

static bool was_asked(const cli *c, const char *what) { return strstr(cli_text(c, "asked.txt"), what) != NULL; }

static double number(const cli *c, const char *key) {
  const char *at = strstr(c->said, key);
  return at ? strtod(at + strlen(key), NULL) : -1;
}

static void its_time_is_beside_ours(cli *c) {
  write_tools(c);
  cli_check(c, !cli_run(c, AGAINST " --json"), c->said);
  cli_check(c, strstr(c->said, "\"baseline\": \"iree 9.8.7rc20260101\", \"baseline_median_us\": 2500, "), c->said);
  cli_check(c, number(c, "\"error\": ") == 0 && strstr(c->said, "\"ok\": true"), "the same result");
  cli_check(c, fabs(number(c, "\"ratio\": ") * number(c, "\"median_us\": ") / 2500 - 1) < 1e-3, "the ratio");
  cli_check(c, strstr(c->said, "\"baseline_peak_bytes\": null"), "its memory isn't known");
  cli_check(c, was_asked(c, "iree-import-onnx m.onnx -o ") && was_asked(c, "--iree-llvmcpu-target-cpu=host"), "made");
  cli_check(c, was_asked(c, "--function=main_graph") && was_asked(c, "--task_topology_group_count=1 "), "as told");
  cli_check(c, was_asked(c, "iree-benchmark-module --function"), "timed");
  cli_check(c, !cli_run(c, AGAINST) && strstr(c->said, "; iree 9.8.7rc20260101: 2500.0 us, "), c->said);
  cli_check(c, strstr(c->said, "; ok, differs by 0\n"), c->said);
}

static void its_wrong_result_is_told(cli *c) {
  write_tools(c);
  write_tool(c, "iree-run-module", WORD("to", "--output=@") "printf 'abcdabcdabcdabcdabcdabcd' >$to");
  cli_check(c, cli_run(c, AGAINST) == 1 && strstr(c->said, "; WRONG, differs by "), "a wrong result");
  write_tool(c, "iree-run-module", WORD("to", "--output=@") "printf 'abcd' >$to");
  cli_check(c, !cli_run(c, AGAINST) && strstr(c->said, "iree: result 0 isn't what ours is\n"), "a shorter result");
}

static void what_fails_is_one_line(cli *c) {
  static const char *const bad[][3] = {
      {"iree-import-onnx", "echo 'ValueError: too old' >&2; exit 1", "iree-import-onnx ends with status 1: too old"},
      {"iree-import-onnx", ": >$3", "iree: no function in what its importer makes"},
      {"iree-compile", COMPILES "\n[ \"$1\" = --version ] || { echo 'm.mlir:3:4: error: no such op' >&2; exit 3; }",
       "iree-compile ends with status 3: no such op"},
      {"iree-run-module", "exit 7", "iree-run-module ends with status 7"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_tools(c);
    write_tool(c, bad[i][0], bad[i][1]);
    cli_check(c, !cli_run(c, AGAINST) && strstr(c->said, bad[i][2]), bad[i][2]);
    cli_check(c, strstr(c->said, "cpu:0 m.onnx 2x3: median ") == c->said && strchr(c->said, '\n')[1] == 0, c->said);
  }
  write_tools(c);
  write_tool(c, "iree-benchmark-module", "echo '{}'");
  cli_check(c, cli_run(c, AGAINST) == 3 && strstr(c->said, "iree: no time from iree-benchmark-module"), c->said);
  write_tools(c);
  cli_write(c, "m.mlir", "", 0);
  cli_check(c, !cli_run(c, "import m.onnx -o m.mlir --shape in=2x3"), "a text");
  cli_check(c,
            !cli_run(c, "bench m.mlir --against iree --device cpu:0 --milliseconds 1") &&
                strstr(c->said, "; iree: takes ONNX files\n"),
            c->said);
}

static void without_its_tools_it_is_told(cli *c) {
  char path[256];
  cli_path(c, "iree-compile", path, sizeof path);
  cli_check(c, !remove(path) && !cli_run(c, AGAINST) && strstr(c->said, "; iree: no iree-compile in PATH\n"), c->said);
}

int main(void) {
  cli c;
  char path[4096], old[4000];
  if (!cli_begin(&c)) return 77;
  snprintf(old, sizeof old, "%s", getenv("PATH") ? getenv("PATH") : "");
  snprintf(path, sizeof path, "%s:/usr/bin:/bin", c.dir);
  setenv("PATH", path, 1);
  setenv("TSR_THREADS", "1", 1);
  write_model(&c);
  its_time_is_beside_ours(&c);
  its_wrong_result_is_told(&c);
  what_fails_is_one_line(&c);
  without_its_tools_it_is_told(&c);
  setenv("PATH", old, 1);
  return cli_end(&c);
}
