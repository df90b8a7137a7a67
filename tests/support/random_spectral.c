/* tests/support/random_spectral.c - random graphs of Fourier transforms. */
#include "core/base/dtype.h"
#include "tests/support/random_build.h"

static tsr_attr norm(rng *r) {
  static const char *const norms[] = {"backward", "forward", "ortho"};
  return (tsr_attr)TSR_STRING("norm", norms[rng_range(r, 0, 2)]);
}

static const tsr_dtype types[] = {TSR_F32, TSR_F32, TSR_F64, TSR_F16};

static void cosines(build *b) {
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 2000);
  const int axis = (int)rng_range(b->r, 0, s.rank - 1);
  s.dims[axis] += s.dims[axis] == 0;
  const tsr_value x = input(b, types[rng_range(b->r, 0, 3)], s);
  const tsr_attr a[3] = {TSR_INT("axis", axis), TSR_INT("type", rng_range(b->r, 2, 3)), norm(b->r)};
  output(b, op(b, "dct", 1, &x, 3, a));
}

/* Frames of a signal, and back now and then: also such as leave gaps. */
static void frames(build *b) {
  const tsr_dtype t = types[rng_range(b->r, 0, 3)];
  const int64_t size = rng_range(b->r, 1, 20), hop = rng_range(b->r, 1, 12), n = rng_range(b->r, 1, 12);
  const tsr_shape signal = {2, {rng_range(b->r, 1, 3), size + (n - 1) * hop + rng_range(b->r, 0, hop - 1)}};
  tsr_value v[2] = {input(b, t, signal)};
  const int operands = (int)rng_range(b->r, 1, 2);
  if (operands == 2) v[1] = input(b, t, (tsr_shape){1, {size}});
  const tsr_attr a[2] = {TSR_INT("hop", hop), TSR_INT("size", size)};
  v[0] = op(b, "stft", operands, v, 2, a);
  /* Without a window: where those of random numbers nearly cancel, nothing is left of the signal. */
  output(b, rng_range(b->r, 0, 1) ? op(b, "istft", 1, v, 2, a) : v[0]);
}

/* Few or all modes, 1 to 3 axes. */
static void spectral_products(build *b) {
  const tsr_dtype t = types[rng_range(b->r, 0, 3)];
  const int n = (int)rng_range(b->r, 1, 3);
  tsr_shape x = {.rank = n + 2, .dims = {rng_range(b->r, 1, 3), rng_range(b->r, 1, 5)}},
            w = {.rank = n + 2, .dims = {x.dims[1], rng_range(b->r, 1, 5)}};
  for (int i = 0; i < n; i++) {
    x.dims[i + 2] = rng_range(b->r, 1, n > 2 ? 6 : 17);
    w.dims[i + 2] = rng_range(b->r, 1, i < n - 1 ? x.dims[i + 2] : x.dims[i + 2] / 2 + 1);
  }
  const tsr_value v[2] = {input(b, t, x), input(b, dtype_complex(t), w)};
  output(b, op(b, "spectral_conv", 2, v, 0, NULL));
}

/* Spectra of real or complex numbers, filtered now and then and brought back. */
void random_spectral(build *b) {
  const int64_t kind = rng_range(b->r, 0, 6);
  if (kind == 0) return cosines(b);
  if (kind == 1) return frames(b);
  if (kind == 2) return spectral_products(b);
  const bool real = rng_range(b->r, 0, 1), back = rng_range(b->r, 0, 1);
  const tsr_dtype t = types[rng_range(b->r, 0, 3)], c = dtype_complex(t);
  tsr_shape s = random_shape(b->r, (int)rng_range(b->r, 1, 3), 4000);
  int64_t axes[3] = {-1};
  int n = (int)rng_range(b->r, 1, s.rank);
  if (rng_range(b->r, 0, 3) == 0) s = (tsr_shape){1, {rng_range(b->r, 1, 3000)}}, n = 1; /* several passes */
  for (int i = 0; i < n; i++) axes[i] = (s.rank - 1 + i) % s.rank; /* the last one first */
  for (int i = 0; i < s.rank; i++) s.dims[i] += s.dims[i] == 0;
  const int last = (int)axes[n - 1];
  const tsr_attr a[2] = {TSR_INTS("axes", axes, n), norm(b->r)};
  tsr_value y = op(b, real ? "rfft" : "fft", 1, (tsr_value[]){input(b, real ? t : c, s)}, 2, a);
  if (rng_range(b->r, 0, 1)) y = op2(b, "pointwise_mul", y, input(b, c, narrower(b->r, shape_of(b, y))));
  const tsr_attr to[3] = {TSR_INTS("axes", axes, n), norm(b->r), TSR_INT("n", s.dims[last])};
  output(b, back ? op(b, real ? "irfft" : "ifft", 1, &y, 2 + real, to) : y);
}
