/* The micro-kernel of elementwise programs, of every instruction set that this machine has, beside the kernels over
 * strips: random programs over rows of every length around a vector and a block, with folds among their steps,
 * operands with strides, of a row alone or of all rows, rows next to each other or apart, and results in place. The
 * same bits (of NaNs: that there is one), and nothing written but the result. */
#include "backends/cpu/kernels/map_fold.h"
#include "tests/support/cpu_kernels_test.h"

enum { MOST_IN = 6, MOST_STEPS = 16, MOST_N = 1100, MOST_ROWS = 3, MEMORY = MOST_ROWS * 3 * MOST_N, ROW = MOST_N + 5 };

static const uint8_t binary[] = {SC_ADD, SC_SUB, SC_MUL, SC_DIV, SC_MIN, SC_MAX},
                     unary[] = {SC_NEG, SC_ABS, SC_RELU, SC_SQRT, SC_EXP, SC_SIGMOID, SC_TANH, SC_FLOOR, SC_SILU};

typedef struct problem {
  cpuk_map_step steps[MOST_STEPS];
  cpuk_map_operand in[MOST_IN];
  cpuk_map_constant constants[2];
  cpuk_map_args args;
  size_t varying;
  int level[CPUK_MAP_REGS];
  uint8_t known[CPUK_MAP_REGS]; /* the registers that have a value */
  size_t n_known;
} problem;

static float memory[MOST_IN][MEMORY], out[MOST_ROWS * ROW], copy[MOST_ROWS * ROW], file[1 << 15]
    __attribute__((aligned(64))), value[CPUK_MAP_REGS][MOST_N];

/* Of magnitudes that programs stay finite with, and of those that they don't. */
static float draw_number(void) {
  switch (test_u32() % 16) {
    case 0: return 0;
    case 1: return test_u32() % 2 ? INFINITY : -INFINITY;
    case 2: return NAN;
    case 3: return (float)test_unit() * 1e30f;
    default: return (float)test_unit() * 4;
  }
}

static uint8_t new_reg(problem *p, int level, size_t *uniform) {
  const uint8_t reg = (uint8_t)(level == 2 ? p->varying++ : CPUK_MAP_VARYING + (*uniform)++);
  p->level[reg] = level, p->known[p->n_known++] = reg;
  return reg;
}

/* The next step of a level: operands are of it or of lower ones, the first of those that vary if the result does. */
static void draw_step(problem *p, const cpuk_lanes *l, int level, cpuk_map_step *t, size_t *uniform) {
  uint8_t *const of[4] = {&t->a, &t->b, &t->c, &t->d};
  *t = (cpuk_map_step){0};
  for (int i = 0; i < 4; i++)
    do *of[i] = p->known[test_u32() % p->n_known];
    while (p->level[*of[i]] > level || (!i && level == 2 && p->level[*of[i]] < 2));
  const uint32_t form = test_u32() % 8;
  t->code = form == 0 ? SC_FMA : form == 1 ? SC_SELECT : binary[test_u32() % sizeof binary];
  if (form == 2 || form == 3) {
    t->code = unary[test_u32() % sizeof unary];
    t->unary = l->unary[t->code][CPUK_CT_F32];
  }
  if (t->code == SC_SELECT) t->predicate = (uint8_t)(test_u32() % CPUK_N_CMP);
  else if (!t->unary && t->code != SC_FMA) t->c = t->d = t->a; /* what a step does not read */
  t->dst = new_reg(p, level, uniform);
}

/* The step behind t, of the same code: it takes t's result, and anything as its other operand. */
static void go_on(problem *p, cpuk_map_step *t, size_t *uniform) {
  t[1] = (cpuk_map_step){.code = t->code, .a = t->dst, .b = p->known[test_u32() % p->n_known]};
  t[1].c = t[1].d = t[1].a;
  t[1].dst = new_reg(p, 2, uniform);
}

/* Rows of the result lie apart, or next to each other, as those of operands may. */
static void draw(problem *p, const cpuk_lanes *l, size_t rows, size_t n) {
  size_t uniform = 0;
  const ptrdiff_t out_row = test_u32() % 2 ? ROW : (ptrdiff_t)n;
  *p = (problem){.args = {.n_in = 1 + test_u32() % MOST_IN, .n_constants = 2, .rows = rows, .n = n}};
  p->args.out_row = out_row;
  cpuk_map_args *a = &p->args;
  for (size_t i = 0; i < 2; i++) p->constants[i] = (cpuk_map_constant){draw_number(), new_reg(p, 0, &uniform)};
  for (size_t i = 0; i < MOST_IN; i++)
    for (size_t k = 0; k < MEMORY; k++) memory[i][k] = draw_number();
  for (size_t k = 0; k < MOST_ROWS * ROW; k++) out[k] = copy[k] = draw_number();
  for (size_t i = 0; i < a->n_in; i++) {
    const ptrdiff_t column = 1 + (ptrdiff_t)(test_u32() % 4) % 3;
    const int level = i && test_u32() % 3 == 0 ? 1 : 2;
    const bool in_place = !i && test_u32() % 2;
    const ptrdiff_t to_next = in_place ? out_row : test_u32() % 2 ? column * (ptrdiff_t)n : 0;
    p->in[i] = (cpuk_map_operand){in_place ? out : memory[i], to_next, in_place ? 1 : column,
                                  test_u32() % 2 ? 256 : 0, new_reg(p, level, &uniform)};
  }
  a->n_once = test_u32() % 3, a->n_row = test_u32() % 3, a->n_steps = a->n_once + a->n_row + 1 + test_u32() % 12;
  for (size_t i = 0, varying = a->n_once + a->n_row; i < a->n_steps; i++) {
    if (i > varying && cpuk_map_folds(p->steps[i - 1].code) && test_u32() % 4) go_on(p, &p->steps[i - 1], &uniform);
    else draw_step(p, l, i < a->n_once ? 0 : i < varying ? 1 : 2, &p->steps[i], &uniform);
  }
  cpuk_map_find_folds(p->steps + a->n_once + a->n_row, a->n_steps - a->n_once - a->n_row);
  a->steps = p->steps, a->in = p->in, a->constants = p->constants, a->out = out, a->file = file;
  a->block = cpuk_map_block(p->varying);
}

/* One row by the kernels over strips, into the last step's register. */
static const float *reference(const problem *p, const cpuk_lanes *l, size_t row) {
  const cpuk_map_args *a = &p->args;
  for (size_t i = 0; i < a->n_constants; i++)
    for (size_t k = 0; k < a->n; k++) value[p->constants[i].reg][k] = p->constants[i].value;
  for (size_t i = 0; i < a->n_in; i++) {
    const cpuk_map_operand *o = &p->in[i];
    const float *from = (o->p == out ? copy : o->p) + (ptrdiff_t)row * o->row;
    for (size_t k = 0; k < a->n; k++) value[o->reg][k] = from[o->reg < CPUK_MAP_VARYING ? (ptrdiff_t)k * o->column : 0];
  }
  for (size_t i = 0; i < a->n_steps; i++) {
    const cpuk_map_step *t = &p->steps[i];
    float *d = value[t->dst];
    const float *x = value[t->a], *y = value[t->b], *z = value[t->c];
    uint8_t mask[MOST_N];
    if (t->unary) t->unary(d, x, a->n);
    else if (t->code == SC_FMA) l->fma[CPUK_CT_F32](d, x, y, z, a->n);
    else if (t->code != SC_SELECT) l->binary[t->code][CPUK_CT_F32](d, x, y, a->n);
    else {
      l->cmp[t->predicate][CPUK_CT_F32](mask, x, y, a->n);
      l->select[2](d, mask, z, 1, value[t->d], 1, a->n);
    }
  }
  return value[p->steps[a->n_steps - 1].dst];
}

/* The longest fold of the program, in steps. */
static size_t longest_fold(const problem *p) {
  size_t most = 0;
  for (size_t i = p->args.n_once + p->args.n_row; i < p->args.n_steps; i++) {
    const size_t more = cpuk_map_fold_more(&p->steps[i]);
    most = more >= most && more ? more + 1 : most;
  }
  return most;
}

static void compare(const char *who, const problem *p, const cpuk_lanes *l) {
  static float all[MOST_ROWS * ROW];
  const cpuk_map_args *a = &p->args;
  memcpy(all, copy, sizeof all);
  for (size_t row = 0; row < a->rows && a->n; row++)
    memcpy(all + (ptrdiff_t)row * a->out_row, reference(p, l, row), a->n * sizeof *all);
  for (size_t k = 0; k < MOST_ROWS * ROW; k++) {
    const float got = out[k], x = all[k];
    CHECK(test_to_bits(got) == test_to_bits(x) || (isnan(got) && isnan(x)),
          "%s: %zu steps, %zu rows of %zu, %td apart, element %zu: %g for %g", who, a->n_steps, a->rows, a->n,
          a->out_row, k, (double)got, (double)x);
  }
}

/* A fold of three operands or more that the steps which vary begin with, and something behind it. */
static bool begins_with_fold(const problem *p) {
  const size_t from = p->args.n_once + p->args.n_row, more = cpuk_map_fold_more(&p->steps[from]);
  return more && from + more + 1 < p->args.n_steps;
}

int main(void) {
  static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49, 63, 64, 65, 127, 128, 129, 511, 512, 513, MOST_N};
  static problem p;
  const cpuk_table *t;
  size_t most = 0, first = 0;
  for (size_t i = 0; (t = cpuk_available(i)) != NULL; i++)
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
      for (int round = 0; round < 40; round++) {
        draw(&p, t->lanes, test_u32() % (MOST_ROWS + 1), lengths[n]);
        const size_t longest = longest_fold(&p);
        most = longest > most ? longest : most, first += begins_with_fold(&p);
        t->lanes->map(&p.args);
        compare(t->features, &p, t->lanes);
      }
  CHECK(first >= 20, "%zu programs begin with a fold", first);
  CHECK(most >= 6, "the longest fold has %zu steps", most);
  return test_report("test_cpu_map_f32");
}
