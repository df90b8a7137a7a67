#!/usr/bin/env bash
# examples/ocr/test.sh OCR SOURCE [DEVICE] - the words of page.pgm come out, as it is, in colour, at an angle, on its
# side and upside down; what can't be is one line and exit status 2. The models are looked for in ONNX_MODELS, as
# tests/cli/test_onnx_models.c does. Exit status 77: they aren't there.
set -u
ocr=$1 page=$2/examples/ocr/page.pgm device=${3:-cpu:0} wrong=0
models=${ONNX_MODELS:-}/rapidocr/models
[ "${ONNX_MODELS:-}" ] ||
  { echo "no models: ONNX_MODELS is to name the folder of tests/onnx/record_models.py"; exit 77; }
[ -r "$models/PP-OCRv6_det_small.onnx" ] || { echo "no $models/PP-OCRv6_det_small.onnx"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TSR_CACHE_DIR=$dir/cache
bad() { echo "$*"; wrong=1; }
words=("Tensors in, text out: 1024 tokens" "left column" "right half" "this line is upside down")

reads() { # the page, the lines that are expected
  local file=$1
  shift
  "$ocr" --models "$models" --device "$device" "$file" >lines 2>said || bad "$file: $(<said)"
  printf '%s\n' "$@" | diff - lines || bad "$file: other lines"
}
reads "$page" "${words[@]}"
"$ocr" --models "$models" --device "$device" --confidence "$page" | awk '
  $1 < 0.95 || $1 > 1 {print "not sure:", $0; wrong = 1}
  END {exit wrong || NR != 4}' || bad "confidence"

# ---- the page in other forms: Python makes them ----------------------------------------------------------------------
if command -v python3 >/dev/null; then
  python3 - "$page" <<'PY' || bad "no other forms"
import math
import sys

data = open(sys.argv[1], "rb").read()
head, size, most, pixels = data.split(b"\n", 3)
w, h = map(int, size.split())


def write(name, width, height, value, colour=None):
    kind = b"P6" if colour else b"P5"
    got = [value(x, y) for y in range(height) for x in range(width)]
    body = bytes(c for v in got for c in colour(v)) if colour else bytes(got)
    open(name, "wb").write(kind + b"\n# made by a test\n%d\t%d\n255\n" % (width, height) + body)


def at(x, y):
    """Bilinear; white outside."""
    x0, y0 = math.floor(x), math.floor(y)
    fx, fy = x - x0, y - y0
    p = lambda i, j: pixels[j * w + i] if 0 <= i < w and 0 <= j < h else 255
    return round((1 - fy) * ((1 - fx) * p(x0, y0) + fx * p(x0 + 1, y0)) + fy * (
        (1 - fx) * p(x0, y0 + 1) + fx * p(x0 + 1, y0 + 1)))


def leaning(degrees, width, height):
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return lambda x, y: at(c * (x - width / 2) + s * (y - height / 2) + w / 2,
                           c * (y - height / 2) - s * (x - width / 2) + h / 2)


write("colour.ppm", w, h, at, lambda v: (v, 255 - (255 - v) // 2, 128 + v // 2 - (v == 0)))
write("down.pgm", w, h, lambda x, y: at(w - 1 - x, h - 1 - y))
write("right.pgm", h, w, lambda x, y: at(y, h - 1 - x))
write("left.pgm", h, w, lambda x, y: at(w - 1 - y, x))
write("leaning.pgm", 448, 192, leaning(12, 448, 192))
write("blank.pgm", 64, 40, lambda x, y: 255)
PY
  reads colour.ppm "${words[@]}"
  for form in down left right leaning; do reads $form.pgm "${words[@]}"; done
  "$ocr" --models "$models" --device "$device" blank.pgm >lines 2>&1 || bad "blank.pgm: exit status $?"
  [ ! -s lines ] || bad "blank.pgm: $(<lines)"
else
  echo "no python3: the page in its own form alone"
fi

# ---- what can't be ---------------------------------------------------------------------------------------------------
says() { # what it says, then the options
  local want=$1 rc
  shift
  "$ocr" --device "$device" "$@" >said 2>&1
  rc=$?
  [ $rc = 2 ] && [ "$(wc -l <said)" = 1 ] && grep -qF -- "$want" said || bad "wanted '$want', got $rc: $(<said)"
}
m=(--models "$models") cls=ch_ppocr_mobile_v2.0_cls_mobile.onnx
head -c 9000 "$page" >part.pgm
head -c 9 "$page" >head.pgm
printf 'P5 70000 70000 255\n' >large.pgm
printf 'P5 8192 8192 255\n' >lies.pgm
printf 'P6 2 2 65535\n012345678901234567890123' >deep.ppm
echo "no image" >text.ppm
head -c 100000 "$models/PP-OCRv6_rec_small.onnx" >part.onnx
says "nowhere.ppm: No such file" "${m[@]}" nowhere.ppm
says "text.ppm is no binary PGM or PPM" "${m[@]}" text.ppm
says "head.pgm has no whole header" "${m[@]}" head.pgm
says "part.pgm ends in row 22 of 92" "${m[@]}" part.pgm
says "lies.pgm ends in row 1 of 8192" "${m[@]}" lies.pgm
says "large.pgm has more than" "${m[@]}" large.pgm
says "deep.ppm has values up to 65535" "${m[@]}" deep.ppm
says "nowhere/PP-OCRv6_rec_small.onnx: No such file" --models nowhere "$page"
says "part.onnx: no entry \`character\`" "${m[@]}" --rec part.onnx "$page"
says "no entry \`character\`" "${m[@]}" --rec "$models/PP-OCRv6_det_small.onnx" "$page"
says "cls_mobile.onnx: the output is 1x2, not 1x1x96x448" "${m[@]}" --det "$models/$cls" "$page"
says "rec_small.onnx: the output is 1x24x18710, not 1x2" "${m[@]}" --cls "$models/PP-OCRv6_rec_small.onnx" "$page"
says "page.pgm:4:1: byte 0xff" "${m[@]}" --cls "$page" "$page"
says "text.ppm" "${m[@]}" --det text.ppm "$page"
says "neither --models nor --det" "$page"
says "no page" "${m[@]}"
says "one page" "${m[@]}" "$page" "$page"
says "no option --fast" "${m[@]}" --fast 1 "$page"
says "--least 2: a number from 0 to 1" "${m[@]}" --least 2 "$page"
says "--side needs a value" "${m[@]}" "$page" --side
exit $wrong
