/* tests/unit/test_amd_asm.c - what the compile gates read off AMD assembly: each fault that they look for is found, and
 * the same code without it passes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/amd_asm.h"

#define METADATA(vgpr, sgpr, scratch) \
  "    .private_segment_fixed_size: " scratch "\n    .sgpr_spill_count: " sgpr "\n    .vgpr_spill_count: " vgpr "\n"

static void spills_are_read_from_the_metadata(void **state) {
  assert_null(amd_asm_spills(METADATA("0", "0", "0")));
  assert_non_null(amd_asm_spills(METADATA("3", "0", "0")));
  assert_non_null(amd_asm_spills(METADATA("0", "40", "0")));
  assert_null(amd_asm_spills(METADATA("0", "2", "0")));
  assert_non_null(amd_asm_spills(METADATA("0", "0", "64")));
  assert_non_null(amd_asm_spills(METADATA("0", "0", "0") METADATA("2", "0", "0"))); /* of a later kernel */
  assert_string_equal(amd_asm_spills("s_endpgm\n"), "no metadata");
}

static void instructions_are_counted(void **state) {
  const char *s =
      "\tv_mfma_f32_16x16x16_bf16 a[0:3], v[0:1]\n; v_mfma in a comment\n\tv_mfma_f32_16x16x16_f16 a[0:3]\n";
  assert_int_equal(amd_asm_count(s, "v_mfma"), 2);
  assert_true(amd_asm_has(s, "v_mfma_f32_16x16x16_bf16"));
  assert_false(amd_asm_has(s, "v_wmma"));
}

#define LOOP(body) ".LBB0_1:\n" body "\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n"
#define LOADS "\tglobal_load_dwordx4 v[0:3], v[8:9], off\n\tglobal_load_dwordx4 v[4:7], v[8:9], off\n"
#define READS "\tds_read_b128 v[10:13], v20\n\ts_waitcnt lgkmcnt(0)\n"
#define MATRIX "\tv_mfma_f32_16x16x16_bf16 a[0:3], v[10:11], v[12:13], a[0:3]\n"
#define DIRECT "\tglobal_load_lds_dword v[0:1], off\n"

static void loads_behind_arithmetic_pass(void **state) {
  assert_null(amd_asm_waits(LOOP(LOADS READS MATRIX "\ts_waitcnt vmcnt(1)\n\tds_write_b128 v20, v[0:3]\n")));
  /* the same loop rotated: its loads stand last */
  assert_null(
      amd_asm_waits(LOOP("\ts_waitcnt vmcnt(0)\n\tds_write_b128 v20, v[0:3]\n" READS MATRIX LOADS READS MATRIX)));
  /* a wait that leaves these loads alone */
  assert_null(amd_asm_waits(LOOP(LOADS "\ts_waitcnt vmcnt(2)\n" READS MATRIX)));
  assert_null(amd_asm_waits(LOOP("\tglobal_load_b128 v[0:3], v[8:9], off\n\tds_load_b128 v[10:13], v20\n\ts_wait_dscnt "
                                 "0x0\n\tv_wmma_f32_16x16x16_f16 v[0:7]\n\ts_wait_loadcnt 0x0\n")));
  /* not in a loop */
  assert_null(amd_asm_waits(LOADS "\ts_waitcnt vmcnt(0)\n" READS MATRIX));
}

static void loads_that_are_waited_for_are_found(void **state) {
  assert_non_null(amd_asm_waits(LOOP(LOADS "\ts_waitcnt vmcnt(0)\n" READS MATRIX)));
  assert_non_null(amd_asm_waits(LOOP(LOADS "\ts_waitcnt vmcnt(1)\n" READS MATRIX))); /* the first of two */
  assert_non_null(amd_asm_waits(
      LOOP("\tglobal_load_b128 v[0:3], v[8:9], off\n\ts_wait_loadcnt 0x0\n\tv_wmma_f32_16x16x16_f16 v[0:7]\n")));
  assert_non_null(
      amd_asm_waits(LOOP(READS MATRIX LOADS "\ts_branch .LBB0_3\n\ts_nop 0\n.LBB0_3:\n\ts_waitcnt vmcnt(0)\n")));
  /* in the inner loop only */
  assert_non_null(amd_asm_waits(".LBB0_1:\n\ts_nop 0\n.LBB0_2:\n" LOADS "\ts_waitcnt vmcnt(0)\n" READS MATRIX
                                "\ts_cbranch_scc1 .LBB0_2\n\ts_cbranch_scc0 .LBB0_1\n"));
}

static void lds_must_be_waited_for(void **state) {
  assert_non_null(amd_asm_waits(LOOP("\tds_read_b128 v[10:13], v20\n" MATRIX)));
}

static void direct_loads_have_no_copies_beside_them(void **state) {
  assert_null(amd_asm_waits(LOOP("\ts_waitcnt vmcnt(0)\n\ts_barrier\n" DIRECT READS MATRIX)));
  assert_null(
      amd_asm_waits(LOOP(DIRECT READS "\ts_cbranch_vccnz .LBB0_8\n; %bb.7:\n\ts_waitcnt vmcnt(0)\n.LBB0_8:\n" MATRIX
                                      "\ts_waitcnt vmcnt(0)\n")));
  assert_non_null(amd_asm_waits(LOOP(DIRECT "\ts_waitcnt vmcnt(0)\n" READS MATRIX)));
  assert_non_null(amd_asm_waits(
      LOOP("\ts_waitcnt vmcnt(0)\n" DIRECT READS MATRIX "\ts_waitcnt vmcnt(0)\n" MATRIX "\ts_waitcnt vmcnt(0)\n")));
  assert_non_null(amd_asm_waits(LOOP(DIRECT READS MATRIX "\tds_write_b128 v20, v[0:3]\n\ts_waitcnt vmcnt(0)\n")));
  /* gfx90a says it with a modifier */
  assert_null(
      amd_asm_waits(LOOP("\ts_waitcnt vmcnt(0)\n\ts_barrier\n\tglobal_load_dword v[0:1], off lds\n" READS MATRIX)));
  assert_non_null(amd_asm_waits(LOOP("\tglobal_load_dword v[0:1], off lds\n" READS MATRIX
                                     "\tds_write_b128 v20, v[0:3]\n\ts_waitcnt vmcnt(0)\n")));
}

static void turns_hold_matrix_instructions_only(void **state) {
  assert_null(amd_asm_turns("\tv_perm_b32 v0, v1, v2, v3\n\ts_setprio 1\n" MATRIX "\ts_nop 0\n" MATRIX
                            "\ts_setprio 0\n\tv_add_u32 v0, v0, v0\n"));
  assert_non_null(amd_asm_turns("\ts_setprio 1\n" MATRIX "\tv_perm_b32 v0, v1, v2, v3\n" MATRIX "\ts_setprio 0\n"));
  assert_non_null(amd_asm_turns("\ts_setprio 1\n\ts_setprio 0\n"));
  assert_string_equal(amd_asm_turns(MATRIX), "no ping-pong");
}

static void branches_of_lanes_are_counted(void **state) {
  static const char branch[] = "\ts_and_saveexec_b64 s[0:1], vcc\n\ts_and_saveexec_b32 s0, vcc_lo\n";
  char text[sizeof branch * AMD_FEW_LANE_BRANCHES] = "";
  for (int i = 0; i < AMD_FEW_LANE_BRANCHES / 2; i++) strcat(text, branch);
  assert_null(amd_asm_lane_branches(text));
  strcat(text, branch);
  assert_non_null(amd_asm_lane_branches(text));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(spills_are_read_from_the_metadata),
                                     cmocka_unit_test(instructions_are_counted),
                                     cmocka_unit_test(loads_behind_arithmetic_pass),
                                     cmocka_unit_test(loads_that_are_waited_for_are_found),
                                     cmocka_unit_test(lds_must_be_waited_for),
                                     cmocka_unit_test(direct_loads_have_no_copies_beside_them),
                                     cmocka_unit_test(turns_hold_matrix_instructions_only),
                                     cmocka_unit_test(branches_of_lanes_are_counted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
