/* tools/tessera/onnx_case.c - see onnx_case.h. */
#include "tools/tessera/onnx_case.h"

#include <string.h>

#include "core/base/file.h"
#include "core/base/status.h"
#include "core/import/onnx.h"
#include "core/import/onnx_value.h"

static const onnx_value any_tensor = {"", "", -1, NULL, false, false};

static bool is_tensor(const onnx_value *v) { return !v->is_sequence && !v->is_optional; }

static tsr_status open_files(const char *folder, const char *what, const onnx_value *values, size_t n, onnx_data *out) {
  char path[4096];
  for (; out->n_files < ONNX_CASE_MOST; out->n_files++) {
    const int k = out->n_files;
    const char *reason;
    snprintf(path, sizeof path, "%s/%s_%d.pb", folder, what, k);
    FILE *f = file_open(path, &reason);
    if (!f) break;
    fclose(f);
    TSR_TRY(onnx_open_data(path, (size_t)k < n ? &values[k] : &any_tensor, &out->file[k]));
  }
  return NULL;
}

/* Which file has value i; NULL: none. */
static onnx_model *file_of(const onnx_data *d, const onnx_value *values, size_t n, size_t i) {
  for (int k = 0; k < d->n_files && is_tensor(&values[i]); k++) {
    const bool is_one = (size_t)k >= n || is_tensor(&values[k]);
    if (is_one && *d->file[k]->tensors.v[0].name && !strcmp(d->file[k]->tensors.v[0].name, values[i].name))
      return d->file[k];
  }
  return i < (size_t)d->n_files ? d->file[i] : NULL;
}

static tsr_status add(onnx_data *d, onnx_model *m, const onnx_tensor *t, const char *name) {
  if (!name) return st_oom();
  if (d->n == ONNX_CASE_MOST)
    return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "more than %d tensors", d->n);
  onnx_datum *x = &d->v[d->n++];
  *x = (onnx_datum){.name = name, .t = t};
  if (!t) return NULL;
  x->dtype = onnx_dtype(t->type);
  if (!x->dtype) return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "data of type %s", t->type);
  tsr_status st = onnx_tensor_elements(m, t, &x->e);
  if (!st || tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  tsr_status other = st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "%s", tsr_status_cause(st));
  tsr_status_free(st);
  return other;
}

static tsr_status add_value(onnx_data *d, onnx_model *m, const onnx_value *v) {
  const size_t n = m->tensors.n;
  if (!v->is_sequence && n) return add(d, m, &m->tensors.v[0], v->name);
  if (!n) return add(d, m, NULL, onnx_element(&d->a, v, -1).name);
  for (size_t k = 0; k < n; k++) TSR_TRY(add(d, m, &m->tensors.v[k], onnx_element(&d->a, v, (int64_t)k).name));
  return NULL;
}

tsr_status onnx_data_read(const char *folder, const char *what, const onnx_value *values, size_t n, bool all,
                          onnx_data *out) {
  memset(out, 0, sizeof *out);
  arena_init(&out->a, NULL);
  TSR_TRY(open_files(folder, what, values, n, out));
  for (size_t i = 0; i < n; i++) {
    onnx_model *m = file_of(out, values, n, i);
    if (m) TSR_TRY(add_value(out, m, &values[i]));
    else if (all) return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "no data for an %s", what);
  }
  return NULL;
}

void onnx_data_clear(onnx_data *d) {
  for (int i = 0; i < d->n_files; i++) onnx_close(&d->file[i]);
  arena_clear(&d->a);
  d->n = d->n_files = 0;
}

tsr_shape onnx_datum_shape(const onnx_datum *d) {
  tsr_shape s = {.rank = d->t ? d->t->rank : 0};
  if (d->t) memcpy(s.dims, d->t->dims, sizeof *s.dims * (size_t)s.rank);
  return s;
}
