/* tools/tessera/bench_html.c - see bench_html.h; the page itself is core/profile/page.c. */
#include "tools/tessera/bench_html.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/profile/page.h"
#include "tessera/tune.h"
#include "tools/tessera/op_graph.h"

struct bench_html {
  arena mem;
  page_device *devices;
  page_row *rows;
  page_curve *curves;
  size_t n_devices, n_rows, n_curves, cap_devices, cap_rows, cap_curves;
};

bench_html *bench_html_new(void) {
  bench_html *h = al_new(NULL, bench_html);
  if (h) arena_init(&h->mem, NULL);
  return h;
}

void bench_html_free(bench_html **h) {
  if (!*h) return;
  al_free_array(NULL, (*h)->devices, (*h)->cap_devices);
  al_free_array(NULL, (*h)->rows, (*h)->cap_rows);
  al_free_array(NULL, (*h)->curves, (*h)->cap_curves);
  arena_clear(&(*h)->mem);
  al_delete(NULL, *h);
  *h = NULL;
}

static const char *keep(bench_html *h, const char *s) {
  const char *k = arena_str(&h->mem, s ? s : "");
  return k ? k : "";
}

void bench_html_device(bench_html *h, const tsr_device_info *d) {
  if (!al_grow(NULL, &h->devices, &h->cap_devices, h->n_devices + 1, sizeof *h->devices)) return;
  h->devices[h->n_devices++] = (page_device){keep(h, d->id), keep(h, d->name), keep(h, d->driver), 0, 0, 0};
}

/* The device's measured peaks: f32 is the multiply-add roof, narrower types the matrix one. */
static void note_peaks(bench_html *h, const bench_case *c, const bench_peaks *p) {
  page_device *d = &h->devices[h->n_devices - 1];
  if (p->gbytes_per_s > 0) d->gbytes_per_s = p->gbytes_per_s;
  double *peak = tsr_dtype_size(c->dtype) >= 4 ? &d->fma_gflops : &d->matrix_gflops;
  if (p->gflops > *peak) *peak = p->gflops;
}

/* The policy, and the precision mode where one was asked for. */
static const char *numerics(bench_html *h, const bench_options *o) {
  char both[64];
  if (o->precision == TSR_PRECISION_STANDARD) return tsr_policy_name(o->policy);
  snprintf(both, sizeof both, "%s, %s", tsr_policy_name(o->policy), tsr_precision_name(o->precision));
  return keep(h, both);
}

void bench_html_row(bench_html *h, const tsr_device_info *d, const bench_case *c, const bench_options *o,
                    const bench_result *x, const bench_peaks *p) {
  char shape[96];
  if (!h->n_devices || !al_grow(NULL, &h->rows, &h->cap_rows, h->n_rows + 1, sizeof *h->rows)) return;
  note_peaks(h, c, p);
  double gflops = c->flops / x->median_us * 1e-3, gbytes = c->bytes / x->median_us * 1e-3;
  double by_flops = p->gflops > 0 ? gflops / p->gflops : 0,
         by_bytes = p->gbytes_per_s > 0 ? gbytes / p->gbytes_per_s : 0;
  page_row r = {.op = keep(h, c->op),
                .shape = keep(h, bench_shape(c, shape, sizeof shape)),
                .dtype = tsr_dtype_name(c->dtype),
                .device = keep(h, d->id),
                .policy = numerics(h, o),
                .tile = keep(h, x->tile),
                .median_us = x->median_us,
                .min_us = x->min_us,
                .gflops = gflops,
                .gbytes_per_s = gbytes,
                .peak_fraction = by_flops > by_bytes ? by_flops : by_bytes,
                .flops = c->flops,
                .bytes = c->bytes,
                .error = x->error,
                .tolerance = x->tolerance,
                .checked = true,
                .ok = x->ok};
  for (int i = 0; i < x->n_peers && r.n_peers < PAGE_MAX_PEERS; i++)
    r.peer[r.n_peers++] =
        (page_peer){keep(h, x->peers[i].name), x->peers[i].median_us > 0 ? x->peers[i].median_us / x->median_us : 0};
  h->rows[h->n_rows++] = r;
}

void bench_html_none(bench_html *h, const char *device, const bench_case *c, const bench_options *o, const char *kind,
                     const char *why) {
  char shape[96];
  if (!al_grow(NULL, &h->rows, &h->cap_rows, h->n_rows + 1, sizeof *h->rows)) return;
  h->rows[h->n_rows++] = (page_row){.op = keep(h, c->op),
                                    .shape = keep(h, bench_shape(c, shape, sizeof shape)),
                                    .dtype = tsr_dtype_name(c->dtype),
                                    .device = keep(h, device),
                                    .policy = numerics(h, o),
                                    .tile = "",
                                    .none = kind,
                                    .why = keep(h, why)};
}

void bench_html_tune(bench_html *h, tsr_context *ctx, tsr_device *dev, const bench_case *c, const bench_options *o) {
  char shape[96], label[200];
  tsr_graph *g = NULL;
  tsr_tune_report *r = NULL;
  if (strchr(c->op, '_') && bench_is_matmul(c)) return;
  bench_shape(c, shape, sizeof shape);
  if (op_graph("bench", ctx, c->op, shape, tsr_dtype_name(c->dtype), &g)) return;
  tsr_status st =
      tsr_graph_tune(dev, g, &(tsr_compile_options){.policy = o->policy, .precision = o->precision}, NULL, &r);
  if (st) fprintf(stderr, "tessera bench: tuning %s %s: %s\n", c->op, shape, tsr_status_message(st));
  tsr_status_free(st);
  for (int i = 0; r && i < tsr_tune_report_count(r); i++) {
    tsr_tune_result x = tsr_tune_report_get(r, i);
    if (!x.n_curve || !al_grow(NULL, &h->curves, &h->cap_curves, h->n_curves + 1, sizeof *h->curves)) continue;
    snprintf(label, sizeof label, "%s %s %s on %s, tile %s", x.problem.op, x.problem.shape, tsr_dtype_name(c->dtype),
             tsr_device_get_info(dev)->id, x.tile);
    double *curve = arena_dup(&h->mem, x.curve_us, x.n_curve * sizeof *curve);
    if (curve)
      h->curves[h->n_curves++] = (page_curve){keep(h, label), curve, x.n_curve, x.default_us, x.roofline_us, x.best_us};
  }
  tsr_tune_report_destroy(&r);
  tsr_graph_destroy(&g);
}

int bench_html_write(bench_html *h, const bench_env *e, const char *path) {
  strb b, machine;
  if (!h->n_rows) return EXIT_OK;
  strb_init(&b, NULL);
  strb_init(&machine, NULL);
  bench_env_text(e, &machine);
  page_desc d = {"Tessera benchmark", e->when,   strb_text(&machine), h->devices, h->n_devices, h->rows,
                 h->n_rows,           h->curves, h->n_curves};
  tsr_status st = page_write(&d, &b);
  int rc = st ? cli_fail(st) : cli_write_text("bench", path, strb_text(&b));
  strb_clear(&machine);
  strb_clear(&b);
  return rc;
}
