/* backends/cpu/gemm.c - the gemm and matmul instructions on the packed micro-kernels.
 * gemm: one product of tiles or windows, packed here and now. matmul: the whole contraction of a C block; b's panels
 * are packed once per launch through panel_cache.h, a is packed per block or used in place. The bits depend on shapes
 * and tiles only. */
#include <string.h>

#include "backends/cpu/panel_cache.h"
#include "core/base/dtype.h"
#include "core/base/int_math.h"

typedef struct operand {
  char *p;
  cpuk_dtype type;
  int64_t rs, cs; /* strides of the logical [rows, cols] */
  int64_t rows, cols; /* valid extents */
} operand;

static operand operand_of(const vm *v, const cpu_desc *d, bool transposed) {
  const int64_t *ext = vm_ext(v, d);
  int r = transposed ? 1 : 0, c = transposed ? 0 : 1;
  return (operand){vm_base(v, d), vm_cpuk((tsr_dtype)d->dtype), d->strides[r], d->strides[c], ext[r], ext[c]};
}

static const cpuk_gemm *gemm_of(const vm_module *m, const cpu_instr *i, cpuk_gemm_kind *kind) {
  const cpu_desc *d = cpu_descs(m->image);
  *kind = cpuk_gemm_kind_for(vm_cpuk((tsr_dtype)d[i->a[0]].dtype), vm_cpuk((tsr_dtype)d[i->a[1]].dtype),
                             vm_cpuk((tsr_dtype)d[i->a[2]].dtype), i->a[5]);
  return m->k->gemm[*kind];
}

bool gemm_has_kernel(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  const cpu_desc *d = cpu_descs(m->image);
  return g->pack_types >> vm_cpuk((tsr_dtype)d[i->a[1]].dtype) & 1 &&
         g->pack_types >> vm_cpuk((tsr_dtype)d[i->a[2]].dtype) & 1;
}

/* Blocks with as many rows, and those that are alone in their columns, pack their own B; the others share it. */
enum { PACK_ON_THE_WAY_ROWS = 192 };

/* Logical sizes of the instruction's tiles: m x k times k x n. */
static void sizes_of(const vm_module *m, const cpu_instr *i, int64_t *mm, int64_t *nn, int64_t *kk) {
  const cpu_desc *d = cpu_descs(m->image), *a = &d[i->a[1]], *b = &d[i->a[2]];
  *mm = a->dims[i->a[3] ? 1 : 0];
  *kk = a->dims[i->a[3] ? 0 : 1];
  *nn = b->dims[i->a[4] ? 0 : 1];
}

static int64_t k_step(const cpuk_gemm *g, const cpu_instr *i, int64_t kk) {
  int64_t bk = i->op == CPU_MATMUL && i->a[6] > 0 ? i->a[6] : kk;
  int64_t least = (kk + PANEL_CACHE_MAX_PARTS - 1) / PANEL_CACHE_MAX_PARTS;
  if (bk < least) bk = least;
  return round_up(min64(bk, kk > 0 ? kk : 1), g->kr);
}

size_t gemm_panel_bytes(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  int64_t mm, nn, kk;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  sizes_of(m, i, &mm, &nn, &kk);
  int64_t bk = k_step(g, i, kk);
  return (size_t)((kk + bk - 1) / bk) * cpuk_packed_b_bytes(g, (size_t)bk, (size_t)nn);
}

size_t gemm_pack_bytes(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  int64_t mm, nn, kk;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  sizes_of(m, i, &mm, &nn, &kk);
  size_t bk = (size_t)k_step(g, i, kk), a = cpuk_packed_a_bytes(g, (size_t)mm, bk);
  return a + (i->op == CPU_GEMM ? cpuk_packed_b_bytes(g, (size_t)kk, (size_t)nn) : g->b_chunk * g->b_panel_bytes(bk)) +
         256;
}

/* Kernels accumulate in rows of their own type: another destination than that, of n columns, gets its sums at the end.
 */
static bool is_staged(const cpuk_gemm *g, cpuk_gemm_kind kind, const cpu_desc *c, int64_t n) {
  return g->acc_type != vm_cpuk((tsr_dtype)c->dtype) || kind == CPUK_GEMM_F64_KAHAN || (c->strides[1] != 1 && n > 1);
}

/* Accumulators in another type than the tile's (kahan), or elsewhere. */
size_t gemm_temp_bytes(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  int64_t mm, nn, kk;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  sizes_of(m, i, &mm, &nn, &kk);
  const cpu_desc *c = cpu_descs(m->image) + i->a[0];
  size_t bytes = 0;
  if (is_staged(g, kind, c, nn)) bytes += (size_t)(mm * nn) * 16;
  return bytes + 256;
}

/* Where the kernels accumulate: the destination itself, or wider memory that is rounded into it at the end. */
typedef struct target {
  char *c;
  int64_t ldc;
  char *comp;
  bool staged;
  int64_t m, n;
  const cpu_desc *d;
} target;

static target begin_target(const vm *v, const cpuk_gemm *g, cpuk_gemm_kind kind, const cpu_desc *d, bool accumulate) {
  const int64_t *ext = vm_ext(v, d);
  target t = {vm_base(v, d), d->strides[0], NULL, false, ext[0], ext[1], d};
  if (!is_staged(g, kind, d, ext[1])) return t;
  t.staged = true;
  t.ldc = t.n;
  char *from = t.c;
  t.c = v->t->temp + CPU_STRIP * 64;
  t.comp = t.c + t.m * t.n * 8;
  memset(t.comp, 0, (size_t)(t.m * t.n) * 8);
  cpuk_convert_fn widen = v->k->lanes->convert[vm_cpuk((tsr_dtype)d->dtype)][g->acc_type];
  const int64_t acc = (int64_t)cpuk_dtype_bytes(g->acc_type), e = (int64_t)tsr_dtype_size((tsr_dtype)d->dtype);
  for (int64_t r = 0; accumulate && r < t.m; r++) {
    char *to = t.c + r * t.n * acc;
    const char *row = from + r * d->strides[0] * e;
    if (d->strides[1] == 1) widen(to, row, (size_t)t.n);
    else
      for (int64_t c = 0; c < t.n; c++) widen(to + c * acc, row + c * d->strides[1] * e, 1);
  }
  return t;
}

static void end_target(const vm *v, const cpuk_gemm *g, cpuk_gemm_kind kind, const target *t) {
  if (!t->staged) return;
  size_t acc = cpuk_dtype_bytes(g->acc_type), e = tsr_dtype_size((tsr_dtype)t->d->dtype);
  if (kind == CPUK_GEMM_F64_KAHAN)
    v->k->lanes->binary[SC_ADD][CPUK_CT_F64](t->c, t->c, t->comp, (size_t)(t->m * t->n));
  for (int64_t r = 0; r < t->m; r++) {
    char *src = t->c + r * t->n * (int64_t)acc, *dst = vm_base(v, t->d) + r * t->d->strides[0] * (int64_t)e;
    cpuk_convert_fn f = v->k->lanes->convert[g->acc_type][vm_cpuk((tsr_dtype)t->d->dtype)];
    if (t->d->strides[1] == 1) f(dst, src, (size_t)t->n);
    else
      for (int64_t c = 0; c < t->n; c++) f(dst + c * t->d->strides[1] * (int64_t)e, src + c * (int64_t)acc, 1);
  }
}

static bool try_skinny(const vm *v, cpuk_gemm_kind kind, const cpuk_gemm *g, const operand *a, const operand *b,
                       const target *t, bool accumulate) {
  cpuk_plan_args p = {
      .kind = kind, .m = (size_t)t->m, .a_type = a->type, .b_type = b->type, .b_rs = b->rs, .b_cs = b->cs};
  if (t->staged || (a->cs != 1 && a->cols > 1) || !cpuk_skinny_fits(g, &p)) return false;
  cpuk_skinny_args s = {t->c,      t->ldc, a->p,         a->rs,        b->p,
                        b->rs,     b->cs,  (size_t)t->m, (size_t)t->n, (size_t)min64(a->cols, b->rows),
                        accumulate};
  g->skinny(&s);
  return true;
}

static void pack_a(const cpuk_gemm *g, const operand *a, int64_t k0, int64_t k, char *dst) {
  cpuk_pack_args p = {
      dst, a->p + k0 * a->cs * (int64_t)cpuk_dtype_bytes(a->type), a->type, a->rs, a->cs, (size_t)a->rows, (size_t)k};
  g->pack_a(&p);
}

static void pack_b(const cpuk_gemm *g, const operand *b, int64_t k0, int64_t k, char *dst) {
  cpuk_pack_args p = {
      dst, b->p + k0 * b->rs * (int64_t)cpuk_dtype_bytes(b->type), b->type, b->rs, b->cs, (size_t)k, (size_t)b->cols};
  g->pack_b(&p);
}

/* Rows that don't fall on the same cache sets may be read where they lie. */
static bool a_in_place(const cpuk_gemm *g, const operand *a) {
  /* A depth that kernels would read past is packed, which pads it with zeros. */
  return g->a_inplace == (int)a->type && a->cs == 1 && a->cols % g->kr == 0 &&
         (uint64_t)a->rs * cpuk_dtype_bytes(a->type) % 1024 != 0;
}

/* small_sums: see cpuk_block_args. */
static void block(const cpuk_gemm *g, const target *t, const operand *a, const char *packed_a, int64_t k0,
                  const char *packed_b, int64_t k, bool accumulate, bool *small_sums) {
  cpuk_block_args args = {.c = t->c,
                          .ldc = t->ldc,
                          .comp = t->comp,
                          .b = packed_b,
                          .m = (size_t)t->m,
                          .n = (size_t)t->n,
                          .k = (size_t)k,
                          .accumulate = accumulate,
                          .small_sums = small_sums};
  if (packed_a) args.a = packed_a;
  else args.a = a->p + k0 * (int64_t)cpuk_dtype_bytes(a->type), args.lda = a->rs;
  g->block(&args);
}

static void clear_block(const target *t, const cpuk_gemm *g) {
  for (int64_t r = 0; r < t->m; r++)
    memset(t->c + r * t->ldc * (int64_t)cpuk_dtype_bytes(g->acc_type), 0, (size_t)t->n * cpuk_dtype_bytes(g->acc_type));
}

/* Rows and columns of the destination that no operand reaches are products of zeros. */
static target trim(const vm *v, target t, const operand *a, const operand *b, const cpuk_gemm *g, bool accumulate) {
  if (!accumulate && (a->rows < t.m || b->cols < t.n)) clear_block(&t, g);
  t.m = min64(t.m, a->rows);
  t.n = min64(t.n, b->cols);
  return t;
}

void vm_gemm(const vm *v, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  const cpuk_gemm *g = gemm_of(v->m, i, &kind);
  operand a = operand_of(v, vm_desc(v, i->a[1]), i->a[3]), b = operand_of(v, vm_desc(v, i->a[2]), i->a[4]);
  bool accumulate = i->a[6];
  target whole = begin_target(v, g, kind, vm_desc(v, i->a[0]), accumulate), t = trim(v, whole, &a, &b, g, accumulate);
  int64_t k = min64(a.cols, b.rows);
  if (t.m > 0 && t.n > 0 && !try_skinny(v, kind, g, &a, &b, &t, accumulate)) {
    a.rows = t.m;
    b.cols = t.n;
    char *pb = v->t->pack, *pa = pb + cpuk_packed_b_bytes(g, (size_t)k, (size_t)t.n);
    pack_b(g, &b, 0, k, pb);
    bool in_place = a_in_place(g, &a);
    if (!in_place) pack_a(g, &a, 0, k, pa);
    block(g, &t, &a, in_place ? NULL : pa, 0, pb, k, accumulate, NULL);
  }
  end_target(v, g, kind, &whole);
}

/* B that few blocks use: packed inside block, a chunk at a time, so that it never goes to memory (docs/cpu-kernels.md).
 */
static void matmul_on_the_way(const vm *v, const cpuk_gemm *g, const target *t, const operand *a, const operand *b,
                              int64_t k, int64_t bk) {
  bool in_place = a_in_place(g, a);
  size_t ae = cpuk_dtype_bytes(a->type), be = cpuk_dtype_bytes(b->type),
         chunk = g->b_chunk * g->b_panel_bytes((size_t)bk);
  char *pb = v->t->pack, *pa = pb + chunk;
  bool small_sums = false;
  for (int64_t k0 = 0; k0 < k; k0 += bk) {
    int64_t kn = min64(bk, k - k0);
    cpuk_pack_args plain = {pb, b->p + k0 * b->rs * (int64_t)be, b->type, b->rs, b->cs, (size_t)kn, (size_t)t->n};
    cpuk_block_args args = {.c = t->c,
                            .ldc = t->ldc,
                            .comp = t->comp,
                            .b_plain = &plain,
                            .m = (size_t)t->m,
                            .n = (size_t)t->n,
                            .k = (size_t)kn,
                            .accumulate = k0 > 0,
                            .small_sums = &small_sums};
    if (in_place) {
      args.a = a->p + k0 * (int64_t)ae;
      args.lda = a->rs;
    } else {
      pack_a(g, a, k0, kn, pa);
      args.a = pa;
    }
    g->block(&args);
  }
}

void vm_matmul(const vm *v, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  const cpuk_gemm *g = gemm_of(v->m, i, &kind);
  operand a = operand_of(v, vm_desc(v, i->a[1]), i->a[3]), b = operand_of(v, vm_desc(v, i->a[2]), i->a[4]);
  target whole = begin_target(v, g, kind, vm_desc(v, i->a[0]), false), t = trim(v, whole, &a, &b, g, false);
  int64_t k = min64(a.cols, b.rows), bk = k_step(g, i, k);
  if (k <= 0) clear_block(&whole, g);
  int arg = v->m->matmul_arg[i - cpu_instrs(v->m->image)];
  bool constant = arg >= 0 && v->l->constant_args && v->l->constant_args[arg] && v->l->const_panels;
  if (t.m > 0 && t.n > 0 && k > 0 && (constant || !try_skinny(v, kind, g, &a, &b, &t, false))) {
    a.rows = t.m;
    b.cols = t.n;
    if (!constant && (t.m >= PACK_ON_THE_WAY_ROWS || v->l->k->grid[1] == 1)) {
      matmul_on_the_way(v, g, &t, &a, &b, k, bk);
      end_target(v, g, kind, &whole);
      return;
    }
    panel_cache *shared = constant ? v->l->const_panels : v->l->panels;
    int parts = (int)((k + bk - 1) / bk);
    size_t part_bytes = cpuk_packed_b_bytes(g, (size_t)bk, (size_t)t.n);
    panel_entry *e = panel_cache_acquire(shared, &(panel_key){i, b.p, k, t.n}, parts);
    bool in_place = a_in_place(g, &a), small_sums = false;
    for (int part = 0; part < parts; part++) {
      int64_t k0 = part * bk, kn = min64(bk, k - k0);
      int claimed;
      while (panel_cache_claim(e, part, parts, &claimed)) {
        int64_t c0 = claimed * bk;
        pack_b(g, &b, c0, min64(bk, k - c0), panel_cache_data(e) + (size_t)claimed * part_bytes);
        panel_cache_done(e, claimed);
      }
      if (!in_place) pack_a(g, &a, k0, kn, v->t->pack);
      block(g, &t, &a, in_place ? NULL : v->t->pack, k0, panel_cache_data(e) + (size_t)part * part_bytes, kn, part > 0,
            &small_sums);
    }
    panel_cache_release(shared, e);
  }
  end_target(v, g, kind, &whole);
}
