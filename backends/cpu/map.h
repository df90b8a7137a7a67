/* backends/cpu/map.h - an elementwise program as it is planned once (map_plan.c) and run for each strip (map.c). Every
 * step has its micro-kernel and a level (0 once per call, 1 once per row, 2 once per strip), and strips that are dead
 * share memory. Invariant: a uniform register holds one element, any other a whole strip. */
#ifndef BACKENDS_CPU_MAP_H
#define BACKENDS_CPU_MAP_H
#include "backends/cpu/vm.h"

typedef enum step_kind {
  ST_NOP,
  ST_UNARY,
  ST_BINARY,
  ST_BINARY_VS,
  ST_BINARY_SV,
  ST_SELECT,
  ST_FMA,
  ST_CONVERT,
  ST_ROUND,
  ST_SHIFT,
  ST_CONST,
  ST_REG,
  ST_INPUT,
  ST_INDEX,
  ST_LOAD
} step_kind;

typedef struct step {
  uint8_t kind, level, uniform, esize; /* esize of the result */
  uint8_t a_esize, is_float, ct, to_ct;
  int32_t dst, a, b, c;
  uint8_t a_uniform, b_uniform, c_uniform, code;
  union {
    cpuk_unary_fn unary;
    cpuk_binary_fn binary;
    cpuk_select_fn select;
    cpuk_fma_fn fma;
    cpuk_convert_fn convert;
  } fn;
  cpuk_convert_fn back; /* ROUND: to the narrow type and back */
  int64_t at[TSR_MAX_RANK]; /* LOAD: of descriptor a and rank b; the registers with its indices, */
  bool at_uniform[TSR_MAX_RANK]; /* and which of them hold one number */
  int64_t imm;
} step;

/* The program as the micro-kernel `map` takes it: see map_f32.c. */
typedef struct map_f32 {
  cpuk_map_step *steps;
  size_t n_once, n_row, n_steps, n_varying, n_uniform, n_in, n_constants, n_vm_regs;
  cpuk_map_constant constants[CPUK_MAP_UNIFORM];
  struct {
    int32_t operand;
    uint8_t reg;
  } in[CPUK_MAP_VARYING];
  struct { /* constants that registers of the kernel have */
    int32_t from;
    size_t constant;
  } vm_reg[CPUK_MAP_UNIFORM];
} map_f32;

struct map_plan {
  map_f32 *f32; /* NULL: strips alone */
  step *steps;
  int n_steps, cap_steps;
  int n_regs;
  int32_t *place;  /* register -> strip buffer, or -1 - k for a one-element cell */
  int n_buffers, n_cells, n_yields;
  int32_t yields[64];
  uint8_t yield_uniform[64], yield_esize[64];
  int writer[64]; /* last step before the yield that writes the register, when that may write the output directly; else
                     -1 */
  bool uses_index;
  int strip;          /* elements taken at once, if the image says */
};

/* Bytes of a one-element cell, spare strips that conversions use, bytes of a strip. */
enum { CELL = 8, N_SPARE = 4, STRIP_BYTES = CPU_STRIP * 8 };

/* What a map goes over: its operands' descriptors, outputs first, and how many elements each dimension has of them. */
typedef struct map_extent {
  const int64_t *operands, *bound;
  int64_t total;
  int rank, along; /* along: the dimension of strips */
  bool flat;       /* all operands are dense, and alike: one row */
} map_extent;

tsr_status map_f32_create(const vm_module *m, const cpu_program *prog, map_plan *p);
void map_f32_destroy(const tsr_allocator *al, map_plan *p);
/* False: nothing was done, and strips have to do it. */
bool map_f32_run(const vm *v, const map_plan *p, const map_extent *e);
/* Bytes from what is read of an operand to what the next block reads, to be fetched ahead; 0 = nothing. column: its
 * stride along the strips. */
int64_t map_ahead(const vm *v, const cpu_desc *d, int64_t column, const int64_t *bound);
#endif
