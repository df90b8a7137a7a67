/* backends/cpu/rows.c - the fused reduction and normalization kernels: whole softmax and norms, and their parts where
 * other ops stand between. The operands' shapes and types were checked when the code was made
 * (core/emit/cpu/emit_cpu.c). */
#include <math.h>
#include <string.h>

#include "backends/cpu/vm.h"
#include "core/ir/recipe.h"

enum { FETCH_AHEAD = 8192 }; /* bytes: far enough for memory, near enough to be still in L2 beside three rows */

static int row_type(const cpu_desc *d) {
  return d->dtype == TSR_BF16 ? CPUK_ROW_BF16 : d->dtype == TSR_F16 ? CPUK_ROW_F16 : CPUK_ROW_F32;
}
/* 0 for a stride that no memory has: then there is one row. */
static int64_t row_step(const cpu_desc *d) {
  const int64_t most = (int64_t)1 << 40;
  return d->strides[0] > most || d->strides[0] < -most ? 0
                                                       : d->strides[0] * (int64_t)tsr_dtype_size((tsr_dtype)d->dtype);
}

/* The row of f32 that all rows share. What its window misses reads as 0, from a copy: `place` is its part of the
 * thread's memory. */
static const float *repeated_at(const vm *v, int desc, int64_t cols, int place) {
  const cpu_desc *d = vm_desc(v, desc);
  const int64_t *ext = vm_ext(v, d);
  if (ext[0] >= 1 && ext[1] >= cols) return (const float *)(void *)vm_base(v, d);
  float *row = (float *)(void *)v->t->temp + (place + 1) * d->dims[1];
  int64_t n = ext[0] < 1 ? 0 : ext[1];
  memcpy(row, vm_base(v, d), (size_t)n * sizeof *row);
  memset(row + n, 0, (size_t)(cols - n) * sizeof *row);
  return row;
}

static char *row_at(const vm *v, const cpu_desc *d, int64_t r) { return vm_base(v, d) + r * row_step(d); }
static float *number_at(const vm *v, int desc, int64_t r) { return (float *)(void *)row_at(v, vm_desc(v, desc), r); }

/* ---- whole normalisations -------------------------------------------------------------------------------------- */

/* Every row has a first number (its maximum or mean), a second (the factor of its results: 1 / sum of exponentials, or
 * 1 / deviation) and results. */
typedef struct norm {
  const cpuk_rows *k;
  const cpuk_convert_fn (*convert)[CPUK_N_DTYPE]; /* [from][to] */
  char *out;
  const char *x;
  int64_t out_step, x_step, rows; /* steps in bytes */
  size_t cols;
  int from, to; /* row types */
  cpu_row_fn fn;
  double mean_scale, square_scale, eps; /* mean = sum * mean_scale, factor = 1 / sqrt(squares * square_scale + eps) */
  float noise; /* deviations below mean * noise are lost */
  const float *g, *b;
  float *e; /* exponentials of one row */
  bool stream;
} norm;

/* Of a norm: deviations are about the mean, not about 0. */
static bool is_about_mean(const norm *t) { return t->mean_scale != 0; }

static float first_of(const norm *t, float raw) {
  return t->fn == CPU_ROW_SOFTMAX ? raw : is_about_mean(t) ? raw * (float)t->mean_scale : 0;
}
static float factor_of(const norm *t, float raw) {
  return t->fn == CPU_ROW_SOFTMAX ? 1 / raw : 1 / sqrtf(raw * (float)t->square_scale + (float)t->eps);
}

static float first(const norm *t, int64_t r) {
  const char *x = t->x + r * t->x_step;
  if (t->fn != CPU_ROW_SOFTMAX && !is_about_mean(t)) return 0;
  return first_of(t, t->fn == CPU_ROW_SOFTMAX ? t->k->max[t->from](x, t->cols) : t->k->sum[t->from](x, t->cols));
}

/* What the factor is made of. Fetches the next row meanwhile. */
static float second(const norm *t, int64_t r, float m) {
  const char *x = t->x + r * t->x_step, *next = x + t->x_step;
  return t->fn == CPU_ROW_SOFTMAX ? t->k->exp[t->from](t->e, x, m, t->cols, next)
                                  : t->k->sqdev[t->from](x, m, t->cols, next);
}

/* Of a norm: f32 has lost the row. Its squares, or its sum, left the range, or what its numbers differ by is near what
 * their mean is rounded to. */
static bool is_lost(const norm *t, float m, float raw) {
  if (t->fn == CPU_ROW_SOFTMAX) return false;
  const float var = raw * (float)t->square_scale, noise = m * t->noise;
  return !(var < INFINITY) || var < noise * noise ||
         (var < (float)RECIPE_F32_BOTTOM && t->eps < RECIPE_F32_BOTTOM);
}

/* The same in f64, where squares of f32 fit: sums about the row's first number, so that equal numbers have no rest. */
static void careful(const norm *t, int64_t r) {
  enum { PIECE = 256 };
  const size_t out_size = t->to == CPUK_ROW_F32 ? 4 : 2, in_size = t->from == CPUK_ROW_F32 ? 4 : 2;
  static const cpuk_dtype type[CPUK_N_ROW] = {CPUK_F32, CPUK_BF16, CPUK_F16};
  const char *x = t->x + r * t->x_step;
  float piece[PIECE];
  double about = 0, sum = 0, squares = 0;
  for (int pass = is_about_mean(t) ? 0 : 1; pass < 3; pass++)
    for (size_t i = 0; i < t->cols; i += PIECE) {
      size_t n = t->cols - i < PIECE ? t->cols - i : PIECE;
      t->convert[type[t->from]][CPUK_F32](piece, x + i * in_size, n);
      if (pass == 0 && i == 0) about = piece[0];
      double factor = 1 / sqrt(squares * t->square_scale + t->eps), mean = about + sum * t->mean_scale;
      for (size_t k = 0; k < n; k++) {
        double d = piece[k] - mean;
        if (pass == 0) sum += piece[k] - about;
        else if (pass == 1) squares += d * d;
        else piece[k] = (float)(d * factor * (t->g ? t->g[i + k] : 1) + (t->b ? t->b[i + k] : 0));
      }
      if (pass == 2) t->convert[CPUK_F32][type[t->to]](t->out + r * t->out_step + i * out_size, piece, n);
    }
}

static void results(const norm *t, int64_t r, float m, float raw) {
  const float f = factor_of(t, raw);
  if (is_lost(t, m, raw)) {
    careful(t, r);
    return;
  }
  cpuk_norm_args a = {.dst = t->out + r * t->out_step,
                      .x = t->x + r * t->x_step,
                      .mean = m,
                      .rstd = f,
                      .n = t->cols,
                      .stream = t->stream,
                      .g = t->g,
                      .b = t->b};
  if (t->fn == CPU_ROW_SOFTMAX) a.x = t->e, a.mean = 0;
  t->k->norm[t->fn == CPU_ROW_SOFTMAX ? CPUK_ROW_F32 : t->from][t->to](&a);
}

/* Results that are written past the caches in whole lines: three rows go by together. */
static cpuk_row_pipe_fn pipe_of(const norm *t) {
  const bool lines = t->cols % 64 == 0 && (uintptr_t)t->out % 64 == 0 && t->out_step % 64 == 0;
  if (!t->stream || !lines || t->from != t->to || t->rows < 2) return NULL;
  return t->fn == CPU_ROW_SOFTMAX ? t->k->softmax_pipe[t->from] : t->k->norm_pipe[t->from];
}

static void by_threes(const norm *t, cpuk_row_pipe_fn pipe) {
  const int64_t row_bytes = (int64_t)t->cols * (t->from == CPUK_ROW_F32 ? 4 : 2),
                ahead = t->x_step == row_bytes ? FETCH_AHEAD : t->x_step;
  float m0 = first(t, 0), s0 = second(t, 0, m0), m1 = first(t, 1);
  for (int64_t r = 0; r + 1 < t->rows; r++) {
    const char *x = t->x + r * t->x_step, *last = r + 2 < t->rows ? x + 2 * t->x_step : x + t->x_step;
    cpuk_pipe_args a = {.dst = t->out + r * t->out_step,
                        .x = {x, x + t->x_step, last},
                        .e = t->e,
                        .g = t->g,
                        .b = t->b,
                        .mean = m0,
                        .factor = factor_of(t, s0),
                        .m = m1,
                        .n = t->cols,
                        .ahead = last + ahead};
    pipe(&a);
    if (is_lost(t, m0, s0)) careful(t, r);
    m0 = m1, s0 = a.second, m1 = first_of(t, a.first);
  }
  results(t, t->rows - 1, m0, s0);
}

/* ---- rows that the operand's window misses: all their elements read as 0 --------------------------------------- */

enum { PIECE_OF_ROW = 256 };

/* One for all elements: `piece` holds it PIECE_OF_ROW times. */
static void equal_row(const cpuk_rows *k, int to, const float *piece, const cpuk_norm_args *whole_row) {
  const size_t size = to == CPUK_ROW_F32 ? 4 : 2;
  cpuk_norm_args a = *whole_row;
  a.x = piece;
  for (size_t at = 0; at < whole_row->n; at += PIECE_OF_ROW) {
    a.n = whole_row->n - at < PIECE_OF_ROW ? whole_row->n - at : PIECE_OF_ROW;
    a.dst = (char *)whole_row->dst + at * size;
    if (whole_row->g) a.g = whole_row->g + at;
    if (whole_row->b) a.b = whole_row->b + at;
    k->norm[CPUK_ROW_F32][to](&a);
  }
}

static void missed_norm(const norm *t, int64_t r) {
  float piece[PIECE_OF_ROW];
  const bool softmax = t->fn == CPU_ROW_SOFTMAX;
  for (int i = 0; i < PIECE_OF_ROW; i++) piece[i] = softmax; /* exp(0 - 0) */
  cpuk_norm_args a = {.dst = t->out + r * t->out_step,
                      .rstd = softmax ? 1 / (float)t->cols : (float)(1 / sqrt(t->eps)),
                      .n = t->cols,
                      .g = t->g,
                      .b = t->b};
  equal_row(t->k, t->to, piece, &a);
}

static double number(const vm *v, const cpu_instr *i, int k) {
  double f;
  memcpy(&f, cpu_extra(v->m->image) + i->extra + k, sizeof f);
  return f;
}

static void whole(const vm *v, const cpu_instr *i, int64_t rows, int64_t cols) {
  const cpu_desc *out = vm_desc(v, i->a[1]), *x = vm_desc(v, i->a[2]);
  norm t = {.k = v->k->rows,
            .convert = v->k->lanes->convert,
            .out = vm_base(v, out),
            .x = vm_base(v, x),
            .out_step = row_step(out),
            .x_step = row_step(x),
            .rows = rows,
            .cols = (size_t)cols,
            .from = row_type(x),
            .to = row_type(out),
            .fn = (cpu_row_fn)i->a[0],
            .mean_scale = number(v, i, 0),
            .square_scale = number(v, i, 1),
            .eps = number(v, i, 2),
            .noise = (float)recipe_noise(RECIPE_F32_NOISE, (double)cols),
            .e = (float *)(void *)v->t->temp,
            .stream = vm_is_large(v, out, rows * cols)};
  if (i->a[5] >= 0) t.g = repeated_at(v, i->a[5], cols, 0);
  if (i->a[6] >= 0) t.b = repeated_at(v, i->a[6], cols, 1);
  for (int64_t r = rows; r < vm_ext(v, out)[0]; r++) missed_norm(&t, r);
  cpuk_row_pipe_fn pipe = pipe_of(&t);
  if (pipe) {
    by_threes(&t, pipe);
    return;
  }
  for (int64_t r = 0; r < rows; r++) {
    float m = first(&t, r);
    results(&t, r, m, second(&t, r, m));
  }
}

size_t vm_row_temp_bytes(const vm_module *m, const cpu_instr *i) {
  const bool repeats = i->a[5] >= 0 || i->a[6] >= 0;
  return i->a[0] == CPU_ROW_SOFTMAX || repeats
             ? (size_t)cpu_descs(m->image)[i->a[2]].dims[1] * sizeof(float) * (repeats ? 3 : 1)
             : 0;
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static void missed_row(const vm *v, const cpu_instr *i, int64_t r, int64_t cols) {
  static const float zeros[PIECE_OF_ROW];
  const cpuk_rows *k = v->k->rows;
  const cpu_desc *out = vm_desc(v, i->a[1]);
  const float m = i->a[3] >= 0 ? *number_at(v, i->a[3], r) : 0;
  float *q = (float *)(void *)row_at(v, out, r), e;
  switch ((cpu_row_fn)i->a[0]) {
  case CPU_ROW_MAX: case CPU_ROW_SUM: *q = 0; break;
  case CPU_ROW_SQDEV: *q = m * m * (float)cols; break;
  case CPU_ROW_EXP:
    *number_at(v, i->a[7], r) = k->exp[CPUK_ROW_F32](&e, zeros, m, 1, zeros) * (float)cols;
    for (int64_t c = 0; c < cols; c++) q[c] = e;
    break;
  case CPU_ROW_NORM: {
    cpuk_norm_args a = {.dst = q, .mean = m, .rstd = *number_at(v, i->a[4], r), .n = (size_t)cols};
    if (i->a[5] >= 0) a.g = repeated_at(v, i->a[5], cols, 0);
    if (i->a[6] >= 0) a.b = repeated_at(v, i->a[6], cols, 1);
    equal_row(k, row_type(out), zeros, &a);
    break;
  }
  default: break;
  }
}

void vm_row(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[1]), *x = vm_desc(v, i->a[2]);
  const int mean = i->a[3], factor_desc = i->a[4], scale = i->a[5], shift = i->a[6], sums = i->a[7];
  const cpuk_rows *k = v->k->rows;
  const int64_t *x_ext = vm_ext(v, x), *out_ext = vm_ext(v, out);
  int64_t rows = x_ext[0] < out_ext[0] ? x_ext[0] : out_ext[0], cols = x_ext[1], block = rows * row_step(x);
  const cpu_row_info *info = &cpu_row_infos[i->a[0]];
  if (!cols) cols = x->dims[1]; /* it misses all rows */
  if (info->per_element && out_ext[1] < cols)
    cols = out_ext[1]; /* writes of what the window misses are dropped */
  int s = row_type(x), d = row_type(out);
  bool stream = i->a[0] == CPU_ROW_NORM && vm_is_large(v, out, rows * cols);
  if (info->whole) {
    whole(v, i, rows, cols);
    return;
  }
  for (int64_t r = rows; r < out_ext[0]; r++) missed_row(v, i, r, cols);
  for (int64_t r = 0; r < rows; r++) {
    char *q = row_at(v, out, r);
    const char *p = row_at(v, x, r), *ahead = p + block; /* the same row of the block that most often comes next */
    float m = mean >= 0 ? *number_at(v, mean, r) : 0;
    switch ((cpu_row_fn)i->a[0]) {
    case CPU_ROW_MAX: *(float *)(void *)q = k->max[s](p, (size_t)cols); break;
    case CPU_ROW_SUM: *(float *)(void *)q = k->sum[s](p, (size_t)cols); break;
    case CPU_ROW_SQDEV: *(float *)(void *)q = k->sqdev[s](p, m, (size_t)cols, ahead); break;
    case CPU_ROW_EXP: *number_at(v, sums, r) = k->exp[s]((float *)(void *)q, p, m, (size_t)cols, ahead); break;
    case CPU_ROW_NORM: {
      cpuk_norm_args args = {
          .dst = q, .x = p, .mean = m, .rstd = *number_at(v, factor_desc, r), .n = (size_t)cols, .stream = stream};
      if (scale >= 0) args.g = repeated_at(v, scale, cols, 0);
      if (shift >= 0) args.b = repeated_at(v, shift, cols, 1);
      k->norm[s][d](&args);
      break;
    }
    default: break;
    }
  }
}
