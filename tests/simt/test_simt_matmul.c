/* Matmul kernels of every matrix path, run in the emulator and compared with f64 sums over the same rounded inputs.
 * Small shapes that still take every part: several tiles, more k-steps than stages, ragged edges, batches, all
 * epilogues. Without a finding of the emulator (races, reads of unwritten memory, wrong waits). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/simt/matmul_run.h"
#include "tests/simt/target_run.h"

static char last_path[128];
static int worst_store; /* most turns of a bank that one write to shared memory took; 0 = never more than one */

static void check(const char *arch, const tile_matmul_case *c, const char *path) {
  static emu_unit u;
  static emu_report r;
  tsr_caps caps;
  strb text;
  ir_module *m;
  strb_init(&text, &al_default);
  tile_gen_matmul(&text, c);
  tsr_status st = ir_parse(NULL, strb_text(&text), text.n, c->name, &m);
  if (st) fail_msg("%s: %s", c->name, tsr_status_message(st));
  assert_null(emu_arch_caps(arch, &caps));
  caps.n_cores = 2; /* so that blocks walk several tiles */
  st = emu_build(m, &caps, &u);
  if (st) fail_msg("%s on %s: %s", c->name, arch, tsr_status_message(st));
  if (path && strncmp(u.paths[0], path, strlen(path)))
    fail_msg("%s on %s took the path \"%s\", not %s", c->name, arch, u.paths[0], path);
  matmul_data data = matmul_data_make(c, 1);
  memset(&r, 0, sizeof r);
  st = emu_launch(&u, 0, data.buffers, 1, &r);
  if (st) fail_msg("%s on %s: %s", c->name, arch, tsr_status_message(st));
  if (r.n_findings) {
    emu_report_print(&r, stdout);
    fail_msg("%s on %s: %d findings", c->name, arch, (int)r.n_findings);
  }
  snprintf(last_path, sizeof last_path, "%s", u.paths[0]);
  worst_store = 0;
  for (int i = 0; i < r.n_sites; i++)
    for (int d = 2; d <= EMU_MAX_DEGREE; d++)
      if (r.sites[i].write && r.sites[i].degree[d] && d > worst_store) worst_store = d;
  double worst = matmul_error(c, &data);
  if (!(worst <= 1)) fail_msg("%s on %s (%s): error is %g of the tolerance", c->name, arch, u.paths[0], worst);
  emu_unit_clear(&u);
  ir_module_destroy(&m);
  strb_clear(&text);
  matmul_data_clear(&data);
}

static const tile_matmul_case hopper[] = {
    {.name = "bf16_plain", .m = 256, .n = 256, .k = 320, .bm = 128, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_BF16},
    {.name = "bf16_wide", .m = 256, .n = 256, .k = 256, .bm = 128, .bn = 256, .bk = 64, .in = TSR_BF16, .out = TSR_BF16},
    {.name = "f16_ragged", .m = 200, .n = 136, .k = 200, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F16, .out = TSR_F16, .bias = true, .act = "gelu", .residual = true},
    {.name = "bf16_transposed_b", .m = 256, .n = 128, .k = 192, .bm = 128, .bn = 64, .bk = 64, .in = TSR_BF16, .out = TSR_F32, .tb = true},
    {.name = "bf16_transposed_a", .m = 256, .n = 128, .k = 192, .bm = 128, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_BF16, .ta = true},
    {.name = "bf16_both_transposed", .m = 128, .n = 192, .k = 128, .bm = 64, .bn = 64, .bk = 64, .in = TSR_BF16, .out = TSR_BF16, .ta = true, .tb = true},
    {.name = "bf16_batched", .m = 128, .n = 128, .k = 128, .batch = 3, .bm = 128, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_BF16},
    {.name = "bf16_deep_stage", .m = 128, .n = 128, .k = 256, .bm = 64, .bn = 64, .bk = 128, .in = TSR_BF16, .out = TSR_BF16, .tb = true},
    {.name = "bf16_256_rows", .m = 256, .n = 128, .k = 128, .bm = 256, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_BF16, .bias = true},
    {.name = "f8_plain", .m = 128, .n = 128, .k = 256, .bm = 128, .bn = 128, .bk = 128, .in = TSR_F8E4M3, .out = TSR_BF16, .tb = true},
    {.name = "f8_e5m2", .m = 128, .n = 128, .k = 256, .bm = 128, .bn = 64, .bk = 128, .in = TSR_F8E5M2, .out = TSR_F16, .tb = true},
    {.name = "i8_plain", .m = 128, .n = 128, .k = 256, .bm = 128, .bn = 128, .bk = 128, .in = TSR_I8, .out = TSR_I32, .tb = true},
    {.name = "tf32_wide", .m = 64, .n = 256, .k = 64, .bm = 64, .bn = 256, .bk = 32, .in = TSR_TF32, .out = TSR_TF32, .tb = true},
    {.name = "f8_192_columns", .m = 64, .n = 192, .k = 384, .bm = 64, .bn = 192, .bk = 256, .in = TSR_F8E4M3, .out = TSR_BF16, .tb = true},
    {.name = "f8_e5m2_192_columns", .m = 64, .n = 192, .k = 256, .bm = 64, .bn = 192, .bk = 256, .in = TSR_F8E5M2, .out = TSR_BF16, .tb = true},
    {.name = "f8_e5m2_128_columns", .m = 64, .n = 128, .k = 128, .bm = 64, .bn = 128, .bk = 128, .in = TSR_F8E5M2, .out = TSR_BF16, .tb = true},
    {.name = "i8_256_columns", .m = 64, .n = 256, .k = 128, .bm = 64, .bn = 256, .bk = 128, .in = TSR_I8, .out = TSR_I32, .tb = true},
    {.name = "i8_64_columns", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 128, .in = TSR_I8, .out = TSR_I32, .tb = true},
    {.name = "tf32_plain", .m = 128, .n = 128, .k = 96, .bm = 128, .bn = 64, .bk = 32, .in = TSR_TF32, .out = TSR_F32, .tb = true},
};

/* Results of every size through shared memory and TMA: boxes beyond the last row and column, whole tiles and passes by
 * one and two buffers. */
static const tile_matmul_case stored[] = {
    {.name = "f32_ragged", .m = 200, .n = 136, .k = 72, .bm = 128, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_F32, .bias = true, .act = "silu", .residual = true},
    {.name = "f32_passes", .m = 200, .n = 264, .k = 136, .bm = 128, .bn = 256, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true, .bias = true, .act = "gelu"},
    {.name = "f32_batched", .m = 72, .n = 36, .k = 64, .batch = 3, .bm = 64, .bn = 32, .bk = 64, .in = TSR_BF16, .out = TSR_F32, .tb = true, .residual = true},
    {.name = "tf32_ragged", .m = 136, .n = 76, .k = 36, .bm = 128, .bn = 64, .bk = 32, .in = TSR_TF32, .out = TSR_F32, .tb = true, .bias = true, .act = "relu"},
    {.name = "tf32_256_rows", .m = 264, .n = 128, .k = 64, .bm = 256, .bn = 128, .bk = 32, .in = TSR_TF32, .out = TSR_F32, .tb = true, .residual = true},
    {.name = "i32_ragged", .m = 72, .n = 100, .k = 144, .bm = 64, .bn = 96, .bk = 128, .in = TSR_I8, .out = TSR_I32, .tb = true, .bias = true, .residual = true},
    {.name = "f8_ragged", .m = 136, .n = 144, .k = 144, .bm = 128, .bn = 128, .bk = 128, .in = TSR_F8E4M3, .out = TSR_F8E4M3, .tb = true, .bias = true, .act = "relu", .residual = true},
    {.name = "f8_wide", .m = 128, .n = 272, .k = 128, .bm = 128, .bn = 128, .bk = 128, .in = TSR_F8E5M2, .out = TSR_F8E5M2, .tb = true, .act = "gelu"},
    {.name = "i8_ragged", .m = 72, .n = 144, .k = 16, .bm = 64, .bn = 128, .bk = 128, .in = TSR_I8, .out = TSR_I8, .tb = true, .bias = true},
    {.name = "f16_from_bf16", .m = 72, .n = 136, .k = 64, .bm = 64, .bn = 128, .bk = 64, .in = TSR_BF16, .out = TSR_F16, .bias = true},
};

static void wgmma_kernels_match_f64(void **s) {
  for (size_t i = 0; i < sizeof hopper / sizeof *hopper; i++) check("sm_90a", &hopper[i], "wgmma");
}

static void wgmma_results_go_by_tma(void **s) {
  for (size_t i = 0; i < sizeof stored / sizeof *stored; i++) {
    check("sm_90a", &stored[i], "wgmma");
    if (!strstr(last_path, "TMA epilogue")) fail_msg("%s took \"%s\"", stored[i].name, last_path);
    if (worst_store) fail_msg("%s: shared accesses of up to %d turns", stored[i].name, worst_store);
  }
}

static const tile_matmul_case small[] = {
    {.name = "bf16", .m = 96, .n = 128, .k = 96, .bm = 64, .bn = 64, .bk = 32, .in = TSR_BF16, .out = TSR_BF16},
    {.name = "bf16_wide", .m = 64, .n = 256, .k = 64, .bm = 64, .bn = 128, .bk = 32, .in = TSR_BF16, .out = TSR_BF16, .bias = true},
    {.name = "f16_epilogue", .m = 77, .n = 95, .k = 70, .bm = 64, .bn = 64, .bk = 32, .in = TSR_F16, .out = TSR_F16, .bias = true, .act = "silu", .residual = true},
    {.name = "f16_tb", .m = 64, .n = 128, .k = 64, .bm = 64, .bn = 64, .bk = 32, .in = TSR_F16, .out = TSR_F32, .tb = true},
    {.name = "f16_ta", .m = 64, .n = 64, .k = 64, .bm = 64, .bn = 64, .bk = 32, .in = TSR_F16, .out = TSR_F32, .ta = true},
    {.name = "i8", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 64, .in = TSR_I8, .out = TSR_I32},
    {.name = "i8_tb", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 64, .in = TSR_I8, .out = TSR_I32, .tb = true},
};
static const tile_matmul_case f8_small[] = {
    {.name = "f8", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 64, .in = TSR_F8E4M3, .out = TSR_F32, .tb = true},
    {.name = "f8_e5m2", .m = 64, .n = 64, .k = 64, .bm = 64, .bn = 64, .bk = 64, .in = TSR_F8E5M2, .out = TSR_F32},
};
/* 9 x 11 tiles: groups of rows and dies that don't divide them. */
static const tile_matmul_case many_tiles = {
    .name = "many_tiles", .m = 144, .n = 176, .k = 32, .bm = 16, .bn = 16, .bk = 32, .in = TSR_F16, .out = TSR_F32};
static const tile_matmul_case tf32_small = {
    .name = "tf32", .m = 64, .n = 64, .k = 64, .bm = 64, .bn = 64, .bk = 32, .in = TSR_TF32, .out = TSR_F32};
static const tile_matmul_case u8_small = {
    .name = "u8", .m = 32, .n = 32, .k = 64, .bm = 32, .bn = 32, .bk = 32, .in = TSR_U8, .out = TSR_I32};
static const tile_matmul_case i8_shallow = {
    .name = "i8_shallow", .m = 32, .n = 32, .k = 64, .bm = 32, .bn = 32, .bk = 32, .in = TSR_I8, .out = TSR_I32};
static const tile_matmul_case f64_small = {
    .name = "f64", .m = 64, .n = 64, .k = 32, .bm = 32, .bn = 32, .bk = 16, .in = TSR_F64, .out = TSR_F64};

static void all_small(const char *arch, const char *path, bool f8) {
  for (size_t i = 0; i < sizeof small / sizeof *small; i++) check(arch, &small[i], path);
  for (size_t i = 0; f8 && i < sizeof f8_small / sizeof *f8_small; i++) check(arch, &f8_small[i], path);
}

static void mma_kernels_match_f64(void **s) {
  all_small("sm_80", "mma", false);
  check("sm_80", &tf32_small, "mma");
  check("sm_80", &many_tiles, "mma");
  check("sm_80", &u8_small, "mma");
  for (size_t i = 0; i < sizeof f8_small / sizeof *f8_small; i++) check("sm_120", &f8_small[i], "mma");
}
static void mfma_kernels_match_f64(void **s) {
  all_small("gfx90a", "mfma", false);
  check("gfx90a", &f64_small, "mfma");
  all_small("gfx942", "mfma", true);
  check("gfx942", &f64_small, "mfma");
  check("gfx942", &tf32_small, "mfma");
  check("gfx942", &many_tiles, "mfma");
  all_small("gfx950", "mfma", true);
  check("gfx950", &f64_small, "mfma");
  check("gfx950", &i8_shallow, "mfma");
  tile_matmul_case deep = f8_small[1]; /* f8f6f4 */
  deep.k = deep.bk = 128;
  check("gfx950", &deep, "mfma");
}

/* Operands straight to LDS. m and n not multiples of the tile; every way that operands can lie; one wave's part of 64
 * and of 32 columns. */
static const tile_matmul_case direct[] = {
    {.name = "nn", .m = 200, .n = 136, .k = 160, .bm = 128, .bn = 128, .bk = 32, .in = TSR_BF16, .out = TSR_BF16, .bias = true, .act = "gelu", .residual = true},
    {.name = "nt", .m = 200, .n = 136, .k = 192, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true},
    {.name = "tn", .m = 136, .n = 200, .k = 64, .bm = 128, .bn = 128, .bk = 32, .in = TSR_F16, .out = TSR_F16, .ta = true},
    {.name = "tt_batched", .m = 128, .n = 128, .k = 64, .batch = 2, .bm = 128, .bn = 128, .bk = 32, .in = TSR_BF16, .out = TSR_F32, .ta = true, .tb = true},
    {.name = "nt_narrow", .m = 128, .n = 64, .k = 128, .bm = 128, .bn = 64, .bk = 32, .in = TSR_BF16, .out = TSR_F32, .tb = true, .stages = 4},
    {.name = "nt_one_step", .m = 64, .n = 64, .k = 64, .bm = 64, .bn = 64, .bk = 64, .in = TSR_BF16, .out = TSR_F32, .tb = true},
    {.name = "i8", .m = 64, .n = 64, .k = 256, .bm = 64, .bn = 64, .bk = 64, .in = TSR_I8, .out = TSR_I32, .tb = true},
    {.name = "f32", .m = 64, .n = 64, .k = 96, .bm = 64, .bn = 64, .bk = 32, .in = TSR_F32, .out = TSR_F32, .tb = true},
};
static const tile_matmul_case direct_f8 = {.name = "f8",
                                           .m = 128,
                                           .n = 64,
                                           .k = 256,
                                           .bm = 64,
                                           .bn = 64,
                                           .bk = 128,
                                           .in = TSR_F8E4M3,
                                           .out = TSR_BF16,
                                           .tb = true};
/* gfx942: made FNUZ on the way */
static const tile_matmul_case converted[] = {
    {.name = "f8_direct", .m = 100, .n = 128, .k = 320, .bm = 64, .bn = 128, .bk = 64, .in = TSR_F8E4M3, .out = TSR_BF16, .tb = true, .bias = true, .act = "relu", .path = "direct"},
    {.name = "e5m2_direct", .m = 64, .n = 64, .k = 256, .bm = 64, .bn = 64, .bk = 128, .in = TSR_F8E5M2, .out = TSR_F32, .tb = true, .path = "direct"},
    {.name = "f8_pingpong", .m = 128, .n = 136, .k = 256, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F8E4M3, .out = TSR_F32, .tb = true, .residual = true, .path = "pingpong"},
    {.name = "e5m2_pingpong", .m = 128, .n = 128, .k = 128, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F8E5M2, .out = TSR_F16, .tb = true, .path = "pingpong"},
};
static const tile_matmul_case pingpong[] = {
    {.name = "nn", .m = 200, .n = 264, .k = 160, .bm = 128, .bn = 256, .bk = 32, .in = TSR_BF16, .out = TSR_BF16, .bias = true, .residual = true},
    {.name = "nt_two_spans", .m = 128, .n = 128, .k = 256, .bm = 128, .bn = 128, .bk = 64, .in = TSR_F16, .out = TSR_F32, .tb = true},
    {.name = "tn", .m = 128, .n = 256, .k = 64, .bm = 128, .bn = 256, .bk = 32, .in = TSR_F16, .out = TSR_F16, .ta = true},
    {.name = "one_step", .m = 128, .n = 128, .k = 32, .bm = 128, .bn = 128, .bk = 32, .in = TSR_BF16, .out = TSR_F32, .tb = true},
};

static const tile_matmul_case pingpong_bytes[] = { /* gfx950 */
    {.name = "i8", .m = 128, .n = 136, .k = 256, .bm = 128, .bn = 128, .bk = 128, .in = TSR_I8, .out = TSR_I32, .tb = true, .path = "pingpong"},
    {.name = "f8", .m = 100, .n = 128, .k = 256, .bm = 128, .bn = 128, .bk = 128, .in = TSR_F8E4M3, .out = TSR_BF16, .tb = true, .path = "pingpong"},
};

static void direct_kernels_match_f64(void **s) {
  static const char *const archs[] = {"gfx90a", "gfx942", "gfx950"};
  for (int a = 0; a < 3; a++)
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++) {
      tile_matmul_case c = direct[i];
      if (a != 1 && i % 3 != (size_t)(a != 0)) continue; /* all on gfx942 */
      c.path = "direct";
      check(archs[a], &c, "direct");
    }
  tile_matmul_case f8 = direct_f8, i8 = direct[6];
  f8.path = i8.path = "direct";
  check("gfx950", &f8, "direct mfma 16x16x128");
  check("gfx950", &i8, "direct mfma 16x16x64");
  for (size_t i = 0; i < sizeof converted / sizeof *converted; i++) check("gfx942", &converted[i], converted[i].path);
}

static void pingpong_kernels_match_f64(void **s) {
  for (int a = 0; a < 2; a++)
    for (size_t i = 0; i < sizeof pingpong / sizeof *pingpong; i++) {
      tile_matmul_case c = pingpong[i];
      c.path = "pingpong";
      check(a ? "gfx950" : "gfx942", &c, "pingpong");
    }
  for (size_t i = 0; i < sizeof pingpong_bytes / sizeof *pingpong_bytes; i++)
    check("gfx950", &pingpong_bytes[i], "pingpong");
}

/* What these lowerings don't take goes the usual way. */
static void unsuited_kernels_take_mfma(void **s) {
  tile_matmul_case odd = small[2], ragged_k = direct[1];
  odd.path = "pingpong";
  check("gfx942", &odd, "mfma");
  ragged_k.path = "direct";
  ragged_k.k = 100;
  check("gfx942", &ragged_k, "mfma");
  ragged_k.path = "direct";
  check("gfx1100", &ragged_k, "wmma");
}

static void wmma_kernels_match_f64(void **s) {
  all_small("gfx1100", "wmma", false);
  all_small("gfx1201", "wmma", true);
}

/* Non-negative operands, of which a sum of 4096 loses most: the error in units of the tolerance. promote: the kernel is
 * made as the device's is, else as if its tensor cores kept all of f32; they don't. */
static double long_sum_error(const char *arch, tile_matmul_case c, bool promote) {
  static emu_unit u;
  static emu_report r;
  tsr_caps caps;
  strb text;
  ir_module *m;
  strb_init(&text, &al_default);
  c.name = "long_sum";
  tile_gen_matmul(&text, &c);
  assert_null(ir_parse(NULL, strb_text(&text), text.n, c.name, &m));
  assert_null(emu_arch_caps(arch, &caps));
  int bits = caps.f8_sum_bits;
  assert_int_equal(bits, 14);
  if (!promote) caps.f8_sum_bits = 0;
  assert_null(emu_build(m, &caps, &u));
  if (strncmp(u.paths[0], c.path, strlen(c.path)))
    fail_msg("%s took the path \"%s\", not %s", arch, u.paths[0], c.path);
  u.caps.f8_sum_bits = bits;
  matmul_data data = matmul_data_make(&c, 1);
  for (int64_t i = 0; i < c.m * c.k; i++) ((uint8_t *)data.a)[i] &= 0x7f;
  for (int64_t i = 0; i < c.n * c.k; i++) ((uint8_t *)data.b)[i] &= 0x7f;
  memset(&r, 0, sizeof r);
  assert_null(emu_launch(&u, 0, data.buffers, 1, &r));
  assert_int_equal(r.n_findings, 0);
  double worst = matmul_error(&c, &data);
  matmul_data_clear(&data);
  emu_unit_clear(&u);
  ir_module_destroy(&m);
  strb_clear(&text);
  return worst;
}

/* Ada and Hopper keep 14 bits of an fp8 sum: 7 % of a sum of 4096 is lost in one accumulator, less than 0.1 % where
 * each 128 of k go to f32. On Hopper's mma.sync the operands become f16 and the sums are f32's. */
static void long_f8_sums_are_promoted(void **s) {
  static const struct { const char *arch; tile_matmul_case c; } list[] = {
      {"sm_90a", {.m = 64, .n = 64, .k = 4096, .bm = 64, .bn = 64, .bk = 128, .in = TSR_F8E4M3, .out = TSR_F32, .tb = true, .path = "wgmma"}},
      {"sm_90a", {.m = 64, .n = 32, .k = 4096, .bm = 64, .bn = 32, .bk = 256, .in = TSR_F8E5M2, .out = TSR_F32, .tb = true, .path = "wgmma"}},
      {"sm_89", {.m = 32, .n = 32, .k = 4096, .bm = 32, .bn = 32, .bk = 64, .in = TSR_F8E4M3, .out = TSR_F32, .tb = true, .path = "mma"}},
      {"sm_89", {.m = 32, .n = 32, .k = 4096, .bm = 32, .bn = 32, .bk = 256, .in = TSR_F8E4M3, .out = TSR_F32, .path = "mma"}},
      {"sm_89", {.m = 32, .n = 32, .k = 4096, .bm = 32, .bn = 32, .bk = 256, .in = TSR_F8E5M2, .out = TSR_F32, .tb = true, .path = "mma"}}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    double with = long_sum_error(list[i].arch, list[i].c, true),
           without = long_sum_error(list[i].arch, list[i].c, false);
    if (!(with <= 1 && without > 10))
      fail_msg("%s, case %d: %g of the tolerance, in one accumulator %g", list[i].arch, (int)i, with, without);
  }
  tile_matmul_case by_f16 = list[2].c;
  assert_true(long_sum_error("sm_90a", by_f16, true) <= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wgmma_kernels_match_f64),    cmocka_unit_test(wgmma_results_go_by_tma),
      cmocka_unit_test(mma_kernels_match_f64),      cmocka_unit_test(mfma_kernels_match_f64),
      cmocka_unit_test(wmma_kernels_match_f64),     cmocka_unit_test(direct_kernels_match_f64),
      cmocka_unit_test(pingpong_kernels_match_f64), cmocka_unit_test(unsuited_kernels_take_mfma),
      cmocka_unit_test(long_f8_sums_are_promoted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
