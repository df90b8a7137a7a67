/* tools/tessera/mesh_place.h - what --mesh, --device and --transport name: a mesh, and where its ranks are. */
#ifndef TOOLS_TESSERA_MESH_PLACE_H
#define TOOLS_TESSERA_MESH_PLACE_H
#include "tessera/coll.h"
#include "tessera/dist.h"
#include "tools/tessera/cli.h"

enum { MESH_MOST_DEVICES = 64 };

typedef struct mesh_place {
  tsr_device *devices[MESH_MOST_DEVICES];
  int n_devices;
  tsr_team *team; /* of processes; NULL: all ranks are here */
  bool quiet;     /* another process speaks */
  tsr_mesh *mesh;
} mesh_place;

/* command: who asks, for the line that says what is wrong; axes: "tp=2,dp=4"; devices: IDs separated by commas, NULL:
 * cpu:0; transport: "mpi", NULL: all ranks are here. An exit status; the place is to be closed whatever it is. */
int mesh_place_open(tsr_context *ctx, const char *command, const char *axes, const char *devices, const char *transport,
                    mesh_place *out);
void mesh_place_close(mesh_place *p);
#endif
