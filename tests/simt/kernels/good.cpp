/* tests/simt/kernels/good.cpp - hand-written kernels in the spelling of core/emit/text/text.h that do nothing wrong:
 * one of each technique. All matmuls compute C[M,N] f32 = A[M,K] B with B given as [N,K] rows unless said. */
#include "types.h"
namespace tsr {

/* y[block] = sum of 256 floats: shuffles, shared memory, a barrier. Block 128. */
KERNEL(128) block_sum(const float *x, float *y) {
  SHARED_MEMORY(64);
  float *part = (float *)smem;
  vec<float, 2> v = ld_global<vec<float, 2>>(x + block_id<0>() * 256 + 2 * thread_id<0>());
  float s = v[0] + v[1];
  for (int d = 16; d; d /= 2) {
    unsigned u, w;
    __builtin_memcpy(&u, &s, 4);
    w = shuffle_word<0>(u, d, 32);
    float o;
    __builtin_memcpy(&o, &w, 4);
    s += o;
  }
  if (lane_id() == 0) st_shared(part + warp_id(), s);
  barrier();
  if (thread_id<0>() == 0) {
    float t = 0;
    for (int i = 0; i < 4; i++) t += ld_shared<float>(part + i);
    st_global(y + block_id<0>(), t);
  }
}

/* C 64x64, K a multiple of 32, bf16, B as [K,64]: two stages of cp.async, ldmatrix (transposed for B), mma.sync. Block
 * 128. */
KERNEL(128) cp_async_mma(const bf16 *a, const bf16 *b, float *c, const int *sizes) {
  SHARED_MEMORY(19456);
  const int k_total = ld_global<int>(sizes), t = thread_id<0>(), lane = lane_id(), warp = warp_id();
  bf16 *sa[2] = {(bf16 *)smem, (bf16 *)(smem + 5120)};           /* [64][40] */
  bf16 *sb[2] = {(bf16 *)(smem + 10240), (bf16 *)(smem + 14848)}; /* [32][72] */
  float acc[2][4][4] = {};
  auto fetch = [&](int stage, int k) {
    for (int i = t; i < 256; i += 128) {
      cp_async<16>(sa[stage] + i / 4 * 40 + i % 4 * 8, a + i / 4 * k_total + k + i % 4 * 8);
      cp_async<16>(sb[stage] + i / 8 * 72 + i % 8 * 8, b + (k + i / 8) * 64 + i % 8 * 8);
    }
  };
  fetch(0, 0);
  cp_commit();
  for (int k = 0, stage = 0; k < k_total; k += 32, stage ^= 1) {
    if (k + 32 < k_total) fetch(stage ^ 1, k + 32);
    cp_commit();
    cp_wait<1>();
    barrier();
    for (int kk = 0; kk < 32; kk += 16)
      for (int i = 0; i < 2; i++) {
        vec<int, 4> fa = ldmatrix<4, false>(sa[stage] + (warp / 2 * 32 + i * 16 + lane % 16) * 40 + kk + lane / 16 * 8);
        for (int j = 0; j < 4; j++) {
          vec<int, 2> fb = ldmatrix<2, true>(sb[stage] + (kk + lane % 16) * 72 + warp % 2 * 32 + j * 8);
          vec<float, 4> d;
          for (int e = 0; e < 4; e++) d[e] = acc[i][j][e];
          d = mma<16, 8, 16, bf16, bf16>(fa, fb, d);
          for (int e = 0; e < 4; e++) acc[i][j][e] = d[e];
        }
      }
    barrier();
  }
  cp_wait<0>();
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 4; j++)
      for (int e = 0; e < 4; e += 2) {
        vec<float, 2> v = {{acc[i][j][e], acc[i][j][e + 1]}};
        st_global(c + (warp / 2 * 32 + i * 16 + lane / 4 + 4 * e) * 64 + warp % 2 * 32 + j * 8 + 2 * (lane % 4), v);
      }
}

/* C 64x64 per block, bf16: a warp that issues TMA, a warpgroup that multiplies, a stage queue of three. Block 256:
 * warpgroup 1 produces. Shared: stages of A [64][64] and B [64][64], 128-byte swizzle; C tile f32 [64][64]; barriers at
 * 65536. */
KERNEL(256)
tma_wgmma_stage_queue(const GRID_CONSTANT tensor_map ma, const GRID_CONSTANT tensor_map mb,
                      const GRID_CONSTANT tensor_map mc, const int *sizes) {
  SHARED_MEMORY(65600);
  const int steps = ld_global<int>(sizes) / 64, m0 = block_id<1>() * 64, n0 = block_id<0>() * 64;
  unsigned char *full = smem + 65536, *empty = smem + 65560;
  if (thread_id<0>() == 0) {
    for (int i = 0; i < 3; i++) {
      mbar_init(full + 8 * i, 1);
      mbar_init(empty + 8 * i, 4);
    }
    fence_mbarrier_init();
  }
  barrier();
  if (thread_id<0>() >= 128) {
    setmaxnreg_dec<40>();
    if (thread_id<0>() == 128)
      for (int s = 0, stage = 0, phase = 0; s < steps; s++) {
        mbar_wait(empty + 8 * stage, phase ^ 1);
        mbar_expect(full + 8 * stage, 16384);
        tma_load(&ma, smem + stage * 16384, full + 8 * stage, s * 64, m0);
        tma_load(&mb, smem + stage * 16384 + 8192, full + 8 * stage, s * 64, n0);
        if (++stage == 3) stage = 0, phase ^= 1;
      }
  } else {
    setmaxnreg_inc<232>();
    float acc[32];
    for (int i = 0; i < 32; i++) acc[i] = 0;
    for (int s = 0, stage = 0, phase = 0; s < steps; s++) {
      mbar_wait(full + 8 * stage, phase);
      wgmma_pin(acc);
      wgmma_fence();
      for (int kk = 0; kk < 4; kk++)
        wgmma<64, 16, bf16, bf16, 128, false, false>(acc, smem + stage * 16384 + kk * 32,
                                                     smem + stage * 16384 + 8192 + kk * 32, 16, 1024, 16, 1024);
      wgmma_commit();
      wgmma_wait<0>();
      wgmma_pin(acc);
      if (lane_id() == 0) mbar_arrive(empty + 8 * stage);
      if (++stage == 3) stage = 0, phase ^= 1;
    }
    const int t = thread_id<0>(), row = t / 32 * 16 + t % 32 / 4;
    float *tile = (float *)(smem + 49152);
    for (int j = 0; j < 8; j++)
      for (int h = 0; h < 2; h++) {
        vec<float, 2> v = {{acc[4 * j + 2 * h], acc[4 * j + 2 * h + 1]}};
        st_shared(tile + (row + 8 * h) * 64 + 8 * j + 2 * (t % 4), v); /* conflicts: rows are 64 words */
      }
    fence_async_proxy();
    named_barrier_sync<1, 128>();
    if (t == 0) {
      tma_store(&mc, tile, n0, m0);
      tma_commit();
      tma_wait<0>();
    }
  }
}

/* C 64x64, B as [K,64] (MN-major), f16, one stage of 64; A from registers for the second half of each step. Block 128.
 * */
KERNEL(128)
wgmma_mn_major(const GRID_CONSTANT tensor_map ma, const GRID_CONSTANT tensor_map mb, float *c, const int *sizes) {
  SHARED_MEMORY(16448);
  const int steps = ld_global<int>(sizes) / 64, t = thread_id<0>(), lane = lane_id(), warp = warp_id();
  unsigned char *bar = smem + 16384;
  if (t == 0) {
    mbar_init(bar, 1);
    fence_mbarrier_init();
  }
  barrier();
  float acc[32];
  for (int i = 0; i < 32; i++) acc[i] = 0;
  for (int s = 0; s < steps; s++) {
    if (t == 0) {
      mbar_expect(bar, 16384);
      tma_load(&ma, smem, bar, s * 64, 0);
      tma_load(&mb, smem + 8192, bar, 0, s * 64);
    }
    mbar_wait(bar, s & 1);
    wgmma_fence();
    for (int kk = 0; kk < 2; kk++)
      wgmma<64, 16, f16, f16, 128, false, true>(acc, smem + kk * 32, smem + 8192 + kk * 2048, 16, 1024, 8192, 1024);
    for (int kk = 2; kk < 4; kk++) {
      int row = warp * 16 + lane % 16, chunk = kk * 2 + lane / 16;
      vec<int, 4> fa = ldmatrix<4, false>(smem + row * 128 + (chunk ^ row % 8) * 16);
      wgmma_rs<64, 16, f16, f16, 128, true>(acc, fa.v, smem + 8192 + kk * 2048, 8192, 1024);
    }
    wgmma_commit();
    wgmma_wait<0>();
    barrier();
  }
  for (int j = 0; j < 8; j++)
    for (int e = 0; e < 4; e++)
      st_global(c + (warp * 16 + lane / 4 + e / 2 * 8) * 64 + 8 * j + 2 * (lane % 4) + e % 2, acc[4 * j + e]);
}

/* The sum of a row over four blocks: each sends its part to all, then adds them in order. Blocks of 64, 64 elements
 * each. */
KERNEL(64) cluster_sum(const float *x, float *y) {
  SHARED_MEMORY(272);
  float *mine = (float *)smem, *parts = (float *)(smem + 256), sum = 0;
  const int t = thread_id<0>(), rank = cluster_rank();
  cluster_arrive();
  st_shared(mine + t, ld_global<float>(x + 64 * rank + t));
  barrier();
  for (int i = 0; i < 64; i++) sum += ld_shared<float>(mine + i);
  cluster_wait();
  if (t < 4) cluster_store(parts + rank, t, sum);
  cluster_sync();
  sum = 0;
  for (int i = 0; i < 4; i++) sum += ld_shared<float>(parts + i);
  st_global(y + 64 * rank + t, sum);
}
/* C 128x64 by a cluster of two blocks along M: each loads half of B and multicasts it. Block 128, one stage. */
KERNEL(128)
cluster_multicast(const GRID_CONSTANT tensor_map ma, const GRID_CONSTANT tensor_map mb, float *c, const int *sizes) {
  SHARED_MEMORY(16448);
  const int steps = ld_global<int>(sizes) / 64, t = thread_id<0>(), lane = lane_id(), warp = warp_id(),
            rank = cluster_rank();
  unsigned char *full = smem + 16384, *empty = smem + 16392;
  if (t == 0) {
    mbar_init(full, 1);
    mbar_init(empty, 2);
    fence_mbarrier_init();
  }
  cluster_sync();
  float acc[32];
  for (int i = 0; i < 32; i++) acc[i] = 0;
  for (int s = 0; s < steps; s++) {
    if (t == 0) {
      mbar_wait(empty, (s & 1) ^ 1);
      mbar_expect(full, 16384);
      tma_load(&ma, smem, full, s * 64, rank * 64);
      tma_load_multicast(&mb, smem + 8192 + rank * 4096, full, 3, s * 64, rank * 32);
    }
    mbar_wait(full, s & 1);
    wgmma_fence();
    for (int kk = 0; kk < 4; kk++)
      wgmma<64, 16, bf16, bf16, 128, false, false>(acc, smem + kk * 32, smem + 8192 + kk * 32, 16, 1024, 16, 1024);
    wgmma_commit();
    wgmma_wait<0>();
    barrier();
    if (t < 2) mbar_arrive_cluster(empty, t);
  }
  cluster_sync(); /* nobody leaves while the other may still write to it or arrive on it */
  for (int j = 0; j < 8; j++)
    for (int e = 0; e < 4; e++)
      st_global(c + (rank * 64 + warp * 16 + lane / 4 + e / 2 * 8) * 64 + 8 * j + 2 * (lane % 4) + e % 2,
                acc[4 * j + e]);
}

/* C 32x32, K a multiple of 8, f16: one wave of 64, mfma 32x32x8 from global memory. */
KERNEL(64) mfma_32x32x8(const f16 *a, const f16 *b, float *c, const int *sizes) {
  const int k_total = ld_global<int>(sizes), l = lane_id();
  vec<float, 16> acc = {};
  for (int k = 0; k < k_total; k += 8) {
    vec<f16, 4> fa = ld_global<vec<f16, 4>>(a + l % 32 * k_total + k + l / 32 * 4),
                fb = ld_global<vec<f16, 4>>(b + l % 32 * k_total + k + l / 32 * 4);
    acc = mfma<32, 32, 8, f16, f16>(fa, fb, acc);
  }
  for (int r = 0; r < 16; r++) st_global(c + (r / 4 * 8 + l / 32 * 4 + r % 4) * 32 + l % 32, acc[r]);
}

/* C 16x16, K a multiple of 32, FNUZ e4m3 by direct-to-LDS loads, two tiles in flight. LDS: [2][A 16x32, B 16x32]. */
KERNEL(64) mfma_fnuz_lds(const f8e4m3fnuz *a, const f8e4m3fnuz *b, float *c, const int *sizes) {
  SHARED_MEMORY(2048);
  const int k_total = ld_global<int>(sizes), l = lane_id();
  vec<float, 4> acc = {};
  auto fetch = [&](int stage, int k) {
    for (int h = 0; h < 2; h++) {
      int row = h * 8 + l / 8, at = l % 8 * 4;
      lds_load<4>(smem + stage * 1024 + h * 256, a + row * k_total + k + at);
      lds_load<4>(smem + stage * 1024 + 512 + h * 256, b + row * k_total + k + at);
    }
  };
  fetch(0, 0);
  for (int k = 0, stage = 0; k < k_total; k += 32, stage ^= 1) {
    if (k + 32 < k_total) {
      fetch(stage ^ 1, k + 32);
      waitcnt<4, -1>();
    } else {
      waitcnt<0, -1>();
    }
    barrier();
    const unsigned char *tile = smem + stage * 1024;
    vec<f8e4m3fnuz, 8> fa = ld_shared<vec<f8e4m3fnuz, 8>>(tile + l % 16 * 32 + l / 16 * 8),
                       fb = ld_shared<vec<f8e4m3fnuz, 8>>(tile + 512 + l % 16 * 32 + l / 16 * 8);
    acc = mfma<16, 16, 32, f8e4m3fnuz, f8e4m3fnuz>(fa, fb, acc);
    barrier();
  }
  for (int r = 0; r < 4; r++) st_global(c + (l / 16 * 4 + r) * 16 + l % 16, acc[r]);
}

/* C 16x16, K a multiple of 16, on a wave of 32: gfx11 and gfx12 forms. */
KERNEL(32) wmma_gfx11(const bf16 *a, const bf16 *b, float *c, const int *sizes) {
  const int k_total = ld_global<int>(sizes), l = lane_id();
  vec<float, 8> acc = {};
  for (int k = 0; k < k_total; k += 16)
    acc = wmma<16, 16, 16, bf16, bf16>(ld_global<vec<bf16, 16>>(a + l % 16 * k_total + k),
                                       ld_global<vec<bf16, 16>>(b + l % 16 * k_total + k), acc);
  for (int r = 0; r < 8; r++) st_global(c + (2 * r + l / 16) * 16 + l % 16, acc[r]);
}

KERNEL(32) wmma_gfx12(const bf16 *a, const bf16 *b, float *c, const int *sizes) {
  const int k_total = ld_global<int>(sizes), l = lane_id();
  vec<float, 8> acc = {};
  for (int k = 0; k < k_total; k += 16)
    acc = wmma<16, 16, 16, bf16, bf16>(ld_global<vec<bf16, 8>>(a + l % 16 * k_total + k + l / 16 * 8),
                                       ld_global<vec<bf16, 8>>(b + l % 16 * k_total + k + l / 16 * 8), acc);
  for (int r = 0; r < 8; r++) st_global(c + (8 * (l / 16) + r) * 16 + l % 16, acc[r]);
}

/* y = x transposed, 16x16 of 16 bits, by stmatrix and back by ldmatrix. Block 32. */
KERNEL(32) transpose_matrix(const int *x, int *y) {
  SHARED_MEMORY(512);
  const int l = lane_id();
  unsigned char *row = smem + l % 16 * 32 + l / 16 * 16;
  vec<int, 4> r = ld_global<vec<int, 4>>(x + 4 * l);
  stmatrix<false>(row, r);
  warp_barrier();
  r = ldmatrix<4, true>(row);
  st_global(y + 4 * l, r);
}
} // namespace tsr
