/* tests/support/weights_check.h - what any bytes must give to the readers of weight files: one line, or a table whose
 * tensors lie in the file, have the bytes that type and shape ask for, and are read or refused with one line. */
#ifndef TESTS_SUPPORT_WEIGHTS_CHECK_H
#define TESTS_SUPPORT_WEIGHTS_CHECK_H
#include <stdlib.h>
#include <string.h>

#include "core/import/weights.h"

enum { WEIGHTS_MOST_READ = 16 << 20 };

/* NULL, or what is wrong; *refused: there was one line. */
static inline const char *weights_one_line(tsr_status st, bool *refused) {
  const char *text = tsr_status_message(st);
  *refused = st != NULL;
  const char *wrong = !st ? NULL : !*text || strchr(text, '\n') ? "not one line" : NULL;
  tsr_status_free(st);
  return wrong;
}

static inline const char *weights_tensor_wrong(const weights *w, const weights_tensor *t) {
  uint64_t n;
  bool refused;
  tsr_dtype type = weights_read_type(t);
  if (t->offset > w->size || (!t->deflated && t->bytes > w->size - t->offset)) return "outside of the file";
  if (!weights_count(&t->shape, &n)) return "too many elements";
  if (t->dtype && n * tsr_dtype_size(t->dtype) != t->bytes) return "bytes and shape differ";
  if (t->block && n / t->block->elements * t->block->bytes != t->bytes) return "blocks and shape differ";
  uint64_t bytes = n * tsr_dtype_size(type);
  if (!type || bytes > WEIGHTS_MOST_READ) return NULL;
  void *p = malloc(bytes + 1);
  if (!p) return NULL;
  const char *wrong = weights_one_line(weights_read(w, t, p, (size_t)bytes), &refused);
  if (!wrong && refused && !t->entry) wrong = "a tensor that lies in the file is not read";
  const void *data = weights_data(w, t);
  if (!wrong && !refused && data && !t->block && memcmp(data, p, (size_t)bytes)) wrong = "read and mapped bytes differ";
  free(p);
  return wrong;
}

static inline const char *weights_wrong(const void *p, size_t n, bool *refused) {
  weights *w;
  const char *wrong = weights_one_line(weights_parse(NULL, p, n, "file", &w), refused);
  if (wrong || *refused) return wrong ? wrong : w ? "a table after a refusal" : NULL;
  for (size_t i = 0; i < w->n_tensors && !wrong; i++) wrong = weights_tensor_wrong(w, &w->tensors[i]);
  weights_close(&w);
  return wrong;
}
#endif
