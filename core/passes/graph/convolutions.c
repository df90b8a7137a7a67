/* core/passes/graph/convolutions.c - see graph/convolutions.h. Before any other pass looks at composite ops: both ways
 * are built in modules of their own, lowered as far as the estimate needs, and the cheaper one is built in place. */
#include "core/passes/graph/convolutions.h"

#include <string.h>

#include "core/ir/graph/expand.h"
#include "core/ir/graph/winograd.h"
#include "core/passes/graph/complex.h"
#include "core/passes/graph/estimate.h"
#include "core/passes/graph/expand_ops.h"
#include "core/passes/graph/transforms.h"
#include "core/passes/graph/views.h"

static const char rule[] = "fft_convolution";
static const char winograd[] = "winograd";
/* Estimates are off by a third; Winograd's, which are of kernels as like as their transforms let them be, by less. */
static const double sure = 0.7, sure_of_winograd = 0.85;

typedef struct chooser {
  const tsr_caps *caps;
  tsr_precision mode;
  const pass_options *o;
  pass_options silent; /* the same without a trace */
  bool changed;
} chooser;

static tsr_status by_spectra(ir_op *op) {
  ir_builder b = ir_before(op);
  b.loc = op->loc;
  ir_value *y = graph_ext(op)->by_spectra(&b, op, NULL);
  if (!y || b.failed) return st_oom();
  graph_replace(op, y);
  return NULL;
}

/* What op takes, as spectra or as it is. */
static tsr_status cost(const chooser *c, const ir_op *op, bool spectra, double *ns) {
  ir_module *m;
  ir_op *func, *copy;
  TSR_TRY(graph_alone(op, &m, &func, &copy));
  tsr_status st = spectra ? by_spectra(copy) : NULL;
  if (!st) st = graph_expand_module(m, &c->silent);
  if (!st) st = graph_split_complex_module(m);
  if (!st) st = graph_lower_transforms(m, c->caps, &c->silent);
  if (!st) *ns = graph_estimate_ns(func, c->caps, &c->silent);
  ir_module_destroy(&m);
  return st;
}

/* Why op stays, whatever it would cost; NULL: that decides. */
static const char *why_not(const chooser *c, const ir_op *op, const char *name) {
  if (!c->caps) return "the device is unknown";
  if (graph_has_unknown(op)) return "a dimension is unknown";
  if (!ir_type_count(op->operands[0]->type) || !ir_type_count(op->operands[1]->type) ||
      !ir_type_count(op->results[0]->type))
    return "there is nothing to multiply";
  if (!pass_enabled(c->o, "rewrites", name)) return "switched off";
  if (c->o->exact) return "it would change rounding";
  return c->mode == TSR_PRECISION_SAFE ? "precision safe sums what a window has alone" : NULL;
}

/* Sums of so few products cost less than three transforms of each place. */
static bool is_small(const ir_op *op) {
  enum { LEAST_WINDOW = 25 };
  const ir_type *w = op->operands[1]->type;
  const bool last = !strcmp(ir_get_str(op, "layout", "nchw"), "nhwc");
  double window = 1;
  for (int i = 0; i < w->rank - 2; i++) window *= (double)w->dims[i + (last ? 0 : 2)];
  return window < LEAST_WINDOW;
}

/* By Winograd's transforms, which the device must have: the op keeps its place, its expansion says how. */
static tsr_status asked_winograd(chooser *c, ir_op *op) {
  if (!c->o->windows)
    return ir_error_at(op, op->loc, TSR_UNSUPPORTED, "algorithm = \"auto\"",
                       "Winograd's transforms run on the CPU alone, and not under kahan_sum");
  if (!graph_has_unknown(op)) trace_add(c->o->trace, "convolutions", winograd, op, true, "asked for");
  return NULL;
}

/* Sums of few channels gain little, and are far more exact directly. */
enum { LEAST_CHANNELS = 16 };
static tsr_status try_winograd(chooser *c, ir_op *op) {
  const char *why = why_not(c, op, winograd);
  int m;
  if (!why && op->operands[1]->type->dims[1] < LEAST_CHANNELS)
    why = "sums of fewer than 16 channels are far more exact directly";
  if (!why && !c->o->windows) why = "the device has no such kernels";
  if (why) {
    trace_add(c->o->trace, "convolutions", winograd, op, false, "%s", why);
    return NULL;
  }
  const double share = graph_winograd_share(op, &m);
  const bool fires = share < sure_of_winograd;
  trace_add(c->o->trace, "convolutions", winograd, op, fires,
            "estimated %.2f of the direct convolution's time, by tiles of %dx%d", share, m, m);
  if (!fires) return NULL;
  c->changed = true;
  return ir_set_attr(op, "algorithm", ir_attr_str(op->module, winograd)) ? NULL : st_oom();
}

static tsr_status choose(chooser *c, ir_op *op) {
  const char *asked = ir_get_str(op, "algorithm", "auto"), *why = NULL;
  double direct, spectra;
  if (!strcmp(asked, "direct")) return NULL;
  if (!strcmp(asked, "fft")) {
    if (graph_has_unknown(op)) return NULL;
    trace_add(c->o->trace, "convolutions", rule, op, true, "asked for");
    c->changed = true;
    return by_spectra(op);
  }
  if (!strcmp(asked, winograd)) return asked_winograd(c, op);
  if (!graph_winograd_refusal(op)) return try_winograd(c, op);
  if (is_small(op)) return NULL;
  graph_ext(op)->by_spectra(NULL, op, &why);
  if (why || (why = why_not(c, op, rule))) {
    trace_add(c->o->trace, "convolutions", rule, op, false, "%s", why);
    return NULL;
  }
  TSR_TRY(cost(c, op, false, &direct));
  TSR_TRY(cost(c, op, true, &spectra));
  const bool fires = spectra < sure * direct;
  trace_add(c->o->trace, "convolutions", rule, op, fires, "estimated %.0f us by spectra, %.0f us directly",
            spectra / 1e3, direct / 1e3);
  c->changed |= fires;
  return fires ? by_spectra(op) : NULL;
}

tsr_status graph_choose_convolutions(ir_module *m, const tsr_caps *caps, tsr_precision mode, const pass_options *opts) {
  static const pass_options none = {0};
  chooser c = {.caps = caps, .mode = mode, .o = opts ? opts : &none};
  c.silent = *c.o;
  c.silent.trace = NULL;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC)) continue;
    for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
      next = op->next;
      ir_settle(op);
      tsr_status st = graph_ext(op) && graph_ext(op)->by_spectra ? choose(&c, op) : NULL;
      if (st) return ir_cause(m, NULL, st);
    }
  }
  return c.changed ? ir_verify(m) : NULL;
}
