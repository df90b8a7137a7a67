/* tools/tessera/inspect_onnx.c - `tessera inspect` of an ONNX model. */
#include <stdlib.h>
#include <string.h>

#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"
#include "tools/tessera/cli.h"
#include "tools/tessera/inspect.h"

typedef struct onnx_sum {
  tallies ops;        /* "Conv", "com.microsoft/Attention" */
  onnx_report report; /* what can't be converted */
  uint64_t parameters, bytes;
  arena a;
} onnx_sum;

static bool sum_up(const onnx_model *m, onnx_sum *s) {
  for (size_t i = 0; i < m->nodes.n; i++) {
    const onnx_node *n = &m->nodes.v[i];
    const char *name = *n->domain ? arena_fmt(&s->a, "%s/%s", n->domain, n->op) : n->op;
    if (!name || !tally_add(&s->ops, name)) return false;
  }
  for (size_t i = 0; i < m->tensors.n; i++) {
    if (__builtin_add_overflow(s->parameters, m->tensors.v[i].elements, &s->parameters)) s->parameters = UINT64_MAX;
    if (__builtin_add_overflow(s->bytes, m->tensors.v[i].bytes, &s->bytes)) s->bytes = UINT64_MAX;
  }
  return true;
}

/* Dimensions that the model leaves open are tried with a few numbers: what one of them converts is supported. */
static tsr_status try_to_convert(onnx_model *m, onnx_report *best) {
  static const int64_t dims[] = {1, 2, 16, 64, 320};
  bool found = false;
  for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
    const onnx_options o = {.any_dim = dims[i]};
    onnx_report r;
    ir_module *module;
    tsr_status st = onnx_convert(m, &o, NULL, &module, &r);
    const tsr_code code = tsr_status_code(st);
    ir_module_destroy(&module);
    if (!found || !st || r.problems.n < best->problems.n) {
      if (found) onnx_report_clear(best);
      *best = r;
      found = true;
    } else onnx_report_clear(&r);
    if (!st) return NULL;
    if (code != TSR_UNSUPPORTED) return st;
    tsr_status_free(st);
  }
  return NULL;
}

static void json_unsupported(const onnx_report *r) {
  printf(", \"unsupported\": [");
  for (size_t i = 0; i < r->problems.n; i++) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, r->problems.v[i].op);
    printf(", \"count\": %zu, \"why\": ", r->problems.v[i].count);
    cli_json_string(stdout, r->problems.v[i].why);
    printf("}");
  }
  printf("]");
}

static void json_dim(const onnx_dim *d) {
  if (d->value != TSR_ANY_DIM) printf("%lld", (long long)d->value);
  else if (d->name && *d->name) cli_json_string(stdout, d->name);
  else printf("null");
}

static void json_values(const char *key, const onnx_value *v, size_t n) {
  printf(", \"%s\": [", key);
  for (size_t i = 0; i < n; i++) {
    printf("%s{\"name\": ", i ? ", " : "");
    cli_json_string(stdout, v[i].name);
    printf(", \"dtype\": \"%s\", \"shape\": %s", v[i].type, v[i].rank < 0 ? "null" : "[");
    for (int d = 0; d < v[i].rank; d++) {
      printf("%s", d ? ", " : "");
      json_dim(&v[i].dims[d]);
    }
    printf("%s", v[i].rank < 0 ? "" : "]");
    if (v[i].is_sequence) printf(", \"sequence\": true");
    if (v[i].is_optional) printf(", \"optional\": true");
    printf("}");
  }
  printf("]");
}

static void json_tensor(const onnx_tensor *t, bool first) {
  printf("%s{\"name\": ", first ? "" : ", ");
  cli_json_string(stdout, t->name);
  printf(", \"type\": \"%s\", \"shape\": [", t->type);
  for (int d = 0; d < t->rank; d++) printf("%s%lld", d ? ", " : "", (long long)t->dims[d]);
  printf("], \"bytes\": %llu", (unsigned long long)t->bytes);
  if (t->location) {
    printf(", \"external\": ");
    cli_json_string(stdout, t->location);
    printf(", \"offset\": %llu", (unsigned long long)t->offset);
  } else if (t->raw.end > t->raw.at) printf(", \"offset\": %llu", (unsigned long long)t->raw.at);
  printf("}");
}

static void print_json(const onnx_model *m, const onnx_sum *s) {
  bool first = true;
  inspect_json_head(m->file.name, "onnx");
  printf(", \"ir_version\": %lld, \"producer\": ", (long long)m->ir_version);
  cli_json_string(stdout, m->producer);
  printf(", \"opset\": {");
  for (size_t i = 0; i < m->opsets.n; i++) {
    printf("%s", i ? ", " : "");
    cli_json_string(stdout, *m->opsets.v[i].domain ? m->opsets.v[i].domain : "ai.onnx");
    printf(": %lld", (long long)m->opsets.v[i].version);
  }
  printf("}");
  json_values("inputs", m->inputs.v, m->inputs.n);
  json_values("outputs", m->outputs.v, m->outputs.n);
  printf(", \"parameters\": %llu, \"bytes\": %llu, \"functions\": %zu", (unsigned long long)s->parameters,
         (unsigned long long)s->bytes, m->n_functions);
  inspect_json_tallies("ops", &s->ops);
  json_unsupported(&s->report);
  printf(", \"tensors\": [");
  for (size_t i = 0; i < m->tensors.n; i++)
    if (m->tensors.v[i].initializer) json_tensor(&m->tensors.v[i], first), first = false;
  printf("]}\n");
}

static void print_values(const char *what, const onnx_value *v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    printf("%s %zu %s: ", what, i, v[i].name);
    for (int d = 0; d < v[i].rank; d++) {
      const onnx_dim *x = &v[i].dims[d];
      if (x->value != TSR_ANY_DIM) printf("%s%lld", d ? "x" : "", (long long)x->value);
      else printf("%s%s", d ? "x" : "", x->name && *x->name ? x->name : "?");
    }
    printf("%s%s%s%s\n", v[i].rank > 0 ? " " : v[i].rank < 0 ? "(unknown shape) " : "", v[i].type,
           v[i].is_sequence ? ", a sequence" : "", v[i].is_optional ? ", optional" : "");
  }
}

static void print_lines(const onnx_model *m, const onnx_sum *s) {
  size_t external = 0;
  printf("%s: ONNX, IR version %lld%s%s, opset", m->file.name, (long long)m->ir_version, *m->producer ? ", by " : "",
         m->producer);
  for (size_t i = 0; i < m->opsets.n; i++)
    printf("%s %s %lld", i ? "," : "", *m->opsets.v[i].domain ? m->opsets.v[i].domain : "ai.onnx",
           (long long)m->opsets.v[i].version);
  printf("\n");
  print_values("input", m->inputs.v, m->inputs.n);
  print_values("output", m->outputs.v, m->outputs.n);
  for (size_t i = 0; i < m->tensors.n; i++) external += m->tensors.v[i].location != NULL;
  printf("parameters: %llu, %llu bytes in %zu tensors", (unsigned long long)s->parameters, (unsigned long long)s->bytes,
         m->tensors.n);
  if (external) printf(", %zu of them in other files", external);
  printf("\n");
  inspect_print_tallies("ops", &s->ops);
  for (size_t i = 0; i < s->report.problems.n; i++)
    printf("unsupported: %s %zu: %s\n", s->report.problems.v[i].op, s->report.problems.v[i].count,
           s->report.problems.v[i].why);
  if (!s->report.problems.n) printf("unsupported: none\n");
}

int inspect_onnx(const char *file, bool json) {
  onnx_model *m;
  onnx_sum s = {.parameters = 0};
  tsr_status st = onnx_open(file, &m);
  if (st) return cli_fail(st);
  arena_init(&s.a, NULL);
  bool ok = sum_up(m, &s);
  st = try_to_convert(m, &s.report);
  if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) ok = false;
  int rc = EXIT_OK;
  if (st && ok) rc = cli_fail(st), st = NULL; /* an input without a shape, an opset that isn't known */
  tsr_status_free(st);
  if (ok && !rc) (json ? print_json : print_lines)(m, &s);
  onnx_report_clear(&s.report);
  tally_clear(&s.ops);
  arena_clear(&s.a);
  onnx_close(&m);
  return ok ? rc : cli_usage("inspect", "out of memory");
}
