/* tessera/dist.h - meshes of devices, tensors that are spread over them, and programs that run on all of them: a graph
 * written for one device, with shards on its inputs, is cut up so that each rank computes its part, with collectives
 * where parts must meet. Its results are those of one device. Conventions are tessera.h's; the guide is
 * docs/distributed.md. Ranks are of this process, a rank being a thread that drives its device, or each is a process of
 * an MPI program: then all of them make the same calls in the same order, with the same graphs and options. */
#ifndef TESSERA_DIST_H
#define TESSERA_DIST_H

#include "tessera/coll.h"
#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- meshes ---------------------------------------------------------------------------------------------------- */

typedef struct tsr_mesh tsr_mesh;

typedef struct tsr_mesh_desc {
  const char *const *axes; /* names: a letter, then letters, digits and _; the first varies fastest with the rank */
  const int64_t *sizes;    /* NULL, or 0 for an axis: the ranks that are left, factorised as evenly as can be */
  int n_axes;              /* 1 to 8 */
  int64_t ranks;           /* 0: the product of the sizes, or n_devices; at most 16,384 */
  /* Rank r's device is devices[r % n_devices]; any backends, the same device several times. None: a mesh that is
   * planned with, on which nothing runs. Borrowed. */
  tsr_device *const *devices;
  int n_devices;
  /* A team whose ranks are processes (transport "mpi"): its rank r is the mesh's, so that this process has one rank
   * alone, that rank's device and that rank's part of each tensor. Its deadline is that of each wait for another rank.
   * Borrowed; must outlive mesh, tensors and programs, and its size is the mesh's. NULL: all ranks are here. */
  tsr_team *team;
} tsr_mesh_desc;

TSR_API TSR_MUST_USE tsr_status tsr_mesh_create(tsr_context *ctx, const tsr_mesh_desc *desc, tsr_mesh **out);
TSR_API void tsr_mesh_destroy(tsr_mesh **mesh);
TSR_API int64_t tsr_mesh_ranks(const tsr_mesh *mesh);
/* The rank that is this process; -1: all ranks are here. */
TSR_API int64_t tsr_mesh_rank(const tsr_mesh *mesh);
/* An axis's size, 0: there is none of that name; a rank's place along it, -1 likewise. */
TSR_API int64_t tsr_mesh_size(const tsr_mesh *mesh, const char *axis);
TSR_API int64_t tsr_mesh_coordinate(const tsr_mesh *mesh, int64_t rank, const char *axis);
/* "tp=4,dp=2", and a line for each rank with its place and device; free with tsr_text_free. */
TSR_API TSR_MUST_USE tsr_status tsr_mesh_print(const tsr_mesh *mesh, char **text);

/* ---- shards ---------------------------------------------------------------------------------------------------- */

/* How a tensor lies on a mesh: part i of it is cut by axis mesh_axes[i]. Parts are "row" and "col" (the last two
 * dimensions), "batch", "head", "channel" (the first; the second), "seq" (the last but one), or a dimension's number.
 * One that is named several times is cut by all of these axes, by the later one of the mesh first. Along all other axes
 * it is repeated; with n = 0 along all of them. */
typedef struct tsr_shardspec {
  const char *const *partition;
  const char *const *mesh_axes;
  int n;
  /* Of results of a graph alone: axes along which each rank has a part of a sum ("sum", "max", "min", "prod"; NULL =
   * "sum") that is still to be added up. */
  const char *const *partial;
  int n_partial;
  const char *reduction;
} tsr_shardspec;

typedef enum tsr_uneven { TSR_UNEVEN_PAD, TSR_UNEVEN_REFUSE } tsr_uneven;

typedef struct tsr_dist_tensor tsr_dist_tensor;

/* A tensor of this shape, whole, spread over the mesh. Nothing is allocated but the description, until a part of it is
 * asked for. Dimensions that aren't cut evenly are padded at the end, or refused. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_create(tsr_mesh *mesh, tsr_dtype t, tsr_shape shape,
                                                       const tsr_shardspec *spec, tsr_uneven uneven,
                                                       tsr_dist_tensor **out);
TSR_API void tsr_dist_tensor_destroy(tsr_dist_tensor **t);
/* Where a rank's part begins in the whole and how much of it isn't padding; both may be NULL. The shape of what the
 * rank has, padding included. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_part(const tsr_dist_tensor *t, int64_t rank, int64_t *starts,
                                                     int64_t *sizes, tsr_shape *local);
/* Bytes of the parts of all ranks of this process together that are allocated now. */
TSR_API size_t tsr_dist_tensor_allocated(const tsr_dist_tensor *t);
/* A rank's part on its device, row-major; allocated with zeros the first time. Belongs to the tensor. The part of a
 * rank of another process is TSR_INVALID_ARGUMENT. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_local(tsr_dist_tensor *t, int64_t rank, tsr_buffer **out);
/* The whole tensor between host memory, row-major, and all ranks; padding is 0. Of parts that several ranks have the
 * first rank's is read. Between processes each scatters its own part of what it is given, and sends nothing; gathering
 * is collective, and each gets the whole. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_scatter(tsr_dist_tensor *t, const void *whole);
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_gather(tsr_dist_tensor *t, void *whole);
/* "dp,*" as in IR text, on one line; free with tsr_text_free. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_tensor_print(const tsr_dist_tensor *t, char **text);

/* Tensors of one mesh in a folder, by names of at most 63 characters: each rank writes a file with the parts that are
 * its own, and of parts that several have the first one writes. A process that is killed meanwhile leaves what was
 * saved before. Loading takes tensors of the same names, shapes and types on any mesh, of as many ranks as there are:
 * each reads what its parts need (TSR_NOT_FOUND: they aren't all there). Between processes both are collective, over a
 * folder that all of them see: where one fails, all return. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_save(const char *folder, const char *const *names,
                                              tsr_dist_tensor *const *tensors, int n);
TSR_API TSR_MUST_USE tsr_status tsr_dist_load(const char *folder, const char *const *names,
                                              tsr_dist_tensor *const *tensors, int n);

/* ---- graphs with shards ---------------------------------------------------------------------------------------- */

/* The value lies so on the mesh: an input as it is given, another value as the program is to have it. In IR text:
 * tensor<8x4xf32, {shard = ["dp", "*"]}>. Programs for one device take no notice. A parsed graph's values 1, 2, ... are
 * its inputs. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_shard(tsr_graph *g, tsr_value v, const tsr_mesh *mesh,
                                                const tsr_shardspec *spec);
/* The same of output i: of a graph whose values have no numbers (tsr_graph_grad's). */
TSR_API TSR_MUST_USE tsr_status tsr_graph_shard_output(tsr_graph *g, int i, const tsr_mesh *mesh,
                                                       const tsr_shardspec *spec);

/* The value lies as this tensor does, which has its shape: what one program puts out, another takes. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_shard_as(tsr_graph *g, tsr_value v, const tsr_dist_tensor *t);

typedef struct tsr_dist_options {
  tsr_compile_options compile; /* of each rank's parts */
  tsr_uneven uneven;
  /* What moves and work are modelled with: "inproc" (NULL), or a name of `tessera plan --help`. */
  const char *topology;
  bool no_overlap;      /* collectives among the computing, not beside it */
  int64_t bucket_bytes; /* collectives of a kind are joined up to this many bytes; negative: never; 0: to a quarter of
                           all their bytes, from 1 to 25 MiB */
  /* A product whose sums an all_reduce or reduce_scatter adds up runs in so many chunks of rows, each one's collective
   * beside the next one's product; 1: never, 0: as many as the planner takes to be fastest. Products whose rows can't
   * be cut so stay whole. */
  int row_chunks;
} tsr_dist_options;

/* Writes shards on g's inputs: of all ways to cut them the one whose program is modelled to be fastest and whose inputs
 * fit into a device's memory, found by search. Inputs that have shards keep them. *why: what was chosen, its time, and
 * that of all inputs whole; free with tsr_text_free; may be NULL. options may be NULL. */
TSR_API TSR_MUST_USE tsr_status tsr_graph_autoshard(tsr_graph *g, const tsr_mesh *mesh, const tsr_dist_options *options,
                                                    char **why);

/* ---- collectives on buffers ------------------------------------------------------------------------------------ */

typedef struct tsr_coll_buffers {
  tsr_binding in, out; /* in the place of the call's `in` and `out`; no buffer where the rank has nothing there */
} tsr_coll_buffers;

/* tsr_team_run of a team in host memory (local, mpi, ucc) on buffers of devices, the ranks' of any backend. What works
 * on them is done before (tsr_stream_sync). A buffer that the host sees is read and written in place; another one goes
 * through a copy in host memory, for which ranks take turns. *path, which may be NULL: "in place", or "through the
 * host" where one of this rank's two was copied. */
TSR_API TSR_MUST_USE tsr_status tsr_team_run_buffers(tsr_team *team, int rank, const tsr_coll *call,
                                                     const tsr_coll_buffers *where, const char **path);

/* ---- programs -------------------------------------------------------------------------------------------------- */

typedef struct tsr_dist_program tsr_dist_program;

/* For a mesh with devices. Under the policy `deterministic` no sum of floats is split between ranks: results have the
 * bits of one device of the same kind. A mesh of several ranks needs shards on some input: TSR_INVALID_ARGUMENT says
 * how to write them. A graph that has collectives and no shards is each rank's program as it is. options may be NULL;
 * mesh and devices must outlive the program. Between processes collective: where one of them can't compile, or compiles
 * another program (TSR_COLLECTIVE_MISMATCH), none has one. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_compile(tsr_mesh *mesh, const tsr_graph *g,
                                                         const tsr_dist_options *options, tsr_dist_program **out);
TSR_API void tsr_dist_program_destroy(tsr_dist_program **p);
TSR_API int tsr_dist_program_n_inputs(const tsr_dist_program *p);
TSR_API int tsr_dist_program_n_outputs(const tsr_dist_program *p);
/* A new tensor that lies as input or output i does: not allocated yet. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_input(const tsr_dist_program *p, int i, tsr_dist_tensor **out);
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_output(const tsr_dist_program *p, int i, tsr_dist_tensor **out);
/* Runs all ranks of this process and returns when they are done. Tensors lie as the program's do, else
 * TSR_INVALID_ARGUMENT; outputs are none of the inputs. The first rank's error; the program must then be compiled anew.
 * Between processes a rank that fails makes the others return its error, one that is killed, stopped or slow makes them
 * return TSR_TIMEOUT by the team's deadline; the message names rank, collective, axes and peer. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_run(tsr_dist_program *p, tsr_dist_tensor *const *inputs,
                                                     tsr_dist_tensor *const *outputs);
/* Each rank's program as Graph IR, with its collectives. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_print(const tsr_dist_program *p, char **text);
/* Each collective, why it is there and what it is modelled to take; the steps and what waits for what. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_explain(const tsr_dist_program *p, char **text);

/* One collective of a program. */
typedef struct tsr_dist_collective {
  const char *op, *axes, *algorithm; /* "reduce_scatter", "tp"; the algorithm that the model has */
  /* How this process's ranks reach the others and their own memory: "memory of one process; in place", "shared memory;
   * through the host: vulkan:0" (those devices' memory isn't the host's, and is copied). */
  const char *path;
  int64_t bytes;                     /* the vector's, as nccl-tests count */
  double planned_us;
  double us,
      overlapped_us; /* of the last run, on this process's first rank: its time, and how much of that computing went
                        on; < 0: not run */
} tsr_dist_collective;
TSR_API int tsr_dist_program_n_collectives(const tsr_dist_program *p);
TSR_API tsr_dist_collective tsr_dist_program_collective(const tsr_dist_program *p, int i);
/* Rows of the last run, "AllReduce[dp]  latency=15µs  bandwidth=1.6TB/s", and the share of the collectives' time that
 * computing went on. TSR_INVALID_ARGUMENT before the first run. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_profile(const tsr_dist_program *p, char **text);
/* The two points of the checklist that are about distribution (docs/checklist.md), of a program on several ranks: every
 * input says how it lies on the mesh; at least half of the collectives' time of the last run went on beside computing
 * (not known before the first run). A line each; *n_failed, which may be NULL: how many failed. */
TSR_API TSR_MUST_USE tsr_status tsr_dist_program_check(const tsr_dist_program *p, char **text, int *n_failed);
/* Bytes of a rank: inputs, outputs, and what is between them. */
TSR_API int64_t tsr_dist_program_bytes(const tsr_dist_program *p);
/* Bytes that this process's first rank has sent in the collectives of all runs so far, as they were counted. */
TSR_API int64_t tsr_dist_program_sent(const tsr_dist_program *p);

/* ---- pipelines ------------------------------------------------------------------------------------------------- */

typedef struct tsr_pipeline tsr_pipeline;
typedef enum tsr_pipeline_task {
  TSR_PIPELINE_FORWARD,
  TSR_PIPELINE_BACKWARD, /* zero_bubble: the input's gradient alone */
  TSR_PIPELINE_WEIGHTS   /* zero_bubble: the weights' gradients, later */
} tsr_pipeline_task;

typedef struct tsr_pipeline_desc {
  /* Rank s is stage s. Of threads: each stage has a mesh of its own. Of processes: those that have the same place in
   * their stages' meshes, each a rank of one of them. Borrowed. */
  tsr_team *team;
  int stage;            /* the caller's; of processes their rank in the team */
  /* "1f1b" (NULL): as few microbatches at once as there are stages; "gpipe": all; "interleaved": 1f1b with several
   * chunks of the layers on each stage, microbatches being a multiple of the stages; "zero_bubble": 1f1b with the
   * weights' gradients where a stage would be idle. */
  const char *schedule;
  int microbatches;     /* 0: twice the stages */
  int chunks;           /* interleaved: of each stage, 2 or more; chunk c of stage s comes before that of stage s + 1,
                           and the last stage's before chunk c + 1 of the first; else 0 or 1 */
  /* What comes from the stage before lies so, and what goes to the next one; NULL on the first, on the last, unless
   * they are interleaved. Meshes must outlive the pipeline, the tensors needn't. */
  const tsr_dist_tensor *input, *output;
} tsr_pipeline_desc;

/* One task of a stage: the forward pass of a microbatch through a chunk, or its backward pass, or a half of that. */
typedef struct tsr_pipeline_step {
  tsr_pipeline_task task;
  int microbatch, chunk;
  tsr_dist_tensor *in;   /* from the stage before; else the gradient of what was sent to the next one */
  tsr_dist_tensor *out;  /* to be written, for the next one; backward: the gradient of `kept`, for the one before */
  tsr_dist_tensor *kept; /* else: what `in` was when this microbatch went forward */
} tsr_pipeline_step;       /* NULL where there is no such stage */
typedef tsr_status (*tsr_pipeline_work)(void *user, const tsr_pipeline_step *step);

/* Collective over the team. Stages that differ in schedule or microbatches, or in what goes between them, are
 * TSR_COLLECTIVE_MISMATCH on all of them. */
TSR_API TSR_MUST_USE tsr_status tsr_pipeline_create(tsr_context *ctx, const tsr_pipeline_desc *desc,
                                                    tsr_pipeline **out);
TSR_API void tsr_pipeline_destroy(tsr_pipeline **p);
/* Calls `work` for the stage's tasks in the order of the schedule, on the calling thread; what it makes is on its way
 * while the next task runs. A status that it returns makes all stages return, with that as cause; then the pipeline is
 * made anew. */
TSR_API TSR_MUST_USE tsr_status tsr_pipeline_run(tsr_pipeline *p, tsr_pipeline_work work, void *user);
TSR_API int tsr_pipeline_microbatches(const tsr_pipeline *p);
/* The schedule, what the stage holds at once, how long stages that take the same are idle, and a line "warning: .."
 * where there are fewer microbatches than stages. */
TSR_API TSR_MUST_USE tsr_status tsr_pipeline_explain(const tsr_pipeline *p, char **text);

#ifdef __cplusplus
}
#endif
#endif
