/* tests/cli/test_bench_events.c - `tessera bench` on a fake GPU beside a fake cuBLASLt: both are timed by the device's
 * clock, which there goes on by 10 microseconds for a launch of ours and 20 for one of the peer's, so the figures are
 * known to the digit whatever the machine does. */
#include "tests/cli/cli_run.h"

#define FAKE(name) TSR_BINARY_DIR "/tests/libfake" name ".so"

int main(void) {
  static const struct { const char *what, *args, *says; } cases[] = {
      {"our launches take 10 us", "bench matmul --shape 64x64x64 --dtype bf16 --device cuda:0 --against cublaslt --milliseconds 20 --json", "\"median_us\": 10, \"min_us\": 10,"},
      {"the peer's take 20", "", "\"baseline_median_us\": 20, \"ratio\": 2}"},
      {"by whom", "", "\"timed_by\": \"events\""},
      {"the copy is measured by events too", "", "\"copy_gbytes_per_s\": 2684.35,"}, /* twice 128 MiB in 100 us */
      {"a peer that is missing is said", "bench softmax --shape 64x64 --device cuda:0 --against cublaslt --milliseconds 20 --json", "this op or type\"}"},
  };
  cli c;
  if (!cli_begin(&c)) return 77;
  setenv("TSR_LIBCUDA", FAKE("cuda"), 1);
  setenv("TSR_NVRTC", FAKE("cuda"), 1);
  setenv("TSR_CUBLASLT", FAKE("cublaslt"), 1);
  setenv("TSR_CACHE_DIR", c.dir, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int rc = *cases[i].args ? cli_run(&c, cases[i].args) : 1;
    cli_judge(&c, cases[i].what, rc, 1, cases[i].says,
              true); /* 1: a fake GPU computes nothing, and the check says so */
  }
  return cli_end(&c);
}
