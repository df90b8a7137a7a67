/* examples/ocr/model.c - an ONNX model with an open input [1, 3, height, width], imported and compiled once for each
 * size that comes; its programs and buffers are kept. */
#include <stdlib.h>

#include "ocr.h"

/* One size. */
typedef struct plan_for {
  int height, width;
  tsr_program *program;
  tsr_buffer *in, *out;
  tsr_shape result;
  float *values; /* of the result */
} plan_for;

struct model {
  tsr_context *ctx;
  tsr_device *dev;
  const char *path;
  plan_for *plans;
  int n;
};

model *model_create(tsr_context *ctx, tsr_device *dev, const char *path) {
  model *m = get_memory(NULL, 1, sizeof *m);
  *m = (model){ctx, dev, path, NULL, 0};
  return m;
}

void model_destroy(model **m) {
  for (int i = 0; i < (*m)->n; i++) {
    plan_for *p = &(*m)->plans[i];
    tsr_buffer_destroy(&p->in);
    tsr_buffer_destroy(&p->out);
    tsr_program_destroy(&p->program);
    free(p->values);
  }
  free((*m)->plans);
  free(*m);
  *m = NULL;
}

static plan_for *plan_of(model *m, int height, int width) {
  for (int i = 0; i < m->n; i++)
    if (m->plans[i].height == height && m->plans[i].width == width) return &m->plans[i];
  m->plans = get_memory(m->plans, (size_t)m->n + 1, sizeof *m->plans);
  plan_for *p = &m->plans[m->n++];
  *p = (plan_for){.height = height, .width = width};
  const tsr_import_input x = {.name = "x", .shape = {.rank = 4, .dims = {1, 3, height, width}}};
  tsr_graph *g;
  check(tsr_graph_import(m->ctx, &(tsr_import_desc){.path = m->path, .inputs = &x, .n_inputs = 1}, &g));
  const int n_in = tsr_graph_n_inputs(g), n_out = tsr_graph_n_outputs(g);
  if (n_in != 1 || n_out != 1) fail(EXIT_INPUT, "%s has %d inputs and %d outputs, not one each", m->path, n_in, n_out);
  const tsr_tensor_info in = tsr_graph_input_info(g, 0), out = tsr_graph_output_info(g, 0);
  if (in.dtype != TSR_F32 || out.dtype != TSR_F32) fail(EXIT_INPUT, "%s: input and output are not f32", m->path);
  p->result = out.shape;
  p->values = get_memory(NULL, out.bytes, 1);
  check(tsr_program_compile(m->dev, g, NULL, &p->program));
  check(tsr_buffer_create(m->dev, in.bytes, TSR_MEMORY_DEVICE, &p->in));
  check(tsr_buffer_create(m->dev, out.bytes, TSR_MEMORY_DEVICE, &p->out));
  tsr_graph_destroy(&g);
  return p;
}

/* "1x3x?" */
static const char *shape_text(const tsr_shape *s, char text[static 192]) {
  int n = 0;
  text[0] = 0;
  for (int i = 0; i < s->rank; i++)
    n += s->dims[i] < 0 ? snprintf(text + n, 192 - (size_t)n, "%s?", i ? "x" : "")
                        : snprintf(text + n, 192 - (size_t)n, "%s%lld", i ? "x" : "", (long long)s->dims[i]);
  return text;
}

const float *model_run(model *m, int height, int width, const float *x, tsr_shape *want) {
  plan_for *p = plan_of(m, height, width);
  bool same = p->result.rank == want->rank;
  for (int i = 0; same && i < want->rank; i++) same = want->dims[i] < 0 || want->dims[i] == p->result.dims[i];
  char has[192], wants[192];
  if (!same) fail(EXIT_INPUT, "%s: the output is %s, not %s", m->path, shape_text(&p->result, has),
                  shape_text(want, wants));
  check(tsr_buffer_write(p->in, 0, x, tsr_buffer_bytes(p->in)));
  check(tsr_program_run(p->program, NULL, &(tsr_binding){p->in, 0}, &(tsr_binding){p->out, 0}));
  check(tsr_buffer_read(p->out, 0, p->values, tsr_buffer_bytes(p->out)));
  *want = p->result;
  return p->values;
}
