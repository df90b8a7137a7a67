/* core/base/dtype.h - scalar data types: names, sizes and exact conversions of single elements.
 * Conversions to a narrower float round to nearest even and keep NaN; to an integer truncates toward zero and
 * saturates, NaN gives 0; anything to bool is "not zero". */
#ifndef CORE_BASE_DTYPE_H
#define CORE_BASE_DTYPE_H
#include "tessera/base.h"

typedef struct dtype_info {
  const char *name, *mlir;
  uint8_t size, mantissa_bits; /* explicit mantissa bits; 0 for integers */
  bool is_float, is_signed; /* complex types are no floats: what computes with them asks for their parts */
  double max, eps; /* largest finite value; half a unit in the last place of 1 (0 for integers) */
  tsr_dtype part;  /* of a complex type: that of its real and imaginary parts; else NONE */
  tsr_dtype word;  /* of u16, u32 and u64: the signed type of as many bits, see passes/graph/words.h; else NONE */
  tsr_dtype byte;  /* of i4 and u4, two of which are in a byte: i8 and u8, see passes/graph/packed.h; else NONE */
} dtype_info;

const dtype_info *dtype_get(tsr_dtype t);
static inline bool dtype_is_float(tsr_dtype t) { return dtype_get(t)->is_float; }
static inline bool dtype_is_complex(tsr_dtype t) { return dtype_get(t)->part != TSR_DTYPE_NONE; }
/* The type of an element's numbers, and how many it has: of complex types the parts', 2; else the type itself, 1. */
static inline tsr_dtype dtype_part(tsr_dtype t) { return dtype_is_complex(t) ? dtype_get(t)->part : t; }
static inline int dtype_parts(tsr_dtype t) { return dtype_is_complex(t) ? 2 : 1; }
/* The signed type whose words stand for t's; NONE: t stands for itself. */
static inline tsr_dtype dtype_word(tsr_dtype t) { return dtype_get(t)->word; }
/* The type of one byte in which a packed type's elements are computed; NONE: t is none. Packed types have size 0. */
static inline tsr_dtype dtype_packed(tsr_dtype t) { return dtype_get(t)->byte; }
static inline int dtype_bits(tsr_dtype t) { return dtype_packed(t) ? 4 : 8 * dtype_get(t)->size; }
/* What the offset of a tensor in bytes is a multiple of; 0: t is no type of elements. */
static inline size_t dtype_unit(tsr_dtype t) { return dtype_packed(t) ? 1 : dtype_get(t)->size; }
/* Integers that a double need not hold. */
static inline bool dtype_is_long(tsr_dtype t) { return t == TSR_I64 || t == TSR_U64; }
/* tsr_dtype_parse, for what computes: NONE for complex types too. */
tsr_dtype dtype_parse_real(const char *name);
/* The complex type of such parts; NONE: there is none. */
tsr_dtype dtype_complex(tsr_dtype part);

float dtype_f16_to_f32(uint16_t h);
uint16_t dtype_f32_to_f16(float f);
float dtype_bf16_to_f32(uint16_t h);
uint16_t dtype_f32_to_bf16(float f);

/* Element i of an array of t, as double (exact but for i64 and u64 beyond 2^53). Of complex types number i: elements'
 * real and imaginary parts in turn. */
double dtype_load(tsr_dtype t, const void *p, size_t i);
void dtype_store(tsr_dtype t, void *p, size_t i, double v);
/* Element i of an array of integers of type t, of any alignment; of u64 its bits. */
int64_t dtype_load_int(tsr_dtype t, const void *p, size_t i);
/* The same of an integer, which a double need not hold: saturates, and rounds once. */
void dtype_store_int(tsr_dtype t, void *p, size_t i, int64_t v);
/* An integer as arithmetic in type t leaves it: its low bits. Of floats and bool it stays. */
int64_t dtype_wrap(tsr_dtype t, int64_t v);
/* v as an integer type stores it: what lies beyond, infinities too, is the type's end. Of u64 its bits. */
int64_t dtype_whole(tsr_dtype t, double v);

/* Does `wide` hold every value of `narrow` exactly? */
bool dtype_holds(tsr_dtype wide, tsr_dtype narrow);

/* The type an element is computed in on the CPU: f32, f64, i32, i64 or bool; TSR_DTYPE_NONE where it can't be. */
tsr_dtype cpu_compute_type(tsr_dtype t);
#endif
