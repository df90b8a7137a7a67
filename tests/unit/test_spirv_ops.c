/* Every generic op of Target IR, for every type it takes, becomes SPIR-V that SPIRV-Tools accepts for Vulkan 1.3, and
 * for 1.1 and what its devices may lack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <spirv-tools/libspirv.h>

#include "core/base/dtype.h"
#include "core/emit/spirv/spirv.h"
#include "core/ir/scalar_ops.h"
#include "tests/support/spirv_check.h"

static bool validate(const uint32_t *words, size_t n, char *why, size_t cap) {
  static spv_context contexts[2]; /* of Vulkan 1.1, whose SPIR-V is 1.3, and 1.3 */
  const bool newer = (words[1] >> 8 & 0xff) > 3;
  if (!contexts[newer]) contexts[newer] = spvContextCreate(newer ? SPV_ENV_VULKAN_1_3 : SPV_ENV_VULKAN_1_1);
  const spv_context ctx = contexts[newer];
  spv_diagnostic d = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &d);
  if (r != SPV_SUCCESS) snprintf(why, cap, "%s", d ? d->error : "unknown error");
  spvDiagnosticDestroy(d);
  return r == SPV_SUCCESS;
}

static void check(const char *what, const char *text, const tsr_caps *caps, const char *want) {
  const char *why = spirv_check(text, caps, want, validate);
  if (why) fail_msg("%s: %s\n%s", what, why, text);
}

/* Devices that lack what a portable runtime can't ask for: each piece alone, and all of them. */
enum { FULL, NO_F16, NO_I16, NO_I8, NO_STORAGE, NO_I64, NO_BDA, NO_LAYOUT, NO_PACK64, FLOOR, N_LACKING };

static tsr_caps lacking(int what) {
  tsr_caps c = spirv_full_caps();
  bool all = what == FLOOR;
  c.f16 &= !(what == NO_F16 || all);
  c.i16 &= !(what == NO_I16 || all);
  c.i8 &= !(what == NO_I8 || all);
  c.i64 &= !(what == NO_I64 || all);
  c.storage16 = c.storage8 = !(what == NO_STORAGE || all);
  c.shared_layout &= !(what == NO_LAYOUT || all);
  c.descriptors = what == NO_BDA || all;
  c.no_pack64 = what == NO_PACK64;
  c.glsl_memory_model = all;
  c.spirv_minor = all ? 3 : 6;
  c.nan_f16 &= c.f16, c.denorm_f16 &= c.f16, c.rte_f16 &= c.f16;
  return c;
}

static const char *const types[] = {"f64", "f32", "tf32", "f16", "bf16", "f8E4M3FN", "f8E5M2",
                                    "i64", "i32", "i16",  "i8",  "ui8",  "i1"};
enum { N_TYPES = sizeof types / sizeof *types };

/* Under sanitizers each kernel is checked for some of the devices alone. */
static bool left_out(int device, int kernel) { return TSR_TEST_SLOW && (device + kernel) % 4; }

static char text[1 << 16];

/* A kernel that loads n operands of `in`, applies `line` to %x0.. giving %r of `out`, and stores it. vec: elements, 1 =
 * scalars. */
static void kernel(const char *in, const char *out, int n, int vec, const char *line) {
  char vi[64], vo[64];
  snprintf(vi, sizeof vi, vec > 1 ? "vector<%dx%s>" : "%.0d%s", vec > 1 ? vec : 0, in);
  snprintf(vo, sizeof vo, vec > 1 ? "vector<%dx%s>" : "%.0d%s", vec > 1 ? vec : 0, out);
  char *p = text, *end = text + sizeof text;
  p += snprintf(p, (size_t)(end - p),
                "\"tessera.target.kernel\"() ({\n^bb0(%%a: !tessera.ptr<%s, \"global\">, %%o: !tessera.ptr<%s, "
                "\"global\">):\n  %%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n",
                in, out);
  for (int i = 0; i < n; i++)
    p += snprintf(p, (size_t)(end - p),
                  "  %%x%d = \"tessera.target.load\"(%%a, %%t) : (!tessera.ptr<%s, \"global\">, index) -> %s\n", i, in,
                  vi);
  p += snprintf(p, (size_t)(end - p),
                "  %s\n  \"tessera.target.store\"(%%r, %%o, %%t) : (%s, !tessera.ptr<%s, \"global\">, index) -> ()\n",
                line, vo, out);
  snprintf(p, (size_t)(end - p),
           "  \"tessera.target.return\"() : () -> ()\n}) {sym_name = \"k\", dialect = \"spirv\", grid = [1, 1, 1], "
           "block = [32, 1, 1], subgroup = 32} : () -> ()\n");
}

typedef struct op_row { const char *name; int n; char kind; int code; } op_row;
static const op_row ops[] = {
#define ROW(CODE, name, n, kind, ...) {name, n, #kind[0], SC_##CODE},
    SCALAR_OPS(ROW)
#undef ROW
};

static bool applies(const op_row *o, const char *t) {
  bool is_float = t[0] == 'f' || t[0] == 'b' || t[0] == 't', flag = !strcmp(t, "i1");
  if (o->kind == 'F' && !is_float) return false;
  if (o->kind == 'I' && is_float) return false;
  if (flag && o->kind == 'A' && o->code != SC_MIN && o->code != SC_MAX && o->code < SC_COMPARE) return false;
  return !(flag && (o->code == SC_SHL || o->code == SC_SHR || o->code == SC_MUL_HIGH));
}

static void scalar_ops_valid(int device) {
  const tsr_caps caps = lacking(device);
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
    for (int t = 0; t < N_TYPES; t++)
      for (int vec = 1; vec <= 8; vec *= 2) {
        if (!applies(&ops[o], types[t]) || ops[o].code == SC_CAST || left_out(device, (int)o + t + vec)) continue;
        char line[2048], ty[64], rt[64];
        snprintf(ty, sizeof ty, vec > 1 ? "vector<%dx%s>" : "%.0d%s", vec > 1 ? vec : 0, types[t]);
        snprintf(rt, sizeof rt, vec > 1 ? "vector<%dx%s>" : "%.0d%s", vec > 1 ? vec : 0, "i1");
        if (ops[o].code == SC_SELECT) {
          snprintf(line, sizeof line,
                   "%%c = \"tessera.target.compare\"(%%x0, %%x1) {predicate = \"le\"} : (%s, %s) -> %s\n  %%r = "
                   "\"tessera.target.select\"(%%c, %%x0, %%x1) : (%s, %s, %s) -> %s",
                   ty, ty, rt, rt, ty, ty, ty);
          kernel(types[t], types[t], 2, vec, line);
        } else if (ops[o].code == SC_COMPARE) {
          snprintf(line, sizeof line,
                   "%%r = \"tessera.target.compare\"(%%x0, %%x1) {predicate = \"ne\"} : (%s, %s) -> %s", ty, ty, rt);
          kernel(types[t], "i1", 2, vec, line);
        } else {
          const char *args = ops[o].n == 1 ? "%x0" : ops[o].n == 2 ? "%x0, %x1" : "%x0, %x1, %x2";
          char sig[256] = "";
          for (int i = 0; i < ops[o].n; i++) strcat(strcat(sig, i ? ", " : ""), ty);
          snprintf(line, sizeof line, "%%r = \"tessera.target.%s\"(%s) : (%s) -> %s", ops[o].name, args, sig, ty);
          kernel(types[t], types[t], ops[o].n, vec, line);
        }
        check(ops[o].name, text, &caps, "OpEntryPoint");
      }
}

static void scalar_ops_every_type_valid(void **state) {
  for (int l = 0; l < N_LACKING; l++) scalar_ops_valid(l);
}

static void cast_every_pair_valid(void **state) {
  for (int a = 0; a < N_TYPES; a++)
    for (int b = 0; b < N_TYPES; b++)
      for (int vec = 1, l = 0; l < N_LACKING; l += vec == 4, vec = 5 - vec) {
        if (left_out(l, a + b)) continue;
        tsr_caps caps = lacking(l);
        char line[256];
        if (vec > 1)
          snprintf(line, sizeof line, "%%r = \"tessera.target.cast\"(%%x0) : (vector<4x%s>) -> vector<4x%s>", types[a],
                   types[b]);
        else snprintf(line, sizeof line, "%%r = \"tessera.target.cast\"(%%x0) : (%s) -> %s", types[a], types[b]);
        kernel(types[a], types[b], 1, vec, line);
        check("cast", text, &caps, NULL);
      }
}

static void memory_every_type_and_alignment_valid(void **state) {
  for (int l = 0; l < N_LACKING; l++)
    for (int t = 0; t < N_TYPES; t++)
      for (int vec = 1; vec <= 16; vec *= 2)
        for (int align = 0; align <= 16; align = align ? align * 2 : 1) {
          tsr_caps caps = lacking(l);
          int size = (int)tsr_dtype_size(tsr_dtype_parse(types[t]));
          if ((align && align < size) || left_out(l, t + vec + align)) continue;
          if (vec * size > 64) continue;
          char line[1500], ty[64];
          snprintf(ty, sizeof ty, vec > 1 ? "vector<%dx%s>" : "%.0d%s", vec > 1 ? vec : 0, types[t]);
          snprintf(line, sizeof line,
                   "%%s = \"tessera.target.shared\"() {offset = 64} : () -> !tessera.ptr<%s, \"shared\">\n"
                   "  \"tessera.target.store\"(%%x0, %%s, %%t) {align = %d} : (%s, !tessera.ptr<%s, \"shared\">, index) -> ()\n"
                   "  \"tessera.target.barrier\"() : () -> ()\n"
                   "  %%r = \"tessera.target.load\"(%%s, %%t) {align = %d} : (!tessera.ptr<%s, \"shared\">, index) -> %s",
                   types[t], align, ty, types[t], align, types[t], ty);
          kernel(types[t], types[t], 1, vec, line);
          char *at = strstr(text, "subgroup = 32");
          memmove(at + 22, at, strlen(at) + 1);
          memcpy(at, "shared_bytes = 2048 , ", 22);
          check("shared", text, &caps, "OpControlBarrier");
        }
}

static void subgroup_ops_every_type_valid(void **state) {
  static const char *const modes[] = {"xor", "index", "up", "down"}, *const reductions[] = {"sum", "max", "min",
                                                                                            "prod"};
  for (int t = 0; t < N_TYPES; t++)
    for (int i = 0; i < 8 * N_LACKING; i++) {
      tsr_caps caps = lacking(i / 8);
      const int k = i % 8;
      char line[256];
      if (k >= 4 && !strcmp(types[t], "i1") && k != 5 && k != 6) continue;
      if (k < 4)
        snprintf(line, sizeof line,
                 "%%r = \"tessera.target.shuffle\"(%%x0, %%t) {mode = \"%s\", width = 8} : (%s, index) -> %s", modes[k],
                 types[t], types[t]);
      else
        snprintf(line, sizeof line, "%%r = \"tessera.target.warp_reduce\"(%%x0) {op = \"%s\"} : (%s) -> %s",
                 reductions[k - 4], types[t], types[t]);
      kernel(types[t], types[t], 1, 1, line);
      check("subgroup", text, &caps, "OpGroupNonUniformShuffle");
    }
}

/* Between types of any sizes, as many bytes. */
static void bitcast_every_pair_valid(void **state) {
  for (int i = 0; i < N_LACKING * N_TYPES * N_TYPES; i++) {
    tsr_caps caps = lacking(i % N_LACKING);
    const char *a = types[i / N_LACKING % N_TYPES], *b = types[i / N_LACKING / N_TYPES];
    int sa = (int)tsr_dtype_size(tsr_dtype_parse(a)), sb = (int)tsr_dtype_size(tsr_dtype_parse(b));
    int na = sa < sb ? sb / sa : 1, nb = sb < sa ? sa / sb : 1;
    char line[512], from[64], to[64];
    if (!strcmp(a, "i1") || !strcmp(b, "i1")) continue;
    snprintf(from, sizeof from, na > 1 ? "vector<%dx%s>" : "%.0d%s", na > 1 ? na : 0, a);
    snprintf(to, sizeof to, nb > 1 ? "vector<%dx%s>" : "%.0d%s", nb > 1 ? nb : 0, b);
    snprintf(line, sizeof line,
             "%%y = \"tessera.target.bitcast\"(%%x0) : (%s) -> %s\n  %%r = \"tessera.target.bitcast\"(%%y) : (%s) -> %s",
             from, to, to, from);
    kernel(a, a, 1, na, line);
    check("bitcast", text, &caps, NULL);
  }
}

static const char loops[] =
    "\"tessera.target.kernel\"() ({\n"
    "^bb0(%a: !tessera.ptr<f32, \"global\">, %o: !tessera.ptr<f32, \"global\">):\n"
    "  %t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n"
    "  %w = \"tessera.target.warp_id\"() : () -> index\n"
    "  %l = \"tessera.target.lane_id\"() : () -> index\n"
    "  %b = \"tessera.target.block_id\"() {axis = 1} : () -> index\n"
    "  %c0 = \"tessera.target.const\"() {value = 0} : () -> index\n"
    "  %c1 = \"tessera.target.const\"() {value = 1} : () -> index\n"
    "  %c8 = \"tessera.target.const\"() {value = 8} : () -> index\n"
    "  %z = \"tessera.target.const\"() {value = 0.0} : () -> vector<8xf32>\n"
    "  %arr = \"tessera.target.local\"() : () -> !tessera.array<16xf32>\n"
    "  %n = \"tessera.target.add\"(%w, %b) : (index, index) -> index\n"
    "  %s = \"tessera.target.for\"(%c0, %n, %c8, %z) ({\n"
    "  ^bb0(%i: index, %acc: vector<8xf32>):\n"
    "    %v = \"tessera.target.load\"(%a, %i) : (!tessera.ptr<f32, \"global\">, index) -> vector<8xf32>\n"
    "    %u = \"tessera.target.for\"(%c0, %c8, %c1, %acc) ({\n"
    "    ^bb0(%j: index, %q: vector<8xf32>):\n"
    "      %g = \"tessera.target.get\"(%arr, %j) : (!tessera.array<16xf32>, index) -> vector<8xf32>\n"
    "      %h = \"tessera.target.fma\"(%v, %q, %g) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>\n"
    "      \"tessera.target.set\"(%h, %arr, %j) : (vector<8xf32>, !tessera.array<16xf32>, index) -> ()\n"
    "      \"tessera.target.yield\"(%h) : (vector<8xf32>) -> ()\n"
    "    }) {unroll = true} : (index, index, index, vector<8xf32>) -> vector<8xf32>\n"
    "    \"tessera.target.yield\"(%u) : (vector<8xf32>) -> ()\n"
    "  }) : (index, index, index, vector<8xf32>) -> vector<8xf32>\n"
    "  %p = \"tessera.target.compare\"(%l, %c8) {predicate = \"lt\"} : (index, index) -> i1\n"
    "  %r = \"tessera.target.if\"(%p) ({\n"
    "    \"tessera.target.yield\"(%s) : (vector<8xf32>) -> ()\n"
    "  }, {\n"
    "    \"tessera.target.yield\"(%z) : (vector<8xf32>) -> ()\n"
    "  }) : (i1) -> vector<8xf32>\n"
    "  \"tessera.target.if\"(%p) ({\n"
    "    \"tessera.target.store\"(%r, %o, %t) : (vector<8xf32>, !tessera.ptr<f32, \"global\">, index) -> ()\n"
    "    \"tessera.target.yield\"() : () -> ()\n"
    "  }) : (i1) -> ()\n"
    "  \"tessera.target.return\"() : () -> ()\n"
    "}) {sym_name = \"loops\", dialect = \"spirv\", grid = [1, 2, 1], block = [64, 1, 1], subgroup = 32%s} : () -> ()\n";

static void control_flow_nested_valid(void **state) {
  const char *at = strstr(loops, "%s} :");
  for (int i = 0; i < 2 * N_LACKING; i++) {
    tsr_caps caps = lacking(i / 2);
    const bool wide = i % 2;
    if (wide && !caps.i64) continue;
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - loops), loops,
             wide ? ", wide_index = true, policy = \"deterministic\"" : "", at + 2);
    check("loops", text, &caps, "OpLoopMerge");
  }
}

static void grid_beyond_limits_rebased_valid(void **state) {
  tsr_caps caps = spirv_full_caps();
  kernel(
      "f32", "f32", 1, 1,
      "%b = \"tessera.target.block_id\"() {axis = 0} : () -> index\n  %r = \"tessera.target.neg\"(%x0) : (f32) -> f32");
  char *at = strstr(text, "grid = [1, ");
  memmove(at + 20, at + 11, strlen(at + 11) + 1);
  memcpy(at, "grid = [1000000000, ", 20);
  check("rebased", text, &caps, "OpMemberDecorate %");
}

static void many_arguments_valid(void **state) {
  tsr_caps caps = spirv_full_caps();
  char *p = text, *end = text + sizeof text;
  p += snprintf(p, (size_t)(end - p), "\"tessera.target.kernel\"() ({\n^bb0(");
  for (int i = 0; i < 20; i++)
    p += snprintf(p, (size_t)(end - p), "%s%%a%d: !tessera.ptr<f32, \"global\">", i ? ", " : "", i);
  snprintf(p, (size_t)(end - p),
           "):\n  %%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n  %%x = \"tessera.target.load\"(%%a3, "
           "%%t) : (!tessera.ptr<f32, \"global\">, index) -> f32\n"
           "  \"tessera.target.store\"(%%x, %%a19, %%t) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n  "
           "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"many\", dialect = \"spirv\", grid = [1, 1, 1], "
           "block = [32, 1, 1]} : () -> ()\n");
  check("many", text, &caps, "OpConvertUToPtr");
}

static void shared_memory_too_large_refused(void **state) {
  tsr_caps caps = spirv_full_caps();
  kernel("f32", "f32", 1, 1, "%r = \"tessera.target.neg\"(%x0) : (f32) -> f32");
  char *at = strstr(text, "subgroup = 32");
  memmove(at + 22, at, strlen(at) + 1);
  memcpy(at, "shared_bytes = 99000, ", 22);
  const char *why = spirv_check(text, &caps, NULL, NULL);
  assert_non_null(why);
  assert_non_null(strstr(why, "99000 bytes of shared memory"));
}

/* Mesa 22.3 gets x < 13 wrong where x is an i32 made 64 bits wide: the comparison is one of i32. A number that the
 * narrow type can't hold stays wide: its two words are seen. */
static void compare_of_widened_is_narrow(void **state) {
  static const char *const from[] = {"i32", "i16", "i8"};
  tsr_caps caps = spirv_full_caps();
  char line[400];
  for (int i = 0; i < 3; i++)
    for (int fits = 0; fits < 2; fits++)
      for (int left = 0; left < 2; left++) {
        snprintf(line, sizeof line,
                 "%%w = \"tessera.target.cast\"(%%x0) : (%s) -> i64\n  %%c = \"tessera.target.const\"() {value = %s : "
                 "i64} : () -> i64\n  %%r = \"tessera.target.compare\"(%s) {predicate = \"lt\"} : (i64, i64) -> i1",
                 from[i], fits ? "13" : "3000000013", left ? "%c, %w" : "%w, %c");
        kernel(from[i], "i1", 1, 1, line);
        check("narrow", text, &caps, fits ? " 13\n" : " 3000000013 0\n");
      }
}

/* On subgroups that are a CPU's SIMD register a loop stands under a condition, though it always runs, and exp puts its
 * power of 2 into the bits; others have plain code. */
static void simd_subgroups_have_guarded_loops_and_short_exp(void **state) {
  for (int simd = 0; simd < 2; simd++)
    for (int bda = 0; bda < 2; bda++) {
      tsr_caps caps = spirv_full_caps();
      caps.subgroup = caps.subgroup_min = caps.subgroup_max = simd ? 8 : 32;
      caps.denorm_f32 = false, caps.descriptors = !bda;
      kernel("f32", "f32", 1, 1,
             "%z = \"tessera.target.const\"() {value = 0 : i64} : () -> index\n  %n = \"tessera.target.const\"() "
             "{value = 4 : i64} : () -> index\n  %s = \"tessera.target.const\"() {value = 1 : i64} : () -> index\n"
             "  %r = \"tessera.target.for\"(%z, %n, %s, %x0) ({\n^bb0(%i: index, %c: f32):\n  %e = "
             "\"tessera.target.exp\"(%c) : (f32) -> f32\n  \"tessera.target.yield\"(%e) : (f32) -> ()\n}) : (index, "
             "index, index, f32) -> f32");
      check("loop", text, &caps, "OpLoopMerge");
      assert_true((spirv_check(text, &caps, "OpSelectionMerge", NULL) == NULL) == (simd && bda));
      /* elsewhere the power of 2 is applied in two halves, so that subnormal results are kept */
      assert_true((spirv_check(text, &caps, "OpShiftRightArithmetic", NULL) == NULL) == !simd);
      caps.denorm_f32 = true;
      assert_null(spirv_check(text, &caps, "OpShiftRightArithmetic", NULL));
    }
}

/* Where a driver dies of 64 bits put together of two words, constants of xor are hidden and words are shifted. */
static void words_are_never_packed_where_that_kills(void **state) {
  static const char constant[] = "%c = \"tessera.target.const\"() {value = 12345 : i64} : () -> i64\n  %r = "
                                 "\"tessera.target.xor\"(%x0, %c) : (i64, i64) -> i64",
                    packed[] = "%r = \"tessera.target.bitcast\"(%x0) : (vector<2xi32>) -> i64";
  for (int no_pack = 0; no_pack < 2; no_pack++) {
    tsr_caps caps = spirv_full_caps();
    caps.no_pack64 = no_pack;
    kernel("i64", "i64", 1, 1, constant);
    check("xor", text, &caps, "OpBitwiseXor");
    assert_true((spirv_check(text, &caps, " 63 0\n", NULL) == NULL) == no_pack); /* of the zero */
    kernel("i32", "i32", 1, 2, packed);
    char *type = strstr(text, "(vector<2xi32>, !tessera.ptr<i32");
    memcpy(strstr(text, "%o: !tessera.ptr<i32"), "%o: !tessera.ptr<i64", 20);
    memmove(type + 4, type + 14, strlen(type + 14) + 1);
    memcpy(type, "(i64", 4);
    memcpy(strstr(type, "i32"), "i64", 3);
    check("words", text, &caps, NULL);
    assert_true((spirv_check(text, &caps, "OpBitcast", NULL) != NULL) == no_pack);
  }
}

/* Where LLVM compares lanes of f16 one by one, what was f16 is or-ed with a zero: a pointer's highest bits. */
static void f16_is_hidden_from_a_cpu(void **state) {
  static const char line[] = "%y0 = \"tessera.target.cast\"(%x0) : (f16) -> f32\n"
                             "  %y1 = \"tessera.target.cast\"(%x1) : (f16) -> f32\n"
                             "  %r = \"tessera.target.max\"(%y0, %y1) : (f32, f32) -> f32";
  for (int on_cpu = 0; on_cpu < 2; on_cpu++) {
    tsr_caps caps = spirv_full_caps();
    caps.subgroup = caps.subgroup_min = caps.subgroup_max = 8;
    caps.host_addresses = on_cpu;
    kernel("f16", "f32", 2, 1, line);
    check("max of f16", text, &caps, "OpFConvert");
    assert_true((spirv_check(text, &caps, " 57 0\n", NULL) == NULL) == on_cpu);
    assert_true((spirv_check(text, &caps, "OpBitwiseOr", NULL) == NULL) == on_cpu);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(f16_is_hidden_from_a_cpu),
      cmocka_unit_test(scalar_ops_every_type_valid),
      cmocka_unit_test(cast_every_pair_valid),
      cmocka_unit_test(memory_every_type_and_alignment_valid),
      cmocka_unit_test(subgroup_ops_every_type_valid),
      cmocka_unit_test(bitcast_every_pair_valid),
      cmocka_unit_test(control_flow_nested_valid),
      cmocka_unit_test(many_arguments_valid),
      cmocka_unit_test(grid_beyond_limits_rebased_valid),
      cmocka_unit_test(shared_memory_too_large_refused),
      cmocka_unit_test(compare_of_widened_is_narrow),
      cmocka_unit_test(words_are_never_packed_where_that_kills),
      cmocka_unit_test(simd_subgroups_have_guarded_loops_and_short_exp),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
