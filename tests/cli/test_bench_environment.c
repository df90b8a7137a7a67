/* tests/cli/test_bench_environment.c - a benchmark can be repeated: what its figures depend on is recorded in JSON,
 * table and page, the same seed gives the same operands and so the same error to the last digit, another seed others.
 * And what each level's switch is worth. */
#include "tests/cli/cli_run.h"

#define BENCH "bench matmul --shape 48x40x56 --device cpu:0 --policy deterministic --milliseconds 1 "

static void expect(cli *c, const char *says) { cli_check(c, strstr(c->said, says) != NULL, says); }

/* The error of the line that was printed last. */
static double error_of(cli *c, const char *args) {
  cli_expect(c, args, 0, "\"error\": ");
  return cli_number(c, "error");
}

int main(void) {
  static const char *const keys[] = {"library", "generator", "compiler", "os",      "cpu",  "isa",
                                     "cores",   "threads",   "governor", "cpu_mhz", "load", "device_name",
                                     "driver",  "arch",      "tune",     "when"};
  char key[64];
  cli c;
  if (!cli_begin(&c)) return 77;
  setenv("TSR_CACHE_DIR", c.dir, 1);
  setenv("TSR_THREADS", "1", 1);
  setenv("TSR_CPU_ISA", "portable", 1);
  double first = error_of(&c, BENCH "--json --html page.html"), again = error_of(&c, BENCH "--json");
  expect(&c, "\"ok\": true, \"packed_b\": false, \"environment\": {\"library\": ");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    snprintf(key, sizeof key, "\"%s\": ", keys[i]), expect(&c, key);
  expect(&c, "\"isa\": \"portable\"");
  expect(&c, "\"threads\": 1,");
  expect(&c, "\"seed\": 0, \"milliseconds\": 1,");
  expect(&c, "\"TSR_CPU_ISA\": \"portable\", \"TSR_THREADS\": \"1\"");
  expect(&c, "}}, \"baseline\": null");
  double other = error_of(&c, BENCH "--json --seed 7");
  expect(&c, "\"seed\": 7,");
  cli_check(&c, first == again && first != other, "errors of seeds 0, 0, 7: two equal, one other");

  /* What a switch of TSR_DISABLE is worth, timed beside. */
  error_of(&c,
           "bench matmul_bias_gelu --shape 32x32x32 --device cpu:0 --milliseconds 1 --json --without fusion,tiling");
  const char *share = strstr(c.said, "\"without\": {\"fusion\": "),
             *second = share ? strstr(share, ", \"tiling\": ") : NULL;
  cli_check(&c, second && strtod(share + 22, NULL) > 0 && strtod(second + 12, NULL) > 0, "shares of fusion and tiling");
  cli_refused(&c, "a word that is no switch", "bench add --shape 8x8 --device cpu:0 --without speed",
              "no switch is called \"speed\"");
  cli_refused(&c, "too many", "bench add --shape 8x8 --device cpu:0 --without a,b,c,d,e,f,g,h,i", "at most 8 switches");

  cli_expect(&c, BENCH, 0, "threads 1, kernels portable");
  expect(&c, "seed 0, timed for 1 ms or 7 runs a case; TSR_CACHE_DIR=");
  cli_check(&c, cli_shell(&c, "grep 'threads 1, kernels portable.*TSR_THREADS=1' page.html") == 0,
            "the page lacks the environment");
  return cli_end(&c);
}
