/* tests/simt/kernels/bugs.cpp - one planted mistake per kernel; test_simt_bugs.c says which finding each must give. All
 * take x (8192 bytes, an input), y (1024 bytes, written) and a tensor map of x as 64x64 bf16 with a box of the whole,
 * swizzle 128. */
#include "types.h"
#define BUG(threads, name) KERNEL(threads) name(const float *x, float *y, const GRID_CONSTANT tensor_map map)
namespace tsr {
BUG(128, global_read_outside) { st_global(y + thread_id<0>(), ld_global<float>(x + 2048 - 127 + thread_id<0>())); }
BUG(128, global_write_outside) { st_global(y + 129 + thread_id<0>(), 0.0f); }
BUG(128, plain_pointer_outside) { y[thread_id<0>()] = x[thread_id<0>() * 17]; }
BUG(32, input_written) { st_global((float *)x + thread_id<0>(), 0.0f); }
BUG(32, shared_outside) {
  SHARED_MEMORY(128);
  st_shared((float *)smem + thread_id<0>() + 1, 0.0f);
}
BUG(32, vector_misaligned) { st_global(y, ld_global<vec<float, 4>>(x + thread_id<0>() + 1)); }
BUG(64, read_without_barrier) {
  SHARED_MEMORY(256);
  float *s = (float *)smem;
  st_shared(s + thread_id<0>(), 1.0f);
  st_global(y + thread_id<0>(), ld_shared<float>(s + 63 - thread_id<0>()));
}
BUG(64, write_without_barrier) {
  SHARED_MEMORY(256);
  float *s = (float *)smem;
  st_shared(s + thread_id<0>(), 1.0f);
  barrier();
  float v = ld_shared<float>(s + (thread_id<0>() + 1) % 64);
  st_shared(s + thread_id<0>(), v);
}
BUG(64, warp_barrier_instead_of_barrier) {
  SHARED_MEMORY(256);
  float *s = (float *)smem;
  st_shared(s + thread_id<0>(), 1.0f);
  warp_barrier();
  st_global(y + thread_id<0>(), ld_shared<float>(s + (thread_id<0>() + 32) % 64));
}
BUG(32, blocks_write_the_same) { st_global(y + thread_id<0>(), 1.0f); } /* launched with two blocks */
BUG(32, unwritten_shared) {
  SHARED_MEMORY(256);
  st_shared((float *)smem + thread_id<0>(), 1.0f);
  st_global(y + thread_id<0>(), ld_shared<float>((float *)smem + 32 + thread_id<0>()));
}
BUG(64, barrier_in_a_branch) {
  if (thread_id<0>() < 32) barrier();
}
BUG(64, barrier_after_exit) {
  if (thread_id<0>() == 5) return;
  barrier();
}
BUG(64, different_barriers) {
  if (thread_id<0>() < 32) {
    barrier();
  } else {
    barrier();
  }
}
BUG(32, shuffle_in_a_branch) {
  if (lane_id() < 16) st_global(y + lane_id(), (float)shuffle_word<0>(1, 1, 32));
}
BUG(32, mma_in_a_branch) {
  vec<int, 4> a = {};
  vec<int, 2> b = {};
  vec<float, 4> c = {};
  if (lane_id() < 31) c = mma<16, 8, 16, bf16, bf16>(a, b, c);
  st_global(y + lane_id(), c[0]);
}
BUG(48, shuffle_from_missing_lane) { st_global(y + thread_id<0>(), (float)shuffle_word<0>(1, 16, 32)); }
BUG(32, cp_async_without_wait) {
  SHARED_MEMORY(512);
  cp_async<16>(smem + 16 * lane_id(), x + 4 * lane_id());
  cp_commit();
  st_global(y + lane_id(), ld_shared<float>((float *)smem + 4 * lane_id()));
  cp_wait<0>();
}
BUG(32, cp_async_one_group_too_many) {
  SHARED_MEMORY(1024);
  cp_async<16>(smem + 16 * lane_id(), x + 4 * lane_id());
  cp_commit();
  cp_async<16>(smem + 512 + 16 * lane_id(), x + 4 * lane_id());
  cp_commit();
  cp_wait<1>();
  st_global(y + lane_id(), ld_shared<float>((float *)smem + 128 + 4 * lane_id()));
  cp_wait<0>();
}
BUG(32, cp_async_wait_without_barrier) {
  SHARED_MEMORY(512);
  cp_async<16>(smem + 16 * lane_id(), x + 4 * lane_id());
  cp_commit();
  cp_wait<0>();
  st_global(y + lane_id(), ld_shared<float>((float *)smem + 4 * (31 - lane_id())));
}
BUG(32, cp_async_never_waited) {
  SHARED_MEMORY(512);
  cp_async<16>(smem + 16 * lane_id(), x + 4 * lane_id());
  cp_commit();
}
BUG(32, cp_async_over_a_read) {
  SHARED_MEMORY(512);
  st_shared((float *)smem + lane_id(), 1.0f);
  warp_barrier();
  float v = ld_shared<float>((float *)smem + 31 - lane_id());
  cp_async<4>(smem + 4 * lane_id(), x + lane_id());
  cp_commit();
  cp_wait<0>();
  st_global(y + lane_id(), v);
}

/* Hopper: the 64x64 tile arrives in shared memory at 0, barriers at 8192. */
#define TILE(fence)                                                   \
  SHARED_MEMORY(8256);                                                \
  unsigned char *bar = smem + 8192;                                   \
  if (thread_id<0>() == 0) {                                          \
    mbar_init(bar, 1);                                                \
    fence;                                                            \
  }                                                                   \
  barrier();                                                          \
  if (thread_id<0>() == 0) {                                          \
    mbar_expect(bar, 8192);                                           \
    tma_load(&map, smem, bar, 0, 0);                                  \
  }
#define MULTIPLY(acc) wgmma<64, 16, bf16, bf16, 128, false, false>(acc, smem, smem, 16, 1024, 16, 1024)
BUG(128, tma_without_wait) {
  TILE(fence_mbarrier_init())
  st_global(y + thread_id<0>(), ld_shared<float>((float *)smem + thread_id<0>()));
  mbar_wait(bar, 0);
}
BUG(128, tma_waited_by_one_thread) {
  TILE(fence_mbarrier_init())
  if (thread_id<0>() == 0) mbar_wait(bar, 0);
  for (int i = 0; i < 4; i++) warp_barrier(); /* gives the copy time: only the order is missing */
  if (thread_id<0>() < 32) st_global(y + thread_id<0>(), 0.0f);
  else st_global(y + thread_id<0>(), ld_shared<float>((float *)smem + thread_id<0>()));
}
BUG(128, barrier_init_not_fenced) {
  TILE((void)0)
  mbar_wait(bar, 0);
}
BUG(128, tma_wrong_parity) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  mbar_wait(bar, 1);
}
BUG(128, tma_expects_too_little) {
  SHARED_MEMORY(8256);
  unsigned char *bar = smem + 8192;
  if (thread_id<0>() == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
    mbar_expect(bar, 4096);
    tma_load(&map, smem, bar, 0, 0);
  }
  barrier();
  mbar_wait(bar, 0);
}
BUG(128, mbarrier_too_many_arrivals) {
  SHARED_MEMORY(64);
  if (thread_id<0>() == 0) mbar_init(smem, 3);
  barrier();
  mbar_expect(smem, 16);
}
BUG(32, mbarrier_not_initialised) {
  SHARED_MEMORY(64);
  mbar_arrive(smem);
}
BUG(32, mbarrier_without_barrier) {
  SHARED_MEMORY(64);
  if (thread_id<0>() == 0) mbar_init(smem, 32);
  mbar_arrive(smem);
}
BUG(32, mbarrier_overwritten) {
  SHARED_MEMORY(64);
  if (thread_id<0>() == 0) {
    mbar_init(smem, 1);
    st_shared((float *)smem, 0.0f);
  }
}
BUG(128, wgmma_read_before_wait) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  float acc[32] = {};
  wgmma_fence();
  MULTIPLY(acc);
  wgmma_commit();
  acc[0] = acc[0] + 1;
  wgmma_wait<0>();
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(128, wgmma_waits_for_too_few) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  float acc[32] = {};
  wgmma_fence();
  MULTIPLY(acc);
  wgmma_commit();
  wgmma_wait<1>();
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(128, wgmma_without_fence) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  float acc[32] = {};
  MULTIPLY(acc);
  wgmma_commit();
  wgmma_wait<0>();
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(128, wgmma_of_stored_data) {
  SHARED_MEMORY(8192);
  for (int i = 0; i < 16; i++) st_shared((float *)smem + i * 128 + thread_id<0>(), 0.0f);
  barrier();
  float acc[32] = {};
  wgmma_fence();
  MULTIPLY(acc);
  wgmma_commit();
  wgmma_wait<0>();
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(128, wgmma_overwritten_in_flight) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  float acc[32] = {};
  wgmma_fence();
  MULTIPLY(acc);
  wgmma_commit();
  barrier();
  if (thread_id<0>() == 0) {
    mbar_expect(bar, 8192);
    tma_load(&map, smem, bar, 0, 0);
  }
  wgmma_wait<0>();
  mbar_wait(bar, 1);
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(128, wgmma_off_the_pattern) {
  TILE(fence_mbarrier_init())
  mbar_wait(bar, 0);
  float acc[32] = {};
  wgmma_fence();
  wgmma<8, 16, bf16, bf16, 128, false, false>(acc, smem, smem + 128, 16, 1024, 16, 1024);
  wgmma_commit();
  wgmma_wait<0>();
  st_global(y + thread_id<0>(), acc[0]);
}
BUG(256, ring_without_empty_barrier) {
  SHARED_MEMORY(8256);
  unsigned char *bar = smem + 8192;
  if (thread_id<0>() == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
  }
  barrier();
  if (thread_id<0>() >= 128) {
    if (thread_id<0>() == 128)
      for (int s = 0; s < 2; s++) {
        mbar_expect(bar, 8192);
        tma_load(&map, smem, bar, 0, 0);
        mbar_wait(bar, s & 1); /* of the copy, not of its readers */
      }
  } else {
    for (int s = 0; s < 2; s++) {
      mbar_wait(bar, s & 1);
      float v = ld_shared<float>((float *)smem + thread_id<0>());
      st_global(y + thread_id<0>(), v);
    }
  }
}
BUG(32, store_without_proxy_fence) {
  SHARED_MEMORY(8192);
  for (int i = lane_id(); i < 2048; i += 32) st_shared((float *)smem + i, 0.0f);
  warp_barrier();
  if (lane_id() == 0) {
    tma_store(&map, smem, 0, 0);
    tma_commit();
    tma_wait<0>();
  }
}
BUG(32, store_source_reused) {
  SHARED_MEMORY(8192);
  for (int i = lane_id(); i < 2048; i += 32) st_shared((float *)smem + i, 0.0f);
  fence_async_proxy();
  warp_barrier();
  if (lane_id() == 0) {
    tma_store(&map, smem, 0, 0);
    tma_commit();
    st_shared((float *)smem, 1.0f);
    tma_wait<0>();
  }
}
BUG(32, store_never_waited) {
  SHARED_MEMORY(8192);
  for (int i = lane_id(); i < 2048; i += 32) st_shared((float *)smem + i, 0.0f);
  fence_async_proxy();
  warp_barrier();
  if (lane_id() == 0) {
    tma_store(&map, smem, 0, 0);
    tma_commit();
  }
}
BUG(384, too_many_registers) { setmaxnreg_inc<240>(); }
/* 65536 in all, but 384 threads start with 168 each. */
BUG(384, more_registers_than_at_launch) {
  if (warp_id() < 4) setmaxnreg_dec<32>();
  else setmaxnreg_inc<240>();
}
BUG(384, register_count_not_a_multiple) { setmaxnreg_dec<100>(); }
BUG(64, named_barrier_of_odd_count) { named_barrier_sync<1, 40>(); }
BUG(64, named_barrier_missing_warp) {
  if (thread_id<0>() < 32) named_barrier_sync<1, 64>();
}
/* Clusters of two. */
BUG(32, multicast_to_exited_block) {
  SHARED_MEMORY(8256);
  unsigned char *bar = smem + 8192;
  if (lane_id() == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
  }
  cluster_sync();
  if (cluster_rank() == 1) return;
  if (lane_id() == 0) {
    mbar_expect(bar, 8192);
    tma_load_multicast(&map, smem, bar, 3, 0, 0);
  }
  mbar_wait(bar, 0);
}
BUG(32, exit_before_remote_arrival) {
  SHARED_MEMORY(64);
  if (lane_id() == 0) mbar_init(smem, 1);
  cluster_sync();
  if (cluster_rank() == 0) mbar_arrive_cluster(smem, 1);
}
BUG(32, cluster_barrier_in_a_branch) {
  if (cluster_rank() == 0) cluster_sync();
}
BUG(32, store_to_block_not_begun) {
  SHARED_MEMORY(64);
  if (lane_id() < 2) cluster_store((float *)smem + cluster_rank(), lane_id(), 1.0f);
  cluster_sync();
}
BUG(32, remote_store_without_cluster_barrier) {
  SHARED_MEMORY(64);
  cluster_sync();
  if (lane_id() < 2) cluster_store((float *)smem + cluster_rank(), lane_id(), 1.0f);
  cluster_arrive();
  st_global(y + 32 * cluster_rank() + lane_id(), ld_shared<float>((float *)smem + lane_id() % 2));
  cluster_wait();
}
BUG(32, remote_slots_used_twice) {
  SHARED_MEMORY(64);
  cluster_sync();
  float sum = 0;
  for (int round = 0; round < 2; round++) {
    if (lane_id() < 2) cluster_store((float *)smem + cluster_rank(), lane_id(), 1.0f);
    cluster_sync();
    sum += ld_shared<float>((float *)smem + lane_id() % 2);
  }
  st_global(y + 32 * cluster_rank() + lane_id(), sum);
}
BUG(32, exit_before_remote_store) {
  SHARED_MEMORY(64);
  cluster_sync();
  if (cluster_rank() == 0 && lane_id() == 0) cluster_store((float *)smem, 1, 1.0f);
}
BUG(32, cluster_wait_without_arrival) { cluster_wait(); }
/* AMD: waves of 64 (32 for wmma). */
BUG(64, lds_load_without_wait) {
  SHARED_MEMORY(256);
  lds_load<4>(smem, x + lane_id());
  barrier();
  st_global(y + lane_id(), ld_shared<float>((float *)smem + lane_id()));
  waitcnt<0, -1>();
}
BUG(64, lds_load_base_differs) {
  SHARED_MEMORY(512);
  lds_load<4>(smem + lane_id() * 4, x + lane_id());
  waitcnt<0, -1>();
}
BUG(32, wmma_halves_differ) {
  vec<bf16, 16> a = ld_global<vec<bf16, 16>>((const bf16 *)x + 16 * lane_id());
  vec<float, 8> c = {};
  c = wmma<16, 16, 16, bf16, bf16>(a, a, c);
  st_global(y + lane_id(), c[0]);
}
/* No mistake, but 32 lanes in one bank; and the padded form. */
BUG(32, conflict_32) {
  SHARED_MEMORY(4224);
  st_shared((float *)smem + 32 * lane_id(), 1.0f);
}
BUG(32, conflict_none) {
  SHARED_MEMORY(4224);
  st_shared((float *)smem + 33 * lane_id(), 1.0f);
}
BUG(32, conflict_ldmatrix) {
  SHARED_MEMORY(1024);
  for (int i = lane_id(); i < 256; i += 32) st_shared((int *)smem + i, 0);
  warp_barrier();
  vec<int, 1> r = ldmatrix<1, false>(smem + lane_id() % 8 * 128);
  st_global((int *)y + lane_id(), r[0]);
}
} // namespace tsr
