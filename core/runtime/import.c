/* core/runtime/import.c - models as graphs; see tsr_graph_import in tessera/graph.h. */
#include <string.h>

#include "core/base/file.h"
#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"
#include "core/ir/graph/ops.h"
#include "core/runtime/internal.h"

static const tsr_import_input *input_of(const tsr_import_desc *d, const char *name) {
  for (int i = 0; i < d->n_inputs; i++)
    if (d->inputs[i].name && !strcmp(d->inputs[i].name, name)) return &d->inputs[i];
  return NULL;
}

static bool shape_of(void *user, const char *name, tsr_shape *out) {
  const tsr_import_input *x = input_of(user, name);
  if (!x || x->shape.rank < 0) return false;
  *out = x->shape;
  return true;
}

static const void *elements_of(void *user, const char *name, tsr_dtype t, size_t bytes) {
  const tsr_import_input *x = input_of(user, name);
  if (!x || x->dtype != t) return NULL;
  return x->data || bytes ? x->data : "";
}

static tsr_status no_input(const tsr_context *c, const char *file, const char *name) {
  return st_make(&c->al, TSR_NOT_FOUND, ST_WHERE("runtime", "graph_import", NULL), "%s has no input \"%s\"", file,
                 name);
}

/* A sequence's tensors are named NAME[0], NAME[1] and on. */
static bool is_input(const onnx_model *m, const char *name) {
  for (size_t i = 0; i < m->inputs.n; i++) {
    const char *own = m->inputs.v[i].name;
    const size_t n = own ? strlen(own) : 0;
    if (own && !strncmp(own, name, n) && (!name[n] || name[n] == '[')) return true;
  }
  return false;
}

static tsr_status from_onnx(tsr_context *c, const tsr_import_desc *d, onnx_model *m, tsr_graph **out) {
  const onnx_options o = {
      .shape = shape_of, .elements = elements_of, .user = (void *)(uintptr_t)d, .bounded = d->bounded};
  tsr_graph *g;
  for (int i = 0; i < d->n_inputs; i++)
    if (!is_input(m, d->inputs[i].name)) return no_input(c, m->file.name, d->inputs[i].name);
  TSR_TRY(rt_graph_new(c, &g));
  tsr_status st = onnx_convert(m, &o, &c->al, &g->m, NULL);
  ir_op *func = st ? NULL : graph_find_func(g->m, NULL);
  if (!st) st = rt_graph_close(g, func);
  if (st) tsr_graph_destroy(&g);
  *out = g;
  return st;
}

static int input_named(const tsr_graph *g, const char *name) {
  int i = 0;
  while (i < tsr_graph_n_inputs(g) && strcmp(tsr_graph_input_info(g, i).name, name)) i++;
  return i;
}

static tsr_status given_shapes(tsr_context *c, const tsr_import_desc *d, const tsr_graph *g, const char *file,
                               tsr_shape *shapes) {
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) shapes[i] = tsr_graph_input_info(g, i).shape;
  for (int i = 0; i < d->n_inputs; i++) {
    const tsr_import_input *x = &d->inputs[i];
    const int at = input_named(g, x->name);
    if (at == tsr_graph_n_inputs(g)) return no_input(c, file, x->name);
    if (x->data)
      return RT_BAD(c, "graph_import", "give its shape alone", "input %s: no shape of IR text depends on elements",
                    x->name);
    for (int k = 0; k < shapes[at].rank && k < x->shape.rank && x->shape.rank == shapes[at].rank; k++)
      if (x->shape.dims[k] != TSR_ANY_DIM) shapes[at].dims[k] = x->shape.dims[k];
    if (x->shape.rank >= 0 && x->shape.rank != shapes[at].rank) shapes[at] = x->shape; /* refused by its place */
  }
  for (int i = 0; i < tsr_graph_n_inputs(g); i++)
    for (int k = 0; k < shapes[i].rank; k++)
      if (shapes[i].dims[k] == TSR_ANY_DIM)
        return RT_BAD(c, "graph_import", "give it a shape too", "input %s has an unknown dimension",
                      tsr_graph_input_info(g, i).name);
  return NULL;
}

/* IR text may leave dimensions open; where shapes are given, none stays so. */
static tsr_status from_text(tsr_context *c, const tsr_import_desc *d, const void *p, size_t n, const char *file,
                            tsr_graph **out) {
  tsr_graph *g = NULL;
  TSR_TRY(tsr_graph_parse(c, p, n, file, &g));
  const int m = tsr_graph_n_inputs(g);
  if (!d->n_inputs) return *out = g, NULL;
  tsr_shape *shapes = al_zalloc(&c->al, ((size_t)m + 1) * sizeof *shapes);
  tsr_status st = shapes ? given_shapes(c, d, g, file, shapes) : st_oom();
  if (!st) st = tsr_graph_specialize(g, shapes, m, out);
  al_free_array(&c->al, shapes, (size_t)m + 1);
  tsr_graph_destroy(&g);
  return st;
}

static tsr_status check_inputs(const tsr_context *c, const tsr_import_desc *d) {
  TSR_TRY(rt_check_array("graph_import", "inputs", d->inputs, d->n_inputs));
  for (int i = 0; i < d->n_inputs; i++) {
    const tsr_import_input *x = &d->inputs[i];
    if (!x->name) return RT_BAD(c, "graph_import", NULL, "input %d has no name", i);
    if (x->shape.rank > TSR_MAX_RANK)
      return RT_BAD(c, "graph_import", NULL, "input %s: rank %d", x->name, x->shape.rank);
    for (int k = 0; k < x->shape.rank; k++)
      if (x->shape.dims[k] < 0 && x->shape.dims[k] != TSR_ANY_DIM)
        return RT_BAD(c, "graph_import", "dimensions are numbers", "input %s: dimension %d is %lld", x->name, k,
                      (long long)x->shape.dims[k]);
  }
  return NULL;
}

static tsr_status import(tsr_context *c, const tsr_import_desc *d, const void *p, size_t n, tsr_graph **out) {
  onnx_model *m = NULL;
  const char *name = d->path ? d->path : "model";
  if (!onnx_is(p, n)) return from_text(c, d, p, n, name, out);
  tsr_status st = d->data ? onnx_parse(p, n, name, &m) : onnx_open(d->path, &m);
  if (!st) st = from_onnx(c, d, m, out);
  onnx_close(&m);
  return st;
}

tsr_status tsr_graph_import(tsr_context *c, const tsr_import_desc *d, tsr_graph **out) {
  const char *why;
  size_t n;
  RT_OUT("graph_import", out);
  RT_NEED("graph_import", "ctx", c);
  RT_NEED("graph_import", "desc", d);
  if (!d->path && !d->data) return rt_missing("graph_import", "desc->path");
  TSR_TRY(check_inputs(c, d));
  if (d->data) return import(c, d, d->data, d->bytes, out);
  const void *p = file_map(d->path, &n, &why);
  if (!p)
    return RT_BAD(c, "graph_import", NULL, "%s: %s%s", d->path,
                  file_is_special(d->path) ? "" : "can't be opened: ", why);
  tsr_status st = import(c, d, p, n, out);
  file_unmap(p, n);
  return st;
}
