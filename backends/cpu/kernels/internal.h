/* Names shared between the instruction-set files and select.c. Not for callers: they use kernels.h. */
#ifndef BACKENDS_CPU_KERNELS_INTERNAL_H
#define BACKENDS_CPU_KERNELS_INTERNAL_H

#include "kernels.h"

#define CPUK_DECLARE(isa)                                                                                      \
  extern const cpuk_lanes cpuk_lanes_##isa;                                                                    \
  extern const cpuk_rows cpuk_rows_##isa;                                                                      \
  extern const cpuk_dft cpuk_dft_##isa;                                                                        \
  void cpuk_copy2d_##isa(const cpuk_copy_args *args);                                                          \
  void cpuk_fill_##isa(void *dst, const void *value, size_t esize, size_t n);                                  \
  void cpuk_iota_##isa(int32_t *dst, int32_t start, int32_t step, size_t n);                                   \
  extern const cpuk_gemm cpuk_gemm_f32_##isa, cpuk_gemm_bf16_##isa, cpuk_gemm_f16_##isa, cpuk_gemm_s8s8_##isa, \
      cpuk_gemm_u8s8_##isa,                                                                                    \
      cpuk_gemm_f64_##isa, cpuk_gemm_f32_kahan_##isa, cpuk_gemm_f64_kahan_##isa, cpuk_gemm_s16_##isa,          \
      cpuk_gemm_s32_##isa,                                                                                     \
      cpuk_gemm_s64_##isa;                                                                                     \
  void cpuk_skinny_f32_##isa(const cpuk_skinny_args *args);                                                    \
  void cpuk_skinny_bf16_##isa(const cpuk_skinny_args *args);                                                   \
  void cpuk_skinny_f16_##isa(const cpuk_skinny_args *args);                                                    \
  void cpuk_skinny_f64_##isa(const cpuk_skinny_args *args);                                                    \
  void cpuk_skinny_s8s8_##isa(const cpuk_skinny_args *args);                                                   \
  void cpuk_skinny_u8s8_##isa(const cpuk_skinny_args *args);
CPUK_DECLARE(portable)
CPUK_DECLARE(avx2)
CPUK_DECLARE(avx512)
CPUK_DECLARE(neon)

extern const cpuk_gemm cpuk_gemm_s8s8_avx512vnni, cpuk_gemm_u8s8_avx512vnni;
extern const cpuk_gemm cpuk_gemm_bf16_avx512bf16;
extern const cpuk_rows cpuk_rows_avx512bf16;
extern const cpuk_gemm cpuk_gemm_bf16_amx, cpuk_gemm_s8s8_amx, cpuk_gemm_u8s8_amx;
extern const block_kernels cpuk_blocks_avx2, cpuk_blocks_avx512vnni;
void cpuk_block_floats_avx2(const block_product *p); /* x as it is */
void cpuk_amx_thread_begin(void);
void cpuk_amx_thread_end(void);

#endif
