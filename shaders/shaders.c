/* shaders/shaders.c - see shaders.h; shaders_list.h is written by CMakeLists.txt. */
#include "shaders/shaders.h"

#include <string.h>

#include "shaders_list.h"

const shader *shader_find(const char *name) {
  for (size_t i = 0; i < shader_count(); i++)
    if (!strcmp(list[i].name, name)) return &list[i];
  return NULL;
}

size_t shader_count(void) { return sizeof list / sizeof *list - 1; }
