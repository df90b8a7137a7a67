/* core/emit/spirv/internal.h - what the files of the SPIR-V emitter share; only the sources beside it include it.
 *
 * How Target IR becomes SPIR-V:
 *   index          32-bit integer (64-bit with wide_index); known constants are folded so that unrolled array indices
 *                  vanish
 *   f32 f64 f16    floats. bf16 and fp8, f16 without shaderFloat16, are their bits in u16 / u8: arithmetic goes through
 *                  f32. Without 16 or 8-bit integers those are in 32-bit registers (emit/spirv/narrow.c)
 *   bool           OpTypeBool in registers, one byte in memory
 *   vector<N>      one value for N <= 4, else N / 4 values of 4 ("parts")
 *   i64            without shaderInt64 two words: each part is two, low words and high words (emit/spirv/pair_ops.c)
 *   global ptr     64-bit address (PhysicalStorageBuffer; emit/spirv/address.c) or, on devices without, 32-bit byte
 *                  offset into the buffer of a descriptor; shared ptr = 32-bit byte offset into the block's memory
 *   array          a Function variable; matrix = a cooperative matrix value All integers have
 * signedness 0; the opcode says how they are meant. */
#ifndef CORE_EMIT_SPIRV_INTERNAL_H
#define CORE_EMIT_SPIRV_INTERNAL_H
#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/device/caps.h"
#include "core/emit/spirv/call.h"
#include "core/emit/spirv/words.h"
#include "core/ir/scalar_ops.h"
#include "core/ir/target/target.h"

enum { SV_PARTS = 8, SV_ELEMENTS = 16 };

/* A value of the kernel. */
typedef struct sv {
  uint32_t part[SV_PARTS];
  int buffer;    /* of a pointer to global memory, where buffers have descriptors: the argument that it is into */
  bool is_const; /* index or integer known now */
  int64_t c;
} sv;

/* Element type and number of components (1 to 4) of one part. */
typedef struct vt { tsr_dtype t; int n; } vt;
/* The dtype that stands for `index`; 32 or 64 bits by the kernel. */
#define INDEX_DTYPE(e) ((e)->wide ? TSR_I64 : TSR_I32)

typedef struct emitter emitter;
struct emitter {
  spv s;
  const tsr_caps *caps;
  const ir_op *kernel;
  arena *a; /* values of this kernel */
  bool rounds; /* functions need be no better than rounding to 16 bits leaves */
  bool wide, exact, has_barrier, in_subgroups; /* in_subgroups: lanes ask others, or may */
  bool pairs; /* no 64-bit integers: addresses are two words */
  int64_t block[3], shared_bytes;
  /* Types by bits / 16, and the least u32 constants; 0: not made yet. Most instructions ask for some of them. */
  uint32_t ints[5], floats[5], small[32];
  uint32_t glsl, label; /* ext import; label of the block being written */
  uint32_t thread_id[3], block_id[3], lane, warp; /* loaded once in the first block */
  uint32_t hidden_zero; /* a u64, on subgroups that are a CPU's SIMD register and where no_pack64 says so; else 0 */
  uint32_t interface[EMIT_SPIRV_MAX_VIEWS + 24];
  int n_interface;
  struct { uint32_t type, var; } shared_vars[12];
  struct { uint32_t type, var; int buffer; } *views; /* of buffers that have descriptors */
  int n_views;
  const char *full; /* what the kernel has too many of, where s.failed is not for want of memory; else NULL */
  int n_shared_vars;
  const ir_op *yield_to; /* NULL; see region code */
  int depth;
  /* Upward: the ops of a region, for the files below emit/spirv/walk.c, which it is in. */
  tsr_status (*put_ops)(emitter *e, const ir_block *b, const ir_op **terminator);
};

/* ---- types, constants ---- */
uint32_t e_void(emitter *e);
uint32_t e_int(emitter *e, int bits);
uint32_t e_float(emitter *e, int bits);
uint32_t e_bool(emitter *e);
uint32_t e_vec(emitter *e, uint32_t elem, int n);
uint32_t e_splat(emitter *e, uint32_t elem_type, uint32_t x, int n); /* n times x, at most 4; no constant */
uint32_t e_ptr(emitter *e, int storage, uint32_t type);
/* How a value of this type is held in registers. */
uint32_t e_reg(emitter *e, tsr_dtype t, int n);
uint32_t e_u32(emitter *e, uint32_t v);
/* A constant of an integer width, a float, or the bits of one; n components. */
uint32_t e_const_int(emitter *e, int bits, int64_t v, int n);
uint32_t e_const_f32(emitter *e, double v, int n);
uint32_t e_const_f64(emitter *e, double v, int n);
uint32_t e_const(emitter *e, tsr_dtype t, double v, int n);
tsr_dtype e_dtype(const emitter *e, const ir_type *t); /* index resolved */
int e_parts(const emitter *e, const ir_type *t);       /* 1 to 8 */
bool e_is_pair(const emitter *e, const ir_type *t);    /* two words */
vt e_part(const emitter *e, const ir_type *t);         /* of each part */
uint32_t e_type(emitter *e, const ir_type *t); /* of one part of a value */
/* Cooperative matrices: the type, that of the components (bf16 and fp8 have float types there), and 0 A, 1 B, 2 sums.
 * */
uint32_t e_matrix_type(emitter *e, const ir_type *t);
uint32_t e_component(emitter *e, tsr_dtype t);
uint32_t e_matrix_use(const ir_type *t);

/* ---- values ---- */
sv *e_value(emitter *e, const ir_value *v);
void e_define(emitter *e, const ir_value *v, sv x);
sv e_index_const(emitter *e, int64_t v);
/* Why s failed. */
tsr_status e_stopped(const emitter *e, const ir_op *op);
tsr_status e_fail(const emitter *e, const ir_op *op, tsr_code code, const char *hint, const char *fmt, ...)
    TSR_PRINTF(5, 6);
uint32_t e_glsl(emitter *e, int fn, uint32_t type, const uint32_t *args, int n);
#define GLSL(e, fn, type, ...) \
  e_glsl(e, fn, type, (const uint32_t[]){__VA_ARGS__}, (int)(sizeof((const uint32_t[]){__VA_ARGS__}) / 4))
void e_block(emitter *e, uint32_t label); /* starts a block */
uint32_t e_local(emitter *e, uint32_t type); /* a Function variable */
/* Names a variable at the entry point: before SPIR-V 1.4 inputs alone. */
void e_interface(emitter *e, int storage, uint32_t var);
static inline bool e_before(const emitter *e, int minor) { return e->s.minor && e->s.minor < minor; }
/* The condition of a select of n components: before SPIR-V 1.4 it has as many. */
uint32_t e_condition(emitter *e, const ir_type *condition, uint32_t c, int n);

/* ---- scalar arithmetic: emit/spirv/scalar.c, emit/spirv/math.c, emit/spirv/rem.c, emit/spirv/cast.c ---- */
tsr_status e_scalar_op(emitter *e, const ir_op *op);
/* f32 functions; -1 when code isn't one of them. x, y, z are f32 of n components. */
static inline bool e_is_math(int code) { return code == SC_RSQRT || scalar_rows[code].traits & SCALAR_FUNCTION; }
uint32_t e_math(emitter *e, int code, int n, uint32_t x, uint32_t y);
/* The same of f64, whatever the components: emit/spirv/math64.c. */
uint32_t e_math64(emitter *e, int code, int n, uint32_t x, uint32_t y);
uint32_t e_float_rem(emitter *e, vt v, uint32_t a, uint32_t b); /* f32 and f64: exact, by emit/spirv/rem.c */
uint32_t e_int_pow(emitter *e, vt v, uint32_t a, uint32_t b);
uint32_t e_cast(emitter *e, uint32_t x, tsr_dtype from, tsr_dtype to, int n);
/* Joins two elements of a reduction by an ir_reducer's code. */
uint32_t e_combine(emitter *e, int code, vt v, uint32_t a, uint32_t b);
uint32_t e_binary(emitter *e, int code, vt v, uint32_t a, uint32_t b);
uint32_t e_unary(emitter *e, int code, vt v, uint32_t a);
uint32_t e_compare(emitter *e, int predicate, vt v, uint32_t a, uint32_t b); /* of bools, as many */

/* ---- i64 as two words: emit/spirv/pair_ops.c ---- */
/* A scalar op that has i64 as operands or result; false: it hasn't. */
bool e_pair_op(emitter *e, const ir_op *op);
/* a = a joined with b by a binary op, of n components: low and high words. */
void e_pair_combine(emitter *e, int code, int n, uint32_t a[2], const uint32_t b[2]);

/* ---- types of 8 and 16 bits that the device has no arithmetic for: emit/spirv/narrow.c ---- */
bool e_held_wide(const emitter *e, tsr_dtype t);
/* The result of integer arithmetic on values of v as its type holds it. */
uint32_t e_wrap(emitter *e, vt v, uint32_t x);
/* OpSConvert or OpUConvert between integers of these widths, where their registers differ. */
uint32_t e_resize(emitter *e, int op, int from_bits, int to_bits, int n, uint32_t x);
/* A scalar of at most 16 bits as the low bits of a u32 of which the rest is 0. */
uint32_t e_to_bits(emitter *e, tsr_dtype t, uint32_t x);
/* Element k of a word that holds several. */
uint32_t e_of_word(emitter *e, tsr_dtype t, uint32_t word, int k);
/* Several elements as a word. */
uint32_t e_to_word(emitter *e, tsr_dtype t, const uint32_t *x, int n);

/* ---- addresses of global memory: emit/spirv/address.c; where buffers have descriptors, offsets into them ---- */
uint32_t e_address_type(emitter *e);
uint32_t e_address_add(emitter *e, uint32_t address, const sv *index, int elem_log2); /* of elements of 1 to 16 bytes */
uint32_t e_address_add_const(emitter *e, uint32_t address, int64_t bytes);
uint32_t e_physical(emitter *e, uint32_t type, uint32_t address); /* the pointer to an address */
uint32_t e_address_low(emitter *e, uint32_t address);  /* its low 32 bits */
uint32_t e_address_word(emitter *e, uint32_t address); /* of the 32-bit word that it lies in */
/* Memory operands of accesses, to global memory or not: seen by the other threads of a block at its barriers. */
uint32_t e_seen_by_block(const emitter *e, bool global);

/* ---- pointers into memory: emit/spirv/views.c ---- */
/* Which memory: the block's or, where buffers have descriptors, which argument's. */
typedef struct e_place { bool shared; int buffer; } e_place;
/* To `type` of that many bytes at an address of global memory, or at a byte offset into shared memory. */
uint32_t e_pointer(emitter *e, e_place in, uint32_t type, int bytes, uint32_t at);
/* The same as an element of an array. */
uint32_t e_array_pointer(emitter *e, e_place in, uint32_t type, int bytes, uint32_t at);
/* To the 32-bit word that byte is in. */
uint32_t e_word_pointer(emitter *e, e_place in, uint32_t at);

/* ---- memory: emit/spirv/memory.c ---- */
int e_length(const ir_type *t);                                            /* elements of a value */
/* An element as it is moved between memory and registers: a scalar or, of i64 in two words, both as a vector. */
uint32_t e_element(emitter *e, tsr_dtype t);
/* A value of n elements, and the elements of one. */
sv e_assemble(emitter *e, const ir_type *t, const uint32_t *x);
void e_scatter(emitter *e, const ir_type *t, const sv *v, uint32_t *out);
uint32_t e_add_const(emitter *e, uint32_t x, int64_t c, int bits);
tsr_status e_load(emitter *e, const ir_op *op);
tsr_status e_store(emitter *e, const ir_op *op);
tsr_status e_ptr_op(emitter *e, const ir_op *op); /* shared, ptr_cast, ptr_add */
tsr_status e_array_op(emitter *e, const ir_op *op); /* local, get, set: emit/spirv/arrays.c */
/* A SPIR-V pointer to an array element for matrix loads: element type `dt` (possibly u32 words); alignment out. */
uint32_t e_element_pointer(emitter *e, const ir_value *ptr, const ir_value *index, uint32_t *scale_log2,
                           bool *global);

/* ---- emit/spirv/bitcast.c ---- */
tsr_status e_bitcast(emitter *e, const ir_op *op);
/* A vector of two u32 (low, high) as a value of 64 bits. */
uint32_t e_of_two(emitter *e, uint32_t type, uint32_t both);
/* n components of u64 that are no constant to a compiler, where no_pack64 says that it should see none; else x. */
uint32_t e_hide(emitter *e, uint32_t x, int n);

/* ---- subgroup and matrix ops: emit/spirv/subgroup.c, emit/spirv/matrix.c ---- */
tsr_status e_subgroup_op(emitter *e, const ir_op *op);
tsr_status e_matrix_op(emitter *e, const ir_op *op);

/* ---- control flow: emit/spirv/walk.c ---- */
tsr_status e_ops(emitter *e, const ir_block *b, const ir_op **terminator);
#endif
