/* tests/simt/simt_rt.h - the calls that emulated kernels make into the runtime; the plain C side of prelude.h. Every call acts
 * for the thread (fiber) that makes it. Calls marked "warp" are collective: all live lanes of the warp must make the same call
 * at the same line, else the launch is reported as divergent. Pointers into shared memory are the block's own unless said. */
#ifndef TSR_SIMT_RT_H
#define TSR_SIMT_RT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* kernels are loaded at run time and find these in the program */

/* Element types; the values are those of tsr_dtype, with the FNUZ types and unsigned i32 added. */
enum simt_type {
  SIMT_F64 = 1, SIMT_F32, SIMT_TF32, SIMT_F16, SIMT_BF16, SIMT_E4M3, SIMT_E5M2, SIMT_I64, SIMT_I32, SIMT_I16, SIMT_I8, SIMT_U8,
  SIMT_BOOL, SIMT_E4M3_FNUZ, SIMT_E5M2_FNUZ
};

/* A TMA descriptor as the emulator makes it from a be_tensor_map; kernels only pass its address. */
typedef struct simt_tensor_map {
  unsigned char *base;
  int64_t dims[5], strides[5]; /* innermost first; strides in bytes, [0] is the element's size */
  int32_t rank, swizzle;       /* swizzle in bytes: 0, 32, 64, 128 */
  int16_t box[5], elem_bytes;
} __attribute__((aligned(64))) simt_tensor_map;

enum simt_axis { SIMT_THREAD, SIMT_BLOCK, SIMT_BLOCK_DIM, SIMT_GRID_DIM };
int simt_index(int what, int axis);
int simt_lane(void), simt_warp(void), simt_warp_size(void), simt_cluster_rank(void);
void *simt_shared(void);
enum simt_space { SIMT_ANY_SPACE, SIMT_GLOBAL, SIMT_SHARED };
enum simt_access_kind { SIMT_READ, SIMT_WRITE };
/* An access of `bytes` at an address that must be a multiple of `align` in `space`. */
void simt_access(const void *p, int bytes, int align, int kind, int space, int line);

/* bits of a narrow float to f32 and back, to nearest even */
float simt_widen(uint32_t bits, int type);
uint32_t simt_narrow(float x, int type);

/* barriers and warp exchange */
void simt_barrier(int line);
void simt_warp_barrier(int line);                      /* warp */
void simt_named_barrier(int id, int threads, int arrive_only, int line);
enum simt_shuffle_mode { SIMT_XOR, SIMT_INDEX, SIMT_UP, SIMT_DOWN };
uint64_t simt_shuffle(uint64_t bits, int mode, int arg, int width, int line); /* warp */
uint64_t simt_ballot(int predicate, int line);         /* warp */
int simt_elect(int line);                              /* warp */

/* Ampere */
void simt_cp_async(void *shared, const void *global, int bytes, int valid, int line);
void simt_cp_commit(int line), simt_cp_wait(int pending, int line);
void simt_ldmatrix(uint32_t *out, const void *row, int count, int transpose, int line);   /* warp */
void simt_stmatrix(const uint32_t *in, void *row, int count, int transpose, int line);    /* warp */
typedef struct simt_mma_desc { int m, n, k, a, b, c; } simt_mma_desc; /* shape and element types */
/* PTX fragment registers: a and b packed in 32-bit registers, c and d likewise (f32, i32, or two f16; f64 takes two). */
void simt_mma(const simt_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line); /* warp */

/* Hopper */
void simt_mbar_init(void *bar, int count, int line), simt_mbar_expect(void *bar, int bytes, int line);
void simt_mbar_arrive(void *bar, int count, int rank, int line); /* rank -1 = this block */
void simt_mbar_wait(void *bar, int parity, int line);
int simt_mbar_test(void *bar, int parity, int line);
void simt_tma_load(const simt_tensor_map *m, void *shared, void *bar, const int *coords, int rank, int multicast, int line);
void simt_tma_store(const simt_tensor_map *m, const void *shared, const int *coords, int rank, int line);
void simt_tma_commit(int line), simt_tma_wait(int pending, int read_only, int line);
enum simt_fence { SIMT_FENCE_ASYNC_PROXY, SIMT_FENCE_MBARRIER_INIT, SIMT_FENCE_CLUSTER, SIMT_FENCE_BLOCK };
void simt_fence(int kind, int line);
typedef struct simt_wgmma_operand {
  const void *at;      /* start of the tile in shared memory */
  int lbo, sbo;        /* leading and stride byte offsets of the matrix descriptor */
  int swizzle, transpose; /* bytes; transpose 1 = MN-major */
} simt_wgmma_operand;
typedef struct simt_wgmma_desc { int n, k, a, b, c; } simt_wgmma_desc;
/* Accumulates into the thread's registers; a_regs instead of a->at where a comes from registers. Warpgroup-collective,
 * asynchronous until the wait. */
void simt_wgmma(const simt_wgmma_desc *d, void *acc, const simt_wgmma_operand *a, const uint32_t *a_regs, const simt_wgmma_operand *b, int line);
void simt_wgmma_fence(int line), simt_wgmma_commit(int line), simt_wgmma_wait(int pending, int line);
void simt_setmaxnreg(int registers, int increase, int line);
void simt_cluster_sync(int line);

/* AMD */
void simt_mfma(const simt_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line); /* wave of 64 */
enum simt_wmma_gen { SIMT_GFX11, SIMT_GFX12 };
void simt_wmma(const simt_mma_desc *d, int gen, const void *a, const void *b, const void *c, void *out, int line); /* wave of 32 */
void simt_lds_load(void *shared_wave_base, const void *global, int bytes, int line);      /* warp */
void simt_waitcnt(int vmcnt, int lgkmcnt, int line);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
