/* tests/conformance/open_device.h - opens TSR_TEST_DEVICE (cpu:0) for a program of this folder. Exit status 77 with its
 * reason where the device, or the matrix path that TSR_MATRIX forces, is not there. Where the validation layers that
 * TSR_VK_VALIDATION asks for are missing the program still runs, and says that it runs without them. */
#ifndef TESTS_CONFORMANCE_OPEN_DEVICE_H
#define TESTS_CONFORMANCE_OPEN_DEVICE_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"

/* Why a forced path would run none of its own instructions here; NULL: it runs some. */
static inline const char *forced_path_missing(const tsr_device_info *d) {
  const char *path = getenv("TSR_MATRIX");
  bool wide = path && !strcmp(path, "coopmat2"), any = wide || (path && !strcmp(path, "coopmat"));
  if (!any) return NULL;
  for (int i = 0; i < d->n_matrix; i++)
    if (d->matrix[i].enabled && (!wide || !strcmp(d->matrix[i].scope, "workgroup"))) return NULL;
  return wide ? "the device has no workgroup matrices (VK_NV_cooperative_matrix2)"
              : "the device has no cooperative matrices that work";
}

static inline void close_for_test(tsr_context **ctx, tsr_device **dev) {
  tsr_device_close(dev);
  tsr_context_destroy(ctx);
}

/* 0, or the exit status: said, and nothing left open. */
static inline int open_for_test(const tsr_context_desc *desc, tsr_context **ctx, tsr_device **dev,
                                const char **device) {
  const char *validate = getenv("TSR_VK_VALIDATION");
  *device = getenv("TSR_TEST_DEVICE") && *getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0";
  tsr_status st = NULL;
  for (int turn = 0; turn < 2; turn++) {
    *ctx = NULL, *dev = NULL;
    st = tsr_context_create(desc, ctx);
    if (!st) st = tsr_device_open(*ctx, *device, dev);
    if (tsr_status_code(st) != TSR_UNAVAILABLE || turn || !validate || strncmp(*device, "vulkan", 6)) break;
    printf("skipped: validation: %s\n", tsr_status_message(st));
    tsr_status_free(st);
    close_for_test(ctx, dev);
    unsetenv("TSR_VK_VALIDATION");
  }
  const char *missing = st ? NULL : forced_path_missing(tsr_device_get_info(*dev));
  if (!st && !missing) return 0;
  int rc = st && tsr_status_code(st) != TSR_UNAVAILABLE ? 1 : 77;
  printf("%s%s: %s\n", rc == 77 ? "skipped: " : "", *device, st ? tsr_status_message(st) : missing);
  tsr_status_free(st);
  close_for_test(ctx, dev);
  return rc;
}
#endif
