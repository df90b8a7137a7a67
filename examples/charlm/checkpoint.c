/* examples/charlm/checkpoint.c - configuration, history and state in one file of the host's byte order. It is written
 * beside the old one, forced to the disk and renamed, so that a process that is killed leaves a whole one. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "charlm.h"

static const char magic[8] = "charlm1\n";

static void put(FILE *f, const char *path, const void *data, size_t bytes) {
  if (fwrite(data, 1, bytes, f) != bytes) fail("can't write %s", path);
}

static void get(FILE *f, const char *path, void *data, size_t bytes) {
  if (fread(data, 1, bytes, f) != bytes) fail("%s is no whole checkpoint", path);
}

static float *state_of(const trainer *t) {
  float *state = malloc(trainer_state_bytes(t));
  if (!state) fail("out of memory");
  return state;
}

void checkpoint_write(const char *path, const config *c, const history *h, const trainer *t, bool writes) {
  char beside[4096];
  if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside) fail("%s: too long", path);
  float *state = state_of(t);
  trainer_get_state(t, state);
  if (!writes) {
    free(state);
    return;
  }
  FILE *f = fopen(beside, "wb");
  if (!f) fail("can't write %s", beside);
  put(f, beside, magic, sizeof magic);
  put(f, beside, c, sizeof *c);
  put(f, beside, &(int32_t){h->n}, sizeof(int32_t));
  put(f, beside, h->rows, (size_t)h->n * sizeof *h->rows);
  put(f, beside, state, trainer_state_bytes(t));
  if (fflush(f) || fsync(fileno(f)) || fclose(f) || rename(beside, path)) fail("can't write %s", path);
  free(state);
}

bool checkpoint_read(const char *path, const config *c, history *h, trainer *t) {
  FILE *f = fopen(path, "rb");
  if (!f) return false;
  char head[sizeof magic];
  config had;
  int32_t n;
  get(f, path, head, sizeof head);
  if (memcmp(head, magic, sizeof magic)) fail("%s is no checkpoint", path);
  get(f, path, &had, sizeof had);
  if (memcmp(&had, c, sizeof had)) fail("%s is of a run with other options", path);
  get(f, path, &n, sizeof n);
  if (n < 0 || n > 1 << 28) fail("%s is no whole checkpoint", path);
  outcome *rows = realloc(h->rows, ((size_t)n + 1) * sizeof *rows);
  float *state = state_of(t);
  if (!rows) fail("out of memory");
  h->rows = rows, h->n = n;
  get(f, path, rows, (size_t)n * sizeof *rows);
  get(f, path, state, trainer_state_bytes(t));
  trainer_set_state(t, state);
  free(state);
  fclose(f);
  return true;
}
