/* tools/tessera/onnx_file.c - see onnx_file.h. */
#include "tools/tessera/onnx_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx.h"
#include "core/import/onnx_data.h"

enum { MOST_BYTES = 1 << 20 }; /* of an input that a program may depend on */

static void *elements_of(const onnx_value *v, tsr_dtype t, onnx_file_input input, void *user) {
  npy_array x;
  if (!input || !t || !input(user, v->name, &x)) return NULL;
  const size_t n = x.bytes / tsr_dtype_size(x.dtype), bytes = tsr_dtype_bytes(t, n);
  void *data = bytes <= MOST_BYTES && !dtype_is_complex(x.dtype) ? malloc(bytes + 1) : NULL;
  if (data) npy_convert(&x, t, data);
  npy_free(&x);
  return data;
}

/* Has any input an open dimension that is called so? */
static bool is_dim(const onnx_model *m, const char *request, size_t n) {
  for (size_t i = 0; i < m->inputs.n; i++) {
    const onnx_value *v = &m->inputs.v[i];
    for (int k = 0; k < v->rank; k++)
      if (v->dims[k].name && *v->dims[k].name && shape_same_name(request, n, v->dims[k].name)) return true;
  }
  return false;
}

static int check_names(const shape_list *l, const onnx_model *m) {
  for (int i = 0; i < l->n; i++) {
    const size_t n = strcspn(l->text[i], "=");
    bool there = false;
    for (size_t k = 0; k < m->inputs.n; k++) there |= shape_same_name(l->text[i], n, m->inputs.v[k].name);
    if (there) continue;
    if (!is_dim(m, l->text[i], n))
      return cli_usage(l->command, "the program has no input \"%.*s\"", (int)n, l->text[i]);
    if (strchr(l->text[i] + n, 'x') || !l->text[i][n + 1])
      return cli_usage(l->command, "--shape %s: dimension %.*s takes one number", l->text[i], (int)n, l->text[i]);
  }
  return EXIT_OK;
}

/* The shape that the options and files say, a dimension at least; rank -1: nothing. */
static int find_shape(const shape_list *l, const onnx_value *v, tsr_shape *out) {
  const bool whole = shape_list_find(l, v->name, out);
  if (!whole) out->rank = -1;
  for (int k = 0; k < v->rank; k++) {
    tsr_shape d;
    const char *name = v->dims[k].name;
    if (!name || !*name || !shape_list_find_named(l, name, &d) || d.rank != 1) continue;
    if (whole && k < out->rank && out->dims[k] != d.dims[0])
      return cli_usage(l->command, "--shape %s=%lld: dimension %d of input %s is %lld", name, (long long)d.dims[0], k,
                       v->name, (long long)out->dims[k]);
    if (out->rank < 0)
      for (out->rank = 0; out->rank < v->rank;) out->dims[out->rank++] = TSR_ANY_DIM;
    if (!whole) out->dims[k] = d.dims[0];
  }
  return EXIT_OK;
}

int onnx_file_graph(const shape_list *l, tsr_context *ctx, const char *file, onnx_file_input input, void *user,
                    tsr_graph **out) {
  onnx_model *m = NULL;
  *out = NULL;
  tsr_status st = onnx_open(file, &m);
  if (st) return cli_fail(st);
  const size_t n = m->inputs.n;
  tsr_import_input *in = calloc(n + 1, sizeof *in);
  int rc = in ? check_names(l, m) : cli_usage(l->command, "out of memory");
  for (size_t i = 0; i < n && !rc; i++) {
    const onnx_value *v = &m->inputs.v[i];
    in[i] = (tsr_import_input){.name = v->name, .dtype = onnx_dtype(v->type)};
    if ((rc = find_shape(l, v, &in[i].shape))) break;
    in[i].data = elements_of(v, in[i].dtype, input, user);
  }
  const tsr_import_desc desc = {.path = file, .inputs = in, .n_inputs = (int)n, .bounded = l->bounded};
  if (!rc && (st = tsr_graph_import(ctx, &desc, out))) rc = cli_fail(st);
  for (size_t i = 0; in && i < n; i++) free((void *)(uintptr_t)in[i].data);
  free(in);
  onnx_close(&m);
  return rc;
}

int onnx_file_output(const char *file, const char *name, size_t n) {
  onnx_model *m = NULL;
  int found = -1;
  tsr_status_free(onnx_open(file, &m));
  for (size_t i = 0; m && i < m->outputs.n && found < 0; i++)
    if (shape_same_name(name, n, m->outputs.v[i].name)) found = (int)i;
  onnx_close(&m);
  return found;
}
