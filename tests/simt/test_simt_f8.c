/* tests/simt/test_simt_f8.c - every conversion to and from 8-bit floats against a table made from the formats'
 * definition (OCP 8-bit floating point 1.0, table 1; FNUZ: CDNA3 ISA): on the CPU, on Vulkan where there is a device,
 * and as each emulated device does it, in matrix instructions too. All codes; their neighbours, the midpoints between
 * them, overflow, NaN, infinities, both zeros, subnormals of every type. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "tessera/tessera.h"
#include "tests/simt/backend_emu.h"
#include "tests/simt/emu_check.h"
#include "tests/simt/matmul_run.h"
#include "tests/simt/target_run.h"

enum { MAX_VALUES = 4096 };
static tsr_context *ctx;

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* max: the largest finite code; one beyond it is infinity where there is one. */
typedef struct format { tsr_dtype t; const char *name; int mantissa, bias, max; bool infinity; } format;
static const format formats[] = {{TSR_F8E4M3, "f8E4M3FN", 3, 7, 0x7e, false},
                                 {TSR_F8E5M2, "f8E5M2", 2, 15, 0x7b, true}};

/* The value of a code without its sign, as if all codes were finite. */
static double magnitude(const format *f, int code) {
  int e = code >> f->mantissa, m = code & ((1 << f->mantissa) - 1);
  return e ? ldexp((1 << f->mantissa) + m, e - f->bias - f->mantissa) : ldexp(m, 1 - f->bias - f->mantissa);
}

static double value(const format *f, int code) {
  int low = code & 0x7f;
  double v = low <= f->max ? magnitude(f, low) : f->infinity && low == f->max + 1 ? INFINITY : NAN;
  return code & 0x80 ? -v : v;
}

/* The code of x: the nearest, the even one of two; beyond the largest infinity, or the largest itself where there is
 * none. -1: NaN. */
static int nearest(const format *f, double x) {
  int sign = signbit(x) ? 0x80 : 0, best = 0;
  if (isnan(x)) return -1;
  x = fabs(x);
  for (int code = 1; code <= f->max + 1; code++) {
    double here = fabs(x - magnitude(f, code)), there = fabs(x - magnitude(f, best));
    if (isinf(x) || here < there || (here == there && !(code & 1))) best = code;
  }
  return sign | (best > f->max && !f->infinity ? f->max : best);
}

/* Values of a type that are on, between and next to the codes' values. */
static int interesting(tsr_dtype t, double *out) {
  static const double extra[] = {0.0,   NAN,   INFINITY, 3.4e38, 1e10, 1e-45, 1.1754942e-38, 6e-8, 65504, 65519, 61439,
                                 61440, 61441, 448,      463.9,  464,  464.1, 479,           480,  511,   512};
  int n = 0;
  for (size_t i = 0; i < sizeof extra / sizeof *extra; i++) out[n++] = extra[i], out[n++] = -extra[i];
  for (size_t k = 0; k < 2; k++)
    for (int code = 0; code <= formats[k].max; code++) {
      double v = magnitude(&formats[k], code), mid = (v + magnitude(&formats[k], code + 1)) / 2;
      double near[] = {v, mid, mid * (1 + 0x1p-23), mid * (1 - 0x1p-23), mid * (1 + 0x1p-50), mid * (1 - 0x1p-50)};
      for (int i = 0; i < (t == TSR_F64 ? 6 : 4); i++) out[n++] = near[i], out[n++] = -near[i];
    }
  for (int i = 0; i < n; i++) {
    double raw;
    dtype_store(t, &raw, 0, out[i]); /* what a type can't hold becomes something that it can */
    out[i] = dtype_load(t, &raw, 0);
  }
  assert_true(n <= MAX_VALUES);
  return n;
}

/* ---- casts ------------------------------------------------------------------------------------------------------- */

static const struct {
  tsr_dtype t;
  const char *name;
} wide[] = {{TSR_F32, "f32"}, {TSR_F16, "f16"}, {TSR_BF16, "bf16"}, {TSR_F64, "f64"}};
enum { N_WIDE = 4, N_IN = N_WIDE + 2, N_OUT = 2 * N_WIDE + 2 };

static void put_casts(strb *b, const int n[N_WIDE]) {
  strb_puts(b, "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(");
  for (int i = 0; i < N_WIDE; i++) strb_printf(b, "%%w%d: tensor<%dx%s>, ", i, n[i], wide[i].name);
  strb_puts(b, "%n0: tensor<256xf8E4M3FN>, %n1: tensor<256xf8E5M2>):\n");
  for (int i = 0; i < N_WIDE; i++)
    for (int f = 0; f < 2; f++)
      strb_printf(b, "%%r%d = \"tessera.graph.cast\"(%%w%d) {dtype = \"%s\"}\n", 2 * i + f, i,
                  tsr_dtype_name(formats[f].t));
  for (int f = 0; f < 2; f++)
    strb_printf(b, "%%r%d = \"tessera.graph.cast\"(%%n%d) {dtype = \"f32\"}\n", 2 * N_WIDE + f, f);
  strb_puts(b, "\"tessera.graph.return\"(");
  for (int i = 0; i < N_OUT; i++) strb_printf(b, "%s%%r%d", i ? ", " : "", i);
  strb_puts(b, ")\n}) {sym_name = \"main\"} }) : () -> ()\n");
}

static void compare_codes(const format *f, const char *from, const double *x, int n, const uint8_t *got,
                          const char *where) {
  for (int i = 0; i < n; i++) {
    int want = nearest(f, x[i]);
    bool same = want < 0 ? isnan(value(f, got[i])) : got[i] == want;
    if (!same) fail_msg("%s: %s %.17g to %s is 0x%02x, not 0x%02x", where, from, x[i], f->name, got[i], want);
  }
}

static void compare_values(const format *f, const float *got, const char *where) {
  for (int code = 0; code < 256; code++) {
    double want = value(f, code);
    bool same = isnan(want) ? isnan(got[code]) : (double)got[code] == want && !signbit(got[code]) == !signbit(want);
    if (!same) fail_msg("%s: %s 0x%02x is %g, not %g", where, f->name, code, (double)got[code], want);
  }
}

/* Both ways in one program on a device. */
static void check_casts(const char *device, const char *where) {
  static double x[N_WIDE][MAX_VALUES];
  int n[N_WIDE];
  strb text;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[N_IN] = {{0}}, out[N_OUT] = {{0}};
  for (int i = 0; i < N_WIDE; i++) n[i] = interesting(wide[i].t, x[i]);
  strb_init(&text, &al_default);
  put_casts(&text, n);
  ok(tsr_device_open(ctx, device, &dev), device);
  ok(tsr_program_parse(dev, strb_text(&text), text.n, "casts", NULL, &p), where);
  uint8_t *data = malloc(MAX_VALUES * 8);
  for (int i = 0; i < N_IN; i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    for (int e = 0; e < (i < N_WIDE ? n[i] : 256); e++) {
      if (i < N_WIDE) dtype_store(wide[i].t, data, (size_t)e, x[i][e]);
      else data[e] = (uint8_t)e;
    }
    ok(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer), where);
    ok(tsr_buffer_write(in[i].buffer, 0, data, bytes), where);
  }
  for (int i = 0; i < N_OUT; i++)
    ok(tsr_buffer_create(dev, tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &out[i].buffer), where);
  ok(tsr_program_run(p, NULL, in, out), where);
  for (int i = 0; i < N_OUT; i++) {
    ok(tsr_buffer_read(out[i].buffer, 0, data, tsr_program_output(p, i).bytes), where);
    if (i < 2 * N_WIDE) compare_codes(&formats[i % 2], wide[i / 2].name, x[i / 2], n[i / 2], data, where);
    else compare_values(&formats[i % 2], (const float *)(void *)data, where);
  }
  free(data);
  for (int i = 0; i < N_IN; i++) tsr_buffer_destroy(&in[i].buffer);
  for (int i = 0; i < N_OUT; i++) tsr_buffer_destroy(&out[i].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  strb_clear(&text);
}

static void host_conversions_match_the_table(void **state) {
  static double x[MAX_VALUES];
  static uint8_t code[MAX_VALUES];
  for (int f = 0; f < 2; f++) {
    int n = interesting(TSR_F64, x);
    float values[256];
    for (int i = 0; i < n; i++) dtype_store(formats[f].t, code, (size_t)i, x[i]);
    compare_codes(&formats[f], "f64", x, n, code, "dtype.c");
    for (int i = 0; i < 256; i++) code[i] = (uint8_t)i;
    for (int i = 0; i < 256; i++) values[i] = (float)dtype_load(formats[f].t, code, (size_t)i);
    compare_values(&formats[f], values, "dtype.c");
  }
}

static void casts_on_the_cpu_match_the_table(void **state) { check_casts("cpu:0", "cpu:0"); }

static void casts_on_vulkan_match_the_table(void **state) {
  need_device(ctx, "vulkan:0");
  check_casts("vulkan:0", "vulkan:0");
}

static void casts_on_emulated_devices_match_the_table(void **state) {
  for (int d = 0; d < EMU_N_DEVICES; d++) {
    char device[16];
    snprintf(device, sizeof device, "emu:%d", d);
    check_casts(device, emu_device_arch[d]);
  }
}

/* ---- matrix instructions ----------------------------------------------------------------------------------------- */

/* Each code times 1 by itself in a sum of zeros, with the codes on the left (their rows) and then on the right (their
 * columns). An infinity is NaN to gfx942, which has none in 8 bits. */
static void check_products(const char *arch, tile_matmul_case c, const format *f, bool left) {
  static emu_unit u;
  static emu_report r;
  tsr_caps caps;
  strb text;
  ir_module *m;
  int one = nearest(f, 1);
  c.in = f->t;
  c.out = TSR_F32;
  *(left ? &c.m : &c.n) = 256;
  strb_init(&text, &al_default);
  tile_gen_matmul(&text, &c);
  assert_null(ir_parse(NULL, strb_text(&text), text.n, c.name, &m));
  assert_null(emu_arch_caps(arch, &caps));
  ok(emu_build(m, &caps, &u), arch);
  if (c.path && strncmp(u.paths[0], c.path, strlen(c.path))) fail_msg("%s took %s, not %s", arch, u.paths[0], c.path);
  matmul_data d = matmul_data_make(&c, 1);
  uint8_t *a = d.a, *b = d.b;
  for (int64_t i = 0; i < c.m; i++)
    for (int64_t k = 0; k < c.k; k++) a[i * c.k + k] = (uint8_t)(k != 5 ? 0 : left ? i : one);
  for (int64_t j = 0; j < c.n; j++)
    for (int64_t k = 0; k < c.k; k++) b[c.tb ? j * c.k + k : k * c.n + j] = (uint8_t)(k != 5 ? 0 : left ? one : j);
  memset(&r, 0, sizeof r);
  ok(emu_launch(&u, 0, d.buffers, 0, &r), arch);
  if (r.n_findings) emu_report_print(&r, stderr);
  assert_int_equal(r.n_findings, 0);
  for (int64_t i = 0; i < c.m; i++)
    for (int64_t j = 0; j < c.n; j++) {
      double want = value(f, (int)(left ? i : j)), got = ((const float *)d.out)[i * c.n + j];
      if (caps.fnuz && isinf(want)) want = NAN;
      if (!(isnan(want) ? isnan(got) : got == want))
        fail_msg("%s (%s): %s 0x%02x times 1 is %g, not %g", arch, u.paths[0], f->name, (int)(left ? i : j), got, want);
    }
  matmul_data_clear(&d);
  emu_unit_clear(&u);
  ir_module_destroy(&m);
  strb_clear(&text);
}

static void products_of_every_code_match_the_table(void **state) {
  static const struct { const char *arch; tile_matmul_case c; } list[] = {
      {"sm_90a", {.name = "wgmma", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 128, .tb = true, .path = "wgmma"}},
      {"sm_120", {.name = "mma", .m = 32, .n = 32, .k = 64, .bm = 32, .bn = 32, .bk = 64, .path = "mma"}},
      {"sm_80", {.name = "by_hand", .m = 32, .n = 32, .k = 32, .bm = 32, .bn = 32, .bk = 32}},
      {"gfx90a", {.name = "by_hand", .m = 32, .n = 32, .k = 32, .bm = 32, .bn = 32, .bk = 32}},
      {"gfx942", {.name = "mfma", .m = 32, .n = 32, .k = 64, .bm = 32, .bn = 32, .bk = 64, .path = "mfma"}},
      {"gfx942", {.name = "direct", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 64, .tb = true, .path = "direct"}},
      {"gfx950", {.name = "direct", .m = 64, .n = 64, .k = 128, .bm = 64, .bn = 64, .bk = 128, .tb = true, .path = "direct"}},
      {"gfx1201", {.name = "wmma", .m = 32, .n = 32, .k = 32, .bm = 32, .bn = 32, .bk = 32, .path = "wmma"}}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    for (int k = 0; k < 2; k++) check_products(list[i].arch, list[i].c, &formats[k], (i + (size_t)k) % 2);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const void *extra[] = {&emu_backend, NULL};
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = extra}, &ctx), "context");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_conversions_match_the_table), cmocka_unit_test(casts_on_the_cpu_match_the_table),
      cmocka_unit_test(casts_on_vulkan_match_the_table), cmocka_unit_test(casts_on_emulated_devices_match_the_table),
      cmocka_unit_test(products_of_every_code_match_the_table)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
