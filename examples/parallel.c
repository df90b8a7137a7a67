/* examples/parallel.c - the kinds of parallelism, each as a program of a mesh against the same computation on one
 * device: tensor (by columns, rows and sequence), data, ZeRO 1 to 3, expert, pipeline, context (ring attention). The
 * first ones are graphs for one device with shards on their inputs; pipeline and context are written as the program of
 * a rank, with its collectives. On the public API alone.
 *   parallel [DEVICE...]    devices of the mesh, one after the other; cpu:0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/dist.h"

enum { MOST = 8, RANKS = 4, STAGES = 4, MICROBATCHES = 8, ROWS = 4, WIDTH = 16 };

static tsr_context *ctx;
static tsr_device *devices[MOST];
static int n_devices;

static void must(tsr_status st) {
  if (!st) return;
  fprintf(stderr, "%s\n", tsr_status_message(st));
  exit(1);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

#define OP1(r, op, a)              "%" r " = \"tessera.graph." op "\"(%" a ")\n"
#define OP2(r, op, a, b)           "%" r " = \"tessera.graph." op "\"(%" a ", %" b ")\n"
#define CUT(dims, entries)         "tensor<" dims "xf32, {shard = [" entries "]}>"

/* A layer of a transformer's feed-forward part. */
#define FORWARD                                                                                                        \
  OP2("h", "matmul", "x", "w") OP1("a", "gelu", "h") OP2("y", "matmul", "a", "v") OP2("r", "add", "x", "y")
/* A step of gradient descent on two layers with squares between them, all gradients written out. */
#define STEP(w_types, v_types)                                                                                         \
  OP2("h", "matmul", "x", "w")                                                                                         \
  OP2("a", "mul", "h", "h")                                                                                            \
  OP2("y", "matmul", "a", "v")                                                                                         \
  OP2("d", "sub", "y", "t")                                                                                            \
  "%gv = \"tessera.graph.matmul\"(%a, %d) {transpose_a = true}\n"                                                      \
  "%ga = \"tessera.graph.matmul\"(%d, %v) {transpose_b = true}\n"                                                      \
  OP2("gh", "mul", "ga", "h")                                                                                          \
  "%gw = \"tessera.graph.matmul\"(%x, %gh) {transpose_a = true}\n"                                                     \
  "%w1, %mw1 = \"tessera.graph.sgd\"(%w, %gw, %rate, %mw) {momentum = 0.9} : " w_types "\n"                            \
  "%v1, %mv1 = \"tessera.graph.sgd\"(%v, %gv, %rate, %mv) {momentum = 0.9} : " v_types "\n"
#define SGD(dims, weight, state)                                                                                       \
  "(tensor<" dims "xf32>, tensor<" dims "xf32>, tensor<f32>, tensor<" dims                                             \
  "xf32>) -> (" CUT(dims, weight) ", " CUT(dims, state) ")"
#define ALL "\"*\", \"*\""
#define DP  "\"dp\", \"*\""
#define TP  "\"tp\", \"*\""
#define COLUMNS "\"*\", \"tp\""
#define EP  "\"ep\", \"*\", \"*\""
#define TO_RANKS CUT("4x4x3x16", "\"ep\", \"*\", \"*\", \"*\"")
#define LAYER_ARGS(x) "%x: " CUT("8x16", x) ", %w: " CUT("16x64", COLUMNS) ", %v: " CUT("64x16", TP)
#define STEP_ARGS(weight, state)                                                                                       \
  "%x: " CUT("32x16", DP) ", %t: " CUT("32x16", DP) ", %w: " CUT("16x64", weight)                                      \
  ", %v: " CUT("64x16", weight) ", %mw: " CUT("16x64", state) ", %mv: " CUT("64x16", state) ", %rate: tensor<f32>"
#define STEP_BODY(weight, state) STEP(SGD("16x64", weight, state), SGD("64x16", weight, state))
#define STEP_RESULTS             "%w1, %mw1, %v1, %mv1"
#define STEP_TYPES               "tensor<16x64xf32>, tensor<16x64xf32>, tensor<64x16xf32>, tensor<64x16xf32>"

typedef struct program {
  const char *name, *mesh[2], *args, *body, *results, *types;
  int sizes[2];
} program;

/* Tokens of each group go to the experts' places by a mask of ones and zeros, to the experts' ranks, and back. */
#define EXPERT_ARGS                                                                                                    \
  "%x: " CUT("4x6x16", EP) ", %mask: " CUT("4x6x12", EP)                                                               \
  ", %w: " CUT("4x16x32", EP) ", %v: " CUT("4x32x16", EP)
#define EXPERT_BODY                                                                                                    \
  "%p = \"tessera.graph.matmul\"(%mask, %x) {transpose_a = true}\n"                                                    \
  "%q = \"tessera.graph.reshape\"(%p) {shape = [4, 4, 3, 16]}\n"                                                       \
  "%s = \"tessera.graph.transpose\"(%q) {perm = [1, 0, 2, 3]} : (tensor<4x4x3x16xf32>) -> " TO_RANKS "\n"              \
  "%e = \"tessera.graph.reshape\"(%s) {shape = [4, 12, 16]}\n"                                                         \
  OP2("h", "matmul", "e", "w")                                                                                         \
  OP1("a", "gelu", "h")                                                                                                \
  OP2("o", "matmul", "a", "v")                                                                                         \
  "%b = \"tessera.graph.reshape\"(%o) {shape = [4, 4, 3, 16]}\n"                                                       \
  "%c = \"tessera.graph.transpose\"(%b) {perm = [1, 0, 2, 3]} : (tensor<4x4x3x16xf32>) -> " TO_RANKS "\n"              \
  "%f = \"tessera.graph.reshape\"(%c) {shape = [4, 12, 16]}\n"                                                         \
  OP2("y", "matmul", "mask", "f")

static const program programs[] = {
    {"tensor, by columns and rows", {"tp"}, LAYER_ARGS(ALL), FORWARD, "%r", "tensor<8x16xf32>", {RANKS}},
    {"tensor, by the sequence between", {"tp"}, LAYER_ARGS(TP), FORWARD, "%r", "tensor<8x16xf32>", {RANKS}},
    {"data and tensor", {"tp", "dp"}, LAYER_ARGS(DP), FORWARD, "%r", "tensor<8x16xf32>", {2, 2}},
    {"data", {"dp"}, STEP_ARGS(ALL, ALL), STEP_BODY(ALL, ALL), STEP_RESULTS, STEP_TYPES, {RANKS}},
    {"ZeRO 1 and 2: state, gradients cut", {"dp"}, STEP_ARGS(ALL, DP), STEP_BODY(ALL, DP), STEP_RESULTS, STEP_TYPES, {RANKS}},
    {"ZeRO 3: weights cut too", {"dp"}, STEP_ARGS(DP, DP), STEP_BODY(DP, DP), STEP_RESULTS, STEP_TYPES, {RANKS}},
    {"expert", {"ep"}, EXPERT_ARGS, EXPERT_BODY, "%y", "tensor<4x6x16xf32>", {RANKS}},
};

static tsr_graph *graph_of(const char *args, const char *body, const char *results, const char *types) {
  static char text[1 << 16];
  tsr_graph *g;
  snprintf(
      text, sizeof text,
      "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%s):\n%s\"tessera.graph.return\"(%s) : (%s) -> ()\n"
      "}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n",
      args, body, results, types);
  must(tsr_graph_parse(ctx, text, strlen(text), "parallel", &g));
  return g;
}

static tsr_mesh *mesh_of(const char *const *axes, const int *sizes, int n) {
  const int64_t wide[2] = {sizes[0], n > 1 ? sizes[1] : 1};
  tsr_mesh *m;
  must(tsr_mesh_create(
      ctx, &(tsr_mesh_desc){.axes = axes, .sizes = wide, .n_axes = n, .devices = devices, .n_devices = n_devices}, &m));
  return m;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static void fill(const char *name, float *v, size_t n) {
  static uint64_t s = 1;
  for (size_t i = 0; i < n; i++) {
    s = s * 6364136223846793005u + 1442695040888963407u;
    v[i] = ((float)(s >> 40) / 8388608.0f - 1) * 0.5f;
    if (!strcmp(name, "mask")) v[i] = i % 12 == (i / 12 * 5) % 12; /* a place for each token */
    if (!strcmp(name, "rate")) v[i] = 0.01f;
  }
}

/* All outputs of g on one device, one behind the other. */
static void on_one_device(const tsr_graph *g, float *const *in, float *out) {
  tsr_program *p;
  tsr_binding bi[MOST] = {{0}}, bo[MOST] = {{0}};
  must(tsr_program_compile(devices[0], g, NULL, &p));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    must(tsr_buffer_create(devices[0], tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &bi[i].buffer));
    must(tsr_buffer_write(bi[i].buffer, 0, in[i], tsr_program_input(p, i).bytes));
  }
  for (int i = 0; i < tsr_program_n_outputs(p); i++)
    must(tsr_buffer_create(devices[0], tsr_program_output(p, i).bytes, TSR_MEMORY_DEVICE, &bo[i].buffer));
  must(tsr_program_run(p, NULL, bi, bo));
  for (int i = 0; i < tsr_program_n_outputs(p); out += tsr_program_output(p, i++).bytes / sizeof *out)
    must(tsr_buffer_read(bo[i].buffer, 0, out, tsr_program_output(p, i).bytes));
  for (int i = 0; i < MOST; i++) tsr_buffer_destroy(&bi[i].buffer), tsr_buffer_destroy(&bo[i].buffer);
  tsr_program_destroy(&p);
}

/* Says how far the mesh's results are from one device's; 1: too far. */
static int tell(const char *name, const tsr_dist_program *p, const float *one, const float *many, size_t n) {
  double worst = 0, largest = 1e-30;
  for (size_t i = 0; i < n; i++) {
    if (!(fabs((double)one[i] - many[i]) <= worst)) worst = fabs((double)one[i] - many[i]);
    if (fabs((double)one[i]) > largest) largest = fabs((double)one[i]);
  }
  printf("%-40s %2d collectives:", name, tsr_dist_program_n_collectives(p));
  for (int i = 0; i < tsr_dist_program_n_collectives(p) && i < 4; i++) {
    const tsr_dist_collective c = tsr_dist_program_collective(p, i);
    printf(" %s[%s]", c.op, c.axes);
  }
  const int bad = !(worst <= 1e-5 * largest);
  printf("%s; %lld bytes a rank; off by %.1e of %.1e%s\n", tsr_dist_program_n_collectives(p) > 4 ? " .." : "",
         (long long)tsr_dist_program_bytes(p), worst, largest, bad ? ": too far" : "");
  return bad;
}

static int run_program(const program *x) {
  enum { NUMBERS = 1 << 14 };
  static float in_data[MOST][NUMBERS], one[NUMBERS], many[NUMBERS];
  float *in[MOST];
  tsr_graph *g = graph_of(x->args, x->body, x->results, x->types);
  tsr_mesh *m = mesh_of(x->mesh, x->sizes, x->mesh[1] ? 2 : 1);
  tsr_dist_program *p;
  tsr_dist_tensor *ti[MOST] = {NULL}, *to[MOST] = {NULL};
  size_t n = 0;
  must(tsr_dist_program_compile(m, g, NULL, &p));
  for (int i = 0; i < tsr_graph_n_inputs(g); i++) {
    const tsr_tensor_info t = tsr_graph_input_info(g, i);
    in[i] = in_data[i];
    fill(t.name, in[i], t.bytes / sizeof(float));
    must(tsr_dist_program_input(p, i, &ti[i]));
    must(tsr_dist_tensor_scatter(ti[i], in[i]));
  }
  on_one_device(g, in, one);
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) must(tsr_dist_program_output(p, i, &to[i]));
  must(tsr_dist_program_run(p, ti, to));
  for (int i = 0; i < tsr_graph_n_outputs(g); i++) {
    must(tsr_dist_tensor_gather(to[i], many + n));
    n += tsr_graph_output_info(g, i).bytes / sizeof(float);
  }
  const int bad = tell(x->name, p, one, many, n);
  for (int i = 0; i < MOST; i++) tsr_dist_tensor_destroy(&ti[i]), tsr_dist_tensor_destroy(&to[i]);
  tsr_dist_program_destroy(&p);
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g);
  return bad;
}

/* ---- programs of a rank ------------------------------------------------------------------------------------------ */

typedef struct text {
  char s[1 << 15];
  size_t n;
} text;

#define PUT(t, ...) ((t)->n += (size_t)snprintf((t)->s + (t)->n, sizeof(t)->s - (t)->n, __VA_ARGS__))

static void write_part(tsr_dist_tensor *t, int rank, const float *v, size_t n) {
  tsr_buffer *b;
  must(tsr_dist_tensor_local(t, rank, &b));
  must(tsr_buffer_write(b, 0, v, n * sizeof *v));
}

static void read_part(tsr_dist_tensor *t, int rank, float *v, size_t n) {
  tsr_buffer *b;
  must(tsr_dist_tensor_local(t, rank, &b));
  must(tsr_buffer_read(b, 0, v, n * sizeof *v));
}

/* Each stage has one layer. In round k stage s computes microbatch k - s, which came from the stage before while round
 * k - 1 was computed elsewhere; `first` is 1 on the first stage alone. */
static int pipeline(void) {
  static text t, whole;
  static float x[MICROBATCHES * ROWS * WIDTH], w[STAGES][WIDTH * WIDTH], one[MICROBATCHES * ROWS * WIDTH],
      many[MICROBATCHES * ROWS * WIDTH];
  char results[512] = "";
  const int rounds = MICROBATCHES + STAGES - 1;
  PUT(&t, "%%c1 = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<1x1xf32>}\n%%other = "
          "\"tessera.graph.sub\"(%%c1, %%first)\n");
  for (int k = 0; k < rounds; k++) {
    if (k < MICROBATCHES)
      PUT(&t,
          "%%x%d = \"tessera.graph.slice\"(%%x) {starts = [%d, 0], sizes = [%d, %d]}\n%%i%d = "
          "\"tessera.graph.mul\"(%%x%d, %%first)\n",
          k, k * ROWS, ROWS, WIDTH, k, k);
    if (k) PUT(&t, "%%j%d = \"tessera.graph.mul\"(%%r%d, %%other)\n", k, k - 1);
    const char *in = !k ? "i" : k < MICROBATCHES ? "in" : "j";
    if (k && k < MICROBATCHES) PUT(&t, "%%in%d = \"tessera.graph.add\"(%%i%d, %%j%d)\n", k, k, k);
    PUT(&t, "%%m%d = \"tessera.graph.matmul\"(%%%s%d, %%w)\n%%y%d = \"tessera.graph.tanh\"(%%m%d)\n", k, in, k, k, k);
    if (k + 1 < rounds)
      PUT(&t,
          "%%s%d = \"tessera.graph.send\"(%%y%d) {axes = \"pp\", ranks = %d}\n%%r%d = \"tessera.graph.recv\"(%%s%d) "
          "{axes = \"pp\", ranks = %d}\n",
          k, k, STAGES, k, k, STAGES);
    if (k >= STAGES - 1)
      snprintf(results + strlen(results), sizeof results - strlen(results), "%s%%y%d", *results ? ", " : "", k);
  }
  PUT(&t, "%%out = \"tessera.graph.concat\"(%s) {axis = 0}\n", results);
  for (int s = 0; s < STAGES; s++)
    PUT(&whole, "%%m%d = \"tessera.graph.matmul\"(%%%s%d, %%w%d)\n%%y%d = \"tessera.graph.tanh\"(%%m%d)\n", s,
        s ? "y" : "x", s ? s - 1 : 0, s, s, s);
  tsr_graph *g = graph_of("%x: tensor<32x16xf32>, %w: tensor<16x16xf32>, %first: tensor<1x1xf32>", t.s, "%out",
                          "tensor<32x16xf32>");
  tsr_graph *all = graph_of("%x0: tensor<32x16xf32>, %w0: tensor<16x16xf32>, %w1: tensor<16x16xf32>, %w2: "
                            "tensor<16x16xf32>, %w3: tensor<16x16xf32>",
                            whole.s, "%y3", "tensor<32x16xf32>");
  tsr_mesh *m = mesh_of((const char *[]){"pp"}, (int[]){STAGES}, 1);
  tsr_dist_program *p;
  tsr_dist_tensor *ti[3], *to;
  must(tsr_dist_program_compile(m, g, NULL, &p));
  for (int i = 0; i < 3; i++) must(tsr_dist_program_input(p, i, &ti[i]));
  must(tsr_dist_program_output(p, 0, &to));
  fill("x", x, sizeof x / sizeof *x);
  must(tsr_dist_tensor_scatter(ti[0], x));
  for (int s = 0; s < STAGES; s++) {
    const float first = s == 0;
    fill("w", w[s], WIDTH * WIDTH);
    write_part(ti[1], s, w[s], WIDTH * WIDTH);
    write_part(ti[2], s, &first, 1);
  }
  on_one_device(all, (float *[]){x, w[0], w[1], w[2], w[3]}, one);
  must(tsr_dist_program_run(p, ti, &to));
  read_part(to, STAGES - 1, many, sizeof many / sizeof *many);
  const int bad = tell("pipeline", p, one, many, sizeof many / sizeof *many);
  for (int i = 0; i < 3; i++) tsr_dist_tensor_destroy(&ti[i]);
  tsr_dist_tensor_destroy(&to);
  tsr_dist_program_destroy(&p);
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g), tsr_graph_destroy(&all);
  return bad;
}

/* Each rank has a part of the sequence. Keys and values go round; while the next ones come, the scores of those at hand
 * are worked in: the largest so far, the sum of exponentials, the weighted values, each scaled to the new largest. */
static int context(void) {
  enum { HEADS = 2, PART = 4, DEPTH = 8, N = HEADS * RANKS * PART * DEPTH, N_PART = N / RANKS };
  static text t;
  static float data[3][N], part[N_PART], one[N], many[N];
  for (int k = 0; k < RANKS; k++) {
    if (k)
      for (int i = 0; i < 2; i++)
        PUT(&t, "%%%c%d = \"tessera.graph.recv\"(%%s%c%d) {axes = \"cp\", ranks = 4}\n", "kv"[i], k, "kv"[i], k - 1);
    else
      PUT(&t, "%%k0 = \"tessera.graph.reshape\"(%%k) {shape = [2, 4, 8]}\n%%v0 = \"tessera.graph.reshape\"(%%v) {shape "
              "= [2, 4, 8]}\n");
    for (int i = 0; i < 2 && k + 1 < RANKS; i++)
      PUT(&t, "%%s%c%d = \"tessera.graph.send\"(%%%c%d) {axes = \"cp\", ranks = 4}\n", "kv"[i], k, "kv"[i], k);
    PUT(&t,
        "%%z%d = \"tessera.graph.matmul\"(%%q, %%k%d) {transpose_b = true}\n%%n%d = "
        "\"tessera.graph.reduce_max\"(%%z%d) {axes = [2], keepdims = true}\n",
        k, k, k, k);
    if (k) PUT(&t, "%%m%d = \"tessera.graph.max\"(%%m%d, %%n%d)\n", k, k - 1, k);
    else PUT(&t, "%%m0 = \"tessera.graph.reshape\"(%%n0) {shape = [2, 4, 1]}\n");
    PUT(&t, "%%d%d = \"tessera.graph.sub\"(%%z%d, %%m%d)\n%%p%d = \"tessera.graph.exp\"(%%d%d)\n", k, k, k, k, k);
    PUT(&t,
        "%%t%d = \"tessera.graph.reduce_sum\"(%%p%d) {axes = [2], keepdims = true}\n%%u%d = "
        "\"tessera.graph.matmul\"(%%p%d, %%v%d)\n",
        k, k, k, k, k);
    if (!k) continue;
    PUT(&t, "%%e%d = \"tessera.graph.sub\"(%%m%d, %%m%d)\n%%f%d = \"tessera.graph.exp\"(%%e%d)\n", k, k - 1, k, k, k);
    for (int i = 0; i < 2; i++)
      PUT(&t, "%%g%c%d = \"tessera.graph.mul\"(%%%c%d, %%f%d)\n%%%c%d = \"tessera.graph.add\"(%%g%c%d, %%%c%d)\n",
          "tu"[i], k, k == 1 ? "tu"[i] : "lo"[i], k - 1, k, "lo"[i], k, "tu"[i], k, "tu"[i], k);
  }
  PUT(&t, "%%y = \"tessera.graph.div\"(%%o3, %%l3)\n");
  tsr_graph *g =
      graph_of("%q: tensor<2x4x8xf32>, %k: tensor<2x4x8xf32>, %v: tensor<2x4x8xf32>", t.s, "%y", "tensor<2x4x8xf32>");
  tsr_graph *all = graph_of("%q: tensor<2x16x8xf32>, %k: tensor<2x16x8xf32>, %v: tensor<2x16x8xf32>",
                            "%z = \"tessera.graph.matmul\"(%q, %k) {transpose_b = true}\n" OP1("p", "softmax", "z")
                                OP2("y", "matmul", "p", "v"),
                            "%y", "tensor<2x16x8xf32>");
  tsr_mesh *m = mesh_of((const char *[]){"cp"}, (int[]){RANKS}, 1);
  tsr_dist_program *p;
  tsr_dist_tensor *ti[3], *to;
  must(tsr_dist_program_compile(m, g, NULL, &p));
  must(tsr_dist_program_output(p, 0, &to));
  for (int i = 0; i < 3; i++) {
    must(tsr_dist_program_input(p, i, &ti[i]));
    fill("q", data[i], N);
    for (int r = 0; r < RANKS; r++) {
      for (int h = 0; h < HEADS; h++)
        memcpy(part + h * PART * DEPTH, data[i] + (h * RANKS + r) * PART * DEPTH, PART * DEPTH * sizeof *part);
      write_part(ti[i], r, part, N_PART);
    }
  }
  on_one_device(all, (float *[]){data[0], data[1], data[2]}, one);
  must(tsr_dist_program_run(p, ti, &to));
  for (int r = 0; r < RANKS; r++) {
    read_part(to, r, part, N_PART);
    for (int h = 0; h < HEADS; h++)
      memcpy(many + (h * RANKS + r) * PART * DEPTH, part + h * PART * DEPTH, PART * DEPTH * sizeof *part);
  }
  const int bad = tell("context, attention in a ring", p, one, many, N);
  for (int i = 0; i < 3; i++) tsr_dist_tensor_destroy(&ti[i]);
  tsr_dist_tensor_destroy(&to);
  tsr_dist_program_destroy(&p);
  tsr_mesh_destroy(&m);
  tsr_graph_destroy(&g), tsr_graph_destroy(&all);
  return bad;
}

int main(int argc, char **argv) {
  int bad = 0;
  must(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (int i = 1; i < argc && n_devices < MOST; i++) must(tsr_device_open(ctx, argv[i], &devices[n_devices++]));
  if (!n_devices) must(tsr_device_open(ctx, "cpu:0", &devices[n_devices++]));
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) bad += run_program(&programs[i]);
  bad += pipeline();
  bad += context();
  while (n_devices) tsr_device_close(&devices[--n_devices]);
  tsr_context_destroy(&ctx);
  return bad != 0;
}
