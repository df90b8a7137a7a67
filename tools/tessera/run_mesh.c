/* tools/tessera/run_mesh.c - see run_mesh.h. */
#include "tools/tessera/run_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tools/tessera/mesh_place.h"

typedef struct running {
  tsr_context *ctx;
  const mesh_run *r;
  mesh_place at;
  tsr_graph *g;
  tsr_dist_program *p;
  tsr_dist_tensor **in, **out;
  void **data;
  double **want, **tolerance;
  int n_in, n_out;
} running;

static size_t numbers_of(const tsr_tensor_info *t) {
  return cli_count(&t->shape) * (size_t)dtype_parts(t->dtype);
}

void mesh_fill_random(const tsr_tensor_info *t, uint64_t *state, void *data) {
  const tsr_dtype part = dtype_part(t->dtype);
  for (size_t k = 0; k < numbers_of(t); k++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    const double u = (double)(*state >> 11) / 9007199254740992.0;
    dtype_store(part, data, k, dtype_is_float(part) ? 2 * u - 1 : floor(2 * u));
  }
}

static bool make_data(running *x) {
  uint64_t s = x->r->seed * 2654435761u + 1;
  x->n_in = tsr_graph_n_inputs(x->g), x->n_out = tsr_graph_n_outputs(x->g);
  x->in = calloc((size_t)x->n_in + 1, sizeof *x->in), x->out = calloc((size_t)x->n_out + 1, sizeof *x->out);
  x->data = calloc((size_t)x->n_in + 1, sizeof *x->data);
  x->want = calloc((size_t)x->n_out + 1, sizeof *x->want);
  x->tolerance = calloc((size_t)x->n_out + 1, sizeof *x->tolerance);
  if (!x->in || !x->out || !x->data || !x->want || !x->tolerance) return false;
  for (int i = 0; i < x->n_in; i++) {
    const tsr_tensor_info t = tsr_graph_input_info(x->g, i);
    if (!(x->data[i] = calloc(1, t.bytes + 16))) return false;
    mesh_fill_random(&t, &s, x->data[i]);
  }
  for (int i = 0; i < x->n_out; i++) {
    const tsr_tensor_info t = tsr_graph_output_info(x->g, i);
    x->want[i] = calloc(numbers_of(&t) + 1, sizeof(double));
    x->tolerance[i] = calloc(numbers_of(&t) + 1, sizeof(double));
    if (!x->want[i] || !x->tolerance[i]) return false;
  }
  return true;
}

/* Each rank rounds its part of a sum: twice what one device may be off by. */
static int compare(running *x) {
  double worst = 0;
  int64_t wrong = 0;
  for (int i = 0; i < x->n_out; i++) {
    const tsr_tensor_info t = tsr_graph_output_info(x->g, i);
    void *have = calloc(1, t.bytes + 16);
    tsr_status st = have ? tsr_dist_tensor_gather(x->out[i], have) : NULL;
    if (st) return free(have), cli_fail(st);
    for (size_t k = 0; have && k < numbers_of(&t); k++) {
      const double h = dtype_load(dtype_part(t.dtype), have, k), w = x->want[i][k];
      const double off = h == w || (isnan(h) && isnan(w)) ? 0 : fabs(h - w);
      if (!(off <= 2 * x->tolerance[i][k])) wrong++;
      if (off > worst) worst = off;
    }
    free(have);
  }
  if (!x->at.quiet) {
    printf("results %s the reference's: largest difference %.3g", wrong ? "are not" : "are", worst);
    if (wrong) printf(", %lld elements beyond twice the tolerance", (long long)wrong);
    printf("\n");
  }
  return wrong ? EXIT_WRONG : EXIT_OK;
}

static int tell(running *x, tsr_status (*what)(const tsr_dist_program *p, char **text)) {
  char *text;
  if (x->at.quiet) return EXIT_OK;
  tsr_status st = what(x->p, &text);
  if (st) return cli_fail(st);
  fputs(text, stdout);
  tsr_text_free(x->ctx, &text);
  return EXIT_OK;
}

static tsr_status check(const tsr_dist_program *p, char **text) { return tsr_dist_program_check(p, text, NULL); }

/* A second run says what goes on beside computing: the first one waits for memory. */
static int audit(running *x) {
  char *text;
  int failed;
  tsr_status st = tsr_dist_program_run(x->p, x->in, x->out);
  if (!st) st = tsr_dist_program_check(x->p, &text, &failed);
  if (st) return cli_fail(st);
  if (!x->at.quiet) fputs(text, stdout);
  tsr_text_free(x->ctx, &text);
  return failed ? EXIT_WRONG : EXIT_OK;
}

static int run_all(running *x, const char *text, size_t n) {
  const tsr_dist_options o = {.compile = {.policy = x->r->policy}, .row_chunks = (int)x->r->row_chunks};
  char *why = NULL;
  tsr_status st = tsr_graph_parse(x->ctx, text, n, x->r->file, &x->g);
  if (!st && x->r->search) st = tsr_graph_autoshard(x->g, x->at.mesh, &o, &why);
  if (!st) st = tsr_dist_program_compile(x->at.mesh, x->g, &o, &x->p);
  if (st) return tsr_text_free(x->ctx, &why), cli_fail(st);
  if (why && !x->at.quiet) fputs(why, stdout);
  tsr_text_free(x->ctx, &why);
  if (!make_data(x)) return cli_usage("run", "out of memory");
  st = tsr_graph_reference(x->g, (const void *const *)x->data, x->want, x->tolerance);
  for (int i = 0; i < x->n_in && !st; i++) {
    st = tsr_dist_program_input(x->p, i, &x->in[i]);
    if (!st) st = tsr_dist_tensor_scatter(x->in[i], x->data[i]);
  }
  for (int i = 0; i < x->n_out && !st; i++) st = tsr_dist_program_output(x->p, i, &x->out[i]);
  if (!st) st = tsr_dist_program_run(x->p, x->in, x->out);
  if (st) return cli_fail(st);
  if (x->r->audit) return audit(x);
  int rc = x->r->explain ? tell(x, tsr_dist_program_explain) : EXIT_OK;
  if (!rc) rc = tell(x, tsr_dist_program_profile);
  if (!rc) rc = tell(x, check);
  return rc ? rc : compare(x);
}

int run_mesh(tsr_context *ctx, const mesh_run *r) {
  running x = {.ctx = ctx, .r = r};
  size_t n;
  char *text = cli_read_file(r->file, &n);
  int rc = text ? mesh_place_open(ctx, "run", r->mesh, r->devices, r->transport, &x.at) : EXIT_USAGE;
  if (!rc) rc = run_all(&x, text, n);
  for (int i = 0; i < x.n_in && x.in && x.data; i++) tsr_dist_tensor_destroy(&x.in[i]), free(x.data[i]);
  for (int i = 0; i < x.n_out && x.out && x.want && x.tolerance; i++) {
    tsr_dist_tensor_destroy(&x.out[i]);
    free(x.want[i]), free(x.tolerance[i]);
  }
  free(x.in), free(x.out), free(x.data), free(x.want), free(x.tolerance), free(text);
  tsr_dist_program_destroy(&x.p);
  tsr_graph_destroy(&x.g);
  mesh_place_close(&x.at);
  return rc;
}

int check_mesh(int argc, char **argv) {
  const char *policy = NULL;
  mesh_run r = {.audit = true};
  const option options[] = {{.name = "--mesh", .text = &r.mesh},
                            {.name = "--device", .text = &r.devices},
                            {.name = "--transport", .text = &r.transport},
                            {.name = "--policy", .text = &policy},
                            {.name = "--search", .flag = &r.search}};
  if (!cli_options("check", &argc, argv, options, 5)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("check", "--mesh needs one FILE of IR text");
  if (r.transport && strcmp(r.transport, "mpi")) return cli_usage("check", "--transport is mpi");
  r.file = argv[1];
  tsr_context *ctx = NULL;
  tsr_status st = policy ? tsr_policy_parse(policy, &r.policy) : NULL;
  if (!st) st = cli_context(&ctx);
  const int rc = st ? cli_fail(st) : run_mesh(ctx, &r);
  tsr_context_destroy(&ctx);
  return rc;
}
