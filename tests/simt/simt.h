/* tests/simt/simt.h - the SIMT emulator for tests: compiles emitted CUDA or HIP text (core/emit/text.h) as host C++, runs
 * kernels of it with one fiber per device thread, and reports what a device would do wrong or not tell.
 *
 * Threads: one launch runs at a time in a process; simt_launch takes a lock. Nothing here is fast: small grids only. */
#ifndef TSR_SIMT_H
#define TSR_SIMT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/simt/simt_rt.h"

typedef enum simt_kind {
  SIMT_OUT_OF_BOUNDS,  /* global or shared address outside what was given; stops the launch */
  SIMT_MISALIGNED,     /* address not a multiple of the access; stops the launch */
  SIMT_RACE,           /* two unordered accesses of the same bytes, one a write */
  SIMT_UNWRITTEN,      /* read of shared memory that nobody wrote */
  SIMT_DIVERGENT,      /* a collective that not all threads reach, or reach at different lines */
  SIMT_ASYNC_EARLY,    /* asynchronous data or registers used before their wait */
  SIMT_ASYNC_FENCE,    /* a missing proxy fence, wgmma fence or barrier-init fence */
  SIMT_MBARRIER,       /* misuse of an mbarrier */
  SIMT_EXIT_PENDING,   /* a block exits with copies in flight to or from it */
  SIMT_DEADLOCK,
  SIMT_BAD_ARGUMENT,   /* operands that the instruction doesn't take */
  SIMT_N_KINDS
} simt_kind;
const char *simt_kind_name(simt_kind k);

typedef struct simt_finding {
  simt_kind kind;
  int line, other_line; /* of the text; 0 = unknown */
  int block, thread;    /* of the first occurrence, linear */
  long count;
  char text[256];
} simt_finding;

#define SIMT_MAX_DEGREE 32
typedef struct simt_site { /* bank conflicts of one access site */
  int line, bytes;
  bool write;
  long n;                            /* warp-wide accesses */
  long degree[SIMT_MAX_DEGREE + 1]; /* how often each degree; 1 = no conflict */
} simt_site;

enum { SIMT_MAX_FINDINGS = 64, SIMT_MAX_SITES = 256 };
typedef struct simt_report {
  int n_findings, n_sites;
  long n_kind[SIMT_N_KINDS];
  bool stopped; /* the launch was abandoned: outputs are incomplete */
  simt_finding findings[SIMT_MAX_FINDINGS];
  simt_site sites[SIMT_MAX_SITES];
} simt_report;
/* Findings first, then the access sites with conflicts. */
void simt_report_print(const simt_report *r, FILE *to);
int simt_report_worst_degree(const simt_report *r);

/* A unit of text compiled to a shared object. */
typedef struct simt_module simt_module;
typedef struct simt_build_desc {
  const char *source;         /* text; NULL = read `path` */
  const char *path;
  const char *const *kernels; /* names whose entries are wanted */
  int n_kernels;
  const char *compiler;       /* NULL = $TSR_SIMT_CXX, else g++ */
  const char *flags;          /* further compiler flags or NULL */
} simt_build_desc;
/* NULL on failure, with the compiler's output in *log (the caller frees it; NULL on success). */
simt_module *simt_build(const simt_build_desc *d, char **log);
void simt_module_destroy(simt_module *m);

typedef struct simt_range { /* global memory that a kernel may touch */
  void *data;
  size_t bytes;
  bool writable;
} simt_range;

typedef struct simt_launch_desc {
  const char *kernel;
  int grid[3], block[3], cluster[3]; /* zeros count as 1 */
  int warp;                          /* 32 or 64; 0 = 32 */
  int banks;                         /* of shared memory; 0 = 32 */
  int64_t shared_bytes;
  void **args; /* one pointer to each parameter's value */
  int n_args;
  const simt_range *ranges;
  int n_ranges;
  unsigned seed; /* order in which threads and copies are run; 0 = plain order */
} simt_launch_desc;
/* Runs the grid, adding to `r` (zeroed by the caller). False if nothing could be run (unknown kernel, impossible shape). */
bool simt_launch(simt_module *m, const simt_launch_desc *d, simt_report *r);

/* Fills a descriptor as the driver would; NULL if fine, else why the driver would refuse it. */
const char *simt_tensor_map_make(simt_tensor_map *m, void *base, int elem_bytes, int rank, const int64_t *dims, const int64_t *strides, const int *box, int swizzle);
#endif
