/* tools/tessera/named_files.c - see named_files.h. */
#include "tools/tessera/named_files.h"

#include <string.h>

#include "core/base/dtype.h"

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

static bool same_shape(const tsr_shape *a, const tsr_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

int input_load(const char *command, const char *path, const tsr_tensor_info *t, npy_array *out) {
  char why[512], a[128], b[128];
  int rc = EXIT_OK;
  if (!npy_load(path, out, why, sizeof why)) return cli_usage(command, "%s", why);
  if (t && !same_shape(&out->shape, &t->shape))
    rc = cli_usage(command, "%s: shape %s, input %s needs %s", path, cli_shape_text(&out->shape, a, sizeof a), t->name,
                   cli_shape_text(&t->shape, b, sizeof b));
  else if (t && dtype_is_complex(out->dtype) && !dtype_is_complex(t->dtype))
    rc = cli_usage(command, "%s: %s numbers; input %s is %s", path, tsr_dtype_name(out->dtype), t->name,
                   tsr_dtype_name(t->dtype));
  if (rc) npy_free(out);
  return rc;
}
