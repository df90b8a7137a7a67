/* tools/tessera/shapes.h - a program from IR text of any level; unknown dimensions of a Graph IR text are taken from
 * --shape NAME=DxD, or from where the command knows them. */
#ifndef TOOLS_TESSERA_SHAPES_H
#define TOOLS_TESSERA_SHAPES_H
#include "tools/tessera/cli.h"

enum { MAX_SHAPES = 64 };

typedef struct shape_list {
  const char *command;
  const char *text[MAX_SHAPES]; /* NAME=2x3 */
  int n;
  bool bounded; /* tsr_import_desc.bounded */
  /* The shape of an input that no --shape names; may be NULL. False: unknown. */
  bool (*find)(void *user, const char *name, tsr_shape *out);
  void *user;
} shape_list;

/* Do the n characters of a request name that input or output? Characters that IR text can't hold in a name count as _,
 * which takes their place where a model's names become a program's. */
bool shape_same_name(const char *request, size_t n, const char *name);
/* Of an input: by the list, else by `find`. False: unknown. */
bool shape_list_find(const shape_list *l, const char *name, tsr_shape *out);
/* By the list alone: of whatever is called so. */
bool shape_list_find_named(const shape_list *l, const char *name, tsr_shape *out);
/* For the option --shape: user is the list. */
bool shape_list_add(void *user, const char *value);
/* "a=1x2,b=3", which is cut up and must outlive the list; NULL: nothing. */
bool shape_list_add_all(shape_list *l, char *text);
/* A graph with unknown dimensions for the list's shapes. 0 and *out, else one line was printed. */
int shape_list_specialize(const shape_list *l, const tsr_graph *g, const char *file, tsr_graph **out);
/* The same of a text, compiled. */
int shape_list_compile(const shape_list *l, tsr_context *ctx, tsr_device *dev, const char *text, size_t bytes,
                       const char *file, const tsr_compile_options *o, tsr_program **out);
#endif
