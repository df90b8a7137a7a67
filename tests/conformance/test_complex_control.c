/* tests/conformance/test_complex_control.c - complex numbers that loops carry and branches choose, on any device,
 * against the oracle: fractals of C's own arithmetic too. As written out, and with all regions as functions, from the
 * text of each level. Any op of regions is test_op_types.c's, any shape the random suite's. */
#include <complex.h>

#include "core/base/dtype.h"
#include "core/ir/graph/eval.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"
#include "tests/support/numbers.h"

enum { POINTS = 12, MOST_TRIPS = 40, OUTPUTS = 3 };

#define DO(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define WITH(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"
#define CONST(r, value, type) WITH(r, "constant", "", "value = dense<" value "> : tensor<" type ">")
#define RETURN(v) "\"tessera.graph.return\"(" v ")\n"
#define BOTH(args, first, second) "({\n^bb0(" args "):\n" first "}, {\n^bb0(" args "):\n" second "})"
#define Z "12x$"
/* $: the complex type, $P: that of its parts. Arguments: x, y (12 complex numbers), n (i32), b (a bool). */
static const struct { const char *name, *body, *results; } cases[] = {
    /* Each point moves while it is within the circle; the loop ends when none is. %y never changes. */
    {"fractal",
     CONST("zero", "0", "12xi32")
     "%count, %r, %same = \"tessera.graph.while\"(%zero, %x, %y) "
     BOTH("%k: tensor<12xi32>, %z: tensor<" Z ">, %c: tensor<" Z ">",
          DO("size", "abs", "%z") WITH("least", "reduce_min", "%size", "axes = [0]")
          CONST("two", "2.0", "$P") WITH("go", "compare", "%least, %two", "predicate = \"le\"") RETURN("%go"),
          CONST("two", "2.0", "$P") CONST("one", "1", "12xi32") DO("size", "abs", "%z")
          WITH("in", "compare", "%size, %two", "predicate = \"le\"") DO("square", "mul", "%z, %z")
          DO("to", "add", "%square, %c") DO("w", "select", "%in, %to, %z") DO("more", "add", "%k, %one")
          DO("l", "select", "%in, %more, %k") RETURN("%l, %w, %c"))
     " {carried = 3, max_trips = 40}\n", "%r, %count, %same"},
    /* No short regions, one of which gives back what it is given; the program returns an argument too. */
    {"branch",
     "%r, %s = \"tessera.graph.if\"(%b, %x, %y) "
     BOTH("%v: tensor<" Z ">, %w: tensor<" Z ">",
          WITH("sum", "reduce_sum", "%v", "axes = [0], keepdims = true") DO("p", "sub", "%w, %sum") RETURN("%p, %v"),
          DO("q", "mul", "%w, %v") RETURN("%w, %q"))
     "\n", "%r, %s, %x"},
    {"short branch",
     "%r = \"tessera.graph.if\"(%b, %x, %y) "
     BOTH("%v: tensor<" Z ">, %w: tensor<" Z ">",
          DO("p", "mul", "%v, %w") RETURN("%p"), DO("q", "conj", "%w") RETURN("%q"))
     "\n", "%r"},
    /* Of a known count; what is carried changes places, operands are a constant, a transpose and parts put together. */
    {"known trips",
     CONST("zero", "0", "i32") CONST("factor", "(0.5, -0.75)", "$")
     WITH("square", "reshape", "%x", "shape = [3, 4]") WITH("turned", "transpose", "%square", "perm = [1, 0]")
     WITH("flat", "reshape", "%turned", "shape = [12]") DO("re", "real", "%y") DO("made", "complex", "%re, %re")
     "%k, %r, %s = \"tessera.graph.while\"(%zero, %flat, %made, %factor) "
     BOTH("%k: tensor<i32>, %v: tensor<" Z ">, %w: tensor<" Z ">, %f: tensor<$>",
          CONST("most", "5", "i32") WITH("go", "compare", "%k, %most", "predicate = \"lt\"") RETURN("%go"),
          CONST("one", "1", "i32") DO("l", "add", "%k, %one") DO("u", "mul", "%v, %f") RETURN("%l, %w, %u"))
     " {carried = 3, max_trips = 9}\n", "%r, %s"},
    /* What a loop gives a branch takes as it is; a loop and a branch in a loop, of what it captures. */
    {"nested",
     CONST("zero", "0", "i32")
     "%k, %r = \"tessera.graph.while\"(%zero, %x, %y, %n) "
     BOTH("%k: tensor<i32>, %v: tensor<" Z ">, %c: tensor<" Z ">, %m: tensor<i32>",
          WITH("go", "compare", "%k, %m", "predicate = \"lt\"") RETURN("%go"),
          CONST("nil", "0", "i32") CONST("one", "1", "i32") CONST("half", "(0.5, 0.0)", "$")
          "%j, %w = \"tessera.graph.while\"(%nil, %v, %c, %m) "
          BOTH("%q: tensor<i32>, %u: tensor<" Z ">, %d: tensor<" Z ">, %h: tensor<i32>",
               WITH("on", "compare", "%q, %h", "predicate = \"lt\"") RETURN("%on"),
               CONST("step", "1", "i32") CONST("small", "(0.25, 0.5)", "$") DO("qq", "add", "%q, %step")
               DO("a", "mul", "%u, %small") DO("uu", "add", "%a, %d") RETURN("%qq, %uu"))
          " {carried = 2, max_trips = 9}\n"
          WITH("first", "compare", "%k, %nil", "predicate = \"eq\"")
          "%e = \"tessera.graph.if\"(%first, %w, %c) "
          BOTH("%s: tensor<" Z ">, %t: tensor<" Z ">",
               WITH("mean", "reduce_mean", "%s", "axes = [0], keepdims = true")
               DO("p", "add", "%t, %mean") RETURN("%p"),
               RETURN("%s"))
          "\n" DO("f", "mul", "%e, %half") DO("l", "add", "%k, %one") RETURN("%l, %f"))
     " {carried = 2, max_trips = 9}\n"
     "%s = \"tessera.graph.if\"(%b, %r, %y) "
     BOTH("%v: tensor<" Z ">, %w: tensor<" Z ">", RETURN("%v"),
          WITH("sum", "reduce_sum", "%v", "axes = [0], keepdims = true") DO("p", "mul", "%w, %sum") RETURN("%p"))
     "\n", "%s, %r"},
};

typedef struct suite {
  tsr_context *ctx;
  tsr_device *dev;
  int right, wrong, unsupported;
} suite;

/* The case's module in text of complex type t. */
static void write_text(char *out, size_t size, size_t k, tsr_dtype t) {
  char raw[8192];
  size_t n = 0;
  snprintf(raw, sizeof raw,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<" Z ">, %%y: tensor<" Z ">, %%n: tensor<i32>, %%b: "
           "tensor<i1>):\n%s" RETURN("%s") "}) {sym_name = \"main\"}\n", cases[k].body, cases[k].results);
  for (const char *at = raw; *at; at++) {
    const bool part = at[0] == '$' && at[1] == 'P';
    const char *type = dtype_get(part ? dtype_part(t) : t)->mlir;
    if (*at == '$') n += (size_t)snprintf(out + n, size - n, "%s", type);
    else out[n++] = *at;
    at += part;
  }
  out[n] = 0;
}

/* ---- what is computed with --------------------------------------------------------------------------------------- */

/* Starts of small size; of the points some stay, where the steps contract, others leave at once or later: so do all
 * that are moved by 0.8 n. None comes so close to the circle that rounding decides. */
static const double complex points[2][POINTS] = {
    {0, 0.1, -0.1 * I, 0.2 + 0.1 * I, 0, 0, 0.05 * I, 0, -0.2, 0.1 + 0.1 * I, 0, 0},
    {0, -0.4, 0.3 * I, -0.1 + 0.2 * I, 0.1, 3, -2.5 * I, 0.5, 0.5 + 0.5 * I, 1.1, 0.45, 1 + I}};

typedef struct inputs {
  double complex numbers[2][POINTS]; /* each as large as two numbers of the widest type */
  int32_t n;
  unsigned char b;
} inputs;

static double complex point(int side, size_t i, int32_t n) { return points[side][i] + side * 0.8 * n; }

static inputs make_inputs(tsr_dtype t, int32_t n, bool b) {
  inputs in = {.n = n, .b = b};
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < POINTS; i++) {
      dtype_store(t, in.numbers[side], 2 * i, creal(point(side, i, n)));
      dtype_store(t, in.numbers[side], 2 * i + 1, cimag(point(side, i, n)));
    }
  return in;
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

typedef struct outputs {
  int n;
  tsr_tensor_info of[OUTPUTS];
  double complex have[OUTPUTS][POINTS];
  double want[OUTPUTS][2 * POINTS], tolerance[OUTPUTS][2 * POINTS];
} outputs;

static bool agrees(const outputs *o) {
  for (int k = 0; k < o->n; k++)
    for (size_t i = 0; i < numbers_of(&o->of[k]); i++) {
      const double have = dtype_load(o->of[k].dtype, o->have[k], i);
      const graph_num want = {.v = o->want[k][i], .e = o->tolerance[k][i]};
      if (o->tolerance[k][i] <= 1e-3 && graph_agrees(o->of[k].dtype, have, want)) continue;
      printf("FAIL number %zu of result %d is %.9g, reference %.9g, tolerance %.3g\n", i, k, have, want.v, want.e);
      return false;
    }
  return true;
}

/* The same steps in doubles: as many trips, and the same end but for rounding. */
static bool is_fractal(const outputs *o, int32_t n) {
  int live = 0;
  for (size_t i = 0; i < POINTS; i++) {
    double complex z = point(0, i, n);
    int count = 0;
    for (; count < MOST_TRIPS && cabs(z) <= 2; count++) z = z * z + point(1, i, n);
    live += count == MOST_TRIPS;
    const double got = dtype_load(TSR_I32, o->have[1], i), re = dtype_load(o->of[0].dtype, o->have[0], 2 * i),
                 im = dtype_load(o->of[0].dtype, o->have[0], 2 * i + 1);
    if (got == count && cabs(re + im * I - z) <= 1e-4 * (1 + cabs(z))) continue;
    printf("FAIL point %zu: %g trips to %g + %g i, not %d to %g + %g i\n", i, got, re, im, count, creal(z), cimag(z));
    return false;
  }
  return n ? !live : live > 0 && live < POINTS;
}

/* The text of that level. */
static tsr_status lower(suite *s, char *text, size_t size, const tsr_compile_options *o, tsr_level level) {
  tsr_program *p = NULL;
  char *lowered = NULL;
  tsr_status st = tsr_program_parse(s->dev, text, strlen(text), "text", o, &p);
  if (!st) st = tsr_program_dump(p, level, &lowered, NULL);
  tsr_program_destroy(&p);
  if (st) return st;
  snprintf(text, size, "%s", lowered);
  tsr_text_free(s->ctx, &lowered);
  return NULL;
}

static tsr_status describe(suite *s, const char *text, outputs *o) {
  tsr_program *p = NULL;
  tsr_status st = tsr_program_parse(s->dev, text, strlen(text), "text", NULL, &p);
  if (st) return st;
  o->n = tsr_program_n_outputs(p);
  for (int i = 0; i < o->n; i++) o->of[i] = tsr_program_output(p, i);
  tsr_program_destroy(&p);
  return NULL;
}

/* Case k from the text of each level, with short regions written out or not. */
static tsr_status check(suite *s, size_t k, tsr_dtype t, int32_t n, bool b, bool *ok) {
  static const char *const off[] = {"", "select_if,unroll"};
  static char source[16384], text[1 << 20];
  const inputs in = make_inputs(t, n, b);
  const void *const from[] = {in.numbers[0], in.numbers[1], &in.n, &in.b};
  outputs o = {.n = 0};
  tsr_graph *g = NULL;
  write_text(source, sizeof source, k, t);
  tsr_status st = tsr_graph_parse(s->ctx, source, strlen(source), "text", &g);
  if (!st)
    st = tsr_graph_reference(g, from, (double *const[]){o.want[0], o.want[1], o.want[2]},
                             (double *const[]){o.tolerance[0], o.tolerance[1], o.tolerance[2]});
  tsr_graph_destroy(&g);
  if (!st) st = describe(s, source, &o);
  for (size_t i = 0; i < sizeof off / sizeof *off; i++)
    for (tsr_level level = TSR_LEVEL_GRAPH; !st && *ok && level <= TSR_LEVEL_TARGET; level++) {
      const tsr_compile_options how = {.disable = off[i], .tune = TSR_TUNE_OFF};
      snprintf(text, sizeof text, "%s", source);
      memset(o.have, 0xff, sizeof o.have);
      st = lower(s, text, sizeof text, &how, level);
      if (!st) st = device_run(s->dev, text, &how, from, (void *const[]){o.have[0], o.have[1], o.have[2]});
      if (!st) *ok = agrees(&o) && (k || is_fractal(&o, n));
      if (!*ok) printf("%s of %s, level %d, without \"%s\"\n", cases[k].name, tsr_dtype_name(t), (int)level, off[i]);
    }
  return st;
}

static void one(suite *s, size_t k, tsr_dtype t, int32_t n, bool b) {
  bool ok = true;
  tsr_status st = check(s, k, t, n, b, &ok);
  const bool lacks = tsr_status_code(st) == TSR_UNSUPPORTED && strstr(tsr_status_message(st), "shaderFloat64");
  if (st) printf("%s of %s: %s\n", cases[k].name, tsr_dtype_name(t), tsr_status_message(st));
  if (lacks) s->unsupported++;
  else if (st || !ok) s->wrong++;
  else s->right++;
  tsr_status_free(st);
}

int main(void) {
  suite s = {0};
  const char *device;
  int rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &s.ctx, &s.dev, &device);
  if (rc) return rc;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (tsr_dtype t = TSR_COMPLEX64; t <= TSR_COMPLEX128; t++)
      for (int32_t n = 0; n < 4; n++) one(&s, k, t, n, n % 2);
  close_for_test(&s.ctx, &s.dev);
  printf("%s: %d right, %d wrong, %d unsupported\n", device, s.right, s.wrong, s.unsupported);
  return s.wrong || !s.right;
}
