/* core/tune/device.h - what the tuner knows of a device: limits that prune, rates that rank, tiers that explain.
 * Input: the built-in advisory rows (docs/occupancy.md), a profile file of "key = value" lines, or what a backend
 * queried. Invariant: zero means "not known", never "none"; a rate measured on the machine replaces a listed one and
 * says so. */
#ifndef CORE_TUNE_DEVICE_H
#define CORE_TUNE_DEVICE_H
#include "core/base/status.h"
#include "core/base/str.h"

enum { TUNE_MAX_TIERS = 6, TUNE_MAX_MATRIX = 32 };

/* Where a rate comes from; of a rate that is 0 the cost model assumes one and says so. */
typedef enum tune_origin {
  TUNE_LISTED,   /* a guide, a data sheet, a profile file */
  TUNE_REACHED,  /* what our own short kernels got out of the device, with a margin: no peak */
  TUNE_MEASURED, /* on this device */
  TUNE_N_ORIGINS
} tune_origin;
const char *tune_origin_name(tune_origin o);

/* One matrix instruction shape. */
typedef struct tune_matrix {
  int32_t m, n, k;
  tsr_dtype in, acc;
  int32_t rate; /* operations per core and clock, as core/device/matrix_instr.h has it; 0: not known */
} tune_matrix;

/* One level of memory, nearest first. On GPUs `bytes` of shared memory is per core, of the others for the device. */
typedef struct tune_tier {
  char name[16];
  double bytes, gbps, latency_cycles;
  bool measured;
} tune_tier;

typedef struct tune_device {
  char name[64];
  bool is_cpu;
  bool advisory;              /* from a guide, not queried: never used to refuse a launch */
  bool async_copy;            /* copies to shared memory that don't pass through registers */
  int32_t cores;              /* SMs, CUs or CPU threads */
  int32_t warp_size;          /* lanes; on a CPU the floats of a vector register */
  int32_t max_warps;          /* resident per core */
  int32_t max_blocks;         /* resident per core */
  int32_t max_barriers;       /* resident blocks of more than one warp (AMD) */
  int32_t core_parts;         /* parts of a core with a register file each: a warp's registers lie in one */
  int32_t max_threads;        /* per block */
  int32_t regs_per_core;      /* 32-bit registers */
  int32_t regs_per_thread;    /* most one thread may have */
  int32_t regs_ideal;         /* advised (docs/checklist.md) */
  int32_t reg_granule;        /* allocation unit, registers per warp */
  int32_t shared_granule;     /* allocation unit, bytes */
  int32_t shared_reserved;    /* bytes that each block costs besides its own */
  int64_t shared_per_block, shared_per_core;
  int64_t shared_ideal;  /* advised, per block */
  bool clusters;         /* blocks that reach each other's shared memory */
  bool lds_direct;       /* CDNA: loads from global memory straight to shared memory */
  bool warpgroup_matrix; /* wgmma: operands come straight from swizzled shared memory, 64 rows at a time */
  int32_t banks;
  double clock_ghz;
  double fma_gflops;          /* f32 multiply-add, 2 flops each, whole device */
  double matrix_gflops;       /* 16-bit inputs, whole device; other types by their rates */
  double launch_ns, barrier_ns; /* barrier: one k step's synchronisation of a block (simd_like devices: per subgroup) */
  tune_origin fma_from, matrix_from, launch_from, barrier_from;
  double measured_on; /* seconds since 1970 when this machine's rates were measured; 0: never. Shown, decides nothing */
  bool queried;               /* limits are a driver's answers, not an architecture's table */
  int32_t n_tiers, n_matrix;
  tune_tier tier[TUNE_MAX_TIERS];
  tune_matrix matrix[TUNE_MAX_MATRIX];
} tune_device;

/* A built-in row by a part of its name, any case: "h100". NULL: there is none. */
const tune_device *tune_device_find(const char *name);

/* Starts from zero. Error: TSR_PARSE_ERROR with file:line, TSR_IO_ERROR. */
TSR_MUST_USE tsr_status tune_device_parse(const char *text, const char *file, tune_device *out);
TSR_MUST_USE tsr_status tune_device_load(const char *path, tune_device *out);
/* Writes what tune_device_parse reads. */
void tune_device_print(const tune_device *d, strb *out);
/* Fills what is zero in `d` from `from`; the tiers and matrix shapes as a whole. */
void tune_device_complete(tune_device *d, const tune_device *from);

/* What `user` says replaces what is in `d`; tiers one by one, matrix shapes as a whole. Switches can only be turned on.
 */
void tune_device_override(tune_device *d, const tune_device *user);

/* The tier of that name ("shared", "l2", "memory", "link", "l1", "l3"), or NULL. */
const tune_tier *tune_device_tier(const tune_device *d, const char *name);
/* Sets or adds a tier's measured bandwidth. */
void tune_device_measured(tune_device *d, const char *tier, double gbps);
/* Compute and memory rates bound from below what a kernel can take: both known, and the former no lower bound itself.
 */
bool tune_device_has_roofline(const tune_device *d);
/* Peak for the input type, with or without matrix instructions, in Gflop/s: of these the 16-bit peak in the proportion
 * of the rates; where they aren't known, by the width of the type. */
double tune_device_peak(const tune_device *d, tsr_dtype in, bool matrix);
/* As core/device/dialect.h says it. */
bool tune_device_simd_like(const tune_device *d);
/* The matrix shape for the input type, or NULL. */
const tune_matrix *tune_device_matrix(const tune_device *d, tsr_dtype in);
#endif
