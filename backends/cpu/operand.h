/* backends/cpu/operand.h - what an instruction finds at run time: windows, registers, the thread's buffers, the module
 * and the launch, and where an operand lies. Shared by the instruction files. */
#ifndef BACKENDS_CPU_OPERAND_H
#define BACKENDS_CPU_OPERAND_H
#include "backends/cpu/kernels/kernels.h"
#include "core/device/backend.h"
#include "core/emit/cpu/code.h"

typedef struct panel_cache panel_cache;
typedef struct map_plan map_plan;
typedef struct dft_plan dft_plan;

/* A window at run time: extents that are valid; the rest of it reads as 0. Of one without dimensions, ext[0] says
 * whether its element exists. */
typedef struct vm_view {
  char *p;
  int64_t ext[TSR_MAX_RANK];
} vm_view;

typedef union vm_reg {
  int64_t i;
  double f;
} vm_reg;

/* Per worker; buffers grow to what the largest kernel needs. */
typedef struct vm_thread {
  char *scratch; /* tiles */
  size_t scratch_bytes;
  char *temp; /* strips and staging */
  size_t temp_bytes;
  char *pack; /* packed operands of gemm */
  size_t pack_bytes;
  vm_reg *regs;
  vm_view *views;
  size_t n_regs, n_views;
  char *convolved; /* what a block of convolve.c reads: tables, and the image's part */
  size_t convolved_bytes;
  struct { /* the tables hold for n columns from `row` on of an instruction of this launch */
    const void *instr; /* NULL: of none */
    int64_t row, n;
    size_t n_strips;
  } tables;
  uint64_t launch; /* whose kernel's first instructions, vm_module.once, have been run */
} vm_thread;

typedef struct vm_module {
  const tsr_allocator *al;
  const cpuk_table *k;
  cpu_image *image; /* own copy */
  size_t image_bytes;
  map_plan *plans; /* one per strip program */
  dft_plan **transforms; /* by instruction; NULL: of another kind */
  size_t temp_bytes, pack_bytes, convolved_bytes; /* the largest need of any instruction */
  int (*matmul_arg)[2]; /* per instruction: the kernel arguments that a matmul's a and b come from, -1 unknown */
  int *once; /* per kernel: how many of its first instructions give all blocks the same, and nothing changes that */
} vm_module;

typedef struct vm_launch {
  const vm_module *m;
  const cpu_kernel *k;
  char *const *args;
  panel_cache *panels; /* packed b panels of this launch */
  const bool *constant_args; /* arguments that never change; NULL = none */
  panel_cache *const_panels;        /* panels kept between launches */
  int64_t stream_bytes;      /* results larger than this are written past the caches; 0 = none */
  uint64_t number;           /* of this launch on its device; never 0 */
} vm_launch;

typedef struct vm {
  const vm_launch *l;
  const vm_module *m;
  vm_thread *t;
  const cpuk_table *k;
} vm;

static inline const cpu_desc *vm_desc(const vm *v, int i) { return cpu_descs(v->m->image) + i; }
static inline char *vm_base(const vm *v, const cpu_desc *d) {
  return d->kind == CPU_D_TILE ? v->t->scratch + d->offset : v->t->views[d->reg].p;
}
static inline const int64_t *vm_ext(const vm *v, const cpu_desc *d) {
  return d->kind == CPU_D_TILE ? d->dims : v->t->views[d->reg].ext;
}
bool vm_full(const vm *v, const cpu_desc *d); /* nothing is clipped */
/* d is memory, and what all blocks together write there, `elements` each, is more than the caches should keep. */
bool vm_is_large(const vm *v, const cpu_desc *d, int64_t elements);

cpuk_dtype vm_cpuk(tsr_dtype t); /* storage type; CPUK_N_DTYPE if there is none */
cpuk_ct vm_ct(tsr_dtype t);      /* of a compute type */

#endif
