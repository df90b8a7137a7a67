/* tools/tessera/operands.c - see operands.h. */
#include "tools/tessera/operands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tools/tessera/run_weights.h"

enum { MOST_DRAWN = 64 << 20 };

static uint64_t next_random(uint64_t *s) {
  uint64_t z = *s += 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static void fill_random(tsr_dtype t, void *p, size_t n, uint64_t seed) {
  uint64_t s = seed;
  n *= (size_t)dtype_parts(t);
  for (size_t i = 0; i < n; i++) {
    double u = (double)(next_random(&s) >> 11) / 9007199254740992.0, v = 2 * u - 1;
    dtype_store(t, p, i, t == TSR_BOOL ? u > 0.5 : dtype_is_float(dtype_part(t)) ? v : floor(v * 8));
  }
}

/* Memory for an input or output; what is too large is named with its place in the text. */
static int make_buffer(const operands *o, const char *what, int i, const tsr_tensor_info *t, tsr_buffer **out) {
  char number[16];
  snprintf(number, sizeof number, "%d", i);
  tsr_status st = tsr_buffer_create(o->dev, t->bytes, TSR_MEMORY_DEVICE, out);
  if (tsr_status_code(st) != TSR_OUT_OF_MEMORY) return st ? cli_fail(st) : EXIT_OK;
  int rc = cli_usage(o->command, "%s:%d:%d: no memory for %s %s: %s", o->file, t->line, t->column, what,
                     *what == 'i' && *t->name ? t->name : number, tsr_status_cause(st));
  tsr_status_free(st);
  return rc;
}

static int make_buffers(operands *o) {
  o->in = calloc((size_t)o->n_in + 1, sizeof *o->in);
  o->out = calloc((size_t)o->n_out + 1, sizeof *o->out);
  o->next = malloc(((size_t)o->n_in + 1) * sizeof *o->next);
  o->again = malloc(((size_t)o->n_in + 1) * sizeof *o->again);
  o->shared = calloc((size_t)o->n_in + 1, sizeof *o->shared);
  if (!o->in || !o->out || !o->next || !o->again || !o->shared) return cli_usage(o->command, "out of memory");
  int rc = EXIT_OK;
  for (int i = 0; i < o->n_in; i++) o->next[i] = o->again[i] = -1;
  for (int i = 0; i < o->n_out && !rc; i++) {
    tsr_tensor_info t = tsr_program_output(o->prog, i);
    rc = make_buffer(o, "output", i, &t, &o->out[i].buffer);
  }
  return rc;
}

/* The first drawn input of t's type and size, -1 if there is none. Its `again` is the one to be shared next. */
static int drawn_like(const operands *o, const tsr_tensor_info *t, int before) {
  for (int i = 0; i < before; i++) {
    if (o->again[i] < 0) continue;
    tsr_tensor_info x = tsr_program_input(o->prog, i);
    if (x.dtype == t->dtype && x.bytes == t->bytes) return i;
  }
  return -1;
}

/* A random input: memory of its own, or, where there is much of that already, another one's. False: it is to be drawn.
 */
static bool share_input(operands *o, int i, const tsr_tensor_info *t) {
  int first = drawn_like(o, t, i);
  if (o->share && first >= 0 && o->drawn >= MOST_DRAWN) {
    int from = o->again[first];
    o->again[first] = o->next[from];
    o->in[i].buffer = o->in[from].buffer;
    return o->shared[i] = true;
  }
  o->drawn += t->bytes;
  o->next[i] = first < 0 ? i : o->next[first];
  if (first < 0) o->again[i] = i;
  else o->next[first] = i;
  return false;
}

static bool is_given(void *user, const char *name) {
  return named_files_path(&((const input_source *)user)->npy, name, NULL) != NULL;
}

static int read_file(const operands *o, const char *path, const tsr_tensor_info *t, void *data) {
  npy_array x;
  const int rc = input_load(o->command, path, t, &x);
  if (rc) return rc;
  npy_convert(&x, t->dtype, data);
  npy_free(&x);
  return rc;
}

static int load_input(operands *o, int i, const input_source *from, int *used) {
  const tsr_tensor_info t = tsr_program_input(o->prog, i);
  char number[16];
  snprintf(number, sizeof number, "%d", i);
  const char *name = *t.name ? t.name : number, *path = named_files_path(&from->npy, name, used);
  if (!path && !from->w && share_input(o, i, &t)) return EXIT_OK;
  int rc = make_buffer(o, "input", i, &t, &o->in[i].buffer);
  if (rc) return rc;
  if (!path && from->w)
    return run_weights_bind(o->command, from->w, weights_find(from->w, name), &t, o->in[i].buffer);
  void *data = malloc(t.bytes ? t.bytes : 1);
  if (!data)
    return cli_usage(o->command, "%s:%d:%d: no memory for input %s: %zu bytes", o->file, t.line, t.column, t.name,
                     t.bytes);
  if (path) rc = read_file(o, path, &t, data);
  else fill_random(t.dtype, data, cli_count(&t.shape), o->seed * 1000003 + (uint64_t)i);
  tsr_status st = rc ? NULL : tsr_buffer_write(o->in[i].buffer, 0, data, t.bytes);
  free(data);
  return st ? cli_fail(st) : rc;
}

int operands_make(operands *o, const input_source *from) {
  int used[MAX_FILES] = {0}, rc = EXIT_OK;
  o->n_in = tsr_program_n_inputs(o->prog);
  o->n_out = tsr_program_n_outputs(o->prog);
  if (from->w) rc = run_weights_check(o->command, from->w, o->prog, is_given, (void *)(uintptr_t)from);
  if (!rc) rc = make_buffers(o);
  for (int i = 0; i < o->n_in && !rc; i++) rc = load_input(o, i, from, used);
  return rc ? rc : named_files_check_used(&from->npy, used);
}

void operands_clear(operands *o) {
  for (int i = 0; o->in && o->shared && i < o->n_in; i++)
    if (!o->shared[i]) tsr_buffer_destroy(&o->in[i].buffer);
  for (int i = 0; o->out && i < o->n_out; i++) tsr_buffer_destroy(&o->out[i].buffer);
  free(o->in);
  free(o->out);
  free(o->next);
  free(o->again);
  free(o->shared);
  *o = (operands){.n_in = 0};
}
