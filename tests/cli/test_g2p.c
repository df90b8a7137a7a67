/* examples/g2p.mlir with the weights of g2p-en's checkpoint20.npz says words as that package does: tests/onnx/g2p.txt,
 * made by tests/onnx/record_g2p.py, which says where the weights come from. They are looked for in the folder that
 * ONNX_MODELS names. Phonemes are equal; the encoder's state after up to 40 steps of f32 within 2e-5. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/import/npy.h"
#include "tests/cli/cli_run.h"

enum { MOST_SAID = 20, OVER = 3, STATE_STEP = 32 };

static bool write_word(const cli *c, const char *word) {
  char path[320];
  int32_t letters[64];
  int n = 0;
  for (; word[n] && n < 63; n++) letters[n] = word[n] >= 'a' && word[n] <= 'z' ? 3 + word[n] - 'a' : 1;
  letters[n++] = 2;
  npy_array x = {.dtype = TSR_I32, .shape = {1, {n}}, .bytes = (size_t)n * sizeof *letters, .data = letters};
  cli_path(c, "word.npy", path, sizeof path);
  FILE *f = fopen(path, "wb");
  if (f) npy_write(f, &x), fclose(f);
  return f != NULL;
}

static bool load(const cli *c, const char *file, npy_array *x) {
  char path[320], why[256];
  cli_path(c, file, path, sizeof path);
  return npy_load(path, x, why, sizeof why) || (printf("%s\n", why), false);
}

/* "hello 4 37 27 46 50 0.999884 .." */
static bool check_word(const cli *c, char *line) {
  npy_array said, state;
  const char *word = strtok(line, " "), *count = strtok(NULL, " ");
  if (!load(c, "said.npy", &said)) return false;
  bool ok = said.bytes == MOST_SAID * sizeof(int32_t);
  for (int i = 0; i < MOST_SAID && ok; i++) {
    const int want = i < atoi(count) ? atoi(strtok(NULL, " ")) : OVER;
    const int got = (int)dtype_load(TSR_I32, said.data, (size_t)i);
    ok = want == got;
    if (!ok) printf("%s: phoneme %d is %d, not %d\n", word, i, got, want);
  }
  npy_free(&said);
  if (!ok || !load(c, "state.npy", &state)) return false;
  size_t at = 0;
  for (char *v = strtok(NULL, " "); v && ok; v = strtok(NULL, " "), at += STATE_STEP) {
    const double got = dtype_load(state.dtype, state.data, at);
    ok = fabs(got - atof(v)) <= 2e-5;
    if (!ok) printf("%s: element %zu of the state is %g, not %s\n", word, at, got, v);
  }
  npy_free(&state);
  return ok && at == 256;
}

int main(void) {
  cli c;
  char line[512], weights[400], command[900];
  const char *folder = getenv("ONNX_MODELS");
  snprintf(weights, sizeof weights, "%s/g2p_en/checkpoint20.npz", folder ? folder : "");
  if (!folder || !*folder || access(weights, R_OK)) {
    printf("no %s: ONNX_MODELS is to name the folder that tests/onnx/record_g2p.py describes\n", weights);
    return 77;
  }
  if (!cli_begin(&c)) return 77;
  snprintf(command, sizeof command,
           "run " TSR_SOURCE_DIR "/examples/g2p.mlir --weights %s --input word=word.npy --output 0=said.npy "
           "--output 1=state.npy",
           weights);
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/onnx/g2p.txt", "r");
  while (f && fgets(line, sizeof line, f)) {
    char word[64];
    if (*line == '#' || sscanf(line, "%63s", word) != 1) continue;
    c.n++;
    line[strcspn(line, "\n")] = 0;
    if (!write_word(&c, word) || cli_run(&c, command) != 0) c.wrong++, printf("%s: %s\n", word, c.said);
    else if (!check_word(&c, line)) c.wrong++;
  }
  if (f) fclose(f);
  const bool none = !c.n;
  const int rc = cli_end(&c);
  return none ? 1 : rc;
}
