/* tests/simt/kernels/types.h - what the common part of emitted text defines, for the hand-written kernels here. */
#include TSR_EMULATOR
namespace tsr {
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  T v[N];
  FN T &operator[](int i) { return v[i]; }
  FN const T &operator[](int i) const { return v[i]; }
};
struct f16 { unsigned short u; };
struct bf16 { unsigned short u; };
struct f8e4m3 { unsigned char u; };
struct f8e5m2 { unsigned char u; };
struct f8e4m3fnuz { unsigned char u; };
struct f8e5m2fnuz { unsigned char u; };
} // namespace tsr
