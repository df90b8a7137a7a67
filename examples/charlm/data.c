/* examples/charlm/data.c - the text and its batches. A batch depends on the seed and the step alone, so that a run that
 * goes on after a stop sees what it would have seen. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "charlm.h"

static void append(const char *path, text *out) {
  FILE *f = fopen(path, "rb");
  if (!f) fail("can't read %s", path);
  for (size_t got = 1; got;) {
    unsigned char *grown = realloc(out->bytes, out->n + 65536);
    if (!grown) fail("out of memory");
    out->bytes = grown;
    got = fread(out->bytes + out->n, 1, 65536, f);
    out->n += got;
  }
  if (ferror(f)) fail("can't read %s", path);
  fclose(f);
}

static int is_shown(const struct dirent *e) { return *e->d_name != '.'; }
/* alphasort goes by the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

void text_read(const char *path, text *out) {
  struct stat s;
  struct dirent **names;
  *out = (text){NULL, 0};
  if (stat(path, &s)) fail("there is no %s", path);
  if (!S_ISDIR(s.st_mode)) {
    append(path, out);
    return;
  }
  const int n = scandir(path, &names, is_shown, by_name);
  if (n < 0) fail("can't read %s", path);
  for (int i = 0; i < n; i++) {
    char full[4096];
    if (snprintf(full, sizeof full, "%s/%s", path, names[i]->d_name) >= (int)sizeof full) fail("%s: too long", path);
    if (!lstat(full, &s) && S_ISREG(s.st_mode)) append(full, out); /* no links: the same text again */
    free(names[i]);
  }
  free(names);
}

/* The finalizer of SplitMix64, over a sum. */
uint64_t hash(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + a * UINT64_C(0xd1342543de82ef95);
  z += b * UINT64_C(0x2545f4914f6cdd1d);
  for (int i = 0; i < 2; i++) {
    z += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
  }
  return z;
}

void text_batch(const text *x, const config *c, int step, int32_t *tokens, int32_t *targets) {
  for (int i = 0; i < c->batch; i++) {
    const size_t at = hash((uint64_t)c->seed, (uint64_t)step, (uint64_t)i + (UINT64_C(1) << 32)) %
                      (x->n - (size_t)c->length);
    for (int k = 0; k < c->length; k++) {
      *tokens++ = x->bytes[at + (size_t)k];
      *targets++ = x->bytes[at + (size_t)k + 1];
    }
  }
}
