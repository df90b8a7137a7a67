/* tools/tessera/named_files.c - see named_files.h. */
#include "tools/tessera/named_files.h"

#include <string.h>

bool named_files_add(void *user, const char *value) {
  named_files *f = user;
  if (!strchr(value, '=') || f->n == MAX_FILES) {
    cli_usage(f->command, "\"%s\" is not NAME=FILE", value);
    return false;
  }
  f->text[f->n++] = value;
  return true;
}

const char *named_files_path(const named_files *f, const char *name, int *used) {
  for (int i = 0; i < f->n; i++) {
    const size_t n = strcspn(f->text[i], "=");
    if (!shape_same_name(f->text[i], n, name)) continue;
    if (used) used[i]++;
    return f->text[i] + n + 1;
  }
  return NULL;
}

static bool same_name(const char *a, const char *b) {
  const size_t n = strcspn(a, "=");
  return n == strcspn(b, "=") && !strncmp(a, b, n);
}

static int not_used(const named_files *f, int i) {
  const int n = (int)strcspn(f->text[i], "=");
  for (int k = 0; k < i; k++)
    if (same_name(f->text[k], f->text[i])) return cli_usage(f->command, "--input %.*s is given twice", n, f->text[i]);
  return cli_usage(f->command, "the program has no input \"%.*s\"", n, f->text[i]);
}

int named_files_check_used(const named_files *f, const int *used) {
  for (int i = 0; i < f->n; i++)
    if (!used[i]) return not_used(f, i);
  return EXIT_OK;
}

bool input_array(void *user, const char *name, npy_array *out) {
  input_source *from = user;
  const char *path = named_files_path(&from->npy, name, from->asked);
  char why[512];
  return path && npy_load(path, out, why, sizeof why);
}

bool input_shape(void *user, const char *name, tsr_shape *out) {
  const input_source *from = user;
  const char *path = named_files_path(&from->npy, name, NULL);
  const weights_tensor *t = path || !from->w ? NULL : weights_find(from->w, name);
  npy_array x;
  if (t) return *out = t->shape, true;
  if (!input_array(user, name, &x)) return false;
  *out = x.shape;
  npy_free(&x);
  return true;
}
