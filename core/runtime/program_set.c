/* core/runtime/program_set.c - one program per list of input shapes of a graph with unknown dimensions, compiled when
 * first asked for, the least recently asked for given up first. Invariant: entries [0, n) are sorted by use, the latest
 * first. */
#include <string.h>

#include "core/runtime/internal.h"

enum { DEFAULT_MOST = 16, MOST = 1 << 16 };

typedef struct member {
  tsr_shape *shapes;
  tsr_program *program;
} member;

struct tsr_program_set {
  tsr_device *dev;
  const tsr_graph *g;
  tsr_compile_options options;
  member *v;
  int n, most, n_inputs;
};

tsr_status tsr_program_set_create(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, int most,
                                  tsr_program_set **out) {
  RT_OUT("program_set_create", out);
  RT_NEED("program_set_create", "dev", dev);
  RT_NEED("program_set_create", "g", g);
  tsr_context *ctx = dev->ctx;
  TSR_TRY(rt_check_options(ctx, "program_set_create", o));
  if (most < 0 || most > MOST)
    return RT_BAD(ctx, "program_set_create", "0 means 16, 65536 is the most", "room for %d programs", most);
  tsr_program_set *s = al_new(&ctx->al, tsr_program_set);
  if (!s) return st_oom();
  *s = (tsr_program_set){.dev = dev,
                         .g = g,
                         .options = o ? *o : (tsr_compile_options){0},
                         .most = most ? most : DEFAULT_MOST,
                         .n_inputs = tsr_graph_n_inputs(g)};
  s->v = al_zalloc(&ctx->al, (size_t)s->most * sizeof *s->v);
  if (!s->v) tsr_program_set_destroy(&s);
  *out = s;
  return s ? NULL : st_oom();
}

static size_t shapes_bytes(const tsr_program_set *s) { return ((size_t)s->n_inputs + 1) * sizeof(tsr_shape); }

static bool same(const member *m, const tsr_shape *shapes, int n) {
  for (int i = 0; i < n; i++)
    if (m->shapes[i].rank != shapes[i].rank ||
        memcmp(m->shapes[i].dims, shapes[i].dims, (size_t)shapes[i].rank * sizeof shapes[i].dims[0]))
      return false;
  return true;
}

static void drop(tsr_program_set *s, member *m) {
  tsr_program_destroy(&m->program);
  al_free(&s->dev->ctx->al, m->shapes, shapes_bytes(s), 16);
  m->shapes = NULL;
}

static tsr_status make(tsr_program_set *s, const tsr_shape *shapes, member *m) {
  tsr_graph *known = NULL;
  TSR_TRY(tsr_graph_specialize(s->g, shapes, s->n_inputs, &known));
  *m = (member){.shapes = al_alloc(&s->dev->ctx->al, shapes_bytes(s), 16)};
  tsr_status st = m->shapes ? tsr_program_compile(s->dev, known, &s->options, &m->program) : st_oom();
  if (m->shapes) memcpy(m->shapes, shapes, (size_t)s->n_inputs * sizeof *shapes);
  tsr_graph_destroy(&known);
  if (st && m->shapes) drop(s, m);
  return st;
}

tsr_status tsr_program_set_get(tsr_program_set *s, const tsr_shape *shapes, int n, tsr_program **out) {
  RT_OUT("program_set_get", out);
  RT_NEED("program_set_get", "s", s);
  member m;
  int at = 0;
  if (n != s->n_inputs) return RT_BAD(s->dev->ctx, "program_set_get", NULL, "%d shapes for %d inputs", n, s->n_inputs);
  TSR_TRY(rt_check_array("program_set_get", "shapes", shapes, n));
  for (int i = 0; i < n; i++)
    if (shapes[i].rank < 0 || shapes[i].rank > TSR_MAX_RANK)
      return RT_BAD(s->dev->ctx, "program_set_get", NULL, "shape %d has rank %d", i, shapes[i].rank);
  while (at < s->n && !same(&s->v[at], shapes, n)) at++;
  if (at < s->n) m = s->v[at];
  else {
    TSR_TRY(make(s, shapes, &m));
    if (s->n == s->most) drop(s, &s->v[--s->n]);
    at = s->n++;
  }
  memmove(&s->v[1], &s->v[0], (size_t)at * sizeof *s->v);
  s->v[0] = m;
  *out = m.program;
  return NULL;
}

int tsr_program_set_count(const tsr_program_set *s) { return s ? s->n : 0; }

void tsr_program_set_destroy(tsr_program_set **ps) {
  tsr_program_set *s = ps ? *ps : NULL;
  if (!s) return;
  for (int i = 0; i < s->n; i++) drop(s, &s->v[i]);
  if (s->v) al_free(&s->dev->ctx->al, s->v, (size_t)s->most * sizeof *s->v, 16);
  al_delete(&s->dev->ctx->al, s);
  *ps = NULL;
}
