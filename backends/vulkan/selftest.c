/* backends/vulkan/selftest.c - which matrix shapes of the driver are used. Drivers list shapes that compute garbage or
 * that are emulated more slowly than plain arithmetic, so each is tried once per (device, driver): C = A * B in small
 * whole numbers, where any order of sums is exact, against the host; and its speed against a plain fma kernel on the
 * same operands. Losers stay listed with a reason. The outcome is kept in the cache folder. TSR_MATRIX=coopmat or
 * coopmat2 keeps the slow ones, never the wrong ones. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/base/int_math.h"
#include "core/base/str.h"
#include "core/emit/spirv/spirv.h"

enum { TEST_VERSION = 4, REPEATS = 3 };

typedef struct verdict {
  tsr_dtype a, b, c;
  int m, n, k, scope, threads;
  bool wrong;
  double matrix_rate, plain_rate;
  char why[48];
} verdict;

/* ---- kernels ---- */

typedef vk_selftest_problem problem;

static const char *mlir(tsr_dtype t) { return dtype_get(t)->mlir; }

static void head(strb *s, const problem *p) {
  strb_printf(s,
              "\"tessera.target.kernel\"() ({\n^bb0(%%A: !tessera.ptr<%s, \"global\">, %%B: !tessera.ptr<%s, "
              "\"global\">, %%C: !tessera.ptr<%s, \"global\">):\n",
              mlir(p->a), mlir(p->b), mlir(p->c));
  strb_printf(s, "%%bx = \"tessera.target.block_id\"() {axis = 0} : () -> index\n%%by = \"tessera.target.block_id\"() "
                 "{axis = 1} : () -> index\n");
}

static void constant(strb *s, const char *name, int v) {
  strb_printf(s, "%%%s = \"tessera.target.const\"() {value = %d} : () -> index\n", name, v);
}
static void binary(strb *s, const char *r, const char *op, const char *a, const char *b) {
  strb_printf(s, "%%%s = \"tessera.target.%s\"(%%%s, %%%s) : (index, index) -> index\n", r, op, a, b);
}

/* Two by two tiles of the shape per subgroup (or workgroup), operands straight from memory, as the lowering reads them
 * there. */
void vk_selftest_kernel(strb *s, const problem *p, const tsr_matrix_shape *x, int subgroup, bool tensor) {
  const char *how = tensor && x->scope == SCOPE_WORKGROUP ? " {tensor = true}" : "";
  char ta[64], tb[64], tc[64], sums[320] = "", inits[64] = "";
  snprintf(ta, sizeof ta, "!tessera.matrix<%dx%dx%s, \"a\">", x->m, x->k, mlir(p->a));
  snprintf(tb, sizeof tb, "!tessera.matrix<%dx%dx%s, \"b\">", x->k, x->n, mlir(p->b));
  snprintf(tc, sizeof tc, "!tessera.matrix<%dx%dx%s, \"acc\">", x->m, x->n, mlir(p->c));
  head(s, p);
  constant(s, "zero", 0), constant(s, "K", p->k), constant(s, "N", p->n), constant(s, "step", x->k),
      constant(s, "tm", 2 * x->m), constant(s, "tn", 2 * x->n);
  constant(s, "half", x->n), constant(s, "down_a", x->m * p->k), constant(s, "down_c", x->m * p->n);
  binary(s, "m0", "mul", "by", "tm"), binary(s, "n0", "mul", "bx", "tn"), binary(s, "a0", "mul", "m0", "K"),
      binary(s, "cr", "mul", "m0", "N"), binary(s, "c0", "add", "cr", "n0");
  strb_printf(s,
              "%%z = \"tessera.target.const\"() {value = 0.0} : () -> %s\n%%f = \"tessera.target.mat_fill\"(%%z) : "
              "(%s) -> %s\n",
              mlir(p->c), mlir(p->c), tc);
  for (int i = 0; i < 4; i++)
    snprintf(sums + strlen(sums), sizeof sums - strlen(sums), "%s%s", i ? ", " : "", tc),
        snprintf(inits + strlen(inits), sizeof inits - strlen(inits), ", %%f");
  strb_printf(s, "%%r:4 = \"tessera.target.for\"(%%zero, %%K, %%step%s) ({\n^bb0(%%k: index", inits);
  for (int i = 0; i < 4; i++) strb_printf(s, ", %%q%d: %s", i, tc);
  strb_puts(s, "):\n");
  binary(s, "ai", "add", "a0", "k"), binary(s, "aj", "add", "ai", "down_a"), binary(s, "bk", "mul", "k", "N"),
      binary(s, "bi", "add", "bk", "n0"), binary(s, "bj", "add", "bi", "half");
  for (int i = 0; i < 2; i++) {
    strb_printf(s,
                "%%ma%d = \"tessera.target.mat_load\"(%%A, %%a%c, %%K)%s : (!tessera.ptr<%s, \"global\">, index, "
                "index) -> %s\n",
                i, "ij"[i], how, mlir(p->a), ta);
    strb_printf(s,
                "%%mb%d = \"tessera.target.mat_load\"(%%B, %%b%c, %%N)%s : (!tessera.ptr<%s, \"global\">, index, "
                "index) -> %s\n",
                i, "ij"[i], how, mlir(p->b), tb);
  }
  for (int i = 0; i < 4; i++)
    strb_printf(s, "%%s%d = \"tessera.target.mat_mma\"(%%ma%d, %%mb%d, %%q%d) : (%s, %s, %s) -> %s\n", i, i / 2, i % 2,
                i, ta, tb, tc, tc);
  strb_printf(s,
              "\"tessera.target.yield\"(%%s0, %%s1, %%s2, %%s3) : (%s) -> ()\n}) : (index, index, index, %s) -> (%s)\n",
              sums, sums, sums);
  binary(s, "c1", "add", "c0", "half"), binary(s, "c2", "add", "c0", "down_c"), binary(s, "c3", "add", "c2", "half");
  for (int i = 0; i < 4; i++)
    strb_printf(s,
                "\"tessera.target.mat_store\"(%%r#%d, %%C, %%c%d, %%N)%s : (%s, !tessera.ptr<%s, \"global\">, index, "
                "index) -> ()\n",
                i, i, how, tc, mlir(p->c));
  bool wide = x->scope == SCOPE_WORKGROUP;
  strb_printf(s,
              "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"matrix\", dialect = \"spirv\", grid = [%d, %d, "
              "1], block = [%d, 1, 1], subgroup = %d, path = \"%s\"} : () -> ()\n",
              p->n / (2 * x->n), p->m / (2 * x->m), wide ? x->threads : subgroup, subgroup,
              wide ? "coopmat2_workgroup" : "coopmat");
}

/* A row per lane, eight columns in its registers. */
static void plain_kernel(strb *s, const problem *p, int subgroup) {
  const char *acc = dtype_is_float(p->a) ? "f32" : "i32";
  head(s, p);
  constant(s, "zero", 0), constant(s, "one", 1), constant(s, "K", p->k), constant(s, "N", p->n),
      constant(s, "rows", subgroup), constant(s, "cols", 8), constant(s, "eight", 8);
  strb_puts(s, "%t = \"tessera.target.thread_id\"() {axis = 0} : () -> index\n");
  binary(s, "mb", "mul", "by", "rows"), binary(s, "m0", "add", "mb", "t"), binary(s, "n0", "mul", "bx", "cols"),
      binary(s, "a0", "mul", "m0", "K"), binary(s, "cr", "mul", "m0", "N"), binary(s, "c0", "add", "cr", "n0");
  strb_printf(s,
              "%%z = \"tessera.target.const\"() {value = 0.0} : () -> vector<8x%s>\n%%r = "
              "\"tessera.target.for\"(%%zero, %%K, %%eight, %%z) ({\n^bb0(%%k: index, %%q: vector<8x%s>):\n",
              acc, acc);
  binary(s, "ai", "add", "a0", "k");
  strb_printf(s,
              "%%av = \"tessera.target.load\"(%%A, %%ai) : (!tessera.ptr<%s, \"global\">, index) -> vector<8x%s>\n%%af "
              "= \"tessera.target.cast\"(%%av) : (vector<8x%s>) -> vector<8x%s>\n",
              mlir(p->a), mlir(p->a), mlir(p->a), acc);
  for (int u = 0; u < 8; u++) {
    char from[16], to[16];
    snprintf(from, sizeof from, u ? "s%d" : "q", u);
    snprintf(to, sizeof to, "s%d", u + 1);
    strb_printf(s,
                "%%u%d = \"tessera.target.const\"() {value = %d} : () -> index\n%%k%d = \"tessera.target.add\"(%%k, "
                "%%u%d) : (index, index) -> index\n",
                u, u, u, u);
    strb_printf(s,
                "%%br%d = \"tessera.target.mul\"(%%k%d, %%N) : (index, index) -> index\n%%bi%d = "
                "\"tessera.target.add\"(%%br%d, %%n0) : (index, index) -> index\n",
                u, u, u, u);
    strb_printf(s,
                "%%bv%d = \"tessera.target.load\"(%%B, %%bi%d) : (!tessera.ptr<%s, \"global\">, index) -> "
                "vector<8x%s>\n%%bf%d = \"tessera.target.cast\"(%%bv%d) : (vector<8x%s>) -> vector<8x%s>\n",
                u, u, mlir(p->b), mlir(p->b), u, u, mlir(p->b), acc);
    strb_printf(s,
                "%%x%d = \"tessera.target.extract\"(%%af) {at = %d} : (vector<8x%s>) -> %s\n%%av%d = "
                "\"tessera.target.vector\"(",
                u, u, acc, acc, u);
    for (int i = 0; i < 8; i++) strb_printf(s, "%s%%x%d", i ? ", " : "", u);
    strb_puts(s, ") : (");
    for (int i = 0; i < 8; i++) strb_printf(s, "%s%s", i ? ", " : "", acc);
    strb_printf(s,
                ") -> vector<8x%s>\n%%%s = \"tessera.target.fma\"(%%av%d, %%bf%d, %%%s) : (vector<8x%s>, vector<8x%s>, "
                "vector<8x%s>) -> vector<8x%s>\n",
                acc, to, u, u, from, acc, acc, acc, acc);
  }
  strb_printf(s,
              "\"tessera.target.yield\"(%%s8) : (vector<8x%s>) -> ()\n}) : (index, index, index, vector<8x%s>) -> "
              "vector<8x%s>\n",
              acc, acc, acc);
  strb_printf(s,
              "%%o = \"tessera.target.cast\"(%%r) : (vector<8x%s>) -> vector<8x%s>\n\"tessera.target.store\"(%%o, %%C, "
              "%%c0) : (vector<8x%s>, !tessera.ptr<%s, \"global\">, index) -> ()\n",
              acc, mlir(p->c), mlir(p->c), mlir(p->c));
  strb_printf(s,
              "\"tessera.target.return\"() : () -> ()\n}) {sym_name = \"plain\", dialect = \"spirv\", grid = [%d, %d, "
              "1], block = [%d, 1, 1], subgroup = %d} : () -> ()\n",
              p->n / 8, p->m / subgroup, subgroup, subgroup);
}

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
  *v = (verdict){.a = x->a,
                 .b = x->b,
                 .c = x->c,
                 .m = listed->m,
                 .n = listed->n,
                 .k = listed->k,
                 .scope = (int)x->scope,
                 .threads = x->threads};
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
  if (!st && !v->wrong && p.m % lanes == 0) {
    strb_clear(&text);
    plain_kernel(&text, &p, lanes);
    st = strb_ok(&text) ? bench_run(&b, strb_text(&text), &v->plain_rate) : st_oom();
  }
  strb_clear(&text);
  bench_end(&b);
  return st;
}

/* ---- outcome ---- */

static bool same_shape(const verdict *v, const tsr_matrix_shape *x) {
  return v->a == x->a && v->b == x->b && v->c == x->c && v->m == x->m && v->n == x->n && v->k == x->k &&
         v->scope == (int)x->scope && v->threads == x->threads;
}

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
  if (!strcmp(v, "scalar")) c->subgroup_shuffle = c->subgroup_arithmetic = false;
}

void vk_selftest_id(const be_device_info *info, char *out, size_t cap) {
  snprintf(out, cap, "%s-%.90s", info->id, info->driver);
}

static bool wants_test(const tsr_caps *c) {
  const char *wanted = knob_str("TSR_MATRIX");
  return c->n_matrix && strcmp(wanted, "subgroup") && strcmp(wanted, "scalar");
}

static void file_name(const char *id, char *out, size_t cap) {
  snprintf(out, cap, "vulkan-matrix-%016llx.bin",
           (unsigned long long)hash_mix(hash_u64(hash_str(HASH_SEED, id), TEST_VERSION)));
}

/* Applies the verdict on shape i, of which the rate of plain arithmetic is a by-product. */
static void conclude(tsr_caps *c, int i, const verdict *v) {
  const char *wanted = knob_str("TSR_MATRIX");
  bool whole = v->a == TSR_I8 || v->a == TSR_U8;
  if (c->matrix[i].enabled) apply(&c->matrix[i], v, !strcmp(wanted, "coopmat") || !strcmp(wanted, "coopmat2"));
  if (!whole && v->plain_rate > c->peak_flops_f32) c->peak_flops_f32 = v->plain_rate;
}

/* The verdicts kept on disk into v; how many of the shapes were found. */
static int read_kept(const be_env *env, const tsr_caps *c, const char *id, verdict *v, bool *found) {
  char name[96];
  size_t n = 0;
  int hits = 0;
  file_name(id, name, sizeof name);
  verdict *kept = vk_cache_read(env, name, &n);
  for (int i = 0; i < c->n_matrix; i++) {
    found[i] = false;
    for (size_t k = 0; kept && k < n / sizeof *kept && !found[i]; k++)
      if (same_shape(&kept[k], &c->matrix[i])) v[i] = kept[k], found[i] = true;
    hits += found[i];
  }
  if (kept) al_free(env->al, kept, n, 16);
  return hits;
}

/* A workgroup's matrices that a subgroup's of the same types outrun are left alone by `auto`. */
static void compare_scopes(tsr_caps *c, const verdict *v) {
  if (strcmp(knob_str("TSR_MATRIX"), "auto")) return;
  for (int i = 0; i < c->n_matrix; i++) {
    double best = 0;
    for (int k = 0; k < c->n_matrix; k++)
      if (v[k].scope == SCOPE_SUBGROUP && c->matrix[k].enabled && v[k].a == v[i].a && v[k].b == v[i].b &&
          v[k].c == v[i].c && v[k].matrix_rate > best)
        best = v[k].matrix_rate;
    if (v[i].scope != SCOPE_WORKGROUP || !c->matrix[i].enabled || !(v[i].matrix_rate > 0) || v[i].matrix_rate >= best)
      continue;
    c->matrix[i].enabled = false;
    snprintf(c->matrix[i].reason, sizeof c->matrix[i].reason, "slower than a subgroup's: %.0f against %.0f GFLOP/s",
             v[i].matrix_rate * 1e-9, best * 1e-9);
  }
}

bool vk_selftest_kept(const be_env *env, const char *id, tsr_caps *c) {
  verdict v[TSR_MAX_MATRIX];
  bool found[TSR_MAX_MATRIX];
  vk_apply_matrix_knob(c);
  if (!wants_test(c)) return true;
  if (read_kept(env, c, id, v, found) < c->n_matrix) return false;
  for (int i = 0; i < c->n_matrix; i++) conclude(c, i, &v[i]);
  compare_scopes(c, v);
  return true;
}

tsr_status vk_selftest(be_device *d, const char *id) {
  tsr_caps *c = &d->caps;
  verdict v[TSR_MAX_MATRIX];
  bool found[TSR_MAX_MATRIX];
  char name[96];
  vk_apply_matrix_knob(c);
  if (!wants_test(c)) return NULL;
  memset(v, 0, sizeof v);
  int hits = read_kept(d->env, c, id, v, found);
  for (int i = 0; i < c->n_matrix; i++) {
    if (!found[i]) TSR_TRY(try_shape(d, &c->matrix[i], &v[i]));
    conclude(c, i, &v[i]);
  }
  compare_scopes(c, v);
  file_name(id, name, sizeof name);
  if (hits < c->n_matrix) vk_cache_write(d->env, name, v, sizeof *v * (size_t)c->n_matrix);
  return NULL;
}
