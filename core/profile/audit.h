/* core/profile/audit.h - the checklist for performance tuning (docs/checklist.md) as an executable audit: pass, fail or
 * unknown for each of its nine points, and five more for each kernel. Input: facts; negative or NULL: not known. */
#ifndef CORE_PROFILE_AUDIT_H
#define CORE_PROFILE_AUDIT_H
#include "core/base/str.h"
#include "core/profile/verdict.h"

typedef struct audit_kernel {
  const char *name, *op;
  double occupancy, flops_per_byte, ridge;
  int64_t spill_bytes;
  int registers, registers_ideal;
  int64_t shared_bytes, shared_ideal; /* per block */
  double contiguous;        /* share of coalesced accesses */
  int64_t bytes_per_access;
  int bank_ways;            /* 0: no shared memory */
  int stages, async_copy;   /* stages 0: nothing to stage: no k loop, or caches do it */
  bool async_possible;
  int tile_fits; /* 1: a multiple of a matrix instruction of its type, or no product on one; 0: cut; -1: not known */
  int64_t tile[3];          /* of a product; zeros: none */
  int tuned;                /* 1: its schedule comes from the tuner's cache or search */
} audit_kernel;

typedef struct audit_program {
  const audit_kernel *kernels;
  size_t n_kernels;
  int cache_persistent;       /* 1: a writable cache on disk */
  int n_devices;
  int implicit_shards;        /* tensors of a multi-device program without a ShardSpec */
  double comm_ns, overlapped_ns;
  bool has_matmul;
  bool has_unknown;           /* kernels of which it is not known whether they multiply matrices */
  tsr_dtype widest_input;     /* of the matmuls */
  tsr_dtype accumulator;
  const char *policy;
  bool needs_reproducible;
} audit_program;

enum { AUDIT_ROWS = 14 };
typedef struct audit_row {
  const char *point;  /* the checklist's own words */
  verdict verdict;
  char found[96];     /* what was looked at */
  const char *hint;   /* "" when passed */
  const char *kernel; /* the worst kernel, "" for points about the program */
} audit_row;

/* The nine points of the checklist, then alignment, padding, registers, shared memory and tile shapes. A point about
 * kernels is the worst of all kernels. */
void audit_run(const audit_program *p, audit_row out[AUDIT_ROWS]);
/* The two points about distribution alone, of a program of a mesh. */
enum { AUDIT_DISTRIBUTION = 2 };
void audit_distribution(const audit_program *p, audit_row out[AUDIT_DISTRIBUTION]);
void audit_row_text(const audit_row *r, strb *out);
/* Number of failed points. */
int audit_failed(const audit_row rows[AUDIT_ROWS]);
void audit_text(const audit_row rows[AUDIT_ROWS], strb *out);
void audit_json(const audit_row rows[AUDIT_ROWS], strb *out);
#endif
