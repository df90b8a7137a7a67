/* core/import/onnx.c - see onnx.h. One function a message of onnx.proto3, which is named before it; fields that nobody
 * needs are passed over. */
#include "core/import/onnx.h"

#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/name_set.h"
#include "core/import/onnx_tensor.h"

enum { MOST_DEPTH = 32 }; /* graphs inside graphs */

static void *add(onnx_model *m, void *list, size_t *n, size_t *cap, size_t size) {
  if (!al_grow(NULL, list, cap, *n + 1, size)) return NULL;
  char *at = *(char **)list + (*n)++ * size;
  return memset(at, 0, size);
}
#define ADD(m, list) add(m, &(m)->list.v, &(m)->list.n, &(m)->list.cap, sizeof *(m)->list.v)

/* TensorShapeProto.Dimension: 1 value, 2 name */
static tsr_status read_dim(onnx_model *m, wire_message d, onnx_dim *out) {
  wire_field x;
  tsr_status st = NULL;
  *out = (onnx_dim){TSR_ANY_DIM, NULL};
  while (wire_more(&m->file, &d, &x, &st)) {
    if (x.number == 1) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_VARINT, "a dimension"));
      if ((int64_t)x.value < -1) return wire_bad(&m->file, x.at, "a dimension of %lld", (long long)x.value);
      out->value = (int64_t)x.value < 0 ? TSR_ANY_DIM : (int64_t)x.value; /* some writers use -1 */
    } else if (x.number == 2) TSR_TRY(onnx_text(m, &x, "a dimension's name", &out->name));
  }
  return st;
}

/* TensorShapeProto: 1 dim */
static tsr_status read_shape(onnx_model *m, wire_message s, onnx_value *v) {
  wire_field x;
  tsr_status st = NULL;
  v->rank = 0;
  v->dims = arena_array(&m->a, onnx_dim, TSR_MAX_RANK);
  if (!v->dims) return st_oom();
  while (wire_more(&m->file, &s, &x, &st)) {
    if (x.number != 1) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a shape"));
    if (v->rank == TSR_MAX_RANK) return wire_bad(&m->file, x.at, "a shape of more than %d dimensions", TSR_MAX_RANK);
    TSR_TRY(read_dim(m, x.bytes, &v->dims[v->rank++]));
  }
  return st;
}

/* TypeProto.Tensor: 1 element type, 2 shape */
static tsr_status read_tensor_type(onnx_model *m, wire_message t, onnx_value *v) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &t, &x, &st)) {
    if (x.number == 1) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_VARINT, "an element type"));
      v->type = onnx_type_name(x.value);
    } else if (x.number == 2) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a shape"));
      TSR_TRY(read_shape(m, x.bytes, v));
    }
  }
  return st;
}

/* TypeProto: 1 tensor, 4 sequence, 5 map, 8 sparse tensor, 9 optional */
static tsr_status read_type(onnx_model *m, wire_message t, onnx_value *v) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &t, &x, &st)) {
    if (x.number == 1) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a type"));
      TSR_TRY(read_tensor_type(m, x.bytes, v));
    } else if (x.number == 4) v->type = "sequence";
    else if (x.number == 5) v->type = "map";
    else if (x.number == 8) v->type = "sparse tensor";
    else if (x.number == 9) v->type = "optional";
  }
  return st;
}

/* ValueInfoProto: 1 name, 2 type */
static tsr_status read_value(onnx_model *m, wire_message v, onnx_value *out) {
  wire_field x;
  tsr_status st = NULL;
  *out = (onnx_value){"", "", -1, NULL};
  while (wire_more(&m->file, &v, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a value's name", &out->name));
    else if (x.number == 2) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a type"));
      TSR_TRY(read_type(m, x.bytes, out));
    }
  }
  return st;
}

static tsr_status add_tensor(onnx_model *m, const wire_field *x, bool initializer) {
  onnx_tensor *t = ADD(m, tensors);
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a tensor"));
  if (!t) return st_oom();
  t->initializer = initializer;
  return onnx_read_tensor(m, x->bytes, t);
}

static tsr_status read_graph(onnx_model *m, wire_message g, int depth);

/* AttributeProto: 5 tensor, 6 graph, 10 tensors, 11 graphs */
static tsr_status read_attribute(onnx_model *m, wire_message a, int depth) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &a, &x, &st)) {
    if (x.number == 5 || x.number == 10) TSR_TRY(add_tensor(m, &x, false));
    if (x.number != 6 && x.number != 11) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a graph"));
    TSR_TRY(read_graph(m, x.bytes, depth + 1));
  }
  return st;
}

/* NodeProto: 4 op, 5 attribute, 7 domain */
static tsr_status read_node(onnx_model *m, wire_message n, int depth) {
  onnx_node node = {"", NULL, n.at};
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &n, &x, &st)) {
    if (x.number == 4) TSR_TRY(onnx_text(m, &x, "an op", &node.op));
    else if (x.number == 7) TSR_TRY(onnx_text(m, &x, "a domain", &node.domain));
    else if (x.number == 5) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "an attribute"));
      TSR_TRY(read_attribute(m, x.bytes, depth));
    }
  }
  TSR_TRY(st);
  if (!node.op || !*node.op) return wire_bad(&m->file, node.at, "a node without an op");
  if (!strcmp(node.domain, "ai.onnx")) node.domain = "";
  onnx_node *out = ADD(m, nodes);
  if (!out) return st_oom();
  *out = node;
  return NULL;
}

/* GraphProto: 1 node, 5 initializer, 11 input, 12 output, 15 sparse initializer */
static tsr_status read_graph(onnx_model *m, wire_message g, int depth) {
  wire_field x;
  tsr_status st = NULL;
  if (depth > MOST_DEPTH) return wire_bad(&m->file, g.at, "graphs inside graphs, more than %d deep", MOST_DEPTH);
  while (wire_more(&m->file, &g, &x, &st)) {
    if (x.number != 1 && x.number != 5 && x.number != 11 && x.number != 12) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a part of a graph"));
    if (x.number == 1) TSR_TRY(read_node(m, x.bytes, depth));
    else if (x.number == 5) TSR_TRY(add_tensor(m, &x, !depth));
    else if (!depth) {
      onnx_value *v = x.number == 11 ? ADD(m, inputs) : ADD(m, outputs);
      if (!v) return st_oom();
      TSR_TRY(read_value(m, x.bytes, v));
    }
  }
  return st;
}

/* OperatorSetIdProto: 1 domain, 2 version */
static tsr_status read_opset(onnx_model *m, wire_message s) {
  onnx_opset *o = ADD(m, opsets);
  wire_field x;
  tsr_status st = NULL;
  if (!o) return st_oom();
  o->domain = "";
  while (wire_more(&m->file, &s, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a domain", &o->domain));
    else if (x.number == 2) o->version = (int64_t)x.value;
  }
  return st;
}

/* ModelProto: 1 IR version, 2 producer, 7 graph, 8 opset, 25 function */
static tsr_status read_model(onnx_model *m) {
  wire_message whole = {0, m->file.size};
  wire_field x;
  bool graph = false;
  tsr_status st = NULL;
  m->producer = "";
  while (wire_more(&m->file, &whole, &x, &st)) {
    if (x.number == 1) m->ir_version = (int64_t)x.value;
    else if (x.number == 2) TSR_TRY(onnx_text(m, &x, "the producer", &m->producer));
    else if (x.number == 25) m->n_functions++;
    else if (x.number == 7 || x.number == 8) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a part of the model"));
      if (x.number == 7 && graph) return wire_bad(&m->file, x.at, "a second graph");
      graph |= x.number == 7;
      TSR_TRY(x.number == 7 ? read_graph(m, x.bytes, 0) : read_opset(m, x.bytes));
    }
  }
  TSR_TRY(st);
  if (!graph) return wire_bad(&m->file, m->file.size, "no graph: not an ONNX model, or a truncated one");
  if (!m->opsets.n) return wire_bad(&m->file, m->file.size, "no opset: not an ONNX model, or a truncated one");
  return NULL;
}

/* Older models list their initializers among the inputs. */
static tsr_status drop_initializers(onnx_model *m) {
  name_set names = {.al = NULL};
  size_t kept = 0;
  for (size_t i = 0; i < m->tensors.n; i++)
    if (m->tensors.v[i].initializer) name_set_add(&names, m->tensors.v[i].name);
  for (size_t i = 0; i < m->inputs.n; i++)
    if (!name_set_has(&names, m->inputs.v[i].name)) m->inputs.v[kept++] = m->inputs.v[i];
  m->inputs.n = kept;
  bool failed = names.failed;
  name_set_clear(&names);
  return failed ? st_oom() : NULL;
}

bool onnx_is(const void *p, size_t n) {
  const unsigned char *s = p;
  return n > 2 && s[0] == 8 && s[1] > 0 && s[1] < 128;
}

static tsr_status make(const char *name, onnx_model **out) {
  *out = al_new(NULL, onnx_model);
  if (!*out) return st_oom();
  arena_init(&(*out)->a, NULL);
  (*out)->file.name = arena_str(&(*out)->a, name);
  if ((*out)->file.name) return NULL;
  onnx_close(out);
  return st_oom();
}

tsr_status onnx_parse(const void *p, size_t n, const char *name, onnx_model **out) {
  TSR_TRY(make(name, out));
  onnx_model *m = *out;
  m->file.p = p;
  m->file.size = n;
  tsr_status st = read_model(m);
  if (!st) st = drop_initializers(m);
  if (st) onnx_close(out);
  return st;
}

tsr_status onnx_open(const char *path, onnx_model **out) {
  const char *why;
  size_t n;
  *out = NULL;
  const void *p = file_map(path, &n, &why);
  if (!p)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL), "%s: %s%s", path,
                   file_is_special(path) ? "" : "can't be opened: ", why);
  tsr_status st = onnx_parse(p, n, path, out);
  if (st) file_unmap(p, n);
  else (*out)->mapped = true;
  return st;
}

void onnx_close(onnx_model **m) {
  if (!m || !*m) return;
  onnx_model *x = *m;
  if (x->mapped) file_unmap(x->file.p, (size_t)x->file.size);
  al_free_array(NULL, x->opsets.v, x->opsets.cap);
  al_free_array(NULL, x->inputs.v, x->inputs.cap);
  al_free_array(NULL, x->outputs.v, x->outputs.cap);
  al_free_array(NULL, x->tensors.v, x->tensors.cap);
  al_free_array(NULL, x->nodes.v, x->nodes.cap);
  arena_clear(&x->a);
  al_delete(NULL, x);
  *m = NULL;
}
