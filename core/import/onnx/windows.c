/* core/import/onnx/windows.c - see windows.h. */
#include "core/import/onnx/windows.h"

#include <string.h>

enum { MOST_EXTENT = 1 << 20 }; /* sums and products of some are counted in 64 bits */

static void list(cv *c, const char *name, int n, int64_t dflt, int64_t *out) {
  const int given = cv_ints(c, name, out, WINDOWS_AXES);
  if (given >= 0 && given != n) cv_refuse(c, "%s has %d numbers for %d axes", name, given, n);
  for (int i = 0; i < n && given < 0; i++) out[i] = dflt;
  for (int i = 0; i < n && !c->failed; i++)
    if (out[i] < 1 || out[i] > MOST_EXTENT) cv_refuse(c, "%s of %lld", name, (long long)out[i]);
}

/* As much padding as gives ceil(extent / stride) windows. */
static void pad_same(windows *w, const int64_t *extents) {
  for (int i = 0; i < w->n; i++) {
    const int64_t places = (extents[i] + w->strides[i] - 1) / w->strides[i];
    const int64_t need = (places - 1) * w->strides[i] + (w->kernel[i] - 1) * w->dilations[i] + 1 - extents[i];
    const int64_t pad = need > 0 ? need : 0, less = pad / 2;
    w->low[i] = w->same_lower ? pad - less : less;
    w->high[i] = pad - w->low[i];
  }
}

bool cv_windows_read(cv *c, const ir_value *x, const int64_t *kernel, windows *w) {
  const int rank = cv_rank(x);
  int64_t pads[2 * WINDOWS_AXES] = {0};
  const char *same = cv_str(c, "auto_pad", "NOTSET");
  *w = (windows){.n = rank - 2};
  if (w->n < 1 || w->n > WINDOWS_AXES) return cv_refuse(c, "an image of %d dimensions", rank) != NULL;
  if (kernel && !cv_attr(c, "kernel_shape")) memcpy(w->kernel, kernel, sizeof *kernel * (size_t)w->n);
  else list(c, "kernel_shape", w->n, 1, w->kernel);
  list(c, "strides", w->n, 1, w->strides);
  list(c, "dilations", w->n, 1, w->dilations);
  const int n = cv_ints(c, "pads", pads, 2 * WINDOWS_AXES);
  if (n >= 0 && n != 2 * w->n && strcmp(same, "NOTSET") == 0) cv_refuse(c, "%d pads for %d axes", n, w->n);
  if (!strcmp(same, "NOTSET")) {
    for (int i = 0; i < w->n && n > 0; i++) {
      w->low[i] = pads[i];
      w->high[i] = pads[w->n + i];
      if (pads[i] < 0 || pads[i] > MOST_EXTENT || pads[w->n + i] < 0 || pads[w->n + i] > MOST_EXTENT)
        cv_refuse(c, "padding of %lld and %lld", (long long)pads[i], (long long)pads[w->n + i]);
    }
  } else if (strcmp(same, "VALID") && strncmp(same, "SAME_", 5) && *same) cv_refuse(c, "auto_pad %s", same);
  w->same_lower = !strcmp(same, "SAME_LOWER");
  w->same = w->same_lower || !strcmp(same, "SAME_UPPER");
  if (w->same && x && !c->failed) pad_same(w, x->type->dims + 2);
  return !c->failed;
}

ir_value *cv_windows_fit(cv *c, ir_value *x, windows *w, double value) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  for (int i = 0; i < w->n; i++) {
    const int64_t span = (w->kernel[i] - 1) * w->dilations[i] + 1;
    if (w->low[i] < span && w->high[i] < span) continue;
    low[2 + i] = w->low[i];
    high[2 + i] = w->high[i];
    w->low[i] = w->high[i] = 0;
  }
  return cv_pad(c, x, low, high, value);
}
