/* core/coll/topology.c - see topology.h. Constants that nobody published are marked as assumed: plans print them. */
#include "core/coll/topology.h"

#include <math.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/utf8.h"

#define ASSUMED_REDUCE "assumed: a third of the memory's rate"

static const coll_topology rows[] = {
    {.name = "nvl72",
     .help = "GB200 NVL72: 72 GPUs on one NVLink switch fabric",
     .n_levels = 1,
     .levels = {{"NVLink", 72, 2.0, 0.05, 900, "bandwidth: the fit below (line rate 900 GB/s each way); latency and overhead: assumed"}},
     .reduce_gbytes_per_s = 2600,
     .reduce_source = ASSUMED_REDUCE,
     .anchor_ranks = 72,
     .anchors = {{536870912, 1806.7}, {8589934592, 20299}},
     .anchor_source = "published nccl-tests table of 72 GB200 (2025-02), f32 all-reduce at 512 MiB and 8 GiB"},
    {.name = "h100x8",
     .help = "8 H100 on one NVLink switch",
     .n_levels = 1,
     .levels = {{"NVLink", 8, 2.0, 0.05, 370,
                  "bandwidth: published ring all-reduce (about 370 of 450 GB/s); latency and overhead: assumed"}},
     .reduce_gbytes_per_s = 1100,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "mi300x8",
     .help = "8 MI300X, each linked to each; all seven links of a GPU are taken as one",
     .n_levels = 1,
     .levels = {{"Infinity Fabric", 8, 3.0, 0.1, 310, "assumed: 70 % of seven links of 64 GB/s each way"}},
     .reduce_gbytes_per_s = 1700,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "pcie8",
     .help = "8 GPUs on PCIe 4.0 x16",
     .n_levels = 1,
     .levels = {{"PCIe", 8, 5.0, 0.5, 24, "assumed: 75 % of 32 GB/s"}},
     .reduce_gbytes_per_s = 300,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "nvl4_ib",
     .help = "GB200 in partitions of 4 on NVLink, 400 Gb/s InfiniBand a GPU",
     .n_levels = 2,
     .levels = {{"NVLink", 4, 2.0, 0.05, 859, "bandwidth: the fit of nvl72; latency and overhead: assumed"},
                {"InfiniBand", 16384, 6.0, 0.3, 49.2, "bandwidth: published ring all-reduce over 3 partitions (196.7 GB/s of 4 GPUs); latency and overhead: assumed"}},
     .reduce_gbytes_per_s = 2600,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "nvl8_ib",
     .help = "GB200 in partitions of 8 on NVLink, 400 Gb/s InfiniBand a GPU",
     .n_levels = 2,
     .levels = {{"NVLink", 8, 2.0, 0.05, 859, "bandwidth: the fit of nvl72; latency and overhead: assumed"},
                {"InfiniBand", 16384, 6.0, 0.3, 49.2, "bandwidth: published ring all-reduce over 3 partitions (393.7 GB/s of 8 GPUs); latency and overhead: assumed"}},
     .reduce_gbytes_per_s = 2600,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "infiniband",
     .help = "nodes of 8 H100, 400 Gb/s InfiniBand a GPU",
     .n_levels = 2,
     .levels = {{"NVLink", 8, 2.0, 0.05, 370,
                  "bandwidth: published ring all-reduce (about 370 of 450 GB/s); latency and overhead: assumed"},
                {"InfiniBand", 16384, 6.0, 0.3, 49.2, "bandwidth: as nvl8_ib; latency and overhead: assumed"}},
     .reduce_gbytes_per_s = 1100,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "ethernet",
     .help = "nodes of 8 H100, 100 Gb/s Ethernet a GPU",
     .n_levels = 2,
     .levels = {{"NVLink", 8, 2.0, 0.05, 370,
                  "bandwidth: published ring all-reduce (about 370 of 450 GB/s); latency and overhead: assumed"},
                {"Ethernet", 16384, 20.0, 1.0, 11, "assumed: 88 % of 12.5 GB/s"}},
     .reduce_gbytes_per_s = 1100,
     .reduce_source = ASSUMED_REDUCE},
    {.name = "inproc", /* nothing known: what matters is that links cost more than memory and less than nothing */
     .help = "ranks of one process",
     .n_levels = 1,
     .levels = {{"memory", COLL_PLAN_RANKS, 20, 2, 5, "assumed"}},
     .reduce_gbytes_per_s = 5,
     .reduce_source = "assumed"},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const coll_topology *coll_topology_at(int32_t i) { return i < N_ROWS ? &rows[i] : NULL; }

/* Through both points: t = latency + ramp + sent / bandwidth, for the direct all-reduce in one domain. */
static void fit(coll_topology *t) {
  coll_level *l = &t->levels[t->n_levels - 1];
  double n = (double)t->anchor_ranks, factor = 2 * (n - 1) / n;
  const coll_anchor *a = &t->anchors[0], *b = &t->anchors[1];
  double us_per_byte = (b->us - a->us) / (factor * (b->bytes - a->bytes));
  l->gbytes_per_s = 1e-3 / us_per_byte;
  t->ramp_bytes = factor * a->bytes;
  t->ramp_us = a->us - factor * a->bytes * us_per_byte - 2 * l->latency_us - 2 * (n - 2) * l->overhead_us;
}

bool coll_topology_find(const char *name, coll_topology *out) {
  for (int32_t i = 0; i < N_ROWS; i++) {
    if (strcmp(rows[i].name, name)) continue;
    *out = rows[i];
    if (out->anchor_ranks) fit(out);
    return true;
  }
  return false;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static tsr_status bad(arena *a, const char *file, const char *what) {
  return st_make(&a->al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", "topology", NULL), "%s: %s", file, what);
}

static const char *parse_level(arena *a, const json *x, const coll_level *below, coll_level *l) {
  static const json_field fields[] = {{"name", JSON_STRING},        {"ranks", JSON_NUMBER},        {"latency_us", JSON_NUMBER},
                                      {"overhead_us", JSON_NUMBER}, {"gbytes_per_s", JSON_NUMBER}, {"source", JSON_STRING}};
  *l = (coll_level){.name = json_str(x, "name", "links"),
                    .ranks = json_i64(x, "ranks", 0),
                    .latency_us = json_num(x, "latency_us", -1),
                    .overhead_us = json_num(x, "overhead_us", 0),
                    .gbytes_per_s = json_num(x, "gbytes_per_s", 0),
                    .source = json_str(x, "source", "the file")};
  if (!x || x->type != JSON_OBJECT) return "a level is an object";
  const char *stray = json_stray(a, x, "a level", fields, sizeof fields / sizeof *fields);
  if (stray) return stray;
  if (!utf8_is_text(l->name, false) || !utf8_is_text(l->source, false)) return "a name or a source that is no text";
  if (l->ranks < 1 || l->ranks > COLL_PLAN_RANKS || json_num(x, "ranks", 0) != (double)l->ranks)
    return "a level has \"ranks\": 1 to 16384 in a domain";
  if (below && l->ranks % below->ranks) return "domains of a level consist of whole domains of the level below";
  if (!(l->latency_us >= 0 && l->latency_us < 1e9)) return "a level has \"latency_us\", not negative";
  if (!(l->overhead_us >= 0 && l->overhead_us < 1e9)) return "\"overhead_us\" is not negative";
  if (!(l->gbytes_per_s > 1e-6 && l->gbytes_per_s < 1e9)) return "a level has \"gbytes_per_s\", above 0";
  return NULL;
}

tsr_status coll_topology_parse(arena *a, const char *text, size_t n, const char *file, coll_topology *t) {
  static const json_field fields[] = {
      {"name", JSON_STRING}, {"levels", JSON_ARRAY}, {"reduce_gbytes_per_s", JSON_NUMBER}, {"device", JSON_OBJECT}};
  json *root;
  *t = (coll_topology){.help = "from a file", .reduce_source = "the file"};
  TSR_TRY(json_parse(a, text, n, file, &root));
  if (root->type != JSON_OBJECT) return bad(a, file, "a topology is an object");
  const char *stray = json_stray(a, root, "a topology", fields, sizeof fields / sizeof *fields);
  if (stray) return bad(a, file, stray);
  const json *levels = json_get(root, "levels");
  if (!levels || levels->type != JSON_ARRAY || levels->n < 1 || levels->n > COLL_LEVELS)
    return bad(a, file, "\"levels\" is an array of one or two levels");
  t->name = json_str(root, "name", file);
  if (!utf8_is_text(t->name, false)) return bad(a, file, "a name that is no text");
  for (const json *x = levels->first; x; x = x->next, t->n_levels++) {
    const char *what = parse_level(a, x, t->n_levels ? &t->levels[0] : NULL, &t->levels[t->n_levels]);
    if (what) return bad(a, file, what);
  }
  t->reduce_gbytes_per_s = json_num(root, "reduce_gbytes_per_s", 1000);
  if (!json_get(root, "reduce_gbytes_per_s")) t->reduce_source = "assumed";
  if (!(t->reduce_gbytes_per_s > 1e-6 && t->reduce_gbytes_per_s < 1e9))
    return bad(a, file, "\"reduce_gbytes_per_s\" is above 0");
  return NULL;
}
