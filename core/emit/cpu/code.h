/* core/emit/cpu/code.h - the code image of CPU kernels: what core/emit/cpu/emit_cpu.c writes and backends/cpu/vm.c
 * runs.
 *
 * One blob of plain tables: header, kernels, instructions, operand descriptors, strip instructions, extra integers. All
 * references are indices into these tables, so an image can be kept in a file and checked with a few range tests.
 * Registers hold an int64 or a double; view registers hold a pointer with the extents that are valid at run time. */
#ifndef CORE_EMIT_CPU_CODE_H
#define CORE_EMIT_CPU_CODE_H
#include "core/ir/scalar_ops.h"
#include "tessera/base.h"

#define CPU_MAGIC 0x54555043u /* "CPUT" */
#define CPU_CODE_VERSION 11
#define CPU_STRIP 1024 /* elements of a strip in map, gather and scatter programs */

typedef enum cpu_opcode {
  CPU_END,
  CPU_CONST,     /* r, imm (int64 or bits of a double) */
  CPU_ALU,       /* r_out, r_a, r_b, r_c, scalar_code, is_float, predicate, dtype that it wraps or rounds to */
  CPU_CAST,      /* r_out, r_a, from_float, to dtype (TSR_DTYPE_NONE = index) */
  CPU_BLOCK_ID,  /* r, axis */
  CPU_ARG,       /* d view, argument: binds the view register to the argument's memory */
  CPU_WINDOW,    /* d out, d source, extra: offset registers (rank of source), then sizes (rank of source) */
  CPU_VIEW,      /* d out, d source, imm = offset in elements */
  CPU_TILE_VIEW, /* d out, d tile */
  CPU_FILL,      /* d, is_float; imm = int64 or bits of a double */
  CPU_SPLAT,     /* d, r, is_float */
  CPU_COPY,      /* d destination, d source: any storage types; what lies beyond the source's extents becomes 0 */
  CPU_MAP,       /* p program, n outputs, n operands, dimension of strips, extra: operand descriptors (outputs first);
                  imm = rank */
  CPU_REDUCE,    /* d out, d in, axis, reduce op, cpu_order */
  CPU_GEMM,      /* d acc, d a, d b, transpose_a, transpose_b, cpu_order, accumulate */
  CPU_MATMUL,  /* d out, d a (rows x K), d b (K x columns), transpose_a, transpose_b, cpu_order, bk: packs b once per
                * launch */
  CPU_FOR,     /* r_i, r_from, r_to, r_step, instruction after the loop */
  CPU_ENDFOR,  /* instruction of the CPU_FOR */
  CPU_IF,      /* r, instruction to go to when false */
  CPU_JUMP,    /* instruction */
  CPU_GATHER,  /* d out, d source view, p program (yields indices, then maybe valid), n yields */
  CPU_SCATTER, /* d in, d destination view, p program, n yields */
  CPU_UNFOLD,  /* d out [m, n], d view, r batch, r row, r column; imm: out is [n, m]; extra: the map of
                * core/ir/tile/unfold.h: digits of each index, origin, then extent and steps of each digit */
  CPU_CONVOLVE, /* d out [m, n], d a [m, k], d view, r batch, r row, winograd (tile_unfold); imm = elements of the image
                 * that a block reaches; extra: the map as for CPU_UNFOLD, whose n rows from `row` on are the columns of
                 * out */
  CPU_FFT,     /* d re out, d im out, d re, d im, radix, inverse; imm = span */
  CPU_DFT,     /* d out, d in, r first line, axis, to, inverse, twiddle; extra: lines; imm = bits of scale */
  CPU_TRANSPOSE,   /* d out, d in, extra: perm */
  CPU_ROW,         /* cpu_row_fn, d out, d x, then d mean, d factor, d scale, d shift, d sums: -1 = none; extra of whole
                    * normalisations: bits of the         doubles mean_scale, square_scale, eps */
  CPU_LOAD_SCALAR, /* r, d view, extra: index registers, is_float */
  CPU_N_OPCODES
} cpu_opcode;

/* How sums are made: in any order, in one that follows from their length alone, or compensated. */
typedef enum cpu_order { CPU_ORDER_ANY, CPU_ORDER_FIXED, CPU_ORDER_KAHAN } cpu_order;

enum { CPU_MAX_OPERANDS = 10 };

typedef struct cpu_instr {
  int32_t op;
  int32_t a[CPU_MAX_OPERANDS];
  int32_t extra; /* first entry in the extra table, -1 = none */
  int64_t imm;
} cpu_instr;

/* Over the rows r of x. max and sum: out[r]; sqdev: out[r] = sum of (x[r] - mean[r])^2, mean absent: 0; exp: out =
 * exp(x - mean[r]), sums[r] = the sum of that; norm: out = (x - mean[r]) * factor[r] * scale + shift, of which all but
 * factor may be absent. */
typedef enum cpu_row_fn {
  CPU_ROW_MAX, CPU_ROW_SUM, CPU_ROW_EXP, CPU_ROW_SQDEV, CPU_ROW_NORM,
  CPU_ROW_SOFTMAX, CPU_ROW_NORMALIZE, /* a norm without mean_scale is about 0 */
  CPU_N_ROW_FN
} cpu_row_fn;

/* What is known of such a kernel, by its cpu_row_fn. */
typedef struct cpu_row_info {
  const char *name;  /* in a call's `fn`, behind "row_" */
  bool per_element;  /* the result has the row's elements; else one number a row */
  bool whole;        /* statistics and result in one call; takes the scales and eps */
  uint8_t need, may; /* operands behind x: bit 0 mean, 1 factor, 2 scale, 3 shift, 4 sums */
} cpu_row_info;

extern const cpu_row_info cpu_row_infos[CPU_N_ROW_FN];

typedef enum cpu_desc_kind { CPU_D_TILE, CPU_D_VIEW } cpu_desc_kind;

/* An operand: a tile in scratch memory or a window of memory. Strides in elements. */
typedef struct cpu_desc {
  int32_t kind, dtype, rank;
  int32_t reg;    /* VIEW: view register */
  int64_t offset; /* TILE: bytes into the scratch memory */
  int64_t dims[TSR_MAX_RANK], strides[TSR_MAX_RANK];
} cpu_desc;

/* One step of an elementwise program. Registers are strips; a register whose value is the same for the whole strip is
 * `uniform` and holds one element. Compute types: f32, f64, i32, i64, bool (as tsr_dtype). */
typedef enum cpu_strip_op {
  CPU_S_OP,
  CPU_S_CONST,
  CPU_S_REG,
  CPU_S_INPUT,
  CPU_S_INDEX,
  CPU_S_CAST,
  CPU_S_LOAD, /* one element of memory; outside it 0 */
  CPU_S_YIELD
} cpu_strip_op;
typedef struct cpu_strip {
  uint8_t op, code;   /* code: scalar_code; CAST: destination dtype */
  uint8_t ct, to_ct;  /* compute type of the operands and of the result */
  uint8_t predicate, uniform;
  int32_t dst, a, b, c; /* INPUT: a = operand; INDEX: a = dimension; REG: a = VM register; YIELD: dst = output, a;
                         * LOAD: a = descriptor, b = rank, c = first of its index registers in the extra table */
  int64_t imm;        /* CONST: int64 or bits of a double */
} cpu_strip;

typedef struct cpu_program {
  int32_t first, n, n_regs;
  int32_t strip; /* elements taken at once; 0 = the backend's choice */
} cpu_program;

typedef struct cpu_kernel {
  int32_t first_instr, n_instr, n_regs, n_views;
  int64_t grid[3], scratch_bytes;
  int32_t n_args, has_matmul;
  int32_t across, reserved; /* blocks of a matmul row after row, not column after column */
} cpu_kernel;

typedef struct cpu_image {
  uint32_t magic, version;
  uint64_t bytes;
  int32_t n_kernels, n_instrs, n_descs, n_strips, n_programs, n_extra;
  uint64_t kernels, instrs, descs, strips, programs, extra; /* byte offsets from the start */
} cpu_image;

static inline const cpu_kernel *cpu_kernels(const cpu_image *m) {
  return (const cpu_kernel *)((const char *)m + m->kernels);
}
static inline const cpu_instr *cpu_instrs(const cpu_image *m) {
  return (const cpu_instr *)((const char *)m + m->instrs);
}
static inline const cpu_desc *cpu_descs(const cpu_image *m) { return (const cpu_desc *)((const char *)m + m->descs); }
static inline const cpu_strip *cpu_strips(const cpu_image *m) {
  return (const cpu_strip *)((const char *)m + m->strips);
}
static inline const cpu_program *cpu_programs(const cpu_image *m) {
  return (const cpu_program *)((const char *)m + m->programs);
}
static inline const int64_t *cpu_extra(const cpu_image *m) { return (const int64_t *)((const char *)m + m->extra); }

#endif
