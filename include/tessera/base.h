/* tessera/base.h - what every other public header needs: export macro, status, allocator, data types.
 *
 * Errors: every call that can fail returns a tsr_status. NULL is success. A non-NULL status belongs to the caller, who
 * reads it with the tsr_status_* accessors and gives it to tsr_status_free (a NULL or out-of-memory status may be given
 * too). Out parameters are NULL or zero after a failure.
 * Threads: a status may be read from any thread, one at a time. Nothing in the library keeps a "last error". */
#ifndef TESSERA_BASE_H
#define TESSERA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(TSR_BUILD) && defined(__GNUC__)
#define TSR_API __attribute__((visibility("default")))
#else
#define TSR_API
#endif
#if defined(__GNUC__)
#define TSR_MUST_USE __attribute__((warn_unused_result))
#define TSR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TSR_MUST_USE
#define TSR_PRINTF(fmt, args)
#endif

/* Version of the binary interface: major changes break it, minor ones add to it. */
#define TSR_ABI_MAJOR 0
#define TSR_ABI_MINOR 1
#define TSR_ABI_VERSION ((TSR_ABI_MAJOR << 16) | TSR_ABI_MINOR)
/* The TSR_ABI_VERSION that the loaded library was built with. */
TSR_API uint32_t tsr_abi_version(void);

#define TSR_MAX_RANK 8

/* ---- status ---------------------------------------------------------------------------------------------------- */

typedef enum tsr_code {
  TSR_OK = 0,
  TSR_INVALID_ARGUMENT,     /* a call's argument is wrong */
  TSR_SHAPE_MISMATCH,       /* shapes or data types don't fit each other */
  TSR_PARSE_ERROR,          /* IR text, .npy or another file is malformed; the message holds file:line:column */
  TSR_VERIFY_ERROR,         /* IR that parses but breaks a rule of its level */
  TSR_UNSUPPORTED,          /* the device or backend lacks a capability, which the message names */
  TSR_UNAVAILABLE,          /* no such device or driver here; the message says why */
  TSR_OUT_OF_MEMORY,        /* host or device memory */
  TSR_LAUNCH_FAILED,        /* the device refused or failed a launch */
  TSR_DEVICE_LOST,          /* the device must be opened again */
  TSR_TIMEOUT,
  TSR_IO_ERROR,             /* a file could not be read or written */
  TSR_NOT_FOUND,            /* no such name */
  TSR_ARCH_MISMATCH,        /* a binary for another device */
  TSR_ABI_MISMATCH,         /* caller and library disagree on TSR_ABI_MAJOR */
  TSR_CACHE_CORRUPT,
  TSR_COLLECTIVE_MISMATCH,
  TSR_DETERMINISM_VIOLATION,
  TSR_CANCELLED,
  TSR_INTERNAL              /* a broken invariant of the library itself: please report */
} tsr_code;

typedef struct tsr_status_rec *tsr_status;

TSR_API tsr_code tsr_status_code(tsr_status s);
/* One line: "[level] op: cause (hint)" with the parts that are known. Never NULL; valid until the status is freed. */
TSR_API const char *tsr_status_message(tsr_status s);
/* The parts; "" where not known. Level is an IR level or a layer: "graph", "schedule", "tile", "target", "runtime", ...
 */
TSR_API const char *tsr_status_level(tsr_status s);
TSR_API const char *tsr_status_op(tsr_status s);
TSR_API const char *tsr_status_cause(tsr_status s);
TSR_API const char *tsr_status_hint(tsr_status s);
TSR_API void tsr_status_free(tsr_status s);
/* "invalid argument", ...; a constant string. */
TSR_API const char *tsr_code_name(tsr_code c);

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* Hooks for every host allocation of a context. `alloc` returns memory aligned to `align` (a power of two) or NULL;
 * `free` gets the size and alignment that were asked for. Both may be called from any thread. */
typedef struct tsr_allocator {
  void *(*alloc)(void *user, size_t size, size_t align);
  void (*free)(void *user, void *p, size_t size, size_t align);
  void *user;
} tsr_allocator;

/* ---- data types ------------------------------------------------------------------------------------------------ */

typedef enum tsr_dtype {
  TSR_DTYPE_NONE = 0,
  TSR_F64,
  TSR_F32,
  TSR_TF32,     /* stored as f32; matmul inputs are rounded to 10 mantissa bits */
  TSR_F16,
  TSR_BF16,
  TSR_F8E4M3,   /* OCP e4m3fn: no infinity, max 448 */
  TSR_F8E5M2,   /* OCP e5m2 */
  TSR_I64,
  TSR_I32,
  TSR_I16,
  TSR_I8,
  TSR_U8,
  TSR_BOOL,     /* one byte, 0 or 1; `i1` in IR text */
  TSR_COMPLEX32,  /* the real part, then the imaginary one; of f16, `complex<f16>` in IR text */
  TSR_COMPLEX64,  /* of f32 */
  TSR_COMPLEX128, /* of f64 */
  TSR_U16, /* `ui16`, `ui32` and `ui64` in IR text; devices compute on them as signed words of the same bits */
  TSR_U32,
  TSR_U64,
  TSR_I4, /* `i4` and `ui4` in IR text: two to a byte, element i in byte i / 2, the even one in the low four bits. Rows
           * are not padded; of an odd number the last byte's high bits count for nothing (results have 0 there).
           * Devices compute on them as i8 and u8 */
  TSR_U4,
  TSR_N_DTYPES
} tsr_dtype;

/* Bytes of one element; 0 for TSR_DTYPE_NONE, and for i4 and u4, whose elements share bytes: see tsr_dtype_bytes. */
TSR_API size_t tsr_dtype_size(tsr_dtype t);
/* Bytes of n elements, one after the other. */
TSR_API size_t tsr_dtype_bytes(tsr_dtype t, size_t n);
/* The name used on command lines and in reports: "f32", "bf16", "fp8_e4m3", "bool", "complex64", ... A constant
 * string. */
TSR_API const char *tsr_dtype_name(tsr_dtype t);
/* Accepts tsr_dtype_name's names, MLIR's spellings (f8E4M3FN, i1, ui8, complex<f32>) and fp32, fp16. NONE if
 * unknown. */
TSR_API tsr_dtype tsr_dtype_parse(const char *name);

#ifdef __cplusplus
}
#endif
#endif
