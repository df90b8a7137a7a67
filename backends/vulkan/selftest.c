/* backends/vulkan/selftest.c - which matrix shapes of the driver are used. Drivers list shapes that compute garbage or
 * that are emulated more slowly than plain arithmetic, so each is tried once per (device, driver): C = A * B in small
 * whole numbers, where any order of sums is exact, against the host; and its speed against a plain fma kernel on the
 * same operands. Losers stay listed with a reason. Each is a step of probe.h, taken in a process of its own where there
 * is one. TSR_MATRIX=coopmat or coopmat2 keeps the slow ones, never the wrong ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/base/int_math.h"
#include "core/base/str.h"
#include "core/emit/spirv/spirv.h"

enum { REPEATS = 3, MOST_HUNG = 3, WHY = 48 };

typedef struct verdict {
  bool wrong;
  double matrix_rate, plain_rate;
  char why[WHY];
} verdict;

typedef vk_selftest_problem problem;

/* ---- running ---- */

typedef struct bench {
  be_device *d;
  be_stream *s;
  be_buffer *buf[3];
  problem p;
  void *host[3];
  size_t bytes[3];
} bench;

/* Whole numbers, none negative: RDNA3's f16 WMMA is not always exact with negative terms (IREE, pull request 15058).
 * Few enough of them that sums of f16 stay exact. */
int vk_selftest_value(size_t i) {
  static const int of[5] = {0, 1, 0, 2, 0};
  return of[(i * 7 + i / 13 + i / 101) % 5];
}

static void bench_end(bench *b) {
  for (int i = 0; i < 3; i++) {
    vk_buffer_destroy(b->buf[i]);
    al_free(b->d->env->al, b->host[i], b->bytes[i], 16);
  }
  vk_stream_destroy(b->s);
}

static tsr_status bench_begin(be_device *d, const problem *p, bench *b) {
  *b = (bench){.d = d, .p = *p};
  const tsr_dtype types[3] = {p->a, p->b, p->c};
  const size_t counts[3] = {(size_t)p->m * (size_t)p->k, (size_t)p->k * (size_t)p->n, (size_t)p->m * (size_t)p->n};
  tsr_status st = vk_stream_create(d, 0, &b->s);
  for (int i = 0; i < 3 && !st; i++) {
    b->bytes[i] = counts[i] * tsr_dtype_size(types[i]);
    if (!(b->host[i] = al_zalloc(d->env->al, b->bytes[i]))) st = st_oom();
    for (size_t e = 0; !st && i < 2 && e < counts[i]; e++) dtype_store(types[i], b->host[i], e, vk_selftest_value(e));
    if (!st) st = vk_buffer_create(d, b->bytes[i], BE_DEVICE_LOCAL, &b->buf[i]);
    if (!st) st = vk_write(b->s, (be_range){b->buf[i], 0, b->bytes[i]}, b->host[i]);
  }
  if (st) bench_end(b);
  return st;
}

/* Operations per second of the text's kernel, best of a few; the result is left in host[2]. */
static tsr_status bench_run(bench *b, const char *text, double *rate) {
  be_device *d = b->d;
  ir_module *m = NULL;
  be_module *mod = NULL;
  be_program *prog = NULL;
  be_module_desc desc;
  arena a;
  double best = 0;
  const int bindings[3] = {0, 1, 2};
  be_range r[3];
  for (int i = 0; i < 3; i++) r[i] = (be_range){b->buf[i], 0, b->bytes[i]};
  arena_init(&a, d->env->al);
  tsr_status st = ir_parse(d->env->al, text, strlen(text), "selftest", &m);
  if (!st) st = emit_spirv(m, &d->caps, &a, &desc);
  if (!st) st = vk_module_create(d, &desc, &mod);
  be_launch l = {.module = mod, .bindings = bindings};
  if (!st) st = vk_program_create(d, &(be_program_desc){&l, 1, 3}, &prog);
  for (int i = 0; !st && i < (d->limits.timestamp_bits ? REPEATS : 1); i++) {
    double ns = 0;
    st = vk_program_run(b->s, prog, r, d->limits.timestamp_bits ? &ns : NULL);
    if (ns > 0 && (best == 0 || ns < best)) best = ns;
  }
  if (!st) st = vk_read(b->s, r[2], b->host[2]);
  if (!st) st = vk_stream_sync(b->s, -1);
  *rate = best > 0 ? 2.0 * b->p.m * b->p.n * b->p.k / best * 1e9 : 0;
  vk_program_destroy(prog);
  vk_module_destroy(mod);
  ir_module_destroy(&m);
  arena_clear(&a);
  return st;
}

/* Some rows of C against sums on the host; all are whole numbers, so they must be equal. */
static bool right(const bench *b) {
  const problem *p = &b->p;
  for (int i = 0; i < p->m; i += 1 + p->m / 24)
    for (int j = 0; j < p->n; j++) {
      int sum = 0;
      for (int k = 0; k < p->k; k++)
        sum += vk_selftest_value((size_t)i * (size_t)p->k + (size_t)k) *
               vk_selftest_value((size_t)k * (size_t)p->n + (size_t)j);
      if (dtype_load(p->c, b->host[2], (size_t)i * (size_t)p->n + (size_t)j) != sum) return false;
    }
  return true;
}


static tsr_status try_shape(be_device *d, const tsr_matrix_shape *listed, verdict *v) {
  tsr_matrix_shape grown = *listed; /* granularities: a matrix of some of them */
  const tsr_matrix_shape *x = &grown;
  if (grown.threads) grown.m *= 2, grown.n *= 2, grown.k *= 2;
  int size = d->limits.software ? 96 : 1024, depth = d->limits.software ? 96 : 256, lanes = d->caps.subgroup;
  int both = 2 * x->m * lanes; /* both kernels must divide it */
  problem p = {x->a,
               x->b,
               x->c,
               (int)round_up(size, both <= 2048 ? both : 2 * x->m),
               (int)round_up(size, 2 * x->n * 8),
               (int)round_up(depth, x->k * 8)};
  bench b;
  strb text;
  char step[96], why[128];
  *v = (verdict){.wrong = false};
  TSR_TRY(bench_begin(d, &p, &b));
  strb_init(&text, d->env->al);
  vk_selftest_kernel(&text, &p, x, lanes, d->caps.coopmat2_tensor);
  tsr_status st = strb_ok(&text) ? bench_run(&b, strb_text(&text), &v->matrix_rate) : st_oom();
  if (st && tsr_status_code(st) != TSR_DEVICE_LOST && tsr_status_code(st) != TSR_OUT_OF_MEMORY) {
    snprintf(v->why, sizeof v->why, "%.46s", tsr_status_cause(st));
    v->wrong = true;
    tsr_status_free(st);
    st = NULL;
  } else if (!st && !right(&b)) {
    v->wrong = true;
    snprintf(v->why, sizeof v->why, "self-test: wrong results");
  }
  snprintf(step, sizeof step, "plain %s", dtype_get(p.a)->mlir);
  if (!st && !v->wrong && p.m % lanes == 0 && vk_may(&d->instance->probe, &d->limits.id, step, why)) {
    strb_clear(&text);
    vk_selftest_plain(&text, &p, lanes);
    st = strb_ok(&text) ? bench_run(&b, strb_text(&text), &v->plain_rate) : st_oom();
    if (!st) vk_did(&d->instance->probe, &d->limits.id, step, "ok");
  }
  strb_clear(&text);
  bench_end(&b);
  return st;
}

/* ---- outcome ---- */

static void apply(tsr_matrix_shape *x, const verdict *v, bool keep_slow) {
  if (v->wrong) {
    x->enabled = false;
    snprintf(x->reason, sizeof x->reason, "%s", v->why);
  } else if (v->plain_rate > v->matrix_rate && v->matrix_rate > 0) {
    x->enabled = keep_slow;
    snprintf(x->reason, sizeof x->reason, "slower than plain fma: %.1f against %.1f GFLOP/s", v->matrix_rate * 1e-9,
             v->plain_rate * 1e-9);
  }
}

static void vk_apply_matrix_knob(tsr_caps *c) {
  const char *v = knob_str("TSR_MATRIX");
  bool coopmat = !strcmp(v, "coopmat"), off = !strcmp(v, "subgroup") || !strcmp(v, "scalar");
  if (coopmat)
    c->coopmat2 = c->coopmat2_workgroup = c->coopmat2_tensor = c->coopmat2_per_element = c->coopmat2_reduce =
        c->coopmat2_convert = false;
  for (int i = 0; i < c->n_matrix; i++) {
    tsr_matrix_shape *s = &c->matrix[i];
    if (!off && !(coopmat && s->scope == SCOPE_WORKGROUP)) continue;
    s->enabled = false;
    snprintf(s->reason, sizeof s->reason, "TSR_MATRIX=%.20s", v);
  }
  if (!strcmp(v, "scalar")) c->subgroup_shuffle = false;
}

static bool wants_test(const tsr_caps *c) {
  const char *wanted = knob_str("TSR_MATRIX");
  return c->n_matrix && strcmp(wanted, "subgroup") && strcmp(wanted, "scalar");
}

static void step_name(const tsr_matrix_shape *x, char step[96]) {
  int n =
      snprintf(step, 96, "matrix %dx%dx%d %s x %s -> %s %s", x->m, x->n, x->k, dtype_get(x->a)->mlir,
               dtype_get(x->b)->mlir, dtype_get(x->c)->mlir, x->scope == SCOPE_WORKGROUP ? "workgroup" : "subgroup");
  if (x->threads) snprintf(step + n, 96 - (size_t)n, " of %d threads", x->threads);
}

/* Applies the verdict on shape i, of which the rate of plain arithmetic is a by-product. */
static void conclude(tsr_caps *c, int i, const verdict *v) {
  const char *wanted = knob_str("TSR_MATRIX");
  bool whole = c->matrix[i].a == TSR_I8 || c->matrix[i].a == TSR_U8;
  if (c->matrix[i].enabled) apply(&c->matrix[i], v, !strcmp(wanted, "coopmat") || !strcmp(wanted, "coopmat2"));
  if (!whole && v->plain_rate > c->peak_flops_f32) c->peak_flops_f32 = v->plain_rate;
}

/* What is known of a shape: a note, or a row of the list of known failures. */
static bool read_kept(vk_probe *p, const vk_id *id, const char *step, verdict *v) {
  char value[128], why[128], *end;
  *v = (verdict){.wrong = false};
  if (vk_known_bad(p->known_bad, id, step, why)) {
    v->wrong = true;
    snprintf(v->why, sizeof v->why, "%.47s", why);
    return true;
  }
  if (!vk_note_get(p, id, step, value)) return false;
  if (!strncmp(value, "ok ", 3)) {
    v->matrix_rate = (double)strtoull(value + 3, &end, 10);
    v->plain_rate = (double)strtoull(end, NULL, 10);
  } else {
    v->wrong = true;
    if (!strncmp(value, "bad ", 4)) snprintf(v->why, sizeof v->why, "self-test: %.30s", value + 4);
    else snprintf(v->why, sizeof v->why, "%.47s", !strncmp(value, "wrong ", 6) ? value + 6 : value);
  }
  return true;
}

static void keep(vk_probe *p, const vk_id *id, const char *step, const verdict *v) {
  char value[128];
  if (v->wrong) snprintf(value, sizeof value, "wrong %s", v->why);
  else snprintf(value, sizeof value, "ok %.0f %.0f", v->matrix_rate, v->plain_rate);
  vk_did(p, id, step, value);
}

/* A workgroup's matrices that a subgroup's of the same types outrun are left alone by `auto`. */
static void compare_scopes(tsr_caps *c, const verdict *v) {
  const tsr_matrix_shape *x = c->matrix;
  if (strcmp(knob_str("TSR_MATRIX"), "auto")) return;
  for (int i = 0; i < c->n_matrix; i++) {
    double best = 0;
    for (int k = 0; k < c->n_matrix; k++)
      if (x[k].scope == SCOPE_SUBGROUP && x[k].enabled && x[k].a == x[i].a && x[k].b == x[i].b && x[k].c == x[i].c &&
          v[k].matrix_rate > best)
        best = v[k].matrix_rate;
    if (x[i].scope != SCOPE_WORKGROUP || !x[i].enabled || !(v[i].matrix_rate > 0) || v[i].matrix_rate >= best) continue;
    c->matrix[i].enabled = false;
    snprintf(c->matrix[i].reason, sizeof c->matrix[i].reason, "slower than a subgroup's: %.0f against %.0f GFLOP/s",
             v[i].matrix_rate * 1e-9, best * 1e-9);
  }
}

bool vk_selftest_kept(vk_probe *p, const vk_id *id, tsr_caps *c) {
  verdict v[TSR_MAX_MATRIX];
  char step[96];
  vk_apply_matrix_knob(c);
  if (!wants_test(c)) return true;
  for (int i = 0; i < c->n_matrix; i++) {
    step_name(&c->matrix[i], step);
    if (!read_kept(p, id, step, &v[i])) return false;
  }
  for (int i = 0; i < c->n_matrix; i++) conclude(c, i, &v[i]);
  compare_scopes(c, v);
  return true;
}

/* Some drivers hang on all that they list: three such cost three deadlines, the rest are not tried. */
static bool too_many_hung(vk_probe *p, const vk_id *id, const tsr_caps *c) {
  int n = 0;
  for (int i = 0; i < c->n_matrix; i++) {
    char step[96], value[128];
    step_name(&c->matrix[i], step);
    n += vk_note_get(p, id, step, value) && !strncmp(value, "bad hung", 8);
  }
  return n >= MOST_HUNG;
}

tsr_status vk_selftest(be_device *d) {
  tsr_caps *c = &d->caps;
  vk_probe *p = &d->instance->probe;
  const vk_id *id = &d->limits.id;
  verdict v[TSR_MAX_MATRIX];
  char step[96], why[128];
  vk_apply_matrix_knob(c);
  if (!wants_test(c)) return NULL;
  for (int i = 0; i < c->n_matrix; i++) {
    step_name(&c->matrix[i], step);
    if (!read_kept(p, id, step, &v[i])) {
      if (too_many_hung(p, id, c)) v[i] = (verdict){.wrong = true, .why = "not tried: others hung"};
      else if (vk_may(p, id, step, why)) TSR_TRY(try_shape(d, &c->matrix[i], &v[i]));
      keep(p, id, step, &v[i]);
    }
    conclude(c, i, &v[i]);
  }
  compare_scopes(c, v);
  vk_notes_save(p);
  return NULL;
}

tsr_status vk_selftest_basic(be_device *d) {
  bench b;
  strb text;
  double rate;
  int lanes = d->caps.subgroup;
  problem p = {TSR_F32, TSR_F32, TSR_F32, (int)round_up(32, lanes), 32, 32};
  TSR_TRY(bench_begin(d, &p, &b));
  strb_init(&text, d->env->al);
  vk_selftest_plain(&text, &p, lanes);
  tsr_status st = strb_ok(&text) ? bench_run(&b, strb_text(&text), &rate) : st_oom();
  if (!st && !right(&b))
    st = st_make(d->env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", NULL, NULL), "gave wrong results");
  strb_clear(&text);
  bench_end(&b);
  return st;
}

tsr_status vk_selftest_words(be_device *d) {
  const problem p = {TSR_I64, TSR_I64, TSR_I64, d->caps.subgroup, 1, 1};
  bench b;
  strb text;
  double rate;
  TSR_TRY(bench_begin(d, &p, &b));
  strb_init(&text, d->env->al);
  vk_selftest_exchange(&text, &p);
  tsr_status st = strb_ok(&text) ? bench_run(&b, strb_text(&text), &rate) : st_oom();
  for (int i = 0; i < p.m && !st; i++)
    if (((const int64_t *)b.host[2])[i] != (int64_t)(vk_selftest_value((size_t)i) ^ VK_SELFTEST_FLIPPED) << 32)
      st = st_make(d->env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", NULL, NULL), "gave wrong results");
  strb_clear(&text);
  bench_end(&b);
  return st;
}
