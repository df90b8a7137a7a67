/* tools/tessera/onnx_file.c - see onnx_file.h. */
#include "tools/tessera/onnx_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx.h"
#include "core/import/onnx_data.h"
#include "core/import/onnx_value.h"

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

/* The tensors that inputs are: of a sequence those whose shapes are given, NAME[0], NAME[1] and on; or NAME[], where
 * that one is. */
typedef struct tensor_list {
  onnx_value *v;
  size_t n, cap;
  arena a; /* of names */
} tensor_list;

static bool add_tensor(tensor_list *t, const onnx_value *v) {
  if (!v->name || !al_grow(NULL, &t->v, &t->cap, t->n + 1, sizeof *v)) return false;
  t->v[t->n++] = *v;
  return true;
}

static bool list_tensors(const shape_list *l, const onnx_model *m, tensor_list *t) {
  bool ok = true;
  for (size_t i = 0; i < m->inputs.n && ok; i++) {
    const onnx_value *v = &m->inputs.v[i];
    const onnx_value none = onnx_element(&t->a, v, -1);
    tsr_shape s;
    if ((v->is_sequence || v->is_optional) && none.name && shape_list_find_named(l, none.name, &s))
      ok = add_tensor(t, &none);
    else if (!v->is_sequence) ok = add_tensor(t, v);
    for (int64_t k = 0; v->is_sequence && ok; k++) {
      const onnx_value e = onnx_element(&t->a, v, k);
      if (e.name && !shape_list_find(l, e.name, &s)) break;
      ok = add_tensor(t, &e);
    }
  }
  return ok;
}

static int check_names(const shape_list *l, const onnx_model *m, const tensor_list *t) {
  for (int i = 0; i < l->n; i++) {
    const size_t n = strcspn(l->text[i], "=");
    bool there = false;
    for (size_t k = 0; k < t->n; k++) there |= shape_same_name(l->text[i], n, t->v[k].name);
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
  tensor_list t = {.n = 0};
  arena_init(&t.a, NULL);
  tsr_import_input *in = list_tensors(l, m, &t) ? calloc(t.n + 1, sizeof *in) : NULL;
  int rc = in ? check_names(l, m, &t) : cli_usage(l->command, "out of memory");
  for (size_t i = 0; i < t.n && !rc; i++) {
    in[i] = (tsr_import_input){.name = t.v[i].name, .dtype = onnx_dtype(t.v[i].type)};
    if ((rc = find_shape(l, &t.v[i], &in[i].shape))) break;
    in[i].data = elements_of(&t.v[i], in[i].dtype, input, user);
  }
  const tsr_import_desc desc = {.path = file, .inputs = in, .n_inputs = (int)t.n, .bounded = l->bounded};
  if (!rc && (st = tsr_graph_import(ctx, &desc, out))) rc = cli_fail(st);
  for (size_t i = 0; in && i < t.n; i++) free((void *)(uintptr_t)in[i].data);
  free(in);
  al_free_array(NULL, t.v, t.cap);
  arena_clear(&t.a);
  onnx_close(&m);
  return rc;
}

int onnx_file_output(const char *file, int n_out, const char *name, size_t n) {
  onnx_model *m = NULL;
  arena a;
  size_t sequences = 0;
  int at = 0, found = -1;
  arena_init(&a, NULL);
  tsr_status_free(onnx_open(file, &m));
  for (size_t i = 0; m && i < m->outputs.n; i++) sequences += m->outputs.v[i].is_sequence;
  for (size_t i = 0; m && i < m->outputs.n && found < 0; i++) {
    const onnx_value *v = &m->outputs.v[i];
    if (v->is_sequence && sequences > 1) break; /* how long each one is isn't known */
    const int length = v->is_sequence ? n_out - (int)m->outputs.n + 1 : 1;
    for (int k = 0; k < length && found < 0; k++, at++) {
      const onnx_value e = v->is_sequence ? onnx_element(&a, v, k) : *v;
      if (e.name && shape_same_name(name, n, e.name)) found = at;
    }
  }
  arena_clear(&a);
  onnx_close(&m);
  return found;
}
