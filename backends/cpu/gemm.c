/* backends/cpu/gemm.c - the gemm and matmul instructions on the packed micro-kernels.
 * gemm: one product of tiles or windows, packed here and now. matmul: the whole contraction of a C block; b's panels
 * are packed once per launch through panel_cache.h, a is used in place, packed once if it is a constant, or per block.
 * The bits depend on shapes and tiles only. */
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
                             vm_cpuk((tsr_dtype)d[i->a[2]].dtype), i->a[5] == CPU_ORDER_KAHAN);
  return m->k->gemm[*kind];
}

bool gemm_has_kernel(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  const cpu_desc *d = cpu_descs(m->image);
  return g->pack_types >> vm_cpuk((tsr_dtype)d[i->a[1]].dtype) & 1 &&
         g->pack_types >> vm_cpuk((tsr_dtype)d[i->a[2]].dtype) & 1;
}

/* Blocks with as many rows, and those that are alone in their columns, pack their own B; the others share it, in parts
 * of k, of which one alone would let all but one wait. A block whose B is a tile of its own packs it, too: nothing
 * shared has that key. */
enum { PACK_ON_THE_WAY_ROWS = 192, PACK_ALONE_ROWS = 48 };

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

static size_t b_panel_bytes(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  int64_t mm, nn, kk;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  sizes_of(m, i, &mm, &nn, &kk);
  int64_t bk = k_step(g, i, kk);
  return (size_t)((kk + bk - 1) / bk) * cpuk_packed_b_bytes(g, (size_t)bk, (size_t)nn);
}

/* Rows that don't fall on the same cache sets may be read where they lie, and so may those of all of k at once that lie
 * one after the other, as far as a tile's rows find room in L1. A depth that kernels would read past is packed, which
 * pads it with zeros. */
static bool a_in_place(const vm_module *m, const cpu_instr *i, const cpuk_gemm *g, const operand *a) {
  int64_t mm, nn, kk;
  if (g->a_inplace != (int)a->type || a->cs != 1 || a->cols % g->kr != 0) return false;
  sizes_of(m, i, &mm, &nn, &kk);
  const uint64_t stride = (uint64_t)a->rs * cpuk_dtype_bytes(a->type);
  return stride % 2048 != 0 || (a->rs == kk && k_step(g, i, kk) >= kk && cpuk_rows_keep(g, stride));
}

/* 0: it needs none. */
static size_t a_panel_bytes(const vm_module *m, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  int64_t mm, nn, kk;
  const cpuk_gemm *g = gemm_of(m, i, &kind);
  const cpu_desc *d = cpu_descs(m->image) + i->a[1];
  sizes_of(m, i, &mm, &nn, &kk);
  const int r = i->a[3] ? 1 : 0;
  const operand a = {.type = vm_cpuk((tsr_dtype)d->dtype), .rs = d->strides[r], .cs = d->strides[!r], .cols = kk};
  if (a_in_place(m, i, g, &a)) return 0;
  int64_t bk = k_step(g, i, kk);
  return (size_t)((kk + bk - 1) / bk) * cpuk_packed_a_bytes(g, (size_t)mm, (size_t)bk);
}

/* A block's transformed weights, which those of all its images share. */
static void add_winograd(const vm_module *m, const cpu_kernel *k, int i, const bool *constant, gemm_panels *n) {
  const size_t bytes = winograd_weights_bytes(m, cpu_instrs(m->image) + i);
  const int arg = m->matmul_arg[i][0];
  n->matmuls++;
  if (arg < 0 || !constant[arg]) {
    n->bytes = bytes > n->bytes ? bytes : n->bytes;
    return;
  }
  n->const_bytes = bytes > n->const_bytes ? bytes : n->const_bytes;
  n->constants += (double)k->grid[1];
}

gemm_panels gemm_panels_of(const vm_module *m, const cpu_kernel *k, const bool *constant) {
  enum { MOST_BATCH = 32 }; /* matrices of a; most often all blocks have the same one */
  gemm_panels n = {0};
  for (int i = k->first_instr; i < k->first_instr + k->n_instr; i++) {
    const cpu_instr *in = cpu_instrs(m->image) + i;
    if (in->op == CPU_CONVOLVE && in->a[5]) add_winograd(m, k, i, constant, &n);
    if (in->op != CPU_MATMUL) continue;
    const size_t bytes[2] = {a_panel_bytes(m, in), b_panel_bytes(m, in)};
    const double windows[2] = {(double)k->grid[1] * (double)min64(k->grid[2], MOST_BATCH),
                               (double)k->grid[0] * (double)k->grid[2]};
    for (int side = 0; side < 2; side++) {
      const int arg = m->matmul_arg[i][side];
      if (arg < 0 || !constant[arg] || !bytes[side]) continue;
      if (bytes[side] > n.const_bytes) n.const_bytes = bytes[side];
      n.constants += windows[side];
    }
    if (bytes[1] > n.bytes) n.bytes = bytes[1];
    n.matmuls++;
  }
  return n;
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

static bool shares_b(const vm *v, const target *t, int parts) {
  return t->m < (parts > 1 ? PACK_ON_THE_WAY_ROWS : PACK_ALONE_ROWS) && v->l->k->grid[1] != 1;
}

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

/* Few rows. Where b lies along k their order is their own, and where blocks sum several of k at once, theirs is: a
 * block may have few rows of a product that has many, so not with either where the order is fixed. Sums of integers are
 * the same in any. */
static bool try_skinny(const vm *v, const cpu_instr *i, cpuk_gemm_kind kind, const cpuk_gemm *g, const operand *a,
                       const operand *b, const target *t, bool accumulate) {
  const bool is_float = g->acc_type != CPUK_I32 && g->acc_type != CPUK_I64;
  if (is_float && i->a[5] == CPU_ORDER_FIXED && (b->cs != 1 || g->kr != 1)) return false;
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

/* A's panels along k: where it lies, packed once for all launches, or by each block. */
typedef struct a_side {
  const operand *a;
  int64_t k, bk;
  int parts;
  bool in_place;
  char *own;         /* memory of the block's for one part */
  panel_cache *from; /* of e */
  panel_entry *e;    /* of a constant; NULL: none, or more blocks are at work than there are panels for */
  size_t part_bytes;
} a_side;

static void pack_a_part(const cpuk_gemm *g, const a_side *s, int part, char *to) {
  const int64_t k0 = part * s->bk;
  pack_a(g, s->a, k0, min64(s->bk, s->k - k0), to);
}

/* The panel of a part; NULL: in place. */
static const char *a_part(const cpuk_gemm *g, const a_side *s, int part) {
  int claimed;
  if (s->in_place) return NULL;
  if (!s->e) return pack_a_part(g, s, part, s->own), s->own;
  char *data = panel_cache_data(s->e);
  while (panel_cache_claim(s->e, part, s->parts, &claimed)) {
    pack_a_part(g, s, claimed, data + (size_t)claimed * s->part_bytes);
    panel_cache_done(s->e, claimed);
  }
  return data + (size_t)part * s->part_bytes;
}

static bool is_constant(const vm *v, const cpu_instr *i, int side) {
  const int arg = v->m->matmul_arg[i - cpu_instrs(v->m->image)][side];
  return arg >= 0 && v->l->constant_args && v->l->constant_args[arg] && v->l->const_panels;
}

static a_side begin_a(const vm *v, const cpuk_gemm *g, const cpu_instr *i, const operand *a, int64_t k, int64_t bk,
                      char *own) {
  a_side s = {.a = a, .k = k, .bk = bk, .parts = (int)((k + bk - 1) / bk), .own = own};
  s.in_place = a_in_place(v->m, i, g, a);
  if (s.in_place || !is_constant(v, i, 0)) return s;
  s.part_bytes = cpuk_packed_a_bytes(g, (size_t)a->rows, (size_t)bk);
  s.from = v->l->const_panels;
  s.e = panel_cache_acquire(s.from, &(panel_key){i, a->p, 0, k, a->rows}, s.parts);
  return s;
}

static void end_a(const a_side *s) {
  if (s->e) panel_cache_release(s->from, s->e);
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
  if (t.m > 0 && t.n > 0 && !try_skinny(v, i, kind, g, &a, &b, &t, accumulate)) {
    a.rows = t.m;
    b.cols = t.n;
    char *pb = v->t->pack, *pa = pb + cpuk_packed_b_bytes(g, (size_t)k, (size_t)t.n);
    pack_b(g, &b, 0, k, pb);
    bool in_place = a_in_place(v->m, i, g, &a);
    if (!in_place) pack_a(g, &a, 0, k, pa);
    block(g, &t, &a, in_place ? NULL : pa, 0, pb, k, accumulate, NULL);
  }
  end_target(v, g, kind, &whole);
}

/* B that few blocks use: packed inside block, a chunk at a time, so that it never goes to memory (docs/cpu-kernels.md).
 */
static void matmul_on_the_way(const vm *v, const cpuk_gemm *g, const target *t, const a_side *a, const operand *b) {
  bool small_sums = false;
  for (int part = 0; part < a->parts; part++) {
    const int64_t k0 = part * a->bk, kn = min64(a->bk, a->k - k0);
    const char *packed = a_part(g, a, part);
    cpuk_pack_args plain = {v->t->pack, b->p + k0 * b->rs * (int64_t)cpuk_dtype_bytes(b->type), b->type, b->rs, b->cs,
                            (size_t)kn, (size_t)t->n};
    cpuk_block_args args = {.c = t->c,
                            .ldc = t->ldc,
                            .comp = t->comp,
                            .b_plain = &plain,
                            .m = (size_t)t->m,
                            .n = (size_t)t->n,
                            .k = (size_t)kn,
                            .accumulate = part > 0,
                            .small_sums = &small_sums};
    if (packed) args.a = packed;
    else args.a = a->a->p + k0 * (int64_t)cpuk_dtype_bytes(a->a->type), args.lda = a->a->rs;
    g->block(&args);
  }
}

/* B's panels, which all blocks of their columns share. */
static void matmul_shared(const cpuk_gemm *g, const target *t, const a_side *a, const operand *b, panel_entry *e) {
  const size_t part_bytes = cpuk_packed_b_bytes(g, (size_t)a->bk, (size_t)t->n);
  bool small_sums = false;
  for (int part = 0; part < a->parts; part++) {
    const int64_t k0 = part * a->bk;
    int claimed;
    while (panel_cache_claim(e, part, a->parts, &claimed)) {
      const int64_t c0 = claimed * a->bk;
      pack_b(g, b, c0, min64(a->bk, a->k - c0), panel_cache_data(e) + (size_t)claimed * part_bytes);
      panel_cache_done(e, claimed);
    }
    block(g, t, a->a, a_part(g, a, part), k0, panel_cache_data(e) + (size_t)part * part_bytes,
          min64(a->bk, a->k - k0), part > 0, &small_sums);
  }
}

void vm_matmul(const vm *v, const cpu_instr *i) {
  cpuk_gemm_kind kind;
  const cpuk_gemm *g = gemm_of(v->m, i, &kind);
  operand a = operand_of(v, vm_desc(v, i->a[1]), i->a[3]), b = operand_of(v, vm_desc(v, i->a[2]), i->a[4]);
  target whole = begin_target(v, g, kind, vm_desc(v, i->a[0]), false), t = trim(v, whole, &a, &b, g, false);
  int64_t k = min64(a.cols, b.rows), bk = k_step(g, i, k);
  if (k <= 0) clear_block(&whole, g);
  const bool constant = is_constant(v, i, 1), own = vm_desc(v, i->a[2])->kind == CPU_D_TILE;
  if (t.m > 0 && t.n > 0 && k > 0 && (constant || !try_skinny(v, i, kind, g, &a, &b, &t, false))) {
    a.rows = t.m;
    b.cols = t.n;
    const int parts = (int)ceil_div(k, bk);
    const bool share = constant || (!own && shares_b(v, &t, parts));
    panel_cache *from = constant ? v->l->const_panels : v->l->panels;
    panel_entry *e = share ? panel_cache_acquire(from, &(panel_key){i, b.p, 1, k, t.n}, parts) : NULL;
    /* Where there are no panels to share, b's are before a's. */
    char *rest = v->t->pack + (e ? 0 : g->b_chunk * g->b_panel_bytes((size_t)bk));
    const a_side side = begin_a(v, g, i, &a, k, bk, rest);
    if (e) matmul_shared(g, &t, &side, &b, e);
    else matmul_on_the_way(v, g, &t, &side, &b);
    end_a(&side);
    if (e) panel_cache_release(from, e);
  }
  end_target(v, g, kind, &whole);
}
