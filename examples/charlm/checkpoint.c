/* examples/charlm/checkpoint.c - configuration, history and state in one file of the host's byte order. It is written
 * beside the old one, forced to the disk and renamed, so that a process that is killed leaves a whole one. The state of
 * a mesh goes into a folder first, in parts: of the file and the one beside it that is whole which has the folder's
 * step. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "charlm.h"

enum { MOST_PATH = 4096 };

static const char magic[8] = "charlm2\n";

static void path_of(char out[MOST_PATH], const char *path, const char *suffix) {
  if (snprintf(out, MOST_PATH, "%s%s", path, suffix) >= MOST_PATH) fail("%s: too long", path);
}

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

/* What the file says ahead of its state. */
typedef struct head {
  char magic[sizeof magic];
  config c;
  int32_t in_parts, steps;
} head;

void checkpoint_write(const char *path, const config *c, const history *h, const trainer *t, bool writes) {
  char beside[MOST_PATH], parts[MOST_PATH];
  head x = {.c = *c, .in_parts = trainer_has_mesh(t), .steps = h->n};
  memcpy(x.magic, magic, sizeof magic);
  path_of(beside, path, ".new");
  path_of(parts, path, ".parts");
  FILE *f = writes ? fopen(beside, "wb") : NULL;
  if (writes && !f) fail("can't write %s", beside);
  if (writes) {
    put(f, beside, &x, sizeof x);
    put(f, beside, h->rows, (size_t)h->n * sizeof *h->rows);
  }
  if (writes && !x.in_parts) {
    float *state = state_of(t);
    trainer_get_state(t, state);
    put(f, beside, state, trainer_state_bytes(t));
    free(state);
  }
  if (writes && (fflush(f) || fsync(fileno(f)) || fclose(f))) fail("can't write %s", beside);
  if (x.in_parts) trainer_save(t, parts, h->n);
  if (writes && rename(beside, path)) fail("can't write %s", path);
}

/* The state is still to be read. */
static FILE *open_file(const char *path, const config *c, history *h, head *x) {
  FILE *f = fopen(path, "rb");
  if (!f) return NULL;
  get(f, path, x->magic, sizeof x->magic);
  if (memcmp(x->magic, magic, sizeof magic)) fail("%s is no checkpoint", path);
  get(f, path, (char *)x + sizeof magic, sizeof *x - sizeof magic);
  if (memcmp(&x->c, c, sizeof *c)) fail("%s is of a run with other options", path);
  if (x->steps < 0 || x->steps > 1 << 28) fail("%s is no whole checkpoint", path);
  outcome *rows = realloc(h->rows, ((size_t)x->steps + 1) * sizeof *rows);
  if (!rows) fail("out of memory");
  h->rows = rows, h->n = x->steps;
  get(f, path, rows, (size_t)x->steps * sizeof *rows);
  return f;
}

static void read_parts(const char *path, const config *c, history *h, trainer *t) {
  char parts[MOST_PATH], beside[MOST_PATH];
  head x;
  path_of(parts, path, ".parts");
  path_of(beside, path, ".new");
  const int32_t step = trainer_load(t, parts);
  if (h->n == step) return;
  FILE *f = open_file(beside, c, h, &x); /* stopped between the folder and the file's new name */
  if (f) fclose(f);
  if (!f || h->n != step) fail("%s and %s are of different steps", path, parts);
}

bool checkpoint_read(const char *path, const config *c, history *h, trainer *t) {
  head x;
  FILE *f = open_file(path, c, h, &x);
  if (!f) return false;
  if (x.in_parts) {
    read_parts(path, c, h, t);
  } else {
    float *state = state_of(t);
    get(f, path, state, trainer_state_bytes(t));
    trainer_set_state(t, state);
    free(state);
  }
  fclose(f);
  return true;
}
