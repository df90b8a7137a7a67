/* backends/cpu/rows.c - the fused row kernels: softmax, layernorm and rmsnorm in few passes over each row. The operands' shapes and types were checked
 * when the code was made (core/emit/emit_cpu.c). */
#include "backends/cpu/vm.h"

static int row_type(const cpu_desc *d) { return d->dtype == TSR_BF16 ? CPUK_ROW_BF16 : d->dtype == TSR_F16 ? CPUK_ROW_F16 : CPUK_ROW_F32; }

static char *row_at(const vm *v, const cpu_desc *d, int64_t r) { return vm_base(v, d) + r * d->strides[0] * (int64_t)tsr_dtype_size((tsr_dtype)d->dtype); }

static float *number_at(const vm *v, int desc, int64_t r) { return (float *)(void *)row_at(v, vm_desc(v, desc), r); }

void vm_row(const vm *v, const cpu_instr *i) {
  const cpu_desc *out = vm_desc(v, i->a[1]), *x = vm_desc(v, i->a[2]);
  const int mean = i->a[3], factor = i->a[4], scale = i->a[5], shift = i->a[6], sums = i->a[7];
  const cpuk_rows *k = v->k->rows;
  const int64_t *x_ext = vm_ext(v, x), *out_ext = vm_ext(v, out);
  int64_t rows = x_ext[0] < out_ext[0] ? x_ext[0] : out_ext[0], cols = x_ext[1];
  int s = row_type(x), d = row_type(out);
  /* The same row of the block that most often comes next is fetched by the passes over this one, half by each when there are two. */
  const int64_t block = rows * x->strides[0] * (int64_t)tsr_dtype_size((tsr_dtype)x->dtype);
  const int share = i->a[8] > 0 ? 1 : 3;
  bool stream = i->a[0] == CPU_ROW_NORM && vm_is_large(v, out, rows * cols);
  for (int64_t r = 0; r < rows; r++) {
    char *q = row_at(v, out, r);
    const char *p = row_at(v, x, r);
    float m = mean >= 0 ? *number_at(v, mean, r) : 0;
    switch ((cpu_row_fn)i->a[0]) {
    case CPU_ROW_MAX: *(float *)(void *)q = k->max[s](p, (size_t)cols); break;
    case CPU_ROW_SUM: *(float *)(void *)q = k->sum[s](p, (size_t)cols); break;
    case CPU_ROW_SQDEV: *(float *)(void *)q = k->sqdev[s](p, m, (size_t)cols, p + block, share); break;
    case CPU_ROW_EXP: *number_at(v, sums, r) = k->exp[s]((float *)(void *)q, p, m, (size_t)cols, p + block, share); break;
    case CPU_ROW_NORM: {
      cpuk_norm_args args = {.dst = q, .x = p, .mean = m, .rstd = *number_at(v, factor, r), .n = (size_t)cols, .stream = stream};
      if (scale >= 0) args.g = number_at(v, scale, 0);
      if (shift >= 0) args.b = number_at(v, shift, 0);
      if (i->a[8] > 0) {
        const cpu_desc *source = vm_desc(v, i->a[8] - 1);
        args.ahead_size = tsr_dtype_size((tsr_dtype)source->dtype);
        args.ahead = row_at(v, source, r + rows), args.share = 2;
      }
      k->norm[s][d](&args);
      break;
    }
    case CPU_N_ROW_FN: break;
    }
  }
}
