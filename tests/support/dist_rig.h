/* tests/support/dist_rig.h - programs of a mesh against the oracle: one context, devices, meshes of them. */
#ifndef TESTS_SUPPORT_DIST_RIG_H
#define TESTS_SUPPORT_DIST_RIG_H
#include "tessera/dist.h"

enum { RIG_MOST = 32 };

typedef struct dist_rig {
  tsr_context *ctx;
  tsr_device *cpu[4];
  struct tsr_team *team; /* of the meshes' ranks; NULL: they are of this process */
} dist_rig;

void rig_open(dist_rig *r);
void rig_close(dist_rig *r);
/* "tp=2,dp=2" over the rig's CPU devices (n_devices of them; 0: no devices). */
tsr_mesh *rig_mesh(dist_rig *r, const char *axes, int n_devices);
/* Wraps ops in a function: as gt_func. */
tsr_graph *rig_graph(dist_rig *r, const char *args, const char *body, const char *results, const char *types);

typedef struct rig_data {
  void *in[RIG_MOST];
  double *want[RIG_MOST], *tol[RIG_MOST];
  void *out[RIG_MOST];
} rig_data;
/* Random inputs (in -1..1; whole numbers of a small range where `whole`) and what the oracle makes of them. */
void rig_data_make(const tsr_graph *g, uint64_t seed, bool whole, rig_data *d);
void rig_data_free(const tsr_graph *g, rig_data *d);
/* Runs g on the mesh; d->out has the outputs. Errors of either call. */
tsr_status rig_run(tsr_mesh *mesh, const tsr_graph *g, const tsr_dist_options *o, rig_data *d);
/* On one device. */
tsr_status rig_run_one(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, rig_data *d);
/* How often the outputs miss the oracle's values by more than `slack` tolerances; the first is printed. */
int64_t rig_misses(const tsr_graph *g, const rig_data *d, double slack, const char *what);
/* Is st a failure whose message holds `what`? Prints both if not; frees st. */
bool rig_says(tsr_status st, const char *what);
#endif
