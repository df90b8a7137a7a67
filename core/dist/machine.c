/* core/dist/machine.c - see machine.h. */
#include "core/dist/machine.h"

#include <math.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/json.h"

#define EFFICIENCY 0.6 /* assumed; printed with every plan */

static const struct {
  const char *topology;
  dist_device device;
} devices[] = {
    {"nvl72", {"GB200", 2500, 80, 8000, 186, "vendor's data sheet (dense)", EFFICIENCY}},
    {"nvl4_ib", {"GB200", 2500, 80, 8000, 186, "vendor's data sheet (dense)", EFFICIENCY}},
    {"nvl8_ib", {"GB200", 2500, 80, 8000, 186, "vendor's data sheet (dense)", EFFICIENCY}},
    {"h100x8", {"H100 SXM", 989, 67, 3350, 80, "vendor's data sheet (dense)", EFFICIENCY}},
    {"infiniband", {"H100 SXM", 989, 67, 3350, 80, "vendor's data sheet (dense)", EFFICIENCY}},
    {"ethernet", {"H100 SXM", 989, 67, 3350, 80, "vendor's data sheet (dense)", EFFICIENCY}},
    {"mi300x8", {"MI300X", 1307, 163, 5300, 192, "vendor's data sheet (dense)", EFFICIENCY}},
    {"pcie8", {"A100 PCIe", 312, 19.5, 1935, 80, "vendor's data sheet (dense)", EFFICIENCY}},
    {"inproc", {"CPU core", 0.05, 0.05, 10, 4, "assumed", EFFICIENCY}},
};

static tsr_status parse_device(arena *a, const char *name, const char *text, size_t n, dist_device *d) {
  static const json_field fields[] = {{"name", JSON_STRING},          {"tflops_16", JSON_NUMBER},
                                      {"tflops_32", JSON_NUMBER},     {"memory_gbytes_per_s", JSON_NUMBER},
                                      {"memory_gbytes", JSON_NUMBER}, {"efficiency", JSON_NUMBER}};
  json *root;
  TSR_TRY(json_parse(a, text, n, name, &root));
  const json *x = json_get(root, "device");
  const char *stray = x ? json_stray(a, x, "\"device\"", fields, sizeof fields / sizeof *fields) : NULL;
  if (stray)
    return st_make(&a->al, TSR_INVALID_ARGUMENT, ST_WHERE("plan", "topology", NULL), "%s: %s", name, stray);
  *d = (dist_device){.name = json_str(x, "name", "device"),
                     .tflops_16 = json_num(x, "tflops_16", 100),
                     .tflops_32 = json_num(x, "tflops_32", 10),
                     .memory_gbytes_per_s = json_num(x, "memory_gbytes_per_s", 1000),
                     .memory_gbytes = json_num(x, "memory_gbytes", 16),
                     .efficiency = json_num(x, "efficiency", EFFICIENCY),
                     .source = x ? "the file" : "assumed"};
  const double must[] = {d->tflops_16, d->tflops_32, d->memory_gbytes_per_s, d->memory_gbytes, d->efficiency};
  for (size_t i = 0; i < sizeof must / sizeof *must; i++)
    if (!(must[i] > 1e-9 && must[i] < 1e12) || d->efficiency > 1)
      return st_make(&a->al, TSR_INVALID_ARGUMENT, ST_WHERE("plan", "topology", NULL),
                     "%s: the numbers of \"device\" are above 0, its efficiency at most 1", name);
  return NULL;
}

tsr_status dist_machine_find(arena *a, const char *name, const char *text, size_t n, dist_machine *out) {
  char known[256] = "";
  *out = (dist_machine){0};
  if (text) {
    TSR_TRY(coll_topology_parse(a, text, n, name, &out->links));
    return parse_device(a, name, text, n, &out->device);
  }
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    strcat(strcat(known, i ? ", " : ""), devices[i].topology);
    if (strcmp(devices[i].topology, name) || !coll_topology_find(name, &out->links)) continue;
    out->device = devices[i].device;
    return NULL;
  }
  return st_make(&a->al, TSR_NOT_FOUND, ST_WHERE("plan", "topology", known), "no topology \"%.60s\"", name);
}

double dist_compute_us(const dist_machine *m, tsr_dtype t, double flops, double bytes) {
  const dist_device *d = &m->device;
  const double rate = (tsr_dtype_size(t) <= 2 ? d->tflops_16 : d->tflops_32) * d->efficiency;
  const double by_flops = flops / rate * 1e-6, by_bytes = bytes / (d->memory_gbytes_per_s * d->efficiency) * 1e-3;
  return by_flops > by_bytes ? by_flops : by_bytes;
}

enum { FIRST_KNOWN = 1024 };

tsr_status dist_links_init(dist_links *l, const dist_machine *machine, const dist_mesh *mesh) {
  *l = (dist_links){.machine = machine, .mesh = mesh, .n_known = FIRST_KNOWN};
  arena_init(&l->arena, NULL);
  l->known = arena_array(&l->arena, struct dist_known, l->n_known);
  return l->known ? NULL : st_oom();
}

void dist_links_clear(dist_links *l) { arena_clear(&l->arena); }

/* The links as a group sees them: of each domain it has every stride-th rank, at least one. */
static coll_topology links_of(const dist_links *l, uint32_t axes) {
  coll_topology t = l->machine->links;
  int64_t inside = 1, before = 1; /* ranks of the group in a domain of the first level */
  const int64_t domain = t.levels[0].ranks;
  for (int i = 0; i < l->mesh->n; before *= l->mesh->size[i++])
    if (axes >> i & 1 && before < domain) {
      const int64_t room = domain / before;
      inside *= l->mesh->size[i] <= room ? l->mesh->size[i] : room;
    }
  const int64_t n = dist_mesh_extent(l->mesh, axes);
  if (t.n_levels == 1 || inside >= n) {
    t.n_levels = 1; /* all in one domain */
  } else if (inside <= 1 || n % inside) {
    t.levels[0] = t.levels[1]; /* one rank a domain, or not whole ones: all over the outer links */
    t.n_levels = 1;
  } else {
    t.levels[0].ranks = inside;
  }
  if (t.n_levels == 1 && t.levels[0].ranks < n) t.levels[0].ranks = n;
  return t;
}

coll_op dist_coll_op(graph_code c) {
  switch (c) {
    case G_ALL_REDUCE: return COLL_ALL_REDUCE;
    case G_REDUCE_SCATTER: return COLL_REDUCE_SCATTER;
    case G_ALL_GATHER: return COLL_ALL_GATHER;
    case G_ALL_TO_ALL: return COLL_ALL_TO_ALL;
    case G_BROADCAST_FROM: return COLL_BROADCAST;
    case G_SEND: return COLL_SEND_RECV;
    case G_BARRIER: return COLL_BARRIER;
    default: return N_COLL_OPS;
  }
}

double dist_coll_us(dist_links *l, coll_op op, uint32_t axes, double bytes, const char **algorithm) {
  uint64_t bits;
  memcpy(&bits, &bytes, sizeof bits);
  const int64_t n = dist_mesh_extent(l->mesh, axes);
  struct dist_known *k =
      &l->known[hash_mix(hash_word(hash_word(HASH_SEED, bits), (uint64_t)axes << 8 | (uint64_t)op)) & (l->n_known - 1)];
  if (n == 1 || op == N_COLL_OPS) return 0;
  if (!k->axes || k->axes != axes || k->op != op || k->bytes != bytes) { /* the newest in its place */
    const coll_topology t = links_of(l, axes);
    coll_plan p;
    tsr_status st = coll_plan_make(&t, NULL, op, n, bytes, NULL, &p);
    *k = (struct dist_known){axes, op, bytes, st ? INFINITY : p.us, st ? "none" : p.algorithm};
    tsr_status_free(st);
  }
  if (algorithm) *algorithm = k->algorithm;
  return k->us;
}

double dist_coll_sent(dist_links *l, coll_op op, uint32_t axes, double bytes) {
  const char *algorithm = NULL, *why;
  coll_place place;
  coll_terms x;
  const coll_topology t = links_of(l, axes);
  if (!isfinite(dist_coll_us(l, op, axes, bytes, &algorithm)) || !algorithm) return 0;
  if (!coll_place_of(&t, dist_mesh_extent(l->mesh, axes), &place, &why)) return 0;
  if (!coll_terms_of(algorithm, op, &place, &x, &why)) return 0;
  return bytes * (x.bytes[0] + x.bytes[1]);
}
