/* tests/simt/record.h - what the emulator has run, for test_simt_coverage.c: with TSR_SIMT_RECORD=FILE every launch
 * appends to that file the lines that are not yet this process's: "ARCH TAB WHAT", WHAT being a call of the kernel's
 * text with its template arguments, as `mma<16, 8, 16, f16, f16>` or `tma_store`, or `path: ` and the path as the
 * kernel's comment has it. */
#ifndef TSR_SIMT_RECORD_H
#define TSR_SIMT_RECORD_H
#include "tests/simt/target_run.h"

void emu_record(const emu_unit *u, int kernel);

#endif
