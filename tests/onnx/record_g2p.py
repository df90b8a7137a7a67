#!/usr/bin/env python3
"""Records what g2p-en's own NumPy code computes of words, for tests/cli/test_g2p.c: the word, its phonemes' numbers, of
the encoder's last state elements 0, 32, ..
usage: record_g2p.py FOLDER >tests/onnx/g2p.txt
FOLDER has the wheel g2p-en 2.1.0 unpacked. The class is taken out of its file, as the rest of it wants NLTK's data."""
import re
import sys

import numpy as np

WORDS = ("a i hello world tessera tensor phoneme xylophone knight through thorough rhythm queue zzz activationist "
         "anticonstitutionally supercalifragilisticexpialidocious o'neill jpeg kubernetes").split()

text = open(f"{sys.argv[1]}/g2p_en/g2p.py", encoding="utf-8").read()
text = text[text.index("class G2p"):text.index("    def __call__")]
text = re.sub(r"self\.cmu = .*|self\.homograph2features = .*", "pass", text)
scope = {"np": np, "os": __import__("os"), "dirname": f"{sys.argv[1]}/g2p_en"}
exec(text, scope)
g2p = scope["G2p"]()
print("# What g2p-en 2.1.0 computes: tests/onnx/record_g2p.py")
for word in WORDS:
    said = [g2p.p2idx[p] for p in g2p.predict(word)]
    state = g2p.gru(g2p.encode(word), len(word) + 1, g2p.enc_w_ih, g2p.enc_w_hh, g2p.enc_b_ih, g2p.enc_b_hh)[0, -1]
    print(word, len(said), *said, *(f"{v:.6f}" for v in state[::32]))
