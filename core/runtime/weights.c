/* core/runtime/weights.c - files of weights for applications; see tessera/weights.h. */
#include "tessera/weights.h"

#include <string.h>

#include "core/import/packed_weights.h"
#include "core/ir/attrs.h"
#include "core/ir/graph/ops.h"
#include "core/runtime/internal.h"

struct tsr_weights {
  tsr_context *ctx;
  weights *file;
};

tsr_status tsr_weights_open(tsr_context *c, const char *path, tsr_weights **out) {
  RT_OUT("weights_open", out);
  RT_NEED("weights_open", "ctx", c);
  RT_NEED("weights_open", "path", path);
  tsr_weights *w = al_new(&c->al, tsr_weights);
  if (!w) return st_oom();
  w->ctx = c;
  tsr_status st = weights_open(&c->al, path, &w->file);
  if (!st && w->file->n_tensors > INT32_MAX)
    st = RT_BAD(c, "weights_open", NULL, "%s has %zu tensors", path, w->file->n_tensors);
  if (st) tsr_weights_close(&w);
  *out = w;
  return st;
}

void tsr_weights_close(tsr_weights **wp) {
  tsr_weights *w = wp ? *wp : NULL;
  if (!w) return;
  weights_close(&w->file);
  al_delete(&w->ctx->al, w);
  *wp = NULL;
}

int tsr_weights_count(const tsr_weights *w) { return w ? (int)w->file->n_tensors : 0; }

tsr_tensor_info tsr_weights_tensor(const tsr_weights *w, int i) {
  if (i < 0 || i >= tsr_weights_count(w)) return (tsr_tensor_info){.name = ""};
  const weights_tensor *t = &w->file->tensors[i];
  uint64_t n = 0, bytes = 0;
  const tsr_dtype type = weights_read_type(t);
  const bool fits = weights_count(&t->shape, &n) && !__builtin_mul_overflow(n, (uint64_t)tsr_dtype_size(type), &bytes);
  return (tsr_tensor_info){.name = t->name, .dtype = type, .shape = t->shape, .bytes = fits ? (size_t)bytes : 0};
}

int tsr_weights_find(const tsr_weights *w, const char *name) {
  const weights_tensor *t = w && name ? weights_find(w->file, name) : NULL;
  return t ? (int)(t - w->file->tensors) : -1;
}

tsr_status tsr_weights_read(const tsr_weights *w, int i, void *dst, size_t bytes) {
  RT_NEED("weights_read", "w", w);
  if (i < 0 || i >= tsr_weights_count(w))
    return RT_BAD(w->ctx, "weights_read", NULL, "tensor %d of %d", i, tsr_weights_count(w));
  if (bytes) RT_NEED("weights_read", "dst", dst);
  return weights_read(w->file, &w->file->tensors[i], dst, bytes);
}

/* ---- as constants ------------------------------------------------------------------------------------------------ */

/* A value that stays in the file, of the type that is given. */
static tsr_status in_file(tsr_graph *g, const tsr_weights *w, const weights_tensor *t, tsr_dtype dtype,
                          const tsr_shape *s, tsr_value *out) {
  ir_attr *a = NULL;
  const ir_type *type = ir_type_tensor(g->m, dtype, s->rank, s->dims);
  if (!type) return st_oom();
  TSR_TRY(ir_attr_in_file(g->m, type, w->file->file, t->offset, &a));
  ir_builder b = ir_before(g->func->regions[0]->last);
  ir_value *v = graph_constant(&b, a);
  return v ? rt_graph_note(g, v, out) : st_oom();
}

/* The blocks of a row are its bytes. */
static tsr_status blocks(tsr_graph *g, const tsr_weights *w, const weights_tensor *t, tsr_value *out) {
  tsr_shape s = t->shape;
  const tsr_attr format = TSR_STRING("format", t->block->name);
  if (s.rank < 1) return RT_BAD(g->ctx, "graph_weight", NULL, "tensor \"%s\": blocks without a row", t->name);
  s.dims[s.rank - 1] = s.dims[s.rank - 1] / t->block->elements * t->block->bytes;
  TSR_TRY(in_file(g, w, t, TSR_U8, &s, out));
  return tsr_graph_op(g, "dequantize", out, 1, &format, 1, out);
}

static tsr_status copied(tsr_graph *g, const tsr_weights *w, const weights_tensor *t, tsr_value *out) {
  const size_t bytes = tsr_weights_tensor(w, (int)(t - w->file->tensors)).bytes;
  void *p = al_alloc(&g->ctx->al, bytes + 1, 16);
  if (!p) return st_oom();
  tsr_status st = weights_read(w->file, t, p, bytes);
  if (!st) st = tsr_graph_constant(g, t->dtype, t->shape, p, out);
  al_free(&g->ctx->al, p, bytes + 1, 16);
  return st;
}

/* GPTQ's and AWQ's matrices, as rows of blocks. */
static tsr_status packed(tsr_graph *g, const tsr_weights *w, const char *name, tsr_value *out) {
  packed_weights p;
  arena a;
  arena_init(&a, &g->ctx->al);
  tsr_status st = packed_weights_read(w->file, name, &a, &p);
  if (!st) {
    const tsr_shape s = {2, {p.rows, p.columns / p.format->elements * p.format->bytes}};
    st = tsr_graph_constant(g, TSR_U8, s, p.blocks, out);
    if (!st) st = tsr_graph_op(g, "dequantize", out, 1, &(tsr_attr)TSR_STRING("format", p.format->name), 1, out);
  }
  arena_clear(&a);
  return st;
}

tsr_status tsr_graph_weight(tsr_graph *g, const tsr_weights *w, const char *name, tsr_value *out) {
  RT_OUT("graph_weight", out);
  RT_NEED("graph_weight", "g", g);
  RT_NEED("graph_weight", "w", w);
  RT_NEED("graph_weight", "name", name);
  if (g->closed) return RT_BAD(g->ctx, "graph_weight", NULL, "the graph is complete and can't be extended");
  const weights_tensor *t = weights_find(w->file, name);
  if (!t && packed_weights_has(w->file, name)) return packed(g, w, name, out);
  if (!t)
    return st_make(&g->ctx->al, TSR_NOT_FOUND, RT_WHERE("graph_weight", NULL), "%s: no tensor \"%s\"", w->file->file,
                   name);
  if (!weights_is_readable(t))
    return st_make(&g->ctx->al, TSR_UNSUPPORTED, RT_WHERE("graph_weight", NULL),
                   "%s: tensor \"%s\": the type %s is not read", w->file->file, name, t->type);
  const bool as_it_is = weights_data(w->file, t) != NULL;
  tsr_status st = !as_it_is  ? copied(g, w, t, out)
                  : t->block ? blocks(g, w, t, out)
                             : in_file(g, w, t, t->dtype, &t->shape, out);
  if (st) *out = 0;
  return st;
}
