/* tests/unit/graph_typed.h - how tests of Graph IR write an op with its operands as text, for tables of a row an op. */
#ifndef TESTS_UNIT_GRAPH_TYPED_H
#define TESTS_UNIT_GRAPH_TYPED_H
#include <stdio.h>
#include <string.h>

#include "tests/support/graph_text.h"

/* Regions of if and while. */
#define REGIONS(args, first, second) "({\n^bb0(" args "):\n" first "\n}, {\n^bb0(" args "):\n" second "\n})"
#define GIVE(v) "\"tessera.graph.return\"(" v ")"
#define TRUE_ "%t = \"tessera.graph.constant\"() {value = dense<true> : tensor<i1>}\n"
#define SQUARE(r, v) "%" r " = \"tessera.graph.mul\"(%" v ", %" v ")\n"

typedef struct typed {
  const char *args, *op, *type;
} typed;

/* "name(operands) attrs", or "results = name(operands) attrs", as a line of text. */
static inline const char *line(const char *op) {
  static char text[600];
  const char *equals = strstr(op, " = "), *paren = strchr(op, '('), *name = op;
  if (equals && equals < paren) name = equals + 3;
  snprintf(text, sizeof text, "%.*s\"tessera.graph.%.*s\"%s", (int)(name - op), op, (int)(paren - name), name, paren);
  if (name != op) return text;
  snprintf(text, sizeof text, "%%0 = \"tessera.graph.%.*s\"%s", (int)(paren - op), op, paren);
  return text;
}

/* The op of the first row that isn't refused in one line, at its place and with what `type` says; NULL: all are. */
static inline const char *not_refused(const typed *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const char *message = gt_error(gt_func(rows[i].args, line(rows[i].op), "%0", "tensor<4xf32>"));
    if (!gt_says(message, rows[i].type) || !gt_says(message, "test.mlir:4:") || strchr(message, '\n'))
      return rows[i].op;
  }
  return NULL;
}

#endif
