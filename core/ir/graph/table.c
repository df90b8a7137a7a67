/* core/ir/graph/table.c - the op table of Graph IR: the groups of ir/graph/ops, in the order of graph_code. */
#include <stdio.h>

#include "core/ir/graph/ops/row.h"
#include "core/ir/tables.h"

const ir_opdef *graph_ops(size_t i) {
  static const graph_group *const groups[] = {&graph_program_ops, &graph_contraction_ops, &graph_pointwise_ops,
                                              &graph_reduce_ops,  &graph_norm_ops,        &graph_move_ops,
                                              &graph_index_ops,   &graph_compose_shape_ops,
                                              &graph_compose_norm_ops, &graph_compose_loss_ops,
                                              &graph_compose_product_ops, &graph_compose_einsum_ops,
                                              &graph_indexed_ops, &graph_compose_pool_ops,
                                              &graph_compose_resize_ops, &graph_compose_grid_ops, &graph_complex_ops,
                                              &graph_attention_ops, &graph_compose_random_ops,
                                              &graph_compose_train_ops, &graph_linalg_ops, &graph_compose_scan_ops,
                                              &graph_compose_order_ops, &graph_compose_moe_ops, &graph_spectral_ops,
                                              &graph_dft_ops, &graph_compose_spectral_ops,
                                              &graph_compose_spectral_conv_ops, &graph_recurrent_ops,
                                              &graph_patches_ops, &graph_conv_ops, &graph_compose_cache_ops,
                                              &graph_control_ops, &graph_collective_ops, &graph_blocks_ops};
  for (size_t g = 0; g < sizeof groups / sizeof *groups; i -= groups[g++]->n)
    if (i < groups[g]->n) return &groups[g]->rows[i];
  return NULL;
}

const graph_row *graph_row_named(const char *name) {
  char full[64];
  if (snprintf(full, sizeof full, "tessera.graph.%s", name) >= (int)sizeof full) return NULL;
  const ir_opdef *d = ir_find_op(full);
  return d ? d->ext : NULL;
}
