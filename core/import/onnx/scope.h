/* core/import/onnx/scope.h - names of one graph and of those around it. */
#ifndef CORE_IMPORT_ONNX_SCOPE_H
#define CORE_IMPORT_ONNX_SCOPE_H
#include "core/import/onnx/cv.h"

typedef struct cv_name {
  const char *name;
  const onnx_tensor *tensor; /* an initializer that no node has read yet */
  ir_value *v;               /* NULL: that, or it could not be computed */
  const char *type;          /* what ONNX calls its type, where the library holds it in a wider one; else NULL */
} cv_name;

struct cv_scope {
  cv_name *v;
  size_t n, cap;
  struct cv_scope *outer;
};

/* NULL: there is none of that name. */
cv_name *cv_scope_find(cv_scope *s, const char *name);
/* A later value of a name takes the place of the first. NULL: out of memory. */
cv_name *cv_scope_set(cv_scope *s, const char *name, ir_value *v);
void cv_scope_clear(cv_scope *s);
#endif
