/* tools/tessera/op_graph.c - see op_graph.h. */
#include "tools/tessera/op_graph.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/dtype.h"
#include "tools/tessera/program_file.h"

bool op_graph_is_file(const char *what) { return strpbrk(what, "/.") || !access(what, R_OK) || !strcmp(what, "-"); }

int op_graph_dtype(const char *command, const char *file) {
  return cli_usage(command, "--dtype goes with an operation; the types of %s stand in it", file);
}

/* shapes: "A=300x64,B=64x80", what the open dimensions of a file's inputs are; NULL: nothing is said. */
static int from_file(const char *command, tsr_context *ctx, const char *path, const char *shapes, tsr_graph **out) {
  shape_list l = {.command = command};
  program_file f;
  char *text = shapes ? strdup(shapes) : NULL;
  int rc = program_file_read(command, path, &f);
  if (!rc && !shape_list_add_all(&l, text)) rc = EXIT_USAGE;
  if (!rc) rc = program_file_graph(&f, &l, ctx, out);
  program_file_clear(&f);
  free(text);
  return rc;
}

/* What such a graph of the op has beside its name: attributes, and operands that aren't [m, n], as their dimensions:
 * letters and numbers between blanks. An operand of "#" in front is of indices, of "?" a mask, of "~" complex, of "+" a
 * matrix whose diagonal is larger than its rows. */
static const int64_t last = -1, twice[] = {2, 2}, thrice[] = {3, 3}, around[] = {0, 1, 1}, million[] = {1024, 1024},
                     planes[] = {0, 1}, stem[] = {112, 112};
#define STEM_PADDING TSR_STRING("padding", "same")
static const struct op_form {
  const char *op;
  int n;
  tsr_attr attrs[3];
  const char *operands[OP_GRAPH_OPERANDS];
  int results;    /* of an op that has as many as it is given; 0: one, or the row's number */
  const char *of; /* the op, of a name that there is for one use of it alone; NULL: the name */
} forms[] = {
    {"ifft", 1, {TSR_INTS("axes", planes, 2)}, {NULL}},
    {"stft", 2, {TSR_INT("size", 512), TSR_INT("hop", 128)}, {"m 64000", "512"}},
    {"istft", 1, {TSR_INT("hop", 128)}, {NULL}},
    {"spectral_conv", 0, {{0}}, {"4 32 m n", "~32 32 24 12"}},
    {"clip", 2, {TSR_FLOAT("min", -0.5), TSR_FLOAT("max", 0.5)}, {NULL}},
    {"tile", 1, {TSR_INTS("repeats", twice, 2)}, {NULL}},
    {"one_hot", 1, {TSR_INT("depth", 128)}, {NULL}},
    {"batch_norm", 0, {{0}}, {"m n", "n", "n"}},
    {"group_norm", 1, {TSR_INT("groups", 8)}, {"m 32 n"}},
    {"instance_norm", 0, {{0}}, {"m 32 n"}},
    {"logsumexp", 1, {TSR_INTS("axes", &last, 1)}, {NULL}},
    {"select", 0, {{0}}, {"?m n", "m n", "m n"}},
    {"where", 0, {{0}}, {"?m 1", "m n", "1 n"}},
    {"cross_entropy", 0, {{0}}, {"m n", "#m"}},
    {"qkv_projection", 0, {{0}}, {"m n", "n 768"}},
    {"factorized_matmul", 0, {{0}}, {"m n", "n 64", "64 n"}},
    {"einsum", 1, {TSR_STRING("equation", "bmhd,bnhd->bhmn")}, {"1 m 12 n", "1 m 12 n"}},
    {"flash_attention", 0, {{0}}, {"1 12 m n", "1 12 m n", "1 12 m n"}},
    {"flash_attention_backward", 0, {{0}}, {"1 12 m n", "1 12 m n", "1 12 m n", "1 12 m n", "1 12 m", "1 12 m"}},
    /* A step of decoding against m keys of width n: 9 heads on 3 as SmolLM2-135M has, 32 on 8 as Llama 3 8B. */
    {"decode_9_3", 0, {{0}}, {"1 9 1 n", "1 3 m n", "1 3 m n"}, 0, "flash_attention"},
    {"decode_32_8", 0, {{0}}, {"1 32 1 n", "1 8 m n", "1 8 m n"}, 0, "flash_attention"},
    {"rng_uniform", 1, {TSR_INTS("shape", million, 2)}, {"#2"}, 0},
    {"rng_normal", 1, {TSR_INTS("shape", million, 2)}, {"#2"}, 0},
    {"dropout", 0, {{0}}, {"m n", "#2"}, 0},
    {"stochastic_cast", 1, {TSR_STRING("dtype", "bf16")}, {"m n", "#2"}, 0},
    {"quantize", 2, {TSR_STRING("scales", "block"), TSR_INT("block", 32)}, {"m n"}, 2},
    {"loss_scale", 0, {{0}}, {"", "#", "m n"}, 4},
    {"sgd", 1, {TSR_FLOAT("momentum", 0.9)}, {"m n", "m n", "", "m n"}, 2},
    {"adamw", 0, {{0}}, {"m n", "m n", "m n", "m n", "", "#"}, 0},
    {"clip_by_global_norm", 0, {{0}}, {"m n", "m n"}, 3},
    {"depth_to_space", 1, {TSR_INT("block", 2)}, {"1 16 m n"}},
    {"space_to_depth", 1, {TSR_INT("block", 2)}, {"1 4 m n"}},
    {"resize", 2, {TSR_INTS("sizes", stem, 2), TSR_STRING("mode", "linear")}, {"1 64 m n"}},
    {"grid_sample", 0, {{0}}, {"1 64 m n", "1 112 112 2"}},
    {"pad", 2, {TSR_INTS("low", around, 3), TSR_INTS("high", around, 3)}, {"64 m n"}},
    {"max_pool", 3, {TSR_INTS("kernel", thrice, 2), TSR_INTS("strides", twice, 2), STEM_PADDING}, {"1 64 m n"}},
    {"average_pool", 3, {TSR_INTS("kernel", thrice, 2), TSR_INTS("strides", twice, 2), STEM_PADDING}, {"1 64 m n"}},
    {"nonzero", 1, {TSR_INT("size", 4096)}, {NULL}},
    {"topk", 1, {TSR_INT("k", 2)}, {NULL}},
    {"moe_dispatch", 1, {TSR_INT("rows", 8192)}, {"m n", "#m 2"}},
    {"moe_combine", 0, {{0}}, {"m n", "#4096 2", "4096 2"}},
    {"grouped_matmul", 0, {{0}}, {"m n", "8 n 512", "#8"}},
    {"recursive_mixture", 0, {{0}}, {"m n", "2 n 8", "8 n 256", "8 256 n"}},
    {"patches", 2, {TSR_INTS("kernel", thrice, 2), STEM_PADDING}, {"1 64 m n"}},
    {"conv1d", 1, {STEM_PADDING}, {"1 m n", "m m 3"}},
    {"conv2d", 1, {STEM_PADDING}, {"1 64 m n", "64 64 3 3"}},
    {"conv3d", 1, {STEM_PADDING}, {"1 16 16 m n", "16 16 3 3 3"}},
    {"conv_transpose", 1, {TSR_INTS("strides", twice, 2)}, {"1 64 m n", "64 32 2 2"}},
    {"gather", 0, {{0}}, {"m n", "#m"}},
    {"gather_elements", 0, {{0}}, {"m n", "#m n"}},
    {"gather_nd", 0, {{0}}, {"m n", "#m 1"}},
    {"embedding", 0, {{0}}, {"m n", "#m"}},
    {"scatter", 0, {{0}}, {"m n", "#m n", "m n"}},
    {"scatter_add", 0, {{0}}, {"m n", "#m n", "m n"}},
    {"scatter_nd", 0, {{0}}, {"m n", "#m 1", "m n"}},
    {"rnn", 0, {{0}}, {"m 8 n", "1 256 n", "1 256 256"}},
    {"gru", 0, {{0}}, {"m 8 n", "1 768 n", "1 768 256"}},
    {"lstm", 0, {{0}}, {"m 8 n", "1 1024 n", "1 1024 256"}},
    {"cache_update", 0, {{0}}, {"1 32 m n", "1 32 1 n", "#1"}},
    {"cholesky", 0, {{0}}, {"+n n"}},
    {"tri_solve", 0, {{0}}, {"+m m", "m n"}},
};

static const struct op_form *form_of(const char *op) {
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (!strcmp(forms[i].op, op)) return &forms[i];
  return NULL;
}

const char *op_graph_name(const char *op) {
  const struct op_form *f = form_of(op);
  return f && f->of ? f->of : op;
}

const ir_opdef *op_graph_row(const char *op) {
  char name[96];
  snprintf(name, sizeof name, "tessera.graph.%s", op_graph_name(op));
  return ir_find_op(name);
}

graph_kind op_graph_kind(const char *op) {
  const ir_opdef *d = op_graph_row(op);
  return d ? ((const graph_row *)d->ext)->kind : GRAPH_POINTWISE;
}

int op_graph_operands(const char *op) {
  const ir_opdef *d = op_graph_row(op);
  const struct op_form *f = form_of(op);
  int n = d && d->min_operands > 1 ? d->min_operands : 1;
  while (f && n < OP_GRAPH_OPERANDS && f->operands[n]) n++;
  return n < OP_GRAPH_OPERANDS ? n : OP_GRAPH_OPERANDS;
}

int op_graph_attrs(const char *op, const tsr_attr **out) {
  static const tsr_attr axes = TSR_INTS("axes", &last, 1);
  const struct op_form *f = form_of(op);
  *out = f ? f->attrs : op_graph_kind(op) == GRAPH_REDUCTION ? &axes : NULL;
  return f ? f->n : *out != NULL;
}

int op_graph_results(const char *op) {
  const ir_opdef *d = op_graph_row(op);
  const struct op_form *f = form_of(op);
  return f && f->results ? f->results : d && d->n_results > 0 ? d->n_results : 1;
}

static const char *operand_form(const char *op, int operand) {
  const struct op_form *f = form_of(op);
  return f ? f->operands[operand] : NULL;
}

tsr_dtype op_graph_operand_type(const char *op, int operand, tsr_dtype t) {
  const char *f = operand_form(op, operand);
  return !f ? t : *f == '#' ? TSR_I32 : *f == '?' ? TSR_BOOL : *f == '~' ? dtype_complex(t) : t;
}

bool op_graph_is_index(const char *op, int operand) {
  const char *f = operand_form(op, operand);
  return f && *f == '#';
}

bool op_graph_is_dominant(const char *op, int operand) {
  const char *f = operand_form(op, operand);
  return f && *f == '+';
}

tsr_shape op_graph_operand(const char *op, int operand, tsr_shape s) {
  const char *f = operand_form(op, operand);
  tsr_shape t = {0};
  if (!f || s.rank != 2) return s;
  for (f += *f && strchr("#?+~", *f); *f; f += *f == ' ') {
    const bool letter = *f == 'm' || *f == 'n';
    t.dims[t.rank++] = *f == 'm' ? s.dims[0] : *f == 'n' ? s.dims[1] : atoi(f);
    f += letter ? 1 : strspn(f, "0123456789");
  }
  return t;
}

/* Shapes of the operands; false when the shape does not fit the op. */
static bool operand_shapes(const char *op, const int64_t *d, int n, tsr_shape s[OP_GRAPH_OPERANDS]) {
  if (op_graph_kind(op) == GRAPH_CONTRACTION) {
    if (n != 3 && n != 4) return false;
    int64_t m = d[n - 3], cols = d[n - 2], k = d[n - 1];
    s[0] = n == 4 ? (tsr_shape){3, {d[0], m, k}} : (tsr_shape){2, {m, k}};
    s[1] = n == 4 ? (tsr_shape){3, {d[0], k, cols}} : (tsr_shape){2, {k, cols}};
    return true;
  }
  if (n < 1 || n > 2) return false;
  for (int i = 0; i < OP_GRAPH_OPERANDS; i++) s[i] = op_graph_operand(op, i, (tsr_shape){n, {d[0], n > 1 ? d[1] : 0}});
  return true;
}

static tsr_status build(tsr_context *ctx, const char *op, const tsr_shape s[OP_GRAPH_OPERANDS], tsr_dtype t,
                        tsr_graph **out) {
  static const char *const names[OP_GRAPH_OPERANDS] = {"A", "B", "C", "D", "E", "F"};
  tsr_graph *g = NULL;
  tsr_value v[OP_GRAPH_OPERANDS], r[OP_GRAPH_RESULTS];
  const tsr_attr *attrs;
  int n = op_graph_operands(op), n_attrs = op_graph_attrs(op, &attrs), n_results = op_graph_results(op);
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  for (int i = 0; i < n && !st; i++) st = tsr_graph_input(g, names[i], op_graph_operand_type(op, i, t), s[i], &v[i]);
  if (!st) st = tsr_graph_op_results(g, op_graph_name(op), v, n, attrs, n_attrs, r, n_results);
  for (int i = 0; i < n_results && !st; i++) st = tsr_graph_output(g, r[i]);
  if (st) tsr_graph_destroy(&g);
  *out = g;
  return st;
}

int op_graph(const char *command, tsr_context *ctx, const char *what, const char *shape, const char *dtype,
             tsr_graph **out) {
  int64_t d[8];
  tsr_shape s[OP_GRAPH_OPERANDS];
  *out = NULL;
  bool named = shape && strchr(shape, '=');
  if ((!shape || named) && op_graph_is_file(what))
    return dtype ? op_graph_dtype(command, what) : from_file(command, ctx, what, shape, out);
  if (strpbrk(what, "/.")) return cli_usage(command, "--shape of a file's input is NAME=2x3.., not \"%s\"", shape);
  if (!op_graph_row(what))
    return cli_usage(command, "%s: no such file, and no such operation (`tessera ops` lists them)", what);
  if (!shape) return cli_usage(command, "%s needs --shape (matmul: MxNxK or BxMxNxK; others: ROWSxCOLS)", what);
  tsr_dtype t = tsr_dtype_parse(dtype ? dtype : "f32");
  int n = cli_parse_shape(shape, d, 8);
  for (int i = 0; i < n; i++)
    if (d[i] < 1 || d[i] > 1 << 24) n = -1;
  if (!t) return cli_usage(command, "no data type \"%s\"", dtype);
  if (n < 0 || !operand_shapes(what, d, n, s))
    return cli_usage(command, "shape \"%s\" does not fit %s (matmul: MxNxK or BxMxNxK; others: ROWSxCOLS)", shape,
                     what);
  tsr_status st = build(ctx, what, s, t, out);
  return st ? cli_fail(st) : EXIT_OK;
}
