/* tools/tessera/shapes.c - see shapes.h. */
#include "tools/tessera/shapes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"

static bool parse(const char *value, tsr_shape *out) {
  const char *at = strchr(value, '=');
  out->rank = at ? cli_parse_shape(at + 1, out->dims, TSR_MAX_RANK) : -1;
  return out->rank >= 0;
}

bool shape_list_add(void *user, const char *value) {
  shape_list *l = user;
  tsr_shape s;
  if (l->n == MAX_SHAPES || !parse(value, &s)) {
    cli_usage(l->command, "\"%s\" is not NAME=2x3x..", value);
    return false;
  }
  for (int i = 0; i < l->n; i++)
    if (strcspn(l->text[i], "=") == strcspn(value, "=") && !strncmp(l->text[i], value, strcspn(value, "="))) {
      cli_usage(l->command, "--shape %.*s is given twice", (int)strcspn(value, "="), value);
      return false;
    }
  l->text[l->n++] = value;
  return true;
}

bool shape_list_add_all(shape_list *l, char *text) {
  char *rest = text;
  for (char *one; rest && (one = strsep(&rest, ","));)
    if (!shape_list_add(l, one)) return false;
  return true;
}

static bool is_unknown(const tsr_shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (s->dims[i] == TSR_ANY_DIM) return true;
  return false;
}

static char plain(char c) { return ascii_alnum(c) || strchr("_.$-", c) ? c : '_'; }

bool shape_same_name(const char *request, size_t n, const char *name) {
  size_t length = strlen(name);
  if (n + 1 == length && *name == '_' && !ascii_letter(*request)) name++, length--; /* names begin with a letter or _ */
  for (size_t i = 0; i < n && n == length; i++)
    if (plain(request[i]) != plain(name[i])) return false;
  return n == length;
}

bool shape_list_find_named(const shape_list *l, const char *name, tsr_shape *out) {
  for (int i = 0; i < l->n; i++)
    if (shape_same_name(l->text[i], strcspn(l->text[i], "="), name)) return parse(l->text[i], out);
  return false;
}

bool shape_list_find(const shape_list *l, const char *name, tsr_shape *out) {
  return shape_list_find_named(l, name, out) || (l->find && l->find(l->user, name, out));
}

static int check_names(const shape_list *l, const tsr_graph *g) {
  for (int i = 0; i < l->n; i++) {
    bool there = false;
    for (int k = 0; k < tsr_graph_n_inputs(g); k++) {
      const char *name = tsr_graph_input_info(g, k).name;
      there |= shape_same_name(l->text[i], strcspn(l->text[i], "="), name);
    }
    if (!there)
      return cli_usage(l->command, "the program has no input \"%.*s\"", (int)strcspn(l->text[i], "="), l->text[i]);
  }
  return EXIT_OK;
}

int shape_list_specialize(const shape_list *l, const tsr_graph *g, const char *file, tsr_graph **out) {
  int n = tsr_graph_n_inputs(g), rc = check_names(l, g);
  tsr_shape *shapes = calloc((size_t)n + 1, sizeof *shapes);
  *out = NULL;
  if (!shapes) rc = cli_usage(l->command, "out of memory");
  for (int i = 0; i < n && !rc; i++) {
    tsr_tensor_info t = tsr_graph_input_info(g, i);
    shapes[i] = t.shape;
    if (!shape_list_find(l, t.name, &shapes[i]) && is_unknown(&t.shape))
      rc = cli_usage(l->command, "%s:%d:%d: input %s has an unknown dimension (--shape %s=2x3.. gives it a number)",
                     file, t.line, t.column, t.name, t.name);
  }
  tsr_status st = rc ? NULL : tsr_graph_specialize(g, shapes, n, out);
  free(shapes);
  return st ? cli_fail(st) : rc;
}

int shape_list_compile(const shape_list *l, tsr_context *ctx, tsr_device *dev, const char *text, size_t bytes,
                       const char *file, const tsr_compile_options *o, tsr_program **out) {
  tsr_graph *g = NULL, *known = NULL;
  tsr_status st = NULL;
  bool open = l->n > 0;
  *out = NULL;
  if (l->n || memchr(text, '?', bytes)) st = tsr_graph_parse(ctx, text, bytes, file, &g);
  for (int i = 0; g && i < tsr_graph_n_inputs(g); i++) {
    tsr_shape s = tsr_graph_input_info(g, i).shape;
    open |= is_unknown(&s);
  }
  int rc = EXIT_OK;
  if (g && open) {
    rc = shape_list_specialize(l, g, file, &known);
    st = rc ? NULL : tsr_program_compile(dev, known, o, out);
    if (st) rc = cli_fail(st);
    tsr_graph_destroy(&known);
  } else if (st && l->n) rc = cli_fail(st);
  else {
    tsr_status_free(st); /* another level; what is wrong with the text is said now */
    st = tsr_program_parse(dev, text, bytes, file, o, out);
    if (st) rc = cli_fail(st);
  }
  tsr_graph_destroy(&g);
  return rc;
}
