/* core/import/onnx/recurrent.h - ONNX's recurrent cells: what they are, and those that Graph IR's ops don't have, which
 * are written out step by step (ops_recurrent_steps.c). */
#ifndef CORE_IMPORT_ONNX_RECURRENT_H
#define CORE_IMPORT_ONNX_RECURRENT_H
#include "core/import/onnx/cv.h"

enum { CELL_ACTS = 3, CELL_DIRECTIONS = 2 };

typedef struct cell {
  graph_code code;
  int gates, states;
  const char *acts[CELL_ACTS]; /* the usual ones */
  int n_acts;
} cell;

typedef struct cell_act {
  const char *name;
  double alpha, beta;
} cell_act;

/* What the node says of its cells. */
typedef struct cell_way {
  cell_act act[CELL_DIRECTIONS][CELL_ACTS];
  double clip; /* of what activations are given; 0: none */
  bool forgets_input, linear, peepholes;
  bool usual, relu; /* the graph's op has it; with ReLU as activation */
} cell_way;

/* False: refused. */
bool cell_read_way(cv *c, const cell *k, cell_way *out);
/* in: x [steps, batch, inputs], weights [directions, gates * hidden, inputs], recurrence, bias, lengths (i32), states;
 * out: as the graph's op has them. */
void cell_write_out(cv *c, const cell *k, const cell_way *way, ir_value *const *in, ir_value **out);
#endif
