/* examples/transformer_block.c - one decoder block of llama3-8b from its parts: rmsnorm, grouped-query attention with
 * rotary positions and a causal mask, residuals, gated MLP. Widths are the model's divided by --scale.
 *
 *   transformer_block [--scale N] [--tokens N] [--dtype f32|bf16|f16] [--device ID] [--print]
 *
 * --print writes the graph as IR text (for `tessera run`); else the block runs on random data and a sample of its
 * outputs is compared with the f64 reference: exit status 1 if one is outside the derived tolerance. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>
#include <time.h>

typedef struct block {
  int64_t tokens, hidden, heads, kv_heads, head_dim, mlp;
  tsr_dtype dtype;
  tsr_graph *g;
} block;

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}

static tsr_value op(block *b, const char *name, int n, const tsr_value *x, const tsr_attr *attrs, int n_attrs) {
  tsr_value v;
  check(tsr_graph_op(b->g, name, x, n, attrs, n_attrs, &v));
  return v;
}

static tsr_value op1(block *b, const char *name, tsr_value x) { return op(b, name, 1, &x, NULL, 0); }
static tsr_value op2(block *b, const char *name, tsr_value x, tsr_value y) {
  return op(b, name, 2, (tsr_value[]){x, y}, NULL, 0);
}

static tsr_value input(block *b, const char *name, tsr_shape shape) {
  tsr_value v;
  check(tsr_graph_input(b->g, name, b->dtype, shape, &v));
  return v;
}

static tsr_value matrix(block *b, const char *name, int64_t rows, int64_t cols) {
  return input(b, name, (tsr_shape){2, {rows, cols}});
}

static tsr_value cast(block *b, tsr_value x, const char *dtype) {
  tsr_attr a = TSR_STRING("dtype", dtype);
  return op(b, "cast", 1, &x, &a, 1);
}

static tsr_value reshape(block *b, tsr_value x, int rank, const int64_t *dims) {
  tsr_attr a = TSR_INTS("shape", dims, rank);
  return op(b, "reshape", 1, &x, &a, 1);
}

/* [tokens, n * d] -> [n, tokens, d] */
static tsr_value split_heads(block *b, tsr_value x, int64_t n) {
  int64_t perm[3] = {1, 0, 2};
  tsr_attr a = TSR_INTS("perm", perm, 3);
  x = reshape(b, x, 3, (int64_t[]){b->tokens, n, b->head_dim});
  return op(b, "transpose", 1, &x, &a, 1);
}

static tsr_value half(block *b, tsr_value x, int64_t n, int which) {
  int64_t starts[3] = {0, 0, which * b->head_dim / 2}, sizes[3] = {n, b->tokens, b->head_dim / 2};
  tsr_attr a[2] = {TSR_INTS("starts", starts, 3), TSR_INTS("sizes", sizes, 3)};
  return op(b, "slice", 1, &x, a, 2);
}

/* x cos + rotate(x) sin, rotate(x) = (-second half, first half); cos and sin are [tokens, d]. */
static tsr_value rotary(block *b, tsr_value x, int64_t n, tsr_value cos, tsr_value sin) {
  tsr_attr axis = TSR_INT("axis", -1);
  tsr_value parts[2] = {op1(b, "neg", half(b, x, n, 1)), half(b, x, n, 0)};
  tsr_value rotated = op(b, "concat", 2, parts, &axis, 1);
  return op2(b, "add", op2(b, "mul", x, cos), op2(b, "mul", rotated, sin));
}

static tsr_value number(block *b, double v) {
  tsr_value x;
  float f = (float)v;
  check(tsr_graph_constant(b->g, TSR_F32, (tsr_shape){0, {0}}, &f, &x));
  return b->dtype == TSR_F32 ? x : cast(b, x, tsr_dtype_name(b->dtype));
}

/* Queries of one group share a key head: [kv, group, tokens, d] by [kv, 1, tokens, d]. */
static tsr_value attention(block *b, tsr_value x) {
  int64_t d = b->head_dim, t = b->tokens, group = b->heads / b->kv_heads;
  tsr_value cos = matrix(b, "cos", t, d), sin = matrix(b, "sin", t, d), mask = matrix(b, "mask", t, t);
  tsr_value q = op2(b, "matmul", x, matrix(b, "wq", b->hidden, b->heads * d));
  tsr_value k = op2(b, "matmul", x, matrix(b, "wk", b->hidden, b->kv_heads * d));
  tsr_value v = op2(b, "matmul", x, matrix(b, "wv", b->hidden, b->kv_heads * d));
  q = rotary(b, split_heads(b, q, b->heads), b->heads, cos, sin);
  k = rotary(b, split_heads(b, k, b->kv_heads), b->kv_heads, cos, sin);
  q = reshape(b, q, 4, (int64_t[]){b->kv_heads, group, t, d});
  k = reshape(b, k, 4, (int64_t[]){b->kv_heads, 1, t, d});
  v = reshape(b, split_heads(b, v, b->kv_heads), 4, (int64_t[]){b->kv_heads, 1, t, d});
  tsr_attr tb = TSR_BOOLEAN("transpose_b", true);
  tsr_value s = op(b, "matmul", 2, (tsr_value[]){q, k}, &tb, 1);
  s = op2(b, "add", op2(b, "mul", s, number(b, 1 / sqrt((double)d))), mask);
  tsr_value o = op2(b, "matmul", op1(b, "softmax", s), v);
  int64_t perm[4] = {2, 0, 1, 3};
  tsr_attr p = TSR_INTS("perm", perm, 4);
  o = reshape(b, op(b, "transpose", 1, &o, &p, 1), 2, (int64_t[]){t, b->heads * d});
  return op2(b, "matmul", o, matrix(b, "wo", b->heads * d, b->hidden));
}

static tsr_value mlp(block *b, tsr_value x) {
  tsr_value gate = op1(b, "silu", op2(b, "matmul", x, matrix(b, "w_gate", b->hidden, b->mlp)));
  tsr_value up = op2(b, "matmul", x, matrix(b, "w_up", b->hidden, b->mlp));
  return op2(b, "matmul", op2(b, "mul", gate, up), matrix(b, "w_down", b->mlp, b->hidden));
}

static void build(block *b) {
  tsr_value x = matrix(b, "x", b->tokens, b->hidden);
  tsr_value g1 = input(b, "norm1", (tsr_shape){1, {b->hidden}}), g2 = input(b, "norm2", (tsr_shape){1, {b->hidden}});
  tsr_value h = op2(b, "add", x, attention(b, op2(b, "rmsnorm", x, g1)));
  check(tsr_graph_output(b->g, op2(b, "add", h, mlp(b, op2(b, "rmsnorm", h, g2)))));
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* Finite values only; rounds to nearest even. */
static uint16_t to_f16(float v) {
  double a = fabs(v);
  uint16_t sign = signbit(v) ? 0x8000 : 0;
  if (a < ldexp(1, -14)) return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(a, 24)));
  int e = ilogb(a);
  int bits = ((e + 14) << 10) + (int)nearbyint(ldexp(a, 10 - e)); /* the mantissa's leading 1 adds the last of e + 15 */
  return (uint16_t)(sign | (bits < 0x7c00 ? bits : 0x7c00));
}

static double from_f16(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double a = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(m + 1024, e - 25);
  return h & 0x8000 ? -a : a;
}

static void store(tsr_dtype t, void *p, size_t i, float v) {
  uint32_t u;
  memcpy(&u, &v, 4);
  if (t == TSR_F32) ((float *)p)[i] = v;
  else if (t == TSR_BF16) ((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  else ((uint16_t *)p)[i] = to_f16(v);
}

static double load(tsr_dtype t, const void *p, size_t i) {
  if (t == TSR_F32) return ((const float *)p)[i];
  if (t == TSR_F16) return from_f16(((const uint16_t *)p)[i]);
  uint32_t u = (uint32_t)((const uint16_t *)p)[i] << 16;
  float f;
  memcpy(&f, &u, 4);
  return f;
}

/* Weights of variance 1 / fan-in, so that values stay near 1; true angles and a causal mask. */
static float element(const block *b, const tsr_tensor_info *t, size_t i, uint64_t *s) {
  int64_t cols = t->shape.dims[t->shape.rank - 1], row = (int64_t)i / cols, col = (int64_t)i % cols;
  if (!strcmp(t->name, "mask")) return col > row ? -10000.0f : 0.0f;
  double angle = (double)row * pow(500000.0, -2.0 * (double)(col % (b->head_dim / 2)) / (double)b->head_dim);
  if (!strcmp(t->name, "cos")) return (float)cos(angle);
  if (!strcmp(t->name, "sin")) return (float)sin(angle);
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  double u = 2.0 * (double)(*s >> 11) / 9007199254740992.0 - 1;
  return (float)(t->name[0] == 'w'   ? u * sqrt(3.0 / (double)t->shape.dims[0])
                 : t->name[0] == 'n' ? 1 + 0.1 * u
                                     : u * 1.7);
}

static int compare(const block *b, const void *const *inputs, const void *have) {
  enum { N = 48 };
  int64_t at[N], total = b->tokens * b->hidden;
  double want[N], tolerance[N], worst = 0;
  int wrong = 0;
  for (int i = 0; i < N; i++)
    at[i] = (int64_t)((uint64_t)i * 2654435761u % (uint64_t)b->hidden) +
            (i % 3 == 0 ? total - b->hidden : (total / b->hidden / 2) * b->hidden);
  check(tsr_graph_reference_at(b->g, inputs, 0, at, N, want, tolerance));
  for (int i = 0; i < N; i++) {
    double error = fabs(load(b->dtype, have, (size_t)at[i]) - want[i]);
    if (!(error <= tolerance[i]))
      wrong++, fprintf(stderr, "element %lld: %g, reference %g, tolerance %g\n", (long long)at[i],
                       load(b->dtype, have, (size_t)at[i]), want[i], tolerance[i]);
    if (error / tolerance[i] > worst) worst = error / tolerance[i];
  }
  printf("%d of %d sampled outputs within tolerance, largest error %.2f of it\n", N - wrong, N, worst);
  return wrong ? 1 : 0;
}

static double now_ms(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int run(tsr_context *ctx, block *b, const char *device) {
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[32] = {{0}}, out = {0};
  void *data[32];
  uint64_t seed = 1;
  check(tsr_device_open(ctx, device, &dev));
  double t0 = now_ms();
  check(tsr_program_compile(dev, b->g, NULL, &p));
  double t1 = now_ms();
  int n = tsr_program_n_inputs(p);
  for (int i = 0; i < n; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    data[i] = malloc(t.bytes);
    for (size_t k = 0; data[i] && k < t.bytes / tsr_dtype_size(t.dtype); k++)
      store(t.dtype, data[i], k, element(b, &t, k, &seed));
    check(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    check(tsr_buffer_write(in[i].buffer, 0, data[i], t.bytes));
  }
  size_t bytes = tsr_program_output(p, 0).bytes;
  void *have = malloc(bytes);
  check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer));
  double t2 = now_ms();
  check(tsr_program_run(p, NULL, in, &out));
  check(tsr_buffer_read(out.buffer, 0, have, bytes));
  double t3 = now_ms();
  printf("%lld tokens x %lld, %s: %d kernels, compiled in %.1f ms, first run %.1f ms\n", (long long)b->tokens,
         (long long)b->hidden, tsr_dtype_name(b->dtype), tsr_program_n_kernels(p), t1 - t0, t3 - t2);
  int rc = compare(b, (const void *const *)data, have);
  for (int i = 0; i < n; i++) {
    tsr_buffer_destroy(&in[i].buffer);
    free(data[i]);
  }
  tsr_buffer_destroy(&out.buffer);
  free(have);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return rc;
}

static int usage(void) {
  fprintf(stderr, "usage: transformer_block [--scale N] [--tokens N] [--dtype f32|bf16|f16] [--device ID] [--print]; "
                  "the scale is 1, 2, 4 or 8\n");
  return 2;
}

int main(int argc, char **argv) {
  long scale = 8, tokens = 32;
  const char *device = "cpu:0", *dtype = "f32";
  bool print = false;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--print")) print = true;
    else if (i + 1 == argc) return usage();
    else if (!strcmp(argv[i], "--scale")) scale = atol(argv[++i]);
    else if (!strcmp(argv[i], "--tokens")) tokens = atol(argv[++i]);
    else if (!strcmp(argv[i], "--dtype")) dtype = argv[++i];
    else if (!strcmp(argv[i], "--device")) device = argv[++i];
    else return usage();
  }
  tsr_dtype t = tsr_dtype_parse(dtype);
  if ((scale != 1 && scale != 2 && scale != 4 && scale != 8) || tokens < 1 ||
      (t != TSR_F32 && t != TSR_BF16 && t != TSR_F16))
    return usage();
  block b = {.tokens = tokens,
             .hidden = 4096 / scale,
             .heads = 32 / scale,
             .kv_heads = 8 / scale,
             .head_dim = 128,
             .mlp = 14336 / scale,
             .dtype = t};
  tsr_context *ctx;
  int rc = 0;
  check(tsr_context_create(NULL, &ctx));
  check(tsr_graph_create(ctx, "main", &b.g));
  build(&b);
  if (print) {
    char *text;
    check(tsr_graph_print(b.g, &text));
    fputs(text, stdout);
    tsr_text_free(ctx, &text);
  } else {
    rc = run(ctx, &b, device);
  }
  tsr_graph_destroy(&b.g);
  tsr_context_destroy(&ctx);
  return rc;
}
