/* core/ir/graph/ops/compose_spectral.c - composite ops on transforms of real numbers: cosine transforms, and transforms
 * of overlapping frames of a signal and back. What is narrower than f32 is computed in f32. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/dft.h"
#include "core/ir/graph/ops/fourier.h"

enum { MOST_POINTS = 1 << 22, MOST_INDICES = 1 << 25 };

/* rfft or irfft along one axis; n: of the result of irfft. Unscaled. */
static ir_value *transform(ir_builder *b, graph_code c, ir_value *x, int axis, int64_t n) {
  if (!x || b->failed) return NULL;
  ir_type t = *x->type;
  t.dtype = c == G_RFFT ? dtype_complex(t.dtype) : dtype_part(t.dtype);
  t.dims[axis] = c == G_RFFT ? t.dims[axis] / 2 + 1 : n;
  const ir_type *type = ir_type_tensor(b->m, t.dtype, t.rank, t.dims);
  ir_op *op = type ? ir_op_new(b, graph_def(c), 1, &x, 1, &type, 0) : NULL;
  if (!op || !ir_set_attr(op, "axes", ir_attr_ints(b->m, (int64_t[]){axis}, 1)) ||
      (c == G_IRFFT && (!ir_set_attr(op, "n", ir_attr_int(b->m, n)) ||
                        !ir_set_attr(op, "norm", ir_attr_str(b->m, "forward")))))
    b->failed = true;
  return b->failed ? NULL : OUT;
}

static ir_value *longer(ir_builder *b, ir_value *x, int axis, int64_t more) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  high[axis] = more;
  return compose_pad(b, x, low, high, 0);
}

static ir_value *first_of(ir_builder *b, ir_value *x, int axis, int64_t n) {
  const int64_t starts[TSR_MAX_RANK] = {0};
  int64_t sizes[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  memcpy(sizes, x->type->dims, sizeof sizes);
  sizes[axis] = n;
  return graph_cut(b, x, starts, sizes);
}

/* Real numbers that have a complex type. */
static tsr_status check_real(ir_op *op) {
  TSR_TRY(shape_tensors(op));
  if (dtype_complex(TYPE(0)->dtype)) return NULL;
  return ir_error(op, "f64, f32 or f16", "takes real numbers, not %s", tsr_dtype_name(TYPE(0)->dtype));
}

/* ---- dct --------------------------------------------------------------------------------------------------------- */

static tsr_status infer_dct(ir_op *op, const ir_type **results) {
  TSR_TRY(check_real(op));
  const ir_type *x = TYPE(0);
  const int64_t type = ir_get_int(op, "type", 2);
  const char *norm = ir_get_str(op, "norm", "backward");
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), x->rank));
  const int64_t n = x->dims[compose_axis(op, "axis", -1, x->rank)];
  if (type != 2 && type != 3) return ir_error(op, "2 or 3", "type %lld", (long long)type);
  if (strcmp(norm, "backward") && strcmp(norm, "forward") && strcmp(norm, "ortho"))
    return ir_error(op, "backward, forward or ortho", "unknown norm \"%.40s\"", norm);
  if (n == 0 || n > MOST_POINTS / 2)
    return ir_error(op, "1 to 2^21", "the axis has %lld points", (long long)n);
  return shape_finish(op, x->dtype, x->rank, x->dims, results);
}

/* What number k is multiplied by. */
static double cosine_scale(const ir_op *op, int64_t n, int64_t k) {
  const char *norm = ir_get_str(op, "norm", "backward");
  const bool second = ir_get_int(op, "type", 2) == 2;
  if (!strcmp(norm, "backward")) return second ? 2 : 1;
  if (!strcmp(norm, "forward")) return (second ? 2 : 1) / (2 * (double)n);
  const double ortho = 1 / sqrt((double)n);
  return k ? (second ? sqrt(2.0) : sqrt(0.5)) * ortho : ortho;
}

/* scale cos(pi k / 2 n), or of sines, along the axis of x. */
static ir_value *quarter_turns(ir_builder *b, const ir_op *op, const ir_value *x, int axis, bool sines) {
  if (!x || b->failed) return NULL;
  const int64_t n = TYPE(0)->dims[axis];
  int64_t dims[TSR_MAX_RANK];
  double *v = al_alloc(&b->m->arena.al, sizeof *v * (size_t)n, 16);
  for (int64_t k = 0; v && k < n; k++) {
    double w[2];
    fourier_root(k, 4 * n, w);
    v[k] = cosine_scale(op, n, k) * w[sines];
  }
  for (int i = 0; i < x->type->rank; i++) dims[i] = i == axis ? n : 1;
  ir_value *y = dft_constant(b, x->type->dtype, x->type->rank, dims, v);
  al_free(&b->m->arena.al, v, sizeof *v * (size_t)n, 16);
  return y;
}

/* As halves of transforms of 2 n points: of x with n zeros behind it, turned by exp(-pi i k / 2 n), the real part; and
 * the other way round. */
EXPAND(expand_dct) {
  const int axis = compose_axis(op, "axis", -1, TYPE(0)->rank);
  const int64_t n = TYPE(0)->dims[axis];
  ir_value *x = graph_cast(b, IN(0), compose_float(TYPE(0)->dtype));
  ir_value *cosines = quarter_turns(b, op, x, axis, false), *sines = quarter_turns(b, op, x, axis, true), *y;
  if (ir_get_int(op, "type", 2) == 2) {
    y = first_of(b, transform(b, G_RFFT, longer(b, x, axis, n), axis, 0), axis, n);
    y = ADD(MUL(graph_op1(b, G_REAL, y), cosines), MUL(graph_op1(b, G_IMAG, y), sines));
  } else {
    ir_value *re = longer(b, MUL(x, cosines), axis, 1), *im = longer(b, MUL(x, sines), axis, 1);
    y = first_of(b, transform(b, G_IRFFT, graph_op2(b, G_COMPLEX, re, im), axis, 2 * n), axis, n);
  }
  out[0] = graph_cast(b, y, TYPE(0)->dtype);
  DONE;
}

/* ---- stft, istft ------------------------------------------------------------------------------------------------- */

/* Frames of `size` numbers, one every `hop`. */
typedef struct framing {
  int64_t size, hop, frames;
} framing;

static tsr_status check_window(ir_op *op, tsr_dtype t, int64_t size) {
  if (op->n_operands < 2) return NULL;
  const ir_type *w = TYPE(1);
  if (w->dtype == t && w->rank == 1 && !shape_differs(w->dims[0], size)) return NULL;
  char buf[128];
  return ir_error(op, NULL, "the window is %s, not %s[%lld]", shape_text(w, buf, sizeof buf), tsr_dtype_name(t),
                  (long long)size);
}

static tsr_status check_framing(ir_op *op, const framing *f) {
  if (f->size < 1 || f->size > MOST_POINTS)
    return ir_error(op, "1 to 2^22", "frames of %lld numbers", (long long)f->size);
  if (f->hop < 1 || f->hop > MOST_POINTS) return ir_error(op, "1 to 2^22", "hop %lld", (long long)f->hop);
  if (f->frames != IR_DYNAMIC && (f->frames < 1 || f->frames > MOST_INDICES / (f->size > f->hop ? f->size : f->hop)))
    return ir_error(op, "1 to 2^25 numbers in all", "%lld frames of %lld numbers", (long long)f->frames,
                    (long long)f->size);
  return NULL;
}

static framing framing_of_signal(const ir_op *op) {
  const int64_t length = TYPE(0)->dims[TYPE(0)->rank - 1];
  framing f = {.size = ir_get_int(op, "size", 0), .hop = ir_get_int(op, "hop", 0), .frames = IR_DYNAMIC};
  if (length != IR_DYNAMIC && f.hop > 0) f.frames = length < f.size ? 0 : (length - f.size) / f.hop + 1;
  return f;
}

static framing framing_of_spectra(const ir_op *op) {
  const ir_type *x = TYPE(0);
  const int64_t bins = x->dims[x->rank - 1];
  framing f = {.size = ir_get_int(op, "size", 0), .hop = ir_get_int(op, "hop", 0), .frames = x->dims[x->rank - 2]};
  if (!ir_get_attr(op, "size")) f.size = bins == IR_DYNAMIC ? 0 : bins > 1 ? 2 * (bins - 1) : 1;
  return f;
}

static tsr_status infer_stft(ir_op *op, const ir_type **results) {
  TSR_TRY(check_real(op));
  ir_type t = *TYPE(0);
  if (t.rank < 1 || t.rank > TSR_MAX_RANK - 2)
    return ir_error(op, "[.., length]", "takes 1 to %d dimensions, not %d", TSR_MAX_RANK - 2, t.rank);
  const framing f = framing_of_signal(op);
  TSR_TRY(check_framing(op, &f));
  TSR_TRY(check_window(op, t.dtype, f.size));
  t.dims[t.rank - 1] = f.frames;
  t.dims[t.rank] = f.size / 2 + 1;
  return shape_finish(op, dtype_complex(t.dtype), t.rank + 1, t.dims, results);
}

static tsr_status infer_istft(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_complex(op));
  ir_type t = *TYPE(0);
  if (t.rank < 2) return ir_error(op, "[.., frames, bins]", "takes two dimensions or more, not %d", t.rank);
  const int64_t bins = t.dims[t.rank - 1];
  if (bins == IR_DYNAMIC && !ir_get_attr(op, "size"))
    return ir_error(op, "size says how many numbers a frame has", "the number of bins is unknown");
  const framing f = framing_of_spectra(op);
  TSR_TRY(check_framing(op, &f));
  if (shape_differs(bins, f.size / 2 + 1))
    return ir_error(op, "size / 2 + 1 bins", "size %lld of %lld bins", (long long)f.size, (long long)bins);
  TSR_TRY(check_window(op, dtype_part(t.dtype), f.size));
  t.dims[t.rank - 2] = f.frames == IR_DYNAMIC ? IR_DYNAMIC : f.size + (f.frames - 1) * f.hop;
  return shape_finish(op, dtype_part(t.dtype), t.rank - 1, t.dims, results);
}

/* i32 constants [rows, columns]: element [i, j] is what `at` says. */
static ir_value *indices(ir_builder *b, const framing *f, int64_t rows, int64_t columns,
                         int64_t (*at)(const framing *f, int64_t i, int64_t j)) {
  if (b->failed) return NULL;
  const size_t n = (size_t)(rows * columns), bytes = sizeof(double) * n;
  double *v = al_alloc(&b->m->arena.al, bytes, 16);
  if (!v) b->failed = true;
  for (size_t k = 0; v && k < n; k++) v[k] = (double)at(f, (int64_t)k / columns, (int64_t)k % columns);
  ir_value *y = dft_constant(b, TSR_I32, 2, (const int64_t[]){rows, columns}, v);
  al_free(&b->m->arena.al, v, bytes, 16);
  return y;
}

static ir_value *gathered(ir_builder *b, ir_value *x, ir_value *places) {
  if (!x || !places || b->failed) return NULL;
  return graph_indexed_build(b, G_GATHER, 2, (ir_value *[]){x, places}, "axis", x->type->rank - 1, false);
}

static int64_t number_of_frame(const framing *f, int64_t frame, int64_t j) { return frame * f->hop + j; }

EXPAND(expand_stft) {
  const framing f = framing_of_signal(op);
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  ir_value *x = gathered(b, graph_cast(b, IN(0), t), indices(b, &f, f.frames, f.size, number_of_frame));
  if (op->n_operands > 1) x = MUL(x, graph_cast(b, IN(1), t));
  if (!x || b->failed) return false;
  out[0] = graph_cast(b, transform(b, G_RFFT, x, x->type->rank - 1, 0), op->results[0]->type->dtype);
  DONE;
}

/* Number i of the signal is in the j-th last of the frames that have begun at it, if that has not ended: where, of all
 * frames' numbers and of one frame's. Behind the last of them is a zero. */
static int64_t offset_in_frame(const framing *f, int64_t i, int64_t j) {
  const int64_t frame = i / f->hop - j, at = i - frame * f->hop;
  return frame < 0 || frame >= f->frames || at >= f->size ? f->size : at;
}
static int64_t number_of_frames(const framing *f, int64_t i, int64_t j) {
  const int64_t at = offset_in_frame(f, i, j);
  return at == f->size ? f->frames * f->size : (i / f->hop - j) * f->size + at;
}

/* Of what overlaps: x [.., n] at these places of it, or the 0 behind it, added. */
static ir_value *overlapped(ir_builder *b, ir_value *x, ir_value *places) {
  bool last[TSR_MAX_RANK + 1] = {false};
  x = x ? gathered(b, longer(b, x, x->type->rank - 1, 1), places) : NULL;
  if (!x || b->failed) return NULL;
  last[x->type->rank - 1] = true;
  return graph_reduce(b, G_REDUCE_SUM, x, last, false);
}

EXPAND(expand_istft) {
  const framing f = framing_of_spectra(op);
  const tsr_dtype stored = op->results[0]->type->dtype, t = compose_float(stored);
  const int rank = TYPE(0)->rank;
  const int64_t length = f.size + (f.frames - 1) * f.hop, most = ceil_div(f.size, f.hop);
  ir_value *x = transform(b, G_IRFFT, graph_cast(b, IN(0), dtype_complex(t)), rank - 1, f.size);
  ir_value *window = op->n_operands > 1 ? graph_cast(b, IN(1), t) : NULL;
  if (!x || b->failed) return false;
  /* Transforms are unscaled: their size is divided by with the windows. */
  ir_value *squares = graph_fill(b, ir_type_tensor(b->m, t, 1, &f.size), (double)f.size);
  if (window) x = MUL(x, window), squares = MUL(MUL(window, window), squares);
  int64_t dims[TSR_MAX_RANK];
  if (!x || b->failed) return false;
  memcpy(dims, x->type->dims, sizeof dims);
  dims[rank - 2] = f.frames * f.size;
  x = overlapped(b, graph_reshape(b, x, rank - 1, dims), indices(b, &f, length, most, number_of_frames));
  squares = overlapped(b, squares, indices(b, &f, length, most, offset_in_frame));
  ir_value *zero = graph_number(b, t, 0), *none = graph_compare(b, CMP_EQ, squares, zero);
  x = DIV(SELECT(none, zero, x), SELECT(none, graph_number(b, t, 1), squares));
  out[0] = graph_cast(b, x, stored);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define HOP {"hop", IR_A_INT, true, NULL, "from a frame's begin to the next one's"}

static const ir_opdef rows[] = {
    {COMPOSITE(DCT, "dct", 1, 1, 1), BY(expand_dct), .operands_doc = "x", .types_doc = "f64, f32, f16",
     .infer = infer_dct,
     .attrs = ATTRS({"axis", IR_A_INT, false, "-1", "the dimension that is transformed"},
                    {"type", IR_A_INT, false, "2", "2, or 3: the other way"},
                    {"norm", IR_A_STR, false, "backward",
                     "backward: as said; forward: 1/2n of it, so that type 3 with one of the two undoes type 2 with "
                     "the other; ortho: 1/sqrt(2n) of type 2, the first 1/sqrt(4n), and what undoes it as type 3"}),
     .help = "Discrete cosine transform along one dimension: y[k] = 2 sum over j of x[j] cos(pi k (2j + 1) / 2n); type "
             "3: y[j] = x[0] + 2 sum over k > 0 of x[k] cos(pi k (2j + 1) / 2n)."},
    {COMPOSITE(STFT, "stft", 1, 2, 1), BY(expand_stft), .operands_doc = "x, window", .types_doc = "f64, f32, f16",
     .infer = infer_stft,
     .attrs = ATTRS({"size", IR_A_INT, true, NULL, "numbers of a frame, and of the window"}, HOP),
     .help = "Transforms of frames of a signal, x [.., length]: frame i begins at number i hop, is multiplied by the "
             "window, and gives size / 2 + 1 numbers as rfft does, [.., frames, size / 2 + 1]. Frames are those that x "
             "has whole; pad x for others."},
    {COMPOSITE(ISTFT, "istft", 1, 2, 1), .operands_doc = "x, window", .types_doc = "complex", .infer = infer_istft,
     .ext = ROW(GRAPH_COMPOSITE, .expand = expand_istft, .pairs = pairs_pointwise),
     .attrs = ATTRS(HOP,
                    {"size", IR_A_INT, false, NULL, "numbers of a frame; if absent 2 (m - 1) of m bins, 1 of one"}),
     .help = "The signal whose stft is nearest to x [.., frames, size / 2 + 1]: frames as irfft gives them are "
             "multiplied by the window and added where they overlap, and the sum is divided by that of the windows' "
             "squares; 0 where that is 0."},
};

const ir_rows graph_compose_spectral_ops = {rows, sizeof rows / sizeof *rows};
_Static_assert(sizeof rows / sizeof *rows == G_ISTFT - G_DCT + 1, "one row per code, in the enum's order");
