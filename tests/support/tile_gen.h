/* tests/support/tile_gen.h - Tile IR text of canonical kernels for many shapes and types, as schedule_to_tile makes
 * them. */
#ifndef TESTS_SUPPORT_TILE_GEN_H
#define TESTS_SUPPORT_TILE_GEN_H
#include "core/base/str.h"

typedef struct tile_matmul_case {
  const char *name;
  int64_t m, n, k, batch; /* batch 0: rank 2 operands */
  int64_t bm, bn, bk;
  tsr_dtype in, out;      /* operands; result, bias and residual */
  bool ta, tb, bias, residual;
  const char *act;        /* scalar op, NULL = none */
  int stages;
  bool direct;            /* gemm on windows, without shared tiles */
  int warps;              /* 0: chosen by the lowering */
  const char *path;       /* matrix path asked for, NULL = none */
} tile_matmul_case;

void tile_gen_matmul(strb *b, const tile_matmul_case *c);

/* Reduction kernels over [rows, n], converted to f32: "softmax", "rmsnorm", "layernorm", "sum", "max"; or a map: the
 * name of a scalar op. */
typedef struct tile_row_case {
  const char *name, *op;
  int64_t rows, n, block_rows;
  tsr_dtype in, out;
} tile_row_case;

void tile_gen_row(strb *b, const tile_row_case *c);

/* The causal attention of tests/tile/flash_attention.mlir in another size. */
typedef struct tile_attention_case {
  int64_t heads, positions, width; /* width of a head */
  int64_t rows, columns;           /* queries of a block; keys of a step */
  tsr_dtype t;
} tile_attention_case;

/* program: the text of that file. */
void tile_gen_attention(strb *b, const char *program, const tile_attention_case *c);

#endif
