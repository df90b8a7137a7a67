/* tools/tessera/named_files.h - options NAME=FILE, and what a program's inputs have from them and from a file of
 * weights. */
#ifndef TOOLS_TESSERA_NAMED_FILES_H
#define TOOLS_TESSERA_NAMED_FILES_H
#include "core/import/npy.h"
#include "core/import/weights.h"
#include "tools/tessera/shapes.h"

enum { MAX_FILES = 256 };

typedef struct named_files {
  const char *command;
  const char *text[MAX_FILES]; /* NAME=PATH */
  int n;
} named_files;

/* Where inputs come from. */
typedef struct input_source {
  named_files npy;
  weights *w;           /* NULL: none */
  int asked[MAX_FILES]; /* how often each of npy was read as an input of a model */
} input_source;

/* For options: user is the list. */
bool named_files_add(void *user, const char *value);
/* The path for a name, NULL: none. used, if any, counts by file how often it was asked for. */
const char *named_files_path(const named_files *f, const char *name, int *used);
/* One line about the first file that was not asked for: there is no such input, or an earlier file was its. */
int named_files_check_used(const named_files *f, const int *used);

/* For shape_list.find and onnx_file_graph: user is an input_source. What can't be read is false here, and refused with
 * its reason when it is read as data. */
bool input_shape(void *user, const char *name, tsr_shape *out);
bool input_array(void *user, const char *name, npy_array *out);
/* The array of a file, for an input t; NULL: of any shape and type. Not 0: one line was printed. */
int input_load(const char *command, const char *path, const tsr_tensor_info *t, npy_array *out);
#endif
