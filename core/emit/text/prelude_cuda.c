/* core/emit/text/prelude_cuda.c - the primitives of core/emit/text/prelude.h for CUDA C++: NVRTC's built-in functions
 * and inline PTX (PTX ISA 7.0 for sm_80, 8.0 for sm_90a). */
#include "core/emit/text/prelude.h"
#include "core/emit/text/vendor.h"

static const char base[] =
    "#define FN __device__ __forceinline__\n"
    "#define KERNEL(threads) extern \"C\" __global__ void __launch_bounds__(threads, 1)\n"
    "#define SHARED_MEMORY(bytes) extern __shared__ __align__(1024) unsigned char smem[]\n"
    "#define GRID_CONSTANT __grid_constant__\n"
    "#define COPY memcpy\n"
    "template <int AXIS> FN int thread_id() { return AXIS == 0 ? threadIdx.x : AXIS == 1 ? threadIdx.y : threadIdx.z; }\n"
    "template <int AXIS> FN int block_id() { return AXIS == 0 ? blockIdx.x : AXIS == 1 ? blockIdx.y : blockIdx.z; }\n"
    "FN int linear_thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }\n"
    "FN int lane_id() { return linear_thread() & 31; }\n"
    "FN int warp_id() { return __shfl_sync(0xffffffffu, linear_thread() / 32, 0); }\n"
    "FN void barrier() { __syncthreads(); }\n"
    "FN void warp_barrier() { __syncwarp(); }\n"
    "FN unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }\n"
    "typedef uint2 u32x2;\n"
    "typedef uint4 u32x4;\n"
    "#define LD_STREAM(p) __ldcs(p)\n"
    "#define ST_STREAM(p, w) __stcs(p, w)\n";

static const char functions[] =
    "FN float fmin_nan(float a, float b) { float r; asm(\"min.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); return r; }\n"
    "FN float fmax_nan(float a, float b) { float r; asm(\"max.NaN.f32 %0, %1, %2;\" : \"=f\"(r) : \"f\"(a), \"f\"(b)); return r; }\n"
    "FN double fmin_nan(double a, double b) { return a < b || a != a ? a : b; }\n"
    "FN double fmax_nan(double a, double b) { return a > b || a != a ? a : b; }\n"
    "FN float ffma(float a, float b, float c) { return fmaf(a, b, c); }\n"
    "FN double ffma(double a, double b, double c) { return fma(a, b, c); }\n"
    "FN float fabs_(float x) { return fabsf(x); }\n"
    "FN double fabs_(double x) { return fabs(x); }\n"
    "FN float ffloor(float x) { return floorf(x); }\n"
    "FN double ffloor(double x) { return floor(x); }\n"
    "FN float frint(float x) { return rintf(x); }\n"
    "FN double frint(double x) { return rint(x); }\n"
    "FN float fsqrt(float x) { return sqrtf(x); }\n"
    "FN double fsqrt(double x) { return sqrt(x); }\n"
    "FN float frsqrt(float x) { return rsqrtf(x); }\n"
    "FN double frsqrt(double x) { return rsqrt(x); }\n"
    "FN float ffmod(float a, float b) { return fmodf(a, b); }\n"
    "FN double ffmod(double a, double b) { return fmod(a, b); }\n";

static const char f16_base[] =
    "FN unsigned short f16_bits(float x) { unsigned short r; asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(x)); return r; }\n"
    "FN float f16_value(unsigned short x) { float r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"(x)); return r; }\n";

static const char bf16_base[] =
    "FN unsigned short bf16_bits(float x) { unsigned short r; asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(r) : \"f\"(x)); return r; }\n";

static const char f8_base[] =
    "#if __CUDA_ARCH__ >= 890\n"
    "#define F8_INSTRUCTIONS\n"
    "FN unsigned e4m3_code(float x) { unsigned short r; asm(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;\" : \"=h\"(r) : \"f\"(0.0f), \"f\"(x)); return r & 0x7f; }\n"
    "FN unsigned e5m2_code(float x) { unsigned short r; asm(\"cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;\" : \"=h\"(r) : \"f\"(0.0f), \"f\"(x)); return r & 0x7f; }\n"
    "FN float f8_f16_value(unsigned x) { float r; asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(r) : \"h\"((unsigned short)x)); return r; }\n"
    "FN float e4m3_value(unsigned code) { unsigned r; asm(\"cvt.rn.f16x2.e4m3x2 %0, %1;\" : \"=r\"(r) : \"h\"((unsigned short)code)); return f8_f16_value(r & 0xffff); }\n"
    "FN float e5m2_value(unsigned code) { return f8_f16_value(code << 8); } /* the upper byte of an f16 */\n"
    "#endif\n";

#define MATH1(name, f) \
  "FN float " name "(float x) { return " f "f(x); }\nFN double " name "(double x) { return " f "(x); }\n"
static const char math[] = MATH1("fexp", "exp") MATH1("flog", "log") MATH1("ftanh", "tanh") MATH1("ferf", "erf")
    MATH1("fsin", "sin") MATH1("fcos", "cos") "FN float fpow(float a, float b) { return powf(a, b); }\n"
                                              "FN double fpow(double a, double b) { return pow(a, b); }\n";

static const char shuffle[] =
    "template <int MODE> FN unsigned shuffle_word(unsigned v, int lane, int width) {\n"
    "  if (MODE == 0) return __shfl_xor_sync(0xffffffffu, v, lane, width);\n"
    "  if (MODE == 1) return __shfl_sync(0xffffffffu, v, lane, width);\n"
    "  if (MODE == 2) return __shfl_up_sync(0xffffffffu, v, lane, width);\n"
    "  return __shfl_down_sync(0xffffffffu, v, lane, width);\n"
    "}\n";

static const char cp_async[] =
    "template <int BYTES> FN void cp_async(void *to, const void *from, int valid = BYTES) {\n"
    "  if (BYTES == 16)\n"
    "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16, %2;\" ::\"r\"(shared_address(to)), \"l\"(from), \"r\"(valid) : \"memory\");\n"
    "  else\n"
    "    asm volatile(\"cp.async.ca.shared.global [%0], [%1], %2, %3;\" ::\"r\"(shared_address(to)), \"l\"(from), \"n\"(BYTES), \"r\"(valid) : \"memory\");\n"
    "}\n"
    "FN void cp_commit() { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); }\n"
    "template <int N> FN void cp_wait() { asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(N) : \"memory\"); }\n";

static const char ldmatrix[] =
    "template <int N, bool TRANSPOSE> FN vec<int, N> ldmatrix(const void *row) {\n"
    "  vec<int, N> r;\n"
    "  unsigned a = shared_address(row);\n"
    "  if constexpr (N == 4 && !TRANSPOSE)\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(a) : \"memory\");\n"
    "  else if constexpr (N == 4)\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\" : \"=r\"(r[0]), \"=r\"(r[1]), \"=r\"(r[2]), \"=r\"(r[3]) : \"r\"(a) : \"memory\");\n"
    "  else if constexpr (N == 2 && !TRANSPOSE)\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];\" : \"=r\"(r[0]), \"=r\"(r[1]) : \"r\"(a) : \"memory\");\n"
    "  else if constexpr (N == 2)\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\" : \"=r\"(r[0]), \"=r\"(r[1]) : \"r\"(a) : \"memory\");\n"
    "  else if constexpr (!TRANSPOSE)\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : \"=r\"(r[0]) : \"r\"(a) : \"memory\");\n"
    "  else\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];\" : \"=r\"(r[0]) : \"r\"(a) : \"memory\");\n"
    "  return r;\n"
    "}\n";

static const char stmatrix[] =
    "template <bool TRANSPOSE, int N> FN void stmatrix(void *row, const vec<int, N> &r) {\n"
    "  unsigned a = shared_address(row);\n"
    "  if constexpr (N == 4 && !TRANSPOSE)\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\" ::\"r\"(a), \"r\"(r[0]), \"r\"(r[1]), \"r\"(r[2]), \"r\"(r[3]) : \"memory\");\n"
    "  else if constexpr (N == 4)\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};\" ::\"r\"(a), \"r\"(r[0]), \"r\"(r[1]), \"r\"(r[2]), \"r\"(r[3]) : \"memory\");\n"
    "  else if constexpr (N == 2 && !TRANSPOSE)\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};\" ::\"r\"(a), \"r\"(r[0]), \"r\"(r[1]) : \"memory\");\n"
    "  else if constexpr (N == 2)\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};\" ::\"r\"(a), \"r\"(r[0]), \"r\"(r[1]) : \"memory\");\n"
    "  else if constexpr (!TRANSPOSE)\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};\" ::\"r\"(a), \"r\"(r[0]) : \"memory\");\n"
    "  else\n"
    "    asm volatile(\"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};\" ::\"r\"(a), \"r\"(r[0]) : \"memory\");\n"
    "}\n";

static const char mbar[] =
    "FN void mbar_init(void *bar, int count) { asm volatile(\"mbarrier.init.shared::cta.b64 [%0], %1;\" ::\"r\"(shared_address(bar)), \"r\"(count) : \"memory\"); }\n"
    "FN void mbar_expect(void *bar, int bytes) {\n"
    "  asm volatile(\"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\" ::\"r\"(shared_address(bar)), \"r\"(bytes) : \"memory\");\n"
    "}\n"
    "FN void mbar_arrive(void *bar) { asm volatile(\"mbarrier.arrive.shared::cta.b64 _, [%0];\" ::\"r\"(shared_address(bar)) : \"memory\"); }\n"
    "FN void mbar_wait(void *bar, int parity) {\n"
    "  asm volatile(\n"
    "      \"{\\n\"\n"
    "      \".reg .pred done;\\n\"\n"
    "      \"again:\\n\"\n"
    "      \"mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\\n\"\n"
    "      \"@!done bra again;\\n\"\n"
    "      \"}\" ::\"r\"(shared_address(bar)), \"r\"(parity) : \"memory\");\n"
    "}\n"
    "FN void fence_mbarrier_init() { asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\"); }\n"
    "FN void fence_async_proxy() { asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\"); }\n"
    "FN bool elect() {\n"
    "  unsigned r;\n"
    "  asm volatile(\"{\\n.reg .pred p;\\nelect.sync _|p, 0xffffffff;\\nselp.u32 %0, 1, 0, p;\\n}\" : \"=r\"(r));\n"
    "  return r != 0;\n"
    "}\n";

static const char tma_head[] =
    "struct alignas(64) tensor_map { unsigned char opaque[128]; };\n"
    "FN void tma_commit() { asm volatile(\"cp.async.bulk.commit_group;\" ::: \"memory\"); }\n"
    "template <int N> FN void tma_wait() { asm volatile(\"cp.async.bulk.wait_group %0;\" ::\"n\"(N) : \"memory\"); }\n"
    "template <int N> FN void tma_wait_read() { asm volatile(\"cp.async.bulk.wait_group.read %0;\" ::\"n\"(N) : \"memory\"); }\n";

/* The bulk copies of one rank: coordinates are separate arguments of the instruction. */
static void put_tma(strb *b, int rank) {
  strb tuple, args, params;
  strb_init(&tuple, b->al);
  strb_init(&args, b->al);
  strb_init(&params, b->al);
  for (int i = 0; i < rank; i++) {
    strb_printf(&tuple, i ? ", %%%d" : "%%%d", i);
    strb_printf(&args, ", \"r\"(c%d)", i);
    strb_printf(&params, ", int c%d", i);
  }
  strb_printf(b, "FN void tma_load(const tensor_map *map, void *to, void *bar%s) {\n", strb_text(&params));
  strb_printf(
      b,
      "  asm volatile(\"cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes [%%%d], [%%%d, "
      "{%s}], [%%%d];\" ::%s, \"r\"(shared_address(to)), \"l\"(map), \"r\"(shared_address(bar)) : \"memory\");\n}\n",
      rank, rank, rank + 1, strb_text(&tuple), rank + 2, strb_text(&args) + 2);
  strb_printf(b, "FN void tma_load_multicast(const tensor_map *map, void *to, void *bar, unsigned short mask%s) {\n",
              strb_text(&params));
  strb_printf(b,
              "  asm "
              "volatile(\"cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
              "cluster [%%%d], [%%%d, {%s}], [%%%d], %%%d;\" ::%s, \"r\"(shared_address(to)), \"l\"(map), "
              "\"r\"(shared_address(bar)), \"h\"(mask) : \"memory\");\n}\n",
              rank, rank, rank + 1, strb_text(&tuple), rank + 2, rank + 3, strb_text(&args) + 2);
  strb_printf(b, "FN void tma_store(const tensor_map *map, const void *from%s) {\n", strb_text(&params));
  strb_printf(b,
              "  asm volatile(\"cp.async.bulk.tensor.%dd.global.shared::cta.bulk_group [%%%d, {%s}], [%%%d];\" ::%s, "
              "\"l\"(map), \"r\"(shared_address(from)) : \"memory\");\n}\n",
              rank, rank, strb_text(&tuple), rank + 1, strb_text(&args) + 2);
  strb_clear(&tuple);
  strb_clear(&args);
  strb_clear(&params);
}

/* A consumer gives a stage back to the other block by a plain arrive: its reads of the stage were those of wgmma, which
 * are complete after wgmma.wait_group, so nothing of its own has to be made visible, and `.release.cluster` would cost
 * a fence of the whole GPU in each step. */
static const char cluster[] =
    "FN void cluster_sync() { asm volatile(\"barrier.cluster.arrive.release.aligned;\\nbarrier.cluster.wait.acquire.aligned;\" ::: \"memory\"); }\n"
    "FN void cluster_arrive() { asm volatile(\"barrier.cluster.arrive.release.aligned;\" ::: \"memory\"); }\n"
    "FN void cluster_wait() { asm volatile(\"barrier.cluster.wait.acquire.aligned;\" ::: \"memory\"); }\n"
    "FN int cluster_rank() { unsigned r; asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r)); return r; }\n"
    "FN void fence_cluster() { asm volatile(\"fence.acq_rel.cluster;\" ::: \"memory\"); }\n"
    "template <class T> FN void cluster_store(void *p, int rank, T v) {\n"
    "  static_assert(sizeof(T) == 4 || sizeof(T) == 8, \"words of 4 and 8 bytes\");\n"
    "  unsigned there;\n"
    "  asm volatile(\"mapa.shared::cluster.u32 %0, %1, %2;\" : \"=r\"(there) : \"r\"(shared_address(p)), \"r\"(rank));\n"
    "  if constexpr (sizeof(T) == 4) {\n"
    "    unsigned w;\n"
    "    COPY(&w, &v, 4);\n"
    "    asm volatile(\"st.shared::cluster.u32 [%0], %1;\" ::\"r\"(there), \"r\"(w) : \"memory\");\n"
    "  } else {\n"
    "    unsigned long long w;\n"
    "    COPY(&w, &v, 8);\n"
    "    asm volatile(\"st.shared::cluster.u64 [%0], %1;\" ::\"r\"(there), \"l\"(w) : \"memory\");\n"
    "  }\n"
    "}\n"
    "FN void mbar_arrive_cluster(void *bar, int rank) {\n"
    "  asm volatile(\n"
    "      \"{\\n\"\n"
    "      \".reg .b32 there;\\n\"\n"
    "      \"mapa.shared::cluster.u32 there, %0, %1;\\n\"\n"
    "      \"mbarrier.arrive.shared::cluster.b64 _, [there];\\n\"\n"
    "      \"}\" ::\"r\"(shared_address(bar)), \"r\"(rank) : \"memory\");\n"
    "}\n";

static const char named[] =
    "template <int ID, int THREADS> FN void named_barrier_sync() { asm volatile(\"bar.sync %0, %1;\" ::\"n\"(ID), \"n\"(THREADS) : \"memory\"); }\n"
    "template <int ID, int THREADS> FN void named_barrier_arrive() { asm volatile(\"bar.arrive %0, %1;\" ::\"n\"(ID), \"n\"(THREADS) : \"memory\"); }\n";

static const char wgmma[] =
    "template <int N> FN void setmaxnreg_inc() { asm volatile(\"setmaxnreg.inc.sync.aligned.u32 %0;\" ::\"n\"(N)); }\n"
    "template <int N> FN void setmaxnreg_dec() { asm volatile(\"setmaxnreg.dec.sync.aligned.u32 %0;\" ::\"n\"(N)); }\n"
    "FN void wgmma_fence() { asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\"); }\n"
    "FN void wgmma_commit() { asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\"); }\n"
    "template <int N> FN void wgmma_wait() { asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(N) : \"memory\"); }\n"
    "/* Keeps the compiler from moving accumulators over the asynchronous instructions. */\n"
    "template <int N> FN void wgmma_pin(float (&r)[N]) {\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < N; i++) asm volatile(\"\" : \"+f\"(r[i])::\"memory\");\n"
    "}\n"
    "template <int N> FN void wgmma_pin(int (&r)[N]) {\n"
    "#pragma unroll\n"
    "  for (int i = 0; i < N; i++) asm volatile(\"\" : \"+r\"(r[i])::\"memory\");\n"
    "}\n"
    "/* The shared memory descriptor of a matrix operand (PTX ISA, \"Matrix Descriptor\"). */\n"
    "template <int SWIZZLE> FN unsigned long long wgmma_desc(const void *p, int lbo, int sbo) {\n"
    "  constexpr unsigned long long mode = SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : SWIZZLE == 32 ? 3 : 0;\n"
    "  return (unsigned long long)((shared_address(p) & 0x3ffff) >> 4) | (unsigned long long)((lbo & 0x3ffff) >> 4) << 16 |\n"
    "         (unsigned long long)((sbo & 0x3ffff) >> 4) << 32 | mode << 62;\n"
    "}\n";

void text_cuda_base(strb *b, const text_use *u) {
  unsigned f = u->features;
  strb_puts(b, base);
  text_common_memory(b);
  strb_puts(b, functions);
  if (f & TEXT_F16) strb_puts(b, f16_base);
  if (f & TEXT_BF16) strb_puts(b, bf16_base);
  if (f & TEXT_F8) strb_puts(b, f8_base);
  if (f & TEXT_MATH) strb_puts(b, math);
  if (f & TEXT_SHUFFLE) strb_puts(b, shuffle);
  if (f & TEXT_CP_ASYNC) strb_puts(b, cp_async);
  if (f & TEXT_MBAR) strb_puts(b, mbar);
  if (f & TEXT_TMA) {
    strb_puts(b, tma_head);
    for (int r = 2; r <= 5; r++)
      if (u->tma_ranks >> r & 1) put_tma(b, r);
  }
  if (f & TEXT_CLUSTER) strb_puts(b, cluster);
  if (f & TEXT_NAMED) strb_puts(b, named);
  if (f & TEXT_WGMMA) strb_puts(b, wgmma);
}

void text_cuda_typed(strb *b, const text_use *u) {
  if (u->features & TEXT_LDMATRIX) strb_puts(b, ldmatrix);
  if (u->features & TEXT_STMATRIX) strb_puts(b, stmatrix);
  text_matrix_wrappers(b, u);
}
