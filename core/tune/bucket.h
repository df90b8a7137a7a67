/* core/tune/bucket.h - shape buckets: the shapes of a graph with unknown dimensions that share one tuning decision.
 * Extents that come from an unknown dimension are rounded up: 1..64 stay exact; above that to the next power of two or
 * one and a half times one (65..96 -> 96, 97..128 -> 128, 129..192 -> 192, ...), so that the common sizes name their
 * buckets. Known extents stay exact. Only decisions are shared, never code: each shape is compiled for itself, and a
 * decision found for exactly this shape goes first. For users: docs/tuning.md. */
#ifndef CORE_TUNE_BUCKET_H
#define CORE_TUNE_BUCKET_H
#include "core/ir/ir.h"
#include "core/tune/problem.h"

enum { BUCKET_EXACT = 64, BUCKET_MAX_EXTENTS = 64 };

int64_t tune_bucket(int64_t extent);

/* Notes in op's attribute `symbolic` what the unknown dimensions of a value become: `before` and `now` are its types.
 * Runs of neighbouring dimensions with an unknown one count too, since kernels see them as one extent. False: out of
 * memory. */
bool bucket_note(ir_op *op, const ir_type *before, const ir_type *now);

/* The shape text of a problem's bucket, "~384x768x768" for [300..384, 768] x [768, 768] with unknown rows; false, and
 * "", where each extent is exact. `program` is the function or program with the attribute `symbolic`. */
bool bucket_shape(const ir_op *program, const tune_problem *p, char *out, size_t out_bytes);
#endif
