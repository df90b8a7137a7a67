/* core/runtime/routine_call.c - see routine_call.h. */
#include "core/runtime/routine_call.h"

void routine_spread(const routine_call *c, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n) {
  const bool lends = c->dev && c->dev->vt->parallel && n > 1;
  if (lends) c->dev->vt->parallel(c->dev->be, fn, arg, n);
  else
    for (int64_t i = 0; i < n; i++) fn(arg, i, 0);
}
