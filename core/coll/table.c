/* core/coll/table.c - see table.h. The text: "tessera-coll 1", the key, then a row a line: "all_reduce 4096 one_shot".
 */
#include "core/coll/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char head[] = "tessera-coll 1\n";

void coll_table_key(char *out, size_t cap, const char *transport, int32_t ranks, int cores, const char *path) {
  snprintf(out, cap, "%s %d %d %s", transport, ranks, cores, path);
}

/* The line without its end; NULL: there is no whole one. */
static const char *next_line(const char **at, const char *end, size_t *n) {
  const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
  if (!stop) return NULL;
  *n = (size_t)(stop - line);
  *at = stop + 1;
  return line;
}

static bool parse_row(const char *line, size_t n, int32_t ranks, coll_choice *out) {
  char text[128], op[32], name[64], rest;
  long long most;
  if (n >= sizeof text || memchr(line, 0, n)) return false;
  memcpy(text, line, n);
  text[n] = 0;
  if (sscanf(text, "%31s %lld %63s %c", op, &most, name, &rest) != 3 || most < 0) return false;
  coll_op o = coll_op_parse(op);
  const coll_algorithm *a = coll_algorithm_find(NULL, name);
  if (o == N_COLL_OPS || !a || coll_refusal(a, &(coll_request){.op = o, .n_ranks = ranks})) return false;
  *out = (coll_choice){o, ranks, most, a->name};
  return true;
}

bool coll_table_parse(const char *text, size_t bytes, const char *key, int32_t ranks, coll_table *out) {
  const char *at = text, *end = text + bytes, *line;
  size_t n = 0;
  out->n = 0;
  if (bytes > COLL_TABLE_TEXT || bytes < sizeof head - 1 || memcmp(text, head, sizeof head - 1)) return false;
  at += sizeof head - 1;
  line = next_line(&at, end, &n);
  if (!line || n != strlen(key) || memcmp(line, key, n)) return false;
  while (at < end) {
    line = next_line(&at, end, &n);
    if (!line || out->n == COLL_TABLE_ROWS || !parse_row(line, n, ranks, &out->rows[out->n])) {
      out->n = 0;
      return false;
    }
    out->n++;
  }
  return out->n > 0;
}

size_t coll_table_print(const coll_table *t, const char *key, char *out, size_t cap) {
  size_t at = (size_t)snprintf(out, cap, "%s%s\n", head, key);
  for (int32_t i = 0; i < t->n && at < cap; i++)
    at += (size_t)snprintf(out + at, cap - at, "%s %lld %s\n", coll_op_get(t->rows[i].op)->name,
                           (long long)t->rows[i].most_bytes, t->rows[i].algorithm);
  return at < cap ? at : 0;
}

void coll_table_add(coll_table *t, coll_op op, int32_t ranks, int64_t bytes, const char *algorithm) {
  coll_choice *last = t->n && t->rows[t->n - 1].op == op ? &t->rows[t->n - 1] : NULL;
  if (last && !strcmp(last->algorithm, algorithm)) {
    last->most_bytes = bytes;
    return;
  }
  if (t->n == COLL_TABLE_ROWS) return;
  if (last) last->most_bytes = (int64_t)sqrt((double)last->most_bytes * (double)bytes);
  t->rows[t->n++] = (coll_choice){op, ranks, bytes, algorithm};
}

void coll_table_finish(coll_table *t) {
  for (int32_t i = 0; i < t->n; i++)
    if (i + 1 == t->n || t->rows[i + 1].op != t->rows[i].op) t->rows[i].most_bytes = INT64_MAX;
}
