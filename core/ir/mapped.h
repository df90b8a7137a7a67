/* core/ir/mapped.h - where the elements of large constants are: in files, which a module maps once, or in memory of
 * their own. A module keeps them while it lives; copies of the module share them, on several threads too. */
#ifndef CORE_IR_MAPPED_H
#define CORE_IR_MAPPED_H
#include "core/base/arena.h"
#include "core/base/status.h"

typedef struct ir_mapped {
  int count; /* of the modules that have it */
  char *path; /* NULL: memory */
  const char *p;
  size_t bytes, path_bytes;
} ir_mapped;

typedef struct ir_mappings { /* a module's */
  ir_mapped **v;
  size_t n, cap;
} ir_mappings;

/* A path that isn't absolute is one from the folder of `text`, which may be NULL. a: the module's. The mapping belongs
 * to the list. */
TSR_MUST_USE tsr_status mapped_open(ir_mappings *l, arena *a, const char *text, const char *path, ir_mapped **out);
/* A copy of so many bytes in memory. False when out of memory. */
bool mapped_memory(ir_mappings *l, arena *a, const void *data, size_t bytes, ir_mapped **out);
/* A mapping of another module is this one's too. False when out of memory. */
bool mapped_share(ir_mappings *l, arena *a, ir_mapped *f);
void mapped_release(ir_mappings *l, arena *a);
#endif
