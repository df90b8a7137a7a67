/* Cooperative matrices in SPIR-V for devices that are not here (capabilities recorded in tests/vulkan): every mat_* op
 * on every matrix shape that they list, and whole Tile IR programs lowered for them; NV's pieces are used exactly where
 * they are reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <spirv-tools/libspirv.h>
#include <stdlib.h>

#include "core/base/dtype.h"
#include "core/emit/spirv/caps.h"
#include "core/passes/simt/simt.h"
#include "tests/support/recorded.h"
#include "tests/support/spirv_check.h"

static int n_unknown; /* modules that this machine's validator is too old for */

/* The capabilities of cooperative matrices, bfloat16 and fp8: releases of SPIRV-Tools before 2025 know only some of
 * them, and refuse the number itself. */
static bool newer_capability(const char *error) {
  static const int newer[] = {6022, 5116, 5117, 5118, 4212, 4213, 5430, 5431, 5432, 5433, 5439};
  int number;
  if (!error || sscanf(error, "Invalid capability operand: %d", &number) != 1) return false;
  for (size_t i = 0; i < sizeof newer / sizeof *newer; i++)
    if (newer[i] == number) return true;
  return false;
}

static bool validate(const uint32_t *words, size_t n, char *why, size_t cap) {
  spv_context ctx = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic d = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &d);
  if (r != SPV_SUCCESS && d && newer_capability(d->error)) r = SPV_SUCCESS, n_unknown++;
  if (r != SPV_SUCCESS) snprintf(why, cap, "%s", d ? d->error : "unknown error");
  spvDiagnosticDestroy(d);
  spvContextDestroy(ctx);
  return r == SPV_SUCCESS;
}

static char text[1 << 15];

/* acc = fill; for k: acc += A * B (global, or through shared memory); epilogue ops in `tail` turn %acc into %r of type
 * f32. */
static void gemm(const char *path, int m, int n, int k, const char *ab, const char *c, bool shared, const char *layout,
                 const char *tail, const char *out) {
  char a_type[80], b_type[80], c_type[80];
  snprintf(a_type, sizeof a_type, "!tessera.matrix<%dx%dx%s, \"a\">", m, k, ab);
  snprintf(b_type, sizeof b_type, "!tessera.matrix<%dx%dx%s, \"b\">", k, n, ab);
  snprintf(c_type, sizeof c_type, "!tessera.matrix<%dx%dx%s, \"acc\">", m, n, c);
  const char *space = shared ? "shared" : "global";
  snprintf(text, sizeof text,
           "\"tessera.target.kernel\"() ({\n^bb0(%%pa: !tessera.ptr<%s, \"global\">, %%pb: !tessera.ptr<%s, "
           "\"global\">, %%o: !tessera.ptr<%s, \"global\">):\n"
           "  %%c0 = \"tessera.target.const\"() {value = 0} : () -> index\n  %%ck = \"tessera.target.const\"() {value "
           "= %d} : () -> index\n"
           "  %%end = \"tessera.target.const\"() {value = 256} : () -> index\n  %%ld = \"tessera.target.const\"() "
           "{value = 64} : () -> index\n"
           "  %%sa = \"tessera.target.shared\"() {offset = 0} : () -> !tessera.ptr<%s, \"shared\">\n"
           "  %%z = \"tessera.target.const\"() {value = 0.0} : () -> %s\n"
           "  %%f = \"tessera.target.mat_fill\"(%%z) : (%s) -> %s\n"
           "  %%acc = \"tessera.target.for\"(%%c0, %%end, %%ck, %%f) ({\n  ^bb0(%%i: index, %%q: %s):\n"
           "    %%A = \"tessera.target.mat_load\"(%s, %%i, %%ld) {layout = \"%s\"} : (!tessera.ptr<%s, \"%s\">, index, "
           "index) -> %s\n"
           "    %%B = \"tessera.target.mat_load\"(%s, %%i, %%ld) {align = 16} : (!tessera.ptr<%s, \"%s\">, index, "
           "index) -> %s\n"
           "    %%d = \"tessera.target.mat_mma\"(%%A, %%B, %%q) : (%s, %s, %s) -> %s\n"
           "    \"tessera.target.barrier\"() : () -> ()\n"
           "    \"tessera.target.yield\"(%%d) : (%s) -> ()\n  }) : (index, index, index, %s) -> %s\n%s"
           "  \"tessera.target.mat_store\"(%%r, %%o, %%c0, %%ld) : (!tessera.matrix<%dx%dx%s, \"%s\">, "
           "!tessera.ptr<%s, \"global\">, index, index) -> ()\n"
           "  \"tessera.target.return\"() : () -> ()\n}) {sym_name = \"gemm\", dialect = \"spirv\", grid = [1, 1, 1], "
           "block = [64, 1, 1], subgroup = 32, shared_bytes = 8192, path = \"%s\"} : () -> ()\n",
           ab, ab, out[0] == '@' ? out + 1 : out, k, ab, c, c, c_type, c_type, shared ? "%sa" : "%pa", layout, ab,
           space, a_type, shared ? "%sa" : "%pb", ab, space, b_type, a_type, b_type, c_type, c_type, c_type, c_type,
           c_type, tail, m, n, out[0] == '@' ? out + 1 : out, out[0] == '@' ? "a" : "acc",
           out[0] == '@' ? out + 1 : out, path);
}

/* As written, and with a loop whose end only the block knows, so that it may not run at all. */
static void check(const tsr_caps *caps, const char *want) {
  static char dynamic[sizeof text + 64];
  static const char end[] = "%end = \"tessera.target.const\"() {value = 256}";
  const char *at = strstr(text, end), *why = spirv_check(text, caps, want, validate);
  if (why) fail_msg("%s\n%s", why, text);
  if (!at) return;
  snprintf(dynamic, sizeof dynamic, "%.*s%%end = \"tessera.target.block_id\"() {axis = 0}%s", (int)(at - text), text,
           at + sizeof end - 1);
  why = spirv_check(dynamic, caps, want, validate);
  if (why) fail_msg("%s\n%s", why, dynamic);
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

/* ---- recorded devices ---- */

static const recorded_device *devices;
static int n_devices;

static int load_devices(void **state) {
  devices = recorded_devices(&n_devices);
  return n_devices < 25;
}

static void every_recorded_shape_valid(void **state) {
  int shapes = 0;
  for (int i = 0; i < n_devices; i++)
    for (int k = 0; k < devices[i].caps.n_matrix; k++)
      for (int variant = 0; variant < 4; variant++) {
        const tsr_caps *caps = &devices[i].caps;
        const tsr_matrix_shape *s = &caps->matrix[k];
        const char *ab = dtype_get(s->a)->mlir, *c = dtype_get(s->c)->mlir;
        gemm(s->scope == SCOPE_WORKGROUP ? "coopmat2_workgroup" : "coopmat", s->m, s->n, s->k, ab, c, variant & 1,
             variant & 2 ? "col" : "row", map_tail(c, s->m, s->n, "", ""), c);
        check(caps, "OpCooperativeMatrixMulAddKHR");
        shapes++;
      }
  assert_true(shapes > 200);
}

static void damaged_capabilities_are_refused(void **state) {
  static const char *const bad[][2] = {
      {"{\"subgroup\": 32", "expected"}, {"[]", "expected"}, {"{\"subgroup\": 24}", "subgroup"}, {"{\"features\": [\"f16\", \"warp_drive\"]}", "warp_drive"},
      {"{\"matrix\": [{\"m\": 16, \"n\": 16, \"k\": 0}]}", "m, n and k"}, {"{\"matrix\": [{\"m\": 16, \"n\": 16, \"k\": 16, \"ab\": \"f17\"}]}", "f17"},
      {"{\"matrix\": [{\"m\": 16, \"n\": 16, \"k\": 16, \"scope\": \"workgroup\"}]}", "threads"}, {"{\"shared_bytes\": -1}", "limit"}, {"{\"shared_banks\": 0}", "limit"},
      {"{\"subgroup\": 32, \"subgroup_max\": 40}", "subgroup"}, {"{\"subgroup\": 32, \"subgroup_max\": 16}", "subgroup"}, {"{\"subgroup\": 32, \"subgroup_min\": 64}", "subgroup"}, {"{\"cores\": -1}", "limit"}, {"{\"vulkan\": \"1.0\"}", "vulkan"}, {"{\"subgroup\": 1, \"features\": [\"shuffle\"]}", "less than 4"}, {"{\"subgroup\": 256}", "subgroup"},
      {"{\"threads\": 1e300}", "limit"}, {"{\"threads\": 128, \"matrix\": [{\"m\": 16, \"n\": 16, \"k\": 16, \"scope\": \"workgroup\", \"threads\": 256}]}", "threads"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tsr_caps c;
    tsr_status st = spirv_caps_parse(&al_default, bad[i][0], strlen(bad[i][0]), "file", &c);
    assert_int_equal(tsr_status_code(st), TSR_PARSE_ERROR);
    if (!strstr(tsr_status_message(st), bad[i][1])) fail_msg("%s: %s", bad[i][0], tsr_status_message(st));
    tsr_status_free(st);
  }
}

/* ---- whole programs ---- */

/* The Target IR of tests/tile/NAME.mlir for a device; attrs are put before the kernel's family. */
static tsr_status lower(const char *name, const tsr_caps *caps, const char *attrs, ir_module **t) {
  static char s[1 << 16], with[1 << 16];
  char path[512];
  ir_module *m = NULL;
  *t = NULL;
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  s[fread(s, 1, sizeof s - 1, f)] = 0;
  fclose(f);
  char *at = strstr(s, "family = ");
  snprintf(with, sizeof with, "%.*s%s%s", at ? (int)(at - s) : (int)strlen(s), s, at ? attrs : "", at ? at : "");
  tsr_status st = ir_parse(NULL, with, strlen(with), name, &m);
  if (!st) st = tile_to_simt(m, caps, t);
  ir_module_destroy(&m);
  return st;
}

static ir_module *lowered(const char *name, const tsr_caps *caps, const char *attrs) {
  ir_module *t;
  tsr_status st = lower(name, caps, attrs, &t);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  return t;
}

static const char *path_of(const ir_module *m) {
  for (const ir_op *op = m->root->regions[0]->first; op; op = op->next)
    if (strstr(op->def->name, ".kernel")) return ir_get_str(op, "path", "");
  return "";
}

static void program(const char *name, const tsr_caps *caps, const char *attrs, const char *path,
                    const char *const *want) {
  ir_module *m = lowered(name, caps, attrs);
  if (path && strcmp(path_of(m), path)) fail_msg("%s: path %s, not %s", name, path_of(m), path);
  do {
    const char *why = spirv_check_ir(m, caps, want ? *want : NULL, validate);
    if (why) fail_msg("%s: %s", name, why);
  } while (want && *++want);
  ir_module_destroy(&m);
}

/* Or refused by the name of what the device lacks, or of which it has too little: the tiles are written by hand. */
static void program_if_possible(const char *name, const tsr_caps *caps) {
  ir_module *m;
  tsr_status st = lower(name, caps, "", &m);
  const char *why = st ? tsr_status_message(st) : spirv_check_ir(m, caps, NULL, validate);
  if (why && !strstr(why, "the device has no shader") && !strstr(why, "bytes of shared memory") &&
      !strstr(why, "threads of a block"))
    fail_msg("%s: %s", name, why);
  tsr_status_free(st);
  ir_module_destroy(&m);
}

static void every_program_valid_on_every_recorded_device(void **state) {
  static const char *const names[] = {
      "add",    "softmax", "layernorm", "matmul_f32",     "matmul_f16_bias_gelu", "matmul_direct", "flash_attention",
      "conv2d", "fft4096", "transpose", "embedding_mean", "column_stats", "uniform_element"};
  for (int i = 0; i < n_devices; i++)
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) program_if_possible(names[k], &devices[i].caps);
}

static void workgroup_matrices_with_all_pieces_where_reported(void **state) {
  /* Ragged edges by clamped tensor addressing, bias and gelu as per-element operations: no scratch at all. */
  static const char *const bias[] = {"OpCooperativeMatrixLoadTensorNV", "OpCooperativeMatrixStoreTensorNV",
                                     "OpCooperativeMatrixPerElementOpNV", NULL};
  static const char *const attention[] = {"OpCooperativeMatrixReduceNV", "OpCooperativeMatrixConvertNV",
                                          "OpCooperativeMatrixPerElementOpNV", NULL};
  static const char *const hopper[] = {"nvidia-h200", "nvidia-rtx40", "nvidia-rtx50"};
  for (int i = 0; i < 3; i++) {
    program("matmul_f16_bias_gelu", recorded_caps(hopper[i]), "warps = 4, ", "coopmat2_workgroup", bias);
    program("flash_attention", recorded_caps(hopper[i]), "warps = 4, ", "coopmat2_workgroup", attention);
    program("matmul_direct", recorded_caps(hopper[i]), "", "coopmat",
            NULL); /* one subgroup: the driver has no such block of matrices */
  }
}

/* Every piece off in turn: what is left still validates and doesn't use the piece. */
static void each_piece_only_where_reported(void **state) {
  static const struct { size_t at; const char *op; } pieces[] = {
      {offsetof(tsr_caps, coopmat2_workgroup), NULL}, {offsetof(tsr_caps, coopmat2_tensor), "TensorNV"}, {offsetof(tsr_caps, coopmat2_per_element), "PerElementOpNV"},
      {offsetof(tsr_caps, coopmat2_reduce), "MatrixReduceNV"}, {offsetof(tsr_caps, coopmat2_convert), "MatrixConvertNV"}};
  static const char *const names[] = {"matmul_f16_bias_gelu", "flash_attention"};
  for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++)
    for (int k = 0; k < 2; k++) {
      tsr_caps caps = *recorded_caps("nvidia-h200");
      *(bool *)((char *)&caps + pieces[p].at) = false;
      program(names[k], &caps, "warps = 4, ", p ? "coopmat2_workgroup" : "coopmat", NULL);
      if (!pieces[p].op) continue;
      ir_module *m = lowered(names[k], &caps, "warps = 4, ");
      const char *why = spirv_check_ir(m, &caps, pieces[p].op, NULL);
      assert_true(why && strstr(why, "no "));
      ir_module_destroy(&m);
    }
}

static void nv2_pieces_used_when_reported(void **state) {
  tsr_caps caps = spirv_full_caps();
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row",
       map_tail("f32", 16, 16, " {coords = true}", ", %row: index, %col: index"), "f32");
  check(&caps, "OpCooperativeMatrixPerElementOpNV");
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row",
       "  %r = \"tessera.target.mat_reduce\"(%acc) {op = \"max\", axis = 1} : (!tessera.matrix<16x16xf32, \"acc\">) -> "
       "!tessera.matrix<16x16xf32, \"acc\">\n",
       "f32");
  check(&caps, "OpCooperativeMatrixReduceNV");
  gemm("coopmat2", 16, 16, 16, "f16", "f32", false, "row",
       "  %r = \"tessera.target.mat_cast\"(%acc) : (!tessera.matrix<16x16xf32, \"acc\">) -> !tessera.matrix<16x16xf16, "
       "\"a\">\n",
       "@f16");
  check(&caps, "OpCooperativeMatrixConvertNV");
}

static void nv2_pieces_refused_when_absent(void **state) {
  tsr_caps caps = spirv_full_caps();
  caps.coopmat2_per_element = caps.coopmat2_reduce = caps.coopmat2_convert = false;
  gemm("coopmat", 16, 16, 16, "f16", "f32", false, "row",
       map_tail("f32", 16, 16, " {coords = true}", ", %row: index, %col: index"), "f32");
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "cooperativeMatrixPerElementOperations"));
  gemm("coopmat", 16, 16, 16, "f16", "f32", false, "row",
       "  %r = \"tessera.target.mat_reduce\"(%acc) {op = \"max\", axis = 1} : (!tessera.matrix<16x16xf32, \"acc\">) -> "
       "!tessera.matrix<16x16xf32, \"acc\">\n",
       "f32");
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "cooperativeMatrixReductions"));
  caps.coopmat = false;
  assert_non_null(strstr(spirv_check(text, &caps, NULL, NULL), "no cooperative matrices"));
}

static void casts_of_matrices_valid(void **state) {
  static const char *const to[] = {"f16", "bf16", "f8E4M3FN", "i32", "i8"};
  tsr_caps caps = spirv_full_caps();
  for (int i = 0; i < 5; i++) {
    char tail[256];
    snprintf(tail, sizeof tail,
             "  %%r = \"tessera.target.mat_cast\"(%%acc) : (!tessera.matrix<16x16xf32, \"acc\">) -> "
             "!tessera.matrix<16x16x%s, \"acc\">\n",
             to[i]);
    gemm("coopmat", 16, 16, 16, "f16", "f32", true, "row", tail, to[i]);
    check(&caps, i < 2 ? "OpFConvert" : "OpCooperativeMatrixLengthKHR");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_recorded_shape_valid),
                                     cmocka_unit_test(damaged_capabilities_are_refused),
                                     cmocka_unit_test(every_program_valid_on_every_recorded_device),
                                     cmocka_unit_test(workgroup_matrices_with_all_pieces_where_reported),
                                     cmocka_unit_test(each_piece_only_where_reported),
                                     cmocka_unit_test(nv2_pieces_used_when_reported),
                                     cmocka_unit_test(nv2_pieces_refused_when_absent),
                                     cmocka_unit_test(casts_of_matrices_valid)};
  int failed = cmocka_run_group_tests(tests, load_devices, NULL);
  if (n_unknown) printf("%d skipped: modules with capabilities that this SPIRV-Tools does not know\n", n_unknown);
  return failed;
}
