/* tests/cli/test_bench_rows.c - every case of `tessera bench` leaves a row on every device: measured, "unsupported" or
 * "failed" with the reason; what one device can't do doesn't end the run before the next, and the exit status says it:
 * 4 where something is only not supported. */
#include "tests/cli/cli_run.h"

#define FAKE(name) TSR_BINARY_DIR "/tests/libfake" name ".so"

static int count(const char *in, const char *what) {
  int n = 0;
  for (const char *p = in; (p = strstr(p, what)); p += strlen(what)) n++;
  return n;
}

static void check(cli *c, bool good, const char *what) {
  c->n++;
  if (good) return;
  c->wrong++;
  printf("%s:\n%s\n", what, c->said);
}

/* Products of every type: some device lacks some of them, and each leaves its row. */
static void each_type_leaves_a_row(cli *c, const char *device) {
  char args[160], row[32];
  snprintf(args, sizeof args,
           "bench matmul --shape 8x8x8 --dtype f32,f64,i8,u8,i16,i32,i64,fp8_e4m3 --device %s --milliseconds 1",
           device);
  snprintf(row, sizeof row, "\n%s ", device);
  int rc = cli_run(c, args), none = count(c->said, "unsupported: ");
  check(c, count(c->said, row) == 8, args);
  check(c, rc == (count(c->said, "WRONG") ? 1 : none ? 4 : 0), args);
}

/* Powers of random numbers are partly NaN, in the reference too: that isn't an error. */
static void pow_is_right(cli *c, const char *device) {
  char args[128];
  snprintf(args, sizeof args, "bench pow --shape 64x64 --dtype f32,f16 --device %s --milliseconds 1", device);
  int rc = cli_run(c, args);
  check(c, rc == 0 && count(c->said, " ok") == 2 && !strstr(c->said, "WRONG"), args);
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  each_type_leaves_a_row(&c, "cpu:0");
  pow_is_right(&c, "cpu:0");
  bool vulkan = cli_run(&c, "bench add --shape 8x8 --device vulkan:0 --milliseconds 1") == 0;
  if (vulkan) {
    each_type_leaves_a_row(&c, "vulkan:0");
    pow_is_right(&c, "vulkan:0");
    cli_run(&c, "bench matmul --shape 128x128x128 --device vulkan:0 --milliseconds 1 --json");
    check(&c, strstr(c.said, "\"peak_gflops\": ") && !strstr(c.said, "\"peak_gflops\": null"),
          "a GPU has no arithmetic peak");
  } else printf("no Vulkan device: its rows were not looked at\n");
  setenv("TSR_LIBCUDA", FAKE("cuda"), 1); /* a device after Vulkan's, on which a case ends at once */
  setenv("TSR_NVRTC", FAKE("cuda"), 1);
  setenv("TSR_VK_FAULT", "lost:1", 1);
  int rc = cli_run(&c, "bench add --shape 8x8 --milliseconds 1 --json");
  check(&c, rc == (vulkan ? 3 : 1) && strstr(c.said, "\"device\": \"cuda:0\""),
        "a failed case ends the run before the later devices");
  check(&c, !vulkan || strstr(c.said, "\"failed\": \""), "a failed case leaves no row");
  return cli_end(&c);
}
