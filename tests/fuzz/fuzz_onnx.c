/* tests/fuzz/fuzz_onnx.c - libFuzzer target of the reader of ONNX models: any bytes give one line, or a model whose
 * tensors' data lies in the file and which is converted or refused. Build and run as fuzz_ir. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Either a module, which was verified, or one line. */
static void convert(onnx_model *m) {
  const onnx_options o = {.any_dim = 2};
  ir_module *module;
  tsr_status st = onnx_convert(m, &o, NULL, &module, NULL);
  const char *text = tsr_status_message(st);
  if (!st != !!module || strchr(text, '\n')) abort();
  tsr_status_free(st);
  ir_module_destroy(&module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  onnx_model *m;
  tsr_status st = onnx_parse(data, size, "fuzz", &m);
  if (st) {
    const char *text = tsr_status_message(st);
    if (!*text || strchr(text, '\n') || m) abort();
    tsr_status_free(st);
    return 0;
  }
  for (size_t i = 0; i < m->tensors.n; i++) {
    const onnx_tensor *t = &m->tensors.v[i];
    if (t->raw.at > t->raw.end || t->raw.end > size || t->rank < 0 || t->rank > TSR_MAX_RANK) abort();
  }
  for (size_t i = 0; i < m->nodes.n; i++)
    if (!*m->nodes.v[i].op || m->nodes.v[i].at > size) abort();
  convert(m);
  onnx_close(&m);
  return 0;
}
