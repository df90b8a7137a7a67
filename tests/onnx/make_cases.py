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
         np.dtype(np.int32): T.INT32, np.dtype(bool): T.BOOL, np.dtype(np.uint8): T.UINT8, np.dtype(np.int8): T.INT8}


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def value(name, kind=T.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def constants(**arrays):
    return [numpy_helper.from_array(np.asarray(a), name) for name, a in arrays.items()]


def case(name, nodes, inputs, outputs, initializers=(), opset=17):
    """inputs: {name: array}; outputs: names, or values."""
    ins = [value(k, TYPES[v.dtype], v.shape) for k, v in inputs.items()]
    outs = [o if not isinstance(o, str) else value(o) for o in outputs]
    g = graph(nodes, name, ins, outs, list(initializers))
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)],
                              producer_name="make_cases.py")
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, inputs)
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
                 [value("co", T.BOOL, []), *(value(b) for _, b in carried), *(value(m) for m in more)], list(initializers))


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
chosen = body([node("ReduceSum", ["a"], ["s"], keepdims=0), node("Less", ["s", "zero"], ["l"]),
               node("If", ["l"], ["b"], then_branch=graph([node("Mul", ["a", "three"], ["t1"])], "then", [], [value("t1")],
                                                          constants(three=np.float32(3))),
                    else_branch=graph([node("Sub", ["a", "x"], ["e1"])], "else", [], [value("e1")]))], [("a", "b")],
              initializers=constants(zero=np.float32(0)))
for n in (0, 1, 5):
    count = {"n": np.array(n, np.int64), "x": x}
    case(f"loop_{n}_trips", [node("Loop", ["n", "", "x"], ["y"], body=steps)], count, ["y"], constants(w=w))
    case(f"loop_in_loop_{n}", [node("Loop", ["n", "", "x"], ["y"], body=nested), node("MatMul", ["y", "w"], ["z"])], count,
         ["z"], constants(w=w))
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
long = body([node("Mul", ["a", "k"], ["b"]), node("ReduceSum", ["b"], ["s"], keepdims=0), node("Identity", ["b"], ["bb"])],
            [("a", "b")], ["s", "bb"], constants(k=np.float32(0.999)))
case("loop_collects_600", [node("Loop", ["m", "", "x"], ["y", "sums", "all"], body=long)], {"x": floats(1, 2)},
     ["y", "sums", "all"], constants(m=np.int64(600)))
