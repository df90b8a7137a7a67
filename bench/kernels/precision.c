/* bench/kernels/precision.c - see precision.h. */
#include "bench/kernels/precision.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "core/ir/scalar_ops.h"

/* The elementwise ops of the list, and gelu's other formula. The sign of a zero counts but of those that choose one of
 * their operands, or whose factor vanishes. */
enum { SIGNLESS = SCALAR_EXACT | SCALAR_COMMUTES | SCALAR_OF_BOOL };
#define KIND_A 'a'
#define KIND_F 'f'
#define KIND_I 'i'
#define HAS_ZERO_SIGN(CODE, kind, traits) \
  (SC_##CODE != SC_RELU && ((traits) & SIGNLESS) != SIGNLESS && KIND_##kind != 'i')
#define OP_GRAPH(CODE, name, n, kind, traits) \
  {name, "", n, SC_##CODE == SC_HARDSWISH, HAS_ZERO_SIGN(CODE, kind, traits), KIND_##kind},
#define OP_OWN(CODE, name, n, kind, traits)
#define OP_KERNEL(CODE, name, n, kind, traits)
#define OP_PART(CODE, name, n, kind, traits)
#define OP(CODE, name, n, kind, help, level, traits, ...) OP_##level(CODE, name, n, kind, traits)
const precision_op precision_ops[] = {SCALAR_ALL(OP){"gelu", "", 1, true, true, 'f'},
                                      {"gelu", " {approximate = \"tanh\"}", 1, true, true, 'f'},
                                      {"leaky_relu", "", 1, false, true, 'f'},
                                      {"elu", "", 1, false, true, 'f'},
                                      {"celu", " {alpha = 1.5}", 1, false, true, 'f'},
                                      {"hardsigmoid", "", 1, true, true, 'f'}};
const int n_precision_ops = sizeof precision_ops / sizeof *precision_ops;

/* ---- operands ---- */

typedef struct sample { tsr_dtype t; uint64_t seed; void *x[2]; long n, grid; } sample;

static uint64_t next(sample *s) {
  s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
  return s->seed >> 33 ^ s->seed << 20;
}

static double unit(sample *s) { return (double)(next(s) & 0xffffff) / 0x1p24; }

static double least_normal(tsr_dtype t) {
  return t == TSR_F64      ? 0x1p-1022
         : t == TSR_F16    ? 0x1p-14
         : t == TSR_F8E4M3 ? 0x1p-6
         : t == TSR_F8E5M2 ? 0x1p-14
                           : 0x1p-126;
}

static int special_values(tsr_dtype t, double *v) {
  int n = 0;
  double max = dtype_get(t)->max;
  if (dtype_is_float(t)) {
    double small = least_normal(t), step = small * dtype_get(t)->eps * 2;
    const double list[] = {0,    1,     0.5,   2,   3,   10,      0.1,   88.5,        104,       1e5,  1e10,
                           3e18, 65504, 65520, 448, max, max / 2, small, small * 1.5, small / 2, step, INFINITY};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) v[n++] = list[i], v[n++] = -list[i];
    v[n++] = NAN;
    return n;
  }
  bool sign = dtype_get(t)->is_signed;
  double least = sign ? -max - 1 : 0;
  const double list[] = {0,   1,    2,     3,     7,   8,   15,      16,    31,        32, 63, 64, 127, 128, 255,
                         256, 1000, 32767, 65536, 1e9, max, max - 1, least, least + 1, -1, -2, -3, -8,  -31, -128};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (list[i] <= max && list[i] >= least && fabs(list[i]) < 0x1p53) v[n++] = list[i];
  for (int i = sign ? -8 : 0; i < 16 && dtype_packed(t); i++)
    if (i <= max) v[n++] = i; /* all that there are */
  return n;
}

static void random_value(sample *s, void *x, long i) {
  size_t e = tsr_dtype_size(s->t);
  uint64_t r = next(s);
  if (dtype_packed(s->t)) {
    dtype_store_int(s->t, x, (size_t)i, dtype_wrap(s->t, (int64_t)(r >> 7)));
  } else if (!dtype_is_float(s->t) || i % 2 == 0) {
    if (s->t == TSR_I64) r = (uint64_t)((int64_t)(r << 11) >> 11) >> (next(s) % 40); /* exact in a double */
    if (s->t == TSR_U64) r = r >> 11 >> (next(s) % 40);
    memcpy((char *)x + (size_t)i * e, &r, e);
    if (s->t == TSR_TF32) dtype_store(s->t, x, (size_t)i, dtype_load(TSR_F32, x, (size_t)i));
  } else {
    double v = i % 4 == 1 ? 20 * unit(s) - 10 : exp(28 * unit(s) - 14) * (r & 1 ? 1 : -1);
    dtype_store(s->t, x, (size_t)i, v);
  }
}

static void fill(sample *s, int n_in, const double *v, int n_special) {
  size_t e = tsr_dtype_size(s->t);
  bool all = n_in == 1 && (e == 1 || e == 2);
  for (long i = 0; i < s->grid; i++)
    for (int k = 0; k < n_in; k++) dtype_store(s->t, s->x[k], (size_t)i, v[k ? i / n_special : i % n_special]);
  for (long i = s->grid; i < s->n; i++)
    for (int k = 0; k < n_in; k++) {
      uint64_t code = (uint64_t)(i - s->grid);
      if (all) memcpy((char *)s->x[k] + (size_t)i * e, &code, e);
      else random_value(s, s->x[k], i);
    }
}

/* ---- comparison ---- */

static double ulp_of(tsr_dtype t, double v) {
  int e;
  frexp(fmax(fabs(v), least_normal(t)), &e);
  return ldexp(dtype_get(t)->eps, e); /* eps is half a unit of 1, and 1 is 0.5 * 2^1 */
}

static double rounded(tsr_dtype t, double v) {
  uint64_t raw = 0;
  dtype_store(t, &raw, 0, v);
  return dtype_load(t, &raw, 0);
}

static double slack_of(tsr_dtype t, bool flushes) { return !flushes ? 0 : t == TSR_F64 ? 0x1p-1016 : 0x1p-120; }

/* The error in units, -1 for what no bound excuses. */
static double error_of(const precision_op *op, tsr_dtype t, bool flushes, const double *x, double got, double want) {
  double w = rounded(t, want), max = dtype_get(t)->max;
  if (!dtype_is_float(t)) return got == w ? 0 : -1;
  if (isnan(w) || isnan(got)) return isnan(w) && isnan(got) ? 0 : -1;
  double slack = slack_of(t, flushes);
  if (isfinite(got) && isfinite(want) && fabs(got - want) <= slack && (want != 0 || got != 0)) return 0;
  bool sign = op->zero_sign && (x[0] == 0 || isinf(x[0])); /* else the result is one that underflows */
  if (want == 0)
    return got == 0 && (!sign || signbit(got) == signbit(want)) ? 0
           : got == 0                                           ? -1
                                                                : fabs(got) / ulp_of(t, op->of_argument ? x[0] : 0);
  if (got == w)
    return got == 0 || isinf(got) || fabs(want) > max
               ? 0
               : fabs(got - want) / ulp_of(t, op->of_argument ? fmax(fabs(want), fabs(x[0])) : want);
  if (isinf(want)) return -1;
  double top = max + ulp_of(t, max);
  if (isinf(got)) got = copysign(top, got);
  if (isinf(w) || fabs(want) > top) want = copysign(top, want);
  if (op->of_argument && isfinite(x[0])) return fabs(got - want) / ulp_of(t, fmax(fabs(want), fabs(x[0])));
  return fabs(got - want) / ulp_of(t, want);
}

typedef struct oracle { double *want, *tolerance; } oracle;

static bool agrees(const oracle *o, tsr_dtype t, long i, double got) {
  return graph_agrees(t, got, (graph_num){.v = o->want[i], .e = o->tolerance[i]});
}

/* `flushed`: of operands without subnormals; NULL where the device keeps them. */
static void compare(const precision_op *op, const sample *s, const void *out, const oracle *o, const oracle *flushed,
                    precision_result *r) {
  const double *want = o->want, *want2 = flushed ? flushed->want : NULL;
  const bool flushes = flushed;
  *r = (precision_result){.n = s->n};
  for (long i = 0; i < s->n; i++) {
    double x[2] = {dtype_load(s->t, s->x[0], (size_t)i), op->n_in > 1 ? dtype_load(s->t, s->x[1], (size_t)i) : 0};
    double got = dtype_load(s->t, out, (size_t)i), e = error_of(op, s->t, flushes, x, got, want[i]);
    if (want2) {
      double e2 = error_of(op, s->t, flushes, x, got, want2[i]);
      if (e < 0 || (e2 >= 0 && e2 < e)) e = e2;
    }
    if (dtype_is_float(s->t) && !agrees(o, s->t, i, got) && !(flushed && agrees(flushed, s->t, i, got)) &&
        !(fabs(got - want[i]) <= slack_of(s->t, flushes)) &&
        !(want2 && fabs(got - want2[i]) <= slack_of(s->t, flushes)) && !r->beyond++)
      memcpy(r->beyond_at, x, sizeof x), r->beyond_got = got, r->beyond_want = want[i];
    if (e < 0 && !r->wrong++) memcpy(r->wrong_at, x, sizeof x), r->got = got, r->want = want[i];
    if (e > r->ulp) r->ulp = e, memcpy(r->at, x, sizeof x);
  }
}

/* ---- running ---- */

static tsr_status parse(tsr_context *ctx, const precision_op *op, tsr_dtype t, long n, tsr_graph **g) {
  char text[512], type[64];
  snprintf(type, sizeof type, "tensor<%ldx%s>", n, dtype_get(t)->mlir);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%a: %s%s%s):\n%%r = "
           "\"tessera.graph.%s\"(%%a%s)%s\n\"tessera.graph.return\"(%%r)\n}) {sym_name = \"main\"}\n",
           type, op->n_in > 1 ? ", %b: " : "", op->n_in > 1 ? type : "", op->name, op->n_in > 1 ? ", %b" : "",
           op->attrs);
  return tsr_graph_parse(ctx, text, strlen(text), "precision", g);
}

static tsr_status execute(tsr_device *dev, const tsr_graph *g, void *const *in, int n_in, void *out) {
  tsr_program *p = NULL;
  tsr_binding bi[2] = {{0}}, bo = {0};
  tsr_status st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  for (int i = 0; !st && i < n_in; i++) {
    st = tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &bi[i].buffer);
    if (!st) st = tsr_buffer_write(bi[i].buffer, 0, in[i], tsr_program_input(p, i).bytes);
  }
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_program_run(p, NULL, bi, &bo);
  if (!st) st = tsr_buffer_read(bo.buffer, 0, out, tsr_program_output(p, 0).bytes);
  for (int i = 0; i < n_in; i++) tsr_buffer_destroy(&bi[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
  return st;
}

/* Subnormal operands as zeros of their sign. */
static void flush(sample *s, int n_in) {
  for (int k = 0; k < n_in; k++)
    for (long i = 0; i < s->n; i++) {
      double v = dtype_load(s->t, s->x[k], (size_t)i);
      if (fabs(v) < least_normal(s->t)) dtype_store(s->t, s->x[k], (size_t)i, copysign(0, v));
    }
}

static bool may_flush(const tsr_device *dev, tsr_dtype t) {
  const tsr_device_info *d = tsr_device_get_info(dev);
  if (!dtype_is_float(t)) return false;
  return t == TSR_F64                    ? !d->subnormals_f64
         : t == TSR_F32 || t == TSR_TF32 || t == TSR_BF16 ? !d->subnormals_f32
         : t == TSR_F16                  ? !d->subnormals_f16
                                         : false;
}

tsr_status precision_measure(tsr_context *ctx, tsr_device *dev, const precision_op *op, tsr_dtype t, long n,
                             precision_result *out) {
  double v[64];
  int n_special = special_values(t, v);
  size_t e = tsr_dtype_size(t), most = e ? e : 1;
  sample s = {.t = t, .seed = 7, .grid = op->n_in > 1 ? n_special * n_special : n_special};
  s.n = s.grid + (op->n_in == 1 && (e == 1 || e == 2) ? 1L << (8 * e) : n);
  tsr_graph *g = NULL;
  bool flushes = may_flush(dev, t);
  void *y = malloc((size_t)s.n * most);
  double *numbers = malloc((size_t)s.n * 4 * sizeof *numbers);
  oracle o = {numbers, numbers + s.n}, flushed = {numbers + 2 * s.n, numbers + 3 * s.n};
  for (int k = 0; k < 2; k++) s.x[k] = calloc((size_t)s.n, most);
  if (!y || !numbers || !s.x[0] || !s.x[1]) abort();
  fill(&s, op->n_in, v, n_special);
  tsr_status st = parse(ctx, op, t, s.n, &g);
  if (!st) st = execute(dev, g, s.x, op->n_in, y);
  if (!st) st = tsr_graph_reference(g, (const void *const *)s.x, &o.want, &o.tolerance);
  if (!st && flushes) {
    sample zeros = s;
    for (int k = 0; k < 2; k++) memcpy(zeros.x[k] = malloc((size_t)s.n * most), s.x[k], (size_t)s.n * most);
    flush(&zeros, op->n_in);
    st = tsr_graph_reference(g, (const void *const *)zeros.x, &flushed.want, &flushed.tolerance);
    free(zeros.x[0]), free(zeros.x[1]);
  }
  if (!st) compare(op, &s, y, &o, flushes ? &flushed : NULL, out);
  tsr_graph_destroy(&g);
  free(y), free(numbers), free(s.x[0]), free(s.x[1]);
  return st;
}
