/* core/import/onnx.c - see onnx.h. One function a message of onnx.proto3, which is named before it; fields that nobody
 * needs are passed over. */
#include "core/import/onnx.h"

#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/name_set.h"
#include "core/import/onnx_graph.h"

/* OperatorSetIdProto: 1 domain, 2 version */
static tsr_status read_opset(onnx_model *m, wire_message s, onnx_opset *o) {
  wire_field x;
  tsr_status st = NULL;
  if (!o) return st_oom();
  o->domain = "";
  while (wire_more(&m->file, &s, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a domain", &o->domain));
    else if (x.number == 2) o->version = (int64_t)x.value;
  }
  if (!strcmp(o->domain, "ai.onnx")) o->domain = "";
  return st;
}

/* FunctionProto: 1 name, 4 input, 5 output, 7 node, 9 opset, 10 domain, 11 attribute with a default */
static tsr_status read_function(onnx_model *m, wire_message f, onnx_function *out) {
  wire_message list = f;
  wire_field x;
  tsr_status st = NULL;
  size_t n[12] = {0};
  out->name = out->domain = "";
  TSR_TRY(onnx_count(m, f, n, 12));
  out->in = arena_array(&m->a, const char *, n[4]);
  out->out = arena_array(&m->a, const char *, n[5]);
  out->nodes = arena_array(&m->a, onnx_node, n[7]);
  out->defaults = arena_array(&m->a, onnx_attr, n[11]);
  out->opsets.v = arena_array(&m->a, onnx_opset, n[9]);
  if (!out->in || !out->out || !out->nodes || !out->defaults || !out->opsets.v) return st_oom();
  while (wire_more(&m->file, &list, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a function's name", &out->name));
    else if (x.number == 10) TSR_TRY(onnx_text(m, &x, "a function's domain", &out->domain));
    else if (x.number == 4) TSR_TRY(onnx_text(m, &x, "a function's input", &out->in[out->n_in++]));
    else if (x.number == 5) TSR_TRY(onnx_text(m, &x, "a function's output", &out->out[out->n_out++]));
    else if (x.number == 7 || x.number == 9 || x.number == 11) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a part of a function"));
      if (x.number == 7) TSR_TRY(onnx_read_node(m, x.bytes, 1, &out->nodes[out->n_nodes++]));
      else if (x.number == 9) TSR_TRY(read_opset(m, x.bytes, &out->opsets.v[out->opsets.n++]));
      else TSR_TRY(onnx_read_attr(m, x.bytes, 1, &out->defaults[out->n_defaults++]));
    }
  }
  if (!strcmp(out->domain, "ai.onnx")) out->domain = "";
  return st;
}

/* ModelProto: 1 IR version, 2 producer, 7 graph, 8 opset, 25 function */
static tsr_status read_model(onnx_model *m) {
  wire_message whole = {0, m->file.size};
  wire_field x;
  bool graph = false;
  size_t n[26] = {0};
  tsr_status st = NULL;
  m->producer = "";
  TSR_TRY(onnx_count(m, whole, n, 26));
  m->functions = arena_array(&m->a, onnx_function, n[25]);
  if (!m->functions) return st_oom();
  while (wire_more(&m->file, &whole, &x, &st)) {
    if (x.number == 1) m->ir_version = (int64_t)x.value;
    else if (x.number == 2) TSR_TRY(onnx_text(m, &x, "the producer", &m->producer));
    else if (x.number == 7 || x.number == 8 || x.number == 25) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a part of the model"));
      if (x.number == 7 && graph) return wire_bad(&m->file, x.at, "a second graph");
      graph |= x.number == 7;
      if (x.number == 7) TSR_TRY(onnx_read_graph(m, x.bytes, 0, &m->graph));
      else if (x.number == 8) TSR_TRY(read_opset(m, x.bytes, ONNX_ADD(m, opsets)));
      else TSR_TRY(read_function(m, x.bytes, &m->functions[m->n_functions++]));
    }
  }
  TSR_TRY(st);
  if (!graph) return wire_bad(&m->file, m->file.size, "no graph: not an ONNX model, or a truncated one");
  if (!m->opsets.n) return wire_bad(&m->file, m->file.size, "no opset: not an ONNX model, or a truncated one");
  return NULL;
}

/* Older models list their initializers among the inputs. */
static tsr_status list_inputs(onnx_model *m) {
  name_set names = {.al = NULL};
  const onnx_graph *g = &m->graph;
  bool failed = false;
  for (size_t i = 0; i < g->n_tensors; i++) name_set_add(&names, g->tensors[i].name);
  for (size_t i = 0; i < g->n_inputs && !failed; i++) {
    if (name_set_has(&names, g->inputs[i].name)) continue;
    onnx_value *v = ONNX_ADD(m, inputs);
    if (v) *v = g->inputs[i];
    failed |= !v;
  }
  for (size_t i = 0; i < g->n_outputs && !failed; i++) {
    onnx_value *v = ONNX_ADD(m, outputs);
    if (v) *v = g->outputs[i];
    failed |= !v;
  }
  failed |= names.failed;
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
  if (!st) st = list_inputs(m);
  if (st) onnx_close(out);
  return st;
}

static tsr_status add_tensor(onnx_model *m, wire_message t) {
  onnx_tensor *x = ONNX_ADD(m, tensors);
  return x ? onnx_read_tensor(m, t, x) : st_oom();
}

/* SequenceProto: 3 a tensor, 4 to 7 what is none */
static tsr_status add_tensors(onnx_model *m, wire_message s) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &s, &x, &st)) {
    if (x.number > 3)
      return st_make(NULL, TSR_UNSUPPORTED, ST_WHERE("onnx", NULL, NULL), "a sequence of what is no tensor");
    if (x.number != 3) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a tensor"));
    TSR_TRY(add_tensor(m, x.bytes));
  }
  return st;
}

/* OptionalProto: 3 a tensor, 5 a sequence */
static tsr_status add_optional(onnx_model *m, wire_message o) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &o, &x, &st)) {
    if (x.number != 3 && x.number != 5) continue;
    TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "an optional value"));
    TSR_TRY((x.number == 3 ? add_tensor : add_tensors)(m, x.bytes));
  }
  return st;
}

static tsr_status parse_with(const void *p, size_t n, const char *name,
                             tsr_status (*read)(onnx_model *m, wire_message whole), onnx_model **out) {
  TSR_TRY(make(name, out));
  (*out)->file.p = p;
  (*out)->file.size = n;
  tsr_status st = read(*out, (wire_message){0, n});
  if (st) onnx_close(out);
  return st;
}

static tsr_status parse_tensor(const void *p, size_t n, const char *name, onnx_model **out) {
  return parse_with(p, n, name, add_tensor, out);
}

static tsr_status parse_sequence(const void *p, size_t n, const char *name, onnx_model **out) {
  return parse_with(p, n, name, add_tensors, out);
}

static tsr_status parse_optional(const void *p, size_t n, const char *name, onnx_model **out) {
  return parse_with(p, n, name, add_optional, out);
}

static tsr_status open_with(const char *path, tsr_status (*parse)(const void *, size_t, const char *, onnx_model **),
                            onnx_model **out) {
  const char *why;
  size_t n;
  *out = NULL;
  const void *p = file_map(path, &n, &why);
  if (!p)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("onnx", NULL, NULL), "%s: %s%s", path,
                   file_is_special(path) ? "" : "can't be opened: ", why);
  tsr_status st = parse(p, n, path, out);
  if (st) file_unmap(p, n);
  else (*out)->mapped = true;
  return st;
}

tsr_status onnx_open(const char *path, onnx_model **out) { return open_with(path, onnx_parse, out); }

tsr_status onnx_open_data(const char *path, const onnx_value *type, onnx_model **out) {
  return open_with(path, type->is_optional ? parse_optional : type->is_sequence ? parse_sequence : parse_tensor, out);
}

void onnx_close(onnx_model **m) {
  if (!m || !*m) return;
  onnx_model *x = *m;
  if (x->mapped) file_unmap(x->file.p, (size_t)x->file.size);
  for (size_t i = 0; i < x->external.n; i++) file_unmap(x->external.v[i].p, x->external.v[i].bytes);
  al_free_array(NULL, x->external.v, x->external.cap);
  al_free_array(NULL, x->opsets.v, x->opsets.cap);
  al_free_array(NULL, x->inputs.v, x->inputs.cap);
  al_free_array(NULL, x->outputs.v, x->outputs.cap);
  al_free_array(NULL, x->tensors.v, x->tensors.cap);
  al_free_array(NULL, x->nodes.v, x->nodes.cap);
  arena_clear(&x->a);
  al_delete(NULL, x);
  *m = NULL;
}
