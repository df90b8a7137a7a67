/* Matrices of few bits as GPTQ and AWQ lay them out: blocks hold exactly what was packed, products read them; files
 * that lie are refused. */
#include "core/import/packed_weights.h"

#include "core/base/dtype.h"
#include "tests/unit/weights_read.h"

#include "tests/support/api_check.h"
#include "tessera/weights.h"

enum { MOST_ROWS = 24, MOST_COLUMNS = 128 };

/* A matrix, and how it is laid out. */
typedef struct matrix {
  int rows, columns, group, bits;
  bool awq, centred, order;
  int q[MOST_ROWS][MOST_COLUMNS], zero[MOST_ROWS][MOST_COLUMNS / 32];
  double scale[MOST_ROWS][MOST_COLUMNS / 32];
} matrix;

static unsigned next_random(uint32_t *s) { return (*s = *s * 1664525u + 1013904223u) >> 16; }

static void fill(matrix *m, uint32_t seed) {
  const int most = 1 << m->bits;
  for (int r = 0; r < m->rows; r++) {
    for (int k = 0; k < m->columns; k++) m->q[r][k] = (int)(next_random(&seed) % (unsigned)most);
    for (int g = 0; g < m->columns / m->group; g++) {
      const int free_zero = m->awq ? (int)(next_random(&seed) % 16) : 1 + (int)(next_random(&seed) % 16);
      m->zero[r][g] = m->bits == 8 ? 128 : m->centred ? 8 : free_zero;
      m->scale[r][g] = (1 + next_random(&seed) % 1023) / 4096.0; /* f16 holds it */
    }
  }
}

static bytes_buf file;
static const int awq_order[8] = {0, 2, 4, 6, 1, 3, 5, 7};

static void put_words(const matrix *m, bool zeros) {
  const int per = 32 / m->bits, n = zeros ? m->columns / m->group : m->columns;
  if (m->awq || zeros)
    for (int k = 0; k < n; k++)
      for (int r = 0; r < m->rows; r += per) {
        uint32_t v = 0;
        for (int i = 0; i < per; i++) {
          const int row = r + (m->awq ? awq_order[i] : i);
          v |= (uint32_t)(zeros ? m->zero[row][k] - !m->awq : m->q[row][k]) << i * m->bits;
        }
        put_le(&file, v, 4);
      }
  else
    for (int k = 0; k < n; k += per)
      for (int r = 0; r < m->rows; r++) {
        uint32_t v = 0;
        for (int i = 0; i < per; i++) v |= (uint32_t)m->q[r][k + i] << i * m->bits;
        put_le(&file, v, 4);
      }
}

static void build(const matrix *m, const char *scales_type) {
  const int per = 32 / m->bits, groups = m->columns / m->group;
  const int q_bytes = m->rows * m->columns * m->bits / 8, z_bytes = groups * m->rows * m->bits / 8,
            s_bytes = 2 * groups * m->rows, o_bytes = m->order ? 4 * m->columns : 0;
  char header[1024];
  int n = snprintf(header, sizeof header,
                   "{\"l.qweight\":{\"dtype\":\"I32\",\"shape\":[%d,%d],\"data_offsets\":[0,%d]},"
                   "\"l.qzeros\":{\"dtype\":\"I32\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]},"
                   "\"l.scales\":{\"dtype\":\"%s\",\"shape\":[%d,%d],\"data_offsets\":[%d,%d]}",
                   m->awq ? m->columns : m->columns / per, m->awq ? m->rows / per : m->rows, q_bytes, groups,
                   m->rows / per, q_bytes, q_bytes + z_bytes, scales_type, groups, m->rows, q_bytes + z_bytes,
                   q_bytes + z_bytes + s_bytes);
  if (m->order)
    n += snprintf(header + n, sizeof header - (size_t)n,
                  ",\"l.g_idx\":{\"dtype\":\"I32\",\"shape\":[%d],\"data_offsets\":[%d,%d]}", m->columns,
                  q_bytes + z_bytes + s_bytes, q_bytes + z_bytes + s_bytes + o_bytes);
  snprintf(header + n, sizeof header - (size_t)n, "}");
  build_safetensors(&file, header, NULL, 0);
  put_words(m, false);
  put_words(m, true);
  for (int g = 0; g < groups; g++)
    for (int r = 0; r < m->rows; r++) {
      unsigned char half[2];
      dtype_store(TSR_F16, half, 0, m->scale[r][g]);
      put_raw(&file, half, 2);
    }
  for (int k = 0; k < m->columns && m->order; k++) put_le(&file, (uint64_t)(k / m->group), 4);
}

static void check(const matrix *m, const char *format) {
  weights *w;
  arena a;
  packed_weights p;
  arena_init(&a, NULL);
  assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
  assert_true(packed_weights_has(w, "l.weight"));
  tsr_status st = packed_weights_read(w, "l.weight", &a, &p);
  if (st) fail_msg("%s", tsr_status_message(st));
  assert_true(p.rows == m->rows && p.columns == m->columns);
  assert_string_equal(p.format->name, format);
  for (int r = 0; r < m->rows; r++)
    for (int k = 0; k < m->columns; k += 32) {
      float block[BLOCK_MOST_ELEMENTS];
      p.format->dequantize(p.blocks + (size_t)(r * m->columns + k) / 32 * p.format->bytes, block);
      for (int i = 0; i < 32; i++) {
        const int g = (k + i) / m->group;
        const double want = m->scale[r][g] * (m->q[r][k + i] - m->zero[r][g]);
        if ((double)block[i] != want) fail_msg("row %d, column %d: %g, not %g", r, k + i, (double)block[i], want);
      }
    }
  arena_clear(&a);
  weights_close(&w);
}

static void blocks_hold_what_was_packed(void **state) {
  static const struct {
    int rows, columns, group, bits;
    bool awq, centred, order;
    const char *format;
  } cases[] = {{16, 64, 32, 4, false, true, true, "q4_0"},  {8, 32, 32, 4, false, true, false, "q4_0"},
               {16, 128, 64, 4, false, false, true, "q8_0"}, {24, 128, 128, 4, true, false, false, "q8_0"},
               {8, 64, 32, 4, true, true, false, "q4_0"},   {12, 64, 32, 8, false, false, true, "q8_0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    static matrix m;
    m = (matrix){.rows = cases[i].rows, .columns = cases[i].columns, .group = cases[i].group, .bits = cases[i].bits,
                 .awq = cases[i].awq, .centred = cases[i].centred, .order = cases[i].order};
    fill(&m, (uint32_t)i + 1);
    build(&m, "F16");
    check(&m, cases[i].format);
  }
}

static void lies(const char *says) {
  weights *w;
  arena a;
  packed_weights p;
  arena_init(&a, NULL);
  assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
  tsr_status st = packed_weights_read(w, "l.weight", &a, &p);
  if (!st || !strstr(tsr_status_message(st), says) || strchr(tsr_status_message(st), '\n'))
    fail_msg("wanted %s: %s", says, tsr_status_message(st));
  tsr_status_free(st);
  arena_clear(&a);
  weights_close(&w);
}

/* Replaces a text in the header by one of the same length. */
static void change(const char *from, const char *to) {
  assert_int_equal(strlen(from), strlen(to));
  for (size_t i = 8; i + strlen(from) <= file.n; i++)
    if (!memcmp(file.p + i, from, strlen(from))) {
      memcpy(file.p + i, to, strlen(to));
      return;
    }
  fail_msg("no %s", from);
}

static void files_that_lie_are_refused(void **state) {
  static matrix m;
  m = (matrix){.rows = 16, .columns = 64, .group = 32, .bits = 4, .order = true};
  fill(&m, 7);
  build(&m, "BF16");
  lies("scales one of f16");
  static const struct { const char *from, *to, *says; } bad[] = {
      {"l.qzeros", "l.qother", "matrices of i32"},
      {"l.scales", "l.scaled", "matrices of i32"},
      {"\"shape\":[2,2]", "\"shape\":[4,1]", "4 bits are read"},
      {"\"shape\":[2,2]", "\"shape\":[1,4]", "don't fit each other"},
      {"\"shape\":[2,16]", "\"shape\":[16,2]", "4 bits are read"},
      {"\"shape\":[2,16]", "\"shape\":[32,1]", "4 bits are read"},
      {"\"shape\":[8,16]", "\"shape\":[16,8]", "don't fit each other"},
      {"\"shape\":[8,16]", "\"shape\":[4,32]", "don't fit each other"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    build(&m, "F16");
    change(bad[i].from, bad[i].to);
    lies(bad[i].says);
  }
  build(&m, "F16");
  file.p[file.n - 4]++; /* the last column is of a group of its own */
  lies("another order than their groups");
  m = (matrix){.rows = 8, .columns = 32, .group = 16, .bits = 4};
  fill(&m, 8);
  build(&m, "F16");
  lies("a multiple of 32");
  m = (matrix){.rows = 8, .columns = 32, .group = 32, .bits = 8};
  fill(&m, 9);
  m.zero[3][0] = 1;
  m.q[3][5] = 255;
  build(&m, "F16");
  lies("more than 127");
}

/* y = x W^T by the public interface. Sums of 128 products of f32: some roundings of the largest. */
static void products_read_them(void **state) {
  enum { ROWS = 24, COLUMNS = 128 };
  static matrix m;
  char path[] = "/tmp/tessera_packed_XXXXXX";
  float x[COLUMNS], y[ROWS];
  tsr_context *ctx;
  tsr_device *dev;
  tsr_weights *w;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *in, *out;
  tsr_value v[2];
  m = (matrix){.rows = ROWS, .columns = COLUMNS, .group = 64, .bits = 4};
  fill(&m, 3);
  build(&m, "F16");
  FILE *f = fdopen(mkstemp(path), "wb");
  assert_true(f && fwrite(file.p, 1, file.n, f) == file.n && !fclose(f));
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_weights_open(ctx, path, &w));
  OK(tsr_graph_create(ctx, NULL, &g));
  OK(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {1, COLUMNS}}, &v[0]));
  OK(tsr_graph_weight(g, w, "l.weight", &v[1]));
  tsr_weights_close(&w);
  OK(tsr_graph_op(g, "matmul", v, 2, &(tsr_attr)TSR_BOOLEAN("transpose_b", true), 1, v));
  OK(tsr_graph_output(g, v[0]));
  OK(tsr_program_compile(dev, g, NULL, &p));
  OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in));
  OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
  for (int k = 0; k < COLUMNS; k++) x[k] = (float)(k % 7 - 3) / 4;
  OK(tsr_buffer_write(in, 0, x, sizeof x));
  OK(tsr_program_run(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, y, sizeof y));
  for (int r = 0; r < ROWS; r++) {
    double want = 0;
    for (int k = 0; k < COLUMNS; k++) want += (double)x[k] * m.scale[r][k / 64] * (m.q[r][k] - m.zero[r][k / 64]);
    if (!(want - (double)y[r] < 1e-3 && (double)y[r] - want < 1e-3))
      fail_msg("row %d: %g, not %g", r, (double)y[r], want);
  }
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  remove(path);
}

static void other_names_are_not_packed(void **state) {
  static matrix m;
  weights *w;
  m = (matrix){.rows = 8, .columns = 32, .group = 32, .bits = 4, .centred = true};
  fill(&m, 1);
  build(&m, "F16");
  assert_null(weights_parse(NULL, file.p, file.n, "file", &w));
  const char *const names[] = {"l", "", ".weight", "l.qweight", "l.bias", "m.weight", "l.weights"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_false(packed_weights_has(w, names[i]));
  weights_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(blocks_hold_what_was_packed),
                                     cmocka_unit_test(files_that_lie_are_refused),
                                     cmocka_unit_test(products_read_them),
                                     cmocka_unit_test(other_names_are_not_packed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
