/* The libraries that the kernels are measured against, loaded at run time; a missing one is NULL from peer_open. */
#ifndef BENCH_KERNELS_PEERS_H
#define BENCH_KERNELS_PEERS_H

#include "backends/cpu/kernels/kernels.h"

typedef struct peer_matmul peer_matmul;
typedef struct peer {
  const char *name;
  /* Prepares C = A B for row-major operands of the kind (b_trans: B is stored n x k; prepack: in the library's own format, made ahead). NULL: it can't. */
  peer_matmul *(*prepare)(cpuk_gemm_kind kind, size_t m, size_t n, size_t k, bool prepack, bool b_trans);
  void (*run)(peer_matmul *op, const void *a, const void *b, void *c); /* b: as prepared by pack when prepack */
  const void *(*pack)(peer_matmul *op, const void *b);                 /* only with prepack; owned by op */
  void (*free)(peer_matmul *op);
} peer;

/* Loads what there is; returns how many, at most 3. Sets the environment that makes each take its fastest kernels. */
int peers_open(peer out[3], unsigned n_threads);

#endif
