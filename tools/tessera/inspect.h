/* tools/tessera/inspect.h - what `tessera inspect` prints alike of every kind of file. */
#ifndef TOOLS_TESSERA_INSPECT_H
#define TOOLS_TESSERA_INSPECT_H
#include "tools/tessera/graph_text.h"

/* An ONNX model; the exit status. */
int inspect_onnx(const char *file, bool json);
/* {"file": .., "format": .. */
void inspect_json_head(const char *file, const char *format);
/* , "KEY": {"name": count, ..} */
void inspect_json_tallies(const char *key, const tallies *t);
/* , "unsupported": [..], all for one reason */
void inspect_json_unsupported(const tallies *t, const char *why);
/* One line: name and number of each. */
void inspect_print_tallies(const char *what, const tallies *t);
#endif
