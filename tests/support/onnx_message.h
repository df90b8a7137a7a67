/* tests/support/onnx_message.h - ONNX models for tests: messages of the wire format, put together from the inside out.
 */
#ifndef TESTS_SUPPORT_ONNX_MESSAGE_H
#define TESTS_SUPPORT_ONNX_MESSAGE_H
#include <stdint.h>
#include <string.h>

typedef struct message {
  unsigned char p[8192];
  size_t n;
} message;

static inline void varint(message *m, uint64_t v) {
  for (; v > 127; v >>= 7) m->p[m->n++] = (unsigned char)(v | 128);
  m->p[m->n++] = (unsigned char)v;
}

static inline void integer(message *m, unsigned field, uint64_t v) {
  varint(m, field << 3);
  varint(m, v);
}

static inline void bytes(message *m, unsigned field, const void *p, size_t n) {
  varint(m, field << 3 | 2);
  varint(m, n);
  if (n) memcpy(m->p + m->n, p, n);
  m->n += n;
}

static inline void text(message *m, unsigned field, const char *s) { bytes(m, field, s, strlen(s)); }
static inline void inside(message *m, unsigned field, const message *x) { bytes(m, field, x->p, x->n); }

enum { F32 = 1, I64 = 7, U4 = 21 };

static inline message value(const char *name, int type, const char *symbol, int64_t dim) {
  message d[2] = {{.n = 0}}, shape = {.n = 0}, tensor = {.n = 0}, t = {.n = 0}, v = {.n = 0};
  if (symbol) text(&d[0], 2, symbol);
  integer(&d[1], 1, (uint64_t)dim);
  inside(&shape, 1, &d[0]);
  inside(&shape, 1, &d[1]);
  integer(&tensor, 1, (uint64_t)type);
  inside(&tensor, 2, &shape);
  inside(&t, 1, &tensor);
  text(&v, 1, name);
  inside(&v, 2, &t);
  return v;
}

static inline message tensor(const char *name, int type, int rank, const int64_t *dims) {
  message t = {.n = 0};
  for (int i = 0; i < rank; i++) integer(&t, 1, (uint64_t)dims[i]);
  integer(&t, 2, (uint64_t)type);
  text(&t, 8, name);
  return t;
}

static inline void external(message *t, const char *key, const char *v) {
  message e = {.n = 0};
  text(&e, 1, key);
  text(&e, 2, v);
  inside(t, 13, &e);
}

static inline message node(const char *op, const char *domain) {
  message n = {.n = 0};
  text(&n, 1, "in");
  text(&n, 2, "out");
  text(&n, 4, op);
  if (domain) text(&n, 7, domain);
  return n;
}

static inline message model_of(const message *graph, uint64_t opset_version) {
  message m = {.n = 0}, opset = {.n = 0};
  integer(&m, 1, 8);
  text(&m, 2, "test");
  inside(&m, 7, graph);
  integer(&opset, 2, opset_version);
  inside(&m, 8, &opset);
  return m;
}

static inline message model(const message *graph) { return model_of(graph, 17); }

/* A graph of one tensor. */
static inline message with_tensor(const message *t) {
  message g = {.n = 0};
  inside(&g, 5, t);
  return model(&g);
}

/* A node with lists of names, ended by NULL. */
static inline message node_of(const char *op, const char *const *in, const char *const *out) {
  message n = {.n = 0};
  for (; *in; in++) text(&n, 1, *in);
  for (; *out; out++) text(&n, 2, *out);
  text(&n, 4, op);
  return n;
}
#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void add_int(message *n, const char *name, int64_t v) {
  message a = {.n = 0};
  text(&a, 1, name);
  integer(&a, 3, (uint64_t)v);
  integer(&a, 20, 2);
  inside(n, 5, &a);
}

static inline void add_float(message *n, const char *name, float v) {
  message a = {.n = 0};
  text(&a, 1, name);
  varint(&a, 2 << 3 | 5);
  memcpy(a.p + a.n, &v, sizeof v);
  a.n += sizeof v;
  integer(&a, 20, 1);
  inside(n, 5, &a);
}

static inline void add_string(message *n, const char *name, const char *v) {
  message a = {.n = 0};
  text(&a, 1, name);
  text(&a, 4, v);
  integer(&a, 20, 3);
  inside(n, 5, &a);
}

static inline void add_graph(message *n, const char *name, const message *g) {
  message a = {.n = 0};
  text(&a, 1, name);
  inside(&a, 6, g);
  integer(&a, 20, 5);
  inside(n, 5, &a);
}

/* Input or output without a shape. */
static inline void add_tensor(message *n, const char *name, const message *t) {
  message a = {.n = 0};
  text(&a, 1, name);
  inside(&a, 5, t);
  integer(&a, 20, 4);
  inside(n, 5, &a);
}

static inline void add_value(message *g, unsigned field, const char *name) {
  message v = {.n = 0};
  text(&v, 1, name);
  inside(g, field, &v);
}

static inline void add_floats(message *g, const char *name, int rank, const int64_t *dims, const float *v, size_t n) {
  message t = tensor(name, F32, rank, dims);
  bytes(&t, 9, v, n * sizeof *v);
  inside(g, 5, &t);
}

static inline void add_ints(message *g, const char *name, int rank, const int64_t *dims, const int64_t *v, size_t n) {
  message t = tensor(name, I64, rank, dims);
  bytes(&t, 9, v, n * sizeof *v);
  inside(g, 5, &t);
}
#endif
