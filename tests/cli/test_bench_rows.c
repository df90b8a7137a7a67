/* tests/cli/test_bench_rows.c - every case of `tessera bench` leaves a row on every device: measured, "unsupported" or
 * "failed" with the reason, in the table, in JSON and on the page; what one device can't do doesn't end the run before
 * the next, and the exit status says it: 4 where something is only not supported. */
#include <math.h>

#include "tests/cli/cli_run.h"

#define FAKE(name) TSR_BINARY_DIR "/tests/libfake" name ".so"

/* Products of every type: some device lacks some of them, and each leaves its row. */
static void each_type_leaves_a_row(cli *c, const char *device) {
  char args[160], row[32];
  snprintf(args, sizeof args,
           "bench matmul --shape 8x8x8 --dtype f32,f64,i8,u8,i16,i32,i64,fp8_e4m3 --device %s --milliseconds 1",
           device);
  snprintf(row, sizeof row, "\n%s ", device);
  int rc = cli_run(c, args), none = cli_count(c, "unsupported: ");
  cli_check(c, cli_count(c, row) == 8, args);
  cli_check(c, rc == (cli_count(c, "WRONG") ? 1 : none ? 4 : 0), args);
}

/* Powers of random numbers are partly NaN, in the reference too: that isn't an error. */
static void pow_is_right(cli *c, const char *device) {
  char args[128];
  snprintf(args, sizeof args, "bench pow --shape 64x64 --dtype f32,f16 --device %s --milliseconds 1", device);
  int rc = cli_run(c, args);
  cli_check(c, rc == 0 && cli_count(c, " ok") == 2 && !strstr(c->said, "WRONG"), args);
}

/* Rates are work by time, and the work is what the op's row says: operands by their number, results by their type. */
static void rates_count_what_the_row_says(cli *c) {
  static const struct { const char *op, *shape, *dtype; double flops, bytes; } cases[] = {
      {"rem", "32x32", "f32", 1024, 3 * 4096},
      {"layernorm", "32x64", "bf16", 2048, 2 * 4096},
      {"reduce_max", "32x64", "f32", 2048, 4 * (2048 + 32)},
      {"matmul", "3x8x16x32", "i8", 2 * 3 * 8 * 16 * 32, 3 * (8 * 32 + 32 * 16 + 4 * 8 * 16)},
      {"matmul", "8x16x32", "i64", 2 * 8 * 16 * 32, 8 * (8 * 32 + 32 * 16 + 8 * 16)},
      {"matmul_bias_gelu", "8x16x32", "f32", 2 * 8 * 16 * 32, 4 * (8 * 32 + 32 * 16 + 8 * 16)},
  };
  char args[128];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    snprintf(args, sizeof args, "bench %s --shape %s --dtype %s --device cpu:0 --milliseconds 1 --json", cases[i].op,
             cases[i].shape, cases[i].dtype);
    cli_run(c, args);
    double us = cli_number(c, "median_us"), flops = cli_number(c, "gflops") * us * 1e3,
           bytes = cli_number(c, "gbytes_per_s") * us * 1e3;
    cli_check(c, fabs(flops / cases[i].flops - 1) < 1e-4 && fabs(bytes / cases[i].bytes - 1) < 1e-4, args);
  }
}

/* A rate above the measured peak is marked, in the table by "*" and in JSON by `above_peak`, and no other is. Of
 * rounded percentages and rates those next to the peak say nothing. */
static void what_is_above_a_peak_is_marked(cli *c) {
  static const char *const ops[] = {"add --shape 32x32,64x64,512x1024", "matmul --shape 256x256x256"};
  char args[128];
  int seen = 0;
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    snprintf(args, sizeof args, "bench %s --dtype f32 --device cpu:0 --milliseconds 1", ops[i]);
    cli_run(c, args);
    for (const char *p = c->said; (p = strchr(p, '%')); p++) {
      const char *digits = p;
      while (digits > c->said && digits[-1] >= '0' && digits[-1] <= '9') digits--;
      if (digits == p) continue;
      const long percent = strtol(digits, NULL, 10);
      seen++;
      if (percent != 100) cli_check(c, (p[1] == '*') == (percent > 100), args);
    }
    snprintf(args, sizeof args, "bench %s --dtype f32 --device cpu:0 --milliseconds 1 --json", ops[i]);
    cli_run(c, args);
    const double share = cli_number(c, "gflops") / cli_number(c, "peak_gflops");
    if (fabs(share - 1) > 1e-4)
      cli_check(c, !strstr(c->said, share > 1 ? "above_peak\": false" : "above_peak\": true"), args);
  }
  cli_check(c, seen >= 2 * 4, "the table has no percentages");
}

/* Lines of the page, which the last run wrote, that begin a row and hold all three. */
static int page_rows(const cli *c, const char *device, const char *dtype, const char *what) {
  char path[256], line[4096], cell[2][64];
  int n = 0;
  cli_path(c, "p.html", path, sizeof path);
  snprintf(cell[0], sizeof cell[0], "<td class=t>%s</td>", device);
  snprintf(cell[1], sizeof cell[1], "<td class=t>%s</td>", dtype);
  FILE *f = fopen(path, "r");
  while (f && fgets(line, sizeof line, f))
    n += !strncmp(line, "<tr><td", 7) && strstr(line, cell[0]) && strstr(line, cell[1]) && strstr(line, what);
  if (f) fclose(f);
  return n;
}

static bool page_says(const cli *c, const char *what) { return strstr(cli_text(c, "p.html"), what) != NULL; }

static void unsupported_case_is_on_the_page(cli *c) {
  setenv("TSR_VK_HIDE", "f64", 1);
  int rc = cli_run(c, "bench pow --shape 8x8 --dtype f64,f32 --device vulkan:0 --milliseconds 1 --html p.html --json");
  cli_check(c, rc == 4 && cli_count(c, "\"unsupported\": \"") == 1, "pow of f64 on Vulkan: exit status, JSON");
  cli_check(c, page_rows(c, "vulkan:0", "f64", ">unsupported<") == 1, "an unsupported case is not on the page");
  cli_check(c, page_rows(c, "vulkan:0", "f64", "the device has no shaderFloat64") == 1, "the page doesn't say why");
  cli_check(c, page_rows(c, "vulkan:0", "f32", ">right ") == 1, "the supported case is not on the page");
  cli_check(c, page_says(c, "1 results, 0 wrong, 0 not checked, 1 cases unsupported<"), "the page doesn't count it");
  unsetenv("TSR_VK_HIDE");
}

/* The device fails as it is opened, or in the middle: each case has its row, and so have those of the devices after it,
 * on the page too. */
static void lost_device_leaves_its_rows(cli *c, const char *fault, const char *device, int later) {
  char args[160];
  setenv("TSR_VK_FAULT", fault, 1);
  snprintf(args, sizeof args, "bench add --shape 8x8,9x9,10x10 --device %s --milliseconds 1 --html p.html --json",
           device);
  int rc = cli_run(c, args), failed = page_rows(c, "vulkan:0", "f32", ">failed<");
  unsetenv("TSR_VK_FAULT");
  cli_check(c, rc == 3, "the exit status of a lost device");
  cli_check(c, failed >= 1 && failed + page_rows(c, "vulkan:0", "f32", ">right ") == 3,
            "its cases are not on the page");
  cli_check(c, page_rows(c, "cuda:0", "f32", "") == later, "the page ends before the later devices");
  cli_check(c, cli_count(c, "\"failed\": \"") == failed, "JSON and page differ");
  cli_check(c, page_says(c, " cases failed<"), "the page doesn't count them");
}

int main(void) {
  cli c;
  if (!cli_begin(&c)) return 77;
  each_type_leaves_a_row(&c, "cpu:0");
  pow_is_right(&c, "cpu:0");
  rates_count_what_the_row_says(&c);
  what_is_above_a_peak_is_marked(&c);
  bool vulkan = cli_run(&c, "bench add --shape 8x8 --device vulkan:0 --milliseconds 1") == 0;
  if (vulkan) {
    each_type_leaves_a_row(&c, "vulkan:0");
    pow_is_right(&c, "vulkan:0");
    cli_run(&c, "bench matmul --shape 128x128x128 --device vulkan:0 --milliseconds 1 --json");
    cli_check(&c, strstr(c.said, "\"peak_gflops\": ") && !strstr(c.said, "\"peak_gflops\": null"),
              "a GPU has no arithmetic peak");
    unsupported_case_is_on_the_page(&c);
    lost_device_leaves_its_rows(&c, "lost:12", "vulkan:0", 0);
  } else printf("no Vulkan device: its rows were not looked at\n");
  setenv("TSR_LIBCUDA", FAKE("cuda"), 1); /* a device after Vulkan's, on which a case ends at once */
  setenv("TSR_NVRTC", FAKE("cuda"), 1);
  setenv("TSR_VK_FAULT", "lost:1", 1);
  int rc = cli_run(&c, "bench add --shape 8x8 --milliseconds 1 --json");
  cli_check(&c, rc == (vulkan ? 3 : 1) && strstr(c.said, "\"device\": \"cuda:0\""),
            "a failed case ends the run before the later devices");
  cli_check(&c, !vulkan || strstr(c.said, "\"failed\": \""), "a failed case leaves no row");
  if (vulkan) lost_device_leaves_its_rows(&c, "lost:1", "all", 3);
  unsetenv("TSR_VK_FAULT");
  rc = cli_run(&c, "bench add --shape 8x8,9x9 --device cuda:0 --milliseconds 1 --html p.html");
  cli_check(&c, rc == 1 && page_rows(&c, "cuda:0", "f32", ">WRONG ") == 2,
            "a wrong result is on the page, and in the exit status");
  return cli_end(&c);
}
