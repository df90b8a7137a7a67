/* tools/tessera/cmd_inspect.c - `tessera inspect FILE`: what a model or a file of weights has, without running it:
 * inputs, outputs, parameters, bytes, ops, tensors, and what of it isn't supported. Graph IR text, safetensors, .npz,
 * GGUF, ONNX (inspect_onnx.c); of weights nothing but headers is read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/import/onnx.h"
#include "core/import/weights.h"
#include "tools/tessera/cli.h"
#include "tools/tessera/inspect.h"

enum { MOST_TEXT = 200 }; /* of a text about the file, in the listing for people */

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void json_shape(const int64_t *dims, int rank) {
  printf("[");
  for (int i = 0; i < rank; i++) {
    printf("%s", i ? ", " : "");
    if (dims[i] == IR_DYNAMIC) printf("null");
    else printf("%lld", (long long)dims[i]);
  }
  printf("]");
}

static void json_value(const char *name, const ir_type *t, bool first) {
  printf("%s{\"name\": ", first ? "" : ", ");
  cli_json_string(stdout, name);
  printf(", \"dtype\": \"%s\", \"shape\": ", tsr_dtype_name(t->dtype));
  json_shape(t->dims, t->rank);
  printf("}");
}

void inspect_json_tallies(const char *key, const tallies *t) {
  printf(", \"%s\": {", key);
  for (size_t i = 0; i < t->n; i++) {
    printf("%s", i ? ", " : "");
    cli_json_string(stdout, t->v[i].name);
    printf(": %zu", t->v[i].n);
  }
  printf("}");
}

void inspect_json_unsupported(const tallies *t, const char *why) {
  printf(", \"unsupported\": [");
  for (size_t i = 0; i < t->n; i++) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, t->v[i].name);
    printf(", \"count\": %zu, \"why\": \"%s\"}", t->v[i].n, why);
  }
  printf("]");
}

static void json_number(double v) {
  if (isfinite(v)) printf("%.*g", (double)(float)v == v ? 9 : 17, v); /* a float needs no more */
  else printf("null");
}

static void json_meta(const weights_meta *m) {
  switch (m->kind) {
  case WEIGHTS_UINT: printf("%llu", (unsigned long long)m->v.u); break;
  case WEIGHTS_INT: printf("%lld", (long long)m->v.i); break;
  case WEIGHTS_FLOAT: json_number(m->v.f); break;
  case WEIGHTS_BOOL: printf("%s", m->v.u ? "true" : "false"); break;
  case WEIGHTS_STRING: cli_json_string(stdout, m->v.s); break;
  case WEIGHTS_ARRAY: printf("{\"elements\": %llu}", (unsigned long long)m->v.array.n); break;
  }
}

void inspect_json_head(const char *file, const char *format) {
  printf("{\"file\": ");
  cli_json_string(stdout, file);
  printf(", \"format\": \"%s\"", format);
}

/* ---- Graph IR ---------------------------------------------------------------------------------------------------- */

static const char why_custom[] = "a custom op: the application that registers it can run it";

static void graph_json(const char *file, const graph_text *g) {
  const ir_block *b = g->func->regions[0];
  inspect_json_head(file, "mlir");
  printf(", \"inputs\": [");
  for (int i = 0; i < b->n_args; i++) json_value(b->args[i]->name ? b->args[i]->name : "", b->args[i]->type, !i);
  printf("], \"outputs\": [");
  for (int i = 0; g->ret && i < g->ret->n_operands; i++)
    json_value(graph_text_output_name(g, i), g->ret->operands[i]->type, !i);
  printf("], \"parameters\": %llu, \"bytes\": %llu", (unsigned long long)g->parameters, (unsigned long long)g->bytes);
  inspect_json_tallies("ops", &g->ops);
  inspect_json_unsupported(&g->custom, why_custom);
  printf("}\n");
}

static void print_value(const char *what, int i, const char *name, const ir_type *t) {
  printf("%s %d%s%s: ", what, i, *name ? " " : "", name);
  for (int d = 0; d < t->rank; d++) {
    if (d) printf("x");
    if (t->dims[d] == IR_DYNAMIC) printf("?");
    else printf("%lld", (long long)t->dims[d]);
  }
  printf("%s%s\n", t->rank ? " " : "", tsr_dtype_name(t->dtype));
}

void inspect_print_tallies(const char *what, const tallies *t) {
  printf("%s:", what);
  for (size_t i = 0; i < t->n; i++) printf("%s %s %zu", i ? "," : "", t->v[i].name, t->v[i].n);
  printf("%s\n", t->n ? "" : " none");
}

static void graph_lines(const char *file, const graph_text *g) {
  const ir_block *b = g->func->regions[0];
  printf("%s: Graph IR\n", file);
  for (int i = 0; i < b->n_args; i++)
    print_value("input", i, b->args[i]->name ? b->args[i]->name : "", b->args[i]->type);
  for (int i = 0; g->ret && i < g->ret->n_operands; i++)
    print_value("output", i, graph_text_output_name(g, i), g->ret->operands[i]->type);
  printf("parameters: %llu, %llu bytes\n", (unsigned long long)g->parameters, (unsigned long long)g->bytes);
  inspect_print_tallies("ops", &g->ops);
  inspect_print_tallies("unsupported", &g->custom);
}

static int inspect_graph(const char *file, bool json) {
  size_t bytes;
  graph_text g;
  char *text = cli_read_file(file, &bytes);
  if (!text) return EXIT_USAGE;
  tsr_status st = graph_text_read(text, bytes, file, &g);
  if (!st) (json ? graph_json : graph_lines)(file, &g);
  graph_text_clear(&g);
  free(text);
  return st ? cli_fail(st) : EXIT_OK;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

typedef struct weights_sum {
  tallies types, unsupported;
  uint64_t parameters, bytes;
} weights_sum;

static bool sum_up(const weights *w, weights_sum *s) {
  for (size_t i = 0; i < w->n_tensors; i++) {
    const weights_tensor *t = &w->tensors[i];
    uint64_t n;
    if (!tally_add(&s->types, t->type)) return false;
    if (!weights_is_readable(t) && !tally_add(&s->unsupported, t->type)) return false;
    if (!weights_count(&t->shape, &n) || __builtin_add_overflow(s->parameters, n, &s->parameters))
      s->parameters = UINT64_MAX;
    s->bytes += t->bytes;
  }
  return true;
}

static void weights_json(const weights *w, const weights_sum *s) {
  inspect_json_head(w->file, w->format);
  printf(", \"inputs\": [], \"outputs\": [], \"parameters\": %llu, \"bytes\": %llu, \"ops\": {}",
         (unsigned long long)s->parameters, (unsigned long long)s->bytes);
  inspect_json_tallies("types", &s->types);
  inspect_json_unsupported(&s->unsupported, "no reader for this type");
  printf(", \"metadata\": {");
  for (size_t i = 0; i < w->n_meta; i++) {
    printf("%s", i ? ", " : "");
    cli_json_string(stdout, w->meta[i].key);
    printf(": ");
    json_meta(&w->meta[i]);
  }
  printf("}, \"tensors\": [");
  for (size_t i = 0; i < w->n_tensors; i++) {
    const weights_tensor *t = &w->tensors[i];
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, t->name);
    printf(", \"type\": ");
    cli_json_string(stdout, t->type);
    printf(", \"shape\": ");
    json_shape(t->shape.dims, t->shape.rank);
    printf(", \"offset\": %llu, \"bytes\": %llu}", (unsigned long long)t->offset, (unsigned long long)t->bytes);
  }
  printf("]}\n");
}

/* In one line, what is long cut. */
static void print_text(const char *s) {
  for (int i = 0; s[i] && i < MOST_TEXT; i++) putchar((unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '?' : s[i]);
  if (strlen(s) > MOST_TEXT) printf(".. (%zu bytes)", strlen(s));
}

static void print_meta(const weights_meta *m) {
  printf("%s = ", m->key);
  if (m->kind == WEIGHTS_STRING) print_text(m->v.s);
  else if (m->kind == WEIGHTS_ARRAY) printf("%llu elements", (unsigned long long)m->v.array.n);
  else json_meta(m);
  printf("\n");
}

static void weights_lines(const weights *w, const weights_sum *s) {
  char shape[256];
  printf("%s: %s\n", w->file, w->format);
  for (size_t i = 0; i < w->n_meta; i++) print_meta(&w->meta[i]);
  for (size_t i = 0; i < w->n_tensors; i++) {
    const weights_tensor *t = &w->tensors[i];
    printf("tensor %s: %s%s", t->name, cli_shape_text(&t->shape, shape, sizeof shape), t->shape.rank ? " " : "");
    print_text(t->type);
    printf(", %llu bytes at %llu\n", (unsigned long long)t->bytes, (unsigned long long)t->offset);
  }
  printf("parameters: %llu, %llu bytes\n", (unsigned long long)s->parameters, (unsigned long long)s->bytes);
  inspect_print_tallies("types", &s->types);
  inspect_print_tallies("unsupported", &s->unsupported);
}

static int inspect_weights(const char *file, bool json) {
  weights *w;
  weights_sum s = {.parameters = 0};
  tsr_status st = weights_open(NULL, file, &w);
  if (st) return cli_fail(st);
  bool ok = sum_up(w, &s);
  if (ok) (json ? weights_json : weights_lines)(w, &s);
  tally_clear(&s.types);
  tally_clear(&s.unsupported);
  weights_close(&w);
  return ok ? EXIT_OK : cli_usage("inspect", "out of memory");
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

typedef enum content { CONTENT_TEXT, CONTENT_WEIGHTS, CONTENT_ONNX } content;

/* By content, as whatever reads it later does; of a model, which has no mark, by its name too. */
static content content_of(const char *file) {
  const char *why, *dot = strrchr(file, '.');
  content c = CONTENT_TEXT;
  size_t n;
  const void *p = strcmp(file, "-") ? file_map(file, &n, &why) : NULL;
  if (!p) return c;
  if (weights_is(p, n)) c = CONTENT_WEIGHTS;
  else if (onnx_is(p, n) || (dot && !strcmp(dot, ".onnx"))) c = CONTENT_ONNX;
  file_unmap(p, n);
  return c;
}

int cmd_inspect(int argc, char **argv) {
  bool json = false;
  const option options[] = {{.name = "--json", .flag = &json}};
  if (!cli_options("inspect", &argc, argv, options, 1)) return EXIT_USAGE;
  if (argc != 2) return cli_usage("inspect", "needs one FILE: Graph IR text, ONNX, safetensors, .npz or GGUF");
  switch (content_of(argv[1])) {
  case CONTENT_WEIGHTS: return inspect_weights(argv[1], json);
  case CONTENT_ONNX: return inspect_onnx(argv[1], json);
  default: return inspect_graph(argv[1], json);
  }
}
