/* tests/cli/test_writes.c - no command writes but where it is told to: every command runs in a read-only folder, with
 * HOME and TMPDIR of its own and a named cache; afterwards nothing outside the cache and the output files that were
 * asked for is new, gone, longer or of another time. With the cache off the cache's folder stays empty too; without a
 * name it is .tessera in the working directory. Mesa's own shader cache is switched off: it is the driver's. */
#include <sys/stat.h>

#include "tests/cli/cli_run.h"

static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<16x16xf32>):\n%0 = \"tessera.graph.matmul\""
                           "(%A, %A)\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
/* `out`: the one file that it is to write, under out/. */
static const struct { const char *args, *out; } commands[] = {
    {"--help", NULL}, {"--version", NULL}, {"nonsense", NULL}, {"devices", NULL}, {"devices --json", NULL}, {"ops", NULL}, {"ops --tiles", NULL}, {"ops --json", NULL}, {"knobs", NULL}, {"knobs --json", NULL},
    {"run x.mlir --device cpu:0", NULL}, {"run x.mlir --device vulkan:0", NULL}, {"run x.mlir --device cpu:0 --tune full", NULL}, {"run gone.mlir", NULL},
    {"run x.mlir --device cpu:0 --output 0=../out/y.npy", "y.npy"}, {"run x.mlir --device cpu:0 --input A=../out/y.npy", NULL},
    {"dump x.mlir --level schedule", NULL}, {"dump x.mlir --level source --device cuda:sm_90a", NULL}, {"dump x.mlir --level binary", NULL}, {"dump x.mlir --level target --device vulkan:0 --explain", NULL},
    {"bench add --shape 4x8 --device cpu:0 --milliseconds 1", NULL}, {"bench add --shape 4x8 --device cpu:0 --milliseconds 1 --tune full --json", NULL},
    {"bench add --shape 4x8 --device cpu:0 --milliseconds 1 --html ../out/p.html", "p.html"}, {"bench nonsense", NULL},
    {"tune matmul --shape 16x16x16 --device cpu:0 --samples 2", NULL}, {"tune x.mlir --device cpu:0 --samples 2 --again --json", NULL}, {"tune matmul --shape 16x16x16 --device cpu:0 --space", NULL},
    {"tune matmul --shape 16x16x16 --device cpu:0 --explain", NULL}, {"tune matmul --shape 16x16x16 --device cpu:0 --knobs m --record ../out/r.json", "r.json"},
    {"profile x.mlir --device cpu:0 --steps 1 --json", NULL}, {"profile x.mlir --device cpu:0 --steps 1 --trace ../out/t.json", "t.json"}, {"check x.mlir --device cpu:0", NULL},
    {"cache list", NULL}, {"cache show --json", NULL}, {"cache verify", NULL}, {"cache export ../out/e.json", "e.json"}, {"cache import ../out/e.json", NULL}, {"cache list --dir ../nowhere", NULL},
    {"cache verify --dir ../nowhere", NULL}, {"cache export --dir ../nowhere", NULL}, {"cache clear --name spare", NULL}, {"cache clear", NULL},
};

/* Every file and folder but those named, with its size and time; a folder's time tells of files that came and went. */
static void listing(const cli *c, const char *but, char out[1 << 16]) {
  size_t n = 1 << 16;
  char command[512];
  snprintf(command, sizeof command, "cd %s && find . \\( %s \\) -prune -o -printf '%%p %%s %%T@\\n' | sort", c->dir,
           but);
  FILE *f = popen(command, "r");
  size_t got = f ? fread(out, 1, n - 1, f) : 0;
  out[got] = 0;
  if (f) pclose(f);
}

static void expect_same(cli *c, const char *args, const char *when, const char *before, const char *after) {
  c->n++;
  if (*before && !strcmp(before, after)) return;
  c->wrong++;
  printf("%s, %s: before\n%safter\n%s", args, when, before, after);
}

static int run_in_work(cli *c, const char *args) {
  char line[512];
  snprintf(line, sizeof line, "--version >/dev/null; cd work && \"$TESSERA\" %s", args);
  return cli_run(c, line);
}

/* Without the output file that was asked for; the others were there before. Not `all`: those that may use a cache. */
static void all_commands(cli *c, bool all, const char *when, const char *but) {
  static char before[1 << 16], after[1 << 16];
  char names[256];
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    const char *out = commands[i].out;
    if (!all && !strstr(commands[i].args, "tun") && !strstr(commands[i].args, "cache")) continue;
    snprintf(names, sizeof names, "%s%s%s%s", but, out ? " -o -path ./out/" : "", out ? out : "",
             out ? " -o -path ./out" : "");
    listing(c, names, before);
    int rc = run_in_work(c, commands[i].args);
    listing(c, names, after);
    expect_same(c, commands[i].args, when, before, after);
    cli_check(c, rc >= 0 && rc <= 4, commands[i].args);
  }
}

/* What the comparison is worth: it sees a file that was left, and one that came and went. */
static void listing_sees_what_is_written(cli *c) {
  static char before[1 << 16], after[1 << 16];
  static const char *const writes[] = {"run x.mlir --device cpu:0 --output 0=../tmp/stray.npy",
                                       "run x.mlir --device cpu:0 --output 0=../tmp/s.npy; rm ../tmp/s.npy"};
  for (int i = 0; i < 2; i++) {
    listing(c, "-path ./none", before);
    run_in_work(c, writes[i]);
    listing(c, "-path ./none", after);
    cli_check(c, strcmp(before, after) != 0, writes[i]);
  }
}

/* Schedules were stored, so that there was something to write. */
static void cache_has_entries(cli *c, const char *says) {
  run_in_work(c, "tune matmul --shape 16x16x16 --device cpu:0 --samples 2");
  run_in_work(c, "cache list");
  cli_check(c, strstr(c->said, says) != NULL, says);
}

int main(void) {
  static const char *const folders[] = {"work", "home", "tmp", "out", "cache", "work/.tessera"};
  char path[256];
  cli c;
  if (!cli_begin(&c)) return 77;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    cli_path(&c, folders[i], path, sizeof path), mkdir(path, 0700);
  cli_write(&c, "work/x.mlir", text, sizeof text - 1);
  cli_path(&c, "work", path, sizeof path);
  chmod(path, 0500);
  cli_path(&c, "home", path, sizeof path);
  setenv("HOME", path, 1);
  cli_path(&c, "tmp", path, sizeof path);
  setenv("TMPDIR", path, 1);
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  unsetenv("XDG_CACHE_HOME");
  listing_sees_what_is_written(&c);
  cli_path(&c, "cache", path, sizeof path);
  setenv("TSR_CACHE_DIR", path, 1);
  all_commands(&c, true, "a named cache", "-path ./cache");
#ifdef TSR_HAVE_SQLITE
  cache_has_entries(&c, "matmul");
#endif
  setenv("TSR_CACHE_DIR", "", 1);
  all_commands(&c, false, "no cache", "-path ./none");
  cache_has_entries(&c, "0 entries");
  unsetenv("TSR_CACHE_DIR");
  all_commands(&c, false, "a cache without a name", "-path ./work/.tessera");
  cli_path(&c, "work", path, sizeof path);
  chmod(path, 0700);
  return cli_end(&c);
}
