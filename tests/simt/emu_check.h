/* tests/simt/emu_check.h - for tests on the emulator's devices: a call that must succeed, and a device that may be
 * missing. Include after cmocka.h. */
#ifndef TSR_SIMT_EMU_CHECK_H
#define TSR_SIMT_EMU_CHECK_H
#include <stdio.h>

#include "tessera/tessera.h"

/* Fails the test with what was tried; takes the status. */
static inline void ok(tsr_status st, const char *what) {
  if (!st) return;
  fprintf(stderr, "%s: %s\n", what, tsr_status_message(st));
  tsr_status_free(st);
  fail();
}

/* Skips the test, and says why, where the device can't be opened. */
static inline void need_device(tsr_context *ctx, const char *id) {
  tsr_device *dev;
  tsr_status st = tsr_device_open(ctx, id, &dev);
  if (st) {
    printf("skipped: %s\n", tsr_status_message(st));
    tsr_status_free(st);
    skip();
  }
  tsr_device_close(&dev);
}
#endif
