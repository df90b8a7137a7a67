/* Kernels by hand on the CPU whose windows reach over the ends of their views, where memory reads as 0: rows that
 * reduction kernels read where they lie. And values that lie in one another's memory, for as long as they are read. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/product_rig.h"

enum { MOST = 40 * 40 };

static const char frame[] =
    "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%%A: tensor<%dx%dxf32>):\n"
    "%%C = \"tessera.tile.buffer\"() : () -> tensor<%dx%dxf32>\n\"tessera.tile.launch\"(%%A, %%C) {kernel = \"k\"}\n"
    "\"tessera.tile.return\"(%%C)\n}) {sym_name = \"main\"}\n\"tessera.tile.kernel\"() ({\n"
    "^bb0(%%x: !tessera.view<%dx%dxf32>, %%y: !tessera.view<%dx%dxf32>):\n"
    "%%zero = \"tessera.tile.const\"() {value = 0}\n%%ro = \"tessera.tile.const\"() {value = %d}\n"
    "%%co = \"tessera.tile.const\"() {value = %d}\n"
    "%%wx = \"tessera.tile.window\"(%%x, %%ro, %%co) {sizes = [%d, %d]}\n%%v = \"tessera.tile.load\"(%%wx)\n%s"
    "%%wy = \"tessera.tile.window\"(%%y, %%zero, %%zero) {sizes = [%d, %d]}\n"
    "\"tessera.tile.store\"(%%r, %%wy)\n\"tessera.tile.return\"()\n"
    "}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n})\n";

#define MAP2(r, a, b, op)                                                                                  \
  "%" r " = \"tessera.tile.map\"(%" a ", %" b ") ({\n^bb0(%p" r ": f32, %q" r ": f32):\n%z" r              \
  " = \"tessera.tile." op "\"(%p" r ", %q" r ")\n\"tessera.tile.yield\"(%z" r ")\n})\n"
#define REDUCE(r, a, op) "%" r " = \"tessera.tile.reduce\"(%" a ") {axis = 1, op = \"" op "\"}\n"

static const char softmax[] = REDUCE("m", "v", "max") "%e = \"tessera.tile.map\"(%v, %m) ({\n^bb0(%p: f32, %q: f32):\n"
    "%d = \"tessera.tile.sub\"(%p, %q)\n%f = \"tessera.tile.exp\"(%d)\n\"tessera.tile.yield\"(%f)\n})\n"
    REDUCE("s", "e", "sum") MAP2("r", "e", "s", "div");

/* v / sqrt(sum v^2 + 1) */
static const char norm[] = MAP2("s", "v", "v", "mul") REDUCE("t", "s", "sum")
    "%f = \"tessera.tile.map\"(%t) ({\n^bb0(%p: f32):\n%c = \"tessera.tile.const\"() {value = 1.0} : () -> f32\n"
    "%a = \"tessera.tile.add\"(%p, %c)\n%g = \"tessera.tile.rsqrt\"(%a)\n\"tessera.tile.yield\"(%g)\n})\n"
    MAP2("r", "v", "f", "mul");

typedef enum what { SOFTMAX, NORM, SUM, MAX, N_WHAT } what;
static const char *const bodies[N_WHAT] = {softmax, norm, REDUCE("r", "v", "sum"), REDUCE("r", "v", "max")};

typedef struct edges {
  int rows, columns;     /* of the operand */
  int from_row, from_column, tile_rows, tile_columns;
  int to_rows, to_columns; /* of the result */
} edges;

static void run_text(const char *text, const float *x, size_t n_in, float *y, size_t n_out) {
  rig r = open_rig();
  tsr_program *p;
  tsr_binding in = {NULL, 0}, out = {NULL, 0};
  OK(tsr_program_parse(r.dev, text, strlen(text), "edges.mlir", NULL, &p));
  OK(tsr_buffer_create(r.dev, n_in * 4, TSR_MEMORY_HOST, &in.buffer));
  OK(tsr_buffer_create(r.dev, n_out * 4, TSR_MEMORY_HOST, &out.buffer));
  OK(tsr_buffer_write(in.buffer, 0, x, n_in * 4));
  OK(tsr_program_run(p, NULL, &in, &out));
  OK(tsr_buffer_read(out.buffer, 0, y, n_out * 4));
  tsr_buffer_destroy(&in.buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  close_rig(&r);
}

static double want(const edges *g, what w, const float *x, int row, int column) {
  double v = 0, sum = 0, squares = 0, largest = -INFINITY, exps = 0, at = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int c = 0; c < g->tile_columns; c++) {
      const int i = g->from_row + row, k = g->from_column + c;
      v = i < g->rows && k < g->columns ? (double)x[i * g->columns + k] : 0;
      if (pass) exps += exp(v - largest);
      else sum += v, squares += v * v, largest = v > largest ? v : largest;
      if (c == column) at = v;
    }
  return w == SUM ? sum : w == MAX ? largest : w == NORM ? at / sqrt(squares + 1) : exp(at - largest) / exps;
}

static void check(const edges *g, what w) {
  static char text[8192];
  static float x[MOST], y[MOST];
  const bool narrow = w == SUM || w == MAX;
  const int to_columns = narrow ? 1 : g->to_columns, tile_columns = narrow ? 1 : g->tile_columns;
  for (int i = 0; i < g->rows * g->columns; i++) x[i] = value_at((size_t)i, w) - 2; /* below 0: a lost 0 would count */
  snprintf(text, sizeof text, frame, g->rows, g->columns, g->to_rows, to_columns, g->rows, g->columns, g->to_rows,
           to_columns, g->from_row, g->from_column, g->tile_rows, g->tile_columns, bodies[w], g->tile_rows,
           tile_columns);
  run_text(text, x, (size_t)(g->rows * g->columns), y, (size_t)(g->to_rows * to_columns));
  for (int r = 0; r < g->to_rows && r < g->tile_rows; r++)
    for (int c = 0; c < to_columns && c < tile_columns; c++) {
      const double expected = want(g, w, x, r, c), got = (double)y[r * to_columns + c];
      if (!(fabs(got - expected) <= 1e-6 * (1 + fabs(expected)) * g->tile_columns)) /* sums of so many terms in f32 */
        fail_msg("%d of %dx%d from %d, %d: element %d, %d is %g, not %g", (int)w, g->rows, g->columns, g->from_row,
                 g->from_column, r, c, got, expected);
    }
}

static void what_a_window_misses_of_rows_reads_as_0(void **state) {
  static const edges cases[] = {
      {5, 33, 0, 0, 5, 33, 5, 33},  {5, 33, 0, 0, 8, 33, 8, 33},  /* rows behind the end */
      {5, 33, 0, 0, 5, 40, 5, 40},  {5, 33, 0, 7, 5, 33, 5, 33},  /* columns */
      {5, 33, 3, 9, 8, 33, 8, 33},  {5, 33, 20, 0, 4, 33, 4, 33}, /* both; all rows */
      {5, 33, 0, 40, 5, 33, 5, 33}, {5, 33, 20, 40, 3, 5, 3, 5},  /* all columns; all of it */
      {5, 33, 0, 0, 5, 33, 5, 20},  {5, 33, 0, 0, 5, 33, 2, 33},  /* a result of fewer columns, of fewer rows */
      {5, 33, 2, 0, 8, 33, 6, 20},  {1, 2, 0, 0, 1, 2, 1, 2},     {1, 1, 0, 0, 2, 3, 2, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int w = 0; w < N_WHAT; w++) check(&cases[i], (what)w);
}

#define SHARED_TILE                                                                    \
  "%t = \"tessera.tile.alloc\"() : () -> !tessera.shared<4x8xf32>\n\"tessera.tile.copy\"(%wx, %t)\n" \
  "\"tessera.tile.barrier\"()\n%a = \"tessera.tile.load\"(%t)\n"

/* A load of a shared tile lies in it: the tile isn't over at the load, nor may what is made of one load take its place
 * while another is read. */
static void a_tile_stays_as_long_as_its_loads(void **state) {
  static const struct { const char *body; float factor; } cases[] = {
      {SHARED_TILE "%fill = \"tessera.tile.fill\"() {value = 9.0} : () -> !tessera.frag<4x8xf32>\n"
       "%n = \"tessera.tile.load\"(%wx)\n%f2 = \"tessera.tile.transpose\"(%fill) {perm = [1, 0]}\n"
       "%f3 = \"tessera.tile.transpose\"(%f2) {perm = [1, 0]}\n" MAP2("b", "a", "n", "add")
       MAP2("c", "b", "f3", "add") MAP2("r", "c", "f3", "sub"), 2},
      {SHARED_TILE "%b = \"tessera.tile.load\"(%t)\n" MAP2("c", "a", "a", "add") MAP2("r", "c", "b", "add"), 3},
      {SHARED_TILE MAP2("c", "a", "a", "add") "%d = \"tessera.tile.load\"(%t)\n" MAP2("r", "c", "d", "add"), 3}};
  float x[32], y[32];
  static char text[8192];
  for (int i = 0; i < 32; i++) x[i] = (float)(i - 11);
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    snprintf(text, sizeof text, frame, 4, 8, 4, 8, 4, 8, 4, 8, 0, 0, 4, 8, cases[k].body, 4, 8);
    run_text(text, x, 32, y, 32);
    for (int i = 0; i < 32; i++)
      if (y[i] != x[i] * cases[k].factor) fail_msg("case %zu, element %d: %g of %g", k, i, (double)y[i], (double)x[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_window_misses_of_rows_reads_as_0),
                                     cmocka_unit_test(a_tile_stays_as_long_as_its_loads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
