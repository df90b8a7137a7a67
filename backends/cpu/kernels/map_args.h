/* Elementwise programs on f32 as the micro-kernel `map` takes them. Part of kernels.h. */
#ifndef BACKENDS_CPU_KERNELS_MAP_ARGS_H
#define BACKENDS_CPU_KERNELS_MAP_ARGS_H

/* Registers of f32: the first CPUK_MAP_VARYING hold a block of elements, the others one number for all of a row. */
enum { CPUK_MAP_VARYING = 64, CPUK_MAP_UNIFORM = 64, CPUK_MAP_REGS = CPUK_MAP_VARYING + CPUK_MAP_UNIFORM };
enum { CPUK_MAP_LEAST_BLOCK = 128, CPUK_MAP_MOST_BLOCK = 512, CPUK_MAP_FILE = 4096 }; /* elements */
enum { CPUK_MAP_WIDTH = 16 }; /* of the widest vector */

/* dst = code(a, b, c): ADD SUB MUL DIV MIN MAX FMA; SELECT: a `predicate` b ? c : d; any other code: unary(a). */
typedef struct cpuk_map_step {
  uint8_t code, predicate; /* scalar_code; cpuk_cmp_op, or of a fold (map_fold.h) how many elements */
  uint8_t dst, a, b, c, d;
  cpuk_unary_fn unary;
} cpuk_map_step;
typedef struct cpuk_map_constant {
  float value;
  uint8_t reg;
} cpuk_map_constant;
/* Element (r, i) of an operand is p[r * row + i * column]; one of a row alone (column ignored) if its register is. */
typedef struct cpuk_map_operand {
  const float *p;
  ptrdiff_t row, column;
  ptrdiff_t ahead; /* bytes to what is fetched into L2 meanwhile; 0 = nothing */
  uint8_t reg;
} cpuk_map_operand;

/* out[r * out_row + i] = what the last step computes, r < rows, i < n. Steps come in three parts: n_once that constants
 * alone go into, n_row that are the same along a row, and the others, at least one, whose operand a varies. out may be
 * exactly an operand. n_in operands, each with a register of its own. block: cpuk_map_block(registers that vary). */
typedef struct cpuk_map_args {
  const cpuk_map_step *steps;
  const cpuk_map_operand *in;
  const cpuk_map_constant *constants;
  size_t n_once, n_row, n_steps, n_in, n_constants;
  float *out;
  ptrdiff_t out_row;
  size_t rows, n, block;
  float *file; /* cpuk_map_file_bytes(registers that vary), 64-byte aligned */
} cpuk_map_args;
typedef void (*cpuk_map_fn)(const cpuk_map_args *args);

/* Elements of a block: the varying registers fill some 16 KiB, if there are few. */
static inline size_t cpuk_map_block(size_t varying) {
  const size_t n = (CPUK_MAP_FILE / (varying ? varying : 1)) & ~(size_t)63;
  return n < CPUK_MAP_LEAST_BLOCK ? CPUK_MAP_LEAST_BLOCK : n > CPUK_MAP_MOST_BLOCK ? CPUK_MAP_MOST_BLOCK : n;
}
static inline size_t cpuk_map_file_bytes(size_t varying) {
  return sizeof(float) * (CPUK_MAP_UNIFORM * CPUK_MAP_WIDTH + varying * (cpuk_map_block(varying) + CPUK_MAP_WIDTH));
}

#endif
