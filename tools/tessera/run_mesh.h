/* tools/tessera/run_mesh.h - `tessera run FILE --mesh AXES`. */
#ifndef TOOLS_TESSERA_RUN_MESH_H
#define TOOLS_TESSERA_RUN_MESH_H
#include "tools/tessera/cli.h"

typedef struct mesh_run {
  const char *file, *mesh, *devices; /* devices: IDs separated by commas; NULL: cpu:0 */
  const char *transport;             /* "mpi": each rank is a process; NULL: all are here */
  tsr_policy policy;
  uint64_t seed;
  long row_chunks; /* tsr_dist_options */
  bool search, explain;
  bool audit; /* says the checklist's points of distribution alone; EXIT_WRONG where one fails */
} mesh_run;

/* Runs the graph on random inputs on a mesh of these devices, says what each collective took and whether the results
 * are those of the reference; EXIT_WRONG where they aren't. Of several processes rank 0's speaks. */
int run_mesh(tsr_context *ctx, const mesh_run *r);
/* Floats from -1 to 1, of others 0 and 1; the state goes on. */
void mesh_fill_random(const tsr_tensor_info *t, uint64_t *state, void *data);
/* `tessera bench FILE --mesh AXES` (bench_mesh.c). */
int bench_mesh(int argc, char **argv);
/* `tessera check FILE --mesh AXES`. */
int check_mesh(int argc, char **argv);
#endif
