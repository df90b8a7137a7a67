# Read by additions.sh. The worked example of CONTRIBUTING.md's "Adding a GPU dialect": Kite C++, of a vendor whose GPUs
# have blocks of 32-lane warps, 24 KB of shared memory and no matrix instructions. Seven places, all that the copy
# differs in. Nobody has such a GPU, so that its backend knows architectures and no driver; what is emitted for it is
# run twice: with its own prelude, by a compiler that is the host's C++ compiler with a header of Kite's builtins (a
# thread of the host for each of the block), and in the emulator of tests/simt, as any dialect's.
targets+=(test_simt_conformance)

change_dialect() {
  # 1. Its name.
  before core/device/caps.h '  DIALECT_HOST,' '  DIALECT_KITE,'
  # 2. Its traits.
  before core/device/dialect.c '    [DIALECT_HOST]' \
    '    [DIALECT_KITE] = {.name = "kite", .gpu = true, .has_arch_table = true,
                      .language = "Kite C++", .text_name = "Kite", .compile_with = "kitec -O3",
                      .plain_arch = "kt_1", .plain_subgroup = 32},'
  # 3. Its architectures.
  before core/device/arch.c '    {SM("sm_80"' \
    '    {.name = "kt_1", .part = "Kite One", .dialect = DIALECT_KITE, .cores = 12, .subgroup = 32, .max_warps = 16, .cores_per_processor = 1, .max_blocks = 8, .registers_per_core = 32768, .max_registers = 128, .parts = 2, .register_granule = 256, .shared = 24, .shared_per_core = 48, .shared_granule = 256, .banks = 32, .l2_mb = 2, .memory_gb = 8, .tflops_f32 = 1.5, .tflops_f16 = 1.5, .gb_s = 90, .max_block_z = 64, .launch_ns = 9000},'
  # 4. Its prelude's name.
  before core/emit/text/prelude.h '  X(CUDA, cuda)' '  X(KITE, kite) \'
  # 5. Its prelude.
  cat >"$copy/core/emit/text/prelude_kite.c" <<'EOF'
/* core/emit/text/prelude_kite.c - the primitives of core/emit/text/prelude.h for Kite C++. */
#include "core/emit/text/prelude.h"

static const char base[] =
    "#define FN __kite_function__\n"
    "#define KERNEL(threads) __kite_kernel__(threads)\n"
    "#define SHARED_MEMORY(bytes) unsigned char *const smem = __kite_shared(bytes)\n"
    "#define GRID_CONSTANT\n"
    "#define COPY __builtin_memcpy\n"
    "template <int AXIS> FN int thread_id() { return __kite_thread(AXIS); }\n"
    "template <int AXIS> FN int block_id() { return __kite_block(AXIS); }\n"
    "FN int lane_id() { return __kite_thread(0) % 32; }\n"
    "FN int warp_id() { return __kite_thread(0) / 32; }\n"
    "FN void barrier() { __kite_sync(); }\n"
    "FN void warp_barrier() { __kite_sync_warp(); }\n"
    "struct u32x2 { unsigned v[2]; };\n"
    "struct u32x4 { unsigned v[4]; };\n"
    "#define LD_STREAM(p) (*(p))\n"
    "#define ST_STREAM(p, w) (*(p) = (w))\n";

#define BOTH1(name, f) \
  "FN float " name "(float x) { return __builtin_" f "f(x); }\nFN double " name "(double x) { return __builtin_" f "(x); }\n"
#define BOTH2(name, f) \
  "FN float " name "(float a, float b) { return __builtin_" f "f(a, b); }\n" \
  "FN double " name "(double a, double b) { return __builtin_" f "(a, b); }\n"
static const char functions[] =
    "template <class F> FN F fmin_nan(F a, F b) { return a < b || a != a ? a : b; }\n"
    "template <class F> FN F fmax_nan(F a, F b) { return a > b || a != a ? a : b; }\n"
    "FN float ffma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }\n"
    "FN double ffma(double a, double b, double c) { return __builtin_fma(a, b, c); }\n"
    "template <class F> FN F frsqrt(F x) { return F(1) / F(__builtin_sqrt(x)); }\n"
    BOTH1("fabs_", "fabs") BOTH1("ffloor", "floor") BOTH1("frint", "rint") BOTH1("fsqrt", "sqrt")
    BOTH2("ffmod", "fmod");
static const char math[] = BOTH1("fexp", "exp") BOTH1("flog", "log") BOTH1("ftanh", "tanh") BOTH1("ferf", "erf")
    BOTH1("fsin", "sin") BOTH1("fcos", "cos") BOTH2("fpow", "pow");
static const char f16_base[] =
    "FN unsigned short f16_bits(float x) { return __kite_half_bits(x); }\n"
    "FN float f16_value(unsigned short x) { return __kite_half_value(x); }\n";
static const char bf16_base[] =
    "FN unsigned short bf16_bits(float x) {\n"
    "  unsigned u;\n"
    "  __builtin_memcpy(&u, &x, 4);\n"
    "  return (unsigned short)((x != x ? u | 0x400000 : u + 0x7fff + (u >> 16 & 1)) >> 16);\n"
    "}\n";
static const char shuffle[] =
    "template <int MODE> FN unsigned shuffle_word(unsigned v, int lane, int width) {\n"
    "  int me = lane_id(), first = me & ~(width - 1);\n"
    "  int from = MODE == 0 ? me ^ lane : MODE == 1 ? first + (lane & (width - 1)) : MODE == 2 ? me - lane : me + lane;\n"
    "  return __kite_of_lane(v, from < first || from >= first + width ? me : from);\n"
    "}\n";

void text_kite_base(strb *b, const text_use *u) {
  strb_puts(b, base);
  text_common_memory(b);
  strb_puts(b, functions);
  if (u->features & TEXT_MATH) strb_puts(b, math);
  if (u->features & TEXT_F16) strb_puts(b, f16_base);
  if (u->features & TEXT_BF16) strb_puts(b, bf16_base);
  if (u->features & TEXT_SHUFFLE) strb_puts(b, shuffle);
}

/* It has no matrix instructions. */
void text_kite_typed(strb *b, const text_use *u) {}
EOF
  # 6. No ops of its own. 7. Its backend.
  mkdir "$copy/backends/kite"
  cat >"$copy/backends/kite/backend.h" <<'EOF'
/* backends/kite/backend.h - Kite: architectures by name; there is no driver. */
#ifndef BACKENDS_KITE_BACKEND_H
#define BACKENDS_KITE_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable kite_backend;

#endif
EOF
  cat >"$copy/backends/kite/kite.c" <<'EOF'
/* backends/kite/kite.c - see backend.h. */
#include "backends/kite/backend.h"

#include "core/device/arch.h"

static tsr_status instance_create(const be_env *env, be_instance **out) {
  *out = NULL;
  return st_make(env->al, TSR_UNAVAILABLE, ST_WHERE("kite", "driver", NULL), "no driver of Kite is known");
}
static tsr_status arch_caps(const char *arch, tsr_caps *out) { return arch_caps_of(DIALECT_KITE, arch, out); }

const be_vtable kite_backend = {
    .abi = BE_ABI, .name = "kite", .dialect = DIALECT_KITE, .instance_create = instance_create, .arch_caps = arch_caps};
EOF
  # 8. Its line.
  before core/runtime/registry.c 'const be_vtable *const rt_backends[]' '#include "backends/kite/backend.h"
'
  before core/runtime/registry.c '    &cpu_backend,' '    &kite_backend,'

  # These are all: regions of what was there, at least 12 lines apart, and new files and folders.
  places=$(cd "$SOURCE" && for part in CMakeLists.txt cmake core backends include tools shaders scripts; do
    diff -r -U6 -x __pycache__ "$part" "$copy/$part" || true
  done | grep -cE '^(@@|Only in)')
  [ "$places" -le 8 ] || { echo "$places places know of the dialect, more than 8"; exit 1; }
  echo "$places places know of the dialect"

  # The emulator's list of devices, in the tests.
  sed -i 's/"gfx942", "gfx1100"}/"gfx942", "gfx1100", "kt_1"}/' "$copy/tests/simt/backend_emu.c"
  sed -i 's/EMU_N_DEVICES = 5/EMU_N_DEVICES = 6/' "$copy/tests/simt/backend_emu.h"
}

check_dialect() {
  if command -v python3 >/dev/null; then
    python3 tests/package/rooms.py "$copy" "$build" >log || { cat log; exit 1; }
  fi
  "$tessera" devices >log 2>&1
  grep -Eq '^kite +unavailable: .*no driver of Kite is known' log || { cat log; exit 1; }

  # Rows longer than a warp, so that warps meet in shared memory.
  cat >softmax.mlir <<'EOF'
"tessera.graph.func"() ({
^bb0(%x: tensor<5x3000xf32>, %y: tensor<5x3000xf32>):
  %0 = "tessera.graph.add"(%x, %y)
  %1 = "tessera.graph.softmax"(%0)
  "tessera.graph.return"(%1)
}) {sym_name = "main"}
EOF
  for device in kite:kt_1 null:kite; do
    "$tessera" dump softmax.mlir --device $device --level source >softmax.kite
    for text in '^// Kite C++ for kt_1; compile with kitec -O3' '^#define KERNEL(threads) __kite_kernel__(threads)$' \
      'return __kite_of_lane(v, ' '^KERNEL([0-9]*) softmax_0('; do
      grep -q -- "$text" softmax.kite || { echo "$device: the text has no '$text'"; exit 1; }
    done
    ! grep -Eq 'asm|__shfl|amdgcn' softmax.kite || { echo "$device: another dialect's primitives"; exit 1; }
  done
  "$tessera" dump softmax.mlir --device kite:kt_1 --level source >softmax.kite
  "$tessera" dump softmax.mlir --device kite:kt_1 --level target >softmax.target
  grep -q 'dialect = "kite"' softmax.target || { echo "the kernel isn't of the dialect"; exit 1; }
  cat >square.mlir <<'EOF'
"builtin.module"() ({
  "tessera.graph.func"() ({
  ^bb0(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>):
    %0 = "tessera.graph.matmul"(%a, %b)
    "tessera.graph.return"(%0)
  }) {sym_name = "main"}
})
EOF
  shared=$("$tessera" dump square.mlir --device kite:kt_1 --level target 2>>log |
    sed -n 's/.*shared_bytes = \([0-9]*\).*/\1/p')
  [ "$shared" -gt 0 ] && [ "$shared" -le 24576 ] || { echo "a product with $shared bytes of 24 KB shared memory"; exit 1; }

  CXX=${TSR_SIMT_CXX:-g++}
  command -v "$CXX" >/dev/null || { echo "no C++ compiler here: nothing was run"; exit 77; }
  cat >kite_builtins.h <<'EOF'
#include <barrier>
#include <memory>
#include <thread>
#include <vector>
struct kite_warp { std::barrier<> sync{32}; unsigned word[32]; };
struct kite_block {
  std::barrier<> sync;
  std::vector<std::unique_ptr<kite_warp>> warps;
  alignas(1024) unsigned char memory[24576];
};
static kite_block *kite_blk;
static thread_local int kite_at[3], kite_from[3];
#define __kite_function__ inline __attribute__((unused))
#define __kite_kernel__(threads) enum { kite_threads = threads }; static void
#define __restrict__
static int __kite_thread(int axis) { return kite_at[axis]; }
static int __kite_block(int axis) { return kite_from[axis]; }
static void __kite_sync() { kite_blk->sync.arrive_and_wait(); }
static kite_warp &kite_mine() { return *kite_blk->warps[kite_at[0] / 32]; }
[[maybe_unused]] static void __kite_sync_warp() { kite_mine().sync.arrive_and_wait(); }
static unsigned char *__kite_shared(int bytes) { return bytes <= 24576 ? kite_blk->memory : nullptr; }
static unsigned __kite_of_lane(unsigned v, int lane) {
  kite_warp &w = kite_mine();
  w.word[kite_at[0] % 32] = v;
  w.sync.arrive_and_wait();
  unsigned r = w.word[lane];
  w.sync.arrive_and_wait();
  return r;
}
EOF
  cat >run.cpp <<'EOF'
#include "softmax.kite"
#include <cmath>
#include <cstdio>
int main() {
  enum { ROWS = 5, N = 3000 };
  std::vector<float> x(ROWS * N), y(ROWS * N), got(ROWS * N, NAN);
  for (int i = 0; i < ROWS * N; i++) x[i] = float(i * 7919 % 2003) / 400 - 2, y[i] = float(i * 104729 % 1009) / 500;
  for (int block = 0; block < GRID; block++) {
    kite_block b{.sync = std::barrier<>(tsr::kite_threads), .warps = {}, .memory = {}};
    std::vector<std::thread> threads;
    for (int i = 0; i < tsr::kite_threads; i += 32) b.warps.push_back(std::make_unique<kite_warp>());
    kite_blk = &b;
    for (int i = 0; i < tsr::kite_threads; i++)
      threads.emplace_back([&, i] {
        kite_at[0] = i, kite_from[1] = block;
        tsr::softmax_0(x.data(), y.data(), got.data());
      });
    for (auto &t : threads) t.join();
  }
  double worst = 0;
  for (int r = 0; r < ROWS; r++) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += std::exp(double(x[r * N + i] + y[r * N + i]));
    for (int i = 0; i < N; i++) {
      double want = std::exp(double(x[r * N + i] + y[r * N + i])) / sum;
      /* exp and the quotient in f32, a sum of 3000 in a tree of f32's */
      double off = std::fabs(got[r * N + i] - want) / want;
      worst = off <= worst ? worst : off;
    }
  }
  std::printf("softmax by Kite's own prelude: %d blocks of %d threads, off by %.2g\n", GRID, int(tsr::kite_threads),
              worst);
  return !(worst < 2e-6);
}
EOF
  grid=$(sed -n 's/.*sym_name = "softmax_0", grid = \[1 : i64, \([0-9]*\) : i64, 1 .*/\1/p' softmax.target)
  "$CXX" -std=c++20 -O1 -pthread -DGRID="$grid" -include kite_builtins.h run.cpp -o run 2>log ||
    { grep -m5 -A3 error log; exit 1; }
  ./run || { echo "its own prelude computes it wrongly"; exit 1; }
  grep -q 'barrier();' softmax.kite || { echo "the kernel has one warp a block: choose longer rows"; exit 1; }

  rc=0
  TSR_TEST_DEVICE=emu:5 TSR_TEST_CASES=${CASES:-25} TSR_TEST_SEED=7 \
    "$(built test_simt_conformance)" >log 2>&1 || rc=$?
  [ $rc = 0 ] || { tail -30 log; exit 1; }
  echo "random graphs, emulated: $(tail -1 log)"
}
