/* core/ir/target/target.h - Target IR: a kernel for one device, as code of one thread (SIMT dialects) or as a list of
 * micro-kernel calls of one block (dialect "cpu").
 *
 *   "tessera.target.kernel"() ({
 *   ^bb0(%a: !tessera.ptr<f32, "global">, %c: !tessera.ptr<f32, "global">):
 *     %t = "tessera.target.thread_id"() {axis = 0} : () -> index
 *     %v = "tessera.target.load"(%a, %t) : (!tessera.ptr<f32, "global">, index) -> vector<4xf32>
 *     ...
 *     "tessera.target.return"() : () -> ()
 *   }) {sym_name = "add_0", dialect = "spirv", grid = [64, 1, 1], block = [128, 1, 1], subgroup = 32, shared_bytes = 0,
 *   ...}
 *
 * Values: index (32-bit unsigned-safe signed integer in SIMT dialects unless the kernel has wide_index = true;
 * 64-bit on the CPU), scalars, vector<NxT> (N = 2, 4, 8, 16), !tessera.ptr<T, "global"|"shared">,
 * !tessera.array<NxT> (a mutable register array of the thread, made by `local`), !tessera.matrix<MxNxT,
 * "a"|"b"|"acc"> (spread over a subgroup, opaque layout), !tessera.token. Addresses are (pointer, index in elements
 * of the pointer's type). Shared memory is one block of bytes per kernel; `shared` gives a typed pointer to an
 * offset in it. The printers are core/emit/spirv and core/emit/text (CUDA C++, HIP C++, host C++); a program
 * around the kernels has the same ops as in Tile IR under the target prefix. */
#ifndef CORE_IR_TARGET_TARGET_H
#define CORE_IR_TARGET_TARGET_H
#include "core/ir/ir.h"
#include "core/ir/scalar_ops.h"

typedef enum target_code {
  TG_SCALAR_FIRST = 0, /* scalar_code values come first */
  TG_PROGRAM = SC_N,
  TG_BUFFER,
  TG_CONSTANT,
  TG_ALIAS,
  TG_LAUNCH,
  TG_CUSTOM,
  TG_ROUTINE,
  TG_CONTROL,
  TG_RETURN,
  TG_KERNEL,
  TG_CONST,
  TG_THREAD_ID,
  TG_BLOCK_ID,
  TG_LANE_ID,
  TG_WARP_ID,
  TG_LOAD,
  TG_STORE,
  TG_SHARED,
  TG_PTR_CAST,
  TG_PTR_ADD,
  TG_LOCAL,
  TG_GET,
  TG_SET,
  TG_FOR,
  TG_IF,
  TG_YIELD,
  TG_BARRIER,
  TG_WARP_BARRIER,
  TG_VECTOR,
  TG_EXTRACT,
  TG_INSERT,
  TG_BITCAST,
  TG_SHUFFLE,
  TG_WARP_REDUCE,
  /* cooperative matrices */
  TG_MAT_FILL,
  TG_MAT_LOAD,
  TG_MAT_STORE,
  TG_MAT_MMA,
  TG_MAT_MAP,
  TG_MAT_CAST,
  TG_MAT_REDUCE,
  /* NVIDIA */
  TG_CP_ASYNC,
  TG_CP_COMMIT,
  TG_CP_WAIT,
  TG_LDMATRIX,
  TG_STMATRIX,
  TG_MMA,
  TG_TMA_LOAD,
  TG_TMA_STORE,
  TG_TMA_COMMIT,
  TG_TMA_WAIT,
  TG_TENSOR_MAP,
  TG_MBAR_INIT,
  TG_MBAR_EXPECT,
  TG_MBAR_ARRIVE,
  TG_MBAR_WAIT,
  TG_FENCE,
  TG_WGMMA,
  TG_WGMMA_FENCE,
  TG_WGMMA_COMMIT,
  TG_WGMMA_WAIT,
  TG_SETMAXNREG,
  TG_ELECT,
  TG_CLUSTER_SYNC,
  TG_CLUSTER_RANK,
  TG_CLUSTER_STORE,
  TG_NAMED_BARRIER,
  /* AMD */
  TG_MFMA,
  TG_WMMA,
  TG_LDS_LOAD,
  TG_WAITCNT,
  TG_SETPRIO,
  TG_SCHED_BARRIER,
  /* CPU */
  TG_SCRATCH,
  TG_CALL,
  TG_WINDOW,
  TG_VIEW,
  TG_MAP,
  TG_FETCH,
  TG_ELEMENT_INDEX
} target_code;

#endif
