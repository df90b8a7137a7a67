/* Trained models from packages compute what ONNX Runtime did: tests/onnx/models.txt, made by
 * tests/onnx/record_models.py, which says where the models come from. They are looked for in the folder that
 * ONNX_MODELS names, those of ONNX's light/ also where Debian's libonnx-testdata puts them. An element may differ by
 * 1e-3 of itself, 1e-4 of the largest and 1e-6: sums of thousands of terms in other orders, layer upon layer. A model
 * that rounds what it computes to 8 bits, layer upon layer, says in a line "within V" what part of the largest. */
#include <math.h>
#include <stdint.h>

#include "core/base/dtype.h"
#include "core/import/npy.h"
#include "tests/cli/cli_run.h"

enum { MOST_LINE = 2048 };

static double h(uint64_t i) { return (double)(uint32_t)(i * 2654435761u) / 4294967296.0; }

/* "1x3x48", or "=16000" of one number. */
static bool make_input(const cli *c, int number, const char *type, const char *text) {
  char path[320], file[32];
  npy_array x = {.dtype = tsr_dtype_parse(type)};
  size_t n = 1;
  for (const char *p = text; *text != '='; p++) {
    char *end;
    x.shape.dims[x.shape.rank++] = strtoll(p, &end, 10);
    n *= (size_t)x.shape.dims[x.shape.rank - 1];
    if (*(p = end) != 'x') break;
  }
  x.bytes = n * tsr_dtype_size(x.dtype);
  x.data = malloc(x.bytes);
  for (size_t i = 0; x.data && i < n; i++)
    dtype_store(x.dtype, x.data, i,
                *text == '='              ? atof(text + 1)
                : dtype_is_float(x.dtype) ? h(i) - 0.5
                                          : floor(256 * h(i)));
  snprintf(file, sizeof file, "in%d.npy", number);
  cli_path(c, file, path, sizeof path);
  FILE *f = x.data ? fopen(path, "wb") : NULL;
  if (f) npy_write(f, &x), fclose(f);
  npy_free(&x);
  return f != NULL;
}

/* "N SHAPE LARGEST STEP v v .." against oN.npy */
static bool check_output(const cli *c, char *line, double within) {
  char path[320], file[32], why[256];
  npy_array x;
  char *number = strtok(line, " "), *shape = strtok(NULL, " "), *largest = strtok(NULL, " "), *step = strtok(NULL, " ");
  snprintf(file, sizeof file, "o%s.npy", number);
  cli_path(c, file, path, sizeof path);
  if (!npy_load(path, &x, why, sizeof why)) return printf("%s\n", why), false;
  size_t at = 0, n = x.bytes / tsr_dtype_size(x.dtype);
  char has[256] = "";
  for (int i = 0; i < x.shape.rank; i++)
    snprintf(has + strlen(has), sizeof has - strlen(has), "%s%lld", i ? "x" : "", (long long)x.shape.dims[i]);
  bool ok = !strcmp(has, shape);
  if (!ok) printf("output %s is %s, not %s\n", number, has, shape);
  for (char *v = strtok(NULL, " "); v && ok; v = strtok(NULL, " "), at += (size_t)atoll(step)) {
    const double want = atof(v), got = at < n ? dtype_load(x.dtype, x.data, at) : NAN;
    ok = fabs(got - want) <= 1e-3 * fabs(want) + within * atof(largest) + 1e-6;
    if (!ok) printf("output %s, element %zu: %g, ONNX Runtime has %g\n", number, at, got, want);
  }
  npy_free(&x);
  return ok;
}

typedef struct test {
  char command[900];
  bool there, ran;
  double within;
  int n_in;
} test;

/* The command runs when the first output is to be looked at. */
static bool take_line(cli *c, test *t, const char *folder, char *line) {
  char name[64], type[16], text[64], path[4096];
  if (!strncmp(line, "model ", 6)) {
    *t = (test){.within = 1e-4};
    snprintf(path, sizeof path, "%s/%s", folder, line + 6);
    if (!strncmp(line, "model light/", 12) && access(path, R_OK))
      snprintf(path, sizeof path, "/usr/share/libonnx-testdata/data/%s", line + 6);
    snprintf(t->command, sizeof t->command, "run %.700s", path);
    t->there = !access(path, R_OK);
    if (!t->there) printf("skipped: no %s\n", path);
    c->n += t->there;
  } else if (sscanf(line, "within %63s", text) == 1) {
    t->within = atof(text);
  } else if (sscanf(line, "input %63s %15s %63s", name, type, text) == 3) {
    const size_t n = strlen(t->command);
    snprintf(t->command + n, sizeof t->command - n, " --input %s=in%d.npy", name, t->n_in);
    return !t->there || make_input(c, t->n_in++, type, text);
  } else if (!strncmp(line, "output ", 7) && t->there) {
    const size_t n = strlen(t->command);
    if (!t->ran)
      snprintf(t->command + n, sizeof t->command - n, " --output 0=o0.npy --output 1=o1.npy --output 2=o2.npy");
    for (int i = 2; i > 0 && !t->ran; i--) /* as many as there are */
      if (cli_run(c, t->command) == 0) t->ran = true;
      else *strstr(t->command, i == 2 ? " --output 2" : " --output 1") = 0;
    if (!t->ran && cli_run(c, t->command) != 0) return printf("%s: %s\n", t->command, c->said), false;
    t->ran = true;
    return check_output(c, line + 7, t->within);
  }
  return true;
}

int main(void) {
  cli c;
  test t = {.there = false};
  char line[MOST_LINE], model[MOST_LINE] = "";
  const char *folder = getenv("ONNX_MODELS");
  if (!folder || !*folder) folder = "nowhere", printf("ONNX_MODELS names no folder (tests/onnx/record_models.py)\n");
  if (!cli_begin(&c)) return 77;
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/onnx/models.txt", "r");
  while (f && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    if (!strncmp(line, "model ", 6)) memcpy(model, line, sizeof model);
    if (!take_line(&c, &t, folder, line)) c.wrong++, printf("%s\n", model);
  }
  if (f) fclose(f);
  const bool none = f && !c.n;
  const int rc = cli_end(&c);
  return !f ? 1 : none ? 77 : rc;
}
