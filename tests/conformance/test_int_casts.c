/* tests/conformance/test_int_casts.c - integers to floats: rounded once, to nearest even, over the whole range of every
 * integer type. Values lie at, beside and between the halfway points of every float type, where rounding twice (to a
 * double or float on the way) goes wrong. (tf32 is stored as f32 and rounded as a product's operand.) The expectation
 * is integer arithmetic. As elementwise kernels and as scalars of a Tile IR kernel. TSR_TEST_DEVICE (cpu:0). Exit 77:
 * the device is not here. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

/* The emulator's, when this is linked with it (tests/simt). */
extern const void *const conformance_backends[] __attribute__((weak));

enum { N = 4096, N_SCALARS = 256 };
static const tsr_dtype from_types[] = {TSR_I64, TSR_I32, TSR_I16, TSR_I8, TSR_U8, TSR_U64, TSR_U32, TSR_U16};
static const struct { tsr_dtype t; int bits; } to_types[] = {
    {TSR_F64, 53}, {TSR_F32, 24}, {TSR_F16, 11}, {TSR_BF16, 8}, {TSR_F8E4M3, 4}, {TSR_F8E5M2, 3}};
enum { N_FROM = sizeof from_types / sizeof *from_types, N_TO = sizeof to_types / sizeof *to_types };

/* v with `bits` bits of mantissa, to nearest, ties to even; beyond the type's largest number infinity, or that number
 * where the type has no infinity. */
static double exact(int64_t v, bool is_signed, tsr_dtype t, int bits) {
  const bool minus = is_signed && v < 0;
  uint64_t m = minus ? 0 - (uint64_t)v : (uint64_t)v;
  int top = 0, shift;
  while (top < 63 && m >> (top + 1)) top++;
  shift = top + 1 > bits ? top + 1 - bits : 0;
  uint64_t q = m >> shift, rest = m - (q << shift), half = shift ? (uint64_t)1 << (shift - 1) : 0;
  if (shift && (rest > half || (rest == half && q & 1))) q++;
  double r = ldexp((double)q, shift), max = dtype_get(t)->max;
  if (r > max) r = t == TSR_F8E4M3 ? max : INFINITY;
  return minus ? -r : r;
}

static uint64_t next(uint64_t *seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return *seed >> 32 ^ *seed << 19;
}

/* Around a halfway point of a type with `bits` bits, of any size that a 64-bit integer has. */
static uint64_t near_halfway(uint64_t *seed, int bits) {
  int shift = 1 + (int)(next(seed) % (uint64_t)(64 - bits));
  uint64_t q = (uint64_t)1 << (bits - 1) | (next(seed) & (((uint64_t)1 << (bits - 1)) - 1));
  return (q << shift) + ((uint64_t)1 << (shift - 1)) + next(seed) % 3 - 1;
}

static int64_t value(uint64_t *seed, int i, int size, bool is_signed) {
  uint64_t sign = (uint64_t)1 << (8 * size - 1), mask = sign | (sign - 1), v;
  const uint64_t edges[] = {0, 1, mask, sign, sign - 1, sign - 2, sign + 1, sign / 2, sign / 2 + 1};
  if (i < 9) v = edges[i];
  else if (i % 4 == 3) v = next(seed) >> (next(seed) % 64);
  else v = near_halfway(seed, to_types[i % N_TO].bits) >> (i % 8 ? 64 - 8 * size : 0);
  if (i >= 9 && i & 1) v = 0 - v;
  v &= mask;
  return is_signed && v & sign ? (int64_t)(v | ~mask) : (int64_t)v;
}

static void fill(tsr_dtype t, void *in, int64_t *v, int n) {
  size_t size = tsr_dtype_size(t);
  uint64_t seed = 2026;
  for (int i = 0; i < n; i++) {
    v[i] = value(&seed, i, (int)size, dtype_get(t)->is_signed);
    memcpy((char *)in + (size_t)i * size, &v[i], size); /* little endian, as all devices are */
  }
}

/* One result a type of `to`, a set of bits. */
static void put_elementwise(strb *b, const char *from, unsigned to) {
  strb_printf(b, "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<%dx%s>):\n", N, from);
  for (int k = 0; k < N_TO; k++)
    if (to >> k & 1)
      strb_printf(b, "%%r%d = \"tessera.graph.cast\"(%%a) {dtype = \"%s\"}\n", k, tsr_dtype_name(to_types[k].t));
  strb_puts(b, "\"tessera.graph.return\"(");
  for (int k = 0, n = 0; k < N_TO; k++)
    if (to >> k & 1) strb_printf(b, "%s%%r%d", n++ ? ", " : "", k);
  strb_puts(b, ")\n}) {sym_name = \"main\"}\n");
}

/* A block an element. */
static void put_scalars(strb *b, const char *from, unsigned to) {
  int n = 0;
  strb_printf(b, "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<%dx%s>", N_SCALARS, from);
  for (int k = 0; k < N_TO; k++)
    if (to >> k & 1) strb_printf(b, ", %%y%d: !tessera.view<%dx%s>", k, N_SCALARS, dtype_get(to_types[k].t)->mlir);
  strb_puts(b, "):\n%i = \"tessera.tile.block_id\"() {axis = 0}\n%x = \"tessera.tile.load_scalar\"(%a, %i)\n");
  for (int k = 0; k < N_TO; k++) {
    const char *m = dtype_get(to_types[k].t)->mlir;
    if (!(to >> k & 1)) continue;
    strb_printf(b,
                "%%r%d = \"tessera.tile.cast\"(%%x) : (%s) -> %s\n"
                "%%f%d = \"tessera.tile.splat\"(%%r%d) : (%s) -> !tessera.frag<1x%s>\n"
                "%%w%d = \"tessera.tile.window\"(%%y%d, %%i) {sizes = [1]}\n\"tessera.tile.store\"(%%f%d, %%w%d)\n",
                k, from, m, k, k, m, m, k, k, k, k);
    n++;
  }
  strb_printf(b, "\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = [%d, 1, 1], outputs = %d}\n", N_SCALARS, n);
}

typedef struct tally { int casts, unsupported, bad; } tally;

static void compare(tsr_dtype from, int k, const char *how, const int64_t *v, int n, const void *out, tally *t) {
  int wrong = 0;
  for (int i = 0; i < n; i++) {
    double want = exact(v[i], dtype_get(from)->is_signed, to_types[k].t, to_types[k].bits),
           got = dtype_load(to_types[k].t, out, (size_t)i);
    if (got == want) continue;
    if (!wrong++)
      printf("FAIL %s to %s, %s: %lld is %.17g, not %.17g\n", tsr_dtype_name(from), tsr_dtype_name(to_types[k].t), how,
             (long long)v[i], got, want);
  }
  t->casts++, t->bad += wrong > 0;
}

/* Where a type of several is more than the device can, each of them by itself. */
static void cast(tsr_device *dev, tsr_dtype from, unsigned to, bool scalars, tally *t) {
  static char in[N * 8], out[N_TO][N * 8];
  static int64_t v[N];
  const char *how = scalars ? "scalars" : "elementwise";
  int n = scalars ? N_SCALARS : N, n_out = 0;
  void *outs[N_TO];
  strb text;
  strb_init(&text, NULL);
  fill(from, in, v, n);
  for (int k = 0; k < N_TO; k++)
    if (to >> k & 1) outs[n_out++] = out[k];
  (scalars ? put_scalars : put_elementwise)(&text, dtype_get(from)->mlir, to);
  tsr_status st = device_run(dev, strb_text(&text), &(tsr_compile_options){.tune = TSR_TUNE_OFF},
                             (const void *[]){in}, outs);
  strb_clear(&text);
  bool none = tsr_status_code(st) == TSR_UNSUPPORTED;
  if (none && n_out > 1) {
    for (int k = 0; k < N_TO; k++)
      if (to >> k & 1) cast(dev, from, 1u << k, scalars, t);
  } else if (st) {
    printf("%s%s, %s: %s\n", none ? "unsupported: " : "FAIL ", tsr_dtype_name(from), how, tsr_status_message(st));
    t->unsupported += none, t->bad += !none;
  }
  for (int k = 0; k < N_TO && !st; k++)
    if (to >> k & 1) compare(from, k, how, v, n, out[k], t);
  tsr_status_free(st);
}

int main(void) {
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  tsr_context_desc desc = {.cache_dir = "", .extra_backends = conformance_backends};
  tally t = {0};
  int rc = open_for_test(&desc, &ctx, &dev, &device);
  if (rc) return rc;
  for (int scalars = 0; scalars < 2; scalars++)
    for (int f = 0; f < N_FROM; f++)
      if (!scalars || !dtype_word(from_types[f])) /* Tile IR doesn't know them */
        cast(dev, from_types[f], (1u << N_TO) - 1, scalars, &t);
  close_for_test(&ctx, &dev);
  printf("%s: %d casts, %d unsupported, %d bad\n", device, t.casts, t.unsupported, t.bad);
  return t.bad || !t.casts;
}
