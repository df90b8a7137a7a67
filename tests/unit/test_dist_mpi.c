/* tests/unit/test_dist_mpi.c - programs of a mesh whose ranks are processes: this program starts itself under mpirun as
 * 2, 4 and 8 of them. Results of every kind of program have the bits of ranks of one process, and, under deterministic,
 * those of one device; ranks that differ in what they compile, that are killed or don't come make the others return
 * with an error that names rank, collective, axis and peer. Ranks write what they saw into a folder. */
#define _DEFAULT_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tessera/coll.h"
#include "tests/support/dist_programs.h"
#include "tests/support/dist_rig.h"
#include "tests/support/mpi_rig.h"

enum { DEADLINE = 500, LATE = 30000 }; /* LATE: a machine may be busy */

/* Three axes, of which each has something to do: for 8 ranks. */
static const program three_axes = {
    "three axes", "tp=2,dp=2,ep=2",
    "%x: tensor<2x12x16xf32, {shard = [\"ep\", \"dp\", \"*\"]}>, %w: tensor<2x16x32xf32, {shard = [\"ep\", \"*\", \"tp\"]}>, "
    "%v: tensor<2x32x16xf32, {shard = [\"ep\", \"tp\", \"*\"]}>",
    MM("h", "x", "w") UN("g", "gelu", "h") MM("o", "g", "v")
    "%y = \"tessera.graph.reduce_sum\"(%o) {axes = [0, 1]} : (tensor<2x12x16xf32>) -> tensor<16xf32>\n", "%y", "tensor<16xf32>", ""};

typedef struct rank {
  dist_rig rig; /* whose meshes have the team */
  int me, n;
} rank;

static bool wrong(const rank *k, const char *what, tsr_status st) {
  char text[800];
  snprintf(text, sizeof text, "%s: %s", what, st ? tsr_status_message(st) : "other bits");
  mpi_note(k->me, "wrong", text);
  tsr_status_free(st);
  return false;
}

static int ranks_of(const char *mesh) {
  int n = 1;
  for (const char *at = mesh; (at = strchr(at, '=')); at++) n *= atoi(at + 1);
  return n;
}

static tsr_graph *graph_of(rank *k, const program *p) {
  return rig_graph(&k->rig, p->args, p->body, p->results, p->types);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* By the processes into d->out, then by ranks of this process, or by one device, into other. */
static bool same(rank *k, const program *p, const tsr_dist_options *o, bool one_device) {
  tsr_graph *g = graph_of(k, p);
  tsr_team *team = k->rig.team;
  void *mine[RIG_MOST] = {0};
  rig_data d;
  rig_data_make(g, 5, false, &d);
  tsr_mesh *m = rig_mesh(&k->rig, p->mesh, 2);
  tsr_status st = rig_run(m, g, o, &d);
  tsr_mesh_destroy(&m);
  bool ok = !st || wrong(k, p->what, st);
  if (ok && rig_misses(g, &d, 2, p->what)) ok = wrong(k, p->what, NULL);
  for (int i = 0; i < tsr_graph_n_outputs(g) && ok; i++) {
    const size_t n = tsr_graph_output_info(g, i).bytes;
    memcpy(mine[i] = malloc(n + 1), d.out[i], n);
    memset(d.out[i], 0x5a, n);
  }
  k->rig.team = NULL;
  m = rig_mesh(&k->rig, p->mesh, 2);
  k->rig.team = team;
  if (ok) st = one_device ? rig_run_one(k->rig.cpu[0], g, &o->compile, &d) : rig_run(m, g, o, &d);
  if (ok && st) ok = wrong(k, p->what, st);
  for (int i = 0; i < tsr_graph_n_outputs(g) && ok; i++)
    if (memcmp(mine[i], d.out[i], tsr_graph_output_info(g, i).bytes)) ok = wrong(k, p->what, NULL);
  for (int i = 0; i < RIG_MOST; i++) free(mine[i]);
  tsr_mesh_destroy(&m);
  rig_data_free(g, &d);
  tsr_graph_destroy(&g);
  return ok;
}

enum { N_WAYS = 4 };

static void results(rank *k) {
  static const tsr_dist_options ways[N_WAYS] = {{.no_overlap = false},
                                          {.no_overlap = true, .bucket_bytes = -1},
                                          {.compile = {.policy = TSR_POLICY_DETERMINISTIC}},
                                          {.row_chunks = 2}};
  int n = 0;
  char text[40];
  for (size_t i = 0; i <= sizeof programs / sizeof *programs; i++) {
    const program *p = i < sizeof programs / sizeof *programs ? &programs[i] : &three_axes;
    for (int way = 0; way < N_WAYS && ranks_of(p->mesh) == k->n; way++) n += same(k, p, &ways[way], way == 2);
  }
  snprintf(text, sizeof text, "%d", n);
  mpi_note(k->me, "same", text);
}

/* Saved by all processes, loaded by each on three ranks of its own; then by all, of whom one asks for another name. */
static bool saved(rank *k, tsr_dist_tensor *t, const float *whole) {
  static const char *const name[] = {"t"}, *const other[] = {"u"}, *const axes[] = {"dp"}, *const rows[] = {"row"};
  const tsr_shardspec spec = {.partition = rows, .mesh_axes = axes, .n = 1};
  char path[700];
  float back[24] = {0};
  tsr_team *team = k->rig.team;
  tsr_dist_tensor *u = NULL;
  snprintf(path, sizeof path, "%s/saved", mpi_folder());
  tsr_status st = tsr_dist_save(path, name, &t, 1);
  k->rig.team = NULL;
  tsr_mesh *m = rig_mesh(&k->rig, "dp=3", 1);
  k->rig.team = team;
  if (!st) st = tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){2, {12, 2}}, &spec, TSR_UNEVEN_PAD, &u);
  if (!st) st = tsr_dist_load(path, name, &u, 1);
  if (!st) st = tsr_dist_tensor_gather(u, back);
  tsr_dist_tensor_destroy(&u);
  tsr_mesh_destroy(&m);
  if (st || memcmp(whole, back, sizeof back)) return wrong(k, "saved", st);
  st = tsr_dist_load(path, k->me == 1 ? other : name, &t, 1);
  const bool ok = st && strstr(tsr_status_message(st), k->me == 1 ? "\"u\" are not there" : "rank 1 couldn't load");
  return ok ? tsr_status_free(st), true : wrong(k, "another name", st);
}

/* What a process has, and what it hasn't. */
static void parts(rank *k) {
  const char *const axes[] = {"dp"}, *const rows[] = {"row"};
  tsr_mesh *m = rig_mesh(&k->rig, k->n == 2 ? "dp=2" : k->n == 4 ? "dp=4" : "dp=8", 1);
  float whole[24], back[24];
  tsr_dist_tensor *t;
  tsr_buffer *b;
  char *text;
  for (int i = 0; i < 24; i++) whole[i] = (float)i, back[i] = -1;
  const tsr_shardspec spec = {.partition = rows, .mesh_axes = axes, .n = 1};
  tsr_status st = tsr_dist_tensor_create(m, TSR_F32, (tsr_shape){2, {12, 2}}, &spec, TSR_UNEVEN_PAD, &t);
  if (!st) st = tsr_dist_tensor_scatter(t, whole);
  if (!st) st = tsr_dist_tensor_gather(t, back);
  if (!st) st = tsr_mesh_print(m, &text);
  if (st) { wrong(k, "parts", st); return; }
  const size_t rows_here = (size_t)(12 + k->n - 1) / (size_t)k->n;
  bool ok = !memcmp(whole, back, sizeof whole) && tsr_dist_tensor_allocated(t) == rows_here * 8;
  ok &= tsr_mesh_rank(m) == k->me && strstr(text, "another process") && strstr(text, "cpu:0");
  ok &= rig_says(tsr_dist_tensor_local(t, (k->me + 1) % k->n, &b), "part is in another process");
  ok = ok && saved(k, t, whole);
  mpi_note(k->me, ok ? "parts" : "wrong", text);
  tsr_text_free(k->rig.ctx, &text);
  tsr_dist_tensor_destroy(&t);
  tsr_mesh_destroy(&m);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static const program summed = {"", "tp=2,dp=2", "%x: tensor<8x6xf32, {shard = [\"dp\", \"tp\"]}>",
                               "%y = \"tessera.graph.reduce_sum\"(%x) {axes = [0, 1]}\n", "%y", "tensor<f32>", ""};

/* Rank 2 has another graph, then can't compile at all; a mesh and teams that don't fit. */
static void disagree(rank *k) {
  program other = summed;
  other.body = "%y = \"tessera.graph.reduce_max\"(%x) {axes = [0, 1]}\n";
  tsr_mesh *m = rig_mesh(&k->rig, summed.mesh, 1), *no = NULL;
  tsr_graph *g = graph_of(k, k->me == 2 ? &other : &summed);
  tsr_dist_program *p;
  tsr_status st = tsr_dist_program_compile(m, g, NULL, &p);
  mpi_note(k->me, "differs", st ? tsr_status_message(st) : "no error");
  tsr_status_free(st);
  const tsr_dist_options bad = {.topology = k->me == 2 ? "moon" : NULL};
  st = tsr_dist_program_compile(m, g, &bad, &p);
  mpi_note(k->me, "alone", st ? tsr_status_message(st) : "no error");
  tsr_status_free(st);
  const char *const axes[] = {"dp"};
  tsr_mesh_desc d = {.axes = axes, .sizes = (int64_t[]){3}, .n_axes = 1, .devices = k->rig.cpu, .n_devices = 1};
  d.team = k->rig.team;
  bool ok = rig_says(tsr_mesh_create(k->rig.ctx, &d, &no), "the mesh dp=3 has 3 ranks, the team 4");
  st = tsr_team_create(&(tsr_team_desc){.n_ranks = 3}, &d.team);
  ok &= !st && rig_says(tsr_mesh_create(k->rig.ctx, &d, &no), "ranks must be processes");
  mpi_note(k->me, ok ? "refused" : "wrong", "teams that don't fit");
  tsr_team_destroy(&d.team);
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
}

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Rank 3 isn't there when the others run. */
static void missing(rank *k, bool killed) {
  char text[900];
  tsr_mesh *m = rig_mesh(&k->rig, summed.mesh, 1);
  tsr_graph *g = graph_of(k, &summed);
  tsr_dist_program *p = NULL;
  tsr_dist_tensor *in = NULL, *out = NULL;
  tsr_status st = tsr_dist_program_compile(m, g, NULL, &p);
  if (!st) st = tsr_dist_program_input(p, 0, &in);
  if (!st) st = tsr_dist_program_output(p, 0, &out);
  if (!st) st = tsr_team_run(k->rig.team, k->me, &(tsr_coll){.op = TSR_COLL_BARRIER});
  if (st) { wrong(k, "missing", st); return; }
  if (k->me == 3 && killed) raise(SIGKILL);
  if (k->me != 3) {
    const int64_t from = now_ms();
    st = tsr_dist_program_run(p, &in, &out);
    snprintf(text, sizeof text, "%d %s", (int)(now_ms() - from), st ? tsr_status_message(st) : "no error");
    mpi_note(k->me, "back", text);
    tsr_status_free(st);
    tsr_status again = tsr_dist_program_run(p, &in, &out);
    if (!again || !strstr(tsr_status_message(again), "compile it anew")) wrong(k, "again", again);
    else tsr_status_free(again);
  }
  if (killed) fflush(NULL), _exit(0); /* MPI has lost a process: its orderly end would wait for it */
  tsr_dist_tensor_destroy(&in), tsr_dist_tensor_destroy(&out);
  tsr_dist_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_mesh_destroy(&m);
}

static int rank_main(const char *what) {
  rank k = {.me = 0};
  rig_open(&k.rig);
  const bool faults = !strcmp(what, "kill") || !strcmp(what, "late");
  tsr_status st =
      tsr_team_create(&(tsr_team_desc){.transport = "mpi", .deadline_ms = faults ? DEADLINE : 0}, &k.rig.team);
  if (st && tsr_status_code(st) == TSR_UNAVAILABLE) return printf("%s\n", tsr_status_message(st)), 77;
  if (st) return printf("%s\n", tsr_status_message(st)), 1;
  k.me = tsr_team_rank(k.rig.team), k.n = tsr_team_size(k.rig.team);
  if (!strcmp(what, "results")) results(&k), parts(&k);
  if (!strcmp(what, "disagree")) disagree(&k);
  if (faults) missing(&k, !strcmp(what, "kill"));
  tsr_team_destroy(&k.rig.team);
  rig_close(&k.rig);
  return 0;
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

static int n_wrong;

static void expect(bool ok, const char *what, const char *said) {
  if (!ok) n_wrong++, printf("FAILED %s:\n%s\n", what, said);
  else printf("ok %s\n", what);
}

static int start(const char *self, const char *what, int ranks, const char *knobs, char *said, size_t cap) {
  return mpi_start(&(mpi_start_desc){.self = self, .what = what, .knobs = knobs, .ranks = ranks}, said, cap);
}

static void check_results(const char *self, char *said, size_t cap) {
  for (int n = 2; n <= 8; n *= 2) {
    int cases = 0;
    char want[40], what[80];
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) cases += N_WAYS * (ranks_of(programs[i].mesh) == n);
    snprintf(want, sizeof want, "same %d", n == 8 ? cases + N_WAYS : cases);
    snprintf(what, sizeof what, "%s: the same on %d processes", want, n);
    const int rc = start(self, "results", n, n == 4 ? "TSR_COLL_SHARED=0" : NULL, said, cap);
    expect(!rc && !strstr(said, "wrong") && mpi_lines(said, want, "") == n && mpi_lines(said, "parts", "") == n, what,
           said);
  }
}

static void check_faults(const char *self, char *said, size_t cap) {
  int rc = start(self, "disagree", 4, NULL, said, cap);
  expect(!rc && mpi_lines(said, "differs", "rank 2 has another program than rank 0") == 4 &&
             mpi_lines(said, "alone", "rank 2 couldn't compile it") == 3 &&
             mpi_lines(said, "alone", "no topology \"moon\"") == 1 && mpi_lines(said, "refused", "") == 4,
         "ranks that disagree", said);
  /* Rank 3 is in the groups 2, 3 along tp and 1, 3 along dp: rank 0 learns of it from one that waited for it. */
  for (int killed = 0; killed < 1 + mpi_recovers(); killed++) {
    int slowest = -1, ms;
    start(self, killed ? "kill" : "late", 4, NULL, said, cap);
    for (const char *at = said; (at = strstr(at, "back ")); at += 5)
      if (sscanf(at, "back %d", &ms) == 1 && ms > slowest) slowest = ms;
    expect(mpi_lines(said, "back", "all_reduce sum of 1 f32") == 3 &&
               mpi_lines(said, "back", "the mesh's ranks ") == 3 && mpi_lines(said, "back", " along axis ") == 3 &&
               mpi_lines(said, "back", "within 500 ms") == 3 && !strstr(said, "wrong") && slowest < DEADLINE + LATE,
           killed ? "a killed rank" : "a rank that doesn't come", said);
  }
}

int main(int argc, char **argv) {
  static char said[1 << 16];
  if (argc == 4 && !strcmp(argv[1], "rank")) {
    mpi_note_in(argv[3]);
    return rank_main(argv[2]);
  }
  if (!mpi_is_here()) return puts("skipped: no mpirun (openmpi-bin)"), 77;
  if (start(argv[0], "nothing", 2, NULL, said, sizeof said) == 77) return printf("skipped: %s", said), 77;
  check_results(argv[0], said, sizeof said);
  check_faults(argv[0], said, sizeof said);
  return n_wrong != 0;
}
