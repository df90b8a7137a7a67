/* tests/support/amd_asm.h - what the compile gates read off the assembly that clang makes for AMD GPUs (`-S`:
 * instructions, and the code object's metadata as YAML). */
#ifndef TESTS_SUPPORT_AMD_ASM_H
#define TESTS_SUPPORT_AMD_ASM_H
#include <stdbool.h>

/* From the metadata of all kernels: NULL, or what is wrong: vector registers or more than a few scalar ones spilled,
 * scratch memory used; "no metadata" if there is none. */
const char *amd_asm_spills(const char *assembly);

/* Waits of the loops that hold matrix instructions. NULL, or what is wrong:
 *   - global memory is loaded and waited for with no matrix instruction in between: the loads hide behind nothing;
 *   - LDS is read, but no matrix instruction has a wait for it before (lgkmcnt, dscnt) in the loop;
 *   - direct-to-LDS loads, but ds_write or an ordinary load in the same loop: the compiler has added a copy of its
 *     own. */
const char *amd_asm_waits(const char *assembly);

/* The stretches at raised priority (s_setprio 1 to s_setprio 0). NULL, or what is wrong: there is none, one has no
 * matrix instruction, or one has vector arithmetic, which belongs to the other half's turn. */
const char *amd_asm_turns(const char *assembly);

/* Branches of single lanes. Whole tiles need none: a conversion that became one costs more than both its ways. */
enum { AMD_FEW_LANE_BRANCHES = 4 };
const char *amd_asm_lane_branches(const char *assembly);

/* Does an instruction start with this name? */
bool amd_asm_has(const char *assembly, const char *instruction);
/* How often. */
int amd_asm_count(const char *assembly, const char *instruction);

#endif
