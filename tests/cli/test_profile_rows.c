/* tests/cli/test_profile_rows.c - a schedule that is not the one asked for is told by `tessera profile`: in the row of
 * the JSON and of --wide with both, and as a warning under TSR_FALLBACK=warn; allow is silent, error refuses. On the
 * fake CUDA driver, whose device has limits. */
#include "tests/cli/cli_run.h"

#define FAKE TSR_BINARY_DIR "/tests/libfakecuda.so"
static const char text[] = "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<512x512xf32>):\n%0 = \"tessera.graph.matmul\""
                           "(%A, %A) {tile_shape = [512, 512, 256]}\n\"tessera.graph.return\"(%0)\n}) {sym_name = "
                           "\"main\"}\n";

int main(void) {
  static const char row[] = "\"original\": \"512x512x256 ", wide[] = "asked for, or in the table: 512x512x256 ",
                    warning[] = "warning: schedule_legalize: the schedule of matmul_0: 512x512x256 ";
  static const struct { const char *fallback, *args; int rc; const char *says, *says_too, *not; } cases[] = {
      {"warn", "profile x.mlir --device cuda:0 --steps 2 --json", 0, row, warning, NULL},
      {NULL, "profile x.mlir --device cuda:0 --steps 2 --json", 0, row, warning, NULL},
      {"warn", "profile x.mlir --device cuda:0 --steps 2 --wide", 0, wide, warning, NULL},
      {"warn", "run x.mlir --device cuda:0", 0, warning, warning, NULL},
      {"allow", "profile x.mlir --device cuda:0 --steps 2 --json", 0, row, "\"original_why\": \"matmul_0: 512x512x256 ",
       "warning"},
      {"error", "profile x.mlir --device cuda:0 --steps 2 --json", 2, "x.mlir:3:6: ", "breaks a limit: shared memory",
       "\"rows\""}};
  cli c;
  if (!cli_begin(&c)) return 77;
  setenv("TSR_LIBCUDA", FAKE, 1);
  setenv("TSR_NVRTC", FAKE, 1);
  cli_write(&c, "x.mlir", text, sizeof text - 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (cases[i].fallback) setenv("TSR_FALLBACK", cases[i].fallback, 1);
    else unsetenv("TSR_FALLBACK");
    int rc = cli_run(&c, cases[i].args);
    cli_judge(&c, cases[i].args, rc, cases[i].rc, cases[i].says,
              strstr(c.said, cases[i].says_too) && !(cases[i].not &&strstr(c.said, cases[i].not )));
  }
  return cli_end(&c);
}
