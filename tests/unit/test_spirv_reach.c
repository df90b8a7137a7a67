/* What blocks reach of buffers that a descriptor doesn't take whole: random indices, each computed for every block,
 * thread and turn of the loop, keep within the windows that were found; the slabs are the grid, each block once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/emit/spirv/spirv.h"
#include "tests/support/spirv_check.h"

enum { GRID_X = 12, GRID_Y = 7, THREADS = 32, TURNS = 5, MOST = 24, ELEMENTS = 20000, RANGE = 16384 };

/* One step of an index: of earlier values a and b, or the number k. */
typedef struct step {
  int op, a, b;
  int64_t k;
} step;
enum { ADD, SUB, MULK, DIVK, REMK, ANDK, MINK, MAXK, SHRK, XOR, CHOOSE, N_OPS };
static const char *const names[N_OPS] = {"add", "sub", "mul", "div", "rem",   "and",
                                         "min", "max", "shr", "xor", "select"};
enum { BX, BY, TID, TURN, LEAVES };

typedef struct problem {
  step s[MOST];
  int n;
} problem;

static problem drawn(void) {
  problem p = {.n = 3 + rand() % (MOST - 3)};
  static const int64_t constants[N_OPS] = {
      [MULK] = 700, [DIVK] = 9, [REMK] = 300, [MINK] = 5000, [MAXK] = 900, [SHRK] = 4};
  for (int i = 0; i < p.n; i++) {
    step *s = &p.s[i];
    *s = (step){rand() % N_OPS, rand() % (LEAVES + i), rand() % (LEAVES + i), 1 + rand() % (constants[0] + 8)};
    if (constants[s->op]) s->k = 1 + rand() % constants[s->op];
    if (s->op == ANDK) s->k = rand() % 2 ? 31 : rand() % 100;
    if (s->op == MINK || s->op == MAXK) s->k -= 200;
  }
  p.s[0] = (step){MULK, rand() % 2 ? BX : BY, BX, 600 + rand() % 1000}; /* mostly far apart */
  if (rand() % 4) p.s[p.n - 1] = (step){ADD, LEAVES, p.s[p.n - 1].b, 0};
  else p.s[p.n - 1].op = ADD;
  return p;
}

static int64_t limited(int64_t x) { return x > 1000000 ? 1000000 : x < -1000000 ? -1000000 : x; }

/* Kept small, as the text does by min and max. */
static int64_t computed(const problem *p, const int64_t *leaf) {
  int64_t v[LEAVES + MOST];
  memcpy(v, leaf, LEAVES * sizeof *v);
  for (int i = 0; i < p->n; i++) {
    const step *s = &p->s[i];
    int64_t a = v[s->a], b = v[s->b], k = s->k, *r = &v[LEAVES + i];
    switch (s->op) {
      case ADD: *r = a + b; break;
      case SUB: *r = a - b; break;
      case MULK: *r = a * k; break;
      case DIVK: *r = a / k; break;
      case REMK: *r = a % k; break;
      case ANDK: *r = a & k; break;
      case MINK: *r = a < k ? a : k; break;
      case MAXK: *r = a > k ? a : k; break;
      case SHRK: *r = a >> k; break;
      case XOR: *r = a ^ b; break;
      default: *r = a < b ? a : b / 2; break;
    }
    *r = limited(*r);
  }
  return v[LEAVES + p->n - 1];
}

static char text[1 << 15];

static void put(const char *format, ...) {
  size_t n = strlen(text);
  va_list args;
  va_start(args, format);
  vsnprintf(text + n, sizeof text - n, format, args);
  va_end(args);
}

static void constant(const char *name, int64_t value) {
  put("  %%%s = \"tessera.target.const\"() {value = %lld} : () -> index\n", name, (long long)value);
}

static void two(const char *r, const char *op, const char *a, const char *b) {
  put("  %%%s = \"tessera.target.%s\"(%%%s, %%%s) : (index, index) -> index\n", r, op, a, b);
}

static void put_step(const step *s, int i) {
  char r[16], k[16], a[16], b[16], raw[16], low[16], half[16];
  snprintf(r, sizeof r, "v%d", LEAVES + i), snprintf(k, sizeof k, "k%d", i), snprintf(raw, sizeof raw, "r%d", i);
  snprintf(a, sizeof a, "v%d", s->a), snprintf(b, sizeof b, "v%d", s->b), snprintf(low, sizeof low, "l%d", i);
  snprintf(half, sizeof half, "h%d", i);
  if (s->op == CHOOSE) {
    two(half, "div", b, "two");
    put("  %%c%d = \"tessera.target.compare\"(%%%s, %%%s) {predicate = \"lt\"} : (index, index) -> i1\n", i, a, b);
    put("  %%%s = \"tessera.target.select\"(%%c%d, %%%s, %%%s) : (i1, index, index) -> index\n", raw, i, a, half);
  } else {
    bool of_k = s->op >= MULK && s->op <= SHRK;
    if (of_k) constant(k, s->k);
    two(raw, names[s->op], a, of_k ? k : b);
  }
  two(low, "min", raw, "most");
  two(r, "max", low, "least");
}

static void write_text(const problem *p) {
  *text = 0;
  put("\"tessera.target.program\"() ({\n^bb0(%%a: tensor<%dxf32>):\n  %%c = \"tessera.target.buffer\"() : () -> "
      "tensor<4xf32>\n  \"tessera.target.launch\"(%%a, %%c) {kernel = \"k\"} : (tensor<%dxf32>, tensor<4xf32>) -> ()\n"
      "  \"tessera.target.return\"(%%c) : (tensor<4xf32>) -> ()\n}) {sym_name = \"f\"} : () -> ()\n",
      ELEMENTS, ELEMENTS);
  put("\"tessera.target.kernel\"() ({\n^bb0(%%p: !tessera.ptr<f32, \"global\">, %%o: !tessera.ptr<f32, "
      "\"global\">):\n");
  constant("zero", 0), constant("one", 1), constant("two", 2), constant("turns", TURNS), constant("most", 1000000),
      constant("least", -1000000);
  put("  %%v%d = \"tessera.target.block_id\"() {axis = 0} : () -> index\n", BX);
  put("  %%v%d = \"tessera.target.block_id\"() {axis = 1} : () -> index\n", BY);
  put("  %%v%d = \"tessera.target.thread_id\"() : () -> index\n", TID);
  put("  \"tessera.target.for\"(%%zero, %%turns, %%one) ({\n  ^bb0(%%v%d: index):\n", TURN);
  for (int i = 0; i < p->n; i++) put_step(&p->s[i], i);
  put("  %%x = \"tessera.target.load\"(%%p, %%v%d) {align = 4} : (!tessera.ptr<f32, \"global\">, index) -> "
      "vector<2xf32>\n"
      "  %%y = \"tessera.target.extract\"(%%x) {at = 0} : (vector<2xf32>) -> f32\n"
      "  \"tessera.target.store\"(%%y, %%o, %%zero) : (f32, !tessera.ptr<f32, \"global\">, index) -> ()\n"
      "  \"tessera.target.yield\"() : () -> ()\n  }) : (index, index, index) -> ()\n"
      "  \"tessera.target.return\"() : () -> ()\n}) {sym_name = \"k\", dialect = \"spirv\", grid = [%d, %d, 1], "
      "block = [%d, 1, 1], subgroup = 8} : () -> ()\n",
      LEAVES + p->n - 1, GRID_X, GRID_Y, THREADS);
}

/* What a block reaches: bytes *from to *to, or nothing. */
static void reached(const problem *p, int x, int y, int64_t *from, int64_t *to) {
  *from = INT64_MAX, *to = -1;
  for (int t = 0; t < THREADS; t++)
    for (int turn = 0; turn < TURNS; turn++) {
      int64_t at = 4 * computed(p, (int64_t[]){x, y, t, turn}), end = at + 8;
      if (at < 0) at = 0;
      if (end > 4 * ELEMENTS) end = 4 * ELEMENTS;
      if (at >= end) continue;
      if (at < *from) *from = at;
      if (end > *to) *to = end;
    }
}

static void check_slabs(const problem *p, const be_kernel_desc *d) {
  int times[GRID_Y][GRID_X] = {{0}};
  for (int i = 0; i < d->n_slabs; i++) {
    const be_slab *s = &d->slabs[i];
    assert_true(s->to[0] > s->from[0] && s->to[0] - s->from[0] <= RANGE - 256 && s->to[0] <= 4 * ELEMENTS);
    assert_true(s->from[1] == 0 && s->to[1] == 16); /* small: bound whole */
    for (int64_t y = s->first[1]; y < s->first[1] + s->n[1]; y++)
      for (int64_t x = s->first[0]; x < s->first[0] + s->n[0]; x++) {
        int64_t from, to;
        times[y][x]++;
        reached(p, (int)x, (int)y, &from, &to);
        if (to >= 0 && (from < s->from[0] || to > s->to[0]))
          fail_msg("block %d, %d reaches %d to %d, bound is %d to %d\n%s", (int)x, (int)y, (int)from, (int)to,
                   (int)s->from[0], (int)s->to[0], text);
      }
  }
  for (int y = 0; y < GRID_Y; y++)
    for (int x = 0; x < GRID_X; x++) assert_int_equal(times[y][x], 1);
}

static tsr_status emitted(int64_t range, arena *a, be_module_desc *out) {
  ir_module *m = NULL;
  tsr_caps caps = spirv_full_caps();
  caps.descriptors = true, caps.max_range_bytes = range;
  tsr_status st = ir_parse(&a->al, text, strlen(text), "test", &m);
  if (!st) st = ir_verify(m);
  if (!st) st = emit_spirv(m, &caps, a, out);
  ir_module_destroy(&m);
  return st;
}

static void every_block_keeps_within_its_window(void **state) {
  int cut = 0, refused = 0;
  srand(20261127);
  for (int i = 0; i < 400; i++) {
    arena a;
    be_module_desc d;
    problem p = drawn();
    arena_init(&a, NULL);
    write_text(&p);
    tsr_status st = emitted(RANGE, &a, &d);
    if (st) {
      if (tsr_status_code(st) != TSR_UNSUPPORTED || !strstr(tsr_status_message(st), "one block reaches "))
        fail_msg("%s\n%s", tsr_status_message(st), text);
      refused++;
      tsr_status_free(st);
    } else {
      assert_int_equal(d.n_kernels, 1);
      check_slabs(&p, &d.kernels[0]);
      cut += d.kernels[0].n_slabs > 1;
    }
    arena_clear(&a);
  }
  if (cut < 60 || refused > 240) fail_msg("%d cut, %d refused", cut, refused);
}

/* A range that holds all, and none that is asked for, cuts nothing. */
static void what_fits_is_launched_at_once(void **state) {
  static const int64_t ranges[] = {4 * ELEMENTS, 0, 4 * ELEMENTS + 1};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
    arena a;
    be_module_desc d;
    problem p = {.s = {{ADD, TID, TURN, 0}}, .n = 1};
    arena_init(&a, NULL);
    write_text(&p);
    assert_null(emitted(ranges[i], &a, &d));
    assert_int_equal(d.kernels[0].n_slabs, 0);
    arena_clear(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_block_keeps_within_its_window),
                                     cmocka_unit_test(what_fits_is_launched_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
