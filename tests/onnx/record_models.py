#!/usr/bin/env python3
"""Records what ONNX Runtime computes of trained models from packages, for tests/cli/test_onnx_models.c: a line a model, a
line an input, a line an output with some of its elements.
usage: record_models.py FOLDER >tests/onnx/models.txt
FOLDER has the wheels magika 1.0.3, silero-vad 6.2.3, rapidocr 3.10.0, ddddocr 1.6.1 unpacked (pip download --no-deps,
python3 -m zipfile -e WHEEL FOLDER), and light/ of ONNX's own test data (Debian's libonnx-testdata). Models that are
missing are left out, with a line on standard error. WITHIN: of models that round to 8 bits, what part of the largest
element another order of sums makes. Element i of an input is h(i) - 1/2, of integers floor(256 h(i)), where
h(i) = (i * 2654435761 mod 2^32) / 2^32; `=V` is one number instead."""
import os
import sys

import numpy as np
import onnxruntime

MODELS = [
    ("magika/models/standard_v3_3/model.onnx", [("bytes", "i32", "1x2048")]),
    ("silero_vad/data/silero_vad.onnx", [("input", "f32", "1x576"), ("state", "f32", "2x1x128"), ("sr", "i64", "=16000")]),
    ("silero_vad/data/silero_vad_16k_op15.onnx", [("input", "f32", "1x576"), ("state", "f32", "2x1x128"), ("sr", "i64", "=16000")]),
    ("silero_vad/data/silero_vad_half.onnx", [("input", "f32", "1x576"), ("state", "f32", "2x1x128")]),
    ("silero_vad/data/silero_vad_op18_ifless.onnx", [("input", "f32", "1x576"), ("sr", "i64", "=16000"), ("state", "f32", "2x1x128")]),
    ("silero_vad/data/silero_vad_openvino_16k.onnx", [("input", "f32", "1x576"), ("state", "f32", "2x1x128")]),
    ("silero_vad/data/silero_vad_16k_sequence.onnx", [("input", "f32", "20x576"), ("h", "f32", "1x1x128"), ("c", "f32", "1x1x128")]),
    ("rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", [("x", "f32", "1x3x48x192")]),
    ("rapidocr/models/PP-OCRv6_det_small.onnx", [("x", "f32", "1x3x160x128")]),
    ("rapidocr/models/PP-OCRv6_rec_small.onnx", [("x", "f32", "1x3x48x160")]),
    ("ddddocr/common.onnx", [("input1", "f32", "1x1x64x96")]),
    ("ddddocr/common_det.onnx", [("images", "f32", "1x3x416x416")]),
    ("ddddocr/common_old.onnx", [("input1", "f32", "1x1x64x96")]),
]
LIGHT = {"bvlc_alexnet": "data_0", "densenet121": "data_0", "inception_v1": "data_0", "inception_v2": "data_0",
         "resnet50": "gpu_0/data_0", "shufflenet": "gpu_0/data_0", "squeezenet": "data_0", "vgg19": "data_0",
         "zfnet512": "gpu_0/data_0"}
MODELS += [(f"light/light_{name}.onnx", [(x, "f32", "1x3x224x224")]) for name, x in LIGHT.items()]
WITHIN = {"ddddocr/common_old.onnx": "0.01"}
TYPES = {"f32": np.float32, "i32": np.int32, "i64": np.int64}


def made(kind, text):
    if text.startswith("="):
        return np.array(int(text[1:]), TYPES[kind])
    shape = [int(d) for d in text.split("x")]
    h = (np.arange(np.prod(shape), dtype=np.uint64) * 2654435761 % 2**32) / 2**32
    return (h - 0.5 if kind == "f32" else np.floor(256 * h)).astype(TYPES[kind]).reshape(shape)


print("# What ONNX Runtime", onnxruntime.__version__, "computes: tests/onnx/record_models.py")
for path, inputs in MODELS:
    if not os.path.exists(f"{sys.argv[1]}/{path}"):
        print("no", path, file=sys.stderr)
        continue
    session = onnxruntime.InferenceSession(f"{sys.argv[1]}/{path}", providers=["CPUExecutionProvider"])
    print("model", path)
    for name, kind, text in inputs:
        print("input", name, kind, text)
    if path in WITHIN:
        print("within", WITHIN[path])
    results = session.run(None, {name: made(kind, text) for name, kind, text in inputs})
    for i, y in enumerate(results):
        flat = y.reshape(-1)
        step = max(1, flat.size // 12)
        values = " ".join(f"{v:.7g}" for v in flat[::step][:12])
        print("output", i, "x".join(map(str, y.shape)), f"{np.abs(flat).max():.7g}", step, values)
