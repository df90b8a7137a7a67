/* tests/fake/fake_blaslt.c - cuBLASLt and hipBLASLt (FAKE_HIP) for machines without a GPU: products are computed on the
 * host, in column-major order with the layouts, transposes and strides that it is told, and take 20 microseconds of the
 * fake driver's clock. What the real libraries have no algorithm for has none here: other combinations of types than
 * documented, 8-bit operands that aren't transposed and plain, sizes that don't fit. Sources: the tables of
 * cublasLtMatmul and hipblasLtMatmul and the enumerations in the vendors' API references; an own transcription. */
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#ifdef FAKE_HIP
#define CALL(name) hipblasLt##name
#define DRIVER "TSR_LIBHIP"
enum {
  F32 = 2,
  F64 = 7,
  TF32 = 6,
  I32 = 9,
  PLAIN = 111,
  TRANSPOSED = 112,
  TRANS_A = 0,
  TRANS_B = 1,
  FAST_SUMS = 99,
  BATCH = 0,
  STRIDE = 1
};
typedef struct algo { unsigned char data[16]; size_t most_workspace; } algo;
#else
#define CALL(name) cublasLt##name
#define DRIVER "TSR_LIBCUDA"
enum {
  F32 = 68,
  F64 = 70,
  TF32 = 77,
  I32 = 72,
  PLAIN = 0,
  TRANSPOSED = 1,
  TRANS_A = 3,
  TRANS_B = 4,
  FAST_SUMS = 25,
  BATCH = 5,
  STRIDE = 6
};
typedef struct algo { unsigned char data[64]; } algo;
#endif
enum {
  T_F32 = 0,
  T_F64 = 1,
  T_F16 = 2,
  T_I8 = 3,
  T_I32 = 10,
  T_BF16 = 14,
  T_E4M3 = 28,
  T_E5M2 = 29,
  T_E4M3_FNUZ = 1000,
  T_E5M2_FNUZ = 1001
};
enum { INVALID = 7, UNSUPPORTED = 15, MAX_WORKSPACE = 1 };

typedef struct desc { int compute, scale, transpose_a, transpose_b; int8_t fast_sums; } desc;
typedef struct layout { int type; uint64_t rows, cols; int64_t ld, stride; int32_t batch; } layout;
typedef struct preference { size_t workspace; } preference;
typedef struct heuristic { algo a; size_t workspace; int state; float waves; int reserved[4]; } heuristic;

/* What a test sees and sets. */
typedef struct fake_blaslt_state {
  int live, fail_call, no_algorithm,
      fnuz_only; /* live: handles; fail_call: the how manieth call from now fails, 0 = none */
  int compute, scale, fast_sums, transpose_a, transpose_b, type_a, type_c; /* of the last product */
  size_t workspace;
  long products;
} fake_blaslt_state;
EXPORT fake_blaslt_state fake_blaslt;

static int step(void) { return fake_blaslt.fail_call && !--fake_blaslt.fail_call ? 14 : 0; }
#define STEP() \
  do { \
    int code_ = step(); \
    if (code_) return code_; \
  } while (0)

static void *driver_call(const char *name) {
  void *lib = dlopen(getenv(DRIVER), RTLD_NOW | RTLD_NOLOAD);
  return lib ? dlsym(lib, name) : NULL;
}

static int make(void **out, size_t bytes) {
  STEP();
  *out = calloc(1, bytes);
  fake_blaslt.live++;
  return 0;
}
static int drop(void *p) {
  fake_blaslt.live--;
  free(p);
  return 0;
}

EXPORT int CALL(Create)(void **h) { return make(h, 1); }
EXPORT int CALL(MatmulDescCreate)(void **out, int compute, int scale) {
  int code = make(out, sizeof(desc));
  if (!code) *(desc *)*out = (desc){.compute = compute, .scale = scale, .transpose_a = PLAIN, .transpose_b = PLAIN};
  return code;
}
EXPORT int CALL(MatmulDescSetAttribute)(void *p, int attr, const void *value, size_t bytes) {
  desc *d = p;
  STEP();
  if (attr == FAST_SUMS && bytes == 1) return memcpy(&d->fast_sums, value, 1), 0;
  if ((attr != TRANS_A && attr != TRANS_B) || bytes != 4) return INVALID;
  memcpy(attr == TRANS_A ? &d->transpose_a : &d->transpose_b, value, 4);
  return 0;
}
EXPORT int CALL(MatmulDescDestroy)(void *p) { return drop(p); }
EXPORT int CALL(MatrixLayoutCreate)(void **out, int type, uint64_t rows, uint64_t cols, int64_t ld) {
  if (!rows || !cols || ld < (int64_t)rows) return INVALID;
  int code = make(out, sizeof(layout));
  if (!code) *(layout *)*out = (layout){.type = type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
  return code;
}
EXPORT int CALL(MatrixLayoutSetAttribute)(void *p, int attr, const void *value, size_t bytes) {
  layout *l = p;
  STEP();
  if (attr == BATCH && bytes == 4) memcpy(&l->batch, value, 4);
  else if (attr == STRIDE && bytes == 8) memcpy(&l->stride, value, 8);
  else return INVALID;
  return 0;
}
EXPORT int CALL(MatrixLayoutDestroy)(void *p) { return drop(p); }
EXPORT int CALL(MatmulPreferenceCreate)(void **out) { return make(out, sizeof(preference)); }
EXPORT int CALL(MatmulPreferenceSetAttribute)(void *p, int attr, const void *value, size_t bytes) {
  STEP();
  if (attr != MAX_WORKSPACE || bytes != sizeof(size_t)) return INVALID;
  memcpy(&((preference *)p)->workspace, value, bytes);
  return 0;
}
EXPORT int CALL(MatmulPreferenceDestroy)(void *p) { return drop(p); }

static int is_f8(int t) { return t == T_E4M3 || t == T_E5M2 || t == T_E4M3_FNUZ || t == T_E5M2_FNUZ; }

static int types_fit(const desc *d, const layout *a, const layout *b, const layout *c) {
  if (a->type != b->type) return 0;
  if (is_f8(a->type))
    return d->compute == F32 && d->scale == T_F32 && c->type == T_BF16 && (a->type >= 1000) == !!fake_blaslt.fnuz_only;
  switch (a->type) {
  case T_F32: return (d->compute == F32 || d->compute == TF32) && d->scale == T_F32 && c->type == T_F32;
  case T_F16: case T_BF16: return d->compute == F32 && d->scale == T_F32 && (c->type == a->type || c->type == T_F32);
  case T_F64: return d->compute == F64 && d->scale == T_F64 && c->type == T_F64;
  case T_I8: return d->compute == I32 && d->scale == T_I32 && c->type == T_I32;
  default: return 0;
  }
}

/* op(A) m x k, op(B) k x n, C m x n. */
static int sizes_fit(const desc *d, const layout *a, const layout *b, const layout *c) {
  uint64_t m = d->transpose_a == TRANSPOSED ? a->cols : a->rows, k = d->transpose_a == TRANSPOSED ? a->rows : a->cols,
           kb = d->transpose_b == TRANSPOSED ? b->cols : b->rows, n = d->transpose_b == TRANSPOSED ? b->rows : b->cols;
  int narrow = a->type == T_I8 || is_f8(a->type);
  return m == c->rows && n == c->cols && k == kb && a->batch == c->batch && b->batch == c->batch &&
         (!narrow || (d->transpose_a == TRANSPOSED && d->transpose_b == PLAIN)) &&
         (c->batch == 1 || (a->stride && b->stride && c->stride));
}

EXPORT int CALL(MatmulAlgoGetHeuristic)(void *h, void *d, void *a, void *b, void *c, void *c2, void *p, int n,
                                        void *out, int *found) {
  STEP();
  *found = 0;
  if (fake_blaslt.no_algorithm || !types_fit(d, a, b, c) || !sizes_fit(d, a, b, c))
    return fake_blaslt.no_algorithm ? 0 : UNSUPPORTED;
  heuristic r = {.workspace = ((preference *)p)->workspace};
  memcpy(r.a.data, "algorithm", 10);
  if (n != 1) return INVALID;
  memcpy(out, &r, sizeof r);
  *found = 1;
  return 0;
}

static double small_float(unsigned bits, int exponent_bits, int mantissa_bits, int bias) {
  int e = (int)(bits >> mantissa_bits) & ((1 << exponent_bits) - 1), m = (int)bits & ((1 << mantissa_bits) - 1);
  double v = e ? ldexp(1 + ldexp(m, -mantissa_bits), e - bias) : ldexp(m, 1 - bias - mantissa_bits);
  return bits >> (exponent_bits + mantissa_bits) & 1 ? -v : v;
}

static double load(int type, const void *p, int64_t i) {
  uint32_t u;
  float f;
  switch (type) {
  case T_F32: return ((const float *)p)[i];
  case T_F64: return ((const double *)p)[i];
  case T_F16: return small_float(((const uint16_t *)p)[i], 5, 10, 15);
  case T_BF16: u = (uint32_t)((const uint16_t *)p)[i] << 16; memcpy(&f, &u, 4); return f;
  case T_I8: return ((const int8_t *)p)[i];
  case T_E4M3: return small_float(((const uint8_t *)p)[i], 4, 3, 7);
  case T_E4M3_FNUZ: return small_float(((const uint8_t *)p)[i], 4, 3, 8);
  case T_E5M2: return small_float(((const uint8_t *)p)[i], 5, 2, 15);
  default: return small_float(((const uint8_t *)p)[i], 5, 2, 16);
  }
}

/* bf16 and f16 by cutting: half a step more than rounding may be off. */
static void store(int type, void *p, int64_t i, double v) {
  float f = (float)v;
  uint32_t u;
  memcpy(&u, &f, 4);
  if (type == T_F32) ((float *)p)[i] = f;
  else if (type == T_F64) ((double *)p)[i] = v;
  else if (type == T_I32) ((int32_t *)p)[i] = (int32_t)v;
  else if (type == T_BF16) ((uint16_t *)p)[i] = (uint16_t)(u >> 16);
  else
    ((uint16_t *)p)[i] =
        (uint16_t)((u >> 16 & 0x8000) | (fabs(v) < 6.2e-5 ? 0 : (u >> 13 & 0x3ff) | ((u >> 23 & 0xff) - 112) << 10));
}

EXPORT int CALL(Matmul)(void *h, void *dp, const void *alpha, const void *ap, void *alp, const void *bp, void *blp,
                        const void *beta, const void *cp, void *clp, void *out, void *dlp, const void *found,
                        void *workspace, size_t bytes, void *stream) {
  const desc *d = dp;
  const layout *a = alp, *b = blp, *c = dlp;
  STEP();
  size_t (*bytes_at)(const void *) = NULL;
  void (*tick)(double) = NULL;
  *(void **)&bytes_at = driver_call("fake_bytes_at");
  *(void **)&tick = driver_call("fake_tick");
  if (memcmp(found, "algorithm", 10) || !types_fit(d, a, b, c) || !sizes_fit(d, a, b, c) || !bytes_at ||
      bytes_at(workspace) < bytes || bytes < ((const heuristic *)found)->workspace)
    return INVALID;
  double one = d->scale == T_I32   ? *(const int32_t *)alpha
               : d->scale == T_F64 ? *(const double *)alpha
                                   : *(const float *)alpha;
  double zero = d->scale == T_I32   ? *(const int32_t *)beta
                : d->scale == T_F64 ? *(const double *)beta
                                    : *(const float *)beta;
  int64_t m = (int64_t)c->rows, n = (int64_t)c->cols, k = (int64_t)(d->transpose_a == TRANSPOSED ? a->rows : a->cols);
  if (zero != 0) return UNSUPPORTED;
  for (int64_t z = 0; z < c->batch; z++)
    for (int64_t x = 0; x < n; x++)
      for (int64_t y = 0; y < m; y++) {
        double sum = 0;
        for (int64_t i = 0; i < k; i++)
          sum += load(a->type, ap, z * a->stride + (d->transpose_a == TRANSPOSED ? y * a->ld + i : i * a->ld + y)) *
                 load(b->type, bp, z * b->stride + (d->transpose_b == TRANSPOSED ? i * b->ld + x : x * b->ld + i));
        store(c->type, out, z * c->stride + x * c->ld + y, one * sum);
      }
  tick(20);
  fake_blaslt.compute = d->compute, fake_blaslt.scale = d->scale, fake_blaslt.fast_sums = d->fast_sums,
  fake_blaslt.transpose_a = d->transpose_a, fake_blaslt.transpose_b = d->transpose_b;
  fake_blaslt.type_a = a->type, fake_blaslt.type_c = c->type, fake_blaslt.workspace = bytes;
  fake_blaslt.products++;
  return 0;
}
