/* backends/cpu/vm.h - running the CPU code image: one call of vm_block per block of the grid.
 * Everything that a block needs at run time is in a vm_thread; images are checked once when they are loaded. */
#ifndef BACKENDS_CPU_VM_H
#define BACKENDS_CPU_VM_H
#include "backends/cpu/operand.h"

enum { PANEL_CACHE_MAX_PARTS = 512 };
tsr_status vm_load(const tsr_allocator *al, const cpuk_table *k, const void *code, size_t bytes, vm_module **out);
void vm_unload(vm_module **m);
/* Makes sure that a thread's buffers suffice for a kernel. */
tsr_status vm_thread_reserve(const tsr_allocator *al, vm_thread *t, const vm_module *m, const cpu_kernel *k);
void vm_thread_clear(const tsr_allocator *al, vm_thread *t);
void vm_block(const vm_launch *l, vm_thread *t, const int64_t block[3]);

/* ---- shared by the instruction files ---- */

void vm_copy(const vm *v, const cpu_instr *i);
void vm_fill(const vm *v, const cpu_desc *d, vm_reg value, bool is_float);
void vm_map(const vm *v, const cpu_instr *i);
void vm_reduce(const vm *v, const cpu_instr *i);
void vm_row(const vm *v, const cpu_instr *i);
size_t vm_row_temp_bytes(const vm_module *m, const cpu_instr *i);
void vm_gemm(const vm *v, const cpu_instr *i);
void vm_matmul(const vm *v, const cpu_instr *i);
void vm_gather(const vm *v, const cpu_instr *i);
void vm_scatter(const vm *v, const cpu_instr *i);
void vm_unfold(const vm *v, const cpu_instr *i);
struct tile_unfold;
/* The map in the extra table, of an image of this rank. */
void vm_unfold_map(const int64_t *extra, int rank, struct tile_unfold *out);
void vm_convolve(const vm *v, const cpu_instr *i);
size_t convolve_bytes(const vm_module *m, const cpu_instr *i);
/* The same of `rows` rows of weights and `places` places by Winograd's transforms; false, and nothing written: they are
 * not whole lines of tiles. winograd.c; bytes: of the thread, and of a block's transformed weights. */
bool vm_winograd(const vm *v, const cpu_instr *i, int64_t rows, int64_t places);
size_t winograd_bytes(const vm_module *m, const cpu_instr *i);
size_t winograd_weights_bytes(const vm_module *m, const cpu_instr *i);
void vm_fft(const vm *v, const cpu_instr *i);
void vm_dft(const vm *v, const cpu_instr *i);
void vm_transpose(const vm *v, const cpu_instr *i);

/* The transforms' tables: see dft.c. */
tsr_status dft_plans_create(vm_module *m);
void dft_plans_destroy(vm_module *m);
size_t dft_temp_bytes(const vm_module *m, int instr);
/* Strip programs: see map.c. */
tsr_status map_plans_create(vm_module *m);
void map_plans_destroy(vm_module *m);
size_t map_temp_bytes(const vm_module *m, int program, int n_operands);
/* The kernel of the product's kind reads both operands' types. */
bool gemm_has_kernel(const vm_module *m, const cpu_instr *i);
size_t gemm_pack_bytes(const vm_module *m, const cpu_instr *i);
/* What the packed panels of a kernel's products take; constant: whether an argument is one. */
typedef struct gemm_panels {
  int matmuls;
  size_t bytes;       /* of one window of b */
  size_t const_bytes; /* of one window of a constant */
  double constants;   /* windows of constants that the blocks have */
} gemm_panels;
gemm_panels gemm_panels_of(const vm_module *m, const cpu_kernel *k, const bool *constant);
size_t gemm_temp_bytes(const vm_module *m, const cpu_instr *i);

/* The packed-panel cache: b panels packed once, shared by the blocks that multiply with them; see panel_cache.c. */
tsr_status panel_cache_create(const tsr_allocator *al, panel_cache **out);
void panel_cache_destroy(panel_cache **p);
/* Before a launch: room for `entries` panels of `bytes` each, `keep` = panels stay valid between launches. */
tsr_status panel_cache_reset(panel_cache *p, int entries, size_t bytes, bool keep);

#endif
