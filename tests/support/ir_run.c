/* tests/support/ir_run.c - see ir_run.h. */
#include "tests/support/ir_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/status.h"
#include "tests/support/numbers.h"

enum { MOST_BYTES = 1 << 24 };

static tsr_status fill(tsr_buffer *b, const tsr_tensor_info *t) {
  char *data = calloc(1, t->bytes + 1);
  for (size_t i = 0; i < numbers_of(t); i++) dtype_store(t->dtype, data, i, (double)(1 + i % 2));
  tsr_status st = tsr_buffer_write(b, 0, data, t->bytes);
  free(data);
  return st;
}

static tsr_status make(tsr_device *dev, const tsr_tensor_info *t, tsr_binding *b) {
  if (t->bytes > MOST_BYTES)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("test", "tensor", NULL), "%zu bytes", t->bytes);
  tsr_status st = tsr_buffer_create(dev, t->bytes, TSR_MEMORY_DEVICE, &b->buffer);
  return st ? st : fill(b->buffer, t);
}

tsr_status ir_run(tsr_device *dev, const char *text, void *out, size_t bytes) {
  tsr_program *p = NULL;
  tsr_binding in[IR_RUN_MOST_TENSORS] = {{0}}, results[IR_RUN_MOST_TENSORS] = {{0}};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "test", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  if (st) return st;
  const int n = tsr_program_n_inputs(p), m = tsr_program_n_outputs(p);
  if (n > IR_RUN_MOST_TENSORS || m > IR_RUN_MOST_TENSORS)
    st = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("test", "program", NULL), "%d inputs, %d results", n, m);
  for (int i = 0; !st && i < n; i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    st = make(dev, &t, &in[i]);
  }
  for (int i = 0; !st && i < m; i++) {
    tsr_tensor_info t = tsr_program_output(p, i);
    st = make(dev, &t, &results[i]);
  }
  if (!st) st = tsr_program_run(p, NULL, in, results);
  if (!st && out) st = tsr_buffer_read(results[0].buffer, 0, out, bytes);
  for (int i = 0; i < IR_RUN_MOST_TENSORS; i++) {
    tsr_buffer_destroy(&in[i].buffer);
    tsr_buffer_destroy(&results[i].buffer);
  }
  tsr_program_destroy(&p);
  return st;
}
