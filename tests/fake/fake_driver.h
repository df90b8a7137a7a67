/* tests/fake/fake_driver.h - what a test may give the fake driver to run its launches with: fake_runner, found by
 * dlsym. Without one nothing is computed. */
#ifndef TESTS_FAKE_FAKE_DRIVER_H
#define TESTS_FAKE_FAKE_DRIVER_H
#include <stddef.h>

enum { FAKE_MAX_PARAMS = 32, FAKE_MAX_BLOCKS = 4096 };

typedef struct fake_memory { void *p; size_t bytes; } fake_memory;

typedef struct fake_launch {
  const char *text, *kernel; /* the module's text and the function's name */
  unsigned grid[3], block[3], cluster[3], shared;
  void **params; /* as the driver got them: of 8 bytes, tensor maps of 128 */
  int n_params, device;
  const fake_memory *memory; /* every allocation that there is */
  int n_memory;
} fake_launch;

/* 0, or the driver's code that the launch shall fail with. */
typedef int (*fake_run_fn)(const fake_launch *l);
#endif
