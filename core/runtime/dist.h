/* core/runtime/dist.h - the structs behind tessera/dist.h's handles. */
#ifndef CORE_RUNTIME_DIST_H
#define CORE_RUNTIME_DIST_H
#include "core/coll/team.h"
#include "core/dist/overlap.h"
#include "core/dist/partition.h"
#include "core/dist/schedule.h"
#include "core/runtime/internal.h"
#include "tessera/dist.h"

struct tsr_mesh {
  tsr_context *ctx;
  dist_mesh m;
  tsr_device **devices; /* by n_devices */
  int n_devices;
  tsr_team *team; /* whose ranks are processes; NULL: all ranks are here */
  int64_t first, end; /* the ranks of this process */
};
static inline bool mesh_has(const tsr_mesh *m, int64_t rank) { return rank >= m->first && rank < m->end; }
static inline tsr_device *mesh_device(const tsr_mesh *m, int64_t rank) { return m->devices[rank % m->n_devices]; }

struct tsr_dist_tensor {
  tsr_mesh *mesh;
  tsr_dtype dtype;
  tsr_shape shape;
  dist_spec spec;
  tsr_buffer **parts; /* by rank; NULL until the first part is asked for */
  size_t allocated;
};
/* The tensor that a checked spec says. */
tsr_status rt_dist_tensor_new(tsr_mesh *mesh, tsr_dtype t, const tsr_shape *shape, const dist_spec *spec,
                              tsr_dist_tensor **out);
tsr_status rt_shardspec(const tsr_mesh *mesh, int rank, const tsr_shardspec *spec, bool result, dist_spec *out);

/* A box of elements of `size` bytes copied between two row-major arrays: sizes along `rank` dimensions, each array with
 * its own dimensions and the box's first element in it. */
typedef struct rt_box {
  const int64_t *dims, *starts;
} rt_box;
void rt_copy_box(void *dst, rt_box to, const void *src, rt_box from, const int64_t *sizes, int rank, size_t size);

/* The ranks that do a collective together. */
typedef struct dist_team {
  uint32_t axes;
  int reversed; /* of a send to the rank before */
  coll_team **groups; /* those that no rank of this process is in: NULL */
  tsr_team *own;      /* between processes: the one group's that is there */
  const char **told;  /* by group, for messages: the axes and the ranks */
  int64_t n_groups;
  struct dist_team *next;
} dist_team;

/* One step's program on one device. */
typedef struct dist_part {
  tsr_device *dev;
  tsr_program *program;
  tsr_stream *stream;
} dist_part;

typedef struct dist_rank_memory {
  tsr_buffer *workspace;
  void *host[2]; /* staging of the step's operand and result, where the device's memory isn't the host's */
  size_t host_bytes;
} dist_rank_memory;

struct tsr_dist_program {
  tsr_mesh *mesh;
  tsr_dist_options options;
  arena arena;
  dist_program rank;
  dist_schedule schedule;
  dist_spec *in, *out;
  pass_trace trace;
  dist_part *parts;       /* step * n_devices + device; of a device that comes twice the first alone */
  pthread_mutex_t *locks; /* by device: ranks of one device take turns */
  int n_locks;
  dist_team *teams;
  dist_team **team_of;      /* by step */
  dist_rank_memory *memory; /* by rank */
  tsr_dist_collective *collectives;
  dist_span *timing;  /* by step, of rank 0 */
  double *beside;     /* by step, us: how long the other stream went on beside it */
  int *collective_of; /* by step: its first collective */
  int *step_of;       /* by collective */
  ir_value **arg_of;  /* by slot: while a step's module is made, its argument for it */
  int n_collectives;
  int n_implicit; /* inputs that don't say how they lie on the mesh */
  bool ran, broken;
};

/* dist_process.c: meshes whose ranks are processes. */
tsr_status rt_mesh_check_team(const tsr_mesh *m, const tsr_team *team);
/* Collective: part `bytes` of rank `root`, which has it in `part`, on all ranks. */
tsr_status rt_mesh_broadcast(const tsr_mesh *m, int64_t root, void *part, size_t bytes);
/* Collective: mine, or that another rank's process couldn't do `what`. */
tsr_status rt_mesh_agree(const tsr_mesh *m, const char *fn, const char *what, tsr_status mine);
/* Collective: mine, or that another rank's process couldn't compile, or that they have compiled different programs. */
tsr_status rt_dist_agree(const tsr_dist_program *p, tsr_status mine);
/* The rank's program as text: printing numbers values where their slots stand, so a copy is printed. */
tsr_status rt_dist_put_program(const tsr_dist_program *p, strb *b);
/* Collective: the group of this process. */
tsr_status rt_dist_team_open(const tsr_mesh *m, dist_team *t);
/* The others of the group don't wait for a rank that has failed, and say why. */
void rt_dist_team_stop(const tsr_mesh *m, dist_team *t, int64_t rank, tsr_status why);

/* dist_run.c: one step of a rank. */
typedef struct dist_run {
  tsr_dist_program *p;
  tsr_dist_tensor *const *inputs, *const *outputs;
} dist_run;
tsr_status rt_dist_collective(dist_run *r, int64_t rank, int step);
tsr_status rt_dist_local(dist_run *r, int64_t rank, int step);
/* The first of the mesh's devices that is the rank's: whose lock and programs it takes. */
int rt_dist_device(const tsr_dist_program *p, int64_t rank);
/* Where a slot of a rank is. */
tsr_status rt_dist_binding(dist_run *r, int64_t rank, int slot, tsr_binding *out);
size_t rt_dist_staging(const tsr_dist_program *p);
#endif
