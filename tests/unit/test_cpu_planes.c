/* Planes of images that share a block on the CPU (core/passes/cpu/planes.h): each has the bits that it has in a block
 * of its own, whatever the kernel, and blocks are joined where they may be and nowhere else. Channels do not see each
 * other, so eight at a time, which are too few to be joined, are what all at once are held against. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/support/api_check.h"

enum { MOST_CHANNELS = 272, MOST_SIDE = 33, FEW = 8, MOST_NUMBERS = MOST_CHANNELS * MOST_SIDE * MOST_SIDE };

/* Of c channels: %x [1, c, h, w], %k [c, 1, r, r], %s, %t [1, c, 1, 1], %y like the result. */
typedef struct form {
  const char *name, *body; /* %% r, stride, padding */
  bool pool;
} form;
#define STEPS "strides = [%d, %d], low = [%d, %d], high = [%d, %d]}\n"
#define CONV "%%c = \"tessera.graph.conv2d\"(%%x, %%k) {groups = %d, " STEPS
#define MAX_POOL "%%c = \"tessera.graph.max_pool\"(%%x) {kernel = [%d, %d], " STEPS
#define AVERAGE "%%c = \"tessera.graph.average_pool\"(%%x) {kernel = [%d, %d], " STEPS
#define OP2(r, name, a, b) "%%" r " = \"tessera.graph." name "\"(%%" a ", %%" b ")\n"
#define OP1(r, name, a) "%%" r " = \"tessera.graph." name "\"(%%" a ")\n"
static const form forms[] = {
    {"scaled", CONV OP2("1", "mul", "c", "s") OP2("2", "add", "1", "t") OP1("0", "relu", "2"), false},
    {"hardswish", CONV OP2("1", "add", "c", "t") OP1("0", "hardswish", "1"), false},
    {"residual", CONV OP2("1", "sub", "c", "s") OP2("2", "mul", "y", "1") OP1("0", "tanh", "2"), false},
    {"bare", CONV OP2("0", "add", "c", "c"), false},
    {"maximum", MAX_POOL OP1("0", "neg", "c"), true},
    {"maximum_scaled", MAX_POOL OP2("1", "mul", "c", "s") OP2("0", "sub", "1", "t"), true},
    {"average", AVERAGE OP2("0", "mul", "c", "s"), true},
};
enum { N_FORMS = sizeof forms / sizeof *forms };

typedef struct shape {
  int c, h, w, r, stride, pad;
} shape;

static float data[5][MOST_NUMBERS], out[2][MOST_NUMBERS];

static void fill(void) {
  uint32_t s = 1;
  for (int i = 0; i < 5; i++)
    for (int e = 0; e < MOST_NUMBERS; e++) {
      s = s * 1664525u + 1013904223u;
      data[i][e] = (s >> 8) % 977 ? (float)((int)(s >> 8) % 2001 - 1000) / 256 : s & 1 << 30 ? NAN : INFINITY;
    }
}

static int out_side(int n, const shape *x) { return (n + 2 * x->pad - x->r) / x->stride + 1; }

/* Of channels [first, first + c); to: as many results. *blocks: of the last kernel. */
static void run(tsr_context *ctx, tsr_device *dev, const form *f, const shape *x, int c, int first, float *to,
                int64_t *blocks) {
  char body[1600], text[4000], *target;
  const int oh = out_side(x->h, x), ow = out_side(x->w, x);
  const int r = f->pool ? x->r : c;
  if (f->pool) snprintf(body, sizeof body, f->body, r, r, x->stride, x->stride, x->pad, x->pad, x->pad, x->pad);
  else snprintf(body, sizeof body, f->body, c, x->stride, x->stride, x->pad, x->pad, x->pad, x->pad);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<1x%dx%dx%dxf32>, %%k: tensor<%dx1x%dx%dxf32>, %%s: "
           "tensor<1x%dx1x1xf32>, %%t: tensor<1x%dx1x1xf32>, %%y: tensor<1x%dx%dx%dxf32>):\n%s"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           c, x->h, x->w, c, x->r, x->r, c, c, c, oh, ow, body);
  const int each[5] = {x->h * x->w, x->r * x->r, 1, 1, oh * ow};
  tsr_program *p;
  tsr_binding in[5] = {{0}}, o = {0};
  OK(tsr_program_parse(dev, text, strlen(text), f->name, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  for (int i = 0; i < 5; i++) {
    const size_t bytes = sizeof(float) * (size_t)(c * each[i]);
    OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i] + first * each[i], bytes));
  }
  OK(tsr_buffer_create(dev, sizeof(float) * (size_t)(c * oh * ow), TSR_MEMORY_DEVICE, &o.buffer));
  OK(tsr_program_run(p, NULL, in, &o));
  OK(tsr_buffer_read(o.buffer, 0, to, sizeof(float) * (size_t)(c * oh * ow)));
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL));
  const char *grid = NULL;
  for (const char *at = target; (at = strstr(at, "grid = [")); at++) grid = at;
  assert_non_null(grid);
  *blocks = 1;
  for (grid += strlen("grid = ["); *grid != ']'; grid += strcspn(grid, ",]"), grid += *grid == ',')
    *blocks *= strtoll(grid, NULL, 10);
  tsr_text_free(ctx, &target);
  for (int i = 0; i < 5; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&o.buffer);
  tsr_program_destroy(&p);
}

static bool same_bits(const float *a, const float *b, int n) {
  for (int i = 0; i < n; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) return false;
  return true;
}

static void planes_of_a_block_have_the_bits_of_their_own(void **state) {
  static const shape shapes[] = {
      {64, 7, 7, 3, 1, 1},    {256, 14, 14, 5, 1, 2}, {96, 8, 5, 3, 2, 1}, {100, 1, 9, 1, 1, 0}, {34, 3, 3, 3, 1, 0},
      {272, 2, 2, 2, 2, 0},   {32, 33, 32, 3, 1, 1},  {48, 16, 16, 3, 1, 1}, {64, 28, 28, 3, 2, 1},
  };
  tsr_context *ctx;
  tsr_device *dev;
  int joined = 0;
  fill();
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
    for (int i = 0; i < N_FORMS; i++) {
      shape of = shapes[k], *x = &of;
      if (forms[i].pool) of.pad = 0; /* it would be a kernel of its own */
      const int n = out_side(x->h, x) * out_side(x->w, x);
      int64_t blocks, few;
      run(ctx, dev, &forms[i], x, x->c, 0, out[0], &blocks);
      joined += blocks < x->c;
      for (int first = 0; first < x->c; first += FEW) {
        const int c = x->c - first < FEW ? x->c - first : FEW;
        run(ctx, dev, &forms[i], x, c, first, out[1] + first * n, &few);
      }
      if (!same_bits(out[0], out[1], x->c * n)) fail_msg("%s of shape %zu: other bits", forms[i].name, k);
    }
  assert_true(joined >= 20);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* How many blocks are left: enough for all threads, no more planes than fit in L1, all as many. */
static void blocks_are_joined_where_they_may_be(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  int64_t blocks;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  const int64_t cores = tsr_device_get_info(dev)->n_cores, least = 2 * cores > 16 ? 2 * cores : 16;
  static const shape shapes[] = {{256, 7, 7, 3, 1, 1}, {31, 7, 7, 3, 1, 1}, {96, 14, 14, 3, 1, 1}, {128, 33, 33, 3, 1, 1}};
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    const int64_t c = shapes[k].c, elements = out_side(shapes[k].h, &shapes[k]) * out_side(shapes[k].w, &shapes[k]);
    run(ctx, dev, &forms[0], &shapes[k], shapes[k].c, 0, out[0], &blocks);
    assert_int_equal(c % blocks, 0);
    assert_true(blocks == c || (blocks >= least && c / blocks <= 16 && c / blocks * elements <= 4096));
    if (c == 256 && least == 16) assert_int_equal(blocks, 16);
    if (c == 31) assert_int_equal(blocks, 31);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(planes_of_a_block_have_the_bits_of_their_own),
      cmocka_unit_test(blocks_are_joined_where_they_may_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
