#!/usr/bin/env bash
# What the guides show is what is there. Of README.md, CONTRIBUTING.md and docs/*.md:
#   links to files lead to files, and README.md links every page of docs/;
#   files of the repository that they name exist; docs/architecture.md names every room of core/ and has the table of
# passes;
#   the knobs, TSR_ constants and tsr_ names they mention exist;
#   ```c blocks compile: whole declarations as they are, statements inside a function that has the usual handles
# (snippet_head below);
#   ```mlir blocks that are a whole module run on cpu:0;
#   ```sh blocks: each line that starts with `tessera`, or with knobs before it, is run from the source folder and exits
# with 0, or with N where it ends in "# exits with N";
#   a ```text block after one: each of its lines is part of what those commands print. Commands for cuda: and hip: need
# CUDA=ON, HIP=ON.
# The tables of rules, audit points and policies in the guides are held against what the library lists.
set -u
cd "$SOURCE" || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" && ln -s "$TESSERA" "$dir/bin/tessera" && export PATH="$dir/bin:$PATH" TSR_CACHE_DIR="$dir/cache"
wrong=0
bad() { echo "$*"; wrong=$((wrong + 1)); }
pages="README.md CONTRIBUTING.md $(echo docs/*.md)"

# ---- links and names ------------------------------------------------------------------------------------------------
n_links=0
for page in $pages; do
  while read -r link; do
    case $link in http*:* | '#'* | '') continue ;; esac
    n_links=$((n_links + 1))
    [ -e "$(dirname "$page")/${link%%#*}" ] || bad "$page: the link $link leads nowhere"
  done < <(grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//')
done
for page in docs/*.md; do grep -qF "]($page)" README.md || bad "README.md doesn't link $page"; done
known=$(grep -ohE '\b(tsr|TSR)_[A-Za-z0-9_]+' include/tessera/*.h core/base/knob.c CMakeLists.txt CMakePresets.json \
  cmake/* tests/CMakeLists.txt tests/*/*.c tests/simt/CMakeLists.txt backends/*/*.c | sort -u)
while IFS=: read -r page name; do
  grep -qxF -- "$name" <<<"$known" || grep -qE -- "^$name" <<<"$known" || bad "$page: there is no $name"
done < <(grep -oE '\b(tsr|TSR)_[A-Za-z0-9_]+' $pages | sort -u)

# ---- citations: only docs/checklist.md may name texts that the repository doesn't have -------------------------------
while read -r line; do bad "cites what isn't here: $line"; done < <(grep -rnIE \
  -e "\b[Ss]eeds? 0[0-9][0-9]|\b[Tt]he seeds\b|[Aa]ppendix [A-Z]\b|\bA\.[0-9]\b|[Cc]hapters? [0-9]+\.[0-9]" \
  -e "DESIGN(\.md)? section|LAYOUT\.md|CHECKLIST" \
  -e "shared/[s]eeds|\b[Pp]erformance guide\b|within the guide\b" \
  -e "\b[Tt]he guides?'?s?'? (tables?|figures?|ideals?|advice|advisory|defaults?|has|says|wants|asks)\b" \
  core backends include tools tests docs bench scripts cmake examples shaders bindings CMakeLists.txt CONTRIBUTING.md \
  README.md CHANGELOG.md | grep -vE '^(docs/checklist\.md|tests/package/docs\.sh):' | cut -c1-160)

# ---- places: files that the pages name, the rooms and the passes of docs/architecture.md -----------------------------
n_files=0
while IFS=: read -r page path; do
  n_files=$((n_files + 1))
  found=
  for at in "" core/ core/passes/ include/ backends/; do [ -e "$at$path" ] && found=1; done
  [ "$found" ] || bad "$page: there is no $path"
done < <(grep -oE '`[a-z_]+/[a-z0-9_./-]+(\.(c|h|sh|py|txt|mlir|cmake)|/)`' $pages | tr -d '`' | sort -u)
for room in $(find core -name '*.c' -printf '%h\n' | sort -u); do
  grep -qF "\`$room/\`" docs/architecture.md || bad "docs/architecture.md doesn't name the room $room/"
done
while read -r name help; do
  grep -F "| \`$name\` |" docs/architecture.md | grep -qF -- "| $help |" ||
    bad "docs/architecture.md doesn't have the row of the pass $name: $help"
done < <(tessera dump --help | sed '1,/^passes /d')

# ---- code -----------------------------------------------------------------------------------------------------------
# Splits a page into $dir/blocks/LINE.LANGUAGE.
split() {
  rm -rf "$dir/blocks" && mkdir "$dir/blocks"
  awk -v dir="$dir/blocks" \
    '/^```/ {
      if (on) { on = 0; close(out); next }
      on = 1
      lang = substr($0, 4)
      out = sprintf("%s/%05d.%s", dir, NR, lang == "" ? "none" : lang)
      printf "" > out
      next
    }
    on { print > out }' "$1"
}
snippet_head='static void check(tsr_status s) { tsr_status_free(s); }
static void snippet(tsr_context *ctx, tsr_device *dev, tsr_graph *g, tsr_program *program, tsr_stream *stream,
                    tsr_event *event, tsr_buffer *in, tsr_buffer *out, tsr_binding *inputs, tsr_binding *outputs,
                    tsr_value a, tsr_value v, const char *text, size_t bytes, int argc, char **argv) {
  float x[2][3] = {{0}}, y[2][2];
  tsr_attr transpose_b = TSR_BOOLEAN("transpose_b", true);'
compile() { # PAGE BLOCK LINE
  {
    printf '#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n'
    for h in include/tessera/*.h; do echo "#include <tessera/$(basename "$h")>"; done
    local whole=
    grep -qE '^(static|int main|#include|typedef|struct)' "$2" && whole=1
    [ "$whole" ] || echo "$snippet_head"
    echo "#line $(($3 + 1)) \"$1\""
    cat "$2"
    [ "$whole" ] || echo "}"
  } >"$dir/snippet.c"
  $CC -std=c11 -fsyntax-only -Iinclude -Wall -Wextra -Werror -Wno-unused -Wno-unused-parameter "$dir/snippet.c" ||
    bad "$1:$3: the C block doesn't compile"
}
here() { # can this build do what the line needs?
  case $1 in *"--device cuda"*) [ "$CUDA" = ON ] ;; *"--device hip"*) [ "$HIP" = ON ] ;; *) true ;; esac
}
commands() { # PAGE BLOCK LINE
  local line want rc
  : >"$dir/printed"
  while read -r line; do
    case $line in tessera\ * | TSR_*=*\ tessera\ *) ;; *) continue ;; esac
    here "$line" || { echo "$1:$3: not in this build: $line"; skipped=1; continue; }
    want=$(sed -n 's/.*# exits with \([0-9]*\)$/\1/p' <<<"$line")
    timeout 1000 bash -c "$line" >>"$dir/printed" 2>&1
    rc=$?
    n_commands=$((n_commands + 1))
    [ $rc = "${want:-0}" ] || bad "$1:$3: exit status $rc, expected ${want:-0}: $line
$(tail -n 5 "$dir/printed")"
  done <"$2"
}
n_c=0 n_commands=0
for page in $pages; do
  split "$page"
  before=
  for block in "$dir"/blocks/*; do
    [ -f "$block" ] || continue
    name=$(basename "$block") line=$((10#$(cut -d. -f1 <<<"$(basename "$block")")))
    case $name in
    *.c) compile "$page" "$block" "$line" && n_c=$((n_c + 1)) ;;
    *.mlir) if grep -q builtin.module "$block"; then tessera run "$block" --device cpu:0 >"$dir/printed" 2>&1 ||
      bad "$page:$line: the IR text doesn't run: $(<"$dir/printed")"; fi ;;
    *.sh) skipped= && commands "$page" "$block" "$line" ;;
    *.text)
      [ "$before" = sh ] && [ -z "$skipped" ] && while read -r want; do
        [ -z "$want" ] || grep -qF -- "$want" "$dir/printed" || bad "$page:$line: the commands above don't print: $want"
      done <"$block"
      ;;
    esac
    before=${name#*.}
  done
done

# ---- tables ----------------------------------------------------------------------------------------------------------
for rule in $(TSR_DISABLE=? tessera run examples/mlp.mlir --device cpu:0 2>&1 | sed -n 's/.*(\(rewrites,.*\))$/\1/p' |
  tr , ' ' | grep . || echo no-list-of-switches); do
  grep -qF "\`$rule\`" docs/fusion.md || bad "docs/fusion.md doesn't have the rule $rule"
done
while read -r point; do grep -qF "| $point |" docs/checklist.md ||
  bad "docs/checklist.md doesn't have \"$point\""; done < <(tessera check add --shape 64x64 --device cpu:0 --json |
  sed -n 's/.*"point": "\([^"]*\)".*/\1/p')
[ "$(grep -c '^| .* | .* | .* |$' docs/checklist.md)" -ge 13 ] || bad "docs/checklist.md has too few rows"
while read -r policy help; do grep -qF "| \`$policy\` | $help |" docs/precision.md ||
  bad "docs/precision.md doesn't have the row of $policy: $help"; done < <(tessera --help |
  sed '1,/^numerics policies/d; /^$/,$d')

[ $wrong = 0 ] || { echo "$wrong wrong"; exit 1; }
echo "$n_links links, $n_files files, $n_c C blocks, $n_commands commands: all good"
