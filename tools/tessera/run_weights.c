/* tools/tessera/run_weights.c - see run_weights.h. */
#include "tools/tessera/run_weights.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

int run_weights_check(const char *command, const weights *w, const tsr_program *p,
                      bool (*given)(void *user, const char *name), void *user) {
  strb missing;
  int n = tsr_program_n_inputs(p), n_missing = 0, rc = EXIT_OK;
  strb_init(&missing, NULL);
  for (int i = 0; i < n; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    tsr_tensor_info t = tsr_program_input(p, i);
    const char *name = *t.name ? t.name : number;
    if (given(user, name) || weights_find(w, name)) continue;
    strb_printf(&missing, "%s%s", n_missing++ ? ", " : "", name);
  }
  if (n_missing)
    rc = cli_usage(command, "%s: no tensor for %d of %d inputs: %s (--input NAME=F.npy gives one)", w->file, n_missing,
                   n, strb_text(&missing));
  strb_clear(&missing);
  return rc;
}

static bool same(const weights_tensor *x, const tsr_tensor_info *t) {
  return weights_read_type(x) == t->dtype && x->shape.rank == t->shape.rank &&
         !memcmp(x->shape.dims, t->shape.dims, (size_t)t->shape.rank * sizeof *t->shape.dims);
}

static int differs(const char *command, const weights *w, const weights_tensor *x, const tsr_tensor_info *t) {
  char has[256], needs[256];
  tsr_dtype type = weights_read_type(x);
  return cli_usage(command, "%s: tensor %s is %s %s%s, input %s needs %s %s", w->file, x->name,
                   cli_shape_text(&x->shape, has, sizeof has), x->type,
                   !type ? ", which is not read" : x->block ? ", read as f32" : "", t->name,
                   cli_shape_text(&t->shape, needs, sizeof needs), tsr_dtype_name(t->dtype));
}

int run_weights_bind(const char *command, const weights *w, const weights_tensor *x, const tsr_tensor_info *t,
                     tsr_buffer *out) {
  if (!same(x, t)) return differs(command, w, x, t);
  const void *mapped = x->block ? NULL : weights_data(w, x);
  tsr_status st = NULL;
  if (mapped) st = tsr_buffer_write(out, 0, mapped, t->bytes);
  else {
    void *copy = malloc(t->bytes ? t->bytes : 1);
    if (!copy) return cli_usage(command, "%s: no memory for tensor %s: %zu bytes", w->file, x->name, t->bytes);
    st = weights_read(w, x, copy, t->bytes);
    if (!st) st = tsr_buffer_write(out, 0, copy, t->bytes);
    free(copy);
  }
  return st ? cli_fail(st) : EXIT_OK;
}
