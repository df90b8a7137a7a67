/* tools/tessera/bench_cases.c - the suites: shapes of real networks, in one table. */
#include <string.h>

#include "core/base/status.h"
#include "tools/tessera/bench.h"

/* What the time of a case is held against: of matmul_bias_gelu the product. */
static const char *counted_op(const bench_case *c) { return strcmp(c->op, "matmul_bias_gelu") ? c->op : "matmul"; }

bool bench_is_matmul(const bench_case *c) { return op_graph_kind(counted_op(c)) == GRAPH_CONTRACTION; }

static const ir_type *shape_type(ir_module *m, const bench_case *c, int64_t rows, int64_t columns) {
  int64_t dims[3] = {c->batch, rows, columns};
  return ir_type_tensor(m, c->dtype, c->batch > 1 ? 3 : 2, c->batch > 1 ? dims : dims + 1);
}

static ir_attr *attr_of(ir_module *m, const tsr_attr *a) {
  if (a->kind == TSR_ATTR_INTS) return ir_attr_ints(m, a->ints, a->n_ints);
  if (a->kind == TSR_ATTR_STRING) return ir_attr_str(m, a->s);
  return a->kind == TSR_ATTR_INT ? ir_attr_int(m, a->i) : ir_attr_float(m, a->f);
}

/* The op with the attributes that it needs; NULL where it doesn't take the operands. */
static ir_value *op_with_attrs(ir_builder *b, const bench_case *c, ir_value *const *v) {
  const tsr_attr *attrs;
  const ir_type *t[OP_GRAPH_RESULTS] = {NULL};
  const int n = op_graph_attrs(c->op, &attrs), n_results = op_graph_results(c->op);
  ir_op *op = ir_op_new(b, op_graph_row(c->op), op_graph_operands(c->op), v, n_results, NULL, 0);
  for (int i = 0; op && i < n; i++)
    if (!ir_set_attr(op, attrs[i].name, attr_of(b->m, &attrs[i]))) return NULL;
  tsr_status st = op ? op->def->infer(op, t) : NULL;
  tsr_status_free(st);
  if (!op || st) return NULL;
  for (int i = 0; i < n_results; i++) op->results[i]->type = t[i];
  return op->results[0];
}

static ir_value *build_op(ir_builder *b, const bench_case *c) {
  const ir_opdef *d = op_graph_row(counted_op(c));
  graph_code code = (graph_code)d->code;
  ir_value *v[OP_GRAPH_OPERANDS];
  if (bench_is_matmul(c)) {
    v[0] = graph_fill(b, shape_type(b->m, c, c->m, c->k), 0);
    v[1] = graph_fill(b, shape_type(b->m, c, c->k, c->n), 0);
    return graph_build(b, code, 2, v);
  }
  for (int i = 0; i < OP_GRAPH_OPERANDS; i++) {
    const tsr_shape s = op_graph_operand(c->op, i, (tsr_shape){2, {c->m, c->n}});
    v[i] = graph_fill(b, ir_type_tensor(b->m, op_graph_operand_type(c->op, i, c->dtype), s.rank, s.dims), 0);
  }
  return op_with_attrs(b, c, v);
}

tsr_status bench_count(bench_case *c) {
  ir_module *m = NULL;
  graph_space space;
  TSR_TRY(ir_module_create(NULL, &m));
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  ir_value *y = build_op(&b, c);
  tsr_status st = y ? NULL : st_oom();
  if (!st && graph_space_of(y->def, &space)) {
    c->flops = space.flops;
    c->bytes = space.bytes;
  }
  ir_module_destroy(&m);
  return st;
}

const char *bench_shape(const bench_case *c, char *buf, size_t n) {
  if (!bench_is_matmul(c)) snprintf(buf, n, "%lldx%lld", (long long)c->m, (long long)c->n);
  else if (c->batch > 1)
    snprintf(buf, n, "%lldx%lldx%lldx%lld", (long long)c->batch, (long long)c->m, (long long)c->n, (long long)c->k);
  else snprintf(buf, n, "%lldx%lldx%lld", (long long)c->m, (long long)c->n, (long long)c->k);
  return buf;
}

bool bench_parse_shape(const char *text, bench_case *c) {
  int64_t d[4];
  int n = cli_parse_shape(text, d, 4);
  for (int i = 0; i < n; i++)
    if (d[i] < 1 || d[i] > 1 << 24) return false;
  c->batch = c->k = 1;
  if (bench_is_matmul(c)) {
    if (n != 3 && n != 4) return false;
    c->batch = n == 4 ? d[0] : 1;
    c->m = d[n - 3];
    c->n = d[n - 2];
    c->k = d[n - 1];
    return true;
  }
  if (n != 1 && n != 2) return false;
  c->m = n == 2 ? d[0] : 1;
  c->n = d[n - 1];
  return true;
}

typedef struct suite_row {
  const char *suite;
  bench_case c;
} suite_row;

#define MM(s, M, N, K, T) {s, {"matmul", 1, M, N, K, T, false}}
#define BMM(s, B, M, N, K, T) {s, {"matmul", B, M, N, K, T, false}}
#define ROW(s, OP, M, N, T) {s, {OP, 1, M, N, 1, T, false}}

static const suite_row rows[] = {
    MM("quick", 512, 512, 512, TSR_F32),
    MM("quick", 512, 512, 512, TSR_BF16),
    MM("quick", 1, 4096, 4096, TSR_F32),
    {"quick", {"matmul_bias_gelu", 1, 512, 512, 512, TSR_F32, false}},
    ROW("quick", "softmax", 1024, 1024, TSR_F32),
    ROW("quick", "layernorm", 1024, 1024, TSR_F32),
    ROW("quick", "add", 4096, 512, TSR_F32),
    ROW("quick", "reduce_sum", 1024, 1024, TSR_F32),

    MM("bert-base", 512, 768, 768, TSR_F32),
    MM("bert-base", 512, 3072, 768, TSR_F32),
    MM("bert-base", 512, 768, 3072, TSR_F32),
    BMM("bert-base", 12, 512, 512, 64, TSR_F32),
    BMM("bert-base", 12, 512, 64, 512, TSR_F32),
    ROW("bert-base", "layernorm", 512, 768, TSR_F32),
    ROW("bert-base", "softmax", 6144, 512, TSR_F32),
    ROW("bert-base", "gelu", 512, 3072, TSR_F32),

    MM("vit-b16", 197, 768, 768, TSR_F32),
    MM("vit-b16", 197, 3072, 768, TSR_F32),
    MM("vit-b16", 197, 768, 3072, TSR_F32),
    BMM("vit-b16", 12, 197, 197, 64, TSR_F32),
    ROW("vit-b16", "layernorm", 197, 768, TSR_F32),
    ROW("vit-b16", "softmax", 2364, 197, TSR_F32),

    ROW("rowwise", "softmax", 4096, 4096, TSR_F32),
    ROW("rowwise", "softmax", 4096, 4096, TSR_BF16),
    ROW("rowwise", "layernorm", 4096, 4096, TSR_F32),
    ROW("rowwise", "layernorm", 4096, 4096, TSR_BF16),
    ROW("rowwise", "rmsnorm", 4096, 4096, TSR_F32),
    ROW("rowwise", "rmsnorm", 4096, 4096, TSR_BF16),
    ROW("rowwise", "reduce_sum", 4096, 4096, TSR_F32),
    ROW("rowwise", "add", 4096, 4096, TSR_F32),
    ROW("composed", "clip", 4096, 4096, TSR_F32),
    ROW("composed", "where", 4096, 4096, TSR_F32),
    ROW("composed", "tril", 4096, 4096, TSR_F32),
    ROW("composed", "triu", 4096, 4096, TSR_BF16),
    ROW("composed", "tile", 2048, 2048, TSR_F32),
    ROW("composed", "one_hot", 1024, 128, TSR_I32),
    ROW("composed", "batch_norm", 4096, 4096, TSR_F32),
    ROW("composed", "group_norm", 64, 3136, TSR_F32),
    ROW("composed", "instance_norm", 64, 3136, TSR_F32),
    ROW("composed", "logsumexp", 4096, 4096, TSR_F32),
    ROW("composed", "log_softmax", 4096, 4096, TSR_F32),
    ROW("composed", "rope", 4096, 128, TSR_F32),
    ROW("composed", "mse", 4096, 4096, TSR_F32),
    ROW("composed", "kl", 4096, 4096, TSR_F32),
    ROW("composed", "cross_entropy", 512, 32000, TSR_F32),
    ROW("composed", "cross_entropy", 512, 32000, TSR_BF16),
    ROW("composed", "qkv_projection", 512, 768, TSR_F32),
    ROW("composed", "factorized_matmul", 512, 768, TSR_F32),
    ROW("composed", "einsum", 512, 64, TSR_F32),
    ROW("composed", "flash_attention", 512, 64, TSR_F32),
    ROW("composed", "flash_attention", 512, 64, TSR_BF16),
    ROW("composed", "flash_attention", 2048, 128, TSR_F32),
    ROW("composed", "depth_to_space", 256, 256, TSR_F32),
    ROW("composed", "space_to_depth", 512, 512, TSR_F32),
    ROW("composed", "pad", 112, 112, TSR_F32),
    ROW("composed", "max_pool", 112, 112, TSR_F32),
    ROW("composed", "average_pool", 112, 112, TSR_F32),
    ROW("composed", "resize", 56, 56, TSR_F32),
    ROW("composed", "grid_sample", 56, 56, TSR_F32),
    ROW("composed", "cumsum", 1024, 1024, TSR_F32),
    ROW("composed", "cumprod", 1024, 1024, TSR_F32),
    ROW("composed", "argmax", 4096, 1024, TSR_F32),
    ROW("composed", "argmin", 4096, 1024, TSR_BF16),
    ROW("composed", "topk", 4096, 64, TSR_F32),
    ROW("composed", "topk", 16, 32000, TSR_F32),
    ROW("composed", "sort", 64, 512, TSR_F32),
    ROW("composed", "nonzero", 256, 256, TSR_F32),
    ROW("composed", "router", 4096, 64, TSR_F32),
    ROW("composed", "moe_dispatch", 4096, 512, TSR_F32),
    ROW("composed", "moe_combine", 8192, 512, TSR_F32),
    ROW("composed", "grouped_matmul", 1024, 512, TSR_F32),
    ROW("composed", "recursive_mixture", 256, 128, TSR_F32),
    ROW("composed", "patches", 56, 56, TSR_F32),
    ROW("composed", "conv1d", 128, 4096, TSR_F32),
    ROW("composed", "conv2d", 56, 56, TSR_F32),
    ROW("composed", "conv2d", 14, 14, TSR_BF16),
    ROW("composed", "conv3d", 28, 28, TSR_F32),
    ROW("composed", "conv_transpose", 56, 56, TSR_F32),

    ROW("decode", "decode_9_3", 512, 64, TSR_F32),
    ROW("decode", "decode_9_3", 4096, 64, TSR_F32),
    ROW("decode", "decode_9_3", 512, 64, TSR_F16),
    ROW("decode", "decode_9_3", 4096, 64, TSR_F16),
    ROW("decode", "decode_9_3", 512, 64, TSR_BF16),
    ROW("decode", "decode_9_3", 4096, 64, TSR_BF16),
    ROW("decode", "decode_32_8", 512, 128, TSR_F32),
    ROW("decode", "decode_32_8", 4096, 128, TSR_F32),
    ROW("decode", "decode_32_8", 512, 128, TSR_F16),
    ROW("decode", "decode_32_8", 4096, 128, TSR_F16),
    ROW("decode", "decode_32_8", 512, 128, TSR_BF16),
    ROW("decode", "decode_32_8", 4096, 128, TSR_BF16),

    ROW("training", "rng_uniform", 1024, 1024, TSR_F32),
    ROW("training", "rng_normal", 1024, 1024, TSR_F32),
    ROW("training", "dropout", 1024, 1024, TSR_F32),
    ROW("training", "dropout", 1024, 1024, TSR_BF16),
    ROW("training", "sgd", 1024, 1024, TSR_F32),
    ROW("training", "stochastic_cast", 1024, 1024, TSR_F32),
    ROW("training", "quantize", 1024, 1024, TSR_F32),
    ROW("training", "adamw", 1024, 1024, TSR_F32),
    ROW("training", "check_numerics", 1024, 1024, TSR_F32),
    ROW("training", "global_norm", 1024, 1024, TSR_F32),
    ROW("training", "clip_by_global_norm", 1024, 1024, TSR_F32),

    ROW("complex", "mul", 1000, 1000, TSR_COMPLEX64),
    ROW("complex", "div", 1000, 1000, TSR_COMPLEX64),
    ROW("complex", "abs", 1000, 1000, TSR_COMPLEX64),
    ROW("complex", "conj", 1000, 1000, TSR_COMPLEX64),
    ROW("complex", "real", 1000, 1000, TSR_COMPLEX128),
    ROW("complex", "imag", 1000, 1000, TSR_COMPLEX32),
    ROW("complex", "complex", 1000, 1000, TSR_F32),
    ROW("complex", "reduce_sum", 1000, 1000, TSR_COMPLEX64),

    ROW("spectral", "fft", 4096, 256, TSR_COMPLEX64),
    ROW("spectral", "fft", 1024, 1024, TSR_COMPLEX64),
    ROW("spectral", "fft", 256, 4096, TSR_COMPLEX64),
    ROW("spectral", "fft", 64, 16384, TSR_COMPLEX64),
    ROW("spectral", "fft", 16, 65536, TSR_COMPLEX64),
    ROW("spectral", "fft", 4, 262144, TSR_COMPLEX64),
    ROW("spectral", "fft", 1, 1048576, TSR_COMPLEX64),
    ROW("spectral", "fft", 1, 4194304, TSR_COMPLEX64),
    ROW("spectral", "fft", 1000, 1000, TSR_COMPLEX64),
    ROW("spectral", "fft", 512, 2187, TSR_COMPLEX64),
    ROW("spectral", "fft", 64, 15625, TSR_COMPLEX64),
    ROW("spectral", "fft", 8, 117649, TSR_COMPLEX64),
    ROW("spectral", "fft", 1000, 1009, TSR_COMPLEX64),
    ROW("spectral", "fft", 16, 65537, TSR_COMPLEX64),
    ROW("spectral", "fft", 1, 1000003, TSR_COMPLEX64),
    ROW("spectral", "fft", 1024, 1024, TSR_COMPLEX128),
    ROW("spectral", "ifft", 512, 512, TSR_COMPLEX64),
    ROW("spectral", "ifft", 1024, 1024, TSR_COMPLEX64),
    ROW("spectral", "ifft", 2048, 2048, TSR_COMPLEX64),
    ROW("spectral", "rfft", 1024, 1024, TSR_F32),
    ROW("spectral", "irfft", 1024, 513, TSR_COMPLEX64),
    ROW("spectral", "pointwise_mul", 1000, 1024, TSR_COMPLEX64),
    ROW("spectral", "dct", 1024, 1024, TSR_F32),
    ROW("spectral", "stft", 8, 64000, TSR_F32),
    ROW("spectral", "istft", 4096, 257, TSR_COMPLEX64),
    ROW("spectral", "spectral_conv", 128, 128, TSR_F32),

    ROW("indexed", "gather", 16384, 1024, TSR_F32),
    ROW("indexed", "gather_elements", 4096, 1024, TSR_F32),
    ROW("indexed", "gather_nd", 1048576, 4, TSR_F32),
    ROW("indexed", "embedding", 16384, 768, TSR_BF16),
    ROW("indexed", "scatter", 4096, 1024, TSR_F32),
    ROW("indexed", "scatter_add", 4096, 1024, TSR_F32),
    ROW("indexed", "scatter_nd", 16384, 768, TSR_F32),
    ROW("indexed", "cache_update", 4096, 128, TSR_BF16),

    ROW("recurrent", "rnn", 64, 256, TSR_F32),
    ROW("recurrent", "gru", 64, 256, TSR_F32),
    ROW("recurrent", "lstm", 64, 256, TSR_F32),
    ROW("linalg", "cholesky", 256, 256, TSR_F32),
    ROW("linalg", "tri_solve", 256, 256, TSR_F32),
    ROW("linalg", "qr", 256, 128, TSR_F32),
    ROW("linalg", "svd", 96, 64, TSR_F32),

    MM("gemm", 256, 256, 256, TSR_F32),
    MM("gemm", 512, 512, 512, TSR_F32),
    MM("gemm", 1024, 1024, 1024, TSR_F32),
    MM("gemm", 2048, 2048, 2048, TSR_F32),
    MM("gemm", 4096, 512, 14336, TSR_F32),
    MM("gemm", 512, 4096, 4096, TSR_F32),
    MM("gemm", 16, 4096, 4096, TSR_F32),
    MM("gemm", 1, 4096, 4096, TSR_F32),
    MM("gemm", 512, 512, 512, TSR_BF16),
    MM("gemm", 1024, 1024, 1024, TSR_BF16),
    MM("gemm", 2048, 2048, 2048, TSR_BF16),
    MM("gemm", 16, 4096, 4096, TSR_BF16),
    MM("gemm", 512, 512, 512, TSR_I8),
    MM("gemm", 1024, 1024, 1024, TSR_I8),
    MM("gemm", 2048, 2048, 2048, TSR_I8),

    /* What ggml's own benchmark has figures of, for years: decode, prefill, a whole softmax (1024x1024x10) and an
       addition. */
    MM("ggml", 512, 512, 512, TSR_F16),
    MM("ggml", 1024, 1024, 1024, TSR_F16),
    MM("ggml", 4096, 1, 14336, TSR_F16),
    MM("ggml", 4096, 512, 14336, TSR_F16),
    ROW("ggml", "softmax", 10240, 1024, TSR_F32),
    ROW("ggml", "add", 512, 4096, TSR_F32),

    /* Llama 3 8B: hidden 4096, 32 heads and 8 key/value heads of 128, MLP 14336; prefill of 512 tokens and decode of 1.
     */
    MM("llama3-8b", 512, 4096, 4096, TSR_BF16),
    MM("llama3-8b", 512, 1024, 4096, TSR_BF16),
    MM("llama3-8b", 512, 14336, 4096, TSR_BF16),
    MM("llama3-8b", 512, 4096, 14336, TSR_BF16),
    BMM("llama3-8b", 32, 512, 512, 128, TSR_BF16),
    BMM("llama3-8b", 32, 512, 128, 512, TSR_BF16),
    MM("llama3-8b", 1, 4096, 4096, TSR_BF16),
    MM("llama3-8b", 1, 14336, 4096, TSR_BF16),
    ROW("llama3-8b", "rmsnorm", 512, 4096, TSR_BF16),
    ROW("llama3-8b", "softmax", 16384, 512, TSR_F32),
    ROW("llama3-8b", "silu", 512, 14336, TSR_BF16),
};

bool bench_suite(const char *name, int i, bench_case *out) {
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    if (!strcmp(rows[r].suite, name) && i-- == 0) {
      *out = rows[r].c;
      return true;
    }
  return false;
}

const char *bench_suite_name(int i) {
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    if ((!r || strcmp(rows[r].suite, rows[r - 1].suite)) && i-- == 0)
      return rows[r].suite; /* a suite's rows stand together */
  return NULL;
}
