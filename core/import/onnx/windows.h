/* core/import/onnx/windows.h - the attributes of ONNX's ops whose windows move over images. */
#ifndef CORE_IMPORT_ONNX_WINDOWS_H
#define CORE_IMPORT_ONNX_WINDOWS_H
#include "core/import/onnx/cv.h"

enum { WINDOWS_AXES = 3 };

typedef struct windows {
  int n; /* spatial axes */
  int64_t kernel[WINDOWS_AXES], strides[WINDOWS_AXES], dilations[WINDOWS_AXES], low[WINDOWS_AXES], high[WINDOWS_AXES];
  bool same, same_lower; /* auto_pad said so: low and high are what it makes of the image */
} windows;

/* On an image; kernel: the extents where no attribute says them, NULL: all 1. False: refused. */
bool cv_windows_read(cv *c, const ir_value *x, const int64_t *kernel, windows *out);
/* Graph IR wants padding that is smaller than what a window spans: more is put around the image, with `value`. */
ir_value *cv_windows_fit(cv *c, ir_value *x, windows *w, double value);
#define WINDOWS_ATTRS(w)                                                                                               \
  TSR_INTS("strides", (w).strides, (w).n), TSR_INTS("dilations", (w).dilations, (w).n),                                \
      TSR_INTS("low", (w).low, (w).n), TSR_INTS("high", (w).high, (w).n)
#endif
