/* tools/tessera/cache_args.h - what `tessera cache` was called with. */
#ifndef TOOLS_TESSERA_CACHE_ARGS_H
#define TOOLS_TESSERA_CACHE_ARGS_H
#include <stdbool.h>

typedef struct cache_args {
  const char *dir, *name, *operand, *device;
  bool json, replace;
} cache_args;

/* cmd_prewarm.c */
int cache_prewarm(const cache_args *a);
#endif
