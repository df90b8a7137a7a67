/* examples/charlm/checkpoint.c - configuration, history and state in one file of the host's byte order. It is written
 * beside the old one, forced to the disk and renamed, so that a process that is killed leaves a whole one. The state of
 * a mesh is in parts in a folder that is named by its step, which is whole before the file names it. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "charlm.h"

enum { MOST_PATH = 4096 };

static const char magic[8] = "charlm2\n";

/* `path` with a suffix, and a number if there is one. */
static void path_of(char out[MOST_PATH], const char *path, const char *suffix, int number) {
  const int n = number < 0 ? snprintf(out, MOST_PATH, "%s%s", path, suffix)
                           : snprintf(out, MOST_PATH, "%s%s%d", path, suffix, number);
  if (n >= MOST_PATH) fail("%s: too long", path);
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

static int drop(const char *path, const struct stat *s, int kind, struct FTW *f) { return remove(path); }

static void write_file(const char *path, const head *x, const history *h, const trainer *t) {
  char beside[MOST_PATH];
  path_of(beside, path, ".new", -1);
  FILE *f = fopen(beside, "wb");
  if (!f) fail("can't write %s", beside);
  put(f, beside, x, sizeof *x);
  put(f, beside, h->rows, (size_t)h->n * sizeof *h->rows);
  if (!x->in_parts) {
    float *state = state_of(t);
    trainer_get_state(t, state);
    put(f, beside, state, trainer_state_bytes(t));
    free(state);
  }
  if (fflush(f) || fsync(fileno(f)) || fclose(f) || rename(beside, path)) fail("can't write %s", path);
}

/* The step that the file names; -1: none, or its state is in itself. */
static int parts_of(const char *path) {
  head x;
  FILE *f = fopen(path, "rb");
  const bool ok = f && fread(&x, sizeof x, 1, f) == 1 && !memcmp(x.magic, magic, sizeof magic) && x.in_parts;
  if (f) fclose(f);
  return ok ? x.steps : -1;
}

void checkpoint_write(const char *path, const config *c, const history *h, const trainer *t) {
  const place *at = trainer_place(t);
  char parts[MOST_PATH];
  head x = {.c = *c, .in_parts = at->mesh != NULL, .steps = h->n};
  memcpy(x.magic, magic, sizeof magic);
  const int before = at->speaks ? parts_of(path) : -1;
  path_of(parts, path, ".", h->n);
  if (x.in_parts) {
    if (mkdir(parts, 0777) && errno != EEXIST) fail("can't make %s", parts);
    trainer_save(t, parts);
  }
  place_meet(at);
  if (at->speaks) write_file(path, &x, h, t);
  path_of(parts, path, ".", before);
  if (before >= 0 && before != h->n) nftw(parts, drop, 8, FTW_DEPTH | FTW_PHYS);
  place_meet(at);
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

bool checkpoint_read(const char *path, const config *c, history *h, trainer *t) {
  head x;
  FILE *f = open_file(path, c, h, &x);
  if (!f) return false;
  if (x.in_parts) {
    char parts[MOST_PATH];
    path_of(parts, path, ".", x.steps);
    trainer_load(t, parts);
  } else if (trainer_place(t)->s.of > 1) {
    fail("%s is of one stage: a pipeline goes on from what a mesh has written", path);
  } else {
    float *state = state_of(t);
    get(f, path, state, trainer_state_bytes(t));
    trainer_set_state(t, state);
    free(state);
  }
  fclose(f);
  return true;
}
