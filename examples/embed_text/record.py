#!/usr/bin/env python3
"""Records tokens and vectors of sentences for examples/embed_text/test.sh: the tokens as the package `tokenizers` has
them, of the vector some elements as computed here in f64. A line: tokens, elements 0, 32, .. of the vector, the
sentence.
usage: record.py FOLDER >examples/embed_text/recorded.txt
FOLDER has model.safetensors and tokenizer.json of all-MiniLM-L6-v2 (docs/weights.md)."""
import json
import math
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

SENTENCES = [
    "The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.", "", "   ", "a", "I",
    "Caf\u00e9 cr\u00e8me, na\u00efve \u00c5ngstr\u00f6m & Dvo\u0159\u00e1k's \u017d\u00ed\u017ekov", "e\u0301 o\u0308 n\u0303",
    "\u6771\u4eac is Tokyo\u3002", "don't -- stop...(now)?!", "tab\tand\u00a0blank\u2003and\u200bnothing",
    "\u041c\u041e\u0421\u041a\u0412\u0410 \u0391\u0398\u0397\u039d\u0391 stra\u00dfe", "\U0001f600 smile \u20ac5 \u00a312",
    "antidisestablishmentarianism supercalifragilisticexpialidocious", "x" * 101, "y" * 100,
    "2026-11-27T09:15:00Z 3.14159 1,000,000 50%", "C++ and C# in /usr/share/doc_s", "[CLS] is no word here".replace("[CLS]", "CLS"),
    "the quick brown fox jumps over the lazy dog " * 7, "many words " * 200,
]


def load(path):
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {name: np.frombuffer(data[slice(*t["data_offsets"])], np.float32).reshape(t["shape"]).astype(np.float64)
            for name, t in header.items() if name != "__metadata__" and t["dtype"] == "F32"}


def vector(w, ids):
    def dense(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12) * w[name + ".weight"] + w[name + ".bias"]

    def heads(x):
        return x.reshape(len(x), -1, 32).transpose(1, 0, 2)

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + w["embeddings.position_embeddings.weight"][:len(ids)], "embeddings.LayerNorm")
    for i in range(6):
        at = f"encoder.layer.{i}."
        q, k, v = (heads(dense(x, at + "attention.self." + part)) for part in ("query", "key", "value"))
        p = np.exp(q @ k.transpose(0, 2, 1) / math.sqrt(32))
        y = (p / p.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(x.shape)
        x = norm(x + dense(y, at + "attention.output.dense"), at + "attention.output.LayerNorm")
        y = dense(x, at + "intermediate.dense")
        y = y * (1 + np.vectorize(math.erf)(y / math.sqrt(2))) / 2
        x = norm(x + dense(y, at + "output.dense"), at + "output.LayerNorm")
    x = x.mean(0)
    return x / np.linalg.norm(x)


weights, tokenizer = load(sys.argv[1] + "/model.safetensors"), Tokenizer.from_file(sys.argv[1] + "/tokenizer.json")
tokenizer.no_padding()
tokenizer.enable_truncation(256)
for s in SENTENCES:
    ids = tokenizer.encode(s).ids
    print(" ".join(map(str, ids)), " ".join(f"{v:.6f}" for v in vector(weights, ids)[::32]), s, sep="|")
