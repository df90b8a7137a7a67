/* tools/tessera/mesh_place.c - see mesh_place.h. */
#include "tools/tessera/mesh_place.h"

#include <string.h>

#include "core/dist/mesh.h"

static int open_devices(tsr_context *ctx, const char *command, const char *devices, mesh_place *p) {
  char list[512];
  snprintf(list, sizeof list, "%s", devices ? devices : "cpu:0");
  for (char *id = strtok(list, ","); id; id = strtok(NULL, ",")) {
    if (p->n_devices == MESH_MOST_DEVICES) return cli_usage(command, "more than %d devices", MESH_MOST_DEVICES);
    tsr_status st = tsr_device_open(ctx, id, &p->devices[p->n_devices]);
    if (st) return cli_fail(st);
    p->n_devices++;
  }
  return p->n_devices ? EXIT_OK : cli_usage(command, "--device names no device");
}

static int join_team(const char *transport, mesh_place *p) {
  if (!transport) return EXIT_OK;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = transport, .n_ranks = 0}, &p->team);
  p->quiet = !st && tsr_team_rank(p->team) > 0;
  return st ? cli_fail(st) : EXIT_OK;
}

static int make_mesh(tsr_context *ctx, const char *axes, mesh_place *p) {
  dist_mesh m;
  const char *names[DIST_MAX_AXES];
  tsr_status st = dist_mesh_parse(axes, 0, &m);
  for (int i = 0; !st && i < m.n; i++) names[i] = m.name[i];
  const tsr_mesh_desc d = {
      .axes = names, .sizes = m.size, .n_axes = m.n, .devices = p->devices, .n_devices = p->n_devices, .team = p->team};
  if (!st) st = tsr_mesh_create(ctx, &d, &p->mesh);
  return st ? cli_fail(st) : EXIT_OK;
}

int mesh_place_open(tsr_context *ctx, const char *command, const char *axes, const char *devices, const char *transport,
                    mesh_place *out) {
  *out = (mesh_place){.n_devices = 0};
  if (transport && strcmp(transport, "mpi")) return cli_usage(command, "--transport is mpi");
  int rc = open_devices(ctx, command, devices, out);
  if (!rc) rc = join_team(transport, out);
  return rc ? rc : make_mesh(ctx, axes, out);
}

void mesh_place_close(mesh_place *p) {
  tsr_mesh_destroy(&p->mesh);
  tsr_team_destroy(&p->team);
  while (p->n_devices) tsr_device_close(&p->devices[--p->n_devices]);
}
