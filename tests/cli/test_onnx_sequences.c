/* tests/cli/test_onnx_sequences.c - models whose inputs and outputs are sequences and optional values: a sequence's
 * tensors are NAME[0] and on for every command, and what doesn't fit is one line. */
#include "core/import/npy.h"
#include "tests/cli/cli_run.h"
#include "tests/support/onnx_message.h"

enum { SEQUENCE = 4, OPTIONAL = 9 };

/* A value whose type is each of `kinds` around a tensor of f32 [n, 2], the outermost last. */
static message value_in(const char *name, int n, const int *kinds) {
  message type = {.n = 0}, v = {.n = 0}, plain = value(name, F32, "n", 2);
  /* the tensor's type: the field 2 of the value, behind its name */
  const size_t at = 2 + strlen(name) + 2;
  memcpy(type.p, plain.p + at, type.n = plain.n - at);
  for (int i = 0; i < n; i++) {
    message inner = {.n = 0}, outer = {.n = 0};
    inside(&inner, 1, &type);
    inside(&outer, (unsigned)kinds[i], &inner);
    type = outer;
  }
  text(&v, 1, name);
  inside(&v, 2, &type);
  return v;
}

/* out = op(in) */
static void write_model(const cli *c, const char *file, const char *op, int n, const int *kinds, bool gives_tensor) {
  message g = {.n = 0}, x = node(op, NULL), in = value_in("in", n, kinds),
          out = value_in("out", gives_tensor ? 0 : n, kinds);
  inside(&g, 1, &x);
  text(&g, 2, "g");
  inside(&g, 11, &in);
  inside(&g, 12, &out);
  const message m = model(&g);
  cli_write(c, file, m.p, m.n);
}

static void write_npy(const cli *c, const char *name, int64_t rows, const float *v) {
  char path[256];
  npy_array x = {.dtype = TSR_F32, .shape = {.rank = 2, .dims = {rows, 2}}, .data = (void *)(uintptr_t)v,
                 .bytes = (size_t)rows * 2 * sizeof *v};
  cli_path(c, name, path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &x), fclose(f);
}

static bool same_file(const cli *c, const char *a, const char *b) {
  char x[4096], y[4096];
  const size_t n = cli_read(c, a, x, sizeof x);
  return n > 0 && n == cli_read(c, b, y, sizeof y) && !memcmp(x, y, n);
}

static void tensors_of_sequences_have_names(cli *c) {
  write_model(c, "s.onnx", "Identity", 1, (int[]){SEQUENCE}, false);
  cli_check(c,
            !cli_run(c, "run s.onnx --device cpu:0 --input 'in[0]=a.npy' --input 'in[1]=b.npy' "
                        "--output 'out[1]=y.npy' --output 0=x.npy"),
            "run");
  cli_check(c, same_file(c, "x.npy", "a.npy") && same_file(c, "y.npy", "b.npy"), "each as it was");
  cli_check(c, !cli_run(c, "inspect s.onnx") && strstr(c->said, "input 0 in: nx2 f32, a sequence\n"), c->said);
  cli_check(c,
            !cli_run(c, "inspect s.onnx --json") &&
                strstr(c->said, "\"dtype\": \"f32\", \"shape\": [\"n\", 2], \"sequence\": true}"),
            c->said);
  cli_check(c,
            !cli_run(c, "import s.onnx -o s.mlir --shape 'in[0]=3x2' --shape 'in[1]=1x2' --shape 'in[2]=0x2'"),
            "import");
  cli_check(c, strstr(cli_text(c, "s.mlir"), "%in_2_: tensor<0x2xf32>") != NULL, "three inputs");
  cli_check(c,
            !cli_run(c, "bench s.onnx --shape 'in[0]=3x2' --device cpu:0 --milliseconds 1 --against onnxruntime") &&
                strstr(c->said, "; onnxruntime: takes tensors, no sequences\n"),
            c->said);
}

static void lengths_are_asked_for(cli *c) {
  static const char *const bad[][2] = {
      {"run s.onnx --device cpu:0", "input in is a sequence of unknown length (--shape in[0]=2x3 --shape in[1]=.. give"},
      {"run s.onnx --device cpu:0 --shape 'in[1]=2x2'", "the program has no input \"in[1]\""},
      {"run s.onnx --device cpu:0 --shape 'in[0]=2x3'", "dimension 1 of input in[0] is 2, not 3"},
      {"run s.onnx --device cpu:0 --shape 'in[]=0'", "output (an empty sequence)"},
      {"run s.onnx --device cpu:0 --shape 'in[0]=2x2' --output 'out[1]=x.npy'", "no output \"out[1]\""}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const int rc = cli_run(c, bad[i][0]);
    cli_check(c, (rc == 2 || rc == 3) && strstr(c->said, bad[i][1]) && strchr(c->said, '\n')[1] == 0, bad[i][1]);
  }
}

/* OptionalHasElement of an optional value, and of an optional sequence, that is there and that isn't. */
static void optional_values_may_be_left_out(cli *c) {
  static const struct {
    int n, kinds[2];
    const char *given, *none;
  } of[] = {{1, {OPTIONAL}, "in=2x2", "in[]=0"}, {2, {SEQUENCE, OPTIONAL}, "in[0]=2x2", "in[]=0"}};
  char line[256];
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    write_model(c, "o.onnx", "OptionalHasElement", of[i].n, of[i].kinds, true);
    snprintf(line, sizeof line, "run o.onnx --device cpu:0 --shape '%s' --output 0=x.npy", of[i].given);
    cli_check(c, !cli_run(c, line), c->said);
    snprintf(line, sizeof line, "run o.onnx --device cpu:0 --shape '%s' --output 0=y.npy", of[i].none);
    cli_check(c, !cli_run(c, line), c->said);
    unsigned char x[4096] = {0}, y[4096] = {0};
    const size_t n = cli_read(c, "x.npy", x, sizeof x), m = cli_read(c, "y.npy", y, sizeof y);
    cli_check(c, n && n == m && x[n - 1] == 1 && y[m - 1] == 0, "true, then false");
  }
  write_model(c, "g.onnx", "OptionalGetElement", 1, (int[]){OPTIONAL}, true);
  cli_check(c, cli_run(c, "run g.onnx --device cpu:0 --shape 'in[]=0'") && strstr(c->said, "no element"), c->said);
}

/* Types inside each other without end are read no deeper than they mean something. */
static void deep_types_are_refused(cli *c) {
  int kinds[64];
  for (int i = 0; i < 64; i++) kinds[i] = SEQUENCE;
  write_model(c, "d.onnx", "Identity", 64, kinds, false);
  cli_check(c, cli_run(c, "run d.onnx --device cpu:0") > 0, "refused");
  cli_check(c, strstr(c->said, "input in is of type sequence of sequences or optional values") != NULL, c->said);
}

int main(void) {
  static const float v[6] = {1, 2, 3, 4, 5, 6};
  cli c;
  if (!cli_begin(&c)) return 77;
  write_npy(&c, "a.npy", 3, v);
  write_npy(&c, "b.npy", 1, v + 4);
  tensors_of_sequences_have_names(&c);
  lengths_are_asked_for(&c);
  optional_values_may_be_left_out(&c);
  deep_types_are_refused(&c);
  return cli_end(&c);
}
