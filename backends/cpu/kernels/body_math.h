/* f32 functions on vectors. Included once per instruction set, after vec_<isa>.h. The errors are stated in kernels.h
 * and tested. Polynomials are minimax fits with float coefficients (docs/cpu-kernels.md tells how they were made). */

/* p(x) = c[0] + c[1] x + ... + c[n - 1] x^(n-1), by Horner. */
#define POLY(x, ...) v_poly((x), (const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float))
VINL vf v_poly(vf x, const float *c, const int n) {
  vf r = v_set1(c[n - 1]);
  CPUK_UNROLL
  for (int i = n - 2; i >= 0; i--) r = v_fma(r, x, v_set1(c[i]));
  return r;
}

/* e^x = 2^n e^r with |r| <= ln2 / 2. */
VINL vf v_exp(vf x) {
  x = v_min_raw(v_set1(89.0f), v_max_raw(v_set1(-104.0f), x));
  vf n = v_rint(x * 0x1.715476p0f);
  vf r = v_fnma(n, v_set1(0x1.62e4p-1f), x); /* ln2 in two parts; n times the first is exact */
  r = v_fnma(n, v_set1(0x1.7f7d1cp-20f), r);
  vf p = POLY(r, 0.5f, 0x1.55549p-3f, 0x1.5554c8p-5f, 0x1.123adp-7f, 0x1.6d7214p-10f);
  return v_scale(v_fma(r * r, p, r) + 1.0f, n);
}

/* log(2^e m) = e ln2 + log1p(m - 1), m in [sqrt 1/2, sqrt 2). */
VINL vf v_log(vf x) {
  vm tiny = v_lt(x, v_set1(0x1p-126f));
  vf y = v_sel(tiny, x * 0x1p23f, x);
  vi bits =
      (vi)((vu)y - 0x3f3504f3u); /* the bits of sqrt(1/2); those of a negative x wrap, and are replaced by NaN below */
  vf e = vi_to_float(bits >> 23) - v_sel(tiny, v_set1(23), v_set1(0));
  vf f = (vf)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  vf p = POLY(f, 0x1.555554p-2f, -0x1.000226p-2f, 0x1.99a01cp-3f, -0x1.54728ap-3f, 0x1.22d92ep-3f, -0x1.0d8242p-3f,
              0x1.055ec4p-3f, -0x1.38c9d4p-4f);
  vf f2 = f * f, low = v_fma(f2 * f, p, e * 0x1.7f7d1cp-20f);
  vf r = v_fma(e, v_set1(0x1.62e4p-1f), f + v_fnma(v_set1(0.5f), f2, low));
  r = v_sel(v_lt(x, v_set1(INFINITY)), r, x); /* inf and NaN */
  r = v_sel(v_eq(x, v_set1(0)), v_set1(-INFINITY), r);
  return v_sel(v_lt(x, v_set1(0)), v_set1(NAN), r);
}

VINL vf v_tanh(vf x) {
  vf a = v_abs(x), s = x * x;
  vf small =
      v_fma(x * s, POLY(s, -0x1.55553ep-2f, 0x1.1109bep-3f, -0x1.b89a8ap-5f, 0x1.54c0d8p-6f, -0x1.8271d4p-8f), x);
  vf big = 1.0f - 2.0f / (v_exp(a + a) + 1.0f);
  return v_copysign(v_sel(v_lt(a, v_set1(0.6f)), small, big), x); /* of -0 too */
}

/* erf x = x + x P(x^2) near 0, else 1 - e^Q(|x|) with Q = log erfc. */
VINL vf v_erf(vf x) {
  vf a = v_abs(x), s = x * x;
  vf p = POLY(s, 0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d64p-4f, -0x1.b8011ap-6f, 0x1.544a1ap-8f, -0x1.a60a2ep-11f,
              0x1.4f676p-14f);
  vf t = v_min_raw(v_set1(4.0f), a);
  vf q = POLY(t, 0x1.70d54cp-13f, -0x1.212846p0f, -0x1.444478p-1f, -0x1.bb91fep-4f, 0x1.9bb35ap-6f, -0x1.11932ap-8f,
              0x1.c84bd4p-12f, -0x1.62ecfap-16f);
  vf big = v_copysign(1.0f - v_exp(q), x);
  return v_sel(v_lt(a, v_set1(0.93f)), v_fma(x, p, x), big);
}

VINL vf v_rsqrt(vf x) { return 1.0f / v_sqrt(x); }

/* e^-|x| / (1 + e^-|x|) or 1 / (1 + e^-|x|): neither overflows, and the small side keeps its relative accuracy. */
VINL vf v_sigmoid(vf x) {
  vf e = v_exp(v_neg(v_abs(x)));
  return v_sel(v_lt(x, v_set1(0)), e, v_set1(1)) / (1.0f + e);
}
/* For a factor of what becomes 0 below: of -inf the product would be inf * 0. */
VINL vf v_finite(vf x) { return v_max_raw(v_set1(-1000.0f), x); }
VINL vf v_relu(vf x) { return v_max_raw(v_set1(0), x); }

#ifdef v_lookup32
#include "body_phi.h"
#else
/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), with Phi(-t) = e^Q(t); max(x, 0) of a negative x is -0, so that what underflows
 * stays negative. */
VINL vf v_gelu(vf x) {
  vf t = v_min_raw(v_set1(12.0f), v_abs(x));
  vf q = POLY(t, -0x1.62e43p-1f, -0x1.98846cp-1f, -0x1.45f028p-2f, -0x1.2a1684p-5f, 0x1.40e616p-8f, -0x1.90ea36p-14f,
              -0x1.0dd9b8p-13f, 0x1.c845dap-16f, -0x1.066ddcp-19f);
  return v_fnma(t, v_exp(q), v_max_raw(v_set1(-0.0f), x));
}
/* x sigmoid(2u), u = sqrt(2/pi) (x + 0.044715 x^3). */
VINL vf v_gelu_tanh(vf x) {
  vf t = v_min_raw(v_set1(12.0f), v_abs(x));
  vf u = t * v_fma(t * t, v_set1(0x1.2444f2p-4f), v_set1(0x1.988454p+0f)); /* 2u */
  vf e = v_exp(v_neg(u));
  return v_fnma(t, e / (1.0f + e), v_max_raw(v_set1(-0.0f), x));
}
#endif

#ifdef v_fma /* Cody and Waite's reduction by pi/2 in three parts needs the fused product */
#define SINCOS_LIMIT 30000.0f
/* Of |x|; the sine takes x's sign at the end, so that -0 keeps it. */
VINL vf sincos_reduced(vf x, const int shift) {
  vf a = v_abs(x), n = v_rint(a * 0x1.45f306p-1f);
  vf r = v_fnma(n, v_set1(0x1.921fb6p0f), a);
  r = v_fnma(n, v_set1(-0x1.777a5cp-25f), r);
  r = v_fnma(n, v_set1(-0x1.ee59dap-50f), r);
  vf s = r * r;
  vf sn = v_fma(r * s, POLY(s, -0x1.555556p-3f, 0x1.111176p-7f, -0x1.a05ba8p-13f, 0x1.7ccf12p-19f), r);
  vf cs =
      v_fma(s * s, POLY(s, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0ecp-16f), v_fnma(v_set1(0.5f), s, v_set1(1.0f)));
  vi q = v_to_int(n) + shift, flip = q << 30;
  vf y = v_sel(vi_eq(q & 1, vi_set1(0)), sn, cs);
  if (!shift) flip ^= (vi)x;
  return (vf)((vi)y ^ (flip & (vi)v_set1(-0.0f)));
}
#else
#define SINCOS_LIMIT -1.0f
VINL vf sincos_reduced(vf x, const int shift) {
  (void)shift;
  return x;
}
#endif
/* libm's for the lanes beyond the limit, so that a lane's bits don't depend on its neighbours. */
VINL vf v_sincos(vf x, const int shift, float (*libm)(float)) {
  vm big = vm_not(v_lt(v_abs(x), v_set1(SINCOS_LIMIT)));
  vf near = sincos_reduced(v_sel(big, v_set1(0), x), shift);
  if (!vm_any(big)) return near;
  float t[VF];
  v_store(t, x);
  for (int i = 0; i < VF; i++)
    if (!(fabsf(t[i]) < SINCOS_LIMIT)) t[i] = libm(t[i]);
  return v_sel(big, v_load(t), near);
}
VINL vf v_sin(vf x) { return v_sincos(x, 0, sinf); }
VINL vf v_cos(vf x) { return v_sincos(x, 1, cosf); }
