/* Cooperative matrices in SPIR-V: every mat_* op, the component types and scopes of devices that are not here (recorded in the table
 * below), with and without NV cooperative matrix 2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <spirv-tools/libspirv.h>

#include "tests/support/spirv_check.h"

static bool validate(const uint32_t *words, size_t n, char *why, size_t cap) {
  spv_context ctx = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic d = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &d);
  if (r != SPV_SUCCESS) snprintf(why, cap, "%s", d ? d->error : "unknown error");
  spvDiagnosticDestroy(d);
  spvContextDestroy(ctx);
  return r == SPV_SUCCESS;
}

static char text[1 << 15];

/* acc = fill; for k: acc += A * B (global, or through shared memory); epilogue ops in `tail` turn %acc into %r of type f32. */
static void gemm(const char *path, int m, int n, int k, const char *ab, const char *c, bool shared, const char *layout, const char *tail, const char *out) {
  char a_type[80], b_type[80], c_type[80];
  snprintf(a_type, sizeof a_type, "!tessera.matrix<%dx%dx%s, \"a\">", m, k, ab);
  snprintf(b_type, sizeof b_type, "!tessera.matrix<%dx%dx%s, \"b\">", k, n, ab);
  snprintf(c_type, sizeof c_type, "!tessera.matrix<%dx%dx%s, \"acc\">", m, n, c);
  const char *space = shared ? "shared" : "global";
  snprintf(text, sizeof text,
           "\"tessera.target.kernel\"() ({\n^bb0(%%pa: !tessera.ptr<%s, \"global\">, %%pb: !tessera.ptr<%s, \"global\">, %%o: !tessera.ptr<%s, \"global\">):\n"
           "  %%c0 = \"tessera.target.const\"() {value = 0} : () -> index\n  %%ck = \"tessera.target.const\"() {value = %d} : () -> index\n"
           "  %%end = \"tessera.target.const\"() {value = 256} : () -> index\n  %%ld = \"tessera.target.const\"() {value = 64} : () -> index\n"
           "  %%sa = \"tessera.target.shared\"() {offset = 0} : () -> !tessera.ptr<%s, \"shared\">\n"
           "  %%z = \"tessera.target.const\"() {value = 0.0} : () -> %s\n"
           "  %%f = \"tessera.target.mat_fill\"(%%z) : (%s) -> %s\n"
           "  %%acc = \"tessera.target.for\"(%%c0, %%end, %%ck, %%f) ({\n  ^bb0(%%i: index, %%q: %s):\n"
           "    %%A = \"tessera.target.mat_load\"(%s, %%i, %%ld) {layout = \"%s\"} : (!tessera.ptr<%s, \"%s\">, index, index) -> %s\n"
           "    %%B = \"tessera.target.mat_load\"(%s, %%i, %%ld) {align = 16} : (!tessera.ptr<%s, \"%s\">, index, index) -> %s\n"
           "    %%d = \"tessera.target.mat_mma\"(%%A, %%B, %%q) : (%s, %s, %s) -> %s\n"
           "    \"tessera.target.barrier\"() : () -> ()\n"
           "    \"tessera.target.yield\"(%%d) : (%s) -> ()\n  }) : (index, index, index, %s) -> %s\n%s"
           "  \"tessera.target.mat_store\"(%%r, %%o, %%c0, %%ld) : (!tessera.matrix<%dx%dx%s, \"%s\">, !tessera.ptr<%s, \"global\">, index, index) -> ()\n"
           "  \"tessera.target.return\"() : () -> ()\n}) {sym_name = \"gemm\", dialect = \"spirv\", grid = [1, 1, 1], block = [64, 1, 1], subgroup = 32, shared_bytes = 8192, path = \"%s\"} : () -> ()\n",
           ab, ab, out[0] == '@' ? out + 1 : out, k, ab, c, c, c_type, c_type, shared ? "%sa" : "%pa", layout, ab, space, a_type, shared ? "%sa" : "%pb", ab, space, b_type, a_type,
           b_type, c_type, c_type, c_type, c_type, c_type, tail, m, n, out[0] == '@' ? out + 1 : out, out[0] == '@' ? "a" : "acc", out[0] == '@' ? out + 1 : out, path);
}

static void check(const tsr_caps *caps, const char *want) {
  const char *why = spirv_check(text, caps, want, validate);
  if (why) fail_msg("%s\n%s", why, text);
}

static const char *map_tail(const char *c, int m, int n, const char *attrs, const char *args) {
  static char s[2048];
  snprintf(s, sizeof s,
           "  %%two = \"tessera.target.const\"() {value = 2.0} : () -> %s\n"
           "  %%r = \"tessera.target.mat_map\"(%%acc) ({\n  ^bb0(%%x: %s%s):\n    %%y = \"tessera.target.mul\"(%%x, %%two) : (%s, %s) -> %s\n"
           "    %%w = \"tessera.target.max\"(%%y, %%x) : (%s, %s) -> %s\n    \"tessera.target.yield\"(%%w) : (%s) -> ()\n  })%s : (!tessera.matrix<%dx%dx%s, \"acc\">) -> !tessera.matrix<%dx%dx%s, \"acc\">\n",
           c, c, args, c, c, c, c, c, c, c, attrs, m, n, c, m, n, c);
  return s;
}

typedef struct device_row { const char *device; int m, n, k; const char *ab, *c, *path; bool nv2, layout; } device_row;
static const device_row devices[] = {
    {"lavapipe", 8, 8, 8, "f16", "f32", "coopmat", false, true},
    {"lavapipe", 8, 8, 8, "i8", "i32", "coopmat", false, true},
    {"RDNA3", 16, 16, 16, "f16", "f16", "coopmat", false, true},
    {"RDNA3", 16, 16, 16, "bf16", "f32", "coopmat", false, true},
    {"RDNA4", 16, 16, 16, "f8E4M3FN", "f32", "coopmat", false, true},
    {"NVIDIA", 16, 16, 16, "bf16", "f32", "coopmat", true, true},
    {"NVIDIA", 16, 8, 32, "f8E5M2", "f32", "coopmat", true, true},
    {"NVIDIA", 16, 8, 32, "ui8", "i32", "coopmat", true, false},
    {"NVIDIA workgroup", 128, 64, 32, "f16", "f32", "coopmat2_workgroup", true, true},
    {"NVIDIA tensor", 64, 64, 32, "f16", "f32", "coopmat2_workgroup_tensor", true, true},
    {"Intel Xe", 8, 16, 16, "f16", "f32", "coopmat", false, true},
    {"Intel Xe", 8, 16, 32, "i8", "i32", "coopmat", false, false},
};

static void every_recorded_device_valid(void **state) {
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    for (int variant = 0; variant < 4; variant++) {
      const device_row *d = &devices[i];
      tsr_caps caps = spirv_full_caps();
      caps.shared_layout = d->layout;
      caps.coopmat2 = caps.coopmat2_per_element = caps.coopmat2_reduce = caps.coopmat2_convert = caps.coopmat2_tensor = caps.coopmat2_workgroup = d->nv2;
      gemm(d->path, d->m, d->n, d->k, d->ab, d->c, variant & 1, variant & 2 ? "col" : "row", map_tail(d->c, d->m, d->n, "", ""), d->c);
      check(&caps, "OpCooperativeMatrixMulAddKHR");
      if (strstr(d->path, "tensor") && !variant) check(&caps, "OpCooperativeMatrixLoadTensorNV");
    }
}

static void nv2_pieces_used_when_reported(void **state) {
  tsr_caps caps = spirv_full_caps();
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row", map_tail("f32", 16, 16, " {coords = true}", ", %row: index, %col: index"), "f32");
  check(&caps, "OpCooperativeMatrixPerElementOpNV");
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row", "  %r = \"tessera.target.mat_reduce\"(%acc) {op = \"max\", axis = 1} : (!tessera.matrix<16x16xf32, \"acc\">) -> !tessera.matrix<16x16xf32, \"acc\">\n", "f32");
  check(&caps, "OpCooperativeMatrixReduceNV");
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row", "  %r = \"tessera.target.mat_cast\"(%acc) : (!tessera.matrix<16x16xf32, \"acc\">) -> !tessera.matrix<16x16xf16, \"a\">\n", "@f16");
  check(&caps, "OpCooperativeMatrixConvertNV");
}

static void nv2_pieces_refused_when_absent(void **state) {
  tsr_caps caps = spirv_full_caps();
  caps.coopmat2_per_element = caps.coopmat2_reduce = caps.coopmat2_convert = false;
  gemm("coopmat", 16, 16, 16, "f16", "f32", false, "row", map_tail("f32", 16, 16, " {coords = true}", ", %row: index, %col: index"), "f32");
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "cooperativeMatrixPerElementOperations"));
  gemm("coopmat", 16, 16, 16, "f16", "f32", false, "row", "  %r = \"tessera.target.mat_reduce\"(%acc) {op = \"max\", axis = 1} : (!tessera.matrix<16x16xf32, \"acc\">) -> !tessera.matrix<16x16xf32, \"acc\">\n", "f32");
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "cooperativeMatrixReductions"));
  caps.coopmat = false;
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "no cooperative matrices"));
}

static void casts_of_matrices_valid(void **state) {
  static const char *const to[] = {"f16", "bf16", "f8E4M3FN", "i32", "i8"};
  tsr_caps caps = spirv_full_caps();
  for (int i = 0; i < 5; i++) {
    char tail[256];
    snprintf(tail, sizeof tail, "  %%r = \"tessera.target.mat_cast\"(%%acc) : (!tessera.matrix<16x16xf32, \"acc\">) -> !tessera.matrix<16x16x%s, \"acc\">\n", to[i]);
    gemm("coopmat", 16, 16, 16, "f16", "f32", true, "row", tail, to[i]);
    check(&caps, i < 2 ? "OpFConvert" : "OpCooperativeMatrixLengthKHR");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_recorded_device_valid), cmocka_unit_test(nv2_pieces_used_when_reported),
                                     cmocka_unit_test(nv2_pieces_refused_when_absent), cmocka_unit_test(casts_of_matrices_valid)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
