/* core/device/caps.h - what a device can do, as the compiler sees it: filled by a backend from the driver, or from a
 * recorded profile for a device that is not here ("cuda:sm_90a", "hip:gfx942", "null:spirv"). Plain data, compared and
 * hashed. */
#ifndef CORE_DEVICE_CAPS_H
#define CORE_DEVICE_CAPS_H
#include "tessera/base.h"

#define TSR_MAX_MATRIX 64

typedef enum tsr_dialect {
  DIALECT_CPU,
  DIALECT_SPIRV,
  DIALECT_CUDA,
  DIALECT_HIP,
  DIALECT_HOST,
  N_DIALECTS
} tsr_dialect;

typedef enum matrix_scope { SCOPE_SUBGROUP, SCOPE_WORKGROUP, SCOPE_WARPGROUP, SCOPE_CORE } matrix_scope;

/* One shape of a matrix instruction: c[m,n] += a[m,k] * b[k,n]. */
typedef struct tsr_matrix_shape {
  int m, n, k;
  tsr_dtype a, b, c;
  matrix_scope scope;
  bool enabled;       /* false: listed by the driver, demoted by the self-test */
  char reason[64];    /* why it was demoted */
  int threads; /* workgroup scope: threads of the block; m, n and k are then granularities, of which any multiple is
                  allowed */
  int rate;    /* operations per core and clock, two of each multiply-add; 0: not known */
} tsr_matrix_shape;

/* Where n_cores is from. */
typedef enum cores_origin { CORES_UNKNOWN, CORES_DRIVER, CORES_HOST, CORES_MEASURED, CORES_LISTED } cores_origin;

typedef struct tsr_caps {
  tsr_dialect dialect;
  char arch[32];      /* "avx512", "sm_90a", "gfx942", "spirv1.6" */
  /* parallelism */
  int n_cores;              /* SMs, CUs, or CPU threads used; 0 = unknown */
  cores_origin cores_from;
  int subgroup;             /* threads of a warp in kernels we make */
  int subgroup_min, subgroup_max;
  int max_threads;          /* per block */
  int max_block[3];
  int64_t max_grid[3];
  int max_warps_per_core;
  int max_blocks_per_core;    /* resident; 0 = unknown */
  int max_barriers_per_core;  /* resident blocks of more than one warp; 0 = no further limit */
  int core_parts;             /* parts of a core with a register file each; 0 = unknown */
  int register_granule;       /* allocation unit, registers of a warp; 0 = unknown */
  int64_t registers_per_core; /* 32-bit registers; 0 = unknown */
  int max_registers;          /* per thread; 0 = unknown */
  /* memory */
  int64_t shared_bytes;       /* per block */
  int64_t shared_per_core;
  int shared_granule, shared_reserved; /* allocation unit; what each block costs besides */
  int shared_banks;
  int64_t l1_bytes, l2_bytes, l3_bytes; /* CPU: per core, per core, total; GPU: l2 is the device's */
  int64_t max_buffer_bytes;   /* largest single allocation */
  int64_t max_range_bytes;    /* largest range one binding can address; 0 = no limit (pointers) */
  int64_t memory_bytes;
  int alignment;              /* of allocations */
  int vector_bytes;           /* widest single access of a thread; CPU: SIMD register */
  /* features */
  bool f64, f16, bf16, f8, i8, i16, i64, atomics; /* arithmetic */
  bool storage16, storage8;   /* Vulkan: memory accesses of 16 and 8 bits; else of whole 32-bit words */
  bool async_copy;            /* cp.async, TMA, direct-to-LDS */
  bool tma, wgmma, clusters;
  bool coopmat, coopmat2;     /* Vulkan */
  bool coopmat2_workgroup, coopmat2_tensor, coopmat2_per_element, coopmat2_reduce, coopmat2_convert;
  int coopmat2_max_dim;             /* largest m, n or k of a workgroup's matrix; 0 = unknown */
  int64_t coopmat2_shared_bytes;    /* shared memory that the driver keeps for itself where a workgroup has matrices */
  bool int_dot, subgroup_shuffle, full_subgroups;
  bool glsl_memory_model;     /* Vulkan: vulkanMemoryModel is missing */
  bool descriptors;           /* Vulkan: buffers are bound by descriptors, for want of bufferDeviceAddress */
  int spirv_minor;            /* Vulkan: SPIR-V 1.3 to 1.6; 0: 1.6 */
  bool shared_layout;         /* Vulkan: workgroup memory with explicit layout, 8 and 16-bit types included */
  bool one_lane_a_time;       /* Vulkan on a CPU: memory is accessed lane by lane, also where all read the same word */
  bool host_addresses;        /* Vulkan on a CPU: buffers' addresses are pointers of this process */
  bool no_pack64;             /* Vulkan: the driver dies of 64-bit integers put together of two words, constants too */
  bool nan_preserve;          /* Vulkan: shaderSignedZeroInfNanPreserveFloat32 */
  bool denorm_f16, denorm_f32,
      denorm_f64; /* arithmetic keeps subnormals; Vulkan: shaderDenormPreserveFloat*, which kernels then ask for */
  bool nan_f16, nan_f64, rte_f16, rte_f32, rte_f64; /* Vulkan: further float controls that kernels ask for */
  bool fnuz;                  /* fp8 is FNUZ (gfx942) */
  bool f8_by_f16; /* a subgroup's matrix products of fp8 are made by converting to f16, at its rate and with its sums */
  int f8_sum_bits;            /* bits of its sum that a matrix product of fp8 keeps; 0: all of f32 */
  int lds_load_bytes; /* a lane's load from memory straight to LDS (gfx9); 0: there is none */
  bool ping_pong;     /* two waves on each SIMD take turns at matrix products and loads to LDS (gfx942, gfx950) */
  bool mfma_flushes; /* matrix products of f16 and bf16 take subnormal inputs, and give subnormal sums, as 0 (gfx90a) */
  int n_dies;        /* parts of the device with an L2 each, to which blocks are dealt out in turn; 0 or 1: one */
  int n_matrix;
  tsr_matrix_shape matrix[TSR_MAX_MATRIX];
  /* rates for the cost model; 0 = not measured */
  double peak_flops_f32, peak_flops_matrix, bytes_per_s, launch_ns;
} tsr_caps;

/* No pointer of a process has a higher bit, whatever the pages (host_addresses). */
enum { CAPS_HOST_ADDRESS_BITS = 57 };

/* Index of the first enabled shape for these types (c may be TSR_DTYPE_NONE = any), -1 if none. */
static inline int caps_find_matrix(const tsr_caps *c, tsr_dtype a, tsr_dtype b, tsr_dtype acc) {
  for (int i = 0; i < c->n_matrix; i++)
    if (c->matrix[i].enabled && c->matrix[i].a == a && c->matrix[i].b == b && (!acc || c->matrix[i].c == acc)) return i;
  return -1;
}
#endif
