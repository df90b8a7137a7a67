/* core/profile/page_data.h - what the benchmark's page is made of, and its escaped text. */
#ifndef CORE_PROFILE_PAGE_DATA_H
#define CORE_PROFILE_PAGE_DATA_H
#include "core/base/status.h"
#include "core/base/str.h"

enum { PAGE_MAX_PEERS = 4 };

typedef struct page_peer {
  const char *name;
  double ratio; /* peer's time / ours; 0: not measured */
} page_peer;

typedef struct page_row {
  const char *op, *shape, *dtype, *device, *policy, *tile;
  double median_us, min_us, gflops, gbytes_per_s, peak_fraction; /* 0: not known */
  double flops, bytes;
  double error, tolerance;
  bool checked, ok;
  const char *none; /* a case without figures: "unsupported" or "failed", with the reason in why; NULL: it has them */
  const char *why;
  page_peer peer[PAGE_MAX_PEERS];
  int n_peers;
} page_row;

typedef struct page_device {
  const char *id, *name, *driver;
  double fma_gflops, matrix_gflops, gbytes_per_s; /* measured; 0: not known */
} page_device;

/* Best so far after each sample, microseconds; 0 where none has run yet. */
typedef struct page_curve {
  const char *label;
  const double *best_us;
  size_t n;
  double default_us, roofline_us; /* 0: not known */
  double chosen_us; /* of the winner, timed once more against the default; the default's own when that stays */
} page_curve;

typedef struct page_desc {
  const char *title, *when, *environment; /* environment: one line about the machine */
  const page_device *devices;
  size_t n_devices;
  const page_row *rows;
  size_t n_rows;
  const page_curve *curves;
  size_t n_curves;
} page_desc;

/* Escapes for HTML. */
void page_text(strb *out, const char *s);

#endif
