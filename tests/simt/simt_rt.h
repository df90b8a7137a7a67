/* tests/simt/simt_rt.h - the calls that emulated kernels make into the runtime; the plain C side of prelude.h. Every
 * call acts for the thread (fiber) that makes it. Calls marked "warp" are collective: all live lanes of the warp must
 * make the same call at the same line, else the launch is reported as divergent. Pointers into shared memory are the
 * block's own unless said. */
#ifndef TSR_SIMT_RT_H
#define TSR_SIMT_RT_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* kernels are loaded at run time and find these in the program */

/* Element types; the values are those of tsr_dtype, with the FNUZ types and unsigned i32 added. */
enum emu_type {
  EMU_F64 = 1, EMU_F32, EMU_TF32, EMU_F16, EMU_BF16, EMU_E4M3, EMU_E5M2, EMU_I64, EMU_I32, EMU_I16, EMU_I8, EMU_U8,
  EMU_BOOL, EMU_E4M3_FNUZ, EMU_E5M2_FNUZ
};

/* A TMA descriptor as the emulator makes it from a be_tensor_map; kernels only pass its address. */
typedef struct emu_tensor_map {
  unsigned char *base;
  int64_t dims[5], strides[5]; /* innermost first; strides in bytes, [0] is the element's size */
  int32_t rank, swizzle;       /* swizzle in bytes: 0, 32, 64, 128 */
  int16_t box[5], elem_bytes;
} __attribute__((aligned(64))) emu_tensor_map;

enum emu_axis { EMU_THREAD, EMU_BLOCK, EMU_BLOCK_DIM, EMU_GRID_DIM };
int emu_index(int what, int axis);
int emu_lane(void), emu_warp(void), emu_warp_size(void), emu_cluster_rank(void);
void *emu_shared(void);
enum emu_space { EMU_ANY_SPACE, EMU_GLOBAL, EMU_SHARED };
enum emu_access_kind { EMU_READ, EMU_WRITE };
/* An access of `bytes` at an address that must be a multiple of `align` in `space`. */
void emu_access(const void *p, int bytes, int align, int kind, int space, int line);

/* bits of a narrow float to f32 and back, to nearest even */
float emu_widen(uint32_t bits, int type);
uint32_t emu_narrow(float x, int type);

/* barriers and warp exchange */
void emu_barrier(int line);
void emu_warp_barrier(int line);                      /* warp */
void emu_named_barrier(int id, int threads, int arrive_only, int line);
enum emu_shuffle_mode { EMU_XOR, EMU_INDEX, EMU_UP, EMU_DOWN };
uint64_t emu_shuffle(uint64_t bits, int mode, int arg, int width, int line); /* warp */
uint64_t emu_ballot(int predicate, int line);         /* warp */
int emu_elect(int line);                              /* warp */

/* Ampere */
void emu_cp_async(void *shared, const void *global, int bytes, int valid, int line);
void emu_cp_commit(int line), emu_cp_wait(int pending, int line);
void emu_ldmatrix(uint32_t *out, const void *row, int count, int transpose, int line);   /* warp */
void emu_stmatrix(const uint32_t *in, void *row, int count, int transpose, int line);    /* warp */
typedef struct emu_mma_desc { int m, n, k, a, b, c; } emu_mma_desc; /* shape and element types */
/* PTX fragment registers: a and b packed in 32-bit registers, c and d likewise (f32, i32, or two f16; f64 takes two).
 */
void emu_mma(const emu_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line); /* warp */

/* Hopper */
void emu_mbar_init(void *bar, int count, int line), emu_mbar_expect(void *bar, int bytes, int line);
void emu_mbar_arrive(void *bar, int count, int rank, int line); /* rank -1 = this block */
void emu_mbar_wait(void *bar, int parity, int line);
int emu_mbar_test(void *bar, int parity, int line);
void emu_tma_load(const emu_tensor_map *m, void *shared, void *bar, const int *coords, int rank, int multicast,
                  int line);
void emu_tma_store(const emu_tensor_map *m, const void *shared, const int *coords, int rank, int line);
void emu_tma_commit(int line), emu_tma_wait(int pending, int read_only, int line);
enum emu_fence { EMU_FENCE_ASYNC_PROXY, EMU_FENCE_MBARRIER_INIT, EMU_FENCE_CLUSTER, EMU_FENCE_BLOCK };
void emu_fence(int kind, int line);
typedef struct emu_wgmma_operand {
  const void *at;      /* start of the tile in shared memory */
  int lbo, sbo;        /* leading and stride byte offsets of the matrix descriptor */
  int swizzle, transpose; /* bytes; transpose 1 = MN-major */
} emu_wgmma_operand;
typedef struct emu_wgmma_desc { int n, k, a, b, c; } emu_wgmma_desc;
/* Accumulates into the thread's registers; a_regs instead of a->at where a comes from registers. Warpgroup-collective,
 * asynchronous until the wait. */
void emu_wgmma(const emu_wgmma_desc *d, void *acc, const emu_wgmma_operand *a, const uint32_t *a_regs,
               const emu_wgmma_operand *b, int line);
void emu_wgmma_fence(int line), emu_wgmma_commit(int line), emu_wgmma_wait(int pending, int line);
void emu_setmaxnreg(int registers, int increase, int line);
void emu_cluster_sync(int line), emu_cluster_arrive(int line),
    emu_cluster_wait(int line); /* a cluster_sync is both halves */
void emu_cluster_store(void *shared, int rank, const void *v, int bytes,
                       int line); /* to block `rank`'s copy of the address */

/* AMD */
void emu_mfma(const emu_mma_desc *d, const void *a, const void *b, const void *c, void *out, int line); /* wave of 64 */
enum emu_wmma_gen { EMU_GFX11, EMU_GFX12 };
void emu_wmma(const emu_mma_desc *d, int gen, const void *a, const void *b, const void *c, void *out,
              int line);                                                                 /* wave of 32 */
void emu_lds_load(void *shared_wave_base, const void *global, int bytes, int line);      /* warp */
void emu_waitcnt(int vmcnt, int lgkmcnt, int line);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
