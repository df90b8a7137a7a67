/* core/import/onnx_graph.c - see onnx_graph.h. One function a message of onnx.proto3, which is named before it. */
#include "core/import/onnx_graph.h"

#include <string.h>

enum { MOST_DEPTH = 32 }; /* graphs inside graphs */

static tsr_status read_tensor(onnx_model *m, const wire_field *x, bool initializer, onnx_tensor *out) {
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a tensor"));
  out->initializer = initializer;
  TSR_TRY(onnx_read_tensor(m, x->bytes, out));
  onnx_tensor *listed = ONNX_ADD(m, tensors);
  if (!listed) return st_oom();
  *listed = *out;
  return NULL;
}

static double as_float(uint64_t bits) {
  const uint32_t word = (uint32_t)bits;
  float f;
  memcpy(&f, &word, sizeof f);
  return f;
}

/* One element of a list, or several packed. */
static tsr_status add_int(const onnx_model *m, const wire_field *x, onnx_attr *a, size_t *n) {
  wire_message list = x->bytes;
  if (x->kind == WIRE_VARINT) return a->ints[(*n)++] = (int64_t)x->value, NULL;
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "integers"));
  while (list.at < list.end) {
    uint64_t v = 0;
    TSR_TRY(wire_varint(&m->file, &list, &v));
    a->ints[(*n)++] = (int64_t)v;
  }
  return NULL;
}

static tsr_status add_float(const onnx_model *m, const wire_field *x, onnx_attr *a, size_t *n) {
  if (x->kind == WIRE_FOUR) return a->floats[(*n)++] = as_float(x->value), NULL;
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "numbers"));
  for (uint64_t at = x->bytes.at; at + 4 <= x->bytes.end; at += 4) {
    float f;
    memcpy(&f, m->file.p + at, sizeof f);
    a->floats[(*n)++] = f;
  }
  return NULL;
}

/* Room for the lists: a packed one has at most as many integers as bytes. */
static tsr_status list_room(onnx_model *m, wire_message a, onnx_attr *out) {
  size_t n[3] = {0};
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &a, &x, &st)) {
    const size_t most = x.kind == WIRE_BYTES ? (size_t)(x.bytes.end - x.bytes.at) : 1;
    if (x.number == 7) n[0] += x.kind == WIRE_BYTES ? most / 4 : 1;
    if (x.number == 8) n[1] += most;
    if (x.number == 9) n[2]++;
  }
  TSR_TRY(st);
  if (n[0] && !(out->floats = arena_array(&m->a, double, n[0]))) return st_oom();
  if (n[1] && !(out->ints = arena_array(&m->a, int64_t, n[1]))) return st_oom();
  if (n[2] && !(out->strings = arena_array(&m->a, const char *, n[2]))) return st_oom();
  return NULL;
}

/* A string of any bytes: "" where it is no text. */
static tsr_status loose_text(onnx_model *m, const wire_field *x, const char **out) {
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a string"));
  tsr_status st = onnx_text(m, x, "a string", out);
  if (st) *out = "";
  if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
  tsr_status_free(st);
  return NULL;
}

static tsr_status read_list(onnx_model *m, const wire_field *x, onnx_attr *out, size_t n[3]) {
  if (x->number == 7) return add_float(m, x, out, &n[0]);
  if (x->number == 8) return add_int(m, x, out, &n[1]);
  return loose_text(m, x, &out->strings[n[2]++]);
}

static tsr_status read_tensor_of(onnx_model *m, const wire_field *x, onnx_attr *out) {
  onnx_tensor *t = arena_new(&m->a, onnx_tensor);
  if (!t) return st_oom();
  if (x->number == 5) out->tensor = t;
  return read_tensor(m, x, false, t);
}

static tsr_status read_graph_of(onnx_model *m, const wire_field *x, int depth, onnx_attr *out) {
  onnx_graph *g = arena_new(&m->a, onnx_graph);
  if (!g) return st_oom();
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a graph"));
  if (x->number == 6) out->graph = g;
  return onnx_read_graph(m, x->bytes, depth + 1, g);
}

/* Older writers leave the type out. */
static void find_kind(onnx_attr *a, uint64_t type, uint32_t only, const size_t n[3]) {
  static const onnx_attr_kind kinds[12] = {
      [2] = ONNX_FLOAT,  [3] = ONNX_INT,  [4] = ONNX_STRING,  [5] = ONNX_TENSOR, [6] = ONNX_GRAPH,
      [7] = ONNX_FLOATS, [8] = ONNX_INTS, [9] = ONNX_STRINGS, [10] = ONNX_OTHER, [11] = ONNX_OTHER};
  a->kind = type && type < ONNX_N_KINDS ? (onnx_attr_kind)type : type ? ONNX_OTHER : kinds[only];
  if ((a->kind == ONNX_TENSOR && !a->tensor) || (a->kind == ONNX_GRAPH && !a->graph)) a->kind = ONNX_NO_KIND;
  a->n = a->kind == ONNX_FLOATS ? n[0] : a->kind == ONNX_INTS ? n[1] : a->kind == ONNX_STRINGS ? n[2] : 0;
}

/* AttributeProto: 1 name, 2 float, 3 integer, 4 string, 5 tensor, 6 graph, 7 floats, 8 integers, 9 strings, 10 tensors,
 * 11 graphs, 20 type, 21 the function's attribute that it has the value of */
tsr_status onnx_read_attr(onnx_model *m, wire_message a, int depth, onnx_attr *out) {
  wire_field x;
  tsr_status st = NULL;
  uint64_t type = 0;
  uint32_t only = 0;
  size_t n[3] = {0};
  out->name = out->s = "";
  TSR_TRY(list_room(m, a, out));
  while (wire_more(&m->file, &a, &x, &st)) {
    if (x.number >= 2 && x.number <= 11) only = x.number;
    switch (x.number) {
      case 1: TSR_TRY(onnx_text(m, &x, "an attribute's name", &out->name)); break;
      case 2: out->f = as_float(x.value); break;
      case 3: out->i = (int64_t)x.value; break;
      case 4: TSR_TRY(loose_text(m, &x, &out->s)); break;
      case 5:
      case 10: TSR_TRY(read_tensor_of(m, &x, out)); break;
      case 6:
      case 11: TSR_TRY(read_graph_of(m, &x, depth, out)); break;
      case 7:
      case 8:
      case 9: TSR_TRY(read_list(m, &x, out, n)); break;
      case 20: type = x.value; break;
      case 21: TSR_TRY(onnx_text(m, &x, "an attribute's name", &out->of_function)); break;
      default: break;
    }
  }
  TSR_TRY(st);
  find_kind(out, type, only, n);
  return NULL;
}

/* NodeProto: 1 input, 2 output, 3 name, 4 op, 5 attribute, 7 domain */
tsr_status onnx_read_node(onnx_model *m, wire_message n, int depth, onnx_node *out) {
  wire_message list = n;
  wire_field x;
  tsr_status st = NULL;
  size_t count[6] = {0};
  *out = (onnx_node){.domain = "", .name = "", .at = n.at};
  TSR_TRY(onnx_count(m, n, count, 6));
  out->in = arena_array(&m->a, const char *, count[1]);
  out->out = arena_array(&m->a, const char *, count[2]);
  out->attrs = arena_array(&m->a, onnx_attr, count[5]);
  if (!out->in || !out->out || !out->attrs) return st_oom();
  while (wire_more(&m->file, &list, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "an input", &out->in[out->n_in++]));
    else if (x.number == 2) TSR_TRY(onnx_text(m, &x, "an output", &out->out[out->n_out++]));
    else if (x.number == 3) TSR_TRY(loose_text(m, &x, &out->name));
    else if (x.number == 4) TSR_TRY(onnx_text(m, &x, "an op", &out->op));
    else if (x.number == 7) TSR_TRY(onnx_text(m, &x, "a domain", &out->domain));
    else if (x.number == 5) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "an attribute"));
      TSR_TRY(onnx_read_attr(m, x.bytes, depth, &out->attrs[out->n_attrs++]));
    }
  }
  TSR_TRY(st);
  if (!out->op || !*out->op) return wire_bad(&m->file, out->at, "a node without an op");
  if (!strcmp(out->domain, "ai.onnx")) out->domain = "";
  return NULL;
}

static tsr_status read_part(onnx_model *m, const wire_field *x, int depth, onnx_graph *out) {
  switch (x->number) {
    case 1:
      TSR_TRY(onnx_read_node(m, x->bytes, depth, &out->nodes[out->n_nodes]));
      onnx_node *listed = ONNX_ADD(m, nodes);
      if (!listed) return st_oom();
      *listed = out->nodes[out->n_nodes++];
      return NULL;
    case 5: return read_tensor(m, x, !depth, &out->tensors[out->n_tensors++]);
    case 11: return onnx_read_value(m, x->bytes, &out->inputs[out->n_inputs++]);
    case 12: return onnx_read_value(m, x->bytes, &out->outputs[out->n_outputs++]);
    default: out->n_sparse++; return NULL;
  }
}

/* GraphProto: 1 node, 5 initializer, 11 input, 12 output, 15 sparse initializer */
tsr_status onnx_read_graph(onnx_model *m, wire_message g, int depth, onnx_graph *out) {
  wire_message list = g;
  wire_field x;
  tsr_status st = NULL;
  size_t n[13] = {0};
  if (depth > MOST_DEPTH) return wire_bad(&m->file, g.at, "graphs inside graphs, more than %d deep", MOST_DEPTH);
  TSR_TRY(onnx_count(m, g, n, 13));
  out->nodes = arena_array(&m->a, onnx_node, n[1]);
  out->tensors = arena_array(&m->a, onnx_tensor, n[5]);
  out->inputs = arena_array(&m->a, onnx_value, n[11]);
  out->outputs = arena_array(&m->a, onnx_value, n[12]);
  if (!out->nodes || !out->tensors || !out->inputs || !out->outputs) return st_oom();
  while (wire_more(&m->file, &list, &x, &st)) {
    if (x.number != 1 && x.number != 5 && x.number != 11 && x.number != 12 && x.number != 15) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a part of a graph"));
    TSR_TRY(read_part(m, &x, depth, out));
  }
  return st;
}
