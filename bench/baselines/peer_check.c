/* bench/baselines/peer_check.c - does every peer that is installed compute what peer.h says?
 * Compares each (peer, device, operation, data type) with a plain f64 reference on shapes that are no multiple of
 * anything, and names what is missing and why. With --speed also prints GFLOP/s at 512 and 1024 cubed, median and best.
 * Exit status: 0 all right, 1 a wrong result, 77 no peer at all. */
#include "bench/baselines/peer_impl.h"
#include "core/base/dtype.h"
#include "core/base/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct check_data {
  void *operand[2], *out;
  double *reference, *bound; /* of each result: value and allowed error */
} check_data;

static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_I8, TSR_U8};
enum { N_TYPES = sizeof types / sizeof *types };
static const char *const op_names[] = {"matmul", "softmax", "rmsnorm", "layernorm", "add", "fft", "ifft"};

static void *must_calloc(size_t n, size_t size) {
  void *p = calloc(n + 1, size);
  if (!p) {
    fputs("peer_check: out of memory\n", stderr);
    exit(1);
  }
  return p;
}

static tsr_dtype dtype_of(const peer_desc *d, int operand) {
  return operand == 1 && d->dtype == TSR_U8 ? TSR_I8 : d->dtype;
}

/* Of an operand, or of the result. */
static size_t numbers(const peer_desc *d, int which) { return peer_count(d, which) * (size_t)dtype_parts(d->dtype); }

/* oneDNN's products of bytes add pairs in 16 bits that saturate where the processor has no VNNI: smaller numbers
 * there. */
static double int_range(void) {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx512vnni")) return 50;
#endif
  return 100;
}

/* Uniform in [-1,1), integers in -r..r (0..2r unsigned), r = int_range(). */
static void fill(tsr_dtype t, void *p, size_t n, uint32_t seed) {
  const double r = int_range();
  for (size_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    double u = (double)(seed >> 8) / (1 << 23) - 1;
    dtype_store(t, p, i, t == TSR_I8 ? floor(u * r) : t == TSR_U8 ? floor(u * r + r) : u);
  }
}

/* Accumulation in f32 errs by at most k roundings of the sum of magnitudes, in f16, as in ggml's shaders, by that many
 * of f16's; then the result is rounded to its type. */
static double matmul_bound(const peer_desc *d, tsr_dtype out, double value, double magnitudes) {
  if (out == TSR_I32) return 0;
  double rounding = ldexp(1, strcmp(d->device, "vulkan") ? -24 : -11);
  return (double)(d->k + 2) * rounding * magnitudes + dtype_get(out)->eps * fabs(value);
}

static void reference_matmul(const peer_desc *d, tsr_dtype out, check_data *c) {
  tsr_dtype ta = dtype_of(d, 0), tb = dtype_of(d, 1);
  for (int64_t i = 0; i < d->batch * d->m; i++)
    for (int64_t j = 0; j < d->n; j++) {
      double sum = 0, magnitudes = 0;
      for (int64_t p = 0; p < d->k; p++) {
        double x = dtype_load(ta, c->operand[0], (size_t)(i * d->k + p)) *
                   dtype_load(tb, c->operand[1], (size_t)((i / d->m * d->k + p) * d->n + j));
        sum += x;
        magnitudes += fabs(x);
      }
      c->reference[i * d->n + j] = sum;
      c->bound[i * d->n + j] = matmul_bound(d, out, sum, magnitudes);
    }
}

static double row_value(const peer_desc *d, double x, double y, double mean, double mean_square, double exp_sum) {
  switch (d->op) {
    case PEER_SOFTMAX: return exp(x) / exp_sum;
    case PEER_RMSNORM: return x / sqrt(mean_square + PEER_EPSILON);
    case PEER_LAYERNORM: return (x - mean) / sqrt(mean_square - mean * mean + PEER_EPSILON);
    default: return x + y;
  }
}

static void reference_rows(const peer_desc *d, tsr_dtype out, check_data *c) {
  for (int64_t i = 0; i < d->m; i++) {
    double mean = 0, square = 0, exps = 0;
    for (int64_t j = 0; j < d->n; j++) {
      double x = dtype_load(d->dtype, c->operand[0], (size_t)(i * d->n + j));
      mean += x / (double)d->n, square += x * x / (double)d->n, exps += exp(x);
    }
    for (int64_t j = 0; j < d->n; j++) {
      size_t at = (size_t)(i * d->n + j);
      double x = dtype_load(d->dtype, c->operand[0], at),
             y = d->op == PEER_ADD ? dtype_load(d->dtype, c->operand[1], at) : 0;
      c->reference[at] = row_value(d, x, y, mean, square, exps);
      /* a reduction over n in f32, a few roundings on top of it, and the result's own */
      c->bound[at] = (double)(d->n + 16) * ldexp(1, -24) * (fabs(c->reference[at]) + 1e-3) +
                     dtype_get(out)->eps * fabs(c->reference[at]);
    }
  }
}

/* One dimension at a time, by the definition. */
static void reference_transform(const peer_desc *d, check_data *c) {
  const double sign = d->op == PEER_FFT ? -1 : 1, pi = 3.14159265358979323846;
  const int64_t m = d->m, n = d->n, points = d->op == PEER_FFT ? n : m * n;
  for (int64_t i = 0; i < m * n; i++) {
    double re = 0, im = 0;
    for (int64_t j = 0; j < points; j++) {
      const int64_t from = d->op == PEER_FFT ? i / n * n + j : j;
      const double a = sign * 2 * pi * ((double)(i % n * (from % n) % n) / (double)n +
                                        (d->op == PEER_FFT ? 0 : (double)(i / n * (from / n) % m) / (double)m)),
                   x = dtype_load(d->dtype, c->operand[0], (size_t)(2 * from)),
                   y = dtype_load(d->dtype, c->operand[0], (size_t)(2 * from + 1));
      re += x * cos(a) - y * sin(a), im += x * sin(a) + y * cos(a);
    }
    c->reference[2 * i] = re, c->reference[2 * i + 1] = im;
    c->bound[2 * i] = c->bound[2 * i + 1] = 16 * ldexp(1, d->dtype == TSR_COMPLEX64 ? -24 : -53) * sqrt((double)points);
  }
}

static void data_create(const peer_desc *d, tsr_dtype out, check_data *c) {
  for (int i = 0; i < 2; i++) {
    c->operand[i] = must_calloc(peer_count(d, i), tsr_dtype_size(dtype_of(d, i)));
    fill(dtype_of(d, i), c->operand[i], numbers(d, i), 17u + (uint32_t)i);
  }
  c->out = must_calloc(peer_count(d, 2), tsr_dtype_size(out));
  c->reference = must_calloc(numbers(d, 2), sizeof(double));
  c->bound = must_calloc(numbers(d, 2), sizeof(double));
}

static void data_destroy(check_data *c) {
  free(c->operand[0]);
  free(c->operand[1]);
  free(c->out);
  free(c->reference);
  free(c->bound);
}

/* Largest error in units of what is allowed (exact results: in units of one). */
static double worst_error(const peer_desc *d, tsr_dtype out, const check_data *c) {
  double worst = 0;
  for (size_t i = 0; i < numbers(d, 2); i++) {
    double error = fabs(dtype_load(out, c->out, i) - c->reference[i]);
    double ratio = c->bound[i] > 0 ? error / c->bound[i] : error * 2;
    if (!(ratio <= worst)) worst = ratio;
  }
  return worst;
}

static tsr_status run_checked(peer_job *job, const peer_desc *d, check_data *c) {
  for (int set = 0; set < 2; set++)
    for (int i = 0; i < 2; i++)
      if (peer_count(d, i)) TSR_TRY(peer_write(job, set, i, c->operand[i]));
  TSR_TRY(peer_run(job, 1));
  peer_read(job, 1, c->out);
  return NULL;
}

static void describe_desc(const peer *p, const peer_desc *d) {
  printf("%-9s %-6s %-9s %-5s", peer_name(p), d->device, op_names[d->op], tsr_dtype_name(d->dtype));
  const long long batch = d->batch, m = d->m, n = d->n, k = d->k;
  if (d->op == PEER_MATMUL) printf(" %lldx%lldx%lldx%lld%s", batch, m, n, k, d->packed_b ? " packed" : "");
  else printf(" %lldx%lld", m, n);
}

typedef enum verdict { RIGHT, WRONG, UNSUPPORTED } verdict;

static verdict check(const peer *p, const peer_desc *d) {
  check_data c = {{0}};
  peer_job *job = NULL;
  tsr_status st = peer_create(p, d, &job);
  verdict verdict = RIGHT;
  describe_desc(p, d);
  if (!st) {
    tsr_dtype out = peer_out_dtype(job);
    data_create(d, out, &c);
    if (d->op == PEER_MATMUL) reference_matmul(d, out, &c);
    else if (peer_is_transform(d->op)) reference_transform(d, &c);
    else reference_rows(d, out, &c);
    st = run_checked(job, d, &c);
    double worst = st ? 0 : worst_error(d, out, &c);
    if (!st) printf(" -> %-4s %s, error %.2f of the bound\n", tsr_dtype_name(out), worst <= 1 ? "ok" : "WRONG", worst);
    if (!(worst <= 1)) verdict = WRONG;
  }
  if (st) {
    tsr_code code = tsr_status_code(st);
    verdict = code == TSR_UNSUPPORTED || code == TSR_UNAVAILABLE ? UNSUPPORTED : WRONG;
    printf(" %s\n", tsr_status_message(st));
  }
  tsr_status_free(st);
  peer_destroy(&job);
  data_destroy(&c);
  return verdict;
}

/* Every shape of one data type, until one of them is unsupported: the number of wrong results. */
static int check_matmul(const peer *p, peer_desc d) {
  static const int64_t shapes[][4] = {{1, 61, 67, 131}, {3, 17, 33, 64}, {1, 1, 100, 96}, {1, 128, 128, 256}};
  int bad = 0;
  for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
    d.batch = shapes[s][0], d.m = shapes[s][1], d.n = shapes[s][2], d.k = shapes[s][3];
    verdict v = check(p, &d);
    if (v == UNSUPPORTED) break;
    bad += v == WRONG;
  }
  return bad;
}

static int check_peer(const peer *p, const char *device) {
  int bad = 0;
  for (size_t t = 0; t < N_TYPES; t++)
    for (int packed = 0; packed < 2; packed++)
      bad += check_matmul(p, (peer_desc){.dtype = types[t], .packed_b = packed, .device = device, .n_sets = 2});
  for (int op = PEER_SOFTMAX; op <= PEER_IFFT2; op++) {
    peer_desc d = {.op = (peer_op)op, .dtype = peer_is_transform((peer_op)op) ? TSR_COMPLEX64 : TSR_F32, .m = 37,
                   .n = 101, .n_sets = 2, .device = device};
    bad += check(p, &d) == WRONG;
  }
  return bad;
}

/* Of 21 runs (3 when slow) over three sets of random operands. */
static void print_speed(const peer *p, peer_desc d) {
  enum { SETS = 3, RUNS = 21 };
  double times[RUNS];
  check_data c = {{0}};
  peer_job *job = NULL;
  d.n_sets = SETS;
  tsr_status st = peer_create(p, &d, &job);
  if (!st) data_create(&d, peer_out_dtype(job), &c);
  for (int s = 0; !st && s < SETS; s++)
    for (int i = 0; !st && i < 2; i++) st = peer_write(job, s, i, c.operand[i]);
  int n = 0;
  double begin = peer_now();
  if (!st) st = peer_run(job, 0);
  for (; !st && n < RUNS && (n < 3 || peer_now() - begin < 10); n++) {
    double t = peer_now();
    st = peer_run(job, n % SETS);
    times[n] = peer_now() - t;
  }
  if (!st) {
    sample_sort(times, (size_t)n);
    describe_desc(p, &d);
    double gflop = 2e-9 * (double)(d.m * d.n * d.k);
    printf(" -> %-4s %8.1f GFLOP/s, %8.1f at best\n", tsr_dtype_name(peer_out_dtype(job)), gflop / times[n / 2],
           gflop / times[0]);
  }
  tsr_status_free(st);
  peer_destroy(&job);
  data_destroy(&c);
}

static void print_speeds(const peer *p, const char *device) {
  static const int64_t sizes[] = {512, 1024};
  for (size_t t = 0; t < N_TYPES; t++)
    for (size_t s = 0; s < 2; s++)
      for (int packed = 0; packed < 2; packed++) {
        int64_t n = sizes[s];
        print_speed(
            p,
            (peer_desc){.dtype = types[t], .batch = 1, .m = n, .n = n, .k = n, .packed_b = packed, .device = device});
      }
}

int main(int argc, char **argv) {
  bool speed = argc > 1 && !strcmp(argv[1], "--speed");
  int bad = 0, available = 0;
  const peer *p;
  for (size_t i = 0; (p = peer_at(i)); i++) {
    tsr_status st = peer_available(p);
    if (st) {
      printf("%s: %s\n", peer_name(p), tsr_status_message(st));
      tsr_status_free(st);
      continue;
    }
    available++;
    printf("%s\n", peer_describe(p));
    static const char *const devices[] = {"cpu", "vulkan"};
    for (size_t d = 0; d < (p == &peer_ggml ? 2 : 1); d++) {
      bad += check_peer(p, devices[d]);
      if (speed) print_speeds(p, devices[d]);
    }
  }
  printf("%d of the peers here, %d wrong results\n", available, bad);
  return bad ? 1 : available ? 0 : 77;
}
