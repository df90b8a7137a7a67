/* core/ir/graph/table.c - the op table of Graph IR: the groups of ir/graph/ops, in the order of graph_code. */
#include <stdio.h>

#include "core/ir/graph/ops/row.h"
#include "core/ir/tables.h"

const ir_rows *graph_ops(size_t group) {
  static const ir_rows *const groups[] = {&graph_program_ops, &graph_contraction_ops, &graph_pointwise_ops,
                                              &graph_reduce_ops,  &graph_norm_ops,        &graph_move_ops,
                                              &graph_index_ops,   &graph_compose_shape_ops,
                                              &graph_compose_norm_ops, &graph_compose_loss_ops,
                                              &graph_compose_product_ops, &graph_compose_einsum_ops,
                                              &graph_indexed_ops, &graph_compose_pool_ops,
                                              &graph_compose_resize_ops, &graph_compose_grid_ops, &graph_complex_ops,
                                              &graph_attention_ops, &graph_attention_backward_ops,
                                              &graph_compose_random_ops,
                                              &graph_compose_train_ops, &graph_compose_scaling_ops,
                                              &graph_linalg_ops, &graph_compose_scan_ops,
                                              &graph_compose_order_ops, &graph_compose_moe_ops, &graph_spectral_ops,
                                              &graph_dft_ops, &graph_compose_spectral_ops,
                                              &graph_compose_spectral_conv_ops, &graph_recurrent_ops,
                                              &graph_patches_ops, &graph_conv_ops, &graph_compose_cache_ops,
                                              &graph_control_ops, &graph_collective_ops, &graph_blocks_ops,
                                              &graph_words_ops, &graph_packed_ops};
  return group < sizeof groups / sizeof *groups ? groups[group] : NULL;
}

const graph_row *graph_row_named(const char *name) {
  char full[64];
  if (snprintf(full, sizeof full, "tessera.graph.%s", name) >= (int)sizeof full) return NULL;
  const ir_opdef *d = ir_find_op(full);
  return d ? d->ext : NULL;
}
