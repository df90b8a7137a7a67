/* core/import/onnx_value.c - names, types and shapes of an ONNX model's values; and the lists that a model keeps; see
 * onnx_value.h. */
#include "core/import/onnx_value.h"

#include <string.h>

void *onnx_add(onnx_model *m, void *list, size_t *n, size_t *cap, size_t size) {
  if (!al_grow(NULL, list, cap, *n + 1, size)) return NULL;
  char *at = *(char **)list + (*n)++ * size;
  return memset(at, 0, size);
}

tsr_status onnx_count(const onnx_model *m, wire_message g, size_t *n, size_t most) {
  wire_field x;
  tsr_status st = NULL;
  while (wire_more(&m->file, &g, &x, &st))
    if (x.number < most) n[x.number]++;
  return st;
}

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

static tsr_status read_type(onnx_model *m, wire_message t, onnx_value *v);

/* TypeProto.Sequence and TypeProto.Optional: 1 the type of what is in it. */
static tsr_status read_type_inside(onnx_model *m, const wire_field *x, onnx_value *v) {
  wire_message t = x->bytes;
  wire_field inside;
  tsr_status st = NULL;
  bool *is = x->number == 4 ? &v->is_sequence : &v->is_optional;
  if (v->is_sequence || *is) return v->type = "sequence of sequences or optional values", NULL;
  *is = true;
  TSR_TRY(wire_expect(&m->file, x, WIRE_BYTES, "a type"));
  while (wire_more(&m->file, &t, &inside, &st)) {
    if (inside.number != 1) continue;
    TSR_TRY(wire_expect(&m->file, &inside, WIRE_BYTES, "a type"));
    TSR_TRY(read_type(m, inside.bytes, v));
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
    } else if (x.number == 4 || x.number == 9) TSR_TRY(read_type_inside(m, &x, v));
    else if (x.number == 5) v->type = "map";
    else if (x.number == 8) v->type = "sparse tensor";
  }
  return st;
}

onnx_value onnx_element(arena *a, const onnx_value *v, int64_t i) {
  onnx_value e = *v;
  e.name = i < 0 ? arena_fmt(a, "%s[]", v->name) : arena_fmt(a, "%s[%lld]", v->name, (long long)i);
  e.is_sequence = e.is_optional = false;
  return e;
}

/* ValueInfoProto: 1 name, 2 type */
tsr_status onnx_read_value(onnx_model *m, wire_message v, onnx_value *out) {
  wire_field x;
  tsr_status st = NULL;
  *out = (onnx_value){"", "", -1, NULL, false, false};
  while (wire_more(&m->file, &v, &x, &st)) {
    if (x.number == 1) TSR_TRY(onnx_text(m, &x, "a value's name", &out->name));
    else if (x.number == 2) {
      TSR_TRY(wire_expect(&m->file, &x, WIRE_BYTES, "a type"));
      TSR_TRY(read_type(m, x.bytes, out));
    }
  }
  return st;
}
