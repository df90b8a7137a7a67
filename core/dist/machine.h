/* core/dist/machine.h - a machine as the planner of programs sees it: links (core/coll/topology.h), and the rates and
 * memory of one device, each with its source. */
#ifndef CORE_DIST_MACHINE_H
#define CORE_DIST_MACHINE_H
#include "core/coll/plan.h"
#include "core/dist/mesh.h"
#include "core/ir/graph/ops.h"

typedef struct dist_device {
  const char *name;
  double tflops_16, tflops_32; /* dense products of 16-bit floats with f32 sums; of f32 */
  double memory_gbytes_per_s, memory_gbytes;
  const char *source;
  double efficiency; /* of these peaks that kernels reach */
} dist_device;

typedef struct dist_machine {
  coll_topology links;
  dist_device device;
} dist_machine;

/* A row of core/coll's table with the devices that it is built of, "inproc" (this process), or, with a dot, slash or
 * dash in its name, a file: core/coll's fields and {"device": {"name", "tflops_16", "tflops_32", "memory_gbytes_per_s",
 * "memory_gbytes", "efficiency"}}. `text` is the file's contents, NULL: none. */
TSR_MUST_USE tsr_status dist_machine_find(arena *a, const char *name, const char *text, size_t n, dist_machine *out);

/* Microseconds of one device for so many operations in elements of t and bytes of memory. */
double dist_compute_us(const dist_machine *m, tsr_dtype t, double flops, double bytes);

/* Times of collectives along axes of a mesh, kept: a group's ranks stand `stride` apart. */
typedef struct dist_links {
  const dist_machine *machine;
  const dist_mesh *mesh;
  struct dist_known {
    uint32_t axes;
    coll_op op;
    double bytes, us;
    const char *algorithm;
  } * known;
  size_t n_known; /* a table with open places; a power of two */
  arena arena;
} dist_links;
TSR_MUST_USE tsr_status dist_links_init(dist_links *l, const dist_machine *machine, const dist_mesh *mesh);
void dist_links_clear(dist_links *l);
/* bytes as core/coll counts them. algorithm may be NULL. Infinite where the machine can't. */
double dist_coll_us(dist_links *l, coll_op op, uint32_t axes, double bytes, const char **algorithm);
/* Bytes that the busiest rank sends by that algorithm. */
double dist_coll_sent(dist_links *l, coll_op op, uint32_t axes, double bytes);
/* What a graph op of kind GRAPH_COLLECTIVE is to core/coll; N_COLL_OPS: nothing is sent. */
coll_op dist_coll_op(graph_code c);
#endif
