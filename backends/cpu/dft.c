/* backends/cpu/dft.c - Fourier transforms of lines (tile op dft): where each line lies, some lines at a time, which the
 * kernels take in the lanes of vectors. */
#include <string.h>

#include "backends/cpu/dft_plan.h"
#include "backends/cpu/vm.h"

enum { MOST_LANES = 16 };

static bool is_wide(const cpu_desc *d) { return d->dtype == TSR_F64; }

void dft_plans_destroy(vm_module *m) {
  if (!m->transforms) return;
  for (int i = 0; i < m->image->n_instrs; i++) dft_plan_destroy(m->al, &m->transforms[i]);
  al_free(m->al, m->transforms, sizeof *m->transforms * ((size_t)m->image->n_instrs + 1), 16);
  m->transforms = NULL;
}

tsr_status dft_plans_create(vm_module *m) {
  const size_t n = (size_t)m->image->n_instrs;
  m->transforms = al_zalloc(m->al, sizeof *m->transforms * (n + 1));
  if (!m->transforms) return st_oom();
  for (size_t i = 0; i < n; i++) {
    const cpu_instr *in = cpu_instrs(m->image) + i;
    if (in->op != CPU_DFT) continue;
    const cpu_desc *x = cpu_descs(m->image) + in->a[1];
    const size_t points = (size_t)x->dims[in->a[3]], places = in->a[6] ? (size_t)x->dims[in->a[3] + 1] : 0;
    m->transforms[i] = dft_plan_create(m->al, m->k->dft, is_wide(x), points, places);
    if (!m->transforms[i]) return st_oom();
  }
  return NULL;
}

size_t dft_temp_bytes(const vm_module *m, int instr) {
  const cpu_desc *x = cpu_descs(m->image) + cpu_instrs(m->image)[instr].a[1];
  return cpuk_dft_scratch_bytes(m->k->dft, is_wide(x), m->transforms[instr]->p.length) + 64;
}

/* The other dimensions of an operand, and what is beside a line: lines are counted row by row. */
typedef struct side {
  cpuk_dft_side to;
  char *base;
  int rank;
  int64_t dims[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  int64_t inner; /* lines that follow one another along the dimensions behind the axis */
  ptrdiff_t line[MOST_LANES];
} side;

static void side_of(const vm *v, const cpu_desc *d, int axis, side *s) {
  *s = (side){.base = vm_base(v, d), .inner = 1};
  for (int i = 0; i < d->rank - 1; i++) {
    if (i == axis) continue;
    s->dims[s->rank] = d->dims[i], s->strides[s->rank++] = d->strides[i];
    if (i > axis) s->inner *= d->dims[i];
  }
  s->to = (cpuk_dft_side){.point = d->strides[axis], .part = d->strides[d->rank - 1], .line = s->line};
}

static void place_lines(side *s, int64_t first, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int64_t left = first + i, at = 0;
    for (int d = s->rank - 1; d >= 0; d--) at += left % s->dims[d] * s->strides[d], left /= s->dims[d];
    s->line[i] = at;
  }
}

void vm_dft(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *in = vm_desc(v, i->a[1]);
  const int64_t first = v->t->regs[i->a[2]].i, lines = cpu_extra(v->m->image)[i->extra];
  const dft_plan *plan = v->m->transforms[i - cpu_instrs(v->m->image)];
  const cpuk_dft *k = v->k->dft;
  const int64_t lanes = k->lanes[is_wide(in)];
  side x, y;
  int64_t all = 1, place_size = 1;
  size_t place[MOST_LANES] = {0};
  side_of(v, in, i->a[3], &x);
  side_of(v, out, i->a[4], &y);
  for (int d = 0; d < x.rank; d++) all *= x.dims[d];
  if (first < 0 || first >= all) return;
  const int64_t end = lines < all - first ? first + lines : all, inner = x.inner > 1 ? x.inner : y.inner;
  if (plan->p.twiddled) place_size = x.inner / (int64_t)plan->p.twiddled;
  /* Of the plan alone, not of the lines of this call: bits don't depend on how blocks are cut. */
  const bool in_row = plan->p.twiddled && place_size == 1 && inner >= lanes;
  cpuk_dft_args q = {.plan = &plan->p, .x = x.base, .y = y.base, .place = place, .in_row = in_row, .inverse = i->a[5]};
  memcpy(&q.scale, &i->imm, sizeof q.scale);
  q.scratch = v->t->temp + (64 - (uintptr_t)v->t->temp % 64) % 64;
  for (int64_t at = first, count; at < end; at += count) {
    const int64_t along = at % inner, group = lanes - along % lanes;
    const int64_t left = in_row && group < inner - along ? group : inner - along;
    count = end - at < lanes ? end - at : lanes;
    if (inner >= lanes && count > left) count = left;
    place_lines(&x, at, count);
    place_lines(&y, at, count);
    for (int64_t l = 0; l < count && plan->p.twiddled; l++) place[l] = (size_t)((at + l) % x.inner / place_size);
    q.in = x.to, q.out = y.to, q.n_lines = (size_t)count;
    k->lines[is_wide(in)](&q);
  }
}
