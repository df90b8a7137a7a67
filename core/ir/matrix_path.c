/* core/ir/matrix_path.c - see matrix_path.h. */
#include "core/ir/matrix_path.h"

#include <string.h>

#define ROW(name, config, matrix, tiles, whole, allows, help) {name, config, matrix, tiles, whole, allows},
static const matrix_path rows[] = {MATRIX_PATHS(ROW)};
#undef ROW
enum { N_ROWS = sizeof rows / sizeof *rows };

const matrix_path *matrix_path_find(const char *name) {
  for (int i = 0; i < N_ROWS; i++)
    if (!strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}

const matrix_path *matrix_path_of_config(int64_t number) {
  for (int i = 0; i < N_ROWS && number >= 0; i++)
    if (rows[i].config == number) return &rows[i];
  return NULL;
}

static bool is_any(const matrix_path *asked) { return *asked->allows == '*'; }

bool matrix_path_allows(const matrix_path *asked, const char *name) {
  const size_t n = strlen(name);
  if (is_any(asked)) return true;
  for (const char *at = asked->allows; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == n && !strncmp(at, name, n)) return true;
  return !strcmp(name, "fma");
}

/* A gemv has no tiles that instructions could take. */
bool matrix_path_is_open(const matrix_path *asked) {
  return !asked->has_tiles || (is_any(asked) && asked->whole == WHOLE_WGMMA);
}
