/* shaders/shaders.h - the hand-written kernels of this folder as SPIR-V, compiled from GLSL when the build finds glslc.
 * They follow the calling convention of core/emit/spirv/spirv.h. */
#ifndef SHADERS_SHADERS_H
#define SHADERS_SHADERS_H
#include <stddef.h>
#include <stdint.h>

typedef struct shader {
  const char *name; /* file name without extension */
  const uint32_t *words;
  size_t n_words;
} shader;

/* NULL if there is none of that name, or the build had no glslc. */
const shader *shader_find(const char *name);
/* How many were compiled in; 0 without glslc. */
size_t shader_count(void);

#endif
