/* core/passes/options.c - see options.h. */
#include "core/passes/options.h"

#include <string.h>

static bool listed(const char *list, const char *item) {
  size_t n = strlen(item);
  while (list && *list) {
    size_t len = strcspn(list, ",");
    if (len == n && !memcmp(list, item, n)) return true;
    list += len + (list[len] == ',');
  }
  return false;
}

bool pass_enabled(const pass_options *o, const char *group, const char *rule) {
  return !o || !o->disable || (!listed(o->disable, group) && !listed(o->disable, rule));
}
