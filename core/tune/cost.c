/* core/tune/cost.c - see cost.h. The families say what each part takes alone (cost() of core/tune/family.h), from the
 * pieces here; cost_compute puts the parts together. */
#include "core/tune/cost.h"

#include "core/device/roofline.h"
#include "core/tune/family.h"

#include <time.h>

static double tier_gbps(const tune_device *d, const char *name, double dflt) {
  const tune_tier *t = tune_device_tier(d, name);
  return t && t->gbps > 0 ? t->gbps : dflt;
}

void cost_compute(const tune_device *d, const tune_problem *p, const tune_config *c, cost_estimate *e) {
  enum { N_SIDE_BY_SIDE = COST_BARRIER };
  cost_task x = {d, p, c, cost_rates_of(d, p, c)};
  *e = (cost_estimate){.overlap = c->pipeline_stages > 1 ? 0.9 : 0.6, .launches = 1};
  e->flops = tune_problem_flops(p);
  e->least_bytes = tune_problem_bytes(p);
  e->occupancy = occ_of_config(d, p, c);
  e->bank_ways = occ_bank_ways(d, p, c);
  e->latency_ns = x.r.latency_ns, e->barrier_ns = x.r.barrier_ns;
  tune_family_of(p->family)->cost(&x, e);
  e->term_ns[COST_LAUNCH] = x.r.launch_ns * e->launches;
  e->bound = (cost_term)roofline_bound(e->term_ns, N_SIDE_BY_SIDE);
  /* Idle cores cost arithmetic and near memory; far memory is shared, so a partly filled device may still saturate it.
   */
  double even = e->bound == COST_MEMORY ? sqrt(e->wave_efficiency) : e->wave_efficiency;
  e->total_ns = roofline_ns(
      &(roofline_parts){.ns = e->term_ns,
                        .n = N_SIDE_BY_SIDE,
                        .overlap = e->overlap,
                        .busy = even * e->hiding,
                        .serial = {e->term_ns[COST_BARRIER], e->term_ns[COST_FILL], e->term_ns[COST_LAUNCH]}});
}

static const char *origin_of(double rate, tune_origin from) { return rate > 0 ? tune_origin_name(from) : "assumed"; }

static const char *tier_origin(const tune_device *d, const char *name) {
  const tune_tier *t = tune_device_tier(d, name);
  return t ? origin_of(t->gbps, t->measured ? TUNE_MEASURED : TUNE_LISTED) : "assumed";
}

static const char *peak_origin(const tune_device *d, const tune_problem *p, const tune_config *c) {
  bool matrix = c->matrix_path != PATH_FMA,
       plain = !matrix || tune_device_peak(d, p->in, true) == tune_device_peak(d, p->in, false);
  return origin_of(tune_device_peak(d, p->in, matrix), plain ? d->fma_from : d->matrix_from);
}

/* What the model makes of the device as a whole: how its cores are filled, how much is hidden, and by what. */
static void explain_device(const tune_device *d, const cost_estimate *e, strb *out) {
  strb_printf(out, "  blocks %.0f on %d cores: %.2f waves, %.0f%% even; ", e->blocks, d->cores, e->waves,
              100 * e->wave_efficiency);
  if (e->occupancy.known)
    strb_printf(out, "occupancy %.0f%% (%d blocks a core, limited by %s; limits %s), hides %.0f%%",
                100 * e->occupancy.fraction, e->occupancy.blocks, e->occupancy.limiter,
                d->queried ? "queried" : "listed", 100 * e->hiding);
  else strb_puts(out, "occupancy n/a");
  strb_printf(out, "; overlap %.0f%%\n  total    %10.2f us  bound by %s\n", 100 * e->overlap, e->total_ns / 1e3,
              cost_term_name(e->bound));
  time_t on = (time_t)d->measured_on;
  struct tm day;
  char text[32];
  if (on > 0 && gmtime_r(&on, &day) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &day))
    strb_printf(out, "  rates of this device were measured on %s UTC\n", text);
}

void cost_explain(const tune_device *d, const tune_problem *p, const tune_config *c, strb *out) {
  cost_estimate e;
  cost_rates r = cost_rates_of(d, p, c);
  const tune_tier *mem = tune_device_tier(d, "memory");
  cost_compute(d, p, c, &e);
  strb_printf(out, "%s on %s: ", p->op, d->name);
  tune_config_print(c, out);
  strb_printf(out, "\n  math     %10.2f us  %.4g Gflop (%.4g with padding) at %.4g Gflop/s, %s\n",
              e.term_ns[COST_MATH] / 1e3, e.flops / 1e9, e.padded_flops / 1e9, r.peak, peak_origin(d, p, c));
  strb_printf(out, "  shared   %10.2f us  %.4g MB at %.4g GB/s, %s", e.term_ns[COST_SHARED] / 1e3, e.shared_bytes / 1e6,
              r.shared, tier_origin(d, d->is_cpu ? "l1" : "shared"));
  if (e.bank_ways)
    strb_printf(out, "; %d-way conflicts on %d banks%s", e.bank_ways, d->banks > 0 ? d->banks : 32,
                d->banks > 0 ? "" : ", assumed");
  strb_puts(out, "\n");
  strb_printf(out, "  l2       %10.2f us  %.4g MB at %.4g GB/s, %s\n", e.term_ns[COST_L2] / 1e3, e.l2_bytes / 1e6, r.l2,
              tier_origin(d, "l2"));
  strb_printf(out, "  memory   %10.2f us  %.4g MB (least %.4g) at %.4g GB/s, %s\n", e.term_ns[COST_MEMORY] / 1e3,
              e.memory_bytes / 1e6, tune_problem_bytes(p) / 1e6, r.memory, tier_origin(d, "memory"));
  if (e.term_ns[COST_EXP] > 0)
    strb_printf(out, "  exp      %10.2f us  at %.4g Gexp/s, assumed\n", e.term_ns[COST_EXP] / 1e3, r.exps);
  strb_printf(out, "  barrier  %10.2f us  %.4g ns each, %s\n", e.term_ns[COST_BARRIER] / 1e3, r.barrier_ns,
              origin_of(d->barrier_ns, d->barrier_from));
  if (e.reuse)
    strb_printf(out, "  reuse                    between two of them an accumulator's register is used %lld times\n",
                (long long)e.reuse);
  strb_printf(out, "  fill     %10.2f us  memory latency %.4g ns, %s\n", e.term_ns[COST_FILL] / 1e3, r.latency_ns,
              mem && mem->latency_cycles > 0 && d->clock_ghz > 0 ? "listed" : "assumed");
  strb_printf(out, "  launch   %10.2f us  %s\n", e.term_ns[COST_LAUNCH] / 1e3, origin_of(d->launch_ns, d->launch_from));
  explain_device(d, &e, out);
}

void cost_explain_once(const tune_device *d, const tune_problem *p, strb *out) {
  const tune_config none = {0};
  cost_rates r = cost_rates_of(d, p, &none);
  double math = tune_problem_flops(p) / r.peak, memory = tune_problem_bytes(p) / r.memory;
  strb_printf(out,
              "%s on %s: nothing to choose, operands are read once\n  math     %10.2f us  %.4g Gflop/s, %s\n  memory   "
              "%10.2f us  %.4g GB/s, %s\n",
              p->op, d->name, math / 1e3, r.peak, peak_origin(d, p, &none), memory / 1e3, r.memory,
              tier_origin(d, "memory"));
  strb_printf(
      out, "  fill     %10.2f us\n  launch   %10.2f us  %s\n  total    %10.2f us  bound by %s\n", r.latency_ns / 1e3,
      r.launch_ns / 1e3, origin_of(d->launch_ns, d->launch_from),
      roofline_ns(&(roofline_parts){
          .ns = (double[]){math, memory}, .n = 2, .overlap = 1, .busy = 1, .serial = {r.latency_ns, r.launch_ns}}) /
          1e3,
      cost_term_name(math > memory ? COST_MATH : COST_MEMORY));
}

double cost_roofline_ns(const tune_device *d, const tune_problem *p) {
  double peak = tune_device_peak(d, p->in, tune_device_matrix(d, p->in) != NULL), mem = tier_gbps(d, "memory", 0);
  double math = peak > 0 ? tune_problem_flops(p) / peak : 0, traffic = mem > 0 ? tune_problem_bytes(p) / mem : 0;
  return math > traffic ? math : traffic;
}

static double roofline_predict(void *user, const tune_device *d, const tune_problem *p, const tune_config *c) {
  cost_estimate e;
  cost_compute(d, p, c, &e);
  return e.total_ns;
}
static void roofline_explain(void *user, const tune_device *d, const tune_problem *p, const tune_config *c, strb *out) {
  cost_explain(d, p, c, out);
}
const cost_model cost_model_roofline = {"roofline", roofline_predict, roofline_explain, NULL};

double cost_latency_by_throughput(void *user, double latency_ns, double work) {
  return latency_ns * (latency_ns / (work > 0 ? work : 1));
}
double cost_latency(void *user, double latency_ns, double work) { return latency_ns; }
