#!/usr/bin/env python3
"""Makes tests/onnx/cases: small models with inputs and what ONNX Runtime computes of them, in the form of ONNX's own
cases (`tessera test-onnx`): control flow that depends on what the inputs hold, and ops of ONNX Runtime's own domain.
usage: make_cases.py OUT
The packages onnx and onnxruntime (1.32.0)."""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T, helper, numpy_helper

rng = np.random.default_rng(1)
node, graph = helper.make_node, helper.make_graph
TYPES = {np.dtype(np.float32): T.FLOAT, np.dtype(np.float16): T.FLOAT16, np.dtype(np.int64): T.INT64,
         np.dtype(np.int32): T.INT32, np.dtype(bool): T.BOOL, np.dtype(np.uint8): T.UINT8, np.dtype(np.int8): T.INT8,
         np.dtype(np.uint64): T.UINT64}


def floats(*shape):
    return np.asarray(rng.standard_normal(shape)).astype(np.float32)


def value(name, kind=T.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]


def computed(model, inputs, wide):
    """What ONNX Runtime computes; wide: in f32, of a model of f16, which it has no kernels for, or inexact ones."""
    given = inputs
    if wide:
        given = {k: v.astype(np.float32) for k, v in inputs.items()}
        model = onnx.ModelProto.FromString(model.SerializeToString())
        for v in (*model.graph.input, *model.graph.output):
            v.type.tensor_type.elem_type = T.FLOAT
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [r.astype(np.float16) if wide else r for r in session.run(None, given)]


def case(name, nodes, inputs, outputs, initializers=(), opset=17, domains=(), wide=False, results=None):
    """inputs: {name: array}; outputs: names, or values; results: where ONNX Runtime has others than the specification.
    """
    ins = [value(k, TYPES[v.dtype], v.shape) for k, v in inputs.items()]
    outs = [o if not isinstance(o, str) else value(o) for o in outputs]
    g = graph(nodes, name, ins, outs, list(initializers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1),
              *(helper.make_opsetid(d, 1) for d in domains)]
    model = helper.make_model(g, opset_imports=opsets, producer_name="make_cases.py")
    model.ir_version = 8
    results = results or computed(model, inputs, wide)
    folder = f"{sys.argv[1]}/{name}/test_data_set_0"
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, f"{sys.argv[1]}/{name}/model.onnx")
    for what, arrays in (("input", inputs.values()), ("output", results)):
        for i, a in enumerate(arrays):
            with open(f"{folder}/{what}_{i}.pb", "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())


# ---- control flow ----------------------------------------------------------------------------------------------------
def body(nodes, carried, more=(), initializers=()):
    """Of a Loop that goes on as it was told: (i, ci, carried..) to (co, carried.., more..)."""
    return graph([*nodes, node("Identity", ["ci"], ["co"])], "body",
                 [value("i", T.INT64, []), value("ci", T.BOOL, []), *(value(a) for a, _ in carried)],
                 [value("co", T.BOOL, []), *(value(b) for _, b in carried),
                  *(value(m) if isinstance(m, str) else m for m in more)],
                 list(initializers))


x, w = floats(3, 4), floats(4, 4)
then = graph([node("Add", ["x", "k1"], ["t0"]), node("MatMul", ["t0", "w"], ["t1"])], "then", [], [value("t1")],
             constants(k1=np.float32(1)))
same = graph([node("Identity", ["x"], ["t1"])], "same", [], [value("t1")])
other = graph([node("Sub", ["x", "k2"], ["e1"])], "else", [], [value("e1")], constants(k2=np.float32(2)))
for c in (True, False):
    case(f"if_{c}", [node("If", ["c"], ["y"], then_branch=then, else_branch=other), node("MatMul", ["y", "w"], ["z"])],
         {"c": np.array(c), "x": x}, ["z"], constants(w=w))
    case(f"if_outer_value_{c}", [node("If", ["c"], ["y"], then_branch=same, else_branch=other)],
         {"c": np.array([c]), "x": x}, ["y"])
steps = body([node("MatMul", ["a", "w"], ["b0"]), node("Tanh", ["b0"], ["b1"]), node("Cast", ["i"], ["f"], to=T.FLOAT),
              node("Add", ["b1", "f"], ["b"])], [("a", "b")])
inner = graph([node("MatMul", ["p", "w"], ["q0"]), node("Add", ["q0", "b"], ["q1"]), node("Sigmoid", ["q1"], ["q"]),
               node("Identity", ["cj"], ["cjo"])], "inner",
              [value("j", T.INT64, []), value("cj", T.BOOL, []), value("p")], [value("cjo", T.BOOL, []), value("q")])
nested = body([node("Mul", ["a", "k"], ["b"]), node("Loop", ["n", "", "a"], ["r"], body=inner),
               node("Add", ["r", "x"], ["b2"])], [("a", "b2")], initializers=constants(k=np.float32(0.5)))
three = graph([node("Mul", ["a", "three"], ["t1"])], "then", [], [value("t1")], constants(three=np.float32(3)))
less = graph([node("Sub", ["a", "x"], ["e1"])], "else", [], [value("e1")])
chosen = body([node("ReduceSum", ["a"], ["s"], keepdims=0), node("Less", ["s", "zero"], ["l"]),
               node("If", ["l"], ["b"], then_branch=three, else_branch=less)], [("a", "b")],
              initializers=constants(zero=np.float32(0)))
for n in (0, 1, 5):
    count = {"n": np.array(n, np.int64), "x": x}
    case(f"loop_{n}_trips", [node("Loop", ["n", "", "x"], ["y"], body=steps)], count, ["y"], constants(w=w))
    case(f"loop_in_loop_{n}", [node("Loop", ["n", "", "x"], ["y"], body=nested), node("MatMul", ["y", "w"], ["z"])],
         count, ["z"], constants(w=w))
    case(f"if_in_loop_{n}", [node("Loop", ["n", "", "x"], ["y"], body=chosen)], count, ["y"])
until = graph([node("Mul", ["a", "two"], ["b"]), node("ReduceMax", ["b"], ["top"], keepdims=0),
               node("Less", ["top", "limit"], ["co"])], "until",
              [value("i", T.INT64, []), value("ci", T.BOOL, []), value("a")], [value("co", T.BOOL, []), value("b")],
              constants(two=np.float32(2)))
for limit, go in ((-1, True), (100, True), (9, False)):
    case(f"loop_until_{limit}", [node("Loop", ["", "c", "x"], ["y"], body=until)],
         {"c": np.array(go), "x": np.abs(x), "limit": np.array(limit, np.float32)}, ["y"])
case("loop_until_3", [node("Loop", ["m", "c", "x"], ["y"], body=until)],
     {"c": np.array(True), "x": np.abs(x), "limit": np.array(1e9, np.float32)}, ["y"], constants(m=np.int64(3)))
long = body([node("Mul", ["a", "k"], ["b"]), node("ReduceSum", ["b"], ["s"], keepdims=0),
             node("Identity", ["b"], ["bb"])], [("a", "b")], ["s", "bb"], constants(k=np.float32(0.999)))
case("loop_collects_600", [node("Loop", ["m", "", "x"], ["y", "sums", "all"], body=long)], {"x": floats(1, 2)},
     ["y", "sums", "all"], constants(m=np.int64(600)))


# ---- com.microsoft: decoders -----------------------------------------------------------------------------------------
def ms(op, inputs, outputs=("y",), **attributes):
    return node(op, list(inputs), list(outputs), domain="com.microsoft", **attributes)


case("simplified_layer_norm", [node("SimplifiedLayerNormalization", ["x", "g"], ["y"], axis=-1, epsilon=1e-5)],
     {"x": floats(2, 3, 16)}, ["y"], constants(g=floats(16)))
case("skip_simplified_layer_norm", [ms("SkipSimplifiedLayerNormalization", ["x", "s", "g"], ["y", "", "", "sum"])],
     {"x": floats(2, 3, 16), "s": floats(2, 3, 16)}, ["y", "sum"], constants(g=floats(16)))
for op in ("Gelu", "QuickGelu", "FastGelu"):
    case(op.lower(), [ms(op, ["x"])], {"x": floats(3, 8)}, ["y"])
case("bias_gelu", [ms("BiasGelu", ["x", "b"])], {"x": floats(3, 8)}, ["y"], constants(b=floats(8)))


def nbits(name, k, n, bits, block, exact, zero, rows=3):
    blocks = (k + block - 1) // block
    scales = np.abs(floats(n * blocks)) / 8
    if exact:
        scales = scales.astype(np.float16).astype(np.float32)
    given = {"b": rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8), "s": scales}
    if zero:
        given["z"] = rng.integers(0, 256, n * ((blocks * bits + 7) // 8)).astype(np.uint8)
    case("matmul_nbits_" + name, [ms("MatMulNBits", ["x", *given], K=k, N=n, bits=bits, block_size=block)],
         {"x": floats(rows, k)}, ["y"], constants(**given))


nbits("q4_0", 64, 10, 4, 32, True, False)
nbits("blocks_of_128", 256, 7, 4, 128, True, False, 1)
nbits("f32_scales", 64, 10, 4, 32, False, False)
nbits("zeros", 96, 5, 4, 32, True, True)
nbits("part_of_a_block", 40, 6, 4, 32, True, False)
nbits("8_bits", 64, 4, 8, 32, True, False)
angle = np.arange(32)[:, None] / 100 ** (np.arange(4) / 4)
tables = constants(cos=np.cos(angle).astype(np.float32), sin=np.sin(angle).astype(np.float32))
for interleaved in (0, 1):
    case(f"rotary_{interleaved}", [ms("RotaryEmbedding", ["x", "p", "cos", "sin"], interleaved=interleaved)],
         {"x": floats(2, 5, 24), "p": rng.integers(0, 30, (2, 5))}, ["y"], tables)
case("rotary_offset", [ms("RotaryEmbedding", ["x", "p", "cos", "sin"])], {"x": floats(2, 3, 5, 8), "p": np.array([7])},
     ["y"], tables)
case("rotary_part", [ms("RotaryEmbedding", ["x", "p", "cos", "sin"], num_heads=2, rotary_embedding_dim=8)],
     {"x": floats(1, 5, 24), "p": np.array([3])}, ["y"], tables)


def grouped(name, length, past, last, total, packed=False, heads=4, kv=2, **attributes):
    """last: of each entry of the batch, the place of its last key. What its past has behind its keys is zeros."""
    batch, width = len(last), 16
    angles = np.arange(32)[:, None] / 100 ** (np.arange(width // 2) / (width // 2))
    given = {"q": floats(batch, length, (heads + 2 * kv if packed else heads) * width)}
    if not packed:
        given.update(k=floats(batch, length, kv * width), v=floats(batch, length, kv * width))
    names = ["q", "", ""] if packed else ["q", "k", "v"]
    given.update(pk=floats(batch, kv, past, width), pv=floats(batch, kv, past, width))
    for b, end in enumerate(last):
        for key in ("pk", "pv"):
            given[key][b, :, max(end + 1 - length, 0):] = 0
    given.update(last=np.array(last, np.int32), total=np.array(total, np.int32))
    names += ["pk", "pv", "last", "total"] + (["cos", "sin"] if attributes.get("do_rotary") else [])
    case("group_query_" + name, [ms("GroupQueryAttention", names, ["y", "nk", "nv"], num_heads=heads, kv_num_heads=kv,
                                    **attributes)], given, ["y", "nk", "nv"],
         constants(cos=np.cos(angles).astype(np.float32), sin=np.sin(angles).astype(np.float32))
         if attributes.get("do_rotary") else ())


grouped("prompt", 6, 0, [5, 5], 6)
grouped("next", 1, 5, [5, 5], 6)
grouped("next_of_different_lengths", 1, 8, [7, 3], 8)
grouped("rotary", 1, 8, [6, 6], 7, do_rotary=1)
grouped("packed", 4, 0, [3], 4, packed=True, do_rotary=1, rotary_interleaved=1)
grouped("window", 7, 0, [6], 7, local_window_size=3)
grouped("softcap", 3, 4, [6], 7, softcap=2.0, scale=0.5)


# ---- com.microsoft: what the optimizer makes ------------------------------------------------------------------------
image, kernel = floats(1, 3, 7, 6), floats(4, 3, 3, 3)
for activation, parameters in (("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.3]),
                               ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.25, 0.4])):
    more = {"activation_params": parameters} if parameters else {}
    case("fused_conv_" + activation.lower(),
         [ms("FusedConv", ["x", "w", "b"], activation=activation, pads=[1, 1, 1, 1], **more)], {"x": image}, ["y"],
         constants(w=kernel, b=floats(4)))
case("fused_conv_added", [ms("FusedConv", ["x", "w", "b", "z"], activation="Relu", strides=[2, 2])],
     {"x": image, "z": floats(1, 4, 3, 2)}, ["y"], constants(w=kernel, b=floats(4)))
case("fused_gemm", [ms("FusedGemm", ["x", "w", "b"], activation="LeakyRelu", activation_alpha=0.2, alpha=0.5,
                       transB=1)], {"x": floats(3, 8)}, ["y"], constants(w=floats(5, 8), b=floats(5)))
embedding = constants(words=floats(20, 8), places=floats(12, 8), segments=floats(2, 8), g=floats(8), b=floats(8))
tokens = {"ids": rng.integers(0, 20, (2, 5)).astype(np.int32), "seg": rng.integers(0, 2, (2, 5)).astype(np.int32)}
case("embed_layer_norm", [ms("EmbedLayerNormalization", ["ids", "seg", "words", "places", "segments", "g", "b", "mask"],
                             ["y", "counts"])],
     {**tokens, "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)}, ["y", value("counts", T.INT32)],
     embedding)
case("embed_layer_norm_no_segments", [ms("EmbedLayerNormalization", ["ids", "", "words", "places", "", "g", "b"],
                                         ["y", "counts"])], {"ids": tokens["ids"]},
     ["y", value("counts", T.INT32)], embedding)
q, p = rng.integers(0, 256, (3, 8)).astype(np.uint8), rng.integers(-128, 128, (8, 5)).astype(np.int8)
for name, columns in (("tensor", 1), ("columns", 5)):
    scale = np.abs(floats(columns)) + 0.1 if columns > 1 else np.float32(0.2)
    zero = rng.integers(-3, 4, columns).astype(np.int8) if columns > 1 else np.int8(2)
    case("integer_to_float_" + name, [ms("MatMulIntegerToFloat", ["a", "b", "sa", "sb", "za", "zb", "bias"])], {"a": q},
         ["y"], constants(b=p, sa=np.float32(0.1), sb=scale, za=np.uint8(120), zb=zero, bias=floats(5)))
    case("dynamic_quantize_matmul_" + name, [ms("DynamicQuantizeMatMul", ["a", "b", "sb", "zb", "bias"])],
         {"a": floats(3, 8)}, ["y"], constants(b=p, sb=scale, zb=zero, bias=floats(5)))
case("qgemm", [ms("QGemm", ["a", "sa", "za", "b", "sb", "zb", "c", "sy", "zy"], transB=1)], {"a": q},
     [value("y", T.UINT8)],
     constants(sa=np.float32(0.1), za=np.uint8(120), b=p.T.copy(), sb=np.float32(0.2), zb=np.int8(0),
               c=rng.integers(-99, 99, 5).astype(np.int32), sy=np.float32(9.0), zy=np.uint8(128)))
case("qgemm_to_float", [ms("QGemm", ["a", "sa", "za", "b", "sb", "zb"], alpha=0.5)], {"a": q}, ["y"],
     constants(sa=np.float32(0.1), za=np.uint8(120), b=p, sb=np.abs(floats(5)), zb=np.zeros(5, np.int8)))


# ---- detectors -------------------------------------------------------------------------------------------------------
low = rng.random((2, 30, 2)).astype(np.float32) * 10
boxes = np.concatenate([low, low + 0.1 + 3 * rng.random((2, 30, 2)).astype(np.float32)], 2)
case("non_max_suppression", [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["y"])],
     {"boxes": boxes, "scores": rng.random((2, 3, 30)).astype(np.float32)}, [value("y", T.INT64)],
     constants(most=np.array([6]), overlap=np.float32([0.3]), least=np.float32([0.4])))
case("roi_align", [node("RoiAlign", ["x", "rois", "which"], ["y"], output_height=3, output_width=2, sampling_ratio=2,
                        spatial_scale=0.5)],
     {"x": floats(2, 3, 8, 9), "rois": np.float32([[0, 0, 9, 9], [-8, -9, 30, 40], [3, 3, 3, 3]]),
      "which": np.array([0, 1, 1])}, ["y"])


# ---- convolutions and products of bytes ------------------------------------------------------------------------------
rng = np.random.default_rng(16)


def of_bytes(kind, *shape):
    low, high = np.iinfo(kind).min, np.iinfo(kind).max
    a = rng.integers(low, high + 1, shape).astype(kind)
    a.reshape(-1)[:2] = low, high
    return a


def conv_integer(name, x, w, zx, zw, known=False, **attributes):
    """Zero points of x as an input, or known; of w always known."""
    inputs, more = {"x": x}, {"w": w, "zw": zw}
    (more if known else inputs)["zx"] = np.asarray(zx, x.dtype)
    case("conv_integer_" + name, [node("ConvInteger", ["x", "w", "zx", "zw"], ["y"], **attributes)], inputs,
         [value("y", T.INT32)], constants(**more))


u8, i8 = np.uint8, np.int8
x, w = of_bytes(u8, 2, 6, 7, 9), of_bytes(u8, 8, 6, 3, 3)
for zero in (0, 1, 128, 255):
    conv_integer(f"padded_{zero}", x, w, zero, np.uint8(zero), pads=[1, 2, 0, 1])
conv_integer("known_zero", x, w, 7, np.uint8(120), known=True, pads=[1, 1, 1, 1], strides=[2, 1], dilations=[1, 2])
conv_integer("signed_weights", x, of_bytes(i8, 8, 6, 3, 3), 130, np.int8(0), auto_pad="SAME_UPPER", strides=[2, 2])
conv_integer("groups", x, of_bytes(i8, 8, 3, 3, 2), 3, np.int8(-7), group=2, pads=[1, 1, 1, 1])
conv_integer("depthwise", x, of_bytes(u8, 6, 1, 3, 3), 255, np.uint8(1), group=6, pads=[1, 1, 1, 1])
conv_integer("pointwise", x, of_bytes(u8, 5, 6, 1, 1), 100, np.uint8(90))
conv_integer("line", of_bytes(u8, 1, 3, 20), of_bytes(u8, 4, 3, 5), 9, np.uint8(200), pads=[6, 6], strides=[3])
conv_integer("volume", of_bytes(u8, 1, 2, 4, 5, 3), of_bytes(u8, 3, 2, 2, 3, 3), 11, np.uint8(13), pads=[1] * 6)
for name, kind in (("u8", u8), ("i8", i8)):
    zero = {"u8": 131, "i8": -3}[name]
    scales = {"sx": np.float32(0.02), "sw": np.abs(floats(8)) + 0.01, "sy": np.float32(7.0)}
    case("qlinear_conv_" + name,
         [node("QLinearConv", ["x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b"], ["y"], pads=[1, 1, 1, 1])],
         {"x": of_bytes(kind, 1, 6, 7, 9)}, [value("y", TYPES[np.dtype(kind)])],
         constants(w=of_bytes(i8, 8, 6, 3, 3), zx=np.asarray(zero, kind), zw=np.zeros(8, i8), zy=np.asarray(2, kind),
                   b=rng.integers(-9999, 9999, 8).astype(np.int32), **scales))
for name, a, b in (("u8_u8", u8, u8), ("u8_i8", u8, i8)):
    for k in (1, 70):
        case(f"matmul_integer_{name}_{k}", [node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])],
             {"a": of_bytes(a, 2, 5, k), "za": np.asarray(77, a)}, [value("y", T.INT32)],
             constants(b=of_bytes(b, k, 35), zb=of_bytes(b, 35)))


# ---- dequantized products --------------------------------------------------------------------------------------------
def dequantized_product(name, a, b, zb, per_column, swap):
    """a: activations that are rounded; b: weights, large enough not to be dequantized when they are compiled."""
    n = b.shape[0 if swap else 1]
    scale = np.abs(floats(n)) / 50 + 0.01 if per_column else np.float32(0.02)
    zeros = np.full(n, zb, b.dtype) if per_column else np.asarray(zb, b.dtype)
    nodes = [node("QuantizeLinear", ["a", "sa", "za"], ["qa"]), node("DequantizeLinear", ["qa", "sa", "za"], ["da"]),
             node("DequantizeLinear", ["b", "sb", "zb"], ["db"], axis=0 if swap else 1)]
    if swap: nodes.append(node("Gemm", ["da", "db"], ["y"], transB=1))
    else: nodes.append(node("MatMul", ["da", "db"], ["y"]))
    case("dequantized_" + name, nodes, {"a": 3 * floats(*a)}, ["y"],
         constants(b=b, sa=np.float32(0.04), za=np.uint8(117), sb=scale, zb=zeros))


rng = np.random.default_rng(17)
dequantized_product("matmul", (5, 130), of_bytes(i8, 130, 35), 0, True, False)
dequantized_product("matmul_batch", (2, 3, 130), of_bytes(i8, 130, 35), -9, False, False)
dequantized_product("matmul_u8", (5, 130), of_bytes(u8, 130, 35), 140, True, False)
dequantized_product("gemm", (5, 130), of_bytes(i8, 35, 130), 0, True, True)
dequantized_product("gemm_u8", (1, 130), of_bytes(u8, 35, 130), 3, False, True)


# ---- LSTM of quantized weights ---------------------------------------------------------------------------------------
def quantized_lstm(name, kind, steps, hidden, per_column, known, both):
    """Where the state counts, ONNX Runtime rounds it: so there is one step from none, or nothing that reads it."""
    d, inputs = 1 + both, 6
    w, r = of_bytes(kind, d, inputs, 4 * hidden), of_bytes(kind, d, hidden, 4 * hidden)
    zero = np.zeros((d, 4 * hidden) if per_column else d, kind) + kind(120 if kind == u8 else 0)
    if steps > 1: r[...] = zero[:, None, :] if per_column else zero[:, None, None]
    scale = (np.abs(floats(*zero.shape)) + 0.2) / 99
    weights = dict(w=w, r=r, b=floats(d, 8 * hidden), sw=scale, zw=zero, sr=scale, zr=zero)
    names = ["x", "w", "r", "b", "", "", "", "", "sw", "zw", "sr", "zr"]
    case("quantized_lstm_" + name,
         [ms("DynamicQuantizeLSTM", names, ["y", "h", "c"], hidden_size=hidden,
             direction="bidirectional" if both else "forward")],
         {"x": floats(steps, 2, inputs), **({} if known else weights)}, ["y", "h", "c"],
         constants(**weights) if known else [])


quantized_lstm("one_step", u8, 1, 5, False, True, False)
quantized_lstm("columns", i8, 1, 5, True, True, True)
quantized_lstm("large", i8, 3, 40, False, True, True)
quantized_lstm("given", i8, 1, 5, False, False, False)
# ---- Scan ------------------------------------------------------------------------------------------------------------
def scan(name, steps, **directions):
    """Two states, read along the first axis and the last, two results a step; by more than 512 steps as a loop."""
    g = graph([node("Mul", ["s", "k"], ["s0"]), node("Add", ["s0", "a"], ["s1"]), node("Add", ["s1", "w"], ["t1"]),
               node("ReduceSum", ["s1"], ["m"], keepdims=0), node("Max", ["n", "m"], ["n1"]),
               node("Mul", ["t1", "b"], ["y1"])], "body",
              [value("s"), value("n"), value("a"), value("b")],
              [value("s1"), value("n1"), value("y1"), value("m")], constants(k=np.float32(0.75)))
    case("scan_" + name, [node("Scan", ["s", "n", "a", "b"], ["sl", "nl", "y", "ms"], body=g, num_scan_inputs=2,
                               scan_input_axes=[0, 1], **directions)],
         {"s": floats(3), "n": floats(), "a": floats(steps, 3), "b": floats(3, steps)},
         [value("sl", shape=[3]), value("nl", shape=[]), value("y", shape=[steps, 3]), value("ms", shape=[steps])],
         constants(w=floats(3)))


scan("of_512_steps", 512, scan_input_directions=[1, 0])
scan("of_513_steps", 513)
scan("of_700_steps_backwards", 700, scan_input_directions=[0, 1], scan_output_directions=[1, 0])


# ---- sequences -------------------------------------------------------------------------------------------------------
rng = np.random.default_rng(18)
x = floats(7, 5)
case("sequence_split", [node("SplitToSequence", ["x", "two"], ["s"], axis=0), node("SequenceAt", ["s", "last"], ["a"]),
                        node("SequenceAt", ["s", "one"], ["b"]), node("SequenceLength", ["s"], ["n"])],
     {"x": x}, ["a", "b", value("n", T.INT64)], constants(two=np.int64(2), last=np.int64(-1), one=np.int64(1)))
case("sequence_split_sizes", [node("SplitToSequence", ["x", "sizes"], ["s"], axis=-1),
                              node("ConcatFromSequence", ["s"], ["y"], axis=0)],
     {"x": floats(3, 6)}, ["y"], constants(sizes=np.int64([2, 2, 2])))
case("sequence_split_rows", [node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0),
                             node("ConcatFromSequence", ["s"], ["y"], axis=-1, new_axis=1)], {"x": x}, ["y"])
case("sequence_insert", [node("SequenceConstruct", ["x", "y"], ["s"]), node("SequenceInsert", ["s", "z", "at"], ["t"]),
                         node("SequenceInsert", ["t", "y"], ["u"]), node("SequenceErase", ["u", "first"], ["v"]),
                         node("SequenceErase", ["v"], ["w"]), node("ConcatFromSequence", ["w"], ["r"], axis=1)],
     {"x": floats(2, 1), "y": floats(2, 3), "z": floats(2, 2)}, ["r"],
     constants(at=np.int64(-1), first=np.int64(0)))
of_floats = helper.make_sequence_type_proto(helper.make_tensor_type_proto(T.FLOAT, None))
step = graph([node("Mul", ["x", "x"], ["square"]), node("SequenceInsert", ["s", "square"], ["t"]),
              node("Add", ["x", "square"], ["z"]), node("Identity", ["ci"], ["co"])], "step",
             [value("i", T.INT64, []), value("ci", T.BOOL, []), helper.make_value_info("s", of_floats),
              value("x", T.FLOAT, [3])],
             [value("co", T.BOOL, []), helper.make_value_info("t", of_floats), value("z", T.FLOAT, [3])])
case("sequence_in_loop", [node("SequenceEmpty", [], ["s"]), node("Loop", ["n", "", "s", "x"], ["t", "z"], body=step),
                          node("ConcatFromSequence", ["t"], ["y"], axis=0, new_axis=1)],
     {"x": floats(3)}, ["y", "z"], constants(n=np.int64(4)))


# ---- convolutions of dequantized bytes, what ONNX Runtime's quantizer writes -----------------------------------------
def dequantized_conv(name, x, w, zx, per_channel, bias=True, **attributes):
    m = w.shape[0]
    sw = np.abs(floats(m)) / 90 + 0.01 if per_channel else np.float32(0.02)
    zw = np.zeros(m, w.dtype) if per_channel else np.asarray(3, w.dtype)
    sx, zx = np.float32(0.04), np.asarray(zx, np.uint8)
    nodes = [node("QuantizeLinear", ["x", "sx", "zx"], ["qx"]), node("DequantizeLinear", ["qx", "sx", "zx"], ["dx"]),
             node("DequantizeLinear", ["w", "sw", "zw"], ["dw"], axis=0)]
    more = dict(w=w, sx=sx, zx=zx, sw=sw, zw=zw)
    if bias:
        more.update(b=rng.integers(-999, 999, m).astype(np.int32), sb=(sx * sw).astype(np.float32),
                    zb=np.zeros_like(sw, dtype=np.int32))
        nodes.append(node("DequantizeLinear", ["b", "sb", "zb"], ["db"], axis=0))
    nodes.append(node("Conv", ["dx", "dw"] + ["db"] * bias, ["y"], **attributes))
    case("dequantized_conv_" + name, nodes, {"x": 3 * floats(*x)}, ["y"], constants(**more))


rng = np.random.default_rng(19)
dequantized_conv("channels", (2, 6, 7, 9), of_bytes(i8, 8, 6, 3, 3), 117, True, pads=[1, 1, 1, 1])
dequantized_conv("tensor", (1, 6, 7, 9), of_bytes(i8, 8, 6, 3, 3), 0, False, bias=False, strides=[2, 2])
dequantized_conv("u8_groups", (1, 6, 7, 9), of_bytes(u8, 8, 3, 3, 2), 255, False, group=2, pads=[0, 1, 2, 1])
dequantized_conv("depthwise", (1, 6, 7, 9), of_bytes(i8, 6, 1, 3, 3), 100, True, group=6, pads=[1, 1, 1, 1])
dequantized_conv("line", (1, 5, 40), of_bytes(i8, 7, 5, 4), 128, True, strides=[3], dilations=[2])
a, b = of_bytes(u8, 2, 3, 5), of_bytes(u8, 2, 4, 5)
case("qlinear_concat", [ms("QLinearConcat", ["sy", "zy", "a", "sa", "za", "b", "sb", "zb"], axis=1)],
     {"a": a, "b": b}, [value("y", T.UINT8)],
     constants(sy=np.float32(0.06), zy=np.uint8(100), sa=np.float32(0.05), za=np.uint8(120), sb=np.float32(0.021),
               zb=np.uint8(7)))


# ---- Scan with a batch, resized extents that are rounded up ----------------------------------------------------------
rng = np.random.default_rng(20)
summed = graph([node("Add", ["s", "a"], ["t0"]), node("Mul", ["t0", "b"], ["t"]), node("Sub", ["t", "a"], ["z"])],
               "summed", [value("s", shape=[2]), value("a", shape=[2]), value("b", shape=[2])],
               [value("t", shape=[2]), value("z", shape=[2])])
for name, directions in (("forwards", [0, 0]), ("one_backwards", [0, 1])):
    case("scan_batch_" + name, [node("Scan", ["", "s", "a", "b"], ["t", "z"], body=summed, num_scan_inputs=2,
                                     directions=directions)],
         {"s": floats(3, 2), "a": floats(3, 5, 2), "b": floats(3, 5, 2)}, ["t", "z"], opset=8)
for name, size, attributes in (("nearest", [2, 5], {}), ("linear", [2, 5], {"mode": "linear"}),
                               ("cubic", [2, 5], {"mode": "cubic"}), ("larger", [5, 15], {"mode": "linear"}),
                               ("floors", [2, 5], {"nearest_mode": "floor",
                                                   "coordinate_transformation_mode": "asymmetric"})):
    case("resize_rounded_up_" + name,
         [node("Resize", ["x", "", "", "size"], ["y"], axes=[2, 3], keep_aspect_ratio_policy="not_smaller",
               **attributes)],
         {"x": floats(1, 2, 3, 7)}, ["y"], constants(size=np.array(size, np.int64)), opset=19)


# ---- ai.onnx.ml ------------------------------------------------------------------------------------------------------
rng = np.random.default_rng(21)
ML = "ai.onnx.ml"
zeros = np.concatenate([floats(4, 5), np.zeros((1, 5), np.float32)])
for name, op, x, attributes in (
        ("scaler", "Scaler", floats(4, 3), {"offset": [0.5, -1.0, 2.0], "scale": [2.0, 0.25, -3.0]}),
        ("scaler_of_one", "Scaler", floats(4, 3), {"offset": [0.5], "scale": [2.0]}),
        ("scaler_of_integers", "Scaler", rng.integers(-9, 9, (4, 2)), {"offset": [1.0, 2.0], "scale": [0.5, 3.0]}),
        ("binarizer", "Binarizer", floats(4, 5), {"threshold": 0.25}),
        ("normalizer_max", "Normalizer", zeros, {"norm": "MAX"}),
        ("normalizer_l1", "Normalizer", zeros, {"norm": "L1"}),
        ("normalizer_l2", "Normalizer", zeros, {"norm": "L2"}),
        ("linear_regressor", "LinearRegressor", floats(4, 3),
         {"targets": 2, "coefficients": [float(v) for v in floats(6)], "intercepts": [0.5, -0.5]}),
        ("linear_regressor_of_one", "LinearRegressor", floats(4, 3),
         {"coefficients": [float(v) for v in floats(3)]})):
    case("ml_" + name, [node(op, ["x"], ["y"], domain=ML, **attributes)], {"x": x}, ["y"], domains=[ML])
for name, shape in (("", (2, 3, 4)), ("_of_a_vector", (4,))):
    case("ml_array_feature_extractor" + name, [node("ArrayFeatureExtractor", ["x", "at"], ["y"], domain=ML)],
         {"x": floats(*shape)}, ["y"], constants(at=np.array([2, 0, 2], np.int64)), domains=[ML])


# ---- integers of 64 bits, many operands, nothing at all --------------------------------------------------------------
rng = np.random.default_rng(22)
LARGE = 2**53 + 1
for kind, x, v in (("i64", np.array([[1, LARGE]]), -LARGE), ("u64", np.array([[1, 2**64 - 1]], np.uint64), 2**64 - 3)):
    v = np.asarray(v, x.dtype)
    case("pad_" + kind, [node("Pad", ["x", "pads", "v"], ["y"])], {"x": x}, [value("y", TYPES[x.dtype])],
         constants(pads=np.array([1, 2, 0, -1]), v=v))
    case(f"pad_{kind}_value_given", [node("Pad", ["x", "pads", "v"], ["y"])], {"x": x, "v": v},
         [value("y", TYPES[x.dtype])], constants(pads=np.array([1, 2, 0, -1])))
found = [value(name, T.INT64) for name in ("y", "first", "kind", "count")]
for name, x, attributes in (("i64", np.array([LARGE, LARGE - 1, LARGE + 1, LARGE, LARGE - 1]), {}),
                            ("i64_columns", np.array([[LARGE, LARGE - 1, LARGE + 1, LARGE], [1] * 4]),
                             {"axis": 1, "sorted": 0})):
    case("unique_" + name, [node("Unique", ["x"], [f.name for f in found], **attributes)], {}, found, constants(x=x))
many = [f"p{i}" for i in range(130)]
case("split_and_concat_130", [node("Split", ["x", "sizes"], many), node("Concat", many[::-1], ["y"], axis=0)],
     {"x": floats(200, 2)}, ["y"], constants(sizes=np.array([i % 4 for i in range(129)] + [8])))
for name, x, y in (("zero", 0, np.zeros((0, 0), np.int64)), ("one", 2, np.zeros((0, 1), np.int64))):
    case("nonzero_of_a_number_" + name, [node("NonZero", ["x"], ["y"])], {"x": np.array(x, np.float32)},
         [value("y", T.INT64)], results=[y])  # the specification's shapes; ONNX Runtime has a row
for name, x in (("zeros", np.zeros((2, 3), np.float32)), ("one_zero", np.zeros(1, np.float32))):
    case("dynamic_quantize_" + name, [node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])], {"x": x},
         [value("y", T.UINT8), "scale", value("zero", T.UINT8)])


# ---- what loops and scans collect ------------------------------------------------------------------------------------
collecting = body([node("Add", ["a", "x"], ["b"]), node("Cast", ["i"], ["f"], to=T.FLOAT),
                   node("Mul", ["f", "a"], ["s"]), node("Mul", ["i", "i"], ["k"])], [("a", "b")],
                  [value("s", T.FLOAT, [2, 3]), value("k", T.INT64, [])])
for n in (0, 1, 3):
    case(f"loop_collects_two_{n}", [node("Loop", ["n", "", "x"], ["y", "s", "k"], body=collecting)],
         {"x": floats(2, 3)}, ["y", "s", value("k", T.INT64)], constants(n=np.int64(n)))
case("loop_collects_none_told_so", [node("Loop", ["n", "goes", "x"], ["y", "s", "k"], body=collecting)],
     {"x": floats(2, 3)}, ["y", "s", value("k", T.INT64)], constants(n=np.int64(9), goes=np.bool_(False)))
beside = graph([node("Add", ["s", "a"], ["t"]), node("Mul", ["t", "b"], ["z"]), node("Sub", ["a", "b"], ["w"])],
               "beside", [value(v, T.FLOAT, [2, 3]) for v in "sab"], [value(v, T.FLOAT, [2, 3]) for v in "tzw"])
for n in (1, 4, 600):
    for axes, directions in (((2, 0), (0, 1)), ((-2, -1), (1, 0)), ((1, 2), (1, 1))):
        shapes = [list(np.insert([2, 3], a % 3, n)) for a in axes]
        case(f"scan_{n}_axes_{axes[0]}_{axes[1]}".replace("-", "m"),
             [node("Scan", ["s", "a", "b"], ["t", "z", "w"], body=beside, num_scan_inputs=2, scan_input_axes=axes,
                   scan_output_axes=axes[::-1], scan_input_directions=directions,
                   scan_output_directions=directions[::-1])],
             {"s": floats(2, 3), "a": floats(*shapes[0]) / 9, "b": floats(*shapes[1]) / 9}, ["t", "z", "w"])


# ---- more of com.microsoft's ops -------------------------------------------------------------------------------------
rng = np.random.default_rng(23)
for queries, keys in ((5, 3), (3, 5), (4, 4)):
    for name, mask in (("", None), ("_keys", [[0, 1, 1, 1, 1], [1, 0, 0, 0, 0]]), ("_lengths", [2, 1])):
        given = {"q": floats(2, queries, 8), "k": floats(2, keys, 8), "v": floats(2, keys, 8)}
        if mask:
            given["mask"] = np.array(mask, np.int32)[..., :keys]
        case(f"multi_head_causal_{queries}_{keys}{name}",
             [ms("MultiHeadAttention", ["q", "k", "v"] + ["", "mask"] * bool(mask), num_heads=2, unidirectional=1)],
             given, ["y"])
for a, b, attributes in (((5, 2, 3, 4), (2, 3, 4, 6), {"transBatchA": 1}),
                         ((2, 3, 4, 5), (6, 2, 3, 4), {"transBatchB": 1, "transA": 1, "transB": 1}),
                         ((4, 3, 5), (4, 3, 6), {"transBatchA": 1, "transBatchB": 1, "transA": 1})):
    case("fused_matmul_" + "_".join(attributes).lower(), [ms("FusedMatMul", ["a", "b"], alpha=0.5, **attributes)],
         {"a": floats(*a), "b": floats(*b)}, ["y"])
for last in (0, 1):
    case(f"qlinear_global_average_{'last' if last else 'first'}",
         [ms("QLinearGlobalAveragePool", ["x", "sx", "zx", "sy", "zy"], channels_last=last)],
         {"x": of_bytes(u8, 2, 5, 4, 3)}, [value("y", T.UINT8)],
         constants(sx=np.float32(0.1), zx=np.uint8(100), sy=np.float32(0.03), zy=np.uint8(120)))
for transposed in (0, 1):
    b = of_bytes(i8, 7, 5)
    case(f"qgemm_columns_{transposed}", [ms("QGemm", ["a", "sa", "za", "b", "sb", "zb"], transB=transposed)],
         {"a": of_bytes(u8, 3, 7) // 2}, ["y"],  # on some machines ONNX Runtime's sums of larger ones saturate
         constants(sa=np.float32(0.1), za=np.uint8(60), b=b.T.copy() if transposed else b, sb=np.abs(floats(5)),
                   zb=of_bytes(i8, 5)))


# ---- sums of powers in f16 -------------------------------------------------------------------------------------------
x = (300 * floats(1, 5, 6, 7)).astype(np.float16)
for name, op, attributes in (("lp_pool_2", "LpPool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}),
                             ("lp_pool_3", "LpPool", {"kernel_shape": [3, 2], "strides": [2, 1], "p": 3}),
                             ("global_lp_pool", "GlobalLpPool", {}), ("lrn", "LRN", {"size": 3, "alpha": 0.01}),
                             ("lp_normalization", "LpNormalization", {"axis": 1}),
                             ("mean_variance", "MeanVarianceNormalization", {})):
    case(name + "_f16", [node(op, ["x"], ["y"], **attributes)], {"x": x}, [value("y", T.FLOAT16)], wide=True)


# ---- recurrent cells that are written out ----------------------------------------------------------------------------
rng = np.random.default_rng(24)
for op, gates, outputs, attributes in (
        ("RNN", 1, 2, {"activations": ["ScaledTanh"], "activation_alpha": [0.7], "activation_beta": [1.3]}),
        ("RNN", 1, 2, {"activations": ["Tanh", "Relu"], "direction": "bidirectional"}),
        ("RNN", 1, 2, {"clip": 0.5, "direction": "reverse"}),
        ("GRU", 3, 2, {"activations": ["HardSigmoid", "Softsign"], "clip": 0.8}),
        ("GRU", 3, 2, {"activations": ["Sigmoid", "Elu", "HardSigmoid", "Affine"], "direction": "bidirectional",
                       "activation_alpha": [0.6, 0.3, 0.9], "activation_beta": [0.4, 0.1], "linear_before_reset": 1}),
        ("LSTM", 4, 3, {"clip": 0.4, "input_forget": 1}),
        ("LSTM", 4, 3, {"activations": ["HardSigmoid", "LeakyRelu", "ThresholdedRelu", "Sigmoid", "Relu", "Tanh"],
                        "activation_alpha": [0.25, 0.1, 0.05], "direction": "bidirectional"})):
    many = 2 if attributes.get("direction") == "bidirectional" else 1
    names = ["y", "h", "c"][:outputs]
    given = {"x": floats(4, 3, 5), "w": floats(many, gates * 2, 5), "r": floats(many, gates * 2, 2),
             "b": floats(many, gates * 4), "lengths": np.array([4, 1, 2], np.int32), "h0": floats(many, 3, 2)}
    if op == "LSTM":
        given.update(c0=floats(many, 3, 2), p=floats(many, 6))
    case(f"recurrent_{op.lower()}_" + "_".join(attributes.get("activations", sorted(attributes))).lower(),
         [node(op, list(given), names, hidden_size=2, **attributes)], given, names)


# ---- regions with as many samples as they have pixels ----------------------------------------------------------------
rng = np.random.default_rng(25)
for name, images, attributes in (("", 1, {}), ("_of_images", 3, {"spatial_scale": 0.5}),
                                 ("_output_half_pixel", 2, {"coordinate_transformation_mode": "output_half_pixel"})):
    low = rng.uniform(-6, 12, (5, 2))
    regions = np.concatenate([low, low + rng.uniform(-0.5, 25, (5, 2))], 1).astype(np.float32)
    case("roi_align_adaptive" + name,
         [node("RoiAlign", ["x", "rois", "which"], ["y"], output_height=3, output_width=2, **attributes)],
         {"x": floats(images, 3, 8, 9), "rois": regions, "which": rng.integers(0, images, 5)}, ["y"])


# ---- windows rounded up ----------------------------------------------------------------------------------------------
rng = np.random.default_rng(26)
for name, attributes in (("", {"pads": [1, 0, 1, 1]}), ("_far", {"strides": [3, 4]}),
                         ("_dilated", {"strides": [2, 3], "dilations": [2, 1], "pads": [1, 1, 0, 0]})):
    case("lp_pool_rounded_up" + name,
         [node("LpPool", ["x"], ["y"], kernel_shape=[3, 2], ceil_mode=1, **{"strides": [2, 2], **attributes})],
         {"x": floats(1, 2, 8, 9)}, ["y"], opset=18)
