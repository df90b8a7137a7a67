/* tests/simt/simt.h - the SIMT emulator for tests: compiles emitted CUDA or HIP text (core/emit/text/prelude.h) as host
 * C++, runs kernels of it with one fiber per device thread, and reports what a device would do wrong or not tell.
 *
 * Threads: one launch runs at a time in a process; emu_run takes a lock. Nothing here is fast: small grids only. */
#ifndef TSR_SIMT_H
#define TSR_SIMT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/simt/simt_rt.h"

typedef enum emu_kind {
  EMU_OUT_OF_BOUNDS,  /* global or shared address outside what was given; stops the launch */
  EMU_MISALIGNED,     /* address not a multiple of the access; stops the launch */
  EMU_RACE,           /* two unordered accesses of the same bytes, one a write */
  EMU_UNWRITTEN,      /* read of shared memory that nobody wrote */
  EMU_DIVERGENT,      /* a collective that not all threads reach, or reach at different lines */
  EMU_ASYNC_EARLY,    /* asynchronous data or registers used before their wait */
  EMU_ASYNC_FENCE,    /* a missing proxy fence, wgmma fence or barrier-init fence */
  EMU_MBARRIER,       /* misuse of an mbarrier */
  EMU_EXIT_PENDING,   /* a block exits with copies in flight to or from it */
  EMU_DEADLOCK,
  EMU_BAD_ARGUMENT,   /* operands that the instruction doesn't take */
  EMU_N_KINDS
} emu_kind;
const char *emu_kind_name(emu_kind k);

typedef struct emu_finding {
  emu_kind kind;
  int line, other_line; /* of the text; 0 = unknown */
  int block, thread;    /* of the first occurrence, linear */
  long count;
  char text[256];
} emu_finding;

#define EMU_MAX_DEGREE 32
typedef struct emu_site { /* bank conflicts of one access site */
  int line, bytes;
  bool write;
  long n;                            /* warp-wide accesses */
  long degree[EMU_MAX_DEGREE + 1]; /* how often each degree; 1 = no conflict */
} emu_site;

enum { EMU_MAX_FINDINGS = 64, EMU_MAX_SITES = 256 };
typedef struct emu_report {
  int n_findings, n_sites;
  long n_kind[EMU_N_KINDS];
  bool stopped; /* the launch was abandoned: outputs are incomplete */
  double global_bytes; /* read and written in global memory, each access with all its bytes */
  emu_finding findings[EMU_MAX_FINDINGS];
  emu_site sites[EMU_MAX_SITES];
} emu_report;
/* Findings first, then the access sites with conflicts. */
void emu_report_print(const emu_report *r, FILE *to);
int emu_report_worst_degree(const emu_report *r);

/* A unit of text compiled to a shared object. */
typedef struct emu_module emu_module;
typedef struct emu_compile_desc {
  const char *source;         /* text; NULL = read `path` */
  const char *path;
  const char *const *kernels; /* names whose entries are wanted */
  int n_kernels;
  const char *compiler;       /* NULL = $TSR_SIMT_CXX, else g++ */
  const char *flags;          /* further compiler flags or NULL */
} emu_compile_desc;
/* NULL on failure, with the compiler's output in *log (the caller frees it; NULL on success). */
emu_module *emu_compile(const emu_compile_desc *d, char **log);
void emu_module_destroy(emu_module *m);

typedef struct emu_range { /* global memory that a kernel may touch */
  void *data;
  size_t bytes;
  bool writable;
} emu_range;

typedef struct emu_run_desc {
  const char *kernel;
  int grid[3], block[3], cluster[3]; /* zeros count as 1 */
  int warp;                          /* 32 or 64; 0 = 32 */
  int banks;                         /* of shared memory; 0 = 32 */
  int f8_sum_bits;                   /* caps.f8_sum_bits; f8_by_f16: mma.sync has all of f32 nevertheless */
  bool f8_by_f16;
  bool mfma_flushes;                 /* caps.mfma_flushes */
  int64_t shared_bytes;
  void **args; /* one pointer to each parameter's value */
  int n_args;
  const emu_range *ranges;
  int n_ranges;
  unsigned seed; /* order in which threads and copies are run; 0 = plain order */
} emu_run_desc;
/* Runs the grid, adding to `r` (zeroed by the caller). False if nothing could be run (unknown kernel, impossible
 * shape). */
bool emu_run(emu_module *m, const emu_run_desc *d, emu_report *r);

/* Fills a descriptor as the driver would; NULL if fine, else why the driver would refuse it. */
const char *emu_tensor_map_make(emu_tensor_map *m, void *base, int elem_bytes, int rank, const int64_t *dims,
                                const int64_t *strides, const int *box, int swizzle);
#endif
