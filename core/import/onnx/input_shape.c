/* core/import/onnx/input_shape.c - see input_shape.h. Given shapes may differ in dimensions of one name, as exporters
 * use names freely: then the first input's counts for those that are left open. */
#include "core/import/onnx/input_shape.h"

#include <string.h>

static bool given_shape(const onnx_options *o, const onnx_value *v, tsr_shape *out) {
  return o->shape && o->shape(o->user, v->name, out);
}

/* TSR_ANY_DIM: no given shape says. */
static int64_t dim_of_name(const onnx_model *m, const onnx_options *o, const char *name) {
  for (size_t i = 0; name && *name && i < m->inputs.n; i++) {
    const onnx_value *v = &m->inputs.v[i];
    tsr_shape s;
    if (!given_shape(o, v, &s) || s.rank != v->rank) continue;
    for (int k = 0; k < s.rank; k++)
      if (v->dims[k].name && !strcmp(v->dims[k].name, name) && s.dims[k] != TSR_ANY_DIM) return s.dims[k];
  }
  return TSR_ANY_DIM;
}

static tsr_status unknown_dim(const onnx_model *m, const onnx_value *v, const char *name) {
  const bool named = name && *name;
  return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL),
                 "%s: input %s has an unknown dimension (--shape %s=2x3.. gives it a number%s%s%s)", m->file.name,
                 v->name, v->name, named ? ", --shape " : "", named ? name : "", named ? "=2 all of that name" : "");
}

tsr_status onnx_input_shape(const onnx_model *m, const onnx_options *o, const onnx_value *v, tsr_shape *out) {
  const char *file = m->file.name;
  const bool given = given_shape(o, v, out);
  if (!given && v->rank < 0)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL),
                   "%s: input %s has an unknown shape (--shape %s=2x3.. gives it one)", file, v->name, v->name);
  if (given && v->rank >= 0 && v->rank != out->rank)
    return st_make(NULL, TSR_SHAPE_MISMATCH, ST_WHERE("onnx", NULL, NULL), "%s: input %s has %d dimensions, not %d",
                   file, v->name, v->rank, out->rank);
  if (!given) out->rank = v->rank;
  for (int i = 0; i < out->rank; i++) {
    const onnx_dim own = v->rank >= 0 ? v->dims[i] : (onnx_dim){TSR_ANY_DIM, NULL};
    int64_t *d = &out->dims[i];
    if (!given) *d = TSR_ANY_DIM;
    if (*d != TSR_ANY_DIM && own.value != TSR_ANY_DIM && own.value != *d)
      return st_make(NULL, TSR_SHAPE_MISMATCH, ST_WHERE("onnx", NULL, NULL),
                     "%s: dimension %d of input %s is %lld, not %lld", file, i, v->name, (long long)own.value,
                     (long long)*d);
    if (*d == TSR_ANY_DIM) *d = own.value != TSR_ANY_DIM ? own.value : dim_of_name(m, o, own.name);
    if (*d == TSR_ANY_DIM && !o->any_dim) return unknown_dim(m, v, own.name);
    if (*d == TSR_ANY_DIM) *d = o->any_dim;
  }
  return NULL;
}
