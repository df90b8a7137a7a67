/* core/import/onnx_graph.h - the parts of an ONNX model that hold others: graphs, nodes and their attributes. */
#ifndef CORE_IMPORT_ONNX_GRAPH_H
#define CORE_IMPORT_ONNX_GRAPH_H
#include "core/import/onnx_value.h"

/* depth: of graphs inside graphs, 0 the model's. All nodes and tensors are put into the model's lists too. */
TSR_MUST_USE tsr_status onnx_read_graph(onnx_model *m, wire_message g, int depth, onnx_graph *out);
TSR_MUST_USE tsr_status onnx_read_node(onnx_model *m, wire_message n, int depth, onnx_node *out);
TSR_MUST_USE tsr_status onnx_read_attr(onnx_model *m, wire_message a, int depth, onnx_attr *out);
#endif
