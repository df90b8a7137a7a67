/* tests/unit/test_block_product.c - products with matrices in block formats: integers and scales stand for what the
 * format says, every instruction set's kernel and the portable code give the sums in f64 within the rounding of f32,
 * and the graph's ops what the oracle says, fused or not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/cpu/kernels/kernels.h"
#include "core/base/block_product.h"
#include "core/base/dtype.h"
#include "tessera/tessera.h"

enum { MOST_BYTES = 1 << 20 };
static unsigned char w[MOST_BYTES];
static float x[29 * 4608], got[256 * 48];
static _Alignas(64) char rounded[1 << 20]; /* x as the kernels have it */
static uint64_t state = 77;

static uint32_t draw(void) { return (uint32_t)((state = state * 6364136223846793005u + 1442695040888963407u) >> 33); }

/* Any bytes, but for the f16 scales: moderate numbers. */
static void draw_blocks(const block_format *f, size_t blocks) {
  static const struct {
    const char *name;
    int at[2];
  } scales[] = {{"q2_k", {80, 82}}, {"q3_k", {108, -1}}, {"q6_k", {208, -1}}, {"q4_1", {0, 2}}, {"q5_1", {0, 2}},
                {"q4_k", {0, 2}},   {"q5_k", {0, 2}}};
  for (size_t b = 0; b < blocks; b++) {
    unsigned char *p = w + b * f->bytes;
    int at[2] = {0, -1};
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
      if (!strcmp(scales[i].name, f->name)) memcpy(at, scales[i].at, sizeof at);
    for (uint32_t i = 0; i < f->bytes; i++) p[i] = (unsigned char)draw();
    for (int i = 0; i < 2; i++) {
      const uint16_t h = dtype_f32_to_f16((float)(draw() % 1000) * 1e-4f - 0.05f);
      if (at[i] >= 0) memcpy(p + at[i], &h, sizeof h);
    }
  }
}

static void runs_stand_for_what_the_format_says(void **unused) {
  (void)unused;
  int n = 0;
  for (size_t i = 0; block_format_at(i); i++) {
    const block_format *f = block_format_at(i);
    float want[BLOCK_MOST_ELEMENTS];
    if (!f->unpack) continue;
    n++;
    draw_blocks(f, 200);
    for (int b = 0; b < 200; b++) {
      f->dequantize(w + (size_t)b * f->bytes, want);
      for (int r = 0; r < (int)f->elements / BLOCK_RUN; r++) {
        block_run u;
        f->unpack(w + (size_t)b * f->bytes, r, &u);
        for (int j = 0; j < BLOCK_RUN; j++) {
          const double part = (double)u.scale[j / 16] * u.q[j], offset = (double)u.offset[j / 16];
          const double off = fabs(part + offset - (double)want[r * BLOCK_RUN + j]);
          if (off > 3e-7 * (fabs(part) + fabs(offset)) || abs(u.q[j]) > f->largest || (u.q[j] < 0 && !f->negative))
            fail_msg("%s: element %d of run %d is %g + %g, not %g", f->name, j, r, part, offset,
                     (double)want[r * BLOCK_RUN + j]);
        }
      }
    }
  }
  assert_int_equal(n, 11);
}

static void vectors_are_rounded_to_the_nearest_multiple(void **unused) {
  (void)unused;
  float v[2 * BLOCK_RUN];
  block_q8 r[2];
  for (int round = 0; round < 200; round++) {
    for (int i = 0; i < 2 * BLOCK_RUN; i++) v[i] = ((float)(draw() % 20001) - 10000) * (i < BLOCK_RUN ? 1e-3f : 3.0f);
    block_quantize(v, 2 * BLOCK_RUN, round % 2, r);
    for (int i = 0; i < 2 * BLOCK_RUN; i++) {
      const double step = (double)r[i / BLOCK_RUN].scale, is = step * r[i / BLOCK_RUN].q[i % BLOCK_RUN];
      /* half a step, and the scale's rounding to f16 times 127 steps */
      assert_true(fabs(is - (double)v[i]) <= step * (0.5 + 127.0 / 2048 + 1e-3));
    }
  }
  memset(v, 0, sizeof v);
  block_quantize(v, BLOCK_RUN, true, r);
  assert_true(r->scale == 0 && r->sum[0] == 0 && r->q[3] == 0);
  v[5] = INFINITY;
  block_quantize(v, BLOCK_RUN, false, r);
  assert_true(isnan(r->scale) && isnan(r->sum[0]));
}

/* In f64, with the sum of magnitudes; offsets apart where x is rounded, to q. */
static double exact(const block_product *p, const block_q8 *q, int64_t row, int64_t i, double *size) {
  double s = 0;
  const uint32_t n = p->format->elements;
  for (int64_t b = 0; b < p->k / n; b++) {
    const unsigned char *block = p->w + (size_t)row * block_row_bytes(p) + (size_t)b * p->format->bytes;
    float values[BLOCK_MOST_ELEMENTS];
    p->format->dequantize(block, values);
    for (uint32_t j = 0; j < n; j++) {
      const int64_t at = i * p->k + b * n + j;
      const block_q8 *run = q ? &q[at / BLOCK_RUN] : NULL;
      const double a = run ? (double)run->scale * run->q[at % BLOCK_RUN] : (double)p->x[at];
      s += a * (double)values[j];
      *size += fabs(a) * (fabs((double)values[j]) + 64 * 0.05); /* scale q and offset, each at most 63 * 0.05 */
    }
  }
  return s;
}

/* A sum of k terms in f32, in any order: k unit roundoffs of the sum of magnitudes are beyond what can happen. */
static void check(const char *who, const block_kernels *kernels, block_product p, const block_q8 *q) {
  memset(got, 0x7f, sizeof got);
  if (q) {
    assert_true(kernels->rounded_bytes(p.n, p.k) <= sizeof rounded);
    memset(rounded, 0x7f, sizeof rounded);
    p.q = rounded;
    for (int64_t i = 0; i < p.n; i += kernels->x_step)
      kernels->round(&p, i, i + kernels->x_step < p.n ? i + kernels->x_step : p.n);
  }
  kernels->multiply(&p);
  for (int64_t i = 0; i < p.n; i++)
    for (int64_t r = 0; r < p.ldy; r++) {
      double size = 0;
      const double is = (double)p.y[i * p.ldy + r], want = r < p.rows ? exact(&p, q, r, i, &size) : 0;
      if (r >= p.rows) assert_memory_equal(&p.y[i * p.ldy + r], "\x7f\x7f\x7f\x7f", 4);
      else if (!(fabs(is - want) <= 6e-8 * sqrt((double)p.k) * size + 1e-6))
        fail_msg("%s, %s, %lld x %lld x %lld: row %lld of x, row %lld is %g, not %g", who, p.format->name,
                 (long long)p.n, (long long)p.rows, (long long)p.k, (long long)i, (long long)r, is, want);
    }
}

/* From one row of x on: of rows and columns that fill no vector, and of k in several parts. */
static void kernels_give_the_sums(void **unused) {
  (void)unused;
  static block_q8 q[sizeof x / sizeof *x / BLOCK_RUN];
  static const int64_t shapes[][3] = {{1, 1, 256},  {1, 9, 512},  {2, 8, 256},  {3, 17, 768},  {4, 16, 512},
                                      {7, 21, 256}, {5, 8, 4608}, {13, 33, 256}, {29, 40, 512}, {1, 3, 4608}};
  for (size_t i = 0; block_format_at(i); i++)
    for (size_t s = 0; block_format_at(i)->unpack && s < sizeof shapes / sizeof *shapes; s++)
      for (int rounds = 0; rounds < 2; rounds++) { /* x as it is, and rounded */
        block_product p = {.format = block_format_at(i), .w = w, .rows = shapes[s][1], .k = shapes[s][2], .x = x,
                           .n = shapes[s][0], .ldy = 48, .y = got};
        if (p.format->elements == BLOCK_RUN && s % 2) p.k -= BLOCK_RUN * (1 + (int64_t)s % 3); /* no whole groups */
        draw_blocks(p.format, (size_t)(p.rows * p.k / p.format->elements));
        for (int64_t k = 0; k < p.n * p.k; k++) x[k] = (float)(draw() % 2001) * 1e-3f - 1;
        block_quantize(x, p.n * p.k, false, q);
        check("portable", &block_kernels_portable, p, rounds ? q : NULL);
        const cpuk_table *t;
        for (size_t isa = 0; (t = cpuk_available(isa)) != NULL; isa++) check(t->isa, t->blocks, p, rounds ? q : NULL);
      }
}

/* Any bytes at all that stand for finite numbers. */
static void draw_finite_blocks(const block_format *f, size_t blocks) {
  float values[BLOCK_MOST_ELEMENTS];
  for (size_t b = 0; b < blocks; b++) {
    bool finite = false;
    while (!finite) {
      for (uint32_t i = 0; i < f->bytes; i++) w[b * f->bytes + i] = (unsigned char)draw();
      f->dequantize(w + b * f->bytes, values);
      finite = true;
      for (uint32_t i = 0; i < f->elements; i++) finite = finite && isfinite(values[i]);
    }
  }
}

/* Row i of x is 127, which is 127 times the scale 1, at place i + first: y is 127 times that element of each row of w.
 * A product and an offset, each with a rounding of the scale and one of its own. */
static void takes_each_element(const cpuk_table *t, block_product p, int64_t first) {
  memset(x, 0, (size_t)(p.n * p.k) * sizeof *x);
  for (int64_t i = 0; i < p.n; i++) x[i * p.k + first + i] = 127;
  p.q = rounded;
  t->blocks->round(&p, 0, p.n);
  t->blocks->multiply(&p);
  for (int64_t r = 0; r < p.rows; r++)
    for (int64_t i = 0; i < p.n; i++) {
      const int64_t at = first + i, elements = p.format->elements;
      block_run run;
      p.format->unpack(p.w + (size_t)r * block_row_bytes(&p) + (size_t)(at / elements) * p.format->bytes,
                       (int)(at % elements / BLOCK_RUN), &run);
      const int half = (int)(at % BLOCK_RUN / 16);
      const double part = 127 * (double)run.scale[half] * run.q[at % BLOCK_RUN];
      const double offset = 127 * (double)run.offset[half];
      if (!(fabs((double)p.y[i * p.ldy + r] - (part + offset)) <= 3 * 6e-8 * (fabs(part) + fabs(offset))))
        fail_msg("%s, %s, %lld rows of x: element %lld of row %lld is %g, not %g + %g", t->isa, p.format->name,
                 (long long)p.n, (long long)at, (long long)r, (double)p.y[i * p.ldy + r], part, offset);
    }
}

/* Of one row of x, of a few, and of as many as there are elements. */
static void kernels_take_every_element_of_any_block(void **unused) {
  (void)unused;
  enum { K = 256, ROUNDS = 12 };
  const cpuk_table *t;
  for (size_t f = 0; block_format_at(f); f++)
    for (int round = 0; block_format_at(f)->unpack && round < ROUNDS; round++) {
      block_product p = {.format = block_format_at(f), .w = w, .rows = 17, .k = K, .x = x, .ldy = 48, .y = got};
      draw_finite_blocks(p.format, (size_t)(p.rows * K / p.format->elements));
      for (size_t isa = 0; (t = cpuk_available(isa)) != NULL; isa++)
        for (p.n = 1; p.n <= K; p.n *= 16)
          for (int64_t first = 0; first < K; first += p.n) takes_each_element(t, p, first);
    }
}

/* A scale that isn't finite spoils the sums of its own row alone. */
static void kernels_keep_what_is_not_finite_to_its_row(void **unused) {
  (void)unused;
  enum { ROWS = 17, K = 256, BAD = 5 };
  const cpuk_table *t;
  for (size_t f = 0; block_format_at(f); f++)
    for (int64_t n = 1; block_format_at(f)->unpack && n <= 16; n *= 4) {
      block_product p = {.format = block_format_at(f), .w = w, .rows = ROWS, .k = K, .x = x, .n = n, .y = got};
      float values[BLOCK_MOST_ELEMENTS];
      p.ldy = 48;
      draw_finite_blocks(p.format, ROWS * K / p.format->elements);
      do { /* any of its bytes: some are scales */
        w[BAD * block_row_bytes(&p) + draw() % p.format->bytes] = (unsigned char)(draw() % 2 ? 0x7e : 0xfc);
        p.format->dequantize(w + BAD * block_row_bytes(&p), values);
      } while (isfinite(values[0]));
      for (int64_t i = 0; i < n * K; i++) x[i] = 1;
      p.q = rounded;
      for (size_t isa = 0; (t = cpuk_available(isa)) != NULL; isa++) {
        t->blocks->round(&p, 0, n);
        t->blocks->multiply(&p);
        for (int64_t i = 0; i < n * ROWS; i++)
          if (!isfinite(p.y[i / ROWS * p.ldy + i % ROWS]) != (i % ROWS == BAD))
            fail_msg("%s, %s: row %d is %g", t->isa, p.format->name, (int)(i % ROWS),
                     (double)p.y[i / ROWS * p.ldy + i % ROWS]);
      }
    }
}

/* ---- the graph's ops --------------------------------------------------------------------------------------------- */

static void ok(tsr_status st) {
  if (st) fail_msg("%s", tsr_status_message(st));
}

static void agrees(tsr_context *ctx, const char *text, const void *const *inputs, const size_t *bytes, int n_in,
                   bool fuses) {
  enum { N = 3 * 8 };
  tsr_graph *g;
  tsr_device *dev;
  tsr_program *p;
  tsr_buffer *in[2], *out;
  double want[N], off[N];
  float y[N];
  char *trace;
  ok(tsr_graph_parse(ctx, text, strlen(text), "test", &g));
  ok(tsr_graph_reference(g, inputs, (double *[]){want}, (double *[]){off}));
  ok(tsr_device_open(ctx, "cpu:0", &dev));
  ok(tsr_program_compile(dev, g, NULL, &p));
  ok(tsr_program_explain(p, &trace));
  assert_true(!strstr(trace, "fuse_dequantize") == !fuses);
  tsr_text_free(ctx, &trace);
  tsr_binding b[2];
  for (int i = 0; i < n_in; i++) {
    ok(tsr_buffer_create(dev, bytes[i], TSR_MEMORY_DEVICE, &in[i]));
    ok(tsr_buffer_write(in[i], 0, inputs[i], bytes[i]));
    b[i] = (tsr_binding){in[i], 0};
  }
  ok(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
  ok(tsr_program_run(p, NULL, b, &(tsr_binding){out, 0}));
  ok(tsr_buffer_read(out, 0, y, sizeof y));
  for (int i = 0; i < N; i++)
    if (!(fabs((double)y[i] - want[i]) <= off[i]))
      fail_msg("%s: %g, not %g +- %g", text, (double)y[i], want[i], off[i]);
  for (int i = 0; i < n_in; i++) tsr_buffer_destroy(&in[i]);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_graph_destroy(&g);
}

#define FUNC(args, body) \
  "\"tessera.graph.func\"() ({\n^bb0(" args "):\n" body "\"tessera.graph.return\"(%y)\n}) {sym_name = \"main\"}\n"

static void ops_agree_with_the_oracle(void **unused) {
  (void)unused;
  static const struct {
    const char *format, *text;
    size_t w_bytes, x_bytes;
    bool fuses;
  } rows[] = {
      {"q4_1", FUNC("%x: tensor<3x64xf32>, %w: tensor<8x40xui8>", "%y = \"tessera.graph.block_matmul\"(%x, %w) {format = \"q4_1\", activations = \"q8_1\"}\n"), 320, 768, false},
      {"q4_1", FUNC("%x: tensor<3x64xf32>, %w: tensor<8x40xui8>", "%y = \"tessera.graph.block_matmul\"(%x, %w) {format = \"q4_1\"}\n"), 320, 768, false},
      {"q6_k", FUNC("%x: tensor<3x256xf32>, %w: tensor<8x210xui8>", "%y = \"tessera.graph.block_matmul\"(%x, %w) {format = \"q6_k\", activations = \"q8_0\"}\n"), 1680, 3072, false},
      {"q8_0", FUNC("%x: tensor<3x1x32xf32>, %w: tensor<8x34xui8>", "%y = \"tessera.graph.block_matmul\"(%x, %w) {format = \"q8_0\", activations = \"q8_0\"}\n"), 272, 384, false},
      {"q5_0", FUNC("%x: tensor<3x32xf32>, %w: tensor<8x22xui8>", "%d = \"tessera.graph.dequantize\"(%w) {format = \"q5_0\"}\n%y = \"tessera.graph.matmul\"(%x, %d) {transpose_b = true}\n"), 176, 384, true},
      {"q4_0", FUNC("%x: tensor<3x8xf32>, %w: tensor<8x18xui8>", "%d = \"tessera.graph.dequantize\"(%w) {format = \"q4_0\"}\n%s = \"tessera.graph.slice\"(%d) {starts = [0, 3], sizes = [8, 8]}\n%y = \"tessera.graph.matmul\"(%x, %s)\n"), 144, 96, false},
  };
  tsr_context *ctx;
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const block_format *f = block_format_by_name(rows[i].format);
    draw_blocks(f, rows[i].w_bytes / f->bytes);
    for (size_t k = 0; k < rows[i].x_bytes / 4; k++) x[k] = (float)(draw() % 2001) * 1e-3f - 1;
    agrees(ctx, rows[i].text, (const void *[]){x, w}, (size_t[]){rows[i].x_bytes, rows[i].w_bytes}, 2, rows[i].fuses);
  }
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(runs_stand_for_what_the_format_says),
                                     cmocka_unit_test(vectors_are_rounded_to_the_nearest_multiple),
                                     cmocka_unit_test(kernels_give_the_sums),
                                     cmocka_unit_test(kernels_take_every_element_of_any_block),
                                     cmocka_unit_test(kernels_keep_what_is_not_finite_to_its_row),
                                     cmocka_unit_test(ops_agree_with_the_oracle)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
