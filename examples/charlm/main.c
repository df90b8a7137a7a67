/* examples/charlm/main.c - trains a byte-level transformer on a text, in C, on the library's public interface: the
 * gradients by tsr_graph_grad, then AdamW. See usage below; charlm.h says which file does what. */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "charlm.h"

const char *const mode_names[N_MODES] = {"safe", "standard", "aggressive", "deterministic"};

void fail(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fputs("charlm: ", stderr);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  exit(1);
}

void check(tsr_status s) {
  if (s) fail("%s", tsr_status_message(s));
}

typedef struct options {
  config c;
  placement at;
  const char *schedule, *text, *csv, *html, *checkpoint;
  int steps, every, memory; /* memory: KiB; 0: any number */
  int chunks;               /* of a stage's layers; more than one are interleaved */
} options;

static const char usage[] =
    "usage: charlm [option value] ...\n"
    "  --device ID        cpu:0, vulkan:0, ..\n"
    "  --mesh tp=N,dp=N,pp=N   so many ranks: tp cuts the matrices, dp the batch, pp the layers\n"
    "  --transport mpi    the ranks are the processes of mpirun -n; without, threads\n"
    "  --plan FOLDER      writes the programs of a step there, for `tessera plan FILE`, and says what a rank sent\n"
    "                     and held\n"
    "  --steps N          in all, those before a stop included (300)\n"
    "  --mode M           safe: products of f32, compensated sums; standard: of 16 bits; aggressive: of fp8; these two\n"
    "                     with a dynamic scale of the loss; deterministic: f32, the same bits in every run (standard)\n"
    "  --seed N           of parameters, batches and dropout (1)\n"
    "  --text PATH        a file, or the files of a folder (/usr/share/common-licenses)\n"
    "  --batch, --length  sequences a step, bytes of each (8, 128)\n"
    "  --microbatches N   that a batch is cut into (1; of a pipeline twice its stages)\n"
    "  --schedule S       of a pipeline: 1f1b, gpipe, interleaved or zero_bubble (1f1b)\n"
    "  --chunks N         of a stage's layers, which take turns by the schedule interleaved (2)\n"
    "  --layers, --width, --heads   the model (2, 128, 4)\n"
    "  --rate, --warmup   learning rate, steps until it is reached (0.003, 20)\n"
    "  --half T           the 16-bit type of modes standard and aggressive: bf16 or f16 (bf16)\n"
    "  --scale, --growth  of the loss at first and at most, good steps until it is doubled (65536, 200)\n"
    "  --dropout, --clip  share that is dropped, most norm of the gradients (0.1, 1)\n"
    "  --memory KIB       what a step's temporaries may take: some are computed twice then, with the same bits\n"
    "  --csv FILE, --html FILE      the loss of each step, the curve\n"
    "  --checkpoint FILE  goes on from there if it is there, and is written at the end and every --every steps (50)\n";

static double number(const char *name, const char *value, double low, double high) {
  char *end;
  const double v = strtod(value, &end);
  if (end == value || *end || !(v >= low && v <= high)) fail("--%s %s: a number from %g to %g", name, value, low, high);
  return v;
}

static int whole(const char *name, const char *value, int low, int high) {
  const double v = number(name, value, low, high);
  if (v != floor(v)) fail("--%s %s: a whole number", name, value);
  return (int)v;
}

static int mode_of(const char *value) {
  for (int i = 0; i < N_MODES; i++)
    if (!strcmp(value, mode_names[i])) return i;
  fail("--mode %s: safe, standard, aggressive or deterministic", value);
  return 0;
}

static void read_option(options *o, const char *name, const char *v) {
  struct { const char *name; int32_t *to; int low, high; } wholes[] = {
      {"steps", &o->steps, 1, 1 << 24}, {"every", &o->every, 1, 1 << 24},
      {"memory", &o->memory, 1, 1 << 30}, {"seed", &o->c.seed, 0, 1 << 30},
      {"batch", &o->c.batch, 1, 4096}, {"microbatches", &o->c.microbatches, 1, 4096},
      {"length", &o->c.length, 2, 65536}, {"width", &o->c.width, 1, 16384}, {"heads", &o->c.heads, 1, 1024},
      {"layers", &o->c.layers, 1, MAX_LAYERS}, {"chunks", &o->chunks, 2, MAX_LAYERS},
      {"warmup", &o->c.warmup, 0, 1 << 24},
      {"growth", &o->c.growth, 1, 1 << 24}};
  struct { const char *name; float *to; double low, high; } numbers[] = {
      {"rate", &o->c.rate, 0, 10}, {"dropout", &o->c.dropout, 0, 0.99}, {"clip", &o->c.clip, 1e-6, 1e30},
      {"scale", &o->c.scale, 1, 3e38}};
  struct { const char *name, **to; } words[] = {{"device", &o->at.device}, {"mesh", &o->at.mesh},
                                                {"transport", &o->at.transport}, {"plan", &o->at.plan},
                                                {"schedule", &o->schedule},
                                                {"text", &o->text}, {"csv", &o->csv},
                                                {"html", &o->html}, {"checkpoint", &o->checkpoint}};
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
    if (!strcmp(name, wholes[i].name)) { *wholes[i].to = whole(name, v, wholes[i].low, wholes[i].high); return; }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (!strcmp(name, numbers[i].name)) {
      *numbers[i].to = (float)number(name, v, numbers[i].low, numbers[i].high);
      return;
    }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(name, words[i].name)) { *words[i].to = v; return; }
  if (!strcmp(name, "mode")) o->c.mode = mode_of(v);
  else if (strcmp(name, "half")) fail("no option --%s; --help lists them", name);
  else if (strcmp(v, "bf16") && strcmp(v, "f16")) fail("--half %s: bf16 or f16", v);
  else o->c.half = !strcmp(v, "f16");
}

static options read_options(int argc, char **argv) {
  options o = {.c = {.batch = 8, .length = 128, .width = 128, .heads = 4, .layers = 2, .seed = 1, .warmup = 20,
                     .mode = MODE_STANDARD, .rate = 0.003f, .dropout = 0.1f, .clip = 1, .scale = 65536, .growth = 200},
               .text = "/usr/share/common-licenses", .steps = 300, .every = 50};
  for (int i = 1; i < argc; i += 2) {
    if (!strcmp(argv[i], "--help")) {
      fputs(usage, stdout);
      exit(0);
    }
    if (strncmp(argv[i], "--", 2)) fail("%s is no option; --help lists them", argv[i]);
    if (i + 1 == argc) fail("%s needs a value", argv[i]);
    read_option(&o, argv[i] + 2, argv[i + 1]);
  }
  if (o.c.mode != MODE_STANDARD && o.c.mode != MODE_AGGRESSIVE) o.c.scale = 0;
  if (o.memory && o.at.mesh) fail("--memory is for one device");
  const int stages = placement_stages(&o.at);
  if (!o.c.microbatches) o.c.microbatches = stages > 1 ? 2 * stages : 1;
  if (o.schedule && stages < 2) fail("--schedule is for a --mesh with pp");
  const bool interleaved = o.schedule && !strcmp(o.schedule, "interleaved");
  if (o.chunks && !interleaved) fail("--chunks is for --schedule interleaved");
  if (!o.chunks) o.chunks = interleaved ? 2 : 1;
  if (stages * o.chunks > o.c.layers)
    fail("%d layers for %d stages%s", o.c.layers, stages, interleaved ? " with their chunks" : "");
  if (o.c.batch % o.c.microbatches) fail("%d sequences for %d microbatches", o.c.batch, o.c.microbatches);
  if (o.c.width % o.c.heads) fail("%d columns for %d heads", o.c.width, o.c.heads);
  return o;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void train(const options *o, const text *x, const place *at, trainer *t, history *h) {
  const int64_t bytes = (int64_t)o->c.batch * o->c.length;
  int32_t *tokens = malloc((size_t)bytes * sizeof *tokens), *targets = malloc((size_t)bytes * sizeof *targets);
  outcome *rows = realloc(h->rows, (size_t)(o->steps > h->n ? o->steps : h->n) * sizeof *rows);
  if (!tokens || !targets || !rows) fail("out of memory");
  h->rows = rows;
  const double begin = now();
  const int before = h->n;
  while (h->n < o->steps) {
    const int step = h->n + 1;
    text_batch(x, &o->c, step, tokens, targets);
    outcome *last = &h->rows[h->n++];
    *last = trainer_step(t, step, tokens, targets);
    if (at->speaks) progress(step, o->steps, last, now() - begin, bytes * (step - before));
    if (!isfinite(last->loss)) fail("the loss of step %d is not finite", step);
    if (o->checkpoint && (step % o->every == 0 || step == o->steps))
      checkpoint_write(o->checkpoint, &o->c, h, t);
  }
  free(tokens);
  free(targets);
}

static void tell(const options *o, const trainer *t, const history *h, tsr_device *dev) {
  if (o->csv) write_csv(o->csv, h);
  if (o->html) write_html(o->html, &o->c, h, tsr_device_get_info(dev)->name, trainer_n_parameters(t));
  if (h->n) printf("loss %.4f -> %.4f in %d steps\n", (double)h->rows[0].loss, (double)h->rows[h->n - 1].loss, h->n);
}

/* As it was counted: what `tessera plan` says of the programs beforehand. */
static void tell_measured(const place *at, const trainer *t, int steps) {
  int64_t most;
  tsr_device_memory(at->dev, NULL, &most);
  const int64_t here = at->mesh && !at->all ? tsr_mesh_ranks(at->mesh) : 1; /* ranks that share the device */
  printf("a rank sent %lld bytes a step and held %lld bytes at most\n", (long long)(trainer_sent(t) / steps),
         (long long)(most / here));
}

/* One stage, or all of it. */
typedef struct run {
  const options *o;
  const text *x;
  placement at;
  pthread_t thread;
} run;

static void *run_stage(void *user) {
  run *r = user;
  const options *o = r->o;
  history h = {NULL, 0};
  char what[80];
  place at = place_open(&r->at);
  trainer *t = trainer_create(&at, &o->c, (int64_t)o->memory * 1024, o->schedule, o->chunks);
  const bool goes_on = o->checkpoint && checkpoint_read(o->checkpoint, &o->c, &h, t);
  if (goes_on && at.speaks) fprintf(stderr, "goes on after step %d\n", h.n);
  trainer_describe(t, what, sizeof what);
  if (at.speaks)
    printf("%zu bytes of text, %lld parameters%s, %s a step on %s, %s\n", r->x->n, (long long)trainer_n_parameters(t),
           at.s.of > 1 ? " of the first stage" : "", what, tsr_device_get_info(at.dev)->id, mode_names[o->c.mode]);
  const int before = h.n < o->steps ? h.n : o->steps - 1;
  train(o, r->x, &at, t, &h);
  if (at.speaks) tell(o, t, &h, at.dev);
  if (at.speaks && at.plan) tell_measured(&at, t, o->steps - before);
  trainer_destroy(&t);
  place_close(&at);
  free(h.rows);
  return NULL;
}

/* Stages that aren't processes are threads. */
int main(int argc, char **argv) {
  const options o = read_options(argc, argv);
  text x;
  text_read(o.text, &x);
  if (x.n <= (size_t)o.c.length) fail("%s has only %zu bytes", o.text, x.n);
  const int stages = placement_stages(&o.at), threads = o.at.transport ? 1 : stages;
  tsr_team *team = NULL;
  run runs[MAX_LAYERS];
  if (threads > 1) check(tsr_team_create(&(tsr_team_desc){.n_ranks = threads}, &team));
  for (int i = 0; i < threads; i++) {
    runs[i] = (run){.o = &o, .x = &x, .at = o.at};
    runs[i].at.stages = team, runs[i].at.s = (stage){i, threads};
    if (i && pthread_create(&runs[i].thread, NULL, run_stage, &runs[i])) fail("no thread for stage %d", i);
  }
  run_stage(&runs[0]);
  for (int i = 1; i < threads; i++) pthread_join(runs[i].thread, NULL);
  tsr_team_destroy(&team);
  free(x.bytes);
  return 0;
}
