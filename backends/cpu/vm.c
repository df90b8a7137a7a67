/* backends/cpu/vm.c - loading code images and the instruction loop of one block; see vm.h. */
#include "backends/cpu/vm.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/dtype.h"

/* ---- loading --------------------------------------------------------------------------------------------------- */

static tsr_status bad(const tsr_allocator *al, const char *what) {
  return st_make(al, TSR_ARCH_MISMATCH, ST_WHERE("cpu", "module", "compile it again"), "the code image is damaged: %s",
                 what);
}

static bool table_ok(const cpu_image *m, uint64_t at, int32_t n, size_t size) {
  return n >= 0 && at % 8 == 0 && at <= m->bytes && (uint64_t)n * size <= m->bytes - at;
}

static bool types_ok(const cpu_image *m) {
  for (int i = 0; i < m->n_descs; i++) {
    const cpu_desc *d = cpu_descs(m) + i;
    if (d->rank < 0 || d->rank > TSR_MAX_RANK || vm_cpuk((tsr_dtype)d->dtype) == CPUK_N_DTYPE) return false;
  }
  return true;
}

static tsr_status check_image(const tsr_allocator *al, const cpu_image *m, size_t bytes) {
  if (bytes < sizeof *m || m->magic != CPU_MAGIC || m->bytes > bytes) return bad(al, "not a CPU code image");
  if (m->version != CPU_CODE_VERSION) return bad(al, "another version");
  if (!table_ok(m, m->kernels, m->n_kernels, sizeof(cpu_kernel)) ||
      !table_ok(m, m->instrs, m->n_instrs, sizeof(cpu_instr)) || !table_ok(m, m->descs, m->n_descs, sizeof(cpu_desc)) ||
      !table_ok(m, m->strips, m->n_strips, sizeof(cpu_strip)) ||
      !table_ok(m, m->programs, m->n_programs, sizeof(cpu_program)) ||
      !table_ok(m, m->extra, m->n_extra, sizeof(int64_t)))
    return bad(al, "a table lies outside it");
  for (int i = 0; i < m->n_kernels; i++) {
    const cpu_kernel *k = cpu_kernels(m) + i;
    if (k->first_instr < 0 || k->n_instr < 1 || k->n_instr > m->n_instrs - k->first_instr)
      return bad(al, "a kernel lies outside it");
  }
  return types_ok(m) ? NULL : bad(al, "an element type that the CPU has no code for");
}

/* Which argument an operand of instruction i of k is a window of; -1: none. */
static int arg_of(const cpu_image *m, const cpu_kernel *k, int i, const cpu_desc *operand) {
  if (operand->kind != CPU_D_VIEW) return -1;
  int r = operand->reg;
  for (int j = i; j-- > k->first_instr;) {
    const cpu_instr *d = cpu_instrs(m) + j;
    bool defines = d->op == CPU_ARG || d->op == CPU_WINDOW || d->op == CPU_VIEW;
    if (!defines || cpu_descs(m)[d->a[0]].reg != r) continue;
    if (d->op == CPU_ARG) return d->a[1];
    r = cpu_descs(m)[d->a[1]].reg;
  }
  return -1;
}

static void trace_args(vm_module *v) {
  const cpu_image *m = v->image;
  for (int ki = 0; ki < m->n_kernels; ki++) {
    const cpu_kernel *k = cpu_kernels(m) + ki;
    for (int i = k->first_instr; i < k->first_instr + k->n_instr; i++) {
      const cpu_instr *in = cpu_instrs(m) + i;
      const bool product = in->op == CPU_MATMUL || in->op == CPU_CONVOLVE;
      for (int side = 0; side < 2; side++)
        v->matmul_arg[i][side] = product ? arg_of(m, k, i, cpu_descs(m) + in->a[1 + side]) : -1;
    }
  }
}

/* The register that an instruction sets, of numbers or of views; -1: none. */
static int sets_number(const cpu_instr *i) {
  switch (i->op) {
  case CPU_CONST: case CPU_ALU: case CPU_CAST: case CPU_BLOCK_ID: case CPU_FOR: case CPU_LOAD_SCALAR: return i->a[0];
  default: return -1;
  }
}

static int sets_view(const cpu_image *m, const cpu_instr *i) {
  const bool view = i->op == CPU_ARG || i->op == CPU_WINDOW || i->op == CPU_VIEW || i->op == CPU_TILE_VIEW;
  return view ? cpu_descs(m)[i->a[0]].reg : -1;
}

/* Arguments, numbers and views of whole arguments at a kernel's beginning are the same for all of its blocks. */
static int count_once(const cpu_image *m, const cpu_kernel *k) {
  const cpu_instr *in = cpu_instrs(m) + k->first_instr;
  int n = 0;
  while (n < k->n_instr && (in[n].op == CPU_ARG || in[n].op == CPU_CONST || in[n].op == CPU_VIEW)) n++;
  for (int i = 0; i < n; i++) {
    const int number = sets_number(&in[i]), view = sets_view(m, &in[i]);
    for (int later = i + 1; later < k->n_instr; later++)
      if ((number >= 0 && number == sets_number(&in[later])) || (view >= 0 && view == sets_view(m, &in[later]))) n = i;
  }
  return n;
}

static void measure_needs(vm_module *v) {
  const cpu_image *m = v->image;
  for (int i = 0; i < m->n_instrs; i++) {
    const cpu_instr *in = cpu_instrs(m) + i;
    size_t temp = (size_t)CPU_STRIP * 64, pack = 0, convolved = 0;
    switch (in->op) {
    case CPU_MAP: temp += map_temp_bytes(v, in->a[0], in->a[2]); break;
    case CPU_GATHER:
    case CPU_SCATTER:
      temp += map_temp_bytes(v, in->a[2], in->a[3]) + (size_t)CPU_STRIP * 16 * (size_t)(in->a[3] + 2);
      break;
    case CPU_GEMM: case CPU_MATMUL:
      temp += gemm_temp_bytes(v, in);
      pack = gemm_pack_bytes(v, in);
      break;
    case CPU_ROW: temp += vm_row_temp_bytes(v, in); break;
    case CPU_CONVOLVE:
      convolved = convolve_bytes(v, in);
      if (winograd_bytes(v, in) > convolved) convolved = winograd_bytes(v, in);
      break;
    case CPU_DFT: temp += dft_temp_bytes(v, i); break;
    default: break;
    }
    if (temp > v->temp_bytes) v->temp_bytes = temp;
    if (pack > v->pack_bytes) v->pack_bytes = pack;
    if (convolved > v->convolved_bytes) v->convolved_bytes = convolved;
  }
}

/* There is a kernel for each product's types. */
static tsr_status check_products(const vm_module *v) {
  for (int i = 0; i < v->image->n_instrs; i++) {
    const cpu_instr *in = cpu_instrs(v->image) + i;
    if ((in->op != CPU_GEMM && in->op != CPU_MATMUL) || gemm_has_kernel(v, in)) continue;
    const cpu_desc *d = cpu_descs(v->image);
    return st_make(v->al, TSR_UNSUPPORTED, ST_WHERE("cpu", "gemm", "cast an operand"),
                   "no micro-kernel for %s times %s into %s", tsr_dtype_name((tsr_dtype)d[in->a[1]].dtype),
                   tsr_dtype_name((tsr_dtype)d[in->a[2]].dtype), tsr_dtype_name((tsr_dtype)d[in->a[0]].dtype));
  }
  return NULL;
}

tsr_status vm_load(const tsr_allocator *al, const cpuk_table *k, const void *code, size_t bytes, vm_module **out) {
  *out = NULL;
  TSR_TRY(check_image(al, code, bytes));
  vm_module *m = al_new(al, vm_module);
  if (!m) return st_oom();
  m->al = al;
  m->k = k;
  m->image_bytes = bytes;
  tsr_status st = NULL;
  m->image = al_alloc(al, bytes, 64);
  if (m->image) memcpy(m->image, code, bytes);
  m->matmul_arg = m->image ? al_zalloc(al, sizeof *m->matmul_arg * ((size_t)m->image->n_instrs + 1)) : NULL;
  m->once = m->image ? al_zalloc(al, sizeof *m->once * ((size_t)m->image->n_kernels + 1)) : NULL;
  if (!m->matmul_arg || !m->once) st = st_oom();
  else st = map_plans_create(m);
  if (!st) st = dft_plans_create(m);
  if (!st) st = check_products(m);
  if (st) {
    vm_unload(&m);
    return st;
  }
  trace_args(m);
  for (int i = 0; i < m->image->n_kernels; i++) m->once[i] = count_once(m->image, cpu_kernels(m->image) + i);
  measure_needs(m);
  *out = m;
  return NULL;
}

void vm_unload(vm_module **mp) {
  vm_module *m = *mp;
  if (!m) return;
  map_plans_destroy(m);
  dft_plans_destroy(m);
  if (m->image) al_free(m->al, m->matmul_arg, sizeof *m->matmul_arg * ((size_t)m->image->n_instrs + 1), 16);
  if (m->image) al_free(m->al, m->once, sizeof *m->once * ((size_t)m->image->n_kernels + 1), 16);
  al_free(m->al, m->image, m->image_bytes, 64);
  al_delete(m->al, m);
  *mp = NULL;
}

enum { HUGE_PAGE = 2 << 20, WORTH_HUGE = 512 << 10 };

static size_t alignment_of(size_t bytes) { return bytes >= HUGE_PAGE ? HUGE_PAGE : bytes > 4096 ? 4096 : 64; }

static void release(const tsr_allocator *al, char *p, size_t bytes) { al_free(al, p, bytes, alignment_of(bytes)); }

/* Large blocks fill whole huge pages: packed operands are walked row by row, each on a page of its own otherwise. */
static bool grow(const tsr_allocator *al, char **p, size_t *have, size_t need) {
  if (need <= *have) return true;
  release(al, *p, *have);
  *have = 0;
  if (need >= WORTH_HUGE) need = (need + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  *p = al_alloc(al, need, alignment_of(need));
  if (!*p) return false;
  *have = need;
#if defined(MADV_HUGEPAGE)
  if (need >= HUGE_PAGE) madvise(*p, need, MADV_HUGEPAGE);
#endif
  return true;
}

tsr_status vm_thread_reserve(const tsr_allocator *al, vm_thread *t, const vm_module *m, const cpu_kernel *k) {
  size_t n = t->n_regs * sizeof *t->regs, w = t->n_views * sizeof *t->views;
  char *regs = (char *)t->regs, *views = (char *)t->views;
  bool ok = grow(al, &t->scratch, &t->scratch_bytes, (size_t)k->scratch_bytes + 64) &&
            grow(al, &t->temp, &t->temp_bytes, m->temp_bytes) &&
            grow(al, &t->pack, &t->pack_bytes, m->pack_bytes + 64) &&
            grow(al, &t->convolved, &t->convolved_bytes, m->convolved_bytes) &&
            grow(al, &regs, &n, sizeof(vm_reg) * (size_t)(k->n_regs + 1)) &&
            grow(al, &views, &w, sizeof(vm_view) * (size_t)(k->n_views + 1));
  t->regs = (vm_reg *)(void *)regs;
  t->n_regs = n / sizeof *t->regs;
  t->views = (vm_view *)(void *)views;
  t->n_views = w / sizeof *t->views;
  t->tables.instr = NULL;
  return ok ? NULL : st_oom();
}

void vm_thread_clear(const tsr_allocator *al, vm_thread *t) {
  release(al, t->scratch, t->scratch_bytes);
  release(al, t->temp, t->temp_bytes);
  release(al, t->pack, t->pack_bytes);
  release(al, t->convolved, t->convolved_bytes);
  release(al, (char *)t->regs, t->n_regs * sizeof *t->regs);
  release(al, (char *)t->views, t->n_views * sizeof *t->views);
  *t = (vm_thread){0};
}

/* ---- registers and views --------------------------------------------------------------------------------------- */

static void do_alu(vm_reg *r, const cpu_instr *i) {
  const vm_reg *a = &r[i->a[1]], *b = &r[i->a[2]], *c = &r[i->a[3]];
  const int code = i->a[4], variant = i->a[6];
  const double x[3] = {a->f, b->f, c->f};
  const int64_t n[3] = {a->i, b->i, c->i};
  vm_reg *out = &r[i->a[0]];
  if (code == SC_N) *out = *a; /* a move */
  else if (!i->a[5]) out->i = dtype_wrap((tsr_dtype)i->a[7], scalar_rows[code].integer(variant, n));
  else if (code == SC_COMPARE) out->i = scalar_rows[code].f64(variant, x) != 0;
  else if (code == SC_SELECT) *out = a->i ? *b : *c;
  else if (i->a[7] == TSR_F64) out->f = scalar_rows[code].f64(variant, x);
  else out->f = (float)scalar_rows[code].f64(variant, x);
}

static void do_cast(vm_reg *r, const cpu_instr *i) {
  const vm_reg *a = &r[i->a[1]];
  tsr_dtype to = (tsr_dtype)i->a[3];
  union { uint64_t u; char c[8]; } one = {0};
  if (to == TSR_DTYPE_NONE) to = TSR_I64;
  if (i->a[2]) dtype_store(to, &one, 0, a->f);
  else dtype_store_int(to, &one, 0, a->i);
  if (to == TSR_I64) memcpy(&r[i->a[0]].i, &one, sizeof one);
  else if (dtype_is_float(to)) r[i->a[0]].f = dtype_load(to, &one, 0);
  else r[i->a[0]].i = (int64_t)dtype_load(to, &one, 0);
}

/* All of it exists. */
static void set_extents(vm_view *w, const cpu_desc *d) {
  memcpy(w->ext, d->dims, sizeof w->ext);
  if (!d->rank) w->ext[0] = 1;
}

static void do_window(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *src = vm_desc(v, i->a[1]);
  const vm_view *s = &v->t->views[src->reg];
  vm_view w = {.p = s->p};
  const int64_t *regs = cpu_extra(v->m->image) + i->extra, *sizes = regs + src->rank;
  size_t esize = tsr_dtype_size((tsr_dtype)src->dtype);
  bool empty = false;
  int n = 0;
  for (int d = 0; d < src->rank; d++) {
    int64_t at = v->t->regs[regs[d]].i, left = 0;
    if (at < 0 || at >= s->ext[d]) empty = true;
    else left = s->ext[d] - at, w.p += at * src->strides[d] * (int64_t)esize;
    if (sizes[d]) w.ext[n++] = left < sizes[d] ? left : sizes[d];
  }
  if (!n) w.ext[0] = src->rank || s->ext[0]; /* of a view without dimensions: does its element exist? */
  if (empty) memset(w.ext, 0, sizeof w.ext);
  v->t->views[out->reg] = w;
}

static void do_view(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[0]), *src = vm_desc(v, i->a[1]);
  vm_view w = {.p = v->t->views[src->reg].p + i->imm * (int64_t)tsr_dtype_size((tsr_dtype)src->dtype)};
  set_extents(&w, out);
  v->t->views[out->reg] = w;
}

static void do_load_scalar(const vm *v, const cpu_instr *i) {
  const cpu_desc *d = vm_desc(v, i->a[1]);
  const int64_t *regs = cpu_extra(v->m->image) + i->extra;
  const int64_t *ext = vm_ext(v, d);
  const char *p = vm_base(v, d);
  int64_t at = 0;
  bool inside = d->rank || ext[0];
  for (int k = 0; k < d->rank; k++) {
    int64_t x = v->t->regs[regs[k]].i;
    inside &= x >= 0 && x < ext[k];
    if (inside) at += x * d->strides[k];
  }
  vm_reg *out = &v->t->regs[i->a[0]];
  if (inside && d->dtype == TSR_I64) {
    memcpy(&out->i, p + at * 8, 8);
    return;
  }
  double value =
      inside ? dtype_load((tsr_dtype)d->dtype, p + at * (int64_t)tsr_dtype_size((tsr_dtype)d->dtype), 0) : 0;
  if (i->a[2]) out->f = value;
  else out->i = (int64_t)value;
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static int next_pc(const vm *v, const cpu_instr *code, int pc) {
  vm_reg *r = v->t->regs;
  const cpu_instr *i = &code[pc];
  switch (i->op) {
  case CPU_FOR:
    r[i->a[0]] = r[i->a[1]];
    return r[i->a[1]].i < r[i->a[2]].i && r[i->a[3]].i > 0 ? pc + 1 : i->a[4];
  case CPU_ENDFOR: {
    const cpu_instr *f = &code[i->a[0]];
    /* The counter is below the end, and stays so: it never overflows. */
    if ((uint64_t)r[f->a[2]].i - (uint64_t)r[f->a[0]].i <= (uint64_t)r[f->a[3]].i) return pc + 1;
    r[f->a[0]].i += r[f->a[3]].i;
    return i->a[0] + 1;
  }
  case CPU_IF: return r[i->a[0]].i ? pc + 1 : i->a[1];
  case CPU_JUMP: return i->a[0];
  default: return pc + 1;
  }
}

void vm_block(const vm_launch *l, vm_thread *t, const int64_t block[3]) {
  vm v = {l, l->m, t, l->m->k};
  const cpu_instr *code = cpu_instrs(l->m->image) + l->k->first_instr;
  const int begin = t->launch == l->number ? l->m->once[l->k - cpu_kernels(l->m->image)] : 0;
  t->launch = l->number;
  for (int pc = begin; pc >= 0 && pc < l->k->n_instr; pc = next_pc(&v, code, pc)) {
    const cpu_instr *i = &code[pc];
    switch (i->op) {
    case CPU_END: return;
    case CPU_CONST: t->regs[i->a[0]].i = i->imm; break;
    case CPU_ALU: do_alu(t->regs, i); break;
    case CPU_CAST: do_cast(t->regs, i); break;
    case CPU_BLOCK_ID: t->regs[i->a[0]].i = block[i->a[1]]; break;
    case CPU_ARG: {
      const cpu_desc *d = vm_desc(&v, i->a[0]);
      vm_view *w = &t->views[d->reg];
      w->p = l->args[i->a[1]] + i->imm * (int64_t)tsr_dtype_size((tsr_dtype)d->dtype);
      set_extents(w, d);
      break;
    }
    case CPU_WINDOW: do_window(&v, i); break;
    case CPU_VIEW: do_view(&v, i); break;
    case CPU_FILL: vm_fill(&v, vm_desc(&v, i->a[0]), (vm_reg){.i = i->imm}, i->a[1]); break;
    case CPU_SPLAT: vm_fill(&v, vm_desc(&v, i->a[0]), t->regs[i->a[1]], i->a[2]); break;
    case CPU_COPY: vm_copy(&v, i); break;
    case CPU_MAP: vm_map(&v, i); break;
    case CPU_REDUCE: vm_reduce(&v, i); break;
    case CPU_ROW: vm_row(&v, i); break;
    case CPU_GEMM: vm_gemm(&v, i); break;
    case CPU_MATMUL: vm_matmul(&v, i); break;
    case CPU_GATHER: vm_gather(&v, i); break;
    case CPU_SCATTER: vm_scatter(&v, i); break;
    case CPU_FFT: vm_fft(&v, i); break;
    case CPU_DFT: vm_dft(&v, i); break;
    case CPU_UNFOLD: vm_unfold(&v, i); break;
    case CPU_CONVOLVE: vm_convolve(&v, i); break;
    case CPU_TRANSPOSE: vm_transpose(&v, i); break;
    case CPU_LOAD_SCALAR: do_load_scalar(&v, i); break;
    default: break;
    }
  }
}
